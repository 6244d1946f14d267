"""Mining a small repository of our own: what is kept, what each rule removes, and that it can be killed and resumed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmark_suites.mining import pruning, rules
from benchmark_suites.mining.history import Repository, is_test
from benchmark_suites.mining.sandbox import NoSandbox, Sandbox

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

BUGGY = "def price(order):\n    amount = order['amount']\n    return amount * 2\n"
FIXED = BUGGY.replace("order['amount']", "order.get('amount', 0)")
TESTS = """\
import pytest

from lab import price


def test_no_amount():
    assert price({}) == 0


def test_no_amount_again():
    assert price({}) == 0


def test_assertion():
    assert price({"amount": 1}) == {wrong}


def test_expected():
    with pytest.raises(ValueError):
        price({})


def test_own_error():
    {}["x"]


class TestMore:
    def test_unfixed(self):
        price(None)
"""


def git(repository: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                   capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A history of two commits, and a hook that must never run."""
    place = tmp_path / "history"
    (place / "lab").mkdir(parents=True)
    (place / "tests").mkdir()
    git(place, "init", "-q")
    for name, text, test in (("first", BUGGY, "def test_first():\n    pass\n"), ("second", FIXED, TESTS)):
        (place / "lab" / "__init__.py").write_text(text, encoding="utf-8")
        (place / "tests" / "test_lab.py").write_text(test.replace("{wrong}", "3"), encoding="utf-8")
        git(place, "add", ".")
        git(place, "commit", "-q", "-m", f"the {name} commit, crash")
    hook = place / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n", encoding="utf-8")
    hook.chmod(0o755)
    return place


def mine(repository: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmark_suites", "mine", str(repository), "--package=lab", f"--out={out}"]
    return subprocess.run([*command, *more], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("more", [pytest.param((), marks=needs_bwrap, id="sandbox"),
                                  pytest.param(("--no-sandbox",), id="bare")])
def test_history_becomes_a_suite(repository: Path, tmp_path: Path, more: tuple[str, ...]) -> None:
    out = tmp_path / "mined"
    ran = mine(repository, out, *more)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for rule, count in ((rules.KEPT, 1), (rules.DUPLICATE, 1), (rules.ASSERTION, 1), (rules.EXPECTED, 1),
                        (rules.IN_TEST, 1), (rules.UNFIXED, 1), (rules.IMPORTS, 0)):
        assert f"| {rule} | {count} |" in ran.stdout
    (folder,) = [path.parent for path in out.glob("*/instance.toml")]
    record = tomllib.loads((folder / "instance.toml").read_text(encoding="utf-8"))
    assert record["error"] == {"type": "KeyError", "message": "'amount'", "file": "lab/__init__.py",
                               "function": "price", "line": 2}
    target = (folder / "test_target.py").read_text(encoding="utf-8")
    assert target.count("def test_") == 1
    assert folder.name in (out / "review.md").read_text(encoding="utf-8")
    assert not (tmp_path / "hooked").exists(), "hooks of the repository were run"
    listed = subprocess.run([sys.executable, "-m", "benchmark_suites", "list", f"--suite={out}"], capture_output=True,
                            text=True, check=True)
    assert folder.name in listed.stdout


def test_killed_run_goes_on(repository: Path, tmp_path: Path) -> None:
    out = tmp_path / "mined"
    mine(repository, out, "--no-sandbox")
    ledger = out / "ledger.jsonl"
    whole = ledger.read_text(encoding="utf-8")
    again = mine(repository, out, "--no-sandbox")
    assert ledger.read_text(encoding="utf-8") == whole, "a commit in the ledger is not looked at again"
    assert f"| {rules.KEPT} | 1 |" in again.stdout
    ledger.write_text(whole[:-20], encoding="utf-8")  # cut off by a kill
    mine(repository, out, "--no-sandbox")
    assert [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()] == [
        json.loads(line) for line in whole.splitlines()]


@needs_bwrap
def test_sandbox_has_no_network_and_one_folder(tmp_path: Path) -> None:
    box = Sandbox()
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    code = ("import os, socket\n"
            "open('mine', 'w').close()\n"
            f"for attempt in (lambda: open({str(outside / 'x')!r}, 'w'),\n"
            "                lambda: socket.create_connection(('1.1.1.1', 53))):\n"
            "    try: attempt(); print('possible')\n"
            "    except OSError: print('refused')\n"
            "print(sorted(set(os.environ) & {'HEAL_CANARY', 'HOME'}))\n")
    ended = box.run([sys.executable, "-c", code], inside, {})
    assert ended.output.split("\n")[:3] == ["refused", "refused", "['HOME']"]
    assert (inside / "mine").exists()
    assert Sandbox(timeout=0.5).run(["sleep", "60"], inside, {}).code is None


def test_no_sandbox_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSandbox, match="--no-sandbox"):
        Sandbox()


def test_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no git repository"):
        Repository(tmp_path)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("tests/a.py", True), ("src/x/tests/test_y.py", True), ("Tests/a_test.py", True), ("x/test_y.py", True),
     ("src/testing.py", False), ("src/latest.py", False), ("contest/a.py", False)],
)
def test_which_files_are_tests(name: str, wanted: bool) -> None:
    assert is_test(name) is wanted


def test_module_is_cut_to_one_test() -> None:
    source = ("import x\n\ndef helper():\n    pass\n\nclass TestA:\n    size = 1\n    def test_a(self):\n        pass\n"
              "    def test_b(self):\n        pass\n\ndef test_c():\n    pass\n")
    cut = pruning.only(source, "TestA::test_b[1-2]")
    assert cut is not None
    assert "helper" in cut
    assert "size = 1" in cut
    assert cut.count("def test_") == 1
    assert pruning.only(source, "test_missing") is None


@pytest.mark.parametrize("bare", [pytest.param(False, marks=needs_bwrap), True])
def test_a_test_that_fills_the_memory_fails_alone(bare: bool, tmp_path: Path) -> None:
    ended = Sandbox(bare).run([sys.executable, "-c", "bytearray(5 * 2**30)"], tmp_path, {})
    assert ended.code == 1
    assert "MemoryError" in ended.output
    assert Sandbox(bare).run([sys.executable, "-c", "bytearray(2**20)"], tmp_path, {}).code == 0
