"""What lies between a frame and its caller: C code that may swallow what the frame raises. Standard library only.

The caller's current instruction says which operation called: an attribute, a call, an iteration, a comparison. Most
operations let everything pass. The ones that do not are few, and each swallows few classes.
"""

import ast
import sys
import types
import weakref
from types import FrameType
from typing import Any, FrozenSet, List, Optional

from . import layout, names, swallowing
from .handlers import key_of
from .names import UNKNOWN
from .passage import Passage, passes, replaces, swallows, unsure


def _words(table: str) -> FrozenSet[str]:
    return frozenset(table.split())


_GENERATOR = 0x20 | 0x80 | 0x100 | 0x200
_SENSITIVE = (AttributeError, TypeError, LookupError, StopIteration, StopAsyncIteration, OverflowError)
_ITERATING = _words("""
FOR_ITER UNPACK_SEQUENCE UNPACK_EX LIST_EXTEND SET_UPDATE CALL_FUNCTION_EX BUILD_TUPLE_UNPACK BUILD_LIST_UNPACK
BUILD_SET_UPDATE BUILD_TUPLE_UNPACK_WITH_CALL BUILD_SET_UNPACK CONTAINS_OP GET_ITER LIST_TO_TUPLE
""")
_HINTING = frozenset(["LIST_EXTEND", "CALL_FUNCTION_EX", "UNPACK_EX", "BUILD_LIST_UNPACK", "BUILD_TUPLE_UNPACK",
                      "BUILD_TUPLE_UNPACK_WITH_CALL"])
_ITERATORS = _words("""
builtins:list builtins:tuple builtins:set builtins:frozenset builtins:dict builtins:sorted builtins:sum builtins:min
builtins:max builtins:any builtins:all builtins:enumerate builtins:zip builtins:map builtins:filter builtins:reversed
builtins:bytes builtins:bytearray builtins:str.join builtins:list.extend builtins:set.update builtins:set.union
builtins:frozenset.union builtins:set.intersection builtins:set.difference builtins:dict.fromkeys builtins:dict.update
collections:deque _collections:deque collections:deque.extend _collections:deque.extend functools:reduce
_functools:reduce builtins:next builtins:bytes.join
""")
_HINTERS = _words("""
builtins:list builtins:tuple builtins:sorted builtins:str.join builtins:bytes.join builtins:list.extend builtins:bytes
builtins:bytearray operator:length_hint _operator:length_hint
""")
_SIZERS = frozenset(["builtins:len", "builtins:bool", "builtins:any", "builtins:all", "builtins:filter"])
_ATTRIBUTE_EATERS = frozenset(["builtins:hasattr", "builtins:isinstance", "builtins:issubclass"])
# Special methods that C code tries before it does something else, whatever they raise.
_TRIED = _words("""
__len__ __length_hint__ __get__ __getattr__ __getattribute__ __iter__ __getitem__ __array__ __array_interface__
__array_struct__ __array_priority__ __array_ufunc__ __array_function__ __float__ __int__ __index__ __complex__
__buffer__ __dlpack__
""")
# Operations that can call a method of a value directly; anything else that seems to call ran a destructor or callback.
_REPEATS_KEYWORDS = sys.version_info >= (3, 12)
_WRAPS_SET_NAME = sys.version_info < (3, 12)  # into a RuntimeError
_SILENT = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "POP_TOP", "DELETE_FAST", "DELETE_NAME",
           "DELETE_DEREF", "DELETE_GLOBAL", "RETURN_VALUE", "RETURN_CONST", "POP_EXCEPT", "POP_BLOCK", "ROT_TWO",
           "LOAD_CONST", "END_FOR", "LOAD_FAST_AND_CLEAR", "SWAP", "COPY", "JUMP_BACKWARD", "JUMP_FORWARD", "RESUME")


def crossing(callee: FrameType, caller: FrameType, cls: Optional[type]) -> Passage:
    """What becomes of an exception of class ``cls`` on its way from ``callee`` to ``caller``."""
    kept = swallowing.called_back(callee, caller, cls)
    if kept is not None:
        return kept
    name = _slot(callee, cls)
    special = name.startswith("__")
    if not special and (cls is None or not _is_sensitive(cls)):
        return _ordinary(callee, caller, cls)
    if name == "__del__":
        return _destructor(callee, caller, cls)
    if cls is None:
        return passes(cls)
    if name == "__set_name__" and _WRAPS_SET_NAME and names.derives(cls, Exception):
        return passes(RuntimeError)
    if not _is_sensitive(cls) and name not in _TRIED:
        return passes(cls) if name != "__call__" else _ordinary(callee, caller, cls)
    operation = layout.operation(caller.f_code, caller.f_lasti)
    if name == "__getattr__" and names.derives(cls, AttributeError):
        if operation == "IMPORT_NAME" or caller.f_code.co_filename.startswith("<frozen importlib"):
            return swallows("the import system asks a module for what it need not have")
        if operation == "IMPORT_FROM":
            return passes(ImportError)
    return _through(callee, caller, operation, cls)


def _slot(callee: FrameType, cls: Optional[type]) -> str:
    """The name by which C code knows the function of ``callee``: of ``__next__ = next`` it is ``__next__``."""
    name = callee.f_code.co_name
    if name.startswith("__") or cls is None or not names.derives(cls, StopIteration):
        return name
    return "__next__" if is_next(callee) else name


def is_next(callee: FrameType) -> bool:
    """Whether ``callee`` runs the ``__next__`` of its first argument's class, under whatever name."""
    if callee.f_code.co_name == "__next__":
        return True
    owner = first_argument(callee)
    if owner is UNKNOWN:
        return False
    entry = names.class_attribute(type(owner), "__next__")
    return type(entry) is types.FunctionType and entry.__code__ is callee.f_code


def _is_sensitive(cls: type) -> bool:
    return any(names.derives(cls, base) for base in _SENSITIVE)


def always_passes(callee: types.CodeType, caller: FrameType, cls: Optional[type]) -> bool:
    """Whether `crossing` lets an exception of class ``cls`` pass here whatever the values are.

    False says only that values matter, or may matter.
    """
    special = callee.co_name.startswith("__")
    if cls is None or names.derives(cls, StopIteration) or names.derives(cls, StopAsyncIteration):
        return False
    if special and (callee.co_name == "__del__" or callee.co_name in _TRIED):
        subscript = layout.operation(caller.f_code, caller.f_lasti) in ("BINARY_SUBSCR", _DIRECT_CALL)
        return subscript and callee.co_name == "__getitem__" and not names.derives(cls, AttributeError)
    if callee.co_name == "__set_name__":
        return False
    if special and not _is_sensitive(cls) and callee.co_name != "__call__":
        return True
    operation = layout.operation(caller.f_code, caller.f_lasti)
    if operation in _SILENT or operation == "DICT_MERGE":
        return False
    if not names.derives(cls, AttributeError):
        return True
    if special:
        return False
    called = operation.startswith(("CALL", "PRECALL"))
    return operation == _DIRECT_CALL or (called and callee.co_argcount != 1)


_DIRECT_CALL = "CACHE"  # where the interpreter calls with no C code in between, it may stand in the instruction's cache


def guards_of_end(callee: FrameType, caller: FrameType, cls: Optional[type]) -> Optional[List[names.Guard]]:
    """What has to hold for an end that `crossing` found here to be right again; None where that is not known.

    Known is that of ``getattr`` with a default, or ``hasattr``, which asked a ``__getattr__``.
    """
    if cls is None or callee.f_code.co_name not in _LOOKUPS or not names.derives(cls, AttributeError):
        return None
    if not layout.operation(caller.f_code, caller.f_lasti).startswith(("CALL", "PRECALL")):
        return None
    node = swallowing.call_node(caller)
    here = names.of_frame(caller)
    function = UNKNOWN if node is None else names.evaluate(node.func, here)
    certain = type(function) is types.BuiltinFunctionType and not here.trail.loose and not here.trail.local
    return here.trail.guards if certain and not here.trail.managers else None


def _ordinary(callee: FrameType, caller: FrameType, cls: Optional[type]) -> Passage:
    if layout.operation(caller.f_code, caller.f_lasti) in _SILENT and (
            _is_dead(first_argument(callee)) or _is_dead(first_argument(callee, 1))):  # the second one of a method
        return swallows("a weak reference's callback only prints its errors")
    return passes(cls)


def _is_dead(value: Any) -> bool:
    if not names.derives(type(value), weakref.ReferenceType):
        return False
    return weakref.ReferenceType.__call__(value) is None


def first_argument(frame: FrameType, index: int = 0) -> Any:
    """The value of a frame's parameter, or `UNKNOWN`."""
    if frame.f_code.co_argcount <= index:
        return UNKNOWN
    return names.local_value(frame, frame.f_code.co_varnames[index])


def _destructor(callee: FrameType, caller: FrameType, cls: Optional[type]) -> Passage:
    call = swallowing.call_node(caller)
    if call is not None and getattr(call.func, "attr", "") == "__del__":
        return passes(cls)
    if call is None and "CALL" in layout.operation(caller.f_code, caller.f_lasti):
        return unsure("who runs {} is not known".format(callee.f_code.co_name))
    return swallows("errors in __del__ are only printed")


def _through(callee: FrameType, caller: FrameType, operation: str, cls: type) -> Passage:
    name = _slot(callee, cls)
    running = bool(callee.f_code.co_flags & _GENERATOR)  # its body, not the special method, raised
    if operation.startswith(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER")):
        return _attribute(callee, cls)
    if operation.startswith(("CALL", "PRECALL")) and operation not in ("CALL_FUNCTION_EX", "CALL_INTRINSIC_1"):
        return _call(callee, caller, cls)
    if name == "__get__":
        return unsure("a descriptor of a special method failed")  # a comparison forgets any error here
    if operation in _ITERATING and not running:
        return _iteration(callee, operation, cls, swallowing_len=operation in _HINTING)
    if operation == "MATCH_CLASS" and names.derives(cls, AttributeError):
        return swallows("a class pattern takes a missing attribute as no match")
    if operation == "IMPORT_FROM" and names.derives(cls, AttributeError):
        return passes(ImportError)
    if operation == "DICT_MERGE" and _REPEATS_KEYWORDS and names.derives(cls, KeyError) and not running:
        return replaces("f(**mapping) takes a KeyError of the mapping for a repeated keyword")
    if operation in ("IMPORT_STAR", "CALL_INTRINSIC_1", "DICT_MERGE", "DICT_UPDATE") and names.derives(
            cls, AttributeError) and not running:
        return unsure("{} may swallow an AttributeError".format(operation))
    if operation in _SILENT:
        return _ordinary(callee, caller, cls)
    if operation.startswith(("BINARY_OP", "COMPARE_OP", "INPLACE_", "BINARY_")) and name in _NOT_OPERATORS:
        return unsure("C code in an operator tried {}".format(name))
    return passes(cls)


_NOT_OPERATORS = frozenset(["__len__", "__length_hint__", "__getattr__", "__getattribute__", "__iter__", "__array__",
                            "__array_interface__", "__array_struct__", "__float__", "__int__", "__complex__"])


def _attribute(callee: FrameType, cls: type) -> Passage:
    """``value.name``: a class with ``__getattr__`` is asked again after an AttributeError."""
    if not names.derives(cls, AttributeError) or callee.f_code.co_name == "__getattr__":
        return passes(cls)
    owner = first_argument(callee, 1 if callee.f_code.co_name == "__get__" else 0)
    if owner is UNKNOWN:
        return passes(cls)
    if names.class_attribute(type(owner), "__getattr__") is UNKNOWN:
        return passes(cls)
    return unsure("{} has __getattr__, which is asked next".format(type(owner).__name__))


def _iteration(callee: FrameType, operation: str, cls: type, swallowing_len: bool) -> Passage:
    name = _slot(callee, cls)
    if name == "__next__" and names.derives(cls, StopIteration):
        return swallows("the iteration ends")
    if name == "__getitem__" and (names.derives(cls, IndexError) or names.derives(cls, StopIteration)):
        if operation in ("dict", "dict.update"):
            return unsure("whether {} takes keys or pairs is not known".format(operation))
        if names.class_attribute(type(first_argument(callee)), "__iter__") is UNKNOWN:
            return swallows("the iteration over a sequence ends")
        return unsure("who calls __getitem__ is not known")  # reversed swallows, map passes on
    if name in ("__len__", "__length_hint__") and names.derives(cls, TypeError):
        if swallowing_len:
            return swallows("a length hint may be missing")
        return unsure("{} may treat it as a missing length hint".format(operation))
    return passes(cls)


# --------------------------------------------------------------------------- calls


def _call(callee: FrameType, caller: FrameType, cls: type) -> Passage:
    name = _slot(callee, cls)
    running = bool(callee.f_code.co_flags & _GENERATOR)
    looked_up = names.derives(cls, AttributeError) and _is_attribute_access(callee)
    stops = names.derives(cls, StopIteration)
    if not (looked_up or stops or (name in _TRIED and not running)):
        return passes(cls)
    node = swallowing.call_node(caller)
    if node is None:
        return unsure("which function called {} is not known".format(name))
    function = names.evaluate(node.func, names.of_frame(caller))
    if type(function) is types.MethodType:
        function = function.__func__
    if type(function) is types.FunctionType and function.__code__ is callee.f_code:
        return passes(cls)
    key = key_of(function) if function is not UNKNOWN else _method_key(node)
    return _known_call(key, node, callee, cls, looked_up)


def _known_call(key: str, node: ast.Call, callee: FrameType, cls: type, looked_up: bool) -> Passage:
    name = callee.f_code.co_name
    if looked_up and (key in _ATTRIBUTE_EATERS or (key == "builtins:getattr" and len(node.args) == 3)):
        return swallows("{} takes it as a missing attribute".format(key.split(":")[1]))
    if looked_up:
        return passes(cls) if key == "builtins:getattr" else unsure("C code looked {} up".format(name))
    if callee.f_code.co_flags & _GENERATOR or (name in _LOOKUPS and key.startswith("builtins:")):
        return passes(cls)
    if key == "builtins:next" and len(node.args) == 2 and names.derives(cls, StopIteration):
        return swallows("next has a default")
    if key in _SIZERS and name in ("__len__", "__iter__", "__getitem__"):
        return _iteration(callee, key, cls, False) if name == "__getitem__" else passes(cls)
    if key in ("builtins:str.translate",) and name == "__getitem__" and names.derives(cls, LookupError):
        return swallows("str.translate takes it as no translation")
    if key in _ITERATORS and key != "builtins:next":
        return _iteration(callee, key.split(":")[1], cls, key in _HINTERS)
    if names.derives(cls, StopIteration) and key != "builtins:next":
        return unsure("C code may take StopIteration as an end")
    if _is_natural(key, node, name):
        return passes(cls)
    return unsure("C code tried {}".format(name))


def _is_natural(key: str, node: ast.Call, name: str) -> bool:
    """Whether the call itself is about this special method, so that nothing else lies between."""
    written = getattr(node.func, "attr", getattr(node.func, "id", ""))
    plain = name.strip("_")
    return written in (name, plain) or key in _DIRECT.get(name, ())


_DIRECT = {
    "__len__": ("builtins:len", "builtins:bool"),
    "__iter__": ("builtins:iter", "builtins:next"),
    "__getitem__": ("operator:getitem", "_operator:getitem", "builtins:str.format_map", "builtins:str.format",
                    "operator:itemgetter", "builtins:format"),
    "__float__": ("builtins:float", "builtins:round"),
    "__int__": ("builtins:int",),
    "__index__": ("builtins:int", "builtins:range", "builtins:hex", "builtins:bin", "builtins:oct", "builtins:chr",
                  "builtins:slice", "operator:index", "_operator:index"),
    "__getattr__": ("builtins:getattr",),
    "__getattribute__": ("builtins:getattr",),
}


def _method_key(node: ast.Call) -> str:
    """A guess for a method of an unknown object, by its name alone."""
    written = getattr(node.func, "attr", "")
    return _METHODS.get(written, "")


_METHODS = {
    "join": "builtins:str.join", "extend": "builtins:list.extend", "translate": "builtins:str.translate",
    "format_map": "builtins:str.format_map", "fromkeys": "builtins:dict.fromkeys",
}


def _is_attribute_access(callee: FrameType) -> bool:
    """Whether the frame runs because an attribute was looked up: ``__getattr__``, a property or a descriptor."""
    name = callee.f_code.co_name
    if name in _LOOKUPS:
        return True
    owner = first_argument(callee)
    if owner is UNKNOWN or callee.f_code.co_argcount != 1:
        return False
    entry = names.class_attribute(type(owner), name)
    if name.startswith("__"):
        return type(entry) is property
    if entry is UNKNOWN or type(entry) is types.FunctionType:
        return _is_getter(type(owner), callee.f_code)
    return type(entry) not in (staticmethod, classmethod)


def _is_getter(cls: type, code: types.CodeType) -> bool:
    """Whether a property of the class under another name runs this code."""
    for base in names.mro(cls):
        for entry in list(type.__dict__["__dict__"].__get__(base).values()):
            if type(entry) is property and getattr(entry.fget, "__code__", None) is code:
                return True
    return False


_LOOKUPS: FrozenSet[str] = frozenset(["__getattr__", "__getattribute__", "__get__"])
