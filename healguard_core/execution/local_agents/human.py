"""The agent ``human``: a prompt at the crash, in the manner of pdb. Imports protocol and, for its types, session."""

import cmd
import os
import sys
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from healguard_core.protocol import CrashContext, ExecuteOutcome

if TYPE_CHECKING:
    from healguard_core.execution.session import Session

_open = open
_environ = os.environ
_TERMINALS = ("CONIN$", "CONOUT$") if sys.platform == "win32" else ("/dev/tty", "/dev/tty")


def unusable() -> str:
    """Why nobody can be asked in this process, "" when somebody can."""
    if _environ.get("PYTEST_XDIST_WORKER"):
        return "the agent human cannot prompt in a worker of pytest-xdist; run without -n"
    if _environ.get("CI"):
        return "the agent human needs somebody at a terminal, and CI is set; choose another agent there"
    try:
        for stream in _terminal():
            stream.close()
    except OSError as error:
        return "the agent human needs a terminal ({}: {})".format(_TERMINALS[0], error.strerror or error)
    return ""


class HumanAgent:
    """Asks whoever sits at the terminal, or at ``stdin`` and ``stdout``. There are no ``options``.

    ``before`` and ``after`` are called around each conversation.
    """

    name = "human"

    def __init__(
        self,
        options: Optional[Dict[str, Any]] = None,
        *,
        stdin: Optional[IO[str]] = None,
        stdout: Optional[IO[str]] = None,
        before: Optional[Callable[[], object]] = None,
        after: Optional[Callable[[], object]] = None,
    ) -> None:
        if options:
            raise ValueError("the agent human has no option {}".format(", ".join(sorted(options))))
        self._streams = (stdin, stdout)
        self._before = before
        self._after = after
        self._silent = False

    def unusable(self) -> str:
        """Why this agent cannot work here, "" when it can."""
        return "" if None not in self._streams else unusable()

    def respond(self, session: "Session") -> None:
        """Converse until the crash is decided. The end of the input lets the error go on; Ctrl-C ends the run."""
        if self._silent:
            session.reraise("quit: the human lets every later error go on")
            return
        opened: List[IO[str]] = []
        if self._before is not None:
            self._before()
        try:
            stdin, stdout = self._streams
            if stdin is None or stdout is None:
                opened = list(_terminal())
                stdin, stdout = stdin or opened[0], stdout or opened[1]
            prompt = _Prompt(session, stdin, stdout)
            prompt.cmdloop()
            self._silent = prompt.quitting
        finally:
            for stream in opened:
                stream.close()
            if self._after is not None:
                self._after()

    def close(self) -> None:
        """Nothing is kept."""


def _terminal() -> Tuple[IO[str], IO[str]]:
    reader = _open(_TERMINALS[0])
    try:
        return reader, _open(_TERMINALS[1], "w")
    except OSError:
        reader.close()
        raise


class _Prompt(cmd.Cmd):
    """One conversation. A line that is no command is an expression to look at."""

    prompt = "(heal) "
    use_rawinput = False
    doc_header = "Commands (help COMMAND says more; anything else is evaluated in the crashed frame):"

    def __init__(self, session: "Session", stdin: IO[str], stdout: IO[str]) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.quitting = False
        self._session = session
        self._context = session.context
        self._frame = 0
        self._resume = "next"

    def preloop(self) -> None:
        self._say(summary(self._context))
        self._say("help lists the commands.")

    def postcmd(self, stop: bool, _: str) -> bool:
        return bool(stop) or self._session.decided

    def emptyline(self) -> bool:
        return False  # cmd would repeat the last command, and a heal must not be repeated by accident

    def default(self, line: str) -> None:
        self.do_print(line)

    # ----------------------------------------------------------------- looking

    def do_context(self, _: str) -> None:
        """context: what crashed, and where."""
        self._say(summary(self._context))
        self._say(self._context.traceback.rstrip())

    def do_where(self, _: str) -> None:
        """where: the repository frames, the crash first; > marks the selected one."""
        for view in self._context.frames:
            mark = ">" if view.index == self._frame else " "
            self._say("{} {} {} at {}:{}".format(mark, view.index, view.function, view.file, view.line))
            self._say("      {}".format(view.statement.strip().partition("\n")[0]))

    do_frames = do_where

    def do_up(self, _: str) -> None:
        """up: select the caller of the selected frame; source, locals and heal then mean that frame."""
        self._select(self._frame + 1)

    def do_down(self, _: str) -> None:
        """down: select the frame that the selected one called."""
        self._select(self._frame - 1)

    def do_source(self, _: str) -> None:
        """source: the function around the selected frame's statement."""
        self._say(self._context.frames[self._frame].marked_source.rstrip())

    def do_locals(self, _: str) -> None:
        """locals: the variables of the selected frame."""
        for name, value in self._context.frames[self._frame].locals.items():
            self._say("{} = {}".format(name, value))

    def do_print(self, argument: str) -> None:
        """print EXPRESSION: evaluate it in the crashed frame (frame 0); nothing that it does stays."""
        if argument.strip():
            self._show(self._session.probe(argument.strip()))

    do_p = do_print

    # ----------------------------------------------------------------- deciding

    def do_resume(self, argument: str) -> None:
        """resume WORD: how to go on after the next heal: next, retry, return, continue or break."""
        word = argument.strip()
        if word not in self._context.resumes:
            self._say("possible here: {}".format(", ".join(self._context.resumes)))
        else:
            self._resume = word

    def do_heal(self, argument: str) -> None:
        """heal CODE: run CODE in the selected frame in place of the failed statement, and go on.

        heal without CODE reads lines until one that is a single dot. `_eh_rtn = VALUE` returns from the function.
        """
        code = argument if argument.strip() else self._lines()
        if code is None:
            return
        outcome = self._session.heal(code, resume=self._resume, frame=self._frame, explanation="decided at the prompt")
        self._show(outcome)

    def do_reraise(self, argument: str) -> None:
        """reraise [REASON]: let the error go on."""
        self._session.reraise(argument.strip() or "decided at the prompt")

    def do_quit(self, _: str) -> None:
        """quit: let this error and every later one go on."""
        self.quitting = True
        self._session.reraise("quit at the prompt")

    do_q = do_quit

    def do_EOF(self, _: str) -> None:  # noqa: N802
        """End of input: let the error go on."""
        self._say("")
        self._session.reraise("end of input at the prompt")

    # ----------------------------------------------------------------- small things

    def _say(self, text: str) -> None:
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def _show(self, outcome: ExecuteOutcome) -> None:
        for text in (outcome.stdout.rstrip("\n"), outcome.value_repr, outcome.error):
            if text:
                self._say(text)

    def _select(self, index: int) -> None:
        if not 0 <= index < len(self._context.frames):
            self._say("there is no such frame")
            return
        self._frame = index
        self.do_where("")

    def _lines(self) -> Optional[str]:
        self._say("code, then a line with a single dot:")
        lines: List[str] = []
        while True:
            line = self.stdin.readline()
            if not line:
                self._say("no dot before the end of input; nothing was healed")
                return None
            if line.rstrip("\r\n") == ".":
                return "".join(lines)
            lines.append(line)


def summary(context: CrashContext) -> str:
    """A crash in a few lines."""
    lines: List[Any] = [
        "{}: {}".format(context.error, context.message),
        "{}:{} in {}".format(context.file, context.line, context.function),
        "    " + context.statement.strip().replace("\n", "\n    "),
    ]
    if context.failing_expression:
        lines.append("raised by: " + context.failing_expression)
    if context.skipped:
        lines.append("going on would leave out: " + context.skipped)
    lines.append("resume: " + ", ".join(context.resumes))
    return "\n".join(lines)
