"""``--heal-guard=FILE``: what a policy protects is stopped, told, and reported."""

from __future__ import annotations

import json

import pytest

from .conftest import Project

BANK = """
    POSTED = []
    VERIFY = True

    class Ledger:
        strict = True

        def post(self, amount):
            POSTED.append(amount)

    def settle(order, ledger):
        amount = order["amount"]
        return amount
"""
SINKS = """
    version: 1
    protect:
      - {id: post-money, call: shop.bank.Ledger.post, key: amount}
      - {id: verifies, condition: shop.bank.VERIFY}
"""
TESTS = """
    from shop import bank

    def test_settle():
        assert bank.settle({}, bank.Ledger()) == 1
        assert bank.POSTED == []
        assert bank.VERIFY
"""
AGENT = """
    class Scripted:
        name = "scripted"

        def respond(self, session):
            self.told = []
            for code in CODES:
                outcome = session.heal(code)
                print("TOLD", outcome.error)
                if session.decided:
                    return

        def close(self):
            pass

    def pytest_heal_agents(config):
        return {"scripted": lambda options: Scripted()}

    def pytest_heal_blocked(event, item, config):
        print("BLOCKED", event.rule, event.policy_id, item.name)
"""


@pytest.fixture
def bank(project: Project) -> Project:
    return project.write({"shop/__init__.py": "", "shop/bank.py": BANK, "sinks.yaml": SINKS, "test_bank.py": TESTS})


def answer(project: Project, *codes: str) -> Project:
    return project.write({"conftest.py": f"CODES = {list(codes)!r}\n" + AGENT.replace("\n    ", "\n")})


def run(project: Project, *arguments: str):
    return project.run("--heal=scripted", "--heal-report=report.json", "-s", *arguments)


POSTS = "ledger.post(1)\namount = 1"


def test_a_protected_operation_never_runs_and_makes_the_test_unsafe(bank: Project) -> None:
    result = run(answer(bank, POSTS), "--heal-guard=sinks.yaml", "--heal-sarif=out.sarif")
    assert result.by_name() == {"test_settle": "unsafe"}, result.out
    (test,) = result.report()["tests"]
    (crash,) = test["crashes"]
    heal = crash["heal"]
    assert (heal["verdict"], heal["wrote"], heal["flow"]) == ("blocked", [], ["<heal 1>:1"])
    (submission, *_) = crash["actions"]
    (stop,) = submission["stops"]
    assert (stop["rule"], stop["policy_id"], stop["operation"]) == ("HG301", "post-money", "shop.bank.Ledger.post")
    assert result.report()["totals"]["applied"] == 0
    assert "stopped (dynamic HG301 shop.bank.Ledger.post, protected as post-money)" in result.out
    assert "BLOCKED HG301 post-money test_settle" in result.out
    assert "TOLD stopped by HealGuard" in result.out


def test_a_later_safe_heal_makes_it_correct(bank: Project) -> None:
    result = run(answer(bank, POSTS, "amount = 1"), "--heal-guard=sinks.yaml")
    assert result.by_name() == {"test_settle": "correct"}, result.out
    (test,) = result.report()["tests"]
    assert test["crashes"][0]["heal"]["code"] == "amount = 1"
    assert test["usage"]["calls"] == 2


def test_without_a_policy_the_programs_own_operations_are_not_protected(bank: Project) -> None:
    result = run(answer(bank, POSTS))
    assert result.by_name() == {"test_settle": "proceed"}, result.out  # the test sees what was posted


def test_a_condition_written_by_name_stays_as_it_was(bank: Project) -> None:
    result = run(answer(bank, "VERIFY = False\namount = 1"), "--heal-guard=sinks.yaml")
    assert result.by_name() == {"test_settle": "unsafe"}, result.out
    assert "HG302 shop.bank.VERIFY" in result.out


def test_workers_report_the_same(bank: Project) -> None:
    pytest.importorskip("xdist")
    result = run(answer(bank, POSTS), "--heal-guard=sinks.yaml", "--heal-sarif=out.sarif", "-n2")
    assert result.by_name() == {"test_settle": "unsafe"}, result.out
    assert json.loads((bank.folder / "out.sarif").read_text())["runs"][0]["results"]


def test_sarif_names_the_place_of_the_heal_and_of_the_operation(bank: Project) -> None:
    bank.write({"shop/bank.py": BANK + "\n    def pay(ledger):\n        ledger.post(2)\n"})
    run(answer(bank, "pay(ledger)\namount = 1"), "--heal-guard=sinks.yaml", "--heal-sarif=out.sarif")
    log = json.loads((bank.folder / "out.sarif").read_text(encoding="utf-8"))
    assert log["version"] == "2.1.0"
    (made,) = log["runs"]
    assert [rule["id"] for rule in made["tool"]["driver"]["rules"]] == ["HG301"]
    (result,) = made["results"]
    at = result["locations"][0]["physicalLocation"]
    assert (at["artifactLocation"]["uri"], at["region"]["startLine"]) == ("shop/bank.py", 11)
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related["artifactLocation"]["uri"] == "shop/bank.py"
    assert related["region"]["startLine"] == 15
    assert result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert result["properties"]["policyId"] == "post-money"
    assert result["properties"]["exact"] is True


def test_what_the_gate_refuses_says_so(bank: Project) -> None:
    result = run(answer(bank, "import os\nos.system('true')"), "--heal-guard=sinks.yaml", "--heal-sarif=out.sarif")
    (crash,) = result.report()["tests"][0]["crashes"]
    found = [finding for action in crash["actions"] for finding in action.get("findings", ())]
    assert found
    assert {finding["stage"] for finding in found} == {"gate"}
    log = json.loads((bank.folder / "out.sarif").read_text(encoding="utf-8"))
    assert [(one["properties"]["stage"], one["properties"]["heals"]) for one in log["runs"][0]["results"]] == [
        ("gate", [crash["crash"]])] * len(found)


def test_a_name_that_nothing_has_ends_the_run_before_the_first_test(bank: Project) -> None:
    bank.write({"sinks.yaml": SINKS.replace("VERIFY}", "VERIFI}")})
    result = run(answer(bank, "amount = 1"), "--heal-guard=sinks.yaml")
    assert result.ret == 4
    assert "sinks.yaml:4: HF410 module shop.bank has no 'VERIFI'; did you mean 'VERIFY'?" in result.err


def test_a_name_that_only_the_imported_module_disproves_ends_the_run_as_well(bank: Project) -> None:
    bank.write({
        "shop/bank.py": BANK + "\n    globals()['late'] = 1\n",
        "sinks.yaml": SINKS.replace("VERIFY}", "VERIFI}"),
    })
    result = run(answer(bank, "amount = 1"), "--heal-guard=sinks.yaml")
    assert result.ret == 4, result.out
    assert "module shop.bank has no 'VERIFI'; did you mean 'VERIFY'?" in result.err


def test_a_module_that_arrives_within_a_test_and_lacks_the_name_fails_the_run(bank: Project) -> None:
    bank.write({
        "shop/late.py": "globals()['there'] = 1\n",
        "sinks.yaml": SINKS + "      - {id: gone, call: shop.late.gone, key: '*'}\n",
        "test_bank.py": """
            def test_late():
                import shop.late
        """,
    })
    result = run(answer(bank, "amount = 1"), "--heal-guard=sinks.yaml")
    assert result.outcomes == {"passed": 1}, result.out
    assert result.ret == 1, result.out
    assert "module shop.late has no 'gone'" in result.out


def test_a_mark_brings_a_policy_of_its_own(bank: Project) -> None:
    bank.write({"test_bank.py": """
        import pytest
        from shop import bank

        @pytest.mark.heal(guard="sinks.yaml")
        def test_guarded():
            assert bank.settle({}, bank.Ledger()) == 1

        def test_plain():
            assert bank.settle({}, bank.Ledger()) == 1
            bank.POSTED.clear()

        @pytest.mark.heal(guard="off")
        def test_unguarded():
            assert bank.settle({}, bank.Ledger()) == 1
    """})
    result = run(answer(bank, POSTS))
    assert result.by_name() == {"test_guarded": "unsafe", "test_plain": "correct", "test_unguarded": "correct"}
    verdicts = [test["crashes"][0]["heal"]["verdict"] for test in result.report()["tests"]]
    assert verdicts == ["blocked", "gated", "unguarded"]


def test_the_fixture_protects_more_for_one_test(bank: Project) -> None:
    bank.write({"test_bank.py": """
        from shop import bank

        def test_protects(heal):
            heal.protect(bank.Ledger.post, key="amount")
            assert bank.settle({}, bank.Ledger()) == 1

        def test_by_name(heal):
            heal.protect("shop.bank.Ledger.post")
            assert bank.settle({}, bank.Ledger()) == 1

        def test_next():
            assert bank.settle({}, bank.Ledger()) == 1
    """})
    result = run(answer(bank, POSTS))
    assert result.by_name() == {"test_protects": "unsafe", "test_by_name": "unsafe", "test_next": "correct"}, result.out


def test_a_thread_that_a_heal_leaves_behind_stays_guarded(bank: Project) -> None:
    bank.write({
        "shop/bank.py": BANK + """
    import threading
    LATER = threading.Event()
    THREADS = []

    def later(ledger):
        LATER.wait(20)
        ledger.post(3)

    def begin(ledger):
        thread = threading.Thread(target=later, args=(ledger,))
        THREADS.append(thread)
        thread.start()
""",
        "test_bank.py": """
            import pytest
            from shop import bank

            @pytest.mark.filterwarnings("ignore")
            def test_settle():
                assert bank.settle({}, bank.Ledger()) == 1
                bank.LATER.set()
                bank.THREADS[0].join()
                assert bank.POSTED == []
        """,
    })
    result = run(answer(bank, "begin(ledger)\namount = 1"), "--heal-guard=sinks.yaml", "--heal-trial=off")
    assert result.by_name() == {"test_settle": "unsafe"}, result.out
    (test,) = result.report()["tests"]
    assert test["crashes"][0]["heal"]["verdict"] == "blocked"
    assert "thread" in test["crashes"][0]["heal"]["flow"][0]
