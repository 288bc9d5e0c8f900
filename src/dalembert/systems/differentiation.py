"""Derivatives of any quantity, as kernels: forward, reverse, dense and second order.

A configuration varies in its tangent space: ∂/∂q is along `integrate(q, δ)` at δ = 0, nv numbers
whatever nq is. Named parameters vary under the name "parameters", inertias (ten numbers per body, see
`robot.parameters`) under "inertia".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formulations.derivatives.inertial import (
    inertial_parameters,
    with_inertial_parameters,
)
from dalembert.formulations.registry import suggest
from dalembert.kernels import Kernel, Port, build, source_digest
from dalembert.kernels.program.derivatives import Traceable, jacobian, jvp, vjp
from dalembert.systems.compiled import Compiled, Variant

_STEP = "delta"  # q moved by integrate(q, delta)
_INERTIA = "inertia"


class Derived:
    """Kernels of the derivatives of one system, made when first asked for."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._kernels: dict[tuple[str, str, tuple[str, ...]], Kernel] = {}

    def kernel(self, variant: Variant, mode: str, wrt: Sequence[str]) -> Kernel:
        """The kernel of one kind of derivative with respect to some of the inputs."""
        key = (variant.key, mode, tuple(wrt))
        if key not in self._kernels:
            for name in wrt:
                self._require(name, variant)
            self._kernels[key] = self._build(variant, mode, tuple(wrt))
        return self._kernels[key]

    def _require(self, name: str, variant: Variant) -> None:
        known = [*(port.name for port in self._compiled.inputs(variant)), _INERTIA]
        if name not in known:
            quantity = variant.quantity.name
            raise DalembertError(f"{quantity} does not depend on {name!r}{suggest(name, known)}")

    def _build(self, variant: Variant, mode: str, wrt: tuple[str, ...]) -> Kernel:
        from dalembert.kernels.program.trace import trace

        compiled = self._compiled
        if variant.quantity.inverts_mass:
            compiled.kind.require_regular(compiled.description)
        inputs, results = compiled.inputs(variant), compiled.outputs(variant)
        seeds, outputs = self._ports(inputs, results, mode, wrt)
        function = self._function(variant, mode, wrt)
        ports = (*inputs, *seeds)
        sources = " ".join(source_digest(package) for package in compiled.kind.traced_from)
        return build(
            key=f"{compiled.description.content} {variant.key} {mode} {wrt} {sources}",
            make_program=lambda: trace(function, {port.name: port.shape for port in ports}),
            inputs=ports,
            outputs=outputs,
            name=f"{variant.quantity.name}_{mode}",
            doc=f"{mode} of {variant.quantity.summary} with respect to {', '.join(wrt)}",
        )

    def _ports(
        self, inputs: Sequence[Port], results: Sequence[Port], mode: str, wrt: Sequence[str]
    ) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Extra inputs and the outputs of a mode."""
        varying = [Port(name, self._tangent(name, inputs)) for name in wrt]
        along = tuple(Port(f"d_{port.name}", port.shape) for port in varying)
        weights = tuple(Port(f"bar_{port.name}", port.shape) for port in results)
        if mode == "jvp":
            return along, tuple(Port(f"d_{port.name}", port.shape) for port in results)
        if mode == "vjp":
            return weights, tuple(Port(f"bar_{port.name}", port.shape) for port in varying)
        if mode == "hvp":
            return (*weights, *along), varying_outputs(varying)
        slopes = [Port(port.name, (*port.shape, *varying[0].shape)) for port in results]
        return (), tuple(slopes)

    def _tangent(self, name: str, inputs: Sequence[Port]) -> tuple[int, ...]:
        if name == "q":
            return (self._compiled.description.nv,)
        if name == _INERTIA:
            return tuple(inertial_parameters(self._model).shape)
        return next(port.shape for port in inputs if port.name == name)

    def _function(self, variant: Variant, mode: str, wrt: tuple[str, ...]) -> Callable[..., Any]:
        names = [_STEP if name == "q" else name for name in wrt]
        plain = self._plain(variant)
        derive = {
            "jvp": lambda: jvp(plain, names),
            "vjp": lambda: vjp(plain, names),
            "hvp": lambda: jvp(vjp(plain, names), names),
            "jacobian": lambda: jacobian(plain, names[0]),
        }[mode]()

        def at_point(d_q: Any = None, **given: Any) -> Mapping[str, Any]:
            model = self._model
            if _STEP in names:
                given[_STEP] = np.zeros(model.nv)
                if d_q is not None:
                    given[f"d_{_STEP}"] = d_q
            if _INERTIA in names:
                given[_INERTIA] = inertial_parameters(model)
            return derive(**given)

        return at_point

    @property
    def _model(self) -> Any:
        return self._compiled.description

    def _plain(self, variant: Variant) -> Traceable:
        """The formulation itself, as a function of everything that may vary."""

        def function(
            parameters: Any = None, inertia: Any = None, delta: Any = None, **inputs: Any
        ) -> dict[str, Any]:
            model = self._model
            model = model if parameters is None else model.bind(parameters)
            model = model if inertia is None else with_inertial_parameters(model, inertia)
            if delta is not None:
                inputs["q"] = model.integrate(inputs["q"], delta)
            result = variant.formulation.function(model, **inputs, **dict(variant.static))
            results = result if isinstance(result, tuple) else (result,)
            return dict(zip(variant.quantity.outputs, results, strict=True))

        return function


def varying_outputs(varying: Sequence[Port]) -> tuple[Port, ...]:
    """Ports of the rates of the gradient."""
    return tuple(Port(f"d_bar_{port.name}", port.shape) for port in varying)
