"""Status of every state of a batch, and errors for states that have no result.

A quantity `x` of a constrained system has a variant `x_with_status`: the same results, NaN wherever
the status is not OK, and the status as one more number computed in the kernel. No state affects
another. `call`, `required` and `with_status` are how methods call kernels; they only need `_variant`,
`_result`, `dynamics` and `description` of the system, so that arrays of other frameworks go through
them too. Options that are None were not given. `explain` and `required` raise the error of the
first state without result: which constraints contradict each other, or that the configuration is
singular.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints.geometry import named_rows, weighed
from dalembert.constraints.kinds import Time
from dalembert.constraints.kkt import metric
from dalembert.constraints.multiplier import INCONSISTENT, off
from dalembert.errors import ConstraintError, SingularMassMatrixError
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.kernels.call.arguments import needs_mapping
from dalembert.linalg.rank import count, least_squares, left_singular
from dalembert.linalg.row_space import EXTRA
from dalembert.spatial.arrays import Array
from dalembert.systems.dynamics import Rows
from dalembert.systems.evaluator import Parameters, has_no_values
from dalembert.systems.status import (
    INPUT_DIMENSIONS,
    Flagged,
    Status,
    all_finite,
    array_like,
    finite_states,
    on_host,
    require_mode,
    selected_states,
)

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.constraints.dynamics import ConstrainedDynamics
    from dalembert.systems.evaluator import Parameters

TWIN = "_with_status"
TOLERANCE = 1e-6  # of h and A q̇ − b beside the natural size of their rows
HUGE = 1e30  # what is not below it is no number, in single precision too


# why a regular state on the constraints has no result, where it is no contradiction
NOT_DRIVEN = (
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "reduced",
    "frame_jacobian",
    "reduced_regressor",
)
# quantities that take any velocity
ANY_VELOCITY = ("project", "project_velocity", "reduced")


def twin_of(catalogue: Mapping[str, Quantity], name: str) -> Quantity | None:
    """The quantity with status that this name means, or None where it means none."""
    quantity = catalogue.get(name.removesuffix(TWIN)) if name.endswith(TWIN) else None
    if quantity is None:
        return None
    return replace(
        quantity,
        name=name,
        summary=f"{quantity.summary}, with the status of the state",
        outputs={**quantity.outputs, "status": ()},
        formulations=tuple(_with_status(x, quantity.name) for x in quantity.formulations),
        optional=(*quantity.optional, "tolerance"),
    )


def _with_status(formulation: Formulation, quantity: str) -> Formulation:
    function: Callable[..., Any] = formulation.function
    usual = Status.NOT_DRIVEN if quantity in NOT_DRIVEN else Status.CONTRADICTION

    @wraps(function)
    def run(
        system: ConstrainedDynamics, tolerance: float | Array | None = None, **inputs: Any
    ) -> tuple[Array, ...]:
        result = function(system, **inputs)
        results = tuple(result) if isinstance(result, tuple) else (result,)
        failure = Status.JAMMED if usual == Status.CONTRADICTION and system.rubbing else usual
        by = TOLERANCE if tolerance is None else tolerance
        state = {n: x for n, x in inputs.items() if n != "qd" or quantity not in ANY_VELOCITY}
        regular = np.where(_finite(results), 0.0, float(failure))
        status = _status(system, state, regular, by)
        status = np.where(
            _finite([x for x in inputs.values() if not isinstance(x, str) and x is not None]),
            status,
            float(Status.NOT_FINITE),
        )
        # added, not multiplied: entries that are always zero are NaN there too
        mark = np.where(status < 0.5, 0.0, np.nan)
        return *(x + mark for x in results), status

    return replace(formulation, implementation=run)


def _status(
    system: ConstrainedDynamics, inputs: Mapping[str, Any], status: Any, tolerance: float | Array
) -> Array | float:
    """The number of the status (), the gravest last so that it is what remains."""
    q, qd, t = inputs["q"], inputs.get("qd"), inputs.get("t")
    rows = system.at(q, None, t)
    lost = metric(system, system.dynamics.at_time(t).mass_matrix(q), rows.A).space.lost
    status = np.where(lost > 0.0, float(Status.SINGULAR), status)
    if not tracing.is_symbolic(tolerance) and np.isinf(tolerance):
        return status
    return off(system, q, qd, t, tolerance, status)


def _finite(arrays: Sequence[Any]) -> Array:
    """Whether every entry is a finite number: their sum would tell otherwise."""
    total: Any = 0.0
    for x in arrays:
        total = total + x.sum()
    return np.abs(total) <= HUGE


REASONS = {
    Status.SINGULAR: "it is at or near a singular posture, where fewer constraints are independent "
    "than usual",
    Status.CONTRADICTION: "no acceleration meets all constraints",
    Status.JAMMED: "friction jams: it presses a contact harder than it brakes the slip (Painlevé)",
    Status.NOT_DRIVEN: "the velocities chosen do not determine the motion there; choose others",
}


def without_result(result: Any, inputs: Sequence[Any], core: int = 1) -> tuple[Array, list[Array]]:
    """(States (...) without a result though their inputs are finite, the inputs as arrays)."""
    arrays = [array_like(x, result) for x in inputs]
    bad = ~finite_states(result, core)
    for x in arrays:
        bad = bad & finite_states(x)
    return bad, arrays


def others(count: int) -> str:
    """The end of a message: how many states are like the one it is about."""
    if count < 2:
        return ""
    more = "another state" if count == 2 else f"{count - 1} other states"
    return f'. So it is with {more} of the batch; errors="flag" gives all others their results'


PIVOTED = ("elimination", "gauge")  # routes that have no answer where their pivots are poor


def call(
    system: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    options: Mapping[str, Any],
    formulation: str | None = None,
    parameters: Parameters = None,
    out: Any = None,
) -> Any:
    """The results of a quantity; NaN where a state has none."""
    present = {name: x for name, x in options.items() if x is not None}
    variant = system._variant(quantity, formulation, present)
    arguments = (*inputs, *(present[name] for name in variant.optional))
    # callers report divisions by zero at singular configurations
    with np.errstate(all="ignore"):
        return system._result(variant, arguments, parameters, out)


def required(
    system: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    errors: str,
    tolerance: float | Array | None,
    parameters: Parameters = None,
    out: Any = None,
    **options: Any,
) -> Any:
    """The results of a quantity, with flags if `errors` is "flag".

    With "raise", the first state without a result though its inputs are finite is an error that
    says why.
    """
    if errors != "raise":
        flags = (errors, tolerance)
        return with_status(system, quantity, inputs, options, *flags, None, parameters, out)
    result = call(system, quantity, inputs, options, None, parameters, out)
    first = result[0] if isinstance(result, tuple) else result
    if has_no_values(first) or all_finite(first):
        return result
    core = len(next(iter(system.dynamics.quantity(quantity).outputs.values())))
    bad, arrays = without_result(first, inputs, core)
    count = int(bad.sum())
    if not count:
        return result

    def first_bad(x: Array, core: int = 1) -> Array:
        return np.asarray(on_host(selected_states(x, bad, core)[0]), dtype=float)

    if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
        parameters = first_bad(parameters)
    dynamics = system.description.bound(parameters)
    twin = dynamics.quantity(quantity + TWIN)
    state: dict[str, Any] = dict(zip(twin.inputs, map(first_bad, arrays), strict=True))
    for name, x in options.items():
        if x is not None:
            state[name] = x if isinstance(x, str) else first_bad(x, INPUT_DIMENSIONS.get(name, 1))
    with np.errstate(all="ignore"):
        *_, status = twin.formulation(None).function(dynamics, tolerance=np.inf, **state)
    reason = REASONS.get(Status(int(status)), "it has none there")
    raise ConstraintError(
        f"{dynamics.name}.{quantity}: no result at q = {state['q']}: {reason}{others(count)}"
    )


def with_status(
    system: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    options: Mapping[str, Any],
    errors: str = "flag",
    tolerance: float | Array | None = None,
    formulation: str | None = None,
    parameters: Parameters = None,
    out: Any = None,
) -> Flagged:
    """The results of a quantity with the status of every state; nothing is refused."""
    require_mode(errors)
    flag_options, twin = {**options, "tolerance": tolerance}, quantity + TWIN
    out_arrays = None if out is None else (*out, None)
    result = call(system, twin, inputs, flag_options, formulation, parameters, out_arrays)
    names = (*system.dynamics.quantity(quantity).outputs, "status")
    if has_no_values(result[0]) and not needs_mapping(result):
        return Flagged(names, result)
    if formulation in PIVOTED and "pivots" not in options and not needs_mapping(result):
        weak = result[-1] == float(Status.CONTRADICTION)
        result = (*result[:-1], array_like(result[-1], result[0]))
        fill(system, result, weak, twin, inputs, flag_options, parameters)
    return Flagged(names, (*result[:-1], result[-1].astype(np.int8)))


def fill(
    system: Any,
    results: tuple[Any, ...],
    weak: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    options: Mapping[str, Any],
    parameters: Parameters,
) -> None:
    """Write the results of the multiplier method at the states (...) that are `weak`."""
    if not weak.any():
        return
    optional = system.dynamics.quantity(quantity).optional
    weak_options = {
        name: selected_states(x, weak, INPUT_DIMENSIONS.get(name, 1))
        for name, x in options.items()
        if x is not None and name in optional
    }
    if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
        parameters = selected_states(parameters, weak)
    again = tuple(selected_states(x, weak) for x in inputs)
    part = call(system, quantity, again, weak_options, parameters=parameters)
    for whole, new in zip(results, part, strict=True):
        whole[weak] = new


def joined(names: Sequence[str] | None) -> str | None:
    """Names as one static choice."""
    return None if names is None else ",".join(names)


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
    closed: Constrained,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    t: Time,
    lam: Array,
    parameters: Parameters,
) -> None:
    """Raise for the first state with finite inputs that has no λ, and say how many there are."""
    bad, inputs = without_result(lam, (q, qd, tau))
    count = int(bad.sum())
    if not count:
        return
    here, moving, _ = (on_host(selected_states(x, bad)[0]) for x in inputs)
    now = on_host(selected_states(0.0 if t is None else t, bad, 0)[0])
    if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
        parameters = selected_states(parameters, bad)[0]
    system = closed.dynamics.bound(parameters)
    rows = system.at(here, moving, now)
    B = weighed(system, rows.A, here, now)
    raise ConstraintError(_why(closed, system, B, rows, here) + others(count))


def _why(closed: Constrained, system: ConstrainedDynamics, B: Array, rows: Rows, q: Array) -> str:
    """Message: a singular configuration, or contradicting constraints; `B` is A without units."""
    generic = system.rank
    # least squares without small singular values: which rows cannot be met
    residual = np.abs(least_squares(rows.A, rows.drift, EXTRA)[1])
    is_met = residual.max() <= INCONSISTENT * np.abs(rows.drift).max(initial=0.0)
    # where all are met, those that have come to depend on each other are to be named
    U, sizes = left_singular(B)
    rank = count(sizes, generic)
    # the constraints whose rows have the larger entries
    size = np.abs(U[:, min(rank, len(U) - 1)]) if is_met else residual
    large = np.flatnonzero(size >= 0.1 * size.max())
    names = ", ".join(map(repr, named_rows(system, large.tolist())))
    if rank < generic or sizes[generic - 1] < 1e-3 * sizes[0]:
        problem = (
            "depend on each other" if is_met else "require an acceleration that does not exist"
        )
        return (
            f"{closed.name}: q = {q} is at or near a singular posture: the constraints have rank "
            f"{rank} of {generic} there, and {names} {problem}. Start elsewhere, or with a velocity "
            "from project_velocity"
        )
    if is_met and system.rubbing:
        return (
            f"{closed.name}: friction jams at q = {q}: it presses {names} harder than it brakes the "
            "slip, so that no acceleration meets both (Painlevé). Take a smaller mu, or another "
            "posture"
        )
    if is_met:
        return (
            f"{closed.name}: no acceleration found at q = {q} that meets {names}; try "
            'formulation="multiplier"'
        )
    return (
        f"{closed.name}: the constraints {names} contradict each other at q = {q}: no acceleration "
        "meets all of them. Remove one, or start from assemble() and project_velocity()"
    )


def require_state(
    closed: Constrained,
    result: tuple[Any, Any],
    inputs: tuple[Any, ...],
    actuators: Sequence[str] | None,
) -> None:
    """Raise where finite inputs gave no torques."""
    if all_finite(result[1]):
        return
    bad, _ = without_result(result[1], inputs)
    count = int(bad.sum())
    if count:
        chosen_ones = "all of them" if actuators is None else ", ".join(actuators)
        pulls = (
            ", or they would pull at a contact with friction" if closed.description.rubbing else ""
        )
        raise ConstraintError(
            f"{closed.name}: the actuators ({chosen_ones}) cannot give this motion: they do not "
            f"reach all {closed.freedoms} degrees of freedom{pulls}. Choose other actuators, or a "
            f"motion that meets the equations of the undriven ones{others(count)}"
        )
