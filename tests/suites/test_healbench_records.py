"""Records of the public formats: read as published, and refused one by one with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_suites.healbench import commands, engine
from benchmark_suites.healbench.adapters import PRO, R2E, SWE, adapt
from benchmark_suites.healbench.files import read
from benchmark_suites.healbench.records import RecordError
from benchmark_suites.healbench.suite import HealBench
from benchmark_suites.suite import Places, WrongRecord
from tests.suites import shelf

COMMIT = "0123abc" * 5


def pro(**changes: Any) -> dict[str, Any]:
    return {"instance_id": "instance_shelf__shelf-" + COMMIT, "repo": "shelf/shelf", "repo_language": "python",
            "base_commit": "HEAD", "patch": shelf.GOLD_PATCH, "test_patch": shelf.TEST_PATCH,
            "fail_to_pass": f"['{shelf.PYTEST_ID}']", "pass_to_pass": "[]", "dockerhub_tag": "shelf-" + "x" * 100,
            "before_repo_set_cmd": "git reset --hard\ngit checkout HEAD -- tests",
            "selected_test_files_to_run": '["tests/test_orders.py"]', **changes}


@pytest.mark.parametrize(
    ("raw", "source", "image", "workdir", "should_fail"),
    [
        (shelf.swe_bench(), SWE, shelf.IMAGE, "/testbed", shelf.PYTEST_ID),
        ({**shelf.swe_bench(FAIL_TO_PASS=["a::b"]), "image": "swebench/x:latest"}, SWE, "swebench/x:latest",
         "/testbed", "a::b"),
        (pro(), PRO, "jefzda/sweap-images:shelf-" + "x" * 100, "/app", shelf.PYTEST_ID),
        (shelf.r2e_gym(COMMIT), R2E, "heal-test/shelf:latest", "/testbed", "OrderTest.test_without_discount"),
    ],
)
def test_each_format(raw: dict[str, Any], source: str, image: str, workdir: str, should_fail: str) -> None:
    record = adapt(raw)
    assert (record.source, record.image, record.workdir) == (source, image, workdir)
    assert record.should_fail == (should_fail,)


def test_image_of_a_classic_record_is_derived() -> None:
    raw = shelf.swe_bench(instance_id="Django__Django-1")
    del raw["image"]
    assert adapt(raw).image == "swebench/sweb.eval.x86_64.django_1776_django-1:latest"


def test_only_the_last_line_of_the_setup_is_run() -> None:
    prepare = adapt(pro()).prepare.splitlines()
    assert prepare[0] == "git checkout HEAD -- tests"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({}, "no record of SWE-bench"),
        (shelf.swe_bench(instance_id="../../etc"), "id"),
        (shelf.swe_bench(instance_id=7), "instance_id"),
        (shelf.swe_bench(patch=None), "'patch' is missing"),
        (shelf.swe_bench(FAIL_TO_PASS="__import__('os').system('true')"), "FAIL_TO_PASS"),
        (shelf.swe_bench(FAIL_TO_PASS="[1, 2]"), "list of texts"),
        (shelf.swe_bench(FAIL_TO_PASS="[" * 5000), "FAIL_TO_PASS"),
        (shelf.swe_bench(test_patch=shelf.TEST_PATCH.replace("b/tests/", "b/../../tests/")), "leaves the repository"),
        (shelf.swe_bench(test_patch=""), "test_patch"),
        (shelf.swe_bench(image="x; rm -rf /"), "image"),
        (shelf.swe_bench(workdir="/testbed/../etc"), "workdir|folder"),
        (shelf.swe_bench(workdir="/"), "folder"),
        (shelf.swe_bench(error={"message": "no type"}), "error"),
        (shelf.with_eval_script(eval_script="pytest"), "eval_script"),
        (pro(repo_language="go"), "Python"),
        (pro(fail_to_pass="open('/etc/passwd')"), "fail_to_pass"),
        (pro(selected_test_files_to_run="['/etc/passwd']"), "leaves the repository"),
        ({**pro(), "dockerhub_tag": None}, "dockerhub_tag"),
        (shelf.r2e_gym("$(reboot)"), "commit_hash"),
        (shelf.r2e_gym(COMMIT, expected_output_json="{"), "expected_output_json"),
        (shelf.r2e_gym(COMMIT, expected_output_json="[]"), "expected_output_json"),
        (shelf.r2e_gym(COMMIT, repo_name=None), "repo_name"),
    ],
)
def test_wrong_record_says_which_field(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(RecordError, match=said):
        adapt(raw)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(
    inner, max_size=3), max_leaves=4), st.sampled_from(sorted({*shelf.swe_bench(), *pro(), *shelf.r2e_gym(COMMIT)})))
def test_any_value_anywhere_is_used_or_refused(value: Any, field: str) -> None:
    for raw in (shelf.swe_bench(), shelf.with_eval_script(), pro(), shelf.r2e_gym(COMMIT)):
        with contextlib.suppress(RecordError):
            adapt({**raw, field: value})


def test_one_wrong_record_stops_nobody(tmp_path: Path) -> None:
    lines = [json.dumps(shelf.swe_bench()), "{", "[]", json.dumps(shelf.swe_bench(instance_id="a/b")),
             json.dumps(shelf.swe_bench(instance_id="next-1", target_test="")), json.dumps(shelf.swe_bench()),
             json.dumps(shelf.with_eval_script())]
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = list(HealBench().load("*", Places(tmp_path, tmp_path, (path,))))
    wrong = [each for each in found if isinstance(each, WrongRecord)]
    assert [each.id for each in found if not isinstance(each, WrongRecord)] == ["shelf__shelf-1", "shelf__shelf-2"]
    assert [each.problem.partition(":")[2].partition(":")[0] for each in wrong] == ["2", "3", "4", "5", "6"]
    assert len({each.id for each in found}) == len(found)
    assert "select" in wrong[3].problem


def test_files_that_hold_no_records(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    for name in ("x.parquet", "x.json", "missing.jsonl"):
        with pytest.raises(ValueError, match=name):
            list(read(tmp_path / name))
    with pytest.raises(ValueError, match="--heal-records"):
        list(HealBench().load("*", Places(tmp_path, tmp_path)))


def test_task_tree(tmp_path: Path) -> None:
    raw = shelf.with_eval_script()
    task = tmp_path / "tasks" / raw["instance_id"]
    task.mkdir(parents=True)
    for file, name in (("gold.patch", "patch"), ("test.patch", "test_patch"), ("eval.sh", "eval_script"),
                       ("heals.yaml", "heals")):
        (task / file).write_text(raw[name], encoding="utf-8")
    (task / "task.yaml").write_text(json.dumps({"repo": raw["repo"], "image": raw["image"], "target_test": "x"}),
                                    encoding="utf-8")
    (task / "tests.json").write_text(json.dumps({"FAIL_TO_PASS": raw["FAIL_TO_PASS"]}), encoding="utf-8")
    (tmp_path / "tasks" / "empty").mkdir()
    (wrong, (_, good)) = read(tmp_path)
    assert wrong[0] == "empty"
    assert isinstance(wrong[1], str)
    assert isinstance(good, dict)
    record = adapt(good)
    assert (record.id, record.test_cmd, record.runner, record.heals) == (
        raw["instance_id"], "python -m unittest -v tests.test_orders", "unittest", raw["heals"])
    assert "export SHELF=1" in record.prepare


@pytest.mark.parametrize(
    ("command", "runner", "test", "wanted"),
    [
        ("pytest -rA tests/test_a.py tests/test_b.py", "pytest", "tests/test_a.py::test_x[a b']",
         "pytest -rA 'tests/test_a.py::test_x[a b'\"'\"']'"),
        ("source x\nA='1 2' ./tests/runtests.py --parallel 1 forms admin", "django", "test_x (forms.tests.Case)",
         "source x\nA='1 2' ./tests/runtests.py --parallel 1 admin forms.tests.Case.test_x"),
        ("python -m unittest -v a.b", "unittest", "test_x (a.b.C.test_x)", "python -m unittest -v a.b.C.test_x"),
        ("bin/test -C --verbose sympy/a.py", "sympy", "test_x", "bin/test -C --verbose sympy/a.py -k test_x"),
        ("tox -e py", "", "test_x", "tox -e py"),
        ("python -m pytest r2e_tests", "r2e", "C.test_x[1.5]",
         "python -m pytest 'r2e_tests/test_1.py::C::test_x[1.5]'"),
    ],
)
def test_one_test_is_chosen(command: str, runner: str, test: str, wanted: str) -> None:
    assert commands.for_test(command, runner, test, {"test_1.py": "def test_x(): ..."}) == wanted


@pytest.mark.parametrize(
    ("log", "runner", "test", "status"),
    [
        ("PASSED a.py::x\n=== short test summary info ===\nFAILED a.py::x - KeyError: - \n", "pytest", "a.py::x",
         "FAILED"),
        ("=== short test summary info ===\nPASSED r2e_tests/t.py::C::x[a::b]\n", "r2e", "C.x[a.b]", "PASSED"),
        ("test_x (a.C) ... ok\n", "django", "test_x (a.C)", "PASSED"),
        ("test_x (a.C.test_x)\nA doc line ... ERROR\n", "unittest", "test_x (a.C)", "ERROR"),
        ("test_solve ok\ntest_other E\n", "sympy", "test_other", "ERROR"),
        ("nothing", "pytest", "a.py::x", ""),
    ],
)
def test_logs(log: str, runner: str, test: str, status: str) -> None:
    assert commands.status_of(test, log, runner) == status


def test_no_engine_is_said_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("docker", reason="the docker package is not installed")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    with pytest.raises(engine.EngineUnavailable, match="DOCKER_HOST"):
        engine.Engine()


INJECTED = Path(engine.__file__).parent / "inject"


def injected(python: str, out: Path, *words: str) -> str:
    """What the module that a container's Python imports by itself reports."""
    environ = {**os.environ, "PYTHONPATH": str(INJECTED), "HEALGUARD_CONFIG": str(out / "none"),
               "HEALGUARD_OUT": str(out)}
    subprocess.run([python, *words], env=environ, cwd=out, capture_output=True, check=False)
    told = out / "problem"
    return told.read_text(encoding="utf-8") if told.exists() else ""


@pytest.mark.pythons
def test_python_that_is_too_old_says_so(tmp_path: Path) -> None:
    known = [*Path.home().glob(".pyenv/versions/3.[67].*/bin/python"), *map(shutil.which, ("python3.6", "python3.7"))]
    old = next((str(path) for path in known if path), None)
    if old is None:
        pytest.skip("no Python older than 3.8 is installed here")
    assert "too old" in injected(old, tmp_path, "-m", "unittest", "--help")


@pytest.mark.parametrize(
    ("words", "healed"),
    [(("-m", "unittest", "--help"), True), (("-W", "ignore", "-m", "pytest.x"), True), (("-c", "0"), False),
     (("-m", "json.tool", "--help"), False), (("runtests.py",), True), (("setup.py", "test"), False)],
)
def test_only_the_process_of_the_tests_is_healed(tmp_path: Path, words: tuple[str, ...], healed: bool) -> None:
    """Its configuration is missing here, which only a process that starts healing notices."""
    assert bool(injected(shutil.which("python3") or "python3", tmp_path, *words)) is healed
