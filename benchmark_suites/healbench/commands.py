"""How the tests of a repository are run, one of them chosen, and what their log says. Imports records."""

import re
import shlex
from collections.abc import Mapping, Sequence

from benchmark_suites.healbench.records import RecordError, file_in_repository

_DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
_SYMPY = "PYTHONWARNINGS=ignore::UserWarning,ignore::SyntaxWarning bin/test -C --verbose"
_PYTEST = "python -m pytest -rA -p no:cacheprovider"
R2E = "python -m pytest -W ignore -rA -p no:cacheprovider r2e_tests"
"""What the published ``run_tests.sh`` of an R2E-Gym image does with pytest."""

_STATUS = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*?)(?: - .*)?$", re.MULTILINE)
_UNITTEST = re.compile(r"^(test\w*) \(([\w.]+)\)(?:\n.*?)? \.\.\. (?:.*?)(ok|FAIL|ERROR|skipped|expected failure)",
                       re.MULTILINE)
_SYMPY_LINE = re.compile(r"^(test\w+) (ok|f|F|E|s|X)\b", re.MULTILINE)
_WORDS = {"ok": "PASSED", "FAIL": "FAILED", "F": "FAILED", "E": "ERROR", "f": "XFAIL", "s": "SKIPPED", "X": "XPASS",
          "skipped": "SKIPPED", "expected failure": "XFAIL", "ERROR": "ERROR"}
GOOD = ("PASSED", "XFAIL")
"""What counts as passed for a test that the fix has to make pass, as in the published graders."""


def pytest_of(files: Sequence[str]) -> str:
    """A pytest command for ``files``."""
    return f"{_PYTEST} {shlex.join(files)}".rstrip()


def of_repository(repo: str, files: Sequence[str]) -> tuple[str, str]:
    """Command and runner of a SWE-bench repository for the test files of a diff."""
    if repo == "django/django":
        labels = sorted({_django_label(path) for path in files if path.endswith(".py")})
        return f"{_DJANGO} {shlex.join(labels)}", "django"
    tests = [path for path in files if path.endswith(".py") and "test" in path]
    if not tests:
        raise RecordError("field 'test_patch' changes no file of tests")
    if repo == "sympy/sympy":
        return f"{_SYMPY} {shlex.join(tests)}", "sympy"
    return pytest_of(tests), "pytest"


def runner_of(command: str) -> str:
    """Which test runner the lines of ``command`` use, "" where nobody knows."""
    for word, runner in (("runtests.py", "django"), ("bin/test", "sympy"), ("pytest", "pytest"), ("py.test", "pytest"),
                         ("unittest", "unittest")):
        if word in command:
            return runner
    return ""


def for_test(command: str, runner: str, test: str, files: Mapping[str, str]) -> str:
    """``command`` for ``test`` alone where the runner can do that, else for everything.

    Tests are chosen by their exact id: parametrised ids hold brackets, quotes and blanks.
    """
    lines = command.rstrip().splitlines()
    words = _words(lines[-1]) if lines else []
    if runner == "r2e":
        place = f"r2e_tests/{_file_of(test, files)}::{_with_colons(test)}"
        chosen = [*[word for word in words if word != "r2e_tests"], place]
    elif runner == "pytest":
        chosen = [*[word for word in words if not _is_test_path(word)], file_in_repository(test)]
    elif runner in ("django", "unittest"):
        label = _dotted(test)
        chosen = [*[word for word in words if not (label + ".").startswith(word + ".")], label]
    elif runner == "sympy":
        chosen = [*words, "-k", test]
    else:
        return command
    return "\n".join([*lines[:-1], _joined(chosen)])


def read_log(log: str, runner: str) -> dict[str, str]:
    """Test names with their status: PASSED, FAILED, ERROR, SKIPPED, XFAIL or XPASS."""
    if runner in ("django", "unittest"):
        return {f"{name} ({where})": _WORDS[word] for name, where, word in _UNITTEST.findall(log)}
    if runner == "sympy":
        return {name: _WORDS[word] for name, word in _SYMPY_LINE.findall(log)}
    summary = log.rpartition("short test summary info")[2] if "short test summary info" in log else log
    found = {name: word for word, name in _STATUS.findall(summary)}
    if runner == "r2e":
        return {".".join(name.split("::")[1:]): word for name, word in found.items() if "::" in name}
    return found


def status_of(test: str, log: str, runner: str) -> str:
    """The status of ``test`` in ``log``, "" when it is not there."""
    found = read_log(log, runner)
    if test in found or runner not in ("django", "unittest"):
        return found.get(test, "")
    return next((status for name, status in found.items() if _dotted(name) == _dotted(test)), "")


def _django_label(path: str) -> str:
    return path.removeprefix("tests/").removesuffix(".py").replace("/", ".")


def _dotted(test: str) -> str:
    """``test_x (package.Class)`` as ``package.Class.test_x``; newer Pythons write the whole name in the brackets."""
    found = re.fullmatch(r"(\w+) \(([\w.]+)\)", test)
    if not found:
        return test
    name, where = found.groups()
    return where if where.endswith("." + name) else f"{where}.{name}"


def _with_colons(test: str) -> str:
    """R2E-Gym joins the parts of a test's id by dots; brackets may hold dots of their own."""
    plain, bracket, rest = test.partition("[")
    return plain.replace(".", "::") + bracket + rest


def _file_of(test: str, files: Mapping[str, str]) -> str:
    name = test.partition("[")[0].split(".")[-1]
    for path, code in files.items():
        if re.search(rf"^\s*(?:async )?def {re.escape(name)}\b", code, re.MULTILINE):
            return file_in_repository(path.rpartition("/")[2])
    raise RecordError(f"no file in 'execution_result_content' (test_file_codes) has the test {test!r}")


def _is_test_path(word: str) -> bool:
    return not word.startswith("-") and ("::" in word or word.endswith(".py")) and "=" not in word


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as problem:
        raise RecordError(f"the test command cannot be read: {problem}: {line!r:.120}") from None


def _joined(words: Sequence[str]) -> str:
    """Like ``shlex.join``, but variables before the command stay what they are."""
    begun = next((index for index, word in enumerate(words) if not re.match(r"\w+=", word)), len(words))
    settings = [f"{name}={shlex.quote(value)}" for name, _, value in (word.partition("=") for word in words[:begun])]
    return " ".join([*settings, shlex.join(words[begun:])])
