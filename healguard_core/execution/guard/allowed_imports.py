"""Which (module, name) pairs healing code may import, and which modules are the system. Imports nothing of ours.

The names are listed one by one because "everything public" is not safe: half of the standard library's modules lead
to `os`, `sys` or `builtins` within a few public attributes (``json.codecs.builtins``). A test walks all that is listed.
"""

from typing import Dict, FrozenSet, Set, Tuple


def _names(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


ALLOWED: Dict[str, FrozenSet[str]] = {
    "array": _names("array"),
    "ast": _names("literal_eval"),
    "base64": _names(
        "a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode"
        " decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode"
    ),
    "binascii": _names("Error a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 crc_hqx hexlify unhexlify"),
    "bisect": _names("bisect bisect_left bisect_right insort insort_left insort_right"),
    "calendar": _names("day_abbr day_name isleap leapdays month_abbr month_name monthrange timegm weekday"),
    "cmath": _names(
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj"
        " phase pi polar rect sin sinh sqrt tan tanh tau"
    ),
    "codecs": _names(
        "BOM BOM_BE BOM_LE BOM_UTF16 BOM_UTF16_BE BOM_UTF16_LE BOM_UTF32 BOM_UTF32_BE BOM_UTF32_LE BOM_UTF8 decode"
        " encode"
    ),
    "collections": _names("ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque"),
    "collections.abc": _names(
        "AsyncGenerator AsyncIterable AsyncIterator Awaitable Buffer ByteString Callable Collection Container"
        " Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping"
        " MutableSequence MutableSet Reversible Sequence Set Sized ValuesView"
    ),
    "contextlib": _names("nullcontext suppress"),
    "copy": _names("copy deepcopy replace"),
    "csv": _names("DictReader Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC reader"),
    "dataclasses": _names("MISSING asdict astuple fields is_dataclass replace"),
    "datetime": _names("MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo"),
    "decimal": _names(
        "Clamped Context Decimal DecimalException DivisionByZero FloatOperation Inexact InvalidOperation MAX_EMAX"
        " MAX_PREC MIN_EMIN Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN"
        " ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow localcontext"
    ),
    "difflib": _names("get_close_matches"),
    "email.utils": _names(
        "formataddr format_datetime getaddresses parseaddr parsedate parsedate_to_datetime parsedate_tz"
    ),
    "enum": _names("Enum Flag IntEnum IntFlag"),
    "fnmatch": _names("filter fnmatch fnmatchcase translate"),
    "fractions": _names("Fraction"),
    "functools": _names("reduce"),
    "hashlib": _names(
        "blake2b blake2s md5 new sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128"
        " shake_256"
    ),
    "heapq": _names("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
    "html": _names("escape unescape"),
    "http": _names("HTTPStatus"),
    "io": _names("BytesIO StringIO"),
    "ipaddress": _names(
        "AddressValueError IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network"
        " NetmaskValueError collapse_addresses ip_address ip_interface ip_network summarize_address_range"
    ),
    "itertools": _names(
        "accumulate batched chain combinations combinations_with_replacement compress dropwhile filterfalse groupby"
        " islice pairwise permutations product starmap takewhile tee zip_longest"
    ),
    "json": _names("JSONDecodeError dumps loads"),
    "keyword": _names("iskeyword issoftkeyword"),
    "math": _names(
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2"
        " expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm"
        " ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt"
        " sumprod tan tanh tau trunc ulp"
    ),
    "numbers": _names("Complex Integral Number Rational Real"),
    "operator": _names(
        "abs add and_ concat contains countOf eq floordiv ge getitem gt index indexOf inv invert is_ is_not"
        " itemgetter le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor"
    ),
    "os.path": _names(
        "abspath basename commonpath commonprefix dirname exists expanduser getsize isabs isdir isfile islink join"
        " lexists normcase normpath realpath relpath sep split splitdrive splitext splitroot"
    ),
    "pprint": _names("pformat saferepr"),
    "re": _names(
        "A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError RegexFlag S U UNICODE"
        " VERBOSE X compile error escape findall finditer fullmatch match search split sub subn"
    ),
    "reprlib": _names("repr"),
    "shlex": _names("join quote"),
    "statistics": _names(
        "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean linear_regression mean"
        " median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance"
    ),
    "string": _names(
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable"
        " punctuation whitespace"
    ),
    "struct": _names("Struct calcsize error iter_unpack pack unpack unpack_from"),
    "textwrap": _names("dedent fill indent shorten wrap"),
    "time": _names(
        "altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns"
        " process_time process_time_ns strftime strptime struct_time time time_ns timezone tzname"
    ),
    "traceback": _names("format_exc format_exception format_exception_only"),
    "types": _names("EllipsisType MappingProxyType NoneType NotImplementedType SimpleNamespace"),
    "typing": _names(
        "Any AnyStr Callable ClassVar Collection Deque DefaultDict Dict Final FrozenSet Generator Iterable Iterator"
        " List Literal Mapping MutableMapping MutableSequence MutableSet NoReturn Optional Sequence Set TYPE_CHECKING"
        " Text Tuple Type TypeVar Union"
    ),
    "unicodedata": _names(
        "bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored"
        " name normalize numeric unidata_version"
    ),
    "urllib.parse": _names(
        "ParseResult SplitResult parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus"
        " unquote_to_bytes urldefrag urlencode urljoin urlparse urlsplit urlunparse urlunsplit"
    ),
    "uuid": _names("NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid4 uuid5"),
    "warnings": _names("warn"),
    "xml.sax.saxutils": _names("escape quoteattr unescape"),
    "zlib": _names("adler32 compress crc32 decompress error"),
    "zoneinfo": _names("ZoneInfo ZoneInfoNotFoundError"),
}

CLASSES_ONLY = frozenset({"collections.abc", "enum", "numbers", "typing"})
"""What these modules give may be used in `isinstance`, `issubclass` and annotations only: calling or reading attributes
of it creates classes or registers types for the whole process."""

NOT_AS_CLASSES = frozenset({("typing", "TYPE_CHECKING")})

WHY_NOT: Dict[Tuple[str, str], str] = {
    ("functools", "partial"): "call the function with all its arguments",
    ("operator", "attrgetter"): "read the attribute in a comprehension: `x.name`",
    ("operator", "methodcaller"): "call the method in a comprehension: `x.method()`",
    ("operator", "call"): "call the function directly",
    ("string", "Formatter"): "use an f-string",
    ("typing", "get_type_hints"): "it evaluates strings; type hints are not needed in a heal",
    ("typing", "NamedTuple"): "use a plain tuple or the program's own class",
    ("collections", "namedtuple"): "use a plain tuple or the program's own class",
    ("dataclasses", "make_dataclass"): "use a dict or the program's own class",
    ("dataclasses", "dataclass"): "use a dict or the program's own class",
    ("types", "FunctionType"): "a heal makes no functions",
    ("types", "CodeType"): "a heal makes no code",
    ("types", "ModuleType"): "a heal makes no modules",
    ("io", "open"): "a heal touches no files",
    ("io", "open_code"): "a heal touches no files",
    ("io", "FileIO"): "a heal touches no files",
    ("codecs", "open"): "a heal touches no files",
    ("json", "load"): "read the text from the frame and use json.loads",
    ("json", "dump"): "a heal writes no files; json.dumps gives the text",
    ("itertools", "count"): "use enumerate or range, which end",
    ("itertools", "cycle"): "repeat the list a known number of times",
    ("itertools", "repeat"): "use `[value] * n`",
    ("time", "sleep"): "the program is paused already; a heal does not wait",
}

DANGEROUS_MEMBERS: FrozenSet[Tuple[str, str]] = frozenset(
    {
        ("codecs", "open"),
        ("dataclasses", "make_dataclass"),
        ("functools", "partial"),
        ("functools", "partialmethod"),
        ("io", "FileIO"),
        ("io", "open"),
        ("io", "open_code"),
        ("json", "dump"),
        ("operator", "attrgetter"),
        ("operator", "call"),
        ("operator", "methodcaller"),
        ("collections", "namedtuple"),
        ("string", "Formatter"),
        ("types", "CodeType"),
        ("types", "FunctionType"),
        ("types", "LambdaType"),
        ("types", "MethodType"),
        ("types", "ModuleType"),
        ("types", "CellType"),
        ("types", "new_class"),
        ("types", "FrameType"),
        ("types", "coroutine"),
        ("typing", "ForwardRef"),
        ("typing", "NamedTuple"),
        ("typing", "get_type_hints"),
        ("codecs", "register"),
        ("codecs", "register_error"),
        ("codecs", "lookup"),
        ("warnings", "catch_warnings"),
        ("copyreg", "pickle"),
        ("io", "OpenWrapper"),
        ("io", "TextIOWrapper"),
    }
)
"""Not listed above, and reaching for them is more than a step outside the subset."""

DANGEROUS_MODULES = _names(
    "os sys builtins subprocess shutil importlib ctypes posix nt signal socket socketserver ssl select selectors"
    " threading multiprocessing concurrent asyncio gc inspect code codeop pdb bdb pty tty termios fcntl mmap resource"
    " runpy site pickle cPickle dill cloudpickle marshal shelve dbm sqlite3 copyreg tempfile fileinput atexit"
    " faulthandler trace tracemalloc pkgutil zipimport zipapp imp imputil modulefinder py_compile compileall"
    " ensurepip venv pip setuptools distutils sysconfig winreg msvcrt posixpath ntpath genericpath pydoc webbrowser"
    " antigravity cmd ftplib smtplib telnetlib poplib imaplib nntplib xmlrpc syslog sched timeit cProfile profile"
    " doctest unittest pytest _pytest pluggy xdist mock healguard_core pytest_heal cffi paramiko pexpect plumbum"
    " psutil sh fabric"
)
"""Top-level modules that are the system, run code, or belong to the test runner and the guard. Every module whose own
name begins with an underscore and is part of Python (`PRIVATE_STDLIB`) counts as well."""

DANGEROUS_MODULE_PATHS = _names(
    "urllib.request http.client http.server http.cookiejar logging.handlers logging.config numpy.ctypeslib"
    " numpy.distutils encodings.mbcs"
)

STDLIB = _names(
    "abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb"
    " binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections"
    " colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes"
    " curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno"
    " faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass"
    " gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io"
    " ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes"
    " mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator"
    " optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix"
    " posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re"
    " readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site"
    " smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics"
    " string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib"
    " tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc"
    " tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser"
    " winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo"
)
"""Public top-level modules of Python 3.8 to 3.14. They are judged by `ALLOWED` alone, even when already imported."""

PRIVATE_STDLIB = _names(
    "_abc _aix_support _android_support _apple_support _ast _ast_unparse _asyncio _bisect _blake2 _bootlocale"
    " _bootstrap_subprocess _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr"
    " _codecs_tw _collections _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes"
    " _curses _curses_panel _datetime _dbm _decimal _dummy_thread _elementtree _frozen_importlib"
    " _frozen_importlib_external _functools _gdbm _hashlib _heapq _hmac _imp _interpchannels _interpqueues"
    " _interpreters _io _ios_support _json _locale _lsprof _lzma _markupbase _md5 _msi _multibytecodec"
    " _multiprocessing _opcode _opcode_metadata _operator _osx_support _overlapped _pickle _posixshmem"
    " _posixsubprocess _py_abc _py_warnings _pydatetime _pydecimal _pyio _pylong _pyrepl _queue _random"
    " _remote_debugging _scproxy _sha1 _sha2 _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl"
    " _stat _statistics _string _strptime _struct _suggestions _symtable _sysconfig _sysconfigdata _testbuffer"
    " _testcapi _testinternalcapi _thread _threading_local _tkinter _tokenize _tracemalloc _types _typing _uuid"
    " _warnings _weakref _weakrefset _winapi _wmi _xxsubinterpreters _zoneinfo _zstd"
)
"""The same with a leading underscore: never for a heal. A program's own `_compat` is judged like any package."""

DANGEROUS_ATTRIBUTES = _names(
    "os sys builtins bltns subprocess shutil importlib ctypes posix pty runpy marshal posixpath ntpath atexit"
    " copyreg threading asyncio genericpath multiprocessing codeop pkgutil zipimport faulthandler tracemalloc cffi"
    " __builtins__"
)
"""Modules that must not be read as an attribute of anything: `json.codecs.builtins`, `path.os`, `self._os`."""

CALLABLE_MODULES = frozenset({"math", "cmath", "operator", "unicodedata", "html", "statistics", "os.path"})
"""Modules whose allowed functions are pure, so that they may be passed on as a callable."""


def is_dangerous_module(path: str) -> bool:
    """Whether importing ``path`` (dotted) reaches for the system, the test runner or the guard."""
    if path in ALLOWED:
        return False
    root = path.partition(".")[0]
    return root in PRIVATE_STDLIB or is_dangerous_origin(path)


def is_dangerous_origin(path: str) -> bool:
    """Whether a function or class that says it comes from the module ``path`` is a system operation."""
    root = path.partition(".")[0].lstrip("_")
    return (
        root in DANGEROUS_MODULES
        or root.startswith("frozen_importlib")
        or root in ("posixsubprocess", "winapi")
        or any(path == known or path.startswith(known + ".") for known in DANGEROUS_MODULE_PATHS)
    )


def is_stdlib(path: str) -> bool:
    """Whether ``path`` belongs to Python's own library on any supported version."""
    root = path.partition(".")[0]
    return root in STDLIB or root in PRIVATE_STDLIB


def submodule_roots() -> Set[str]:
    """Packages that are only a way to an allowed submodule (`urllib`, `xml`, `xml.sax`, `email`)."""
    roots: Set[str] = set()
    for path in ALLOWED:
        parts = path.split(".")
        for end in range(1, len(parts)):
            roots.add(".".join(parts[:end]))
    return roots - set(ALLOWED) - {"os"}
