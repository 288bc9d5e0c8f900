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
    from dalembert.kernels.program.derivatives import Traceable

_STEP = "delta"  # q moved by integrate(q, delta)
_INERTIA = "inertia"


class Slopes:
    """One kind of derivative of a variant with respect to some of its inputs, default all.

    `mode` is "jacobian", "jvp" (needs directions), "vjp" (weights) or "hvp" (both).
    """

    def __init__(
        self, system: Evaluator, variant: Variant, mode: str, wrt: Sequence[str] | None = None
    ) -> None:
        self.system, self.variant, self.mode = system, variant, mode
        self.inputs, self.results = system.ports(variant)
        self.wrt = variant.inputs if wrt is None else tuple(wrt)
        known = [port.name for port in self.inputs]
        known += [_INERTIA] if len(system.dynamics.inertia) else []
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
        if self.system.dynamics.parameters:
            inputs = [*inputs, self.system.parameter_array()]
        seeds = [x for listed in arrays.values() for x in listed]
        return self.system.call(self.kernel, what, [*inputs, *seeds])

    def _listed(self, name: str, given: Any, what: str) -> list[Any]:
        """One array for each port; a bare array is no list of arrays."""
        ports = self.given[name]
        bare = not isinstance(given, list | tuple) and np.ndim(given) < 2
        if bare or len(given) != len(ports):
            names = ", ".join(port.name for port in ports)
            got = "one bare array" if bare else f"{len(given)}"
            raise ShapeError(
                f"{self.system.dynamics.name}: {what} takes {name} as a list of {len(ports)} "
                f"array{'' if len(ports) == 1 else 's'} ({names}), not {got}"
            )
        return list(given)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, compiled when first asked for."""
        variant = self.variant
        if variant.quantity.inverts_mass:
            self.system.dynamics.require_regular()
        seeds, outputs = self._ports()
        return self.system.build(
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
            return (self.system.dynamics.nv,)
        if name == _INERTIA:
            return tuple(self.system.dynamics.inertia.shape)
        return next(port.shape for port in self.inputs if port.name == name)

    def _function(self) -> Callable[..., Mapping[str, Any]]:
        from dalembert.kernels.program.derivatives import jacobian, jvp, vjp

        names = [_STEP if name == "q" else name for name in self.wrt]
        derive = {
            "jvp": lambda: jvp(self._plain, names),
            "vjp": lambda: vjp(self._plain, names),
            "hvp": lambda: jvp(vjp(self._plain, names), names),
            "jacobian": lambda: jacobian(self._plain, names[0]),
        }[self.mode]()

        def at_point(d_q: Any = None, **given: Any) -> Mapping[str, Any]:
            if _STEP in names:
                given[_STEP] = np.zeros(self.system.dynamics.nv)
                if d_q is not None:
                    given[f"d_{_STEP}"] = d_q
            if _INERTIA in names:
                given[_INERTIA] = self.system.dynamics.inertia
            return derive(**given)

        return at_point

    @property
    def _plain(self) -> Traceable:
        """The formulation itself, as a function of everything that may vary."""

        def function(
            parameters: Any = None, inertia: Any = None, delta: Any = None, **inputs: Any
        ) -> dict[str, Any]:
            seen = self.system.dynamics
            seen = seen if parameters is None else seen.bind(parameters)
            seen = seen if inertia is None else seen.with_inertia(inertia)
            if delta is not None:
                inputs["q"] = seen.integrate(inputs["q"], delta)
            return self.variant.outputs(seen.description, **inputs)

        return function


class Differentiable(Evaluator):
    """Derivatives of every quantity; ∂/∂q is in the tangent space, nv numbers whatever nq is."""

    def derivative(
        self,
        quantity: str,
        inputs: Sequence[Any],
        wrt: str = "q",
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """∂quantity/∂wrt (..., *quantity, *wrt): an input, "parameters" or "inertia".

        >>> import dalembert as dl
        >>> dl.load("planar_2r").derivative("mass_matrix", ([0.0, 0.0],)).shape
        (2, 2, 2)
        """
        slopes = self._slopes(quantity, formulation, static, "jacobian", (wrt,))
        return slopes(inputs=inputs)

    def jvp(
        self,
        quantity: str,
        inputs: Sequence[Any],
        directions: Sequence[Any],
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """The derivative of a quantity along directions, one per input, those of q (..., nv).

        >>> import dalembert as dl
        >>> dl.load("pendulum").jvp("potential_energy", ([0.5],), ([2.0],)).round(4)  # 2 m g l sin θ
        np.float64(9.4063)
        """
        slopes = self._slopes(quantity, formulation, static, "jvp")
        return slopes(inputs=inputs, directions=directions)

    def vjp(
        self,
        quantity: str,
        inputs: Sequence[Any],
        weights: Sequence[Any],
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """Σ weights · ∂outputs/∂input for every input; `weights` has one array per output."""
        slopes = self._slopes(quantity, formulation, static, "vjp")
        return slopes(inputs=inputs, weights=weights)

    def hvp(
        self,
        quantity: str,
        inputs: Sequence[Any],
        weights: Sequence[Any],
        directions: Sequence[Any],
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """Hessian of Σ weights · outputs times `directions`: one array per input."""
        slopes = self._slopes(quantity, formulation, static, "hvp")
        return slopes(inputs=inputs, weights=weights, directions=directions)

    def _slopes(
        self,
        quantity: str,
        formulation: str | None,
        static: Mapping[str, str],
        mode: str,
        wrt: tuple[str, ...] | None = None,
    ) -> Slopes:
        variant = self._variant(quantity, formulation, static)
        key = (variant.key, mode, wrt)
        known = self.__dict__.setdefault("_differentiated", {})
        if key not in known:
            known[key] = Slopes(self, variant, mode, wrt)
        return known[key]
