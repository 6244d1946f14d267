"""The agent ``openhands``: the OpenHands SDK with bash, execute and reraise as its tools. May import tool_agent.

The package runs in a process of its own; see `healguard_core.healing.drivers.openhands`.
"""

from __future__ import annotations

from typing import ClassVar

from healguard_core.healing.tool_agent import ToolAgent
from healguard_core.healing.tool_environments import Package


class OpenHands(ToolAgent):
    """One conversation."""

    title = "openhands"
    summary: ClassVar[str] = "OpenHands with bash, execute and reraise as its tools"
    package = Package("openhands", "openhands-sdk>=1.58.2,<1.59", ("openhands.sdk",), (3, 12))
    driver = "openhands"
