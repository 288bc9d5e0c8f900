"""A step of a small mechanism as one kernel: four stages of RK4, then the projection.

Where the rank is in doubt, the kernel says so and that step is taken by the solver instead, which
looks at the singular values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kernels import Kernel, Port, build
from dalembert.kernels.program.trace import trace
from dalembert.mechanisms.traced import Traced

if TYPE_CHECKING:
    import casadi

    from dalembert.mechanisms.simulate import Plant

MOST_ROWS = 40
FEWEST_STEPS = 5000  # tracing and compiling take about as long as these
LEAST_PIVOT = 1e-3  # of B Bᵀ with rows of unit length


def worth(plant: Plant, steps: int) -> bool:
    """Whether a kernel for this plant can be made, and pays."""
    kinds = [group.kind for group in (*plant.solver.assembly.groups, *plant.solver.assembly.forces)]
    few = 0 < plant.solver.assembly.m <= MOST_ROWS and steps >= FEWEST_STEPS
    return few and not plant.controlled and not any(kind.turns for kind in kinds)


def step_kernel(plant: Plant) -> Kernel:
    """(x, t, h) → (x of the next step, least pivot met on the way, residual of the positions)."""
    traced = Traced(plant.solver.assembly)
    size = plant.nq + plant.solver.assembly.nv

    def function(x: Any, t: Any, h: Any) -> dict[str, Any]:
        import casadi

        inputs = [casadi.SX(value.ravel().to_casadi()) for value in (x, t, h)]
        moved, least, gap = _step(traced, *inputs)
        return {
            "x": casadi.array(casadi.densify(moved)).reshape(size),
            "least": casadi.array(least).reshape(),
            "gap": casadi.array(gap).reshape(),
        }

    program = trace(function, {"x": (size,), "t": (), "h": ()}, name="mechanism_step")
    ports = [Port("x", (size,)), Port("t", ()), Port("h", ())]
    return build(program.digest, lambda: program, ports, program.outputs, "mechanism_step")


def _step(traced: Traced, x: casadi.SX, t: casadi.SX, h: casadi.SX) -> tuple[Any, Any, Any]:
    """One step and the projection, as symbols."""
    import casadi

    nq = traced.assembly.nq
    slope = _slope(traced, x.numel())
    k1, p1 = slope(x, t)
    k2, p2 = slope(x + 0.5 * h * k1, t + 0.5 * h)
    k3, p3 = slope(x + 0.5 * h * k2, t + 0.5 * h)
    k4, p4 = slope(x + h * k3, t + h)
    moved = x + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
    q, v = traced.normalised(moved[:nq]), moved[nq:]
    now = t + h
    least = casadi.fmin(casadi.fmin(p1, p2), casadi.fmin(p3, p4))
    close = _closing(traced)
    for _ in range(2):
        step, pivot = close(q, now)
        # q ⊕ Δ to first order: what is left is of second order in a correction of order h⁵
        q = traced.normalised(q + traced.rate(q, step))
        least = casadi.fmin(least, pivot)
    v, pivot, gap = _fitting(traced)(q, v, now)
    return casadi.vertcat(q, v), casadi.fmin(least, pivot), gap


def _slope(traced: Traced, size: int) -> casadi.Function:
    import casadi

    x, t = casadi.SX.sym("x", size), casadi.SX.sym("t")
    q, v = x[: traced.assembly.nq], x[traced.assembly.nq :]
    a, least = traced.acceleration(t, q, v)
    both = casadi.cse([casadi.vertcat(traced.rate(q, v), a), least])
    return casadi.Function("slope", [x, t], both)


def _closing(traced: Traced) -> casadi.Function:
    """(q, t) → the shortest step with J Δ = −Φ."""
    import casadi

    q, t = casadi.SX.sym("q", traced.assembly.nq), casadi.SX.sym("t")
    rows = traced.constraints(t, q, casadi.SX(traced.assembly.nv, 1))
    factor = traced.factor(rows.B)
    both = casadi.cse([traced.correction(rows.B, factor, -rows.phi), factor.least])
    return casadi.Function("closing", [q, t], both)


def _fitting(traced: Traced) -> casadi.Function:
    """(q, v, t) → the nearest velocity with J v = ν, the least pivot, and the largest |Φ|."""
    import casadi

    q, t = casadi.SX.sym("q", traced.assembly.nq), casadi.SX.sym("t")
    v = casadi.SX.sym("v", traced.assembly.nv)
    rows = traced.constraints(t, q, v)
    factor = traced.factor(rows.B)
    slip = casadi.mtimes(rows.B, casadi.mtimes(casadi.inv(traced.W), v)) - rows.nu
    fitted = v - traced.correction(rows.B, factor, slip)
    results = casadi.cse([fitted, factor.least, casadi.mmax(casadi.fabs(casadi.densify(rows.phi)))])
    return casadi.Function("fitting", [q, v, t], results)


def yielded(
    plant: Plant, y: np.ndarray, dt: float, steps: int, every: int
) -> Iterator[tuple[float, np.ndarray]]:
    """Samples (t, y) of a run; nothing is kept between them."""
    from dalembert.mechanisms.simulate import rk4

    ufunc = step_kernel(plant).ufunc
    x, after = y.copy(), np.empty_like(y)
    least, gap = np.empty(()), np.empty(())
    for number in range(1, steps + 1):
        t = (number - 1) * dt
        ufunc(x, t, dt, out=(after, least, gap))
        if not least >= LEAST_PIVOT:
            after[:] = plant.project(number * dt, rk4(plant.slope, t, x, dt))
        elif gap > plant.worst:
            plant.worst = float(gap)
        x, after = after, x
        if number % every == 0:
            yield number * dt, x.copy()
