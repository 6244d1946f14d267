"""The agent `human` at a terminal of its own, with output captured by pytest."""

from __future__ import annotations

import os
import sys

import pytest

from .conftest import Project

pty = pytest.importorskip("pty")


def converse(project: Project, answers: list[str], *arguments: str) -> tuple[int, str]:
    """Run pytest on a new terminal and type one of ``answers`` at each prompt: exit code and everything shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(project.folder)
        command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", "--heal=human", *arguments]
        os.execve(sys.executable, command, project.environment({}))
    shown = b""
    answered = 0
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:  # Linux reports the end this way
            break
        if not read:
            break
        shown += read
        if shown.count(b"(heal) ") > answered and answered < len(answers):
            os.write(terminal, answers[answered].encode() + b"\n")
            answered += 1
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode(errors="replace")


@pytest.mark.parametrize("capture", ["fd", "sys", "no"])
def test_a_human_heals(shop: Project, capture: str) -> None:
    shop.write({"test_shop.py": """
        from shop import orders

        def test_correct(capsys):
            print("captured before")
            assert orders.amount_of({}) == 42
            print("captured after")
            assert capsys.readouterr().out == "captured before\\ncaptured after\\n"
    """})
    ret, shown = converse(shop, ["p order", "heal amount = 21"], "--heal-accept=correct",
                          f"--capture={capture}")
    assert ret == 0, shown
    assert "KeyError: 'amount'" in shown
    assert "{}" in shown
    assert "1 correct" in shown


def test_ctrl_c_at_the_prompt_ends_the_run(shop: Project) -> None:
    ret, shown = converse(shop, ["\x03"], "-k", "correct")
    assert ret == 2, shown
    assert "INTERNALERROR" not in shown
