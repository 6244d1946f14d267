"""What each instruction does to marks, for every Python from 3.11 on. May import calls, natives and shadow."""

from healguard_core.execution.tracking.opcodes import calling, containers, control, names, objects, operators
from healguard_core.execution.tracking.opcodes.base import TABLE, step_of
from healguard_core.execution.tracking.opcodes.control import RAISED

__all__ = ["FILLING_THE_TABLE", "RAISED", "TABLE", "step_of"]

FILLING_THE_TABLE = (calling, containers, control, names, objects, operators)
"""The modules that put their instructions into the table when they are imported."""
