"""One step of a fixed-step method, state → state, traced and compiled into one kernel.

A step's kernel takes (x, dt, u0, u1, …): the inner state with the time as its last entry, the step,
the torques at its begin and end (linear in between), and what the law and the parameters need. It
returns the next inner state, so a run is the same call again and again, with ``out=`` its input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import FormulationError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.kernels import Kernel
from dalembert.simulation.closure import on_constraints
from dalembert.simulation.inline import Inlined, Shapes, compiled
from dalembert.simulation.law import pack
from dalembert.simulation.plant import Plant
from dalembert.simulation.tableau import TABLEAUX, Tableau
from dalembert.simulation.variational import Variational

FIXED = (*TABLEAUX, "semi_implicit", "variational")


@dataclass(frozen=True)
class Stepper:
    """A plant with a fixed-step method; kernels are made when first asked for."""

    plant: Plant
    method: str

    def __post_init__(self) -> None:
        if self.method not in FIXED:
            raise UnknownNameError(
                f"no fixed-step method {self.method!r}{suggest(self.method, list(FIXED))}"
            )
        if self._is_variational and self.plant.closed is not None:
            raise FormulationError(
                f"the variational method does not hold the constraints of {self.plant.system.name}; "
                "rk4 does"
            )

    @cached_property
    def given(self) -> Shapes:
        """Inputs besides state, time and torques."""
        plant = self.plant
        law = {} if plant.controller is None else {"law": pack(plant.controller.constants).shape}
        open_parameters = plant.parameters
        bound = {"parameters": (len(open_parameters),)} if open_parameters else {}
        return {**law, **bound, **({"width": (plant.nv,)} if plant.smooth else {})}

    @property
    def size(self) -> int:
        """Length of the inner state: x, what the method carries along, and t."""
        more = self._variational.carried if self.method == "variational" else 0
        return self.plant.size + more + 1

    @cached_property
    def kernel(self) -> Kernel:
        """(x, dt, u0, u1, …) → x of the next step."""
        shapes = {"x": (self.size,), "dt": (), "u0": (self.plant.nv,), "u1": (self.plant.nv,)}
        return compiled(f"{self.method}_step", self._step(), {**shapes, **self.given})

    @cached_property
    def enter(self) -> Kernel:
        """(x, t, u0, …) → inner state, from the state (q, q̇, z, W, H)."""

        def function(x: Any, t: Any, tau: Any, **given: Any) -> Any:
            more = self._variational.enter(x, t, tau, given) if self._is_variational else x
            return np.concatenate([more, np.stack([t])])

        shapes = {"x": (self.plant.size,), "t": (), "tau": (self.plant.nv,), **self.given}
        return compiled("enter", function, shapes)

    @cached_property
    def leave(self) -> Kernel:
        """(x, …) → the state (q, q̇, z, W, H), from the inner state."""

        def function(x: Any, **given: Any) -> Any:
            inner = x[: self.size - 1]
            return self._variational.leave(inner, given) if self._is_variational else inner

        shapes = {"x": (self.size,), **self.given}
        return compiled("leave", function, shapes)

    @property
    def _is_variational(self) -> bool:
        return self.method == "variational"

    @cached_property
    def _variational(self) -> Variational:
        return Variational(self.plant)

    def _step(self) -> Callable[..., Any]:
        if self._is_variational:
            return self._with_time(self._variational.step)
        if self.method == "semi_implicit":
            return self._with_time(_semi_implicit(self.plant))
        return self._with_time(_runge_kutta(self.plant, TABLEAUX[self.method], self.given))

    def _with_time(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def function(x: Any, dt: Any, u0: Any, u1: Any, **given: Any) -> Any:
            last = self.size - 1
            t = x[last]
            moved = step(x[:last], t, dt, u0, u1, given)
            closed = on_constraints(self.plant, moved, t + dt, given)
            return np.concatenate([closed, np.stack([t + dt])])

        return function


def _runge_kutta(plant: Plant, tableau: Tableau, given_shapes: Shapes) -> Callable[..., Any]:
    """x ⊞ h Σ b_i k_i with k_i the slope at x ⊞ h Σ a_ij k_j."""
    size = plant.size + plant.nv - plant.nq
    shapes = {"x": (plant.size,), "d": (size,), "t": (), "tau": (plant.nv,), **given_shapes}
    slope = Inlined(lambda x, d, t, tau, **given: plant.slope(x, d, t, tau, given), shapes)

    def step(x: Any, t: Any, h: Any, u0: Any, u1: Any, given: Any) -> Any:
        slopes: list[Any] = []
        for row, c in zip(((), *tableau.a), tableau.c, strict=True):
            d = _combined(h, row, slopes, size)
            tau = u0 if c == 0.0 else u1 if c == 1.0 else (1.0 - c) * u0 + c * u1
            slopes.append(slope(x=x, d=d, t=t + c * h, tau=tau, **given))
        return plant.moved(x, _combined(h, tableau.b, slopes, size))

    return step


def _combined(h: Any, weights: tuple[float, ...], slopes: list[Any], size: int) -> Any:
    """h Σ w_i k_i, equal weights added first."""
    total: Any = np.zeros(size)
    for weight in dict.fromkeys(w for w in weights if w):
        same = [k for w, k in zip(weights, slopes, strict=False) if w == weight]
        total = total + (h * weight) * sum(same[1:], same[0])
    return total


def _semi_implicit(plant: Plant) -> Callable[..., Any]:
    """Symplectic Euler: q̇ by the acceleration here, then q by the new velocity."""

    def step(x: Any, t: Any, h: Any, u0: Any, u1: Any, given: Any) -> Any:
        q, qd, z, energy = plant.parts(x)
        m = plant.motion(t, q, qd, z, u0, given)
        faster = qd + h * m.qdd
        powers = np.stack([m.power, m.loss])
        moved = plant.dynamics.integrate(q, h * faster)
        return np.concatenate([moved, faster, z + h * m.zdot, energy + h * powers])

    return step
