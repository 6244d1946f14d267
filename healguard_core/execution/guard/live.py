"""Callables and objects of the system that healing code must not touch, told by the live object. May import tables.

Complements the gate, which reads names: an alias, a method or a value of the frame is judged by what it is. Functions
that merely belong to a system module but only look (`inspect.signature`, `os.getcwd`) are not listed.
"""

import builtins
import os
import sys
import types
from typing import Any, Dict, FrozenSet, Optional, Tuple

from healguard_core.execution.guard import callables, frame_modules
from healguard_core.execution.guard.callables import is_class


def _names(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


_EVERYTHING = _names(
    "posix nt subprocess shutil ctypes importlib gc marshal runpy code codeop pty _posixsubprocess _winapi"
    " multiprocessing bdb pdb atexit resource _ctypes imp zipimport pkgutil cffi _imp _thread webbrowser smtplib ftplib"
)
"""Modules whose functions and classes are all refused, but for `_HARMLESS`."""

_SOME: Dict[str, FrozenSet[str]] = {
    "builtins": _names("exec eval compile __import__ input breakpoint globals locals vars getattr setattr delattr"),
    "sys": _names(
        "_getframe _current_frames _current_exceptions settrace setprofile addaudithook audit exit setrecursionlimit"
        " _clear_type_cache set_asyncgen_hooks excepthook displayhook unraisablehook setswitchinterval"
    ),
    "os": _names("popen execl execle execlp execlpe execvp execvpe spawnl spawnle spawnlp spawnlpe spawnvp spawnvpe"
                 " spawnv spawnve makedirs removedirs renames fwalk fdopen"),
    "inspect": _names("currentframe stack trace getinnerframes getouterframes getmodule"),
    "threading": _names("settrace setprofile settrace_all_threads setprofile_all_threads excepthook"),
    "asyncio.runners": _names("run"),
    "asyncio.subprocess": _names("create_subprocess_exec create_subprocess_shell"),
    "operator": _names("attrgetter methodcaller"),
    "types": _names("FunctionType CodeType new_class"),
    "pickle": _names("load loads _load _loads Unpickler _Unpickler"),
    "_pickle": _names("load loads Unpickler"),
    "signal": _names("signal alarm setitimer raise_signal pthread_kill set_wakeup_fd siginterrupt"),
    "_signal": _names("signal alarm setitimer raise_signal pthread_kill set_wakeup_fd siginterrupt"),
    "socket": _names("create_connection create_server socketpair fromfd setdefaulttimeout"),
    "urllib.request": _names("urlopen urlretrieve"),
    "unittest.mock": _names("_patch _patch_object patch"),
    "shelve": _names("open"),
    "codecs": _names("register register_error"),
    "_codecs": _names("register register_error"),
    "faulthandler": _names("dump_traceback register enable dump_traceback_later"),
    "_pytest.outcomes": _names("exit skip fail xfail importorskip"),
}
"""Modules of which only these are refused."""

_HARMLESS: FrozenSet[Tuple[str, str]] = frozenset(
    [("posix", name) for name in frame_modules.FRAME_MODULES["os"]]
    + [("nt", name) for name in frame_modules.FRAME_MODULES["os"]]
    + [
        ("posix", name)
        for name in _names(
            "stat lstat fstat access listdir scandir getpid getppid getuid geteuid getgid getegid urandom cpu_count"
            " times strerror stat_result uname umask_ get_terminal_size isatty readlink _path_normpath _path_exists"
            " _path_isdir _path_isfile _path_islink _path_splitroot _path_splitroot_ex terminal_size DirEntry"
            " sched_getaffinity getloadavg"
        )
    ]
    + [("subprocess", "list2cmdline"), ("shutil", "which"), ("shutil", "disk_usage"),
       ("shutil", "get_terminal_size"), ("gc", "isenabled"), ("gc", "get_count"), ("gc", "is_tracked"),
       ("importlib", "invalidate_caches"), ("_thread", "get_ident"), ("_thread", "allocate_lock"),
       ("_thread", "lock"), ("_thread", "RLock"), ("_thread", "_local"), ("_thread", "get_native_id"),
       ("ctypes", "sizeof"), ("_ctypes", "sizeof"), ("multiprocessing.context", "cpu_count"),
       ("resource", "getrusage"), ("resource", "getpagesize"), ("resource", "getrlimit")]
)

_OURS = ("healguard_core", "pytest_heal")
_METHODS_OF = _names("subprocess ctypes multiprocessing pty code codeop bdb pdb runpy _ctypes importlib")
"""Modules of whose objects no method may be called."""

_GUARDED_MODULES = _names(
    "os posix nt sys builtins subprocess shutil importlib ctypes _ctypes gc marshal runpy code _thread threading signal"
    " socket inspect types pickle io _io healguard_core pytest_heal _pytest pytest pluggy"
)
"""Modules that must not be handed on as values."""

_STATE = ("sys", "builtins", "os", "posix", "types", "threading", "importlib")
_MODULE_NAME = types.ModuleType.__getattribute__
_NATIVE = (types.BuiltinFunctionType, types.FunctionType)
_environ_type = type(os.environ)
_KEPT_METHODS = frozenset(frame_modules.ENVIRON_METHODS | _names("__getitem__ __contains__ __iter__ __len__"))


def dangerous(callee: Any) -> str:
    """The name of the system operation that calling ``callee`` would be, "" for anything else."""
    for layer in callables.layers(callee):
        found = _dangerous_layer(layer.callee, layer.receiver)
        if found:
            return found
    return ""


def _dangerous_layer(value: Any, receiver: Any) -> str:
    kind = type(value)
    if kind is types.ModuleType or (not is_class(value) and isinstance(value, types.ModuleType)):
        return guarded_module(value)
    if kind in _NATIVE or is_class(value):
        return _origin(value, receiver)
    if kind in (types.FrameType, types.CodeType, types.TracebackType):
        return "<{}>".format(kind.__name__)
    module = _module_of_class(kind)
    if module.partition(".")[0] in _OURS or (module, kind.__name__) in _MAKERS:
        return "<{}.{}>".format(module, kind.__name__)
    return ""


_MAKERS = (("operator", "attrgetter"), ("operator", "methodcaller"))


def _origin(value: Any, receiver: Any) -> str:
    if is_class(value):
        module, name = _module_of_class(value), type.__getattribute__(value, "__name__")
        if issubclass(value, BaseException):
            return ""
    else:
        module, name = value.__module__, value.__name__
    if not isinstance(module, str):
        return ""
    root = module.partition(".")[0]
    if root in _OURS:
        return "{}.{}".format(module, name)
    if receiver is not callables.MISSING and receiver is not None and not isinstance(receiver, types.ModuleType):
        return _method(module, root, name, receiver)
    if (module, name) in _HARMLESS or (root, name) in _HARMLESS:
        return ""
    if root in _EVERYTHING or name in _SOME.get(module, ()):
        return name if module == "builtins" else "{}.{}".format(module, name)
    return ""


def _method(module: str, root: str, name: str, receiver: Any) -> str:
    if type(receiver) is _environ_type and name not in _KEPT_METHODS:
        return "os.environ.{}".format(name)
    return "{}.{}".format(module, name) if root in _METHODS_OF else ""


def _module_of_class(cls: type) -> str:
    try:
        module = type.__getattribute__(cls, "__module__")
    except AttributeError:
        return ""
    return module if isinstance(module, str) else ""


def guarded_module(value: Any) -> str:
    """The name of a module that must not be handed on, "" for other values."""
    if not isinstance(value, types.ModuleType):
        return ""
    try:
        name = _MODULE_NAME(value, "__name__")
    except AttributeError:
        return ""
    return str(name) if str(name).partition(".")[0] in _GUARDED_MODULES and name != "os.path" else ""


def forbidden_target(base: Any) -> str:
    """What of ours, the test runner's or the interpreter's a store on ``base`` would change, "" for anything else."""
    if isinstance(base, types.ModuleType):
        name = str(_MODULE_NAME(base, "__name__"))
        root = name.partition(".")[0]
        standard = getattr(sys, "stdlib_module_names", _STATE)
        return "module " + name if root in standard or guarded_module(base) else ""
    if is_class(base):
        root = _module_of_class(base).partition(".")[0]
        return "class {}".format(base.__name__) if root in _OURS + _STATE else ""
    if type(base) is dict:
        for name, module in _state_modules():
            if base is module.__dict__:
                return "module " + name
        return "sys.modules" if base is sys.modules else ""
    if type(base) is _environ_type:
        return "os.environ"
    root = _module_of_class(type(base)).partition(".")[0]
    if root in _OURS:
        return "<{}>".format(type(base).__name__)
    if base is sys.path or base is sys.meta_path or base is sys.path_hooks:
        return "the import system"
    return ""


def _state_modules() -> Tuple[Tuple[str, types.ModuleType], ...]:
    found = []
    for name in _STATE:
        module: Optional[types.ModuleType] = builtins if name == "builtins" else sys.modules.get(name)
        if module is not None:
            found.append((name, module))
    return tuple(found)
