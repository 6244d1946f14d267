"""An error that a handler of the same function takes for certain is nobody's business, and nobody is asked about it."""

import contextlib
import importlib
import traceback
from typing import Any

import pytest

from healguard_core.execution.instrument import clauses
from healguard_core.execution.instrument.compiling import instrumented
from healguard_core.execution.instrument.rewrite import sites_of

from .programs import answering

FILE = "<clauses>"


def asked_about(source: str, every_error: bool = False) -> list[str]:
    """Source lines of the statements that were asked about while ``source`` ran to its end."""
    code, reason = instrumented(source.encode(), FILE, every_error)
    assert reason == ""
    sites = sites_of(source, every_error=every_error)
    asked: list[str] = []

    def caught(site: int, _frame: Any, _exc: BaseException) -> Any:
        asked.append(source.split("\n")[sites[site].line - 1].strip())
        return ()

    with answering(caught), contextlib.suppress(LookupError):
        exec(code, {"__name__": "program"})
    return asked


def trying(*clauses: str, before: str = "", statement: str = "{}['k']") -> str:
    lines = [before, "def f():", "    try:", "        a = 1", f"        {statement}", "        b = 2"]
    for clause in clauses:
        kind, _, body = clause.partition(": ")
        lines += [f"    {kind}:", *("        " + line for line in body.split("; "))]
    return "\n".join([*lines, "f()"]) + "\n"


CERTAIN = {
    "a builtin class": trying("except KeyError: pass"),
    "its base": trying("except LookupError: pass"),
    "one of several": trying("except (ValueError, KeyError): pass"),
    "a second clause": trying("except ValueError: pass", "except KeyError: pass"),
    "everything": trying("except: pass"),
    "every ordinary error": trying("except Exception: pass"),
    "an own class": trying("except Own: pass", before="class Own(KeyError): pass", statement="raise Own"),
    "an imported class": trying(
        "except Empty: pass", before="from queue import Empty", statement="import queue; raise queue.Empty"),
    "a class of a standard module": trying(
        "except queue.Empty: pass", before="import queue", statement="raise queue.Empty"),
    "a constant": trying("except Errors: pass", before="Errors = (KeyError, OSError)"),
    "leaving": trying("except KeyError: return 1"),
    "a word to the log": trying("except KeyError as e: print('no', e, end=''); x = str(e)"),
    "asking the error": trying("except KeyError as e: x = e.args"),
    "a method of a list": trying("except KeyError: x = []; x.append(1)"),
    "in a condition": trying("except KeyError: pass", statement="if a: {}['k']"),
    "in loops": trying(
        "except KeyError: pass", statement="for a in (1,):\n            while a:\n                {}['k']"),
    "in a handler": trying("except KeyError: pass", statement="try: 1 / 0\n        except ZeroDivisionError: {}['k']"),
    "in an inner try": trying("except KeyError: pass",
                              statement="try:\n            {}['k']; a = 1\n        except OSError: pass"),
    "in an inner else": trying("except KeyError: pass",
                               statement="try: a = 1\n        except OSError: pass\n        else: {}['k']"),
    "in an inner finally": trying("except KeyError: pass", statement="try: a = 1\n        finally: {}['k']"),
    "in a with's header": trying("except KeyError: pass", statement="with {}['k']: pass"),
    "before a finally": trying("except KeyError: pass", "finally: pass"),
    "in a class body": "class C:\n    try:\n        a = 1\n        {}['k']\n    except KeyError: pass\n",
    "at the module's level": "try:\n    a = 1\n    {}['k']\n    b = 2\nexcept KeyError:\n    pass\n",
    "in a generator": "def g():\n    try:\n        yield 1\n        {}['k']\n    except KeyError: pass\nlist(g())\n",
}


@pytest.mark.parametrize("name", CERTAIN)
def test_nobody_is_asked_about_an_error_that_is_taken(name: str) -> None:
    source = CERTAIN[name]
    assert asked_about(source) == []
    assert any("{}['k']" in line or "raise" in line for line in asked_about(source, every_error=True))


UNCERTAIN = {
    "another class": trying("except OSError: pass"),
    "raised again": trying("except KeyError: raise"),
    "translated": trying("except KeyError as e: raise LookupError from e"),
    "raised again in a branch": trying("except KeyError: x = 1; if x: raise"),
    "behind a clause that raises": trying("except LookupError: raise", "except KeyError: pass"),
    "asserted": trying("except KeyError: assert f"),
    "handed to a function": trying("except KeyError: report()", before="def report(): pass"),
    "what a function returns": trying("except KeyError: return report()", before="def report(): pass"),
    "kept": trying("except KeyError as e: kept = e"),
    "kept in a list": trying("except KeyError as e: x = []; x.append(e)"),
    "kept by its number": trying("except KeyError: import sys; x = sys.exc_info()"),
    "tested by a function": trying("except KeyError as e: if report(e): pass", before="def report(error): pass"),
    "a class made by a call": trying("except kinds(): pass", before="def kinds(): return KeyError"),
    "a class of an own module": trying(
        "except types.Error: pass", before="import types; types = types.SimpleNamespace(Error=KeyError)"),
    "a class that comes later": trying("except Own: pass").replace("f()\n", "") + "Own = KeyError\nf()\n",
    "an outer try behind a with": trying(
        "except KeyError: pass", before="import contextlib", statement="with contextlib.nullcontext(): {}['k']"),
    "an outer try behind a finally": trying(
        "except KeyError: pass", statement="try: {}['k']; a = 1\n        finally: a = 1"),
    "a variable, which may be unbound": trying("except KeyError: pass").replace("f()", "f(KeyError=KeyError)", 1),
    "groups": trying("except* KeyError: pass"),
    "another function": "def g():\n    {}['k']\n" + trying("except KeyError: pass", statement="g()"),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_the_decision_is_asked_about_every_other_error(name: str) -> None:
    assert any("{}['k']" in line for line in asked_about(UNCERTAIN[name]))


def test_a_statement_whose_every_error_is_taken_is_no_site() -> None:
    source = trying("except Exception: pass")
    assert [site.line for site in sites_of(source)] == [9]
    assert [site.line for site in sites_of(source, every_error=True)] == [5, 9]


@pytest.mark.parametrize("name", sorted(clauses._STANDARD))
def test_every_listed_class_of_a_standard_module_is_there(name: str) -> None:
    module, _, attribute = name.partition(".")
    assert issubclass(getattr(importlib.import_module(module), attribute), BaseException)


FAILING = {
    "a name that is bound later": trying("except Own: pass") + "class Own(KeyError): pass\n",
    "a name that was deleted": trying("except Own: pass", before="class Own(KeyError): pass\ndel Own"),
    "a name that a handler unbound": trying(
        "except Own: pass", before="try: 1 / 0\nexcept ZeroDivisionError as Own: pass"),
    "an unbound variable": trying("except KeyError: pass; KeyError = 1"),
    "an unbound captured variable": trying("except KeyError: pass; (lambda: KeyError); KeyError = 1"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_clause_that_cannot_be_evaluated_fails_as_in_the_plain_program(name: str) -> None:
    source = FAILING[name]

    def outcome(code: Any) -> str:
        with pytest.raises(NameError) as caught:
            exec(code, {"__name__": "program"})
        return "".join(traceback.format_exception(caught.value)[-1:]) + str(_depth(caught.value))

    with answering(lambda *_: ()):
        ours = outcome(instrumented(source.encode(), FILE)[0])
    assert ours == outcome(compile(source, FILE, "exec", dont_inherit=True))


def _depth(error: BaseException | None) -> int:
    """How many errors were being handled, one inside of the other."""
    count = 0
    while error is not None:
        error, count = error.__context__, count + 1
    return count
