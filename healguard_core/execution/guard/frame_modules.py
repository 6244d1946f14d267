"""What a heal may read of system modules that the frame has already, by their usual names. Imports nothing of ours."""

from typing import Dict, FrozenSet


def _names(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


FRAME_MODULES: Dict[str, FrozenSet[str]] = {
    "os": _names(
        "path sep linesep pathsep curdir pardir extsep altsep devnull name fspath fsencode fsdecode error getcwd getenv"
        " environ"
    ),
    "sys": _names(
        "maxsize byteorder version version_info platform float_info int_info hash_info maxunicode implementation"
        " getsizeof getdefaultencoding intern hexversion"
    ),
    "pickle": _names("PickleError PicklingError UnpicklingError"),
    "subprocess": _names("CalledProcessError TimeoutExpired SubprocessError PIPE DEVNULL STDOUT"),
    "shutil": _names("Error SameFileError"),
    "threading": _names("get_ident"),
    "multiprocessing": _names("cpu_count"),
    "importlib": _names(""),
    "ctypes": _names(""),
    "builtins": _names(""),
    "posix": _names(""),
    "marshal": _names(""),
    "runpy": _names(""),
}
"""Names that programs use for these modules and hardly for anything else: only this may be read of them."""

ENVIRON_METHODS = _names("get items keys values copy")

FRAME_DENIED: Dict[str, FrozenSet[str]] = {
    "asyncio": _names("run create_subprocess_exec create_subprocess_shell new_event_loop get_event_loop"),
    "atexit": _names("register unregister"),
    "codecs": _names("open register register_error"),
    "functools": _names("partial partialmethod"),
    "gc": _names("callbacks collect disable enable freeze garbage set_threshold unfreeze"),
    "inspect": _names("stack trace unwrap getmodule"),
    "io": _names("open open_code FileIO"),
    "json": _names("load dump"),
    "logging": _names("FileHandler basicConfig config handlers shutdown disable captureWarnings"),
    "operator": _names("call"),
    "pytest": _names("skip xfail exit fail importorskip main"),
    "signal": _names("signal alarm setitimer raise_signal pthread_kill siginterrupt set_wakeup_fd"),
    "socket": _names("socket create_connection create_server socketpair fromfd setdefaulttimeout"),
    "string": _names("Formatter"),
    "tempfile": _names(
        "mkstemp mkdtemp mktemp NamedTemporaryFile TemporaryFile TemporaryDirectory SpooledTemporaryFile"
    ),
    "time": _names("sleep"),
    "types": _names("FunctionType CodeType LambdaType MethodType ModuleType new_class"),
}
"""Names that may also be an ordinary variable: only these attributes are refused."""

SOFTLY_DENIED = _names("json time")
"""Of these, refused attributes are merely unsupported."""
