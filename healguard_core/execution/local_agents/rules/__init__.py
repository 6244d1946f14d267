"""The agent ``rules`` and its rules, one module for each kind of error."""

from healguard_core.execution.local_agents.rules.agent import RULES, RulesAgent

__all__ = ["RULES", "RulesAgent"]
