"""Names for the axes of what a system takes and gives: those that the results of `simulate` have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dalembert.formulations.registry import Size
from dalembert.kernels.call.foreign import Axis, Named

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.variant import Variant


def named_ports(dynamics: Dynamics, variant: Variant) -> tuple[list[Named], list[Named]]:
    """Inputs of a variant's kernel, the open parameters last, and its results."""
    inputs = [_named(dynamics, name, dynamics.inputs[name]) for name in variant.inputs]
    if dynamics.parameters:
        names = tuple(dynamics.parameters)
        inputs.append(Named("parameters", (Axis("parameter", len(names), names),)))
    outputs = variant.quantity.outputs.items()
    return inputs, [_named(dynamics, name, sizes) for name, sizes in outputs]


def _named(dynamics: Dynamics, name: str, sizes: Sequence[Size]) -> Named:
    axes: list[Axis] = []
    for k, size in enumerate(sizes):
        axis = _axis(dynamics, size) or Axis(f"{name}_{k}", dynamics.shape((size,))[0])
        again = sum(other.labels == axis.labels != () for other in axes)
        axes.append(replace(axis, name=f"{axis.name}_{again + 1}") if again else axis)
    units = set(dynamics.units(name)) if name in ("q", "qd", "qdd", "tau") else set()
    one = {"units": next(iter(units))} if len(units) == 1 and units != {""} else {}
    return Named(name, tuple(axes), one)


def _axis(dynamics: Dynamics, size: Size) -> Axis | None:
    """The axis that a symbolic size stands for; None where it has no name."""
    along = "joint" if dynamics.nq == dynamics.nv else "coordinate"
    driven = dynamics.driven_by
    known = {
        "nq": (along, dynamics.coordinates),
        "nv": ("joint", dynamics.velocities),
        "rows": ("row", dynamics.row_names),
        "nu": ("actuator", driven.names),
        "na": ("active", tuple(a.name for a in driven.active)),
    }
    if size not in known:
        return None
    name, labels = known[str(size)]
    # results of `simulate` name coordinates and velocities alike where there are as many of both
    same = {"nq": dynamics.velocities, "nv": dynamics.coordinates} if along == "joint" else {}
    return Axis(name, len(labels), tuple(labels), tuple(same.get(str(size), ())))
