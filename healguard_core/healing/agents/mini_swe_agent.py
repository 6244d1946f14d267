"""The agent ``mini-swe-agent``: its own loop and ``bash``, with execute and reraise beside it. May import tool_agent.

The package runs in a process of its own; see `healguard_core.healing.drivers.mini_swe_agent`.
"""

from __future__ import annotations

from typing import ClassVar

from healguard_core.healing.tool_agent import ToolAgent
from healguard_core.healing.tool_environments import Package


class MiniSweAgent(ToolAgent):
    """One conversation."""

    title = "mini-swe-agent"
    summary: ClassVar[str] = "mini-SWE-agent with bash, execute and reraise"
    package = Package("mini-swe-agent", "mini-swe-agent>=2.4.6,<2.5", ("minisweagent.models.litellm_model",), (3, 10))
    driver = "mini_swe_agent"
