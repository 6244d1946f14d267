"""Which agents a suite can be run with. Imports setting and, for near names, the core's settings."""

from __future__ import annotations

from importlib.metadata import entry_points

from benchmark_suites.setting import BASELINES, ORACLE
from healguard_core.settings.errors import nearest

GROUP = "healguard.agents"
RUNBOOK = "runbook"


def check_agent(agent: str) -> None:
    """Refuse an agent that no instance could be run with. Raises ``ValueError`` with the nearest names.

    Whether it has what it needs (a model, a key, a program) is seen in the process of the first instance.
    """
    known = [point.name for point in entry_points(group=GROUP)]
    if agent.partition(":")[0] not in [*known, *BASELINES, RUNBOOK]:
        raise ValueError(f"--heal={agent}: there is no such agent; {nearest(agent, [*known, ORACLE])} "
                         f"(agents: {', '.join(sorted({*known, *BASELINES}))})")
