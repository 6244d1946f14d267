"""``@pytest.mark.heal(model=...)``: single tests are healed by another model than the run's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from healguard_core.testing import ScriptedModel, heal

from .conftest import Project, Result

TESTS = """
    import os
    import pytest
    from shop import orders

    def test_plain():
        assert orders.amount_of({}) == 2

    @pytest.mark.heal(model="other", agent="healer")
    def test_other():
        assert orders.amount_of({}) == 4
        assert "canary" not in os.environ.values()

    @pytest.mark.heal(model="third", agent="healer")
    def test_third():
        assert orders.amount_of({}) == 6
"""


def run(shop: Project, *arguments: str, heal_ini: str = "heal = healer\nheal_model = scripted\n",
        env: dict[str, str] | None = None) -> tuple[Result, list[list[str]]]:
    """The result, and with which keys each of the three models was asked."""
    with ScriptedModel([heal("amount = 1")], "one") as one, ScriptedModel([heal("amount = 2")], "two") as two, \
            ScriptedModel([heal("amount = 3")], "three") as three:
        lines = "".join(f"\n    {name} = openai/{model.name} base_url={model.url} key={key} input=1 output=1"
                        for name, model, key in (("scripted", one, "ONE_KEY"), ("other", two, "TWO_KEY"),
                                                 ("third", three, "ONE_KEY")))
        shop.write({"test_shop.py": TESTS, "pytest.ini": f"[pytest]\n{heal_ini}heal_models ={lines}\n"})
        result = shop.run("--heal-report=report.json", *arguments,
                          env={"ONE_KEY": "key-one", "TWO_KEY": "canary", **(env or {})})
        return result, [[headers["Authorization"] for headers in model.headers] for model in (one, two, three)]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_each_test_asks_its_own_model(shop: Project, workers: str) -> None:
    result, keys = run(shop, workers)
    assert result.by_name() == {"test_plain": "correct", "test_other": "correct", "test_third": "correct"}, result.out
    assert keys == [["Bearer key-one"], ["Bearer canary"], ["Bearer key-one"]]
    used: dict[str, Any] = {test["nodeid"].rpartition("::")[2]: test["crashes"][0]["usage"]
                            for test in result.report()["tests"]}
    assert used["test_other"]["model"] == "openai/two"
    assert result.report()["totals"]["usage"]["calls"] == 3
    assert result.report()["totals"]["usage"]["cost_usd"] == pytest.approx(3 * 0.0011)


def test_the_run_itself_may_have_no_model(shop: Project) -> None:
    result, keys = run(shop, "-k", "other", heal_ini="heal = rules\n")
    assert result.by_name() == {"test_other": "correct"}, result.out
    assert keys == [[], ["Bearer canary"], []]


@pytest.mark.parametrize(("mark", "env", "says"), [
    ('model="othr"', {}, r"there is no model 'othr'; did you mean other"),
    ('model="other"', {"TWO_KEY": ""}, "needs its key in the environment variable TWO_KEY, which is not set"),
    ('model="other", agent="rules"', {}, "agent 'rules' uses no model"),
    ('model="other", agent="mcp"', {}, "agent 'mcp' uses no model"),
    ("model=5", {}, r"\(model=5\): name a model as for --heal-model"),
])
def test_what_is_wrong_is_said_before_the_first_test(shop: Project, mark: str, env: dict[str, str], says: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "TESTS", TESTS.replace('model="other", agent="healer"', mark))
        result, keys = run(shop, env=env)
    assert result.ret == 4, result.out
    assert re.search(says, result.err), result.err
    assert keys == [[], [], []]
