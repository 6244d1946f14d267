"""Marks of a frame's variables: plain, captured, free. May import heap and shadow."""

from types import CellType
from typing import Any, Optional

from healguard_core.execution.tracking.frames import MISSING
from healguard_core.execution.tracking.heap import CONTENT
from healguard_core.execution.tracking.labels import Mark
from healguard_core.execution.tracking.shadow import Shadow


def shadow_value(shadow: Shadow, index: int) -> Any:
    """The value of slot ``index``, through its cell."""
    value = shadow.places.at(index)
    if type(value) is CellType and shadow.program.slots[index] in shadow.code.co_cellvars:
        return cell_value(value)
    return value


def cell_value(cell: Any) -> Any:
    """What a cell holds, `MISSING` when it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def put_local(shadow: Shadow, index: int, mark: Optional[Mark]) -> None:
    """Mark slot ``index``, or what its cell holds."""
    if shadow.program.slots[index] in shadow.code.co_cellvars:
        value = shadow.places.at(index)
        if type(value) is CellType:
            shadow.machine.heap.put(value, CONTENT, mark)
            return
    shadow.locals[index] = mark


def mark_of_slot(shadow: Shadow, index: int) -> Optional[Mark]:
    """The mark of variable ``index``, through its cell."""
    value = shadow.places.at(index)
    name = shadow.program.slots[index]
    if type(value) is CellType and (name in shadow.code.co_cellvars or name in shadow.code.co_freevars):
        mark: Optional[Mark] = shadow.machine.heap.get(value, CONTENT)
        return mark
    return shadow.locals[index]


def put_slot(shadow: Shadow, index: int, mark: Optional[Mark]) -> None:
    """Mark variable ``index``, captured, free or plain."""
    if shadow.program.slots[index] in shadow.code.co_freevars:
        put_free(shadow, index, mark)
    else:
        put_local(shadow, index, mark)


def put_free(shadow: Shadow, index: int, mark: Optional[Mark]) -> None:
    """Mark what the cell of a free variable holds."""
    value = shadow.places.at(index)
    if type(value) is CellType:
        shadow.machine.heap.put(value, CONTENT, mark)
