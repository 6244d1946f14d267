"""What rewritten healing code asks at every call and store, on the live objects. May import the parts it asks."""

import sys
import types
from typing import Any, Callable, Dict, List

from healguard_core.execution.guard import live
from healguard_core.execution.guard.conditions import Conditions
from healguard_core.execution.guard.delta import Delta
from healguard_core.execution.guard.extent import Extent
from healguard_core.execution.guard.policy import Operation, Policy
from healguard_core.execution.guard.rewriting import OWN_NAME, Place
from healguard_core.execution.guard.veto import Stop, Veto, shown

_ATOMS = frozenset((str, bytes, int, float, complex, bool, type(None), list, dict, tuple, set, frozenset, bytearray))
_BUILTINS = vars(__builtins__) if isinstance(__builtins__, types.ModuleType) else dict(__builtins__)
_modules = sys.modules
_OWN = {name: _BUILTINS[name] for name in OWN_NAME}


def protected(operation: Operation, key: Dict[str, Any], rule: str = "HG301") -> Stop:
    """The stop of a protected operation; ``key`` holds its key input by parameter name."""
    text = ", ".join("{}={}".format(name, shown(value)) for name, value in key.items())
    return Stop(rule, operation.entry.target, operation.entry.id, text)


class Checks:
    """The checker of one run. Each method gives back its first argument, or raises the veto."""

    __slots__ = ("_conditions", "_delta", "_extent", "_look", "_modules", "_places", "_policy", "_waiting")

    def __init__(
        self,
        places: List[Place],
        policy: Policy,
        extent: Extent,
        delta: Delta,
        conditions: Conditions,
        look: Callable[[], None],
    ) -> None:
        self._places = places
        self._policy = policy
        self._extent = extent
        self._delta = delta
        self._conditions = conditions
        self._waiting: Dict[int, Any] = {}
        self._look = look
        self._modules = len(_modules)

    # ----------------------------------------------------------------- calls

    def callee(self, value: Any, number: int) -> Any:
        """``value`` is about to be called."""
        place = self._places[number]
        self._go_on()
        if len(_modules) != self._modules:  # the heal has imported something that the policy may name
            self._modules = len(_modules)
            self._look()
        operation = self._policy.match(value)
        if operation is not None and not operation.entry.writes_only:
            stop = protected(operation, {})
            stop.key = place.arguments
            raise self._veto(stop, place)
        if value is not _OWN.get(place.name, self):
            name = live.dangerous(value)
            if name:
                raise self._veto(Stop("HG306" if _ours(name) else "HG303", name, key=place.arguments), place)
        receiver = getattr(value, "__self__", None) if type(value) in _BOUND else None
        if receiver is not None:
            self._look_at(receiver, place.base or place.text)
        return value

    def argument(self, value: Any, number: int) -> Any:
        """``value`` is about to be handed to other code."""
        if type(value) in _ATOMS and type(value) not in (list, dict, set):
            return value
        place = self._places[number]
        self._refuse_handing_on(value, place)
        self._look_at(value, place.text)
        return value

    def several(self, value: Any, number: int) -> Any:
        """``*value`` is about to be handed on."""
        place = self._places[number]
        if type(value) in (list, tuple):
            for item in value:
                self._refuse_handing_on(item, place)
        return value

    def keywords(self, value: Any, number: int) -> Any:
        """``**value`` is about to be handed on."""
        place = self._places[number]
        if type(value) is dict:
            for item in value.values():
                self._refuse_handing_on(item, place)
        return value

    # ----------------------------------------------------------------- stores

    def owner(self, value: Any, number: int) -> Any:
        """An attribute of ``value`` is about to be stored or deleted."""
        place = self._places[number]
        self._go_on()
        condition = self._conditions.written(value, place.attribute)
        if condition is not None:
            raise self._veto(Stop("HG302", condition.entry.target, condition.entry.id, place.text), place)
        self._refuse_store(value, place)
        self._delta.write(value, "attribute", place.attribute, _location(value, place))
        return value

    def container(self, value: Any, number: int) -> Any:
        """An item of ``value`` is about to be stored or deleted."""
        place = self._places[number]
        self._go_on()
        self._refuse_store(value, place)
        if place.whole:
            self._delta.write(value, "content", None, place.text)
        else:
            self._waiting[number] = value
        return value

    def key(self, value: Any, number: int) -> Any:
        """The item ``value`` of the container asked about last at this place is meant."""
        place = self._places[number]
        container = self._waiting.pop(number, None)
        condition = self._conditions.written_item(container, value)
        if condition is not None:
            raise self._veto(Stop("HG302", condition.entry.target, condition.entry.id, place.text), place)
        self._delta.write(container, "item", value, place.text)
        return value

    # ----------------------------------------------------------------- small things

    def _go_on(self) -> None:
        """Healing code that swallowed a veto comes no further."""
        if self._extent.stops:
            raise self._extent.again()

    def _refuse_handing_on(self, value: Any, place: Place) -> None:
        if type(value) in _ATOMS:
            return
        operation = self._policy.match(value)
        if operation is not None and not operation.entry.writes_only:
            raise self._veto(protected(operation, {}, "HG304"), place)
        name = live.dangerous(value)
        if name:
            raise self._veto(Stop("HG306" if _ours(name) else "HG304", name, key=place.text), place)

    def _refuse_store(self, value: Any, place: Place) -> None:
        target = live.forbidden_target(value)
        if target:
            raise self._veto(Stop("HG306", target, key=place.text), place)

    def _look_at(self, value: Any, text: str) -> None:
        self._conditions.touch(value)
        self._delta.touch(value, text)

    def _veto(self, stop: Stop, place: Place) -> Veto:
        stop.where = "{}:{}".format(self._extent.label, place.line)
        stop.path = [stop.where]
        return self._extent.veto(stop)


_BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def _ours(name: str) -> bool:
    return name.lstrip("<").startswith(("healguard_core", "pytest_heal"))


def _location(value: Any, place: Place) -> str:
    """The written attribute as people name it: of a module by the module's own name."""
    if isinstance(value, types.ModuleType):
        return "{}.{}".format(value.__name__, place.attribute)
    return place.text


