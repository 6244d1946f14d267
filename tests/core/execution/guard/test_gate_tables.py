"""The tables of the language against the Python that runs them."""

import ast
import builtins
import types
import warnings

import pytest

from healguard_core.execution.guard import allowed_imports, healcore, names
from healguard_core.execution.guard.gate import check
from healguard_core.execution.guard.reading import Source
from healguard_core.execution.guard.scope import Scope
from healguard_core.execution.guard.statements import check_kind


def node_classes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Num, Str, ... are deprecated
        found = [getattr(ast, name) for name in dir(ast)]
    return {cls.__name__ for cls in found if isinstance(cls, type) and issubclass(cls, ast.AST)}


def test_every_node_class_of_this_python_is_classified():
    classes = [
        healcore.ALLOWED_NODES,
        frozenset(healcore.REFUSED_NODES),
        healcore.PARTS_OF_REFUSED_NODES,
        healcore.NEVER_PARSED_NODES,
    ]
    assert node_classes() - frozenset().union(*classes) == set()
    assert sum(len(part) for part in classes) == len(frozenset().union(*classes))  # each in one class only


def test_an_unknown_node_is_refused():
    class Shiny(ast.expr):
        _fields = ()

    tree = ast.parse("x = 1")
    tree.body[0].value = ast.copy_location(Shiny(), tree.body[0].value)
    scope = Scope(Source("x = 1", tree), "heal", None, frozenset())
    found = [finding.rule for node in scope.source.nodes for finding in check_kind(scope, node)]
    assert found == ["HC103"]


def test_every_builtin_of_this_python_is_classified():
    public = {name for name in dir(builtins) if not name.startswith(("_", "@"))} - {"True", "False", "None"}
    assert public - healcore.BUILTINS == set()


def test_builtins_have_one_class_each():
    classes = [
        healcore.BUILTIN_ERRORS,
        healcore.PROCESS_ERRORS,
        healcore.PURE_TYPES,
        healcore.PURE_FUNCTIONS,
        healcore.HIGHER_ORDER,
        healcore.SHAPED,
        healcore.DANGEROUS_BUILTINS,
        healcore.UNSUPPORTED_BUILTINS,
        healcore.CONSTANT_BUILTINS,
    ]
    assert sum(len(part) for part in classes) == len(healcore.BUILTINS)


def test_errors_that_may_be_caught_are_exceptions():
    for name in healcore.BUILTIN_ERRORS:
        cls = getattr(builtins, name, None)  # some are newer than this Python
        assert cls is None or issubclass(cls, Exception)


@pytest.mark.parametrize(
    "kind",
    [
        types.FrameType,
        types.CodeType,
        types.TracebackType,
        types.GeneratorType,
        types.CoroutineType,
        types.AsyncGeneratorType,
    ],
)
def test_machinery_covers_this_pythons_types(kind):
    methods = {"clear", "replace", "send", "throw", "close", "aclose", "asend", "athrow"}
    for name in dir(kind):
        if name not in methods and not names.is_dunder(name):
            assert names.attribute_problem(name) is not None, name


def test_prefixes_of_library_protocols_are_not_pythons_own():
    kinds = [value for value in vars(builtins).values() if isinstance(value, type)]
    kinds += [value for value in vars(types).values() if isinstance(value, type)]
    own = {name for kind in kinds for name in dir(kind)} | set(dir(builtins)) | set(dir(types))
    assert [name for name in own if name.startswith(healcore.PROTOCOL_PREFIXES)] == []


INTERNALS = """
__class__ __base__ __bases__ __mro__ __subclasses__ __globals__ __code__ __closure__ __dict__ __builtins__
__import__ __loader__ __spec__ __reduce__ __reduce_ex__ __getattribute__ __getattr__ __setattr__ __delattr__
__init_subclass__ __init__ __new__ __call__ __get__ __set__ __self__ __func__ __wrapped__ __subclasshook__
__prepare__ __set_name__ __class_getitem__ __enter__ __exit__ __del__ __dir__ __format__ __defaults__
__kwdefaults__ __annotations__ __traceback__ __weakref__ __getstate__ __setstate__ __objclass__ __text_signature__
"""


def test_introspection_never_counts_as_a_protocol():
    for name in INTERNALS.split():
        assert names.dunder_problem(name, called=True, stored=False) is not None, name
        assert name == "__class__" or names.dunder_problem(name, called=False, stored=False) is not None, name


@pytest.mark.parametrize("name", ["__name__", "__len__", "__array__", "__doc__", "__class__"])
def test_no_special_attribute_can_be_stored(name):
    assert names.dunder_problem(name, called=False, stored=True) is not None
    assert [f.rule for f in check(f"x.{name} = y")] == ["HC110"]


def test_lists_of_imports_do_not_contradict_each_other():
    assert not [path for path in allowed_imports.ALLOWED if allowed_imports.is_dangerous_module(path)]
    pairs = {(module, name) for module, listed in allowed_imports.ALLOWED.items() for name in listed}
    assert pairs & allowed_imports.DANGEROUS_MEMBERS == set()
    assert pairs & set(allowed_imports.WHY_NOT) == set()


def test_every_module_of_this_pythons_library_is_known():
    import sys

    known = getattr(sys, "stdlib_module_names", frozenset())
    public = {name for name in known if not name.startswith("_")}
    assert public - allowed_imports.STDLIB == set()
    assert [name for name in known if not allowed_imports.is_stdlib(name) and name != "__future__"] == []
