"""HealCore, the language of healing code, as tables: syntax, builtins, names, attributes. Imports nothing of ours."""

from typing import Dict, FrozenSet


def _words(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


# --------------------------------------------------------------------------- limits

MAX_CHARACTERS = 20000
MAX_NESTING_MARKS = 1500
"""Characters and words that nest; 2,000 levels are safe for every parser from 3.8 on with a stack of 512 KB."""
MAX_DEPTH = 100
"""Levels of the syntax tree, so that compiling the code cannot exhaust the stack of a paused program."""
MAX_BITS = 65536
MAX_LENGTH = 10000000

# --------------------------------------------------------------------------- syntax

ALLOWED_NODES = _words(
    "Module Expr Assign AugAssign AnnAssign Delete Pass Break Continue If For While Try ExceptHandler With withitem"
    " Import ImportFrom alias BoolOp NamedExpr BinOp UnaryOp IfExp Dict Set List Tuple ListComp SetComp DictComp"
    " GeneratorExp comprehension Compare Call keyword FormattedValue JoinedStr Constant Attribute Subscript Starred"
    " Name Slice Index ExtSlice Load Store Del And Or Add Sub Mult Div FloorDiv Mod Pow LShift RShift BitOr BitXor"
    " BitAnd MatMult Invert Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn"
)

REFUSED_NODES: Dict[str, str] = {
    "FunctionDef": "a heal defines no functions; write the statements out",
    "AsyncFunctionDef": "a heal defines no functions; write the statements out",
    "ClassDef": "a heal defines no classes; use the classes that the program has",
    "Lambda": "use a comprehension, or call a function that the program has",
    "Return": "write `_eh_rtn = value`; the function returns it when the heal is done",
    "Raise": "write `_eh_raise = exception`; it is raised in the frame when the heal is done",
    "Assert": "write `if not ...: _eh_raise = exception`, or leave the check out",
    "Global": "names of the frame and of its module can be read and assigned as they are",
    "Nonlocal": "names of the frame and of enclosing functions can be read and assigned as they are",
    "Await": "a heal is synchronous; work on values that are there already",
    "AsyncFor": "a heal is synchronous; loop over a plain collection",
    "AsyncWith": "a heal is synchronous; use a plain `with`",
    "Yield": "a heal is no generator; build the list and assign it",
    "YieldFrom": "a heal is no generator; build the list and assign it",
    "Match": "use if/elif with isinstance and comparisons",
    "TryStar": "use plain `except` with named errors",
    "TypeAlias": "types are not needed in a heal",
    "TemplateStr": "use an f-string",
    "Interpolation": "use an f-string",
}

PARTS_OF_REFUSED_NODES = _words(
    "arguments arg match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs"
    " MatchOr TypeVar ParamSpec TypeVarTuple"
)
"""Only occur inside a refused node, which is reported itself."""

NEVER_PARSED_NODES = _words(
    "AST mod stmt expr expr_context boolop operator unaryop cmpop slice excepthandler type_ignore pattern type_param"
    " Interactive Expression FunctionType Suite AugLoad AugStore Param TypeIgnore Num Str Bytes NameConstant Ellipsis"
    " _ast_Ellipsis"
)
"""Abstract or historical classes that `ast.parse` does not produce; refused as unknown if one ever appears."""

EXPRESSION_NODES = ALLOWED_NODES - _words(
    "Assign AugAssign AnnAssign Delete Pass Break Continue If For While Try ExceptHandler With withitem Import"
    " ImportFrom alias NamedExpr Store Del"
)
"""What a `where` expression may consist of; `Store` only as the target of a comprehension."""

# --------------------------------------------------------------------------- builtins

BUILTIN_ERRORS = _words(
    "ArithmeticError AssertionError AttributeError BlockingIOError BrokenPipeError BufferError BytesWarning"
    " ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError"
    " DeprecationWarning EOFError EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError"
    " FileNotFoundError FloatingPointError FutureWarning IOError ImportError ImportWarning IndentationError"
    " IndexError InterruptedError IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError NameError"
    " NotADirectoryError NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError"
    " ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError"
    " RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError TabError TimeoutError"
    " TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError"
    " UnicodeWarning UserWarning ValueError Warning ZeroDivisionError"
)

PROCESS_ERRORS = _words("BaseException BaseExceptionGroup KeyboardInterrupt GeneratorExit SystemExit")
"""Catching or raising one of these could swallow the guard's veto or end the run."""

PURE_TYPES = _words(
    "bool bytearray bytes complex dict enumerate float frozenset int list object range reversed set slice str tuple zip"
)

PURE_FUNCTIONS = _words(
    "abs all any ascii bin callable chr divmod hash hex id isinstance issubclass len next oct ord pow repr round sum"
)
"""They call nothing but the special methods of their arguments."""

HIGHER_ORDER = _words("filter iter map max min sorted")
"""They call a function that is given to them; see `calls.CALLABLE_POSITIONS`."""

SHAPED = _words("delattr dir format getattr hasattr print setattr super type")
"""Only as the function of a call, in a form that `calls` checks."""

DANGEROUS_BUILTINS = _words("__import__ breakpoint compile eval exec exit globals help input locals open quit vars")

UNSUPPORTED_BUILTINS = _words("aiter anext classmethod copyright credits license memoryview property staticmethod")

CONSTANT_BUILTINS = _words("Ellipsis NotImplemented")

BUILTINS = (
    BUILTIN_ERRORS
    | PROCESS_ERRORS
    | PURE_TYPES
    | PURE_FUNCTIONS
    | HIGHER_ORDER
    | SHAPED
    | DANGEROUS_BUILTINS
    | UNSUPPORTED_BUILTINS
    | CONSTANT_BUILTINS
)

KEPT_BUILTINS = (
    BUILTIN_ERRORS
    | PROCESS_ERRORS
    | CONSTANT_BUILTINS
    | _words(
        "__import__ breakpoint callable classmethod delattr eval exec getattr globals hasattr isinstance issubclass"
    )
    | _words("locals print property setattr staticmethod super")
)
"""Builtins that a heal may not assign to. The others (id, type, input, open, len, ...) are names of variables too."""

EXPRESSION_FUNCTIONS = (PURE_TYPES | PURE_FUNCTIONS | HIGHER_ORDER | _words("getattr hasattr type")) - _words(
    "iter next"
)

EXPRESSION_METHODS = _words(
    "capitalize casefold center count decode encode endswith find get hex index is_integer isalnum isalpha isascii"
    " isdecimal isdigit isdisjoint isidentifier islower isnumeric isprintable isspace issubset issuperset istitle"
    " isupper items keys join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust"
    " rpartition rsplit rstrip split splitlines startswith strip swapcase title union upper values zfill difference"
    " intersection copy symmetric_difference bit_length as_integer_ratio"
)
"""Read-only methods of str, bytes, dict, list, tuple, set and numbers."""

# --------------------------------------------------------------------------- names and attributes

HARMLESS_DUNDER_NAMES = _words("__name__ __file__ __doc__ __version__ __debug__")
"""Plain strings of the frame's module (and a constant)."""

HARMLESS_DUNDER_ATTRIBUTES = _words(
    "__name__ __qualname__ __module__ __doc__ __version__ __file__ __cause__ __context__ __suppress_context__"
    " __notes__ __members__ __match_args__ __slots__ __all__ __len__ __array_priority__ __array_interface__"
    " __geo_interface__ __class__"
)
"""May be read. They give strings, exceptions, plain values; `__class__` only in the forms that `names` checks."""

DUNDERS_THAT_NEED_A_CALL = _words("__len__")

PROTOCOL_METHODS = _words(
    "__len__ __length_hint__ __iter__ __next__ __reversed__ __contains__ __getitem__ __hash__ __bool__ __str__"
    " __repr__ __bytes__ __int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__ __ceil__ __abs__"
    " __neg__ __pos__ __invert__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__"
    " __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __divmod__ __pow__ __rpow__"
    " __matmul__ __rmatmul__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __lshift__ __rshift__ __fspath__"
    " __copy__ __deepcopy__ __html__ __json__ __dataframe__ __column_consortium_standard__ __array__ __rich__"
    " __rich_repr__"
)
"""May be called on a value: `other.__array__()`. They do what an operator or a builtin does."""

PROTOCOL_PREFIXES = ("__array_", "__arrow_", "__dataframe_", "__geo_", "__html_", "__rich_", "__sklearn_", "__torch_")
"""Families of protocols of libraries. Python itself has no special name that begins so (a test checks)."""

DANGEROUS_PRIVATE = _words(
    "_getframe _getframemodulename _current_frames _current_exceptions _exit _io _thread _posixsubprocess _imp"
    " _module _bootstrap _bootstrap_external _frozen_importlib _frozen_importlib_external _winapi _socket _ssl"
    " _signal _pickle _ctypes _multiprocessing _asyncio _testcapi _testinternalcapi _xxsubinterpreters _interpreters"
    " _overlapped _builtin_open bltn_open _locale _flavour _varname_from_oparg _co_code_adaptive _evaluate _execvpe"
    " _spawnvef _xoptions _clear_type_cache"
)

MACHINERY = _words(
    "f_back f_builtins f_code f_generator f_globals f_lasti f_lineno f_locals f_trace f_trace_lines f_trace_opcodes"
    " tb_frame tb_lasti tb_lineno tb_next gi_code gi_frame gi_running gi_suspended gi_yieldfrom cr_await cr_code"
    " cr_frame cr_origin cr_running cr_suspended ag_await ag_code ag_frame ag_running ag_suspended co_argcount"
    " co_branches co_cellvars co_code co_consts co_exceptiontable co_filename co_firstlineno co_flags co_freevars"
    " co_kwonlyargcount co_lines co_linetable co_lnotab co_name co_names co_nlocals co_positions co_posonlyargcount"
    " co_qualname co_stacksize co_varnames func_closure func_code func_defaults func_dict func_globals func_name"
    " im_class im_func im_self mro cell_contents"
)
"""Attributes of frames, tracebacks, code, generators, coroutines, cells and (old) functions."""

EFFECT_METHODS = _words(
    "write_text write_bytes rmtree unlink rmdir removedirs makedirs mkdir symlink_to hardlink_to link_to chmod"
    " lchmod chown popen Popen check_output check_call getoutput getstatusoutput create_subprocess_exec"
    " create_subprocess_shell putenv unsetenv execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle"
    " spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp forkpty setuid setgid killpg"
    " raise_signal settrace setprofile addaudithook set_trace exec_module load_module create_module find_module"
    " find_spec import_module CDLL LoadLibrary urlopen urlretrieve start_new_thread call_soon call_soon_threadsafe"
    " call_later call_at run_in_executor create_task ensure_future run_coroutine_threadsafe run_until_complete"
    " run_forever add_done_callback"
)
"""Names that mean a file, a process, the network or the import system whatever object they are found on. Less telling
ones (remove, rename, run, send, ...) are left to the check of the live callee."""

REFLECTION = _words(
    "getmembers getmembers_static getattr_static getclosurevars currentframe getouterframes getinnerframes"
    " getframeinfo walk_stack walk_tb extract_stack get_objects get_referrers get_referents attrgetter methodcaller"
    " get_type_hints make_dataclass namedtuple vformat"
)
"""Names of functions that read attributes or make classes by text, or hand out frames and objects, wherever found."""

EFFECT_FUNCTIONS = EFFECT_METHODS - _words("find_module find_spec load_module create_module unlink mkdir chmod chown")
"""The same as plain names that are called: `rmtree(path)` after the program's own `from shutil import rmtree`."""

CODE_METHODS = _words("eval exec execfile runcode runsource runctx")
"""Called with a text they run it as code: `frame.eval("...")`. `model.eval()` is something else."""

CALLED_NAMES = _words("partial partialmethod")
"""As plain names, refused when called (and ordinary variables otherwise)."""

DANGEROUS_KEYS = _words(
    "__builtins__ __import__ __loader__ __spec__ __globals__ __code__ __closure__ __subclasses__ __reduce__"
    " __reduce_ex__"
)
"""String constants that, as a key, take interpreter internals out of a namespace dictionary."""

DANGEROUS_TEXTS = _words("__builtins__ __import__ __globals__ __subclasses__")
"""The same anywhere: as an argument of `get`, in a path of keys, ..."""

EAGER = _words(
    "all any bytearray bytes dict frozenset list max min next set sorted sum tuple collections.ChainMap"
    " collections.Counter collections.OrderedDict collections.deque functools.reduce math.fsum math.prod math.dist"
    " heapq.nlargest heapq.nsmallest statistics.fmean statistics.mean statistics.median statistics.stdev"
)
"""Functions that use up an iterator before they return."""

EAGER_METHODS = _words("join extend update union intersection difference symmetric_difference writelines fromkeys")
LAZY = _words("enumerate filter iter map reversed zip")
"""Functions that hand an iterator on; what they return must be used up in turn."""
