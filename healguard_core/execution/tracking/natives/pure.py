"""C callables whose result is computed from what they are given, and that change nothing: by type and by module.

May import call. Everything here is told from where the interpreter defines a callable, so that modules need not be
imported to be known.
"""

import types
from typing import Any, FrozenSet, Iterator, Optional

from healguard_core.execution.guard.callables import is_class
from healguard_core.execution.guard.kinds import Kinds
from healguard_core.execution.tracking.heap import ELEMENTS
from healguard_core.execution.tracking.labels import Mark, join
from healguard_core.execution.tracking.natives.call import (
    DERIVED,
    NOTHING,
    SHALLOW,
    After,
    NativeCall,
    Summary,
    visible,
)

_DESCRIPTORS = Kinds(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)

_TYPES: FrozenSet[str] = frozenset((
    "builtins.str", "builtins.bytes", "builtins.int", "builtins.float", "builtins.complex", "builtins.bool",
    "builtins.range", "builtins.slice", "builtins.memoryview", "builtins.NoneType", "builtins.ellipsis",
    "builtins.bytearray", "builtins.NotImplementedType", "types.GenericAlias", "types.UnionType", "types.NoneType",
    "types.EllipsisType", "types.NotImplementedType", "typing.TypeVar", "array.array",
    "datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta", "datetime.timezone",
    "datetime.tzinfo", "datetime.IsoCalendarDate", "zoneinfo.ZoneInfo", "decimal.Decimal", "decimal.Context",
    "re.Pattern", "re.Match", "_sre.SRE_Scanner", "_sre.SRE_Template", "_struct.Struct", "_random.Random",
    "string.Template", "_json.Scanner", "_json.Encoder", "os.stat_result", "os.DirEntry", "os.terminal_size",
    "time.struct_time", "ipaddress.IPv4Address", "unicodedata.UCD", "_hashlib.HASH", "_hashlib.HMAC",
    "_hashlib.HASHXOF", "types.CodeType", "_csv.Dialect", "builtins.code", "inspect.BufferFlags", "select.epoll",
    "_collections._tuplegetter", "xxsubtype.spamlist", "_asyncio.FutureIter", "_weakref.ReferenceType",
))
"""Types of unchangeable values (and of buffers: their writing methods are listed elsewhere)."""

_MODULES: FrozenSet[str] = frozenset((
    "math", "cmath", "_struct", "binascii", "zlib", "time", "_random", "_statistics", "_string", "unicodedata",
    "_bisect", "_json", "_sre", "_codecs", "_locale", "_hashlib", "_md5", "_sha1", "_sha2", "_sha256", "_sha512",
    "_sha3", "_blake2", "_bz2", "_lzma", "_crypt", "_datetime", "_decimal", "_zoneinfo", "_opcode", "marshal",
    "posix", "nt", "pwd", "grp", "errno", "_stat", "_posixsubprocess", "_uuid", "sys", "_operator", "_typing",
    "atexit", "faulthandler", "_signal", "resource", "_tracemalloc", "_tokenize", "_suggestions", "_sysconfig",
    "_imp", "_warnings", "_symtable", "_ast", "_abc", "select", "_pickle", "_socket", "_csv", "array",
))
"""Modules whose functions only compute (or only ask the system)."""

_TESTS: FrozenSet[str] = frozenset(("_abc", "gc", "_tracemalloc", "_warnings", "atexit", "faulthandler"))
"""Modules whose functions give nothing that depends on their arguments as data."""

_OPAQUE_RESULTS: FrozenSet[str] = frozenset(("_thread", "_weakref", "_signal"))


def _stated(kind: type) -> str:
    """``module.name`` as the interpreter says it of a type."""
    return "{}.{}".format(type.__getattribute__(kind, "__module__"), type.__getattribute__(kind, "__name__"))


def _module_of(callee: Any) -> str:
    """The name of the module that a builtin function belongs to, "" for other callables."""
    if isinstance(callee, types.BuiltinFunctionType) and isinstance(callee.__self__, types.ModuleType):
        return str(types.ModuleType.__getattribute__(callee.__self__, "__name__"))
    return ""


def buffers(value: Any) -> Iterator[Any]:
    """``value`` and, behind a view of memory, what that is a view of."""
    yield value
    if type(value) is memoryview and value.obj is not None:
        yield value.obj


def _holder(call: NativeCall, result: Any) -> Optional[Mark]:
    """A C object that takes in data and gives it back in another form: a hash, a compressor, a reader."""
    given = join(*call.marks, *call.named_marks.values(), *[visible(call.heap, value) for value in call.args])
    for buffer in buffers(call.receiver):
        call.store(buffer, ELEMENTS, join(given, *call.returned))
    return None if result is None else join(call.visible(), *call.returned)


HOLDER = After(_holder)

_HOLDERS: FrozenSet[str] = frozenset((
    "_hashlib.HASH", "_hashlib.HMAC", "_hashlib.HASHXOF", "_md5.md5", "_sha1.sha1", "_sha2.SHA224Type",
    "_sha2.SHA256Type", "_sha2.SHA384Type", "_sha2.SHA512Type", "_sha256.sha256", "_sha512.sha512", "_sha3.sha3_256",
    "_blake2.blake2b", "_blake2.blake2s", "zlib.Compress", "zlib.Decompress", "_bz2.BZ2Compressor",
    "_bz2.BZ2Decompressor", "_lzma.LZMACompressor", "_lzma.LZMADecompressor", "_random.Random",
    "_multibytecodec.MultibyteIncrementalEncoder", "_multibytecodec.MultibyteIncrementalDecoder",
    "_pickle.Pickler", "_pickle.Unpickler", "_ssl.MemoryBIO", "_io._BytesIOBuffer", "xml.etree.ElementTree.XMLParser",
    "pyexpat.xmlparser", "builtins.memoryview", "_struct.Struct", "_elementtree.TreeBuilder",
))


def find(callee: Any) -> Optional[Summary]:
    """The summary of a callable that only computes; None for others."""
    kind: Any = type(callee)
    owner: Any
    if kind in _DESCRIPTORS:
        owner = callee.__objclass__
        stated = _stated(owner)
        if stated in _HOLDERS and callee.__name__ not in _READERS:
            return HOLDER
        if stated in _TYPES or stated in _HOLDERS:
            return NOTHING if callee.__name__ == "__contains__" else DERIVED
        return None
    if is_class(callee):
        return DERIVED if _stated(callee) in _TYPES or _stated(callee) in _HOLDERS else None
    if isinstance(callee, types.BuiltinFunctionType) and is_class(callee.__self__):
        owner = callee.__self__
        return DERIVED if _stated(owner) in _TYPES else None
    module = _module_of(callee)
    if module in _TESTS:
        return NOTHING
    if module in _MODULES:
        return _FUNCTIONS.get((module, callee.__name__), DERIVED)
    if module in _OPAQUE_RESULTS:
        return SHALLOW
    return DERIVED if _stated(kind) in _TYPES else None


_READERS: FrozenSet[str] = frozenset((
    "digest", "hexdigest", "copy", "getrandbits", "random", "getstate", "tobytes", "tolist", "hex", "__len__",
    "__getitem__", "__iter__", "unpack", "unpack_from", "pack", "iter_unpack", "toreadonly", "cast", "__repr__",
))


def _packed_into(call: NativeCall, _result: Any) -> Optional[Mark]:
    for position in (1, 0):
        if position < len(call.args) and isinstance(call.args[position], (bytearray, memoryview)):
            for buffer in buffers(call.args[position]):
                call.store(buffer, ELEMENTS, call.shallow())
            break
    return None


_FUNCTIONS = {
    ("_struct", "pack_into"): After(_packed_into),
    ("sys", "exc_info"): NOTHING,
    ("sys", "_getframe"): NOTHING,
    ("sys", "getrefcount"): NOTHING,
    ("sys", "intern"): SHALLOW,
    ("sys", "setrecursionlimit"): NOTHING,
    ("_warnings", "warn"): NOTHING,
    ("_imp", "acquire_lock"): NOTHING,
}
