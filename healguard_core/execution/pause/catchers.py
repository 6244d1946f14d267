"""Frames that are known by name: where outcomes are recorded, what only passes on, what stores an exception.

Every table holds ``module:qualname`` of functions. Before Python 3.11, where code objects do not know their qualified
name, the last part is compared. Standard library only.

*Transparent catchers* are harness functions that swallow what a user wants healed: click's `CliRunner.invoke` turns
a crash into a result whose exit code a test then complains about. Handlers in their frames are not looked at. The
list here can be extended by configuration (``catchers``), as can the list of boundaries.
"""

import sys
from types import CodeType, FrameType
from typing import Dict, Sequence, Tuple

ORDINARY, OUTCOME, OPEN, KEEPER, STORE = "ordinary", "outcome", "open", "keeper", "store"
"""Roles of a frame: look at its handlers; the outcome is recorded here; its handlers are not looked at; so, too,
because it is a transparent catcher; it stores the exception for somebody else, so nobody can tell."""

_OUTCOMES = """
_pytest.python:pytest_pyfunc_call _pytest.python:importtestmodule _pytest.python:Module._importtestmodule
_pytest.fixtures:call_fixture_func _pytest.fixtures:_teardown_yield_fixture _pytest.fixtures:FixtureDef.finish
_pytest.runner:CallInfo.from_call _pytest.runner:CallInfo.__init__ _pytest.runner:collect_one_node
_pytest.unittest:TestCaseFunction.runtest _pytest.config:PytestPluginManager._importconftest
_pytest.config:PytestPluginManager.import_plugin _pytest.main:wrap_session
_pytest.skipping:evaluate_condition _pytest.subtests:SubTests.test
unittest.case:TestCase._callTestMethod unittest.case:TestCase._callSetUp unittest.case:TestCase._callTearDown
unittest.case:TestCase._callCleanup unittest.case:_Outcome.testPartExecutor
unittest.suite:TestSuite._handleClassSetUp unittest.suite:TestSuite._tearDownPreviousClass
unittest.suite:TestSuite._handleModuleFixture unittest.suite:TestSuite._handleModuleTearDown
unittest.loader:_FailedTest unittest.loader:TestLoader._find_test_path
doctest:DocTestRunner.__run
threading:Thread._bootstrap_inner
nose2.plugins.loader.functions:Functions.createTests
healguard_core.execution.run:_execute
"""

_OPEN = """
pluggy._callers:_multicall pluggy._execution:_multicall pluggy.callers:_multicall
_pytest.fixtures:pytest_fixture_setup
runpy:run_path runpy:run_module runpy:_run_code runpy:_run_module_code runpy:_run_module_as_main
importlib._bootstrap:_find_and_load importlib._bootstrap:_find_and_load_unlocked importlib._bootstrap:_load_unlocked
importlib._bootstrap:_call_with_frames_removed importlib._bootstrap:_load importlib._bootstrap:_exec
importlib._bootstrap:_load_backward_compatible importlib._bootstrap:_gcd_import importlib._bootstrap:_handle_fromlist
importlib._bootstrap_external:_LoaderBasics.exec_module importlib:import_module importlib:reload
importlib._bootstrap_external:SourceLoader.exec_module
asyncio.runners:run asyncio.runners:Runner.run asyncio.base_events:BaseEventLoop.run_until_complete
"""

TRANSPARENT = """
click.testing:CliRunner.invoke typer.testing:CliRunner.invoke asyncclick.testing:CliRunner.invoke
flask.testing:FlaskCliRunner.invoke cleo.testers.command_tester:CommandTester.execute
flask.app:Flask.wsgi_app flask.app:Flask.full_dispatch_request flask.app:Flask.handle_user_exception
quart.app:Quart.full_dispatch_request quart.app:Quart.handle_request
werkzeug.test:run_wsgi_app werkzeug.test:Client.run_wsgi_app werkzeug.debug:DebuggedApplication.debug_application
django.core.handlers.exception:convert_exception_to_response.<locals>.inner
django.core.handlers.base:BaseHandler._get_response django.core.handlers.base:BaseHandler.get_response
django.test.client:ClientHandler.__call__ django.test.client:Client.request
rest_framework.views:APIView.dispatch
starlette.middleware.errors:ServerErrorMiddleware.__call__
starlette.middleware.exceptions:ExceptionMiddleware.__call__
starlette._exception_handler:wrap_app_handling_exceptions.<locals>.wrapped_app
starlette.testclient:_TestClientTransport.handle_request
webtest.app:TestApp.do_request pyramid.tweens:excview_tween_factory.<locals>.excview_tween
pyramid.router:Router.invoke_request falcon.app:App.__call__ falcon.asgi.app:App.__call__ bottle:Bottle._handle
tornado.web:RequestHandler._execute aiohttp.web_protocol:RequestHandler._handle_request
wsgiref.handlers:BaseHandler.run wsgiref.validate:validator.<locals>.lint_app
scrapy.utils.defer:mustbe_deferred twisted.internet.defer:maybeDeferred
celery.app.trace:build_tracer.<locals>.trace_task
"""

_STORES = """
concurrent.futures.thread:_WorkItem.run concurrent.futures.process:_process_worker
concurrent.futures.process:_process_chunk
multiprocessing.process:BaseProcess._bootstrap multiprocessing.pool:worker
asyncio.events:Handle._run asyncio.tasks:Task.__step asyncio.tasks:Task.__step_run_and_handle_result
trio._core._run:unrolled_run trio._core._run:Runner.spawn_impl
trio._threads:RunSyncInWorkerThread outcome._impl:capture curio.kernel:Kernel._run
unittest.async_case:IsolatedAsyncioTestCase._asyncioLoopRunner
twisted.internet.defer:_inlineCallbacks twisted.internet.defer:Deferred._runCallbacks
anyio._backends._asyncio:WorkerThread.run anyio._backends._asyncio:BlockingPortal._call_func
anyio.from_thread:BlockingPortal._call_func joblib.parallel:BatchedCalls.__call__
tornado.gen:Runner.run tornado.ioloop:IOLoop._run_callback
"""


class Known:
    """The tables, with what a configuration adds to them."""

    def __init__(self, transparent: Sequence[str] = (), boundaries: Sequence[str] = ()) -> None:
        self._roles: Dict[str, str] = {}
        for role_name, table in ((OPEN, _OPEN), (KEEPER, TRANSPARENT), (STORE, _STORES), (OUTCOME, _OUTCOMES)):
            self._roles.update((name, role_name) for name in table.split())
        self._roles.update((name, KEEPER) for name in transparent)
        self._roles.update((name, OUTCOME) for name in boundaries)
        self._short: Dict[str, str] = {}
        for name, role_name in self._roles.items():
            module, _, qualname = name.partition(":")
            self._short["{}:{}".format(module, qualname.rpartition(".")[2])] = role_name
        self._names = {name.rpartition(":")[2].rpartition(".")[2] for name in self._roles}
        self._memo: Dict[int, Tuple[CodeType, str]] = {}

    def role(self, frame: FrameType) -> str:
        """The role of a frame's function. Remembered by code object."""
        code = frame.f_code
        known = self._memo.get(id(code))
        if known is None:
            if len(self._memo) > 20000:
                self._memo.clear()
            known = self._memo[id(code)] = (code, self._role(code, frame))
        return known[1]

    def _role(self, code: CodeType, frame: FrameType) -> str:
        module = dict.get(frame.f_globals, "__name__")
        if type(module) is not str:
            return ORDINARY
        if module.startswith(("healguard_core.", "pytest_heal.")):
            return self._own(module, code)
        if code.co_name not in self._names:
            return ORDINARY
        if sys.version_info >= (3, 11):
            return self._roles.get("{}:{}".format(module, code.co_qualname), ORDINARY)
        return self._short.get("{}:{}".format(module, code.co_name), ORDINARY)

    def _own(self, module: str, code: CodeType) -> str:
        known = self._short.get("{}:{}".format(module, code.co_name))
        return OPEN if known is None else known


_standard = Known()


def role(frame: FrameType) -> str:
    """The role of a frame by the standard tables alone."""
    return _standard.role(frame)
