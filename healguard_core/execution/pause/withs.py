"""What a ``with`` block's ``__exit__`` does with an exception. Standard library only.

Known classes are in a table by the class that defines their ``__exit__``; other ``__exit__`` functions written in
Python are read from their source; the rest is unsure. An object is never asked: only its fields are read.
"""

import ast
import builtins
import sys
import types
from typing import Any, Callable, Dict, List, Optional

from . import catchers, handlers, lexical, names
from .handlers import Body, key_of
from .names import UNKNOWN, Flying, Names
from .passage import Passage, passes, reaches, swallows, unsure

Through = Callable[[types.FrameType, Optional[type]], Passage]
Rule = Callable[[Any, Optional[type], Through], Passage]

_MAX_DEPTH = 5
_EXITS = ("__exit__", "__aexit__")
_SUPPRESSES_PARTS = sys.version_info >= (3, 12)


def exit_passage(owner: Any, function: Any, cls: Optional[type], through: Through) -> Passage:
    """What the bound ``__exit__`` (or ``__aexit__``) of a live with block does with an exception of class ``cls``.

    ``through`` tells what becomes of an exception inside a suspended generator's frame.
    """
    if type(function) is types.MethodType:
        owner, function = function.__self__, function.__func__
    elif type(function) is types.BuiltinMethodType or type(function).__name__ == "method-wrapper":
        owner = function.__self__
    if owner is None:
        return unsure("a with block has an unknown exit")
    return manager_passage(owner, cls, through, function=function)


def manager_passage(owner: Any, cls: Optional[type], through: Through, depth: int = 0,
                    function: Any = None) -> Passage:
    """What the context manager ``owner`` does with an exception of class ``cls``."""
    if depth > _MAX_DEPTH:
        return unsure("context managers are nested too deeply")
    kind = type(owner)
    for name in _EXITS:
        base = names.defining_class(kind, name)
        if base is None:
            continue
        entry = names.class_attribute(kind, name)
        if function is not None and type(function) is types.FunctionType and entry is not function:
            continue
        rule = TABLE.get(key_of(base))
        if rule is not None:
            return rule(owner, cls, through)
        if type(entry) is types.FunctionType:
            return _python_exit(owner, base, entry, cls, through, depth)
    if function is not None and type(function) is types.FunctionType:
        return _python_exit(owner, kind, function, cls, through, depth)
    return unsure("the exit of {} is not known".format(kind.__name__))


# --------------------------------------------------------------------------- exits written in Python


def _python_exit(owner: Any, base: type, function: Any, cls: Optional[type], through: Through,
                 depth: int) -> Passage:
    code = function.__code__
    scope = lexical.scope_of(code, function.__globals__)
    said = "{}.{}".format(base.__name__, code.co_name)
    if scope is None:
        return unsure("the source of {} is not known".format(said))
    body = scope.node.body
    inner = _Exit(owner, base, cls, through, depth)
    view = Body(names.of_function(function, _parameters(code, owner, cls, lexical.stored_names(body))), None)
    ends = handlers.flow(body, view)
    return inner.judge(ends, body, view, said)


def _parameters(code: types.CodeType, owner: Any, cls: Optional[type], changed: "frozenset[str]") -> Dict[str, Any]:
    own = code.co_varnames[:code.co_argcount]
    values: List[Any] = [owner, UNKNOWN if cls is None else cls, Flying(cls), UNKNOWN]
    known = dict(zip(own, values))  # noqa: B905 - Python 3.8
    if len(own) < 4 and code.co_flags & 0x04:  # *args takes the three
        known[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] = tuple(values[len(own):])
    return {name: value for name, value in known.items() if name not in changed}


class _Exit:
    """One reading of one ``__exit__``; follows exits that it hands the exception on to."""

    def __init__(self, owner: Any, base: type, cls: Optional[type], through: Through, depth: int) -> None:
        self._owner, self._base, self._cls, self._through, self._depth = owner, base, cls, through, depth

    def judge(self, ends: handlers.Ends, body: Any, view: Body, said: str) -> Passage:
        inner = self._handed_on(body, view)
        if inner is not None and inner.way == "unsure":
            return inner
        answers = {end.value for end in ends if end.way == "return"}
        if handlers.NEXT in ends:
            answers.add(False)
        returned = self._returned_exit(body)
        if None in answers and returned and inner is not None and answers == {None}:
            return inner
        if any(end.way in ("again", "unsure") for end in ends) or None in answers:
            return unsure("{} decides as it runs".format(said))
        if any(end.way in ("same", "new") for end in ends):  # sometimes another error, at least never none
            return unsure("{} decides as it runs".format(said)) if True in answers else passes(None)
        if answers == {True}:
            return swallows("{} ends it".format(said))
        if answers == {False}:
            return inner if inner is not None and inner.cls is not self._cls and inner.way == "passes" else passes(
                self._cls)
        return unsure("{} only sometimes ends it".format(said))

    def _returned_exit(self, body: Any) -> bool:
        returns = [node for node in lexical.own_nodes(body) if isinstance(node, ast.Return) and node.value is not None]
        return len(returns) == 1 and _exit_call(returns[0].value) is not None

    def _handed_on(self, body: Any, view: Body) -> Optional[Passage]:
        """What the exits that this one calls do; None if it calls none."""
        result: Optional[Passage] = None
        for node in lexical.own_nodes(body):
            call = _exit_call(node) if isinstance(node, ast.Call) else None
            if call is not None:
                result = self._one(call.func, view.names)
                if result.way == "unsure":
                    return result
        return result

    def _one(self, function: Any, view: Names) -> Passage:
        value = function.value
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "super":
            return self._inherited(function.attr)
        target = names.evaluate(value, view)
        if target is UNKNOWN or names.is_class(target):
            return unsure("{}.__exit__ hands it on to something unknown".format(self._base.__name__))
        return manager_passage(target, self._cls, self._through, self._depth + 1)

    def _inherited(self, name: str) -> Passage:
        passed = False
        for base in names.mro(type(self._owner)):
            if base is self._base:
                passed = True
                continue
            entry = type.__dict__["__dict__"].__get__(base).get(name, UNKNOWN)
            if entry is UNKNOWN or not passed:
                continue
            rule = TABLE.get(key_of(base))
            if rule is not None:
                return rule(self._owner, self._cls, self._through)
            if type(entry) is types.FunctionType:
                return _python_exit(self._owner, base, entry, self._cls, self._through, self._depth + 1)
            break
        return unsure("the inherited exit of {} is not known".format(self._base.__name__))


def _exit_call(node: Any) -> Any:
    """The call of another object's exit that ``node`` is, awaited or not; else None."""
    if isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EXITS:
        return node
    return None


# --------------------------------------------------------------------------- known classes


def _passing(_owner: Any, cls: Optional[type], _through: Through) -> Passage:
    return passes(cls)


def _swallowing_field(field: str, said: str) -> Rule:
    """A rule: ends exceptions of the classes that the object holds in ``field``."""

    def rule(owner: Any, cls: Optional[type], _through: Through) -> Passage:
        caught = names.matches(cls, names.attribute(owner, field))
        if caught is None:
            return unsure("whether {} expects it is not known".format(said))
        return swallows("{} expects it".format(said)) if caught else passes(cls)

    return rule


_suppress_field = _swallowing_field("_exceptions", "contextlib.suppress")


def _suppress(owner: Any, cls: Optional[type], through: Through) -> Passage:
    group = getattr(builtins, "BaseExceptionGroup", None)
    if _SUPPRESSES_PARTS and cls is not None and group is not None and names.derives(cls, group):
        return unsure("contextlib.suppress may take a part of the group, or all of it")
    return _suppress_field(owner, cls, through)


def _generator(owner: Any, cls: Optional[type], through: Through) -> Passage:
    generator = names.attribute(owner, "gen")
    frame = None
    if type(generator) is types.GeneratorType:
        frame = generator.gi_frame
    elif type(generator) is types.AsyncGeneratorType:
        frame = generator.ag_frame
    if frame is None:
        return unsure("a context manager's generator is not known")
    if catchers.role(frame) == catchers.OUTCOME:
        return reaches("{} reports it".format(frame.f_code.co_name))
    inner = _delegate(generator)
    result = passes(cls) if inner is None else unsure("a context manager's generator delegates")
    if result.way == "passes":
        result = through(frame, cls)
    if result.way == "passes" and cls is not None and names.derives(cls, StopIteration):
        return passes(cls)
    return result


def _delegate(generator: Any) -> Any:
    if type(generator) is types.GeneratorType:
        return generator.gi_yieldfrom
    return generator.ag_await


def _exit_stack(owner: Any, cls: Optional[type], through: Through) -> Passage:
    callbacks = names.attribute(owner, "_exit_callbacks")
    if type(callbacks).__name__ != "deque":
        return unsure("an ExitStack's contents are not known")
    result = passes(cls)
    for entry in reversed(list(callbacks)):
        callback = entry[1] if type(entry) is tuple else entry
        result = _callback(callback, result.cls, through)
        if result.way != "passes":
            return result
    return result


def _callback(callback: Any, cls: Optional[type], through: Through) -> Passage:
    if type(callback) is types.FunctionType and "_cb_wrapper.<locals>" in callback.__qualname__:
        return passes(cls)  # ExitStack.callback: its answer is not used
    if type(callback) is types.MethodType:
        function = callback.__func__
        if type(function) is not types.FunctionType or function.__name__ in _EXITS:
            return manager_passage(callback.__self__, cls, through, 1, function)
    return unsure("an ExitStack holds an unknown callback")


def _raises_group(owner: Any, cls: Optional[type], _through: Through) -> Passage:
    group = getattr(builtins, "BaseExceptionGroup", None)
    if cls is None or group is None or names.attribute(owner, "allow_unwrapped") is not False:
        return unsure("whether RaisesGroup expects it is not known")
    return swallows("RaisesGroup expects a group") if names.derives(cls, group) else passes(cls)


def _unsure_as(said: str) -> Rule:
    def rule(_owner: Any, _cls: Optional[type], _through: Through) -> Passage:
        return unsure(said)

    return rule


def _outcome(_owner: Any, _cls: Optional[type], _through: Through) -> Passage:
    return reaches("a subtest reports it")


_PASSING = """
contextlib:nullcontext contextlib:closing contextlib:aclosing contextlib:_RedirectStream contextlib:chdir
threading:Condition threading:Semaphore threading:_RLock _thread:lock _thread:RLock _thread:LockType
multiprocessing.synchronize:SemLock multiprocessing.managers:BaseManager multiprocessing.managers:AcquirerProxy
multiprocessing.pool:Pool multiprocessing.connection:_ConnectionBase multiprocessing.shared_memory:SharedMemory
_multiprocessing:SemLock multiprocessing.synchronize:Condition multiprocessing.managers:SharedMemoryManager
asyncio.locks:_ContextManagerMixin asyncio.locks:_ContextManager asyncio.runners:Runner asyncio.base_events:Server
_io:_IOBase _io:TextIOWrapper _io:FileIO _io:BytesIO _io:StringIO _io:BufferedReader _io:BufferedWriter
_io:BufferedRandom _io:BufferedRWPair io:IOBase _pyio:IOBase codecs:StreamReaderWriter codecs:StreamRecoder
codecs:StreamReader codecs:StreamWriter
tempfile:_TemporaryFileWrapper tempfile:TemporaryDirectory tempfile:SpooledTemporaryFile
zipfile:ZipFile tarfile:TarFile gzip:GzipFile bz2:BZ2File lzma:LZMAFile shelve:Shelf dbm.dumb:_Database
_dbm:dbm _gdbm:gdbm mmap:mmap sqlite3:Connection _sqlite3:Connection select:epoll select:kqueue
socket:socket socketserver:BaseServer selectors:_BaseSelectorImpl selectors:BaseSelector ssl:SSLSocket
subprocess:Popen os:scandir posix:ScandirIterator nt:ScandirIterator pathlib:Path pathlib._local:Path winreg:PyHKEY
http.client:HTTPResponse http.client:HTTPConnection urllib.response:addbase ftplib:FTP smtplib:SMTP
imaplib:IMAP4 telnetlib:Telnet nntplib:NNTP fileinput:FileInput wave:Wave_read wave:Wave_write
decimal:_ContextManager decimal:ContextManager _pydecimal:_ContextManager _decimal:ContextManager
concurrent.futures._base:Executor cProfile:Profile builtins:memoryview memoryview:memoryview
warnings:catch_warnings _warnings:catch_warnings test.support.warnings_helper:WarningsRecorder
unittest.mock:_patch unittest.mock:_patch_dict mock.mock:_patch mock.mock:_patch_dict mock:_patch
unittest.case:_AssertWarnsContext unittest.case:_AssertLogsContext unittest._log:_AssertLogsContext
unittest.case:_AssertNoLogsContext
_pytest.recwarn:WarningsRecorder _pytest.recwarn:WarningsChecker
_pytest.capture:_MultiCapture
numpy:errstate numpy.core._ufunc_config:errstate numpy._core._ufunc_config:errstate numpy.core.numeric:errstate
pandas._config.config:option_context pandas.core.config:option_context
"""

TABLE: Dict[str, Rule] = {
    "contextlib:suppress": _suppress,
    "contextlib:_GeneratorContextManager": _generator,
    "contextlib:_AsyncGeneratorContextManager": _generator,
    "contextlib:ExitStack": _exit_stack,
    "contextlib:AsyncExitStack": _exit_stack,
    "_pytest.python_api:RaisesContext": _swallowing_field("expected_exception", "pytest.raises"),
    "_pytest.raises:RaisesExc": _swallowing_field("expected_exceptions", "pytest.raises"),
    "_pytest.raises:RaisesGroup": _raises_group,
    "_pytest._raises:RaisesContext": _swallowing_field("expected_exception", "pytest.raises"),
    "unittest.case:_AssertRaisesContext": _swallowing_field("expected", "assertRaises"),
    "_pytest.subtests:_SubTestContextManager": _outcome,
    "pytest_subtests.plugin:_SubTestContextManager": _outcome,
    "asyncio.taskgroups:TaskGroup": _unsure_as("an asyncio.TaskGroup puts it into a group"),
    "asyncio.timeouts:Timeout": _passing,
    "anyio._backends._asyncio:TaskGroup": _unsure_as("an anyio task group puts it into a group"),
    "trio._core._run:NurseryManager": _unsure_as("a trio nursery puts it into a group"),
}
TABLE.update((name, _passing) for name in _PASSING.split())


# --------------------------------------------------------------------------- managers known from source alone


def static_passage(item: Any, here: Names, cls: Optional[type]) -> Passage:
    """What a with item does, judged by its expression; for interpreters whose value stack is not readable."""
    node = item.context_expr
    if isinstance(node, ast.Call):
        return _called(node, names.evaluate(node.func, here), here, cls)
    value = names.evaluate(node, here)
    if value is UNKNOWN:
        return unsure("the object of a with block is not known")
    return manager_passage(value, cls, _no_generator)


def _no_generator(_frame: types.FrameType, _cls: Optional[type]) -> Passage:
    return unsure("a context manager's generator is not known")


def _called(node: ast.Call, function: Any, here: Names, cls: Optional[type]) -> Passage:
    if type(function) is types.MethodType:
        function = function.__func__
    name = key_of(function)
    classes = tuple(names.evaluate(argument, here) for argument in node.args)
    if name in _EXPECTING:
        expected = classes if name == "contextlib:suppress" or not classes else classes[0]
        caught = names.matches(cls, expected)
        if caught is None:
            return unsure("whether {} expects it is not known".format(name.split(":")[1]))
        return swallows("{} expects it".format(name.split(":")[1])) if caught else passes(cls)
    if name in _PASSING_CALLS:
        return passes(cls)
    if names.is_class(function):
        return _instance_of(function, cls)
    wrapped = names.attribute(function, "__wrapped__") if type(function) is types.FunctionType else UNKNOWN
    if type(wrapped) is types.FunctionType and wrapped.__code__.co_flags & 0x20:
        return _generator_function(wrapped, cls)
    return unsure("the object of a with block is not known")


def _instance_of(kind: type, cls: Optional[type]) -> Passage:
    for name in _EXITS:
        base, entry = names.defining_class(kind, name), names.class_attribute(kind, name)
        if base is not None and TABLE.get(key_of(base)) is _passing:
            return passes(cls)
        if base is not None and type(entry) is types.FunctionType and key_of(base) not in TABLE:
            return _python_exit(UNKNOWN, base, entry, cls, _no_generator, 0)
    return unsure("the object of a with block is not known")


def _generator_function(function: Any, cls: Optional[type]) -> Passage:
    """A ``@contextmanager`` function none of whose yields is inside a block lets everything pass."""
    scope = lexical.scope_of(function.__code__, function.__globals__)
    if scope is None:
        return unsure("the source of a context manager is not known")
    for node in lexical.own_nodes(scope.node.body):
        if isinstance(node, ast.YieldFrom):
            return unsure("a context manager's generator delegates")
        if isinstance(node, ast.Yield):
            around = lexical.blocks_around(scope, node)
            if around is None or any(not _harmless(block) for block in around):
                return unsure("a context manager has blocks around its yield")
    return passes(cls)


def _nothing(_name: str, _trail: names.Trail) -> Any:
    return UNKNOWN


def _harmless(block: lexical.Block) -> bool:
    if block.part == "item":
        return False
    final = handlers.flow(block.node.finalbody, Body(Names(_nothing), None))
    return (block.part != "body" or not block.node.handlers) and final == {handlers.NEXT}


_EXPECTING = frozenset([
    "contextlib:suppress", "_pytest.python_api:raises", "_pytest.raises:raises", "_pytest._raises:raises",
    "unittest.case:TestCase.assertRaises", "unittest.case:TestCase.assertRaisesRegex",
])
_PASSING_CALLS = frozenset([
    "_io:open", "io:open", "_pytest.recwarn:warns", "_pytest.recwarn:deprecated_call", "unittest.mock:_patch_object",
    "unittest.mock:patch", "unittest.case:TestCase.assertWarns", "unittest.case:TestCase.assertLogs",
    "unittest.mock:_patch_multiple", "decimal:localcontext", "_decimal:localcontext",
    "tempfile:NamedTemporaryFile", "tempfile:TemporaryFile",
])
