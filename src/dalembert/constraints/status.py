"""What became of each state of a batch: a small number per state, computed in the kernel itself.

A quantity `x` of a constrained system has a twin `x_with_status`: the same results, NaN wherever the
status is not OK, and the status as one more number. No state changes what another gets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.constraints.metric import metric
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.linalg.entries import largest
from dalembert.systems.status import Status

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

TWIN = "_with_status"
TOLERANCE = 1e-6  # of h and A q̇ − b beside the natural size of their rows
HUGE = 1e30  # what is not below it is no number, in single precision too
SHORT = 1e-4  # of rows beside all: shorter ones are judged as if they were so long


# why a regular state on the constraints has no result, where it is no contradiction
NOT_DRIVEN = (
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "reduced",
    "frame_jacobian",
    "reduced_regressor",
)
# quantities for which the velocity given may be any
ANY_VELOCITY = ("project", "project_velocity", "reduced")


def twin_of(catalogue: Mapping[str, Quantity], name: str) -> Quantity | None:
    """The twin that this name means, or None where it means none."""
    found = catalogue.get(name.removesuffix(TWIN)) if name.endswith(TWIN) else None
    return None if found is None else with_status(found)


def with_status(quantity: Quantity) -> Quantity:
    """The twin of a quantity of a constrained system."""
    ways = tuple(_followed(way, quantity.name) for way in quantity.formulations)
    return replace(
        quantity,
        name=quantity.name + TWIN,
        summary=f"{quantity.summary}, with the status of the state",
        outputs={**quantity.outputs, "status": ()},
        formulations=ways,
        optional=(*quantity.optional, "tolerance"),
    )


def _followed(way: Formulation, quantity: str) -> Formulation:
    function: Callable[..., Any] = way.function
    usual = Status.NOT_DRIVEN if quantity in NOT_DRIVEN else Status.CONTRADICTION

    @wraps(function)
    def run(system: ConstrainedDynamics, tolerance: Any = None, **given: Any) -> tuple[Any, ...]:
        found = function(system, **given)
        results = tuple(found) if isinstance(found, tuple) else (found,)
        failure = Status.JAMMED if usual == Status.CONTRADICTION and system.rubbing else usual
        by = TOLERANCE if tolerance is None else tolerance
        state = {n: x for n, x in given.items() if n != "qd" or quantity not in ANY_VELOCITY}
        regular = np.where(_finite(results), 0.0, float(failure))
        status = _status(system, state, regular, by)
        status = np.where(_finite(_numbers(given)), status, float(Status.NOT_FINITE))
        # added, not multiplied: entries that are always zero are NaN there too
        mark = np.where(status < 0.5, 0.0, np.nan)
        return *(x + mark for x in results), status

    return replace(way, made_by=run)


def _numbers(given: Mapping[str, Any]) -> list[Any]:
    """The inputs that are no words."""
    return [x for x in given.values() if not isinstance(x, str) and x is not None]


def _status(
    system: ConstrainedDynamics, given: Mapping[str, Any], status: Any, tolerance: Any
) -> Any:
    """The number of the status (), the gravest last so that it is what remains."""
    q, qd, t = given["q"], given.get("qd"), given.get("t")
    rows = system.at(q, None, t)
    lost = metric(system, system.dynamics.at_time(t).mass_matrix(q), rows.A).space.lost
    status = np.where(lost > 0.0, float(Status.SINGULAR), status)
    if not tracing.is_symbolic(tolerance) and np.isinf(tolerance):
        return status
    return off(system, q, qd, t, tolerance, status)


def off(
    system: ConstrainedDynamics, q: Any, qd: Any, t: Any, tolerance: Any, status: Any = 0.0
) -> Any:
    """OFF_POSITION or OFF_VELOCITY (), where constraints are missed, else this `status`."""
    rows = system.at(q, None, t)
    groups = _groups(system)
    sizes = _sizes(groups, rows.A)
    if qd is not None:
        w, square = rows.A @ qd - rows.b, tolerance**2 * (1.0 + qd @ qd)
        beyond = _beyond(list(w), groups, sizes, square)
        status = np.where(beyond, float(Status.OFF_VELOCITY), status)
    if system.held:
        h = dict(zip(system.positions, rows.h, strict=True))
        beyond = _beyond([h.get(k, 0.0) for k in range(system.rows)], groups, sizes, tolerance**2)
        status = np.where(beyond, float(Status.OFF_POSITION), status)
    return status


def _groups(system: ConstrainedDynamics) -> list[list[int]]:
    """Rows of the same constraint in the same unit: what they leave open adds up.

    What rows that depend on others by digits leave open is that of their data, and does not count.
    """
    units = system.row_units
    groups: dict[Any, list[int]] = {}
    for name, rows in system.slices.items():
        for k in range(rows.start, rows.stop):
            if k not in system.dependent:
                groups.setdefault((name, units[k]), []).append(k)
    return list(groups.values())


def _sizes(groups: list[list[int]], A: Any) -> list[Any]:
    """Σ A² of each group: how much its rows change with unit steps of the coordinates."""
    own = [sum(A[k] @ A[k] for k in rows) for rows in groups]
    floor = SHORT**2 * sum(own) if len(own) > 1 else 0.0
    return [size + floor for size in own]


def missed(system: ConstrainedDynamics, q: Any, qd: Any, t: Any) -> tuple[Any, Any]:
    """How far a state is off: the steps of q (), and of q̇ (), that would change the rows as much."""
    rows = system.at(q, None, t)
    groups = _groups(system)
    sizes = _sizes(groups, rows.A)
    held = dict(zip(system.positions, rows.h, strict=True)) if system.held else {}
    h, w = [held.get(k, 0.0) for k in range(system.rows)], list(rows.A @ qd - rows.b)

    def worst(residual: list[Any]) -> Any:
        own = [
            sum(residual[k] * residual[k] for k in rows) / (size + 1e-300)
            for rows, size in zip(groups, sizes, strict=True)
        ]
        return np.sqrt(largest(np.stack([np.zeros(()), *own])))

    return worst(h), worst(w)


def _beyond(residual: list[Any], groups: list[list[int]], sizes: list[Any], square: Any) -> Any:
    """Whether Σ r² of a group is beyond `square` of its size; NaN is."""
    within: Any = 1.0
    for rows, size in zip(groups, sizes, strict=True):
        within = within * (sum(residual[k] * residual[k] for k in rows) <= square * size)
    return within < 0.5


def _finite(arrays: Sequence[Any]) -> Any:
    """Whether every entry is a finite number: their sum would tell otherwise."""
    total: Any = 0.0
    for x in arrays:
        total = total + x.sum()
    return np.abs(total) <= HUGE
