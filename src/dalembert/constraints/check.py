"""Bad states said in words: which constraint contradicts, which posture is singular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.geometry import named_rows, weighed
from dalembert.constraints.multiplier import INCONSISTENT
from dalembert.constraints.refusal import others, without_result
from dalembert.errors import ConstraintError, SingularMassMatrixError
from dalembert.linalg.geometry import count, least_squares, left_singular
from dalembert.linalg.row_space import EXTRA
from dalembert.systems.held import Rows
from dalembert.systems.lanes import all_finite, chosen, on_host

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.constraints.description import ConstrainedDynamics
    from dalembert.systems.evaluator import Parameters

REGULAR = 1e-13  # of the smallest eigenvalue of M beside its diagonal
STATES = 6


def require_regular(system: ConstrainedDynamics) -> None:
    """Raise if M(q) is singular at all of some random postures."""
    if system.parameters:
        if None in system.parameters.values():
            return
        system = system.bind(system.parameter_values())
    rng, plant = np.random.default_rng(0), system.dynamics
    for _ in range(STATES):
        q = plant.integrate(plant.neutral(), rng.uniform(-1.0, 1.0, system.nv))
        M = np.asarray(plant.mass_matrix(q), dtype=float)
        size = np.sqrt(np.abs(np.diag(M)))
        if np.isfinite(M).all() and size.min() > 0.0:
            values, vectors = np.linalg.eigh(M / np.outer(size, size))
            if values[0] > REGULAR:
                return
            lightest = int(np.abs(vectors[:, 0] / size).argmax())
        else:
            lightest = int(size.argmin())
    raise SingularMassMatrixError(
        f"{system.name}: M(q) is singular: nothing resists {plant.velocities[lightest]!r}; give it "
        "mass or inertia"
    )


def explain(
    closed: Constrained, q: Any, qd: Any, tau: Any, t: Any, lam: Any, parameters: Parameters
) -> None:
    """Raise for the first state with finite inputs that has no λ, and say how many there are."""
    bad, inputs = without_result(lam, (q, qd, tau))
    count = int(bad.sum())
    if not count:
        return
    here, moving, _ = (on_host(chosen(x, bad)[0]) for x in inputs)
    now = on_host(chosen(0.0 if t is None else t, bad, 0)[0])
    if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
        parameters = chosen(parameters, bad)[0]
    system = closed.dynamics.bound(parameters)
    rows = system.at(here, moving, now)
    B = weighed(system, rows.A, here, now)
    raise ConstraintError(_why(closed, system, B, rows, here) + others(count))


def _why(
    closed: Constrained, system: ConstrainedDynamics, B: np.ndarray, rows: Rows, q: np.ndarray
) -> str:
    """Whether the posture is singular or the constraints contradict; `B` is A without units."""
    generic = system.rank
    # least squares with small singular values left out says which rows cannot be met
    left = np.abs(least_squares(rows.A, rows.drift, EXTRA)[1])
    met = left.max() <= INCONSISTENT * np.abs(rows.drift).max(initial=0.0)
    # where all are met, those that have come to depend on each other are to be named
    U, sizes = left_singular(B)
    found = count(sizes, generic)
    named = _named(system, np.abs(U[:, min(found, len(U) - 1)]) if met else left)
    if found < generic or sizes[generic - 1] < 1e-3 * sizes[0]:
        asked = "depend on each other" if met else "are asked for an acceleration that is not there"
        return (
            f"{closed.name}: q = {q} is at or near a singular posture: the constraints have rank "
            f"{found} of {generic} there, and {named} {asked}. Start elsewhere, or with a velocity "
            "from project_velocity"
        )
    if met and system.rubbing:
        return (
            f"{closed.name}: friction jams at q = {q}: it presses {named} harder than it brakes the "
            "slip, so that no acceleration meets both (Painlevé). Take a smaller mu, or another "
            "posture"
        )
    if met:
        return (
            f"{closed.name}: no acceleration found at q = {q} that meets {named}; try "
            'formulation="multiplier"'
        )
    return (
        f"{closed.name}: the constraints {named} contradict each other at q = {q}: no acceleration "
        "meets all of them. Remove one, or start from assemble() and project_velocity()"
    )


def _named(system: ConstrainedDynamics, size: np.ndarray) -> str:
    """Names of the constraints whose rows have the larger entries of `size` (rows,)."""
    large = np.flatnonzero(size >= 0.1 * size.max())
    return ", ".join(map(repr, named_rows(system, large.tolist())))


def require_state(
    closed: Constrained,
    found: tuple[Any, Any],
    inputs: tuple[Any, ...],
    actuators: Sequence[str] | None,
) -> None:
    """Raise where finite inputs gave no torques."""
    if all_finite(found[1]):
        return
    bad, _ = without_result(found[1], inputs)
    count = int(bad.sum())
    if count:
        chosen_ones = "all of them" if actuators is None else ", ".join(actuators)
        pulls = ", or they would pull at a contact that rubs" if closed.description.rubbing else ""
        raise ConstraintError(
            f"{closed.name}: the actuators ({chosen_ones}) cannot give this motion: they do not "
            f"reach all {closed.freedoms} degrees of freedom{pulls}. Choose other actuators, or a "
            f"motion that meets the equations of the undriven ones{others(count)}"
        )
