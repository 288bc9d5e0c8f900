"""Which kernel a call means: a quantity, by a formulation, with static choices and optional inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, FormulationError, UnknownNameError
from dalembert.formulations.registry import Formulation, Quantity, suggest

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class Variant:
    """One kernel's worth of a catalogue."""

    quantity: Quantity
    formulation: Formulation
    static: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = ()

    @staticmethod
    def of(
        dynamics: Dynamics, quantity: str, formulation: str | None, choices: Mapping[str, Any]
    ) -> Variant:
        """The variant that `choices` ask for; one that the quantity does not have is an error."""
        found = dynamics.quantity(quantity)
        if "out_layout" in choices:
            from dalembert.formulations.packed import laid_out

            found = laid_out(found, choices["out_layout"])
            if choices["out_layout"] == "dense":  # as it is anyway
                choices = {name: x for name, x in choices.items() if name != "out_layout"}
        known = (*found.static, *found.optional)
        for name in choices:
            if name not in known:
                raise DalembertError(f"{found.name} takes no {name!r}{suggest(name, list(known))}")
        chosen = found.formulation(formulation, dynamics.description)
        choices = completed(dynamics, found, choices)
        static = tuple((name, choices[name]) for name in found.static if name in choices)
        for name, value in static:
            if not chosen.takes(name):
                raise FormulationError(f"{found.name} by {chosen.name} has no choice of {name!r}")
            _require_option(dynamics, name, value)
        given = tuple(name for name in found.optional if _is_given(choices.get(name)))
        return Variant(found, chosen, static, given)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What tells this variant from others."""
        return self.quantity.name, self.formulation.name, self.static, self.optional

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of its inputs: the required ones, and the optional ones given."""
        return (*self.quantity.inputs, *self.optional)

    def outputs(self, description: Any, **inputs: Any) -> dict[str, Any]:
        """The formulation run on a description: results by name."""
        result = self.formulation.function(description, **inputs, **dict(self.static))
        results = result if isinstance(result, tuple) else (result,)
        return dict(zip(self.quantity.outputs, results, strict=True))


def completed(
    dynamics: Dynamics, quantity: Quantity, choices: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The choices with the one default of all quantities of a task, where none is given.

    An ellipsoid has one unit: that of the position where the default is the pose.
    """
    if "task" not in quantity.static or choices.get("task") is not None:
        return choices
    frame = choices.get("frame", "tool")
    _require_option(dynamics, "frame", frame)
    task = dynamics.default_task(frame)
    whole = task == "pose" and quantity.name.endswith("ellipsoid")
    return {**choices, "task": "position" if whole else task}


def _is_given(value: Any) -> bool:
    """Whether an optional input is there: an array, or the word True for one."""
    return value is not None and value is not False


def _require_option(dynamics: Dynamics, name: str, value: Any) -> None:
    """A static choice is a word, and one of those there are."""
    if not isinstance(value, str):
        raise UnknownNameError(f"{name}={value!r} must be a name, such as {name}='tool'")
    there = dynamics.options(name)
    if there is not None and value not in there:
        raise UnknownNameError(
            f"{dynamics.name} has no {name} {value!r}{suggest(value, list(there))}"
        )
