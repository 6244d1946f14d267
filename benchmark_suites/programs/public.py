"""Programs from files of public sets that the user has, as cases. Imports cases.

A public file holds tasks with tests; the programs that crash are somebody's answers. So each record needs the code that
was run: HumanEval+ and MBPP+ samples (``solution`` or ``completion``) beside the task's ``test``, CodeNet and
LiveCodeBench submissions (``code``) with ``input`` and ``output``, DebugBench's ``buggy_code`` with its examples.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmark_suites.programs.cases import Case, CaseError

_STDIN_TEST = """\
import io
import runpy
import sys
from pathlib import Path


def test_output(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO({given!r}))
    runpy.run_path(str(Path(__file__).with_name("program.py")), run_name="__main__")
    assert capsys.readouterr().out.split() == {wanted!r}.split()
"""
_CHECK_TEST = "{test}\n\n\ndef test_check():\n    import program\n    check(program.{entry})\n"
_PLAIN_TEST = "from program import *\n\n\ndef test_asserts():\n{body}\n"


def read(path: Path) -> Iterator[tuple[str, Case | CaseError]]:
    """Id and case of each record of a ``.jsonl`` file, an error in place of a wrong one.

    Raises ``ValueError`` when ``path`` is no such file.
    """
    if path.suffix != ".jsonl" or not path.is_file():
        raise ValueError(f"--heal-records={path}: suite programs reads .jsonl files, one record a line")
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            where = f"{path.stem}-{number}"
            try:
                record = json.loads(line)
                yield where, _adapt(where, record if isinstance(record, dict) else {})
            except CaseError as problem:
                yield where, problem
            except (ValueError, RecursionError) as problem:
                yield where, CaseError(f"{path.name}:{number}: not JSON: {problem}")


def _adapt(where: str, record: Mapping[str, Any]) -> Case:
    """The case that ``record`` describes. Raises `CaseError` that names the fields that are missing."""
    if "entry_point" in record and "test" in record:
        return _human_eval(where, record)
    if "buggy_code" in record:
        return _debug_bench(where, record)
    if "code" in record and "input" in record and "output" in record:
        return _stdin(where, _text(record, "code"), _text(record, "input"), _text(record, "output"), "codenet")
    if "code_list" in record or "question_content" in record:
        return _live_code_bench(where, record)
    if ("solution" in record or "code" in record) and ("test_list" in record or "assertion" in record):
        return _mbpp(where, record)
    raise CaseError(f"{where}: no record of HumanEval+ (entry_point, test, solution), MBPP+ (test_list or assertion, "
                    "solution), CodeNet (code, input, output), LiveCodeBench (code_list, public_test_cases) or "
                    f"DebugBench (buggy_code, examples); it has: {', '.join(sorted(map(str, record))) or 'nothing'}")


def _human_eval(where: str, record: Mapping[str, Any]) -> Case:
    if "solution" in record:
        program = _text(record, "solution")
    else:
        program = _text(record, "prompt") + _text(record, "completion")
    entry = _name(record, "entry_point")
    test = _CHECK_TEST.format(test=_text(record, "test"), entry=entry)
    return _case(where, program, test, "humaneval")


def _mbpp(where: str, record: Mapping[str, Any]) -> Case:
    given = record.get("test_list", record.get("assertion"))
    lines = given if isinstance(given, list) else str(given).splitlines()
    body = "\n".join("    " + str(line).strip() for line in lines if str(line).strip())
    program = _text(record, "solution") if "solution" in record else _text(record, "code")
    return _case(where, program, _PLAIN_TEST.format(body=body or "    raise AssertionError('no asserts')"), "mbpp")


def _debug_bench(where: str, record: Mapping[str, Any]) -> Case:
    """Examples are text: ``nums = [1, 2]`` and ``Output: 3``; the program has a class with one method."""
    examples = record.get("examples")
    first = str(examples[0] if isinstance(examples, list) and examples else examples)
    found = re.search(r"Input:\s*(.*?)\s*Output:\s*(.*?)\s*(?:Explanation:|$)", first, re.DOTALL)
    program = _text(record, "buggy_code")
    method = re.search(r"^\s+def (?!__)(\w+)\(self", program, re.MULTILINE)
    if not found or not method:
        raise CaseError(f"{where}: DebugBench needs examples with 'Input:' and 'Output:', and a method to call")
    arguments = ", ".join(re.split(r",\s*(?=\w+\s*=)", found.group(1)))
    wanted = found.group(2).replace("true", "True").replace("false", "False").replace("null", "None")
    test = (f"import program\n\n\ndef test_example():\n"
            f"    assert program.Solution().{method.group(1)}({arguments}) == {wanted}\n")
    imports = "from typing import *\nfrom collections import *\nimport math\n\n"
    return _case(where, imports + program, test, "debugbench")


def _live_code_bench(where: str, record: Mapping[str, Any]) -> Case:
    codes = record.get("code_list")
    if not isinstance(codes, list) or not codes:
        raise CaseError(f"{where}: LiveCodeBench needs 'code_list' with the code that was run")
    cases = record.get("public_test_cases")
    if isinstance(cases, str):
        cases = json.loads(cases)
    try:
        first = cases[0]  # type: ignore[index]
        return _stdin(where, str(codes[0]), str(first["input"]), str(first["output"]), "livecodebench")
    except (TypeError, KeyError, IndexError):
        raise CaseError(f"{where}: 'public_test_cases' must be a list of objects with input and output") from None


def _stdin(where: str, program: str, given: str, wanted: str, source: str) -> Case:
    return _case(where, program, _STDIN_TEST.format(given=given, wanted=wanted), source)


def _case(where: str, program: str, test: str, source: str) -> Case:
    for name, text in (("program", program), ("test", test)):
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            raise CaseError(f"{where}: the {name} is no Python: {problem}") from None
    return Case(where, f"a program of {source}", "", 0, "", program, "", test, "", source)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise CaseError(f"field {name!r} is missing or no text; the record has: {', '.join(sorted(map(str, record)))}")
    return value


def _name(record: Mapping[str, Any], field: str) -> str:
    value = _text(record, field)
    if not value.isidentifier():
        raise CaseError(f"field {field!r} is no name: {value!r:.60}")
    return value
