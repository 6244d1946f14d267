"""Turns records of the public benchmarks into ours, one adapter per format. Imports records and commands.

Field names and traps are those of the published files: lists that are JSON or Python literals in a string, an image
whose name has to be derived or must not be, a fix that is only a commit inside of the image.
"""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from benchmark_suites.healbench import commands
from benchmark_suites.healbench.records import (
    Record,
    RecordError,
    expected_error,
    file_in_repository,
    folder_in_image,
    image_name,
    safe_id,
    text,
)

SWE, PRO, R2E = "swe-bench", "swe-bench-pro", "r2e-gym"

_BEGIN, _END = ">>>>> Start Test Output", ">>>>> End Test Output"
_ACTIVATE = "if [ -f /opt/miniconda3/bin/activate ]; then . /opt/miniconda3/bin/activate testbed; fi"
_APPLY_TESTS = "git apply --whitespace=nowarn /heal/test.patch"


def adapt(raw: Mapping[str, Any]) -> Record:
    """The record that ``raw`` describes. Raises `RecordError` that says which field is wrong."""
    source = source_of(raw)
    return {SWE: from_swe_bench, PRO: from_swe_bench_pro, R2E: from_r2e_gym}[source](raw)


def source_of(raw: Mapping[str, Any]) -> str:
    """Which benchmark's fields ``raw`` has. Raises `RecordError` when it has nobody's."""
    if "docker_image" in raw:
        return R2E
    if "dockerhub_tag" in raw or "fail_to_pass" in raw:
        return PRO
    if "FAIL_TO_PASS" in raw or ("instance_id" in raw and "repo" in raw):
        return SWE
    raise RecordError("this is no record of SWE-bench (FAIL_TO_PASS), SWE-bench Pro (dockerhub_tag) or R2E-Gym "
                      f"(docker_image); it has: {', '.join(sorted(map(str, raw))) or 'nothing'}")


def from_swe_bench(raw: Mapping[str, Any]) -> Record:
    """A record of SWE-bench, classic or of the newer task tree."""
    id, repo = safe_id(text(raw, "instance_id")), text(raw, "repo")
    default_image = f"swebench/sweb.eval.x86_64.{id.lower().replace('__', '_1776_')}:latest"
    test_patch, script = text(raw, "test_patch", ""), text(raw, "eval_script", "")
    target, should_fail = _target(raw), names(raw, "FAIL_TO_PASS")
    if script:
        prepare, test_cmd = _split_eval_script(script)
        runner = commands.runner_of(test_cmd)
    else:
        if not test_patch:
            raise RecordError("field 'test_patch' is empty and there is no 'eval_script': nothing says how to test")
        files = [file_in_repository(path) for path in patched_files(test_patch)]
        test_cmd, runner = commands.of_repository(repo, files)
        prepare = f"{_ACTIVATE}\n{_APPLY_TESTS}"
    return Record(
        source=SWE, id=id, repo=repo, image=image_name(text(raw, "image", default_image)),
        workdir=folder_in_image(text(raw, "workdir", "/testbed")), base=text(raw, "base_commit", ""),
        gold_patch=text(raw, "patch"), gold_ref="", test_patch=test_patch, prepare=prepare, test_cmd=test_cmd,
        runner=runner, should_fail=should_fail, target_test=target, error=expected_error(raw),
        heals=text(raw, "heals", ""), raw=raw,
    )


def from_swe_bench_pro(raw: Mapping[str, Any]) -> Record:
    """A record of SWE-bench Pro. The image's tag is cut to 128 characters and cannot be derived."""
    id = safe_id(text(raw, "instance_id"))
    language = text(raw, "repo_language", "python").lower()
    if language not in ("python", "py"):
        raise RecordError(f"field 'repo_language' is {language!r}: only Python programs can be healed")
    image = text(raw, "image", "") or f"jefzda/sweap-images:{text(raw, 'dockerhub_tag')}"
    files = [file_in_repository(path) for path in names(raw, "selected_test_files_to_run")]
    setup = text(raw, "before_repo_set_cmd", "").strip().splitlines()
    test_patch = text(raw, "test_patch", "")
    prepare = "\n".join([*setup[-1:], *([_APPLY_TESTS + " || git apply --check -R /heal/test.patch"]
                                        if test_patch else [])])
    return Record(
        source=PRO, id=id, repo=text(raw, "repo"), image=image_name(image),
        workdir=folder_in_image(text(raw, "workdir", "/app")), base=text(raw, "base_commit", ""),
        gold_patch=text(raw, "patch"), gold_ref="", test_patch=test_patch, prepare=prepare,
        test_cmd=commands.pytest_of(files), runner="pytest", should_fail=names(raw, "fail_to_pass"),
        target_test=_target(raw), error=expected_error(raw), heals=text(raw, "heals", ""), raw=raw,
    )


def from_r2e_gym(raw: Mapping[str, Any]) -> Record:
    """A record of R2E-Gym: the id is made of the image's name, the fix is a commit inside of the image."""
    image = image_name(text(raw, "docker_image"))
    name, _, tag = image.rpartition("/")[2].partition(":")
    commit = text(raw, "commit_hash", "") or tag
    if not re.fullmatch(r"[0-9a-f]{7,64}", commit):
        raise RecordError(f"field 'commit_hash' is {commit!r:.60}: it must be a commit of the repository in the image")
    expected = _json(raw, "expected_output_json")
    if not isinstance(expected, dict):
        raise RecordError("field 'expected_output_json' must be a JSON object of test names and results")
    execution = _json(raw, "execution_result_content") if raw.get("execution_result_content") else {}
    if not isinstance(execution, dict):
        raise RecordError("field 'execution_result_content' must be a JSON object")
    before = commands.read_log(str(execution.get("old_commit_res_stdout", "")), "r2e")
    should_fail = tuple(sorted(test for test, status in expected.items()
                               if status == "PASSED" and before.get(test) in ("FAILED", "ERROR")))
    return Record(
        source=R2E, id=safe_id(text(raw, "instance_id", f"{name}-{commit[:12]}")),
        repo=text(raw, "repo_name"), image=image,
        workdir=folder_in_image(text(raw, "workdir", "/testbed")), base="", gold_patch="", gold_ref=commit,
        test_patch="", prepare="", test_cmd=commands.R2E, runner="r2e",
        should_fail=should_fail or tuple(sorted(test for test, status in expected.items() if status == "PASSED")),
        target_test=_target(raw), error=expected_error(raw), heals=text(raw, "heals", ""),
        files=dict(zip(_texts(execution, "test_file_names"), _texts(execution, "test_file_codes"), strict=False)),
        raw=raw,
    )


def names(raw: Mapping[str, Any], field: str) -> tuple[str, ...]:
    """A list of test names or paths: a list, or a string with it as JSON or as a Python literal."""
    value = raw.get(field)
    if value is None:
        raise RecordError(f"field {field!r} is missing")
    if isinstance(value, str):
        value = _literal(value, field)
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise RecordError(f"field {field!r} must be a list of texts, but is {value!r:.80}")
    return tuple(value)


def _literal(value: str, field: str) -> Any:
    """The value that a text stands for. Nothing in it is evaluated."""
    for reader in (json.loads, ast.literal_eval):
        try:
            return reader(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    raise RecordError(f"field {field!r} is neither a JSON list nor a Python literal: {value[:80]!r}")


def patched_files(patch: str) -> list[str]:
    """The files that a diff leaves behind, in its order."""
    found = re.findall(r"^\+\+\+ b/(.+?)(?:\t.*)?$", patch, re.MULTILINE)
    return list(dict.fromkeys(path for path in found if path != "/dev/null"))


def _json(raw: Mapping[str, Any], field: str) -> Any:
    value = raw.get(field)
    if value is None:
        raise RecordError(f"field {field!r} is missing")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"field {field!r} is not JSON: {problem}") from None


def _texts(execution: Mapping[str, Any], field: str) -> list[str]:
    found = execution.get(field, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise RecordError(f"field {field!r} of 'execution_result_content' must be a list of texts")
    return found


def _target(raw: Mapping[str, Any]) -> str:
    return text(raw, "target_test", "")


def _split_eval_script(script: str) -> tuple[str, str]:
    """What comes before the tests, and the lines that run them, of the script of a task tree."""
    before: list[str] = []
    tests: list[str] = []
    current = before
    for line in script.splitlines():
        if _BEGIN in line:
            current = tests
        elif _END in line:
            break
        elif not line.startswith("#!"):
            current.append(line)
    if not tests:
        raise RecordError(f"field 'eval_script' has no lines between {_BEGIN!r} and {_END!r}")
    return "\n".join(before), "\n".join(tests)
