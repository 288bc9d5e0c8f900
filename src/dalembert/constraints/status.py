"""Status of every state of a batch, and errors for states that have no result.

A quantity `x` of a constrained system has a variant `x_with_status`: the same results, NaN wherever
the status is not OK, and the status as one more number computed in the kernel. No state affects
another. A `Call` is how methods call kernels; it only needs `_variant`, `_result`, `dynamics` and
`description` of the system, so that arrays of other frameworks go through it too. Its errors name the
first state without result: which constraints contradict each other, or that the configuration is
singular.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.constraints.geometry import named_rows, weighed
from dalembert.constraints.kkt import metric_at
from dalembert.constraints.multiplier import INCONSISTENT, off
from dalembert.constraints.udwadia_kalaba import require_determined, stacked_at
from dalembert.errors import ConstraintError
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.kernels.call.arguments import needs_mapping
from dalembert.linalg.rank import count, least_squares, left_singular
from dalembert.linalg.row_space import EXTRA
from dalembert.spatial.arrays import Array
from dalembert.systems.evaluator import Parameters, has_no_values
from dalembert.systems.status import (
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
    from dalembert.constraints.dynamics import ConstrainedDynamics

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
        failure = (
            Status.JAMMED if usual == Status.CONTRADICTION and system.frictional_rows else usual
        )
        by = TOLERANCE if tolerance is None else tolerance
        # the gravest status comes last, so that it is the one that remains
        status = np.where(_finite(results), 0.0, float(failure))
        here, q = system.at_time(inputs.get("t")), inputs["q"]
        qd = None if quantity in ANY_VELOCITY else inputs.get("qd")
        maps = metric_at(here, q) if formulation.inverts_mass else stacked_at(here, q)
        status = np.where(maps.space.lost > 0.0, float(Status.SINGULAR), status)
        if tracing.is_symbolic(by) or not np.isinf(by):
            status = off(here, q, qd, by, status)
        status = np.where(
            _finite([x for x in inputs.values() if not isinstance(x, str) and x is not None]),
            status,
            float(Status.NOT_FINITE),
        )
        # added, not multiplied: entries that are always zero are NaN there too
        mark = np.where(status < 0.5, 0.0, np.nan)
        return *(x + mark for x in results), status

    return replace(formulation, implementation=run)


def _finite(arrays: Iterable[Array]) -> Array:
    """Whether every entry is a finite number: their sum would tell otherwise."""
    total = sum((x.sum() for x in arrays), np.zeros(()))
    return np.abs(total) <= HUGE


def without_result(result: Any, inputs: Sequence[Any], core: int = 1) -> tuple[Array, list[Array]]:
    """(States (...) without a result though their inputs are finite, the inputs as arrays)."""
    arrays = [array_like(x, result) for x in inputs]
    bad = ~finite_states(result, core)
    for x in arrays:
        bad = bad & finite_states(x)
    return bad, arrays


def others(bad: Array) -> str:
    """The end of a message: how many states are like the one it is about."""
    count = int(bad.sum())
    if count < 2:
        return ""
    more = "another state" if count == 2 else f"{count - 1} other states"
    return f'. So it is with {more} of the batch; errors="flag" gives all others their results'


PIVOTED = (
    "elimination",
    "gauge",
    "boltzmann_hamel",
)  # routes that have no answer where their pivots are poor


@dataclass(eq=False)  # not frozen: setting its fields would take a tenth of a plain call
class Call:
    """A quantity of a constrained system at a batch of states; options that are None are left out."""

    system: Any  # a `Constrained`, or a framework's view of one
    quantity: str
    inputs: tuple[Any, ...]
    options: Mapping[str, Any]
    formulation: str | None = None
    parameters: Parameters = None
    out: Any = None

    def results(self) -> Any:
        """The results; NaN where a state has none."""
        present = {name: x for name, x in self.options.items() if x is not None}
        variant = self.system._variant(self.quantity, self.formulation, present)
        arguments = (*self.inputs, *(present[name] for name in variant.optional))
        # callers report divisions by zero at singular configurations
        with np.errstate(all="ignore"):
            return self.system._result(variant, arguments, self.parameters, self.out)

    def checked(
        self,
        errors: str,
        tolerance: float | Array | None = None,
        named: Callable[..., Any] | None = None,
    ) -> Any:
        """The results, under the names of `named`; with the status if `errors` is "flag".

        With "raise", the first state without a result though its inputs are finite is an error that
        says why.
        """
        if errors != "raise":
            return self.flagged(errors, tolerance)
        result = self.results()
        last = result[-1] if isinstance(result, tuple) else result
        if not (has_no_values(last) or all_finite(last)):
            if self.is_pivoted:
                self.fill(result, without_result(last, self.inputs)[0])
            *_, sizes = self.system.dynamics.quantity(self.quantity).outputs.values()
            bad, inputs = without_result(last, self.inputs, len(sizes))
            if bad.any():
                reason = self._reason(bad, inputs)
                raise ConstraintError(f"{self.system.name}.{self.quantity}: {reason}{others(bad)}")
        return result if named is None else named(*result)

    def flagged(self, errors: str = "flag", tolerance: float | Array | None = None) -> Flagged:
        """The results with the status of every state; nothing is refused."""
        require_mode(errors)
        twin = replace(
            self,
            quantity=self.quantity + TWIN,
            options={**self.options, "tolerance": tolerance},
            out=None if self.out is None else (*self.out, None),
        )
        result = twin.results()
        names = (*self.system.dynamics.quantity(self.quantity).outputs, "status")
        if has_no_values(result[0]) and not needs_mapping(result):
            return Flagged(names, result)
        if not needs_mapping(result) and self.is_pivoted:
            weak = result[-1] == float(Status.CONTRADICTION)
            result = (*result[:-1], array_like(result[-1], result[0]))
            twin.fill(result, weak)
        return Flagged(names, (*result[:-1], result[-1].astype(np.int8)))

    @property
    def is_pivoted(self) -> bool:
        """Whether there is no result where the pivots of the reference posture are poor."""
        return self.formulation in PIVOTED and "pivots" not in self.options

    def fill(self, results: tuple[Any, ...], weak: Any) -> None:
        """Write the results of the multiplier method at the states (...) that are `weak`."""
        if not weak.any():
            return
        optional = self.system.dynamics.quantity(self.quantity).optional
        options = {name: x for name, x in self.options.items() if name in optional}
        again = replace(self, formulation=None, options=options, out=None)
        for whole, new in zip(results, again.results(), strict=True):
            whole[weak] = new[weak]

    def _reason(self, bad: Any, inputs: Sequence[Array]) -> str:
        """Why the first of the `bad` states has no result, though its inputs are finite."""
        parameters, q, t = self.parameters, _first(inputs[0], bad), self.options.get("t")
        if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
            parameters = _first(parameters, bad)
        system = self.system.description.bound(parameters)
        system = system.at_time(None if t is None else _first(t, bad, 0))
        if self.formulation == "udwadia_kalaba":  # of any M
            require_determined(system, q)
        if self.quantity == "inverse_dynamics":
            drives = (self.options["actuators"] or "all of them").replace(",", ", ")
            pulls = ", or they would pull at a contact with friction"
            return (
                f"the actuators ({drives}) cannot give this motion: they do not reach all "
                f"{system.freedoms} degrees of freedom{pulls if system.frictional_rows else ''}. "
                "Choose other actuators, or a motion that meets the equations of the undriven ones"
            )
        is_chosen = self.quantity in NOT_DRIVEN
        qd = None if is_chosen else _first(inputs[1], bad)
        rows, generic = system.at(q, qd), system.rank
        # least squares without small singular values: which rows cannot be met
        residual = np.abs(least_squares(rows.A, rows.drift, EXTRA)[1])
        is_met = is_chosen or residual.max() <= INCONSISTENT * np.abs(rows.drift).max(initial=0.0)
        # where all are met, those that have come to depend on each other are to be named
        U, sizes = left_singular(weighed(system, q))
        rank = count(sizes, generic)
        # the constraints whose rows have the larger entries
        size = np.abs(U[:, min(rank, len(U) - 1)]) if is_met else residual
        large = np.flatnonzero(size >= 0.1 * size.max())
        names = ", ".join(map(repr, named_rows(system, large.tolist())))
        if rank < generic or sizes[generic - 1] < 1e-3 * sizes[0]:
            demand = (
                "depend on each other" if is_met else "require an acceleration that does not exist"
            )
            return (
                f"q = {q} is at or near a singular posture: the constraints have rank {rank} of "
                f"{generic} there, and {names} {demand}. Start elsewhere, or with a velocity from "
                "project_velocity"
            )
        if is_chosen:
            chosen = self.options.get("independent", self.options.get("actuators"))
            usual = [system.velocities[k] for k in system.free_columns]
            listed = ", ".join(chosen.split(",") if chosen else usual)
            return (
                f"the velocities chosen ({listed}) do not determine the motion at q = {q}: "
                "the columns of the others in A are dependent there; choose others"
            )
        if not is_met:
            return (
                f"the constraints {names} contradict each other at q = {q}: no acceleration meets "
                "all of them. Remove one, or start from assemble() and project_velocity()"
            )
        if system.frictional_rows:
            return (
                f"friction jams at q = {q}: it presses {names} harder than it brakes the slip, so "
                "that no acceleration meets both (Painlevé). Take a smaller mu, or another posture"
            )
        return f'no acceleration found at q = {q} that meets {names}; try formulation="multiplier"'


def _first(x: Any, bad: Any, core: int = 1) -> Array:
    """The first of the `bad` states of x, as numbers."""
    return np.asarray(on_host(selected_states(x, bad, core)[0]), dtype=float)


def joined(names: Sequence[str] | None) -> str | None:
    """Names as one static choice."""
    return None if names is None else ",".join(names)
