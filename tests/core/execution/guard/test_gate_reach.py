"""Nothing that a heal may import leads to a module or to a function of the system."""

import functools
import importlib
import os
import types

import pytest

from healguard_core.execution.guard import allowed_imports, names
from healguard_core.execution.guard.gate import check
from healguard_core.execution.guard.imports import _origin, is_dangerous_object

DEPTH = 4
MODULE_TYPE = types.ModuleType

INSTANCES = {
    "array": [("array", "i")],
    "collections": [("ChainMap",), ("Counter",), ("OrderedDict",), ("UserDict",), ("defaultdict",), ("deque",)],
    "contextlib": [("nullcontext",), ("suppress", KeyError)],
    "csv": [("reader", ["a,b"]), ("DictReader", ["a,b"])],
    "datetime": [("date", 1, 1, 1), ("datetime", 1, 1, 1), ("timedelta",), ("time",)],
    "decimal": [("Decimal", 1), ("Context",), ("localcontext",)],
    "difflib": [("SequenceMatcher", None, "a", "b")],
    "fractions": [("Fraction", 1)],
    "hashlib": [("sha256", b"x"), ("blake2b", b"x")],
    "io": [("BytesIO",), ("StringIO",)],
    "ipaddress": [("ip_address", "127.0.0.1"), ("ip_network", "10.0.0.0/8")],
    "itertools": [("chain", []), ("groupby", []), ("islice", [], 1)],
    "operator": [("itemgetter", 0)],
    "re": [("compile", "x"), ("match", "x", "x")],
    "statistics": [("NormalDist",)],
    "string": [("Template", "$x")],
    "struct": [("Struct", "I")],
    "time": [("gmtime",)],
    "types": [("SimpleNamespace",), ("MappingProxyType", {})],
    "urllib.parse": [("urlsplit", "http://example.com/"), ("urlparse", "http://example.com/")],
    "uuid": [("uuid4",)],
}


def pairs():
    for module in sorted(allowed_imports.ALLOWED):
        for name in sorted(allowed_imports.ALLOWED[module]):
            yield module, name


def readable(name):
    """Whether the gate lets a heal read this attribute of any value."""
    if names.is_dunder(name):
        return names.dunder_problem(name, called=False, stored=False) is None and name != "__class__"
    return names.attribute_problem(name) is None and name not in ("format", "format_map")


ATOMS = (str, bytes, int, float, complex, bool, type(None), type(...), type(NotImplemented))
"""Their attributes are walked once, in `test_plain_values_do_not_lead_to_the_system`."""


def inner_values(value):
    """Everything one attribute, item or element away that a heal could write down."""
    for name in dir(value):
        if readable(name):
            try:
                yield "." + name, getattr(value, name)
            except Exception:  # an attribute that this instance does not have: nothing is reached through it
                continue
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from (("[...]", item) for item in list(value)[:50])
    elif isinstance(value, (dict, types.MappingProxyType)):
        yield from (("[...]", item) for item in list(value.values())[:50])


def leaks(start):
    """Paths from the (path, value) pairs of ``start`` to modules and system objects, breadth first."""
    seen, found, level = {}, [], list(start)
    for depth in range(DEPTH + 1):
        following = []
        for path, value in level:
            if isinstance(value, MODULE_TYPE) or is_dangerous_object(value):
                found.append(path)
            elif depth < DEPTH and type(value) not in ATOMS and id(value) not in seen:
                seen[id(value)] = value
                following.extend((path + step, inner) for step, inner in inner_values(value))
        level = following
    return found


@pytest.mark.parametrize("module", sorted(allowed_imports.ALLOWED))
def test_imports_do_not_lead_to_the_system(module):
    pytest.importorskip(module)
    loaded = importlib.import_module(module)
    values = [(name, getattr(loaded, name, None)) for name in sorted(allowed_imports.ALLOWED[module])]
    made = [(name + "(...)", getattr(loaded, name)(*arguments)) for name, *arguments in INSTANCES.get(module, [])]
    if module in allowed_imports.CLASSES_ONLY:
        assert not [name for name, value in values if isinstance(value, MODULE_TYPE) or is_dangerous_object(value)]
    else:
        assert leaks(values + made) == []


def test_plain_values_do_not_lead_to_the_system():
    values = [1, 1.5, 1j, "x", b"x", bytearray(b"x"), [], {}, (), set(), range(3), slice(1), None, ..., object(), True]
    values += [len, print, int, str, dict, type(None), "{}".join, [].append, iter([]), zip(), map(len, []), (lambda: 0)]
    values += [ValueError("x"), KeyError, (value for value in []), type("T", (), {})()]
    first = [(f"{value!r}{step}", inner) for value in values for step, inner in inner_values(value)]
    assert leaks(first) == []


def test_the_walk_finds_what_is_known_to_leak():
    names = types.SimpleNamespace(inner=[{"x": importlib.import_module("json")}], run=exec)
    bound = functools.partial(functools.partial(os.remove), "x")
    assert leaks([("names", names), ("bound", bound)]) == ["bound", "names.run", "names.inner[...][...]"]


def test_every_listed_name_exists_somewhere():
    """A misspelt name would be allowed and never work."""
    newer_or_older = {
        "collections.abc.Buffer", "collections.abc.ByteString", "copy.replace", "datetime.UTC", "itertools.batched",
        "math.cbrt", "math.exp2", "math.fma", "math.sumprod", "os.path.splitroot", "re.NOFLAG", "re.PatternError",
        "re.template", "typing.ByteString",
    }  # fmt: skip
    missing = [f"{module}.{name}" for module, name in pairs() if not hasattr(importlib.import_module(module), name)]
    assert [name for name in missing if name not in newer_or_older] == []


LEFT_TO_THE_LIVE_CHECK = {"inspect", "_codecs.lookup", "posix.urandom", "string.Formatter", "types.coroutine"}
LEFT_TO_THE_LIVE_CHECK |= {"typing.ForwardRef", "typing.NamedTuple", "warnings.catch_warnings", "_io.TextIOWrapper"}


@pytest.mark.parametrize("start", ["json", "re", "logging", "enum", "dataclasses", "typing", "random", "pathlib"])
def test_modules_of_the_frame_do_not_lead_to_the_system(start):
    """Chains of attributes that the gate accepts, from a module that a program is likely to have in its frames."""
    seen, level = set(), [(start, importlib.import_module(start))]
    while level:
        path, module = level.pop()
        if id(module) in seen or path.count(".") > 3:
            continue
        seen.add(id(module))
        for name in dir(module):
            inner = f"{path}.{name}"
            value = getattr(module, name)
            if isinstance(value, MODULE_TYPE):
                if not check(f"x = {inner}.y"):
                    level.append((inner, value))
            elif is_dangerous_object(value) and not check(f"x = {inner}(y)"):
                origin = "{}.{}".format(*_origin(value))
                assert {origin, origin.partition(".")[0]} & LEFT_TO_THE_LIVE_CHECK, inner
