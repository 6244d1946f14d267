"""Suite `healbench` in real containers: an image of our own, no registry, no network."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark_suites.healbench import choosing
from benchmark_suites.healbench.adapters import adapt
from benchmark_suites.healbench.engine import LABEL, Engine, EngineUnavailable, Limits
from benchmark_suites.healbench.suite import HealBench
from benchmark_suites.results import BUDGET, ENVIRONMENT, Result
from benchmark_suites.setting import ORACLE, Setting
from benchmark_suites.suite import Places
from healguard_core import testing
from tests.suites import shelf

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("commit")]
BASE = os.environ.get("HEAL_TEST_IMAGE", "heal/base:1")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    docker = pytest.importorskip("docker", reason="the docker package is not installed")
    try:
        with Engine() as engine:
            engine.image(BASE)
    except EngineUnavailable as problem:
        pytest.skip(f"no engine with the image {BASE} ({problem}); .ci/docker-image makes both")
    found = docker.from_env()
    yield found
    found.close()


@pytest.fixture(scope="module")
def commit(client: Any) -> Iterator[str]:
    """The commit of the fix inside of the image of `shelf`."""
    made = client.containers.create(BASE, ["sh", "-c", shelf.SETUP], network_mode="none")
    try:
        made.start()
        assert made.wait()["StatusCode"] == 0, made.logs().decode()
        made.commit(shelf.IMAGE, "latest")
        yield made.logs(stderr=False).decode().split()[-1]
    finally:
        made.remove(force=True)
        client.images.remove(f"{shelf.IMAGE}:latest", force=True)


@pytest.fixture(autouse=True)
def nothing_left(client: Any) -> Iterator[None]:
    yield
    assert client.containers.list(all=True, filters={"label": LABEL}) == []
    assert client.images.list(all=True, filters={"label": LABEL}) == []


def run(raw: dict[str, Any], tmp_path: Path, agent: str = ORACLE, limits: Limits | None = None, **options: str
        ) -> Result:
    return HealBench(limits).run(adapt(raw), Setting(agent, options), Places(tmp_path, tmp_path))


def records(commit: str) -> dict[str, dict[str, Any]]:
    return {"swe-bench": shelf.swe_bench(), "eval-script": shelf.with_eval_script(), "r2e-gym": shelf.r2e_gym(commit)}


@pytest.mark.parametrize("source", ["swe-bench", "eval-script", "r2e-gym"])
def test_reviewed_heal_in_a_container(source: str, commit: str, tmp_path: Path) -> None:
    raw = records(commit)[source]
    assert HealBench().verify(adapt(raw), Places(tmp_path, tmp_path)) == []
    result = run(raw, tmp_path)
    assert (result.outcome, result.failure) == ("correct", ""), result.problem + result.output
    assert [crash["heal"]["code"] for crash in result.crashes] == ["discount = 0"]
    assert result.case["image_id"].startswith("sha256:")
    assert result.case["image_digest"] == "", "it is of this machine alone"


@pytest.mark.parametrize(("agent", "outcome"), [("reraise", "reraised"), ("rules", "reraised")])
def test_agents_without_a_model(agent: str, outcome: str, tmp_path: Path) -> None:
    result = run(shelf.swe_bench(), tmp_path, agent)
    assert result.outcome == outcome, result.problem + result.output


def test_agent_with_a_model_over_the_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with testing.ScriptedModel([testing.heal("discount = 0")]) as model:
        monkeypatch.setenv("OPENAI_API_KEY", "canary-key-of-the-provider")
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        result = run(shelf.swe_bench(), tmp_path, "healer", heal_model="gpt")
    assert (result.outcome, result.failure) == ("correct", ""), result.problem + result.output
    assert "canary-key" not in result.output
    assert len(model.requests) == 1


def test_no_network_and_a_repository_that_is_read_only(tmp_path: Path) -> None:
    attack = ("python -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'; echo net $?\n"
              "touch shelf/new; echo write $?\n")
    script = shelf.with_eval_script()["eval_script"].replace("python -m unittest", attack + "python -m unittest")
    result = run(shelf.with_eval_script(eval_script=script), tmp_path)
    assert "net 1" in result.output
    assert "write 1" in result.output
    assert result.outcome == "correct", result.problem + result.output


def test_time_and_memory_are_limited(tmp_path: Path) -> None:
    def spoilt(command: str) -> dict[str, Any]:
        script = shelf.with_eval_script()["eval_script"].replace("python -m unittest", command + "\npython -m unittest")
        return shelf.with_eval_script(eval_script=script)

    late = run(spoilt("sleep 600"), tmp_path, limits=Limits(seconds=5))
    assert (late.failure, late.outcome) == (BUDGET, "timeout"), late.problem + late.output
    big = run(spoilt("python -c 'x = b\"1\" * (1 << 30)' || echo killed"), tmp_path, limits=Limits(memory=256 << 20))
    assert big.failure == BUDGET or "killed" in big.output, big.problem + big.output


def test_image_that_is_not_there(tmp_path: Path) -> None:
    result = run(shelf.swe_bench(image="heal-test/nobody-made-it:1"), tmp_path)
    assert result.failure == ENVIRONMENT
    assert "heal-test/nobody-made-it:1" in result.problem


def test_record_whose_patch_does_not_apply(tmp_path: Path) -> None:
    result = run(shelf.swe_bench(test_patch=shelf.TEST_PATCH.replace("new file mode 100644\n", "").replace(
        "--- /dev/null", "--- a/tests/test_orders.py")), tmp_path)
    assert result.failure == ENVIRONMENT
    assert "cannot be prepared" in result.problem


def test_selection_keeps_what_the_paper_keeps(tmp_path: Path) -> None:
    raw = shelf.swe_bench(target_test="", error=None)
    harmless = shelf.swe_bench(instance_id="shelf__shelf-9", target_test="", error=None, FAIL_TO_PASS=json.dumps(
        [shelf.PYTEST_ID.replace("without", "with")]))
    source, out = tmp_path / "all.jsonl", tmp_path / "chosen.jsonl"
    source.write_text("\n".join(json.dumps(each) for each in (raw, harmless, {"instance_id": "../x"})) + "\nnot json\n",
                      encoding="utf-8")
    ledger = choosing.select([source], out, "*", Limits(), io.StringIO())
    assert ledger == {choosing.KEPT: 1, choosing.NO_ERROR: 1, choosing.WRONG: 2}
    (kept,) = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert kept["target_test"] == shelf.PYTEST_ID
    assert kept["error"] == shelf.ERROR
    assert choosing.select([source], out, "shelf__shelf-1", Limits(), io.StringIO())[choosing.KEPT] == 0, "done already"


def test_containers_of_a_killed_run_are_found_and_removed(client: Any, tmp_path: Path) -> None:
    code = ("import sys, pathlib\n"
            "from benchmark_suites.healbench.engine import Engine, Limits\n"
            "place = pathlib.Path(sys.argv[1]); (place / 'run.sh').write_text('sleep 600')\n"
            f"Engine().run('{shelf.IMAGE}', pathlib.Path('/heal/run.sh'), {{place: ('/heal', 'ro')}}, Limits())\n")
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    try:
        until = time.monotonic() + 60
        while not client.containers.list(filters={"label": LABEL}) and time.monotonic() < until:
            time.sleep(0.2)
        with Engine() as engine:
            assert engine.leftovers() == [], "its owner still runs"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with Engine() as engine:
        assert len(engine.leftovers()) == 1
        assert len(engine.remove_leftovers()) == 1
    assert client.containers.list(all=True, filters={"label": LABEL}) == []
