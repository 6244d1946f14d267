"""Drives mini-SWE-agent: its own loop and its ``bash``, with ``execute`` and ``reraise`` beside it.

Run in a Python that has the package ``mini-swe-agent``. One agent object is one conversation over all crashes of a
test.
"""

from __future__ import annotations

import os
import platform
from typing import Any

from healguard_core.healing.conversation import bounded, exchanges_of
from healguard_core.healing.drivers.calls import RERAISE, action_of, execute_tool
from healguard_core.healing.drivers.wire import GIVEN_UP, Channel, Crash, Hello, Over, serve

# Read when the package is imported: it prints a greeting, writes into its folder, and would try again for minutes.
os.environ.update({
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_GLOBAL_CONFIG_DIR": os.environ.get("HOME", "."),
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
})
CHANNEL = Channel()  # before anything can print

import litellm  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from minisweagent.agents.default import DefaultAgent  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from minisweagent.config import (  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
    builtin_config_dir,
    get_config_from_spec,
)
from minisweagent.exceptions import FormatError  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from minisweagent.models.litellm_model import LitellmModel  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
from minisweagent.models.utils.actions_toolcall import (  # type: ignore[import-not-found,unused-ignore]  # noqa: E402
    BASH_TOOL,
)

litellm.suppress_debug_info = True

SHELL = (
    "`bash` runs in a read-only copy of the repository, without network: use it to read source and to search. It "
    "cannot see the paused program; `execute` can. Every answer of yours calls exactly one tool."
)
ASK = (
    "Look at what you need to (`bash` for source, `execute` with submit=false for live state), then decide: `execute` "
    "with submit=true heals the program, `reraise` lets the exception go on, when it is right or when no heal would be "
    "safe and correct."
)
NOT_USABLE = "That was not a usable answer: {problem} Call exactly one of the tools {tools}."


class HealModel(LitellmModel):  # type: ignore[misc,unused-ignore]
    """The native model with three tools, asked through the proxy, within a bounded conversation."""

    paper = False
    first = 0  # index of the message with the crash that is being decided

    def _query(self, messages: list[dict[str, Any]], **more: Any) -> Any:
        tools = [BASH_TOOL, execute_tool(self.paper), RERAISE]
        return litellm.completion(model=self.config.model_name, messages=messages, tools=tools,
                                  **(self.config.model_kwargs | more))

    def _prepare_messages_for_api(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        head, rest = messages[:1], messages[1:]
        exchanges = exchanges_of(super()._prepare_messages_for_api(rest))
        before = exchanges_of(rest[: self.first - 1])
        return bounded(exchanges, len(before), head=[{"role": "system", "content": head[0]["content"]}])

    def _parse_actions(self, response: Any) -> list[dict[str, Any]]:
        calls = response.choices[0].message.tool_calls or []
        action = action_of([(call.id, str(call.function.name), call.function.arguments) for call in calls])
        if isinstance(action, dict):
            return [action]
        if response.choices[0].finish_reason == "length":
            action = "It was cut off before the call of a tool was complete; be brief."
        text = NOT_USABLE.format(problem=action, tools="bash, execute and reraise")
        raise FormatError({"role": "user", "content": text, "extra": {"interrupt_type": "FormatError",
                                                                      "problem": action}})


class Shell:
    """The agent's environment: the read-only shell of the healing side."""

    config = None
    crash: Crash | None = None

    def execute(self, action: dict[str, Any]) -> dict[str, Any]:
        assert self.crash is not None
        return {"output": self.crash.explore(action["arguments"]["command"]).text, "returncode": 0}

    def get_template_vars(self) -> dict[str, Any]:
        return dict(platform.uname()._asdict())

    def serialize(self) -> dict[str, Any]:
        return {}


class HealAgent(DefaultAgent):  # type: ignore[misc,unused-ignore]
    """The native agent; what it does with an action is decided by the action's tool."""

    crash: Crash | None = None

    def execute_actions(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        (action,) = message["extra"]["actions"]
        output: dict[str, Any] = {"output": "The crash was decided before this ran."}
        try:
            output = self._carry_out(action["tool"], action)
        finally:  # every call gets its result, or later requests would be refused
            added = self.model.format_observation_messages(message, [output], self.get_template_vars())
            self.add_messages(*added)
        return list(added)

    def _carry_out(self, tool: str, action: dict[str, Any]) -> dict[str, Any]:
        assert self.crash is not None
        if tool == "bash":
            return dict(self.env.execute(action))
        if tool == "reraise":
            return {"output": self.crash.reraise("mini-swe-agent let the error go on").text}
        given = action["arguments"]
        answer = self.crash.execute(given["code"], submit=given["submit"], resume=given.get("resume") or "next",
                                    frame=given.get("frame") or 0)
        return {"output": answer.text}


class Mini:
    """One conversation."""

    def __init__(self, hello: Hello) -> None:
        native = get_config_from_spec(builtin_config_dir / "mini.yaml")["agent"]["system_template"].strip()
        kwargs = {"api_base": hello.base_url, "api_key": hello.key, "num_retries": 0, "max_retries": 0,
                  "timeout": 600, "drop_params": True, "parallel_tool_calls": False}
        self._model = HealModel(model_name=f"openai/{hello.model}", model_kwargs=kwargs, cost_tracking="ignore_errors",
                                observation_template="{{ output.output }}")
        self._shell = Shell()
        self._agent = HealAgent(self._model, self._shell, system_template=native, instance_template="", step_limit=0,
                                cost_limit=0.0)
        system = "\n\n".join((native, hello.instructions, SHELL))
        self._agent.add_messages(self._model.format_message(role="system", content=system))

    def decide(self, crash: Crash) -> None:
        agent, model = self._agent, self._model
        agent.crash = self._shell.crash = crash
        model.paper = crash.paper
        model.first = len(agent.messages)
        text = f"{crash.text}\n\n{ASK}"
        if model.first == 1:
            text += f"\n\nThe shell's system: {' '.join(platform.uname()[:1] + platform.uname()[2:5])}"
        agent.add_messages(model.format_message(role="user", content=text))
        malformed = 0
        while not crash.decided:
            crash.note("waiting for the model")
            try:
                agent.step()
                malformed = 0
            except FormatError as error:
                malformed += 1
                agent.add_messages(*error.messages)
                if malformed >= GIVEN_UP:
                    problem = error.messages[0]["extra"]["problem"]
                    crash.reraise(f"the model gave {malformed} unusable answers in a row; the last one: {problem}")
                    raise Over from None


def main() -> None:
    """Serve the healing side."""
    serve(Mini, CHANNEL)
