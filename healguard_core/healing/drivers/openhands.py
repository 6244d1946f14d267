"""Drives the OpenHands SDK: its agent and its prompt, with ``bash``, ``execute`` and ``reraise`` as the only tools.

Run in a Python that has the package ``openhands-sdk``. One conversation goes on over all crashes of a test; a decision
pauses it. The SDK keeps tools and actions in a registry of the process, so their classes are made once, here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from healguard_core.healing.conversation import kept, left_out
from healguard_core.healing.drivers.wire import GIVEN_UP, Answer, Channel, Crash, Hello, Over, serve
from healguard_core.healing.prompts import tokens

# Read when the package is imported: it prints a banner and keeps a log.
os.environ.update({
    "OPENHANDS_SUPPRESS_BANNER": "1", "LOG_LEVEL": "ERROR", "LOG_AUTO_CONFIG": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
})
CHANNEL = Channel()  # before anything can print

from openhands.sdk import (  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
    LLM,
    Action,
    Agent,
    AgentContext,
    Conversation,
    Message,
    MessageEvent,
    Observation,
    TextContent,
    Tool,
    ToolDefinition,
    register_tool,
)
from openhands.sdk.context.condenser import CondenserBase  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from openhands.sdk.context.view import View  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from openhands.sdk.tool import ToolExecutor  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from pydantic import Field  # noqa: E402

SHELL = (
    "What is above about editing files and installing packages does not hold here. Your tool `bash` runs in a "
    "read-only copy of the repository, without network: use it to read source and to search. It cannot see the paused "
    "program; `execute` can. There are no other tools."
)
ASK = (
    "Look at what you need to (`bash` for source, `execute` with submit=false for live state), then decide: `execute` "
    "with submit=true heals the program, `reraise` lets the exception go on, when it is right or when no heal would be "
    "safe and correct."
)
AGAIN = "The program is still paused. Decide by the tools `execute` (submit=true) or `reraise`."
DECIDED = "This crash is decided already."
LONGEST_RUN = 1000
"""Steps of one run of the SDK; the budget of calls ends it sooner."""


class Paused:
    """The crash that the tools of this process are about."""

    crash: Crash | None = None
    said: str = ""  # the last text that is no call of a tool

    def __call__(self) -> Crash:
        assert self.crash is not None
        return self.crash


PAUSED = Paused()


class HealObservation(Observation):  # type: ignore[misc,unused-ignore]
    """What came of a tool."""

    answer: str = ""

    @property
    def to_llm_content(self) -> Sequence[TextContent]:
        return [TextContent(text=self.answer)]


class HealBashAction(Action):  # type: ignore[misc,unused-ignore]
    command: str = Field(description="A command of bash.")


class HealExecuteAction(Action):  # type: ignore[misc,unused-ignore]
    """As the paper has it (F.5)."""

    code: str = Field(description="Python code, from the first column.")
    submit: bool = Field(description="false looks at live state and keeps nothing; true is the heal.")


class HealExecuteFullAction(HealExecuteAction):
    resume: str = Field(default="next", description="How the program goes on: next, retry, return, continue or break.")
    frame: int = Field(default=0, description="0 is where it crashed, 1 its caller, ...")


class HealReraiseAction(Action):  # type: ignore[misc,unused-ignore]
    """Has nothing to say."""


class HealExecutor(ToolExecutor):  # type: ignore[misc,unused-ignore]
    """Carries an action out at once; the conversation pauses when that has decided the crash."""

    def __call__(self, action: Any, conversation: Any = None) -> HealObservation:
        crash = PAUSED()
        try:
            answer = carried_out(action, crash)
        except Over:
            answer = Answer(DECIDED, decided=True)
        if answer.decided and conversation is not None:
            conversation.pause()
        return HealObservation(answer=answer.text)


def carried_out(action: Any, crash: Crash) -> Answer:
    """Do what ``action`` asks for. Raises `Over`."""
    if isinstance(action, HealBashAction):
        return crash.explore(action.command)
    if isinstance(action, HealReraiseAction):
        if crash.decided:
            raise Over
        return crash.reraise("openhands let the error go on")
    resume, frame = getattr(action, "resume", "next"), getattr(action, "frame", 0)
    return crash.execute(action.code, submit=action.submit, resume=resume, frame=frame)


class HealBashTool(ToolDefinition):  # type: ignore[misc,unused-ignore]
    name: ClassVar[str] = "bash"

    @classmethod
    def create(cls, *_: Any, **__: Any) -> Sequence[Any]:
        return [_tool(cls, HealBashAction, "Run a command of bash in a read-only copy of the repository.")]


class HealExecuteTool(ToolDefinition):  # type: ignore[misc,unused-ignore]
    name: ClassVar[str] = "execute"

    @classmethod
    def create(cls, *_: Any, paper: bool = False, **__: Any) -> Sequence[Any]:
        return [_tool(cls, HealExecuteAction if paper else HealExecuteFullAction,
                      "Run Python code in the crashed frame: to look at live state, or as the heal after which the "
                      "program goes on.")]


class HealReraiseTool(ToolDefinition):  # type: ignore[misc,unused-ignore]
    name: ClassVar[str] = "reraise"

    @classmethod
    def create(cls, *_: Any, **__: Any) -> Sequence[Any]:
        return [_tool(cls, HealReraiseAction, "Apply no heal and let the original exception go on.")]


def _tool(kind: Any, action: Any, description: str) -> Any:
    return kind(description=description, action_type=action, observation_type=HealObservation, executor=HealExecutor())


for tool in (HealBashTool, HealExecuteTool, HealReraiseTool):
    register_tool(tool.name, tool)


class HealCondenser(CondenserBase):  # type: ignore[misc,unused-ignore]
    """Leaves the oldest exchanges out of a conversation that became too long, as for every agent of ours."""

    def condense(self, view: Any, agent_llm: Any = None) -> Any:
        del agent_llm
        events = view.events
        cuts = sorted(index for index in view.manipulation_indices if index > 0)
        groups = [events[start:end] for start, end in zip([0, *cuts], [*cuts, len(events)], strict=False)]
        groups = [group for group in groups if group]
        newest = max((index for index, group in enumerate(groups) if _is_crash(group)), default=len(groups) - 1)
        sizes = [0 if index == 0 else sum(map(_size, group)) for index, group in enumerate(groups)]
        shown = sorted({0, *kept(sizes, newest)})
        if len(shown) == len(groups):
            return view
        note = MessageEvent(source="user", llm_message=Message(
            role="user", content=[TextContent(text=left_out(len(groups) - len(shown)))]))
        rest = [event for index in shown[1:] for event in groups[index]]
        return View(events=[*groups[0], note, *rest])


def _is_crash(group: Sequence[Any]) -> bool:
    message = getattr(group[0], "llm_message", None)
    return message is not None and message.role == "user" and ASK in str(message.content)


def _size(event: Any) -> int:
    return tokens(event.to_llm_message().model_dump_json())


class OpenHands:
    """One conversation."""

    def __init__(self, hello: Hello) -> None:
        self._hello = hello
        self._conversation: Any = None

    def decide(self, crash: Crash) -> None:
        PAUSED.crash, PAUSED.said = crash, ""
        if self._conversation is None:
            self._conversation = self._begin(crash.paper)
        text = f"{crash.text}\n\n{ASK}"
        for _ in range(GIVEN_UP):
            crash.note("waiting for the model")
            self._conversation.send_message(text)
            self._conversation.run()
            if crash.decided:
                raise Over
            text = AGAIN
        crash.reraise(f"openhands came to {GIVEN_UP} ends without a decision; it said: {PAUSED.said[:300]}")
        raise Over

    def _begin(self, paper: bool) -> Any:
        hello = self._hello
        llm = LLM(model=f"openai/{hello.model}", api_key=hello.key, base_url=hello.base_url, api_mode="chat",
                  num_retries=0, timeout=600, usage_id="heal")
        told = f"{hello.instructions}\n\n{SHELL}"
        agent = Agent(
            llm=llm,
            tools=[Tool(name="bash"), Tool(name="execute", params={"paper": paper}), Tool(name="reraise")],
            include_default_tools=[],
            agent_context=AgentContext(system_message_suffix=told, load_public_skills=False, load_user_skills=False),
            condenser=HealCondenser(),
        )
        return Conversation(agent=agent, workspace=os.environ.get("HOME", os.curdir), visualizer=None,
                            max_iteration_per_run=LONGEST_RUN, callbacks=[_listen])


def _listen(event: Any) -> None:
    """Keep what the agent says instead of calling a tool."""
    if isinstance(event, MessageEvent) and event.source == "agent":
        PAUSED.said = " ".join(getattr(part, "text", "") for part in event.llm_message.content)


def main() -> None:
    """Serve the healing side."""
    serve(OpenHands, CHANNEL)
