"""Derivatives of any quantity, as kernels: forward, reverse, dense and second order.

A configuration varies in its tangent space: ∂/∂q is along `integrate(q, δ)` at δ = 0, nv numbers
whatever nq is. Named parameters vary under the name "parameters", inertias (ten numbers per body, see
`robot.parameters`) under "inertia".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, ShapeError
from dalembert.formulations.registry import suggest
from dalembert.kernels import Kernel, Port
from dalembert.systems.evaluator import Evaluator
from dalembert.systems.variant import Variant

if TYPE_CHECKING:
    from dalembert.systems.system import System

_STEP = "delta"  # q moved by integrate(q, delta)
_INERTIA = "inertia"


class Slopes:
    """One kind of derivative of a variant with respect to some of its inputs, default all.

    `mode` is "jacobian", "jvp" (needs directions), "vjp" (weights) or "hvp" (both).
    """

    def __init__(
        self, evaluator: Evaluator, variant: Variant, mode: str, wrt: Sequence[str] | None = None
    ) -> None:
        self.evaluator, self.variant, self.mode = evaluator, variant, mode
        self.inputs, self.results = evaluator.ports(variant)
        self.wrt = variant.inputs if wrt is None else tuple(wrt)
        known = [port.name for port in self.inputs]
        known += [_INERTIA] if len(evaluator.dynamics.inertia) else []
        for name in self.wrt:
            if name not in known:
                raise DalembertError(
                    f"{variant.quantity.name} does not depend on {name!r}{suggest(name, known)}"
                )
        varying = [Port(name, self._tangent(name)) for name in self.wrt]
        self.given = {
            "inputs": tuple(port for port in self.inputs if port.name != "parameters"),
            "weights": tuple(Port(f"bar_{port.name}", port.shape) for port in self.results),
            "directions": tuple(Port(f"d_{port.name}", port.shape) for port in varying),
        }
        self.varying = tuple(varying)

    def __call__(self, **given: Sequence[Any]) -> Any:
        """The slopes at `inputs`, with `weights` of the outputs and `directions` of the inputs."""
        what = f"{self.mode} of {self.variant.quantity.name}"
        arrays = {name: self._listed(name, arrays, what) for name, arrays in given.items()}
        inputs = arrays.pop("inputs")
        if self.evaluator.dynamics.parameters:
            inputs = [*inputs, self.evaluator.parameter_array()]
        seeds = [x for listed in arrays.values() for x in listed]
        return self.evaluator.call(self.kernel, what, [*inputs, *seeds])

    def _listed(self, name: str, given: Any, what: str) -> list[Any]:
        """One array for each port; a bare array is no list of arrays."""
        ports = self.given[name]
        bare = not isinstance(given, list | tuple) and np.ndim(given) < 2
        if bare or len(given) != len(ports):
            names = ", ".join(port.name for port in ports)
            got = "one bare array" if bare else f"{len(given)}"
            raise ShapeError(
                f"{self.evaluator.dynamics.name}: {what} takes {name} as a list of {len(ports)} "
                f"array{'' if len(ports) == 1 else 's'} ({names}), not {got}"
            )
        return list(given)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, compiled when first asked for."""
        variant = self.variant
        if variant.quantity.inverts_mass:
            self.evaluator.dynamics.require_regular()
        seeds, outputs = self._ports()
        return self.evaluator.build(
            (*variant.key, self.mode, self.wrt),
            self._function(),
            ((*self.inputs, *seeds), outputs),
            f"{variant.quantity.name}_{self.mode}",
            f"{self.mode} of {variant.quantity.summary} with respect to {', '.join(self.wrt)}",
        )

    def _ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Extra inputs and the outputs of this mode."""
        weights, directions = self.given["weights"], self.given["directions"]
        if self.mode == "jvp":
            return directions, tuple(Port(f"d_{port.name}", port.shape) for port in self.results)
        if self.mode == "vjp":
            return weights, tuple(Port(f"bar_{port.name}", port.shape) for port in self.varying)
        if self.mode == "hvp":
            gradient = tuple(Port(f"d_bar_{port.name}", port.shape) for port in self.varying)
            return (*weights, *directions), gradient
        along = self.varying[0].shape
        return (), tuple(Port(port.name, (*port.shape, *along)) for port in self.results)

    def _tangent(self, name: str) -> tuple[int, ...]:
        if name == "q":
            return (self.evaluator.dynamics.nv,)
        if name == _INERTIA:
            return tuple(self.evaluator.dynamics.inertia.shape)
        return next(port.shape for port in self.inputs if port.name == name)

    def _function(self) -> Callable[..., Mapping[str, Any]]:
        from dalembert.kernels.program.derivatives import jacobian, jvp, vjp

        names = [_STEP if name == "q" else name for name in self.wrt]
        plain = self.evaluator.traceable(self.variant)
        derive = {
            "jvp": lambda: jvp(plain, names),
            "vjp": lambda: vjp(plain, names),
            "hvp": lambda: jvp(vjp(plain, names), names),
            "jacobian": lambda: jacobian(plain, names[0]),
        }[self.mode]()

        def at_point(d_q: Any = None, **given: Any) -> Mapping[str, Any]:
            if _STEP in names:
                given[_STEP] = np.zeros(self.evaluator.dynamics.nv)
                if d_q is not None:
                    given[f"d_{_STEP}"] = d_q
            if _INERTIA in names:
                given[_INERTIA] = self.evaluator.dynamics.inertia
            return derive(**given)

        return at_point


def slopes(
    system: System,
    quantity: str,
    formulation: str | None,
    choices: Mapping[str, str],
    mode: str,
    wrt: tuple[str, ...] | None = None,
) -> Slopes:
    """The derivative of a quantity of a system, made once."""
    variant = system._variant(quantity, formulation, choices)
    known = system.__dict__.setdefault("_differentiated", {})
    if (variant.key, mode, wrt) not in known:
        known[variant.key, mode, wrt] = Slopes(system.evaluator, variant, mode, wrt)
    return known[variant.key, mode, wrt]
