"""Protected operations and conditions under attack, on this Python and on the others of this machine."""

from __future__ import annotations

import ast
import functools
import json
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healguard_core.execution.guard.groups import GROUPS
from healguard_core.execution.guard.veto import STOP_RULES
from tests.core.pythons import other_pythons, run

from . import attacks

NOTHING = {name for name, (_, rule, _) in attacks.ATTACKS.items() if rule is None}


def judge(result: dict) -> None:
    """Nothing of the attack happened, its reason is the claimed one, and no protected function was left changed."""
    _, rule, policy_id = attacks.ATTACKS[result["name"]]
    assert result["untouched"], result
    assert result["said"] == ""
    assert result["same_code"]
    assert result["problems"] == []
    if rule is None:
        return
    first, *_ = result["rules"]
    assert first[0] == rule, result
    assert policy_id is None or first[1] == policy_id, result
    where, path = result["places"][0]
    assert ":" in where or rule == "HG302"
    assert path
    assert path[0].startswith("<heal 1>")


@pytest.mark.parametrize("name", attacks.ATTACKS)
def test_attack_comes_to_nothing(name: str, tmp_path: Path) -> None:
    judge(attacks.attack(tmp_path, name))


@pytest.mark.parametrize("code", attacks.HARMLESS)
def test_honest_healing_code_goes_through(code: str, tmp_path: Path) -> None:
    ran, watch, _ = attacks.Field(tmp_path).heal(code)
    assert (ran.error, watch.stops) == ("", [])


@pytest.mark.pythons
@pytest.mark.parametrize("python", other_pythons((3, 8), (3, 14)))
def test_other_pythons_stop_the_same(python: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    done = run(python, attacks.__file__, str(tmp_path), env=environment)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for result in results[: len(attacks.ATTACKS)]:
        judge(result)
    for result in results[len(attacks.ATTACKS) :]:
        assert (result["error"], result["rules"]) == ("", []), result
    assert len(results) == len(attacks.ATTACKS) + len(attacks.HARMLESS)


# --------------------------------------------------------------------------- outside heals


def test_protected_functions_are_themselves_when_no_heal_runs(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    before = (field.bank.purge, field.bank.purge.__code__, field.bank.Ledger.post, field.bank.handlers["purge"])
    field.heal("xs.append(1)")
    field.heal("purge(path)")
    bank = field.bank
    assert (bank.purge, bank.purge.__code__, bank.Ledger.post, bank.handlers["purge"]) == before
    assert bank.deep("x") is None
    assert bank.done == ["x"]


def test_other_threads_go_on_while_a_heal_runs(tmp_path: Path) -> None:
    """The program's own threads may do what the heal may not; arguments and results are those of the function."""
    field = attacks.Field(tmp_path)
    bank = field.bank
    begin, ended = threading.Event(), threading.Event()
    bank.begin, bank.ended = begin, ended
    bank.meet = lambda: (begin.set(), ended.wait(20))

    def work() -> None:
        begin.wait(20)
        bank.purge("mine", really=True)
        bank.Ledger().post(amount=7)
        bank.Vault("v")
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    ran, watch, _ = field.heal("meet()")
    thread.join()
    assert (ran.error, watch.stops) == ("", [])
    assert bank.done == ["mine", 7, "v"]


def test_signature_defaults_and_closures_of_exchanged_functions_hold(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    bank = field.bank
    ready, go_on = threading.Event(), threading.Event()

    def maker(base: int):
        def summed(a: int, b: int = 2, *rest: int, c: int, d: int = 4, **more: int) -> tuple[int, ...]:
            return (base, a, b, *rest, c, d, *more.values())

        return summed

    bank.summed = maker(100)
    guard = field.guard.extended([{"id": "s", "kind": "call", "target": "bank.summed", "key": ["a"]}])
    bank.pause = lambda: (ready.set(), go_on.wait(20))
    results = []

    def work() -> None:
        ready.wait(20)
        results.append(bank.summed(1, c=3))
        results.append(functools.partial(bank.summed, 1, 2, 9)(c=3, e=5))
        go_on.set()

    thread = threading.Thread(target=work)
    thread.start()
    with guard.watch("<heal 1>"):
        bank.pause()
    thread.join()
    assert results == [(100, 1, 2, 3, 4), (100, 1, 2, 9, 3, 4, 5)]


def test_a_swallowed_veto_ends_the_healing_code_at_its_next_step(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    ran, watch, _ = field.heal("a = quietly(path)\nxs.append('more')")
    assert [stop.policy_id for stop in watch.stops] == ["purge"]
    assert "Veto" in ran.error
    assert "more" not in field.frame.read()["xs"]


def test_what_is_stopped_says_where_and_how_it_was_reached(tmp_path: Path) -> None:
    _, watch, _ = attacks.Field(tmp_path).heal("a = 1\ndeep(path, levels=1)")
    (stop,) = watch.stops
    assert stop.key == f"path={str(tmp_path / 'kept.txt')!r}"
    assert stop.path[0] == "<heal 1>:2"
    assert [step.rpartition(":")[0] for step in stop.path[1:]] == [str(Path(attacks.HERE) / "bank.py")] * 2
    assert stop.where == stop.path[-1]
    assert "protected as 'purge'" in stop.message


# --------------------------------------------------------------------------- what a heal wrote


@pytest.mark.parametrize(("code", "wrote"), [
    ("a = 1", ["a"]),
    ("led.total = 3", ["led.total"]),
    ("table['x'] = 1\ndel table['k']", ["table['x']", "table['k']"]),
    ("xs[0] = 5", ["xs[0]"]),
    ("xs[:] = [1]", ["xs[:]"]),
    ("xs.append(3)", ["xs"]),
    ("led.add(3)", ["led.total", "led.items"]),
    ("remember(table, 'new', 1)", ["table['new']"]),
    ("remember(led.by_name, 'x', 1)", ["led.by_name['x']"]),
    ("led.total += 0", ["led.total"]),
    ("for i in range(3):\n    table['n'] = i", ["i", "table['n']"]),
    ("len(xs)", []),
])
def test_written_locations_are_told(code: str, wrote: list[str], tmp_path: Path) -> None:
    ran, watch, _ = attacks.Field(tmp_path).heal(code)
    assert ran.error == ""
    assert sorted(ran.wrote) == sorted(wrote)
    assert all(write.text for write in watch.writes)


def test_many_written_locations_are_cut(tmp_path: Path) -> None:
    ran, _, _ = attacks.Field(tmp_path).heal("\n".join(f"table['k{n}'] = {n}" for n in range(100)))
    assert len(ran.wrote) == 61
    assert ran.wrote[-1] == "and 40 more"


def test_writes_name_the_objects_for_tracking(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    _, watch, _ = field.heal("led.total = 3\ntable['x'] = 1")
    assert [(write.owner, write.kind, write.slot) for write in watch.writes] == [
        (field.ledger, "attribute", "total"), ({"k": 1, "x": 1}, "item", "x"),
    ]


# --------------------------------------------------------------------------- rewriting


EXPRESSIONS = st.recursive(
    st.sampled_from(["xs", "table", "led.total", "len(xs)", "1", "'t'", "str(xs[0])", "[*xs]", "{**table}"]),
    lambda inner: st.one_of(
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("dict(a={}, b={})".format, inner, inner),
        st.builds("list(map(str, [{}, {}]))".format, inner, inner),
        st.builds("[str(x) for x in [{}]]".format, inner),
        st.builds("(str({}) if {} else repr({}))".format, inner, inner, inner),
        st.builds("sorted([str({}), str({})], key=len)".format, inner, inner),
        st.builds("max([str({})], key=len, default={})".format, inner, inner),
    ),
    max_leaves=8,
)


@given(st.lists(EXPRESSIONS, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_checked_code_does_what_plain_code_does(
    tmp_path_factory: pytest.TempPathFactory, expressions: list[str]
) -> None:
    lines = [f"a{n} = {text}\ntable[{n}] = a{n}\nled.by_name['x'] = {text}" for n, text in enumerate(expressions)]
    code = "\n".join(lines)
    field = attacks.Field(tmp_path_factory.mktemp("field"))
    plain = attacks.Field(tmp_path_factory.mktemp("field"))
    guarded, watch, _ = field.heal(code)
    bare = plain.frame.run(code, label="<heal 1>")
    assert watch.stops == []
    assert guarded.error == bare.error
    assert repr(guarded.bindings) == repr(bare.bindings)
    assert repr(field.frame.read()["table"]) == repr(plain.frame.read()["table"])


@given(
    st.sampled_from(["{}", "[{}]", "a = {}", "if True:\n    {}", "for i in xs:\n    {}", "b = [{} for i in xs]",
                     "try:\n    {}\nexcept ValueError:\n    pass", "with finally_ok():\n    {}", "len([{}])",
                     "a = {{'k': {}}}", "a = str({})", "table['x'] = {}", 'a = f"""{{{}}}"""', "a, b = {}, 1",
                     "a = 1 if {} else 2", "while {}:\n    break"]),
    st.sampled_from(["purge(path)", "purge_alias('x')", "led.post(1)", "Ledger.post(led, 1)", "rm(path)", "out('x')",
                     "Special.open('y')", "purge_later(path)", "handlers['purge'](path)", "Vault(path)",
                     "(lambda_free)(path)", "keep_post(3)", "deep(path)"]),
)
@settings(max_examples=120, deadline=None)
def test_a_planted_operation_never_runs(
    tmp_path_factory: pytest.TempPathFactory, shape: str, call: str
) -> None:
    field = attacks.Field(tmp_path_factory.mktemp("field"))
    field.bank.lambda_free = field.bank.purge
    field.bank.finally_ok = field.bank.contextlib.nullcontext
    _, watch, said = field.heal(shape.format(call))
    assert watch.stops
    assert field.untouched()
    assert said == ""


# --------------------------------------------------------------------------- other tools


def test_a_profiler_goes_on_after_a_heal(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    seen = []

    def profiler(_frame: object, event: str, _arg: object) -> None:
        seen.append(event)

    sys.setprofile(profiler)
    try:
        field.heal("say('x')")
        after = sys.getprofile()
        len(seen)
    finally:
        sys.setprofile(None)
    assert after is profiler
    assert field.untouched()


def test_without_a_policy_the_system_is_out_of_reach_and_the_program_is_not(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path, policy=None)
    ran, watch, _ = field.heal("purge('x')\nled.post(1)\nwrite(path)")
    assert (ran.error, watch.stops) == ("", [])
    assert field.bank.done == ["x", 1]
    for code, operation in (("rm(path)", "posix.remove"), ("a = run_it", "")):
        field.bank.run_it = 1
        _, watch, _ = field.heal(code)
        assert [stop.operation for stop in watch.stops] == [operation] * bool(operation)


def test_functions_of_every_kind_work_for_other_threads_while_a_heal_runs(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    bank = field.bank
    ready, go_on, results = threading.Event(), threading.Event(), []

    async def gathered() -> list[str]:
        return [item async for item in bank.many("c")]

    def work() -> None:
        ready.wait(20)
        results.extend([list(bank.streaming("a")), bank.drive(bank.sending("b")), bank.drive(gathered())])
        go_on.set()

    thread = threading.Thread(target=work)
    thread.start()
    with field.guard.watch("<heal 1>"):
        ready.set()
        go_on.wait(20)
    thread.join()
    assert results == [["a"], "b", ["c"]]
    assert bank.done == ["a", "b", "c"]


def test_every_rule_has_its_entry_in_the_documentation() -> None:
    text = (Path(attacks.ROOT) / "docs" / "guard.md").read_text(encoding="utf-8")
    assert [code for code in STOP_RULES if f"| {code} |" not in text] == []
    assert [group for group in GROUPS if f"`builtin:{group}`" not in text] == []


def test_everything_is_allowed_again_after_a_heal(tmp_path: Path) -> None:
    field = attacks.Field(tmp_path)
    for code in ("xs.append(1)", "purge(path)", "say('x')", "in_thread(path)"):
        field.heal(code)
    bank = field.bank
    bank.in_thread("thread")
    bank.write(field.path)
    bank.remove_in_thread(field.path)
    assert not Path(field.path).exists()
    assert eval("1 + 1") == 2
    assert (bank.done, bank.special.post(5), bank.done) == (["thread", 5], None, ["thread", 5])


@pytest.mark.parametrize("code", ["run_text('y = 1')", "a = 1\nrun_text('import os')"])
def test_repository_code_that_runs_text_is_stopped(code: str, tmp_path: Path) -> None:
    """Only instrumented code is judged so: libraries make classes and namedtuples by `exec`."""
    from healguard_core.execution.instrument.rewrite import rewrite

    field = attacks.Field(tmp_path)
    source = "def run_text(text):\n    exec(text)\n"
    exec(compile(rewrite(ast.parse(source), source).tree, "texts.py", "exec"), field.bank.__dict__)
    field.heal("xs.append(1)")
    _, watch, _ = field.heal(code)
    assert [(stop.rule, stop.operation) for stop in watch.stops] == [("HG305", "running text as code")]


def test_a_hook_that_keeps_ours_out_is_told() -> None:
    program = (
        "import sys\n"
        f"sys.path.insert(0, {attacks.ROOT!r})\n"
        "def refuse(event, args):\n"
        "    if event == 'sys.addaudithook':\n"
        "        raise RuntimeError('no')\n"
        "from healguard_core.execution.guard import extent\n"
        "sys.addaudithook(refuse)\n"
        "extent.install()\n"
    )
    done = run(sys.executable, "-c", program)
    assert done.returncode == 1
    assert "another audit hook keeps the guard's from being installed" in done.stderr
