"""Which files are repository code; every answer has its reason."""

import importlib.machinery
import json
import os
import sys
from pathlib import Path

import pytest

from healguard_core.execution.instrument.scope import Scope


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(
        tmp_path,
        "shop/__init__.py",
        "shop/cart.py",
        "shop/tests/__init__.py",
        "shop/tests/test_cart.py",
        "shop/_vendor/six.py",
        "src/bank/__init__.py",
        "src/bank/ledger.py",
        "src/bank/build/__init__.py",
        "src/bank/build/step.py",
        "tests/test_shop.py",
        "docs/conf.py",
        "examples/demo.py",
        "benchmarks/run.py",
        "setup.py",
        "conftest.py",
        "test_top.py",
        "shop/cart_test.py",
        "single.py",
        "build/lib/shop/cart.py",
        ".tox/py/lib/x.py",
        "lib/site-packages/installed.py",
        "env/lib/thing.py",
        "spaces/part/module.py",
    )
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /\n")
    return tmp_path


IN = [
    "shop/__init__.py",
    "shop/cart.py",
    "src/bank/ledger.py",
    "src/bank/build/step.py",
    "single.py",
    "spaces/part/module.py",
]
OUT = {
    "shop/tests/test_cart.py": "directory of tests",
    "tests/test_shop.py": "directory of tests",
    "shop/_vendor/six.py": "vendored",
    "docs/conf.py": "documentation",
    "examples/demo.py": "examples",
    "benchmarks/run.py": "benchmarks",
    "setup.py": "configures a tool",
    "conftest.py": "configures a tool",
    "test_top.py": "file of tests",
    "shop/cart_test.py": "file of tests",
    "build/lib/shop/cart.py": "build results",
    ".tox/py/lib/x.py": "hidden",
    "lib/site-packages/installed.py": "installed package",
    "env/lib/thing.py": "virtual environment",
}


@pytest.mark.parametrize("name", IN)
def test_packages_under_the_root_are_in(project: Path, name: str) -> None:
    answer = Scope(str(project)).decide("some.module", str(project / name))
    assert answer.instrument
    assert answer.reason == f"belongs to a package under {project}"


@pytest.mark.parametrize("name", OUT)
def test_everything_else_is_out_with_a_reason(project: Path, name: str) -> None:
    answer = Scope(str(project)).decide("some.module", str(project / name))
    assert not answer.instrument
    assert OUT[name] in answer.reason


def test_symbolic_links_are_out_but_a_root_behind_one_is_in(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere, "linked/module.py")
    (project / "linked").symlink_to(elsewhere / "linked", target_is_directory=True)
    (project / "shop" / "alias.py").symlink_to(project / "shop" / "cart.py")
    (elsewhere / "root").symlink_to(project, target_is_directory=True)
    scope = Scope(str(project))
    assert "symbolic link" in scope.decide("linked.module", str(project / "linked" / "module.py")).reason
    assert "symbolic link" in scope.decide("shop.alias", str(project / "shop" / "alias.py")).reason
    assert scope.decide("shop.cart", str(elsewhere / "root" / "shop" / "cart.py")).instrument
    assert Scope(str(elsewhere / "root")).decide("shop.cart", str(project / "shop" / "cart.py")).instrument


def test_outside_of_the_root_is_out_and_the_reason_says_how_to_get_in(project: Path) -> None:
    answer = Scope(str(project)).decide("json", json.__file__)
    assert not answer.instrument
    assert "name it as a source" in answer.reason


@pytest.mark.parametrize(
    "module", ["healguard_core.protocol", "pytest_heal.plugin", "_pytest.python", "pytest", "pluggy"]
)
def test_our_own_machinery_is_never_in(project: Path, module: str) -> None:
    answer = Scope(str(project), ["shop"]).decide(module, str(project / "shop" / "cart.py"))
    assert not answer.instrument
    assert "machinery" in answer.reason


def test_named_paths_are_taken_as_asked(project: Path) -> None:
    tests = Scope(str(project), ["tests/"])
    assert not tests.decide("shop.cart", str(project / "shop" / "cart.py")).instrument
    assert not tests.decide("test_shop", str(project / "tests" / "test_shop.py")).instrument  # a file of tests, still
    assert (
        Scope(str(project), ["tests/test_shop.py"]).decide("test_shop", str(project / "tests/test_shop.py")).instrument
    )
    vendored = Scope(str(project), ["shop/_vendor"])
    assert vendored.decide("six", str(project / "shop" / "_vendor" / "six.py")).instrument
    absolute = Scope("/", [str(project / "src" / "bank")])
    assert absolute.decide("bank.ledger", str(project / "src" / "bank" / "ledger.py")).instrument


def test_names_resolve_in_the_project_before_it_can_be_imported(project: Path) -> None:
    scope = Scope(str(project), ["shop.cart", "bank"])
    assert scope.decide("shop.cart", str(project / "shop" / "cart.py")).instrument
    assert scope.decide("bank.ledger", str(project / "src" / "bank" / "ledger.py")).instrument
    assert not scope.decide("shop", str(project / "shop" / "__init__.py")).instrument
    assert scope.decide("single", str(project / "single.py")).reason == "lies outside of the sources bank, shop.cart"


def test_an_installed_package_is_in_without_its_tests_and_nothing_is_imported(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = project / "lib" / "site-packages"
    write(site, "frames/__init__.py", "frames/core/index.py", "frames/tests/test_index.py", "frames/_vendored/x.py")
    (site / "frames" / "core" / "__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(site))
    scope = Scope(str(project), ["frames"])
    assert (
        scope.decide("frames.core.index", str(site / "frames/core/index.py")).reason == "belongs to the source frames"
    )
    assert not scope.decide("frames.tests.test_index", str(site / "frames/tests/test_index.py")).instrument
    assert not scope.decide("frames._vendored.x", str(site / "frames/_vendored/x.py")).instrument
    inner = Scope(str(project), ["frames.core.index"])
    assert inner.decide("frames.core.index", str(site / "frames/core/index.py")).instrument
    assert "frames" not in sys.modules


def test_a_namespace_package_is_in_with_all_its_portions(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "one/space/a.py", "two/space/b.py")
    monkeypatch.syspath_prepend(str(project / "one"))
    monkeypatch.syspath_prepend(str(project / "two"))
    scope = Scope(str(project), ["space"])
    assert scope.decide("space.a", str(project / "one/space/a.py")).instrument
    assert scope.decide("space.b", str(project / "two/space/b.py")).instrument


def test_a_package_that_a_finder_of_its_own_provides_is_in(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "far/away/__init__.py", "far/away/module.py")

    class Editable:
        @staticmethod
        def find_spec(name: str, _path: object = None, _target: object = None) -> object:
            if name != "away":
                return None
            return importlib.util.spec_from_file_location(name, str(project / "far/away/__init__.py"))

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Editable])
    assert Scope("/", ["away"]).decide("away.module", str(project / "far/away/module.py")).instrument


def test_the_standard_library_is_in_only_when_it_is_asked_for_by_name() -> None:
    library = os.path.dirname(os.__file__)
    assert "standard library" in Scope(library).decide("json", json.__file__).reason
    assert "standard library" in Scope("/", [library]).decide("json", json.__file__).reason
    assert Scope("/", ["json"]).decide("json", json.__file__).instrument


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("shopp", "did you mean 'shop'?"),
        ("shop.cartt", "did you mean 'shop.cart'"),
        ("nowhere/at/all.py", "does not exist"),
        ("", "empty"),
        ("sys", "only modules written in Python"),
        ("no such thing", "neither an importable package nor a path"),
    ],
)
def test_a_source_that_cannot_be_found_is_refused_with_the_nearest_names(project: Path, source: str, said: str) -> None:
    with pytest.raises(ValueError, match="source") as raised:
        Scope(str(project), [source])
    assert said in str(raised.value)
