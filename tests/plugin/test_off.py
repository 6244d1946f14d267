"""Without --heal the plugin costs nothing: it imports nothing of the core and registers nothing."""

from .conftest import Project

SHOW_MODULES = """
    import sys

    def pytest_unconfigure(config):
        ours = sorted(name for name in sys.modules if name.startswith(("healguard_core", "pytest_heal", "libcst",
                                                                       "pydantic", "yaml")))
        plugins = sorted(name for name, plugin in config.pluginmanager.list_name_plugin()
                         if plugin is not None and name.startswith("heal") and name != "heal-suites")
        print("MODULES", *ours)
        print("PLUGINS", *plugins)
"""


def loaded(project: Project, *arguments: str) -> tuple[list[str], list[str], int]:
    result = project.write({"conftest.py": SHOW_MODULES}).run("-s", *arguments)
    words = {line.split()[0]: line.split()[1:] for line in result.lines if line.startswith(("MODULES", "PLUGINS"))}
    return words["MODULES"], words["PLUGINS"], result.ret


def test_nothing_of_the_core_is_imported(project: Project) -> None:
    project.write({"test_a.py": "def test_a():\n    pass\n"})
    modules, plugins, ret = loaded(project)
    assert ret == 0
    assert modules == ["pytest_heal", "pytest_heal.hookspecs", "pytest_heal.options", "pytest_heal.plugin"]
    assert plugins == ["heal"]


def test_healing_without_a_policy_or_a_runbook_imports_nothing_heavy(project: Project) -> None:
    project.write({"test_a.py": "def test_a():\n    pass\n"})
    modules, _, ret = loaded(project, "--heal=rules")
    assert ret == 0
    assert "healguard_core.execution.engine" in modules
    heavy = ("pydantic", "yaml", "libcst", "healguard_core.healing", "healguard_core.execution.tracking")
    assert [name for name in modules if name.startswith(heavy)] == []


def test_a_policy_brings_what_follows_heals_before_the_first_test(project: Project) -> None:
    project.write({
        "sinks.yaml": "version: 1\nprotect: [{id: files, call: os.remove, key: path}]\n",
        "test_a.py": """
            import sys

            def test_a():
                assert "healguard_core.execution.tracking.tracker" in sys.modules
        """,
    })
    assert project.run("--heal=rules", "--heal-guard=sinks.yaml").ret == 0


def test_a_policy_of_one_test_brings_it_before_that_test(project: Project) -> None:
    project.write({
        "sinks.yaml": "version: 1\nprotect: [{id: files, call: os.remove, key: path}]\n",
        "test_a.py": """
            import sys
            import pytest

            def test_a():
                assert "healguard_core.execution.tracking.tracker" not in sys.modules

            @pytest.mark.heal(guard="sinks.yaml")
            def test_b():
                assert "healguard_core.execution.tracking.tracker" in sys.modules
        """,
    })
    assert project.run("--heal=rules").ret == 0


def test_off_overrules_the_ini_file(project: Project) -> None:
    project.write({"test_a.py": "def test_a():\n    pass\n", "pytest.ini": "[pytest]\nheal = rules\n"})
    modules, _, ret = loaded(project, "--heal=off")
    assert ret == 0
    assert not any(name.startswith("healguard_core") for name in modules)


def test_the_fixture_and_the_marker_work_without_healing(project: Project) -> None:
    project.write({"test_a.py": """
        import pytest

        @pytest.mark.heal(accept="correct")
        def test_a(heal):
            assert (heal.enabled, heal.events, heal.crashes, heal.applied) == (False, [], [], 0)
    """})
    assert project.run("--strict-markers", "-W", "error").ret == 0


def test_outcomes_are_as_without_the_plugin(shop: Project) -> None:
    off = shop.run("-q", "-rA")
    absent = shop.run("-q", "-rA", "-p", "no:heal")
    assert off.ret == absent.ret == 1
    assert off.outcomes == absent.outcomes == {"passed": 1, "failed": 4}
