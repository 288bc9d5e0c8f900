"""The quantities of a catalogue, compiled when first asked for.

A call goes System → `Variant` (which quantity, by which formulation) → `Kernel` → `Program` (the
formulation traced over this system) → machine code. Everything here reads only the catalogue, so a
robot, a Lagrangian and a closed chain are compiled by the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.errors import FormulationError, ShapeError
from dalembert.formulations.registry import Quantity
from dalembert.kernels import Kernel, Port, Program, build, source_digest
from dalembert.kernels.call.whose import mapped_over
from dalembert.kernels.llvm.early import begin
from dalembert.systems import by_tree, on_symbols
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.variant import Variant

if TYPE_CHECKING:
    from dalembert.kernels.cuda.device import DeviceKernel

Parameters = Mapping[str, Any] | np.ndarray | None


class Evaluator:
    """Variants, programs and kernels of one system."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self.has_parameters = bool(dynamics.parameters)  # asked in every call
        self.variants: dict[Any, Variant] = {}
        self.kernels: dict[Any, Kernel] = {}
        self.programs: dict[Any, Program] = {}
        self.devices: dict[Any, DeviceKernel] = {}

    def variant(
        self, quantity: str, formulation: str | None, choices: Mapping[str, Any]
    ) -> Variant:
        """The variant of these choices; arrays among them are optional inputs."""
        key: tuple[Any, ...] = ()
        if choices:
            optional = self.dynamics.quantity(quantity).optional
            key = tuple(
                (name, value is not False if name in optional else value)
                for name, value in choices.items()
            )
        try:
            return self.variants[quantity, formulation, key]
        except (KeyError, TypeError):  # unknown, or a choice that is no word
            variant = Variant.of(self.dynamics, quantity, formulation, choices)
        self.variants[quantity, formulation, key] = variant
        return variant

    def ports(self, variant: Variant) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs of a variant's kernel, the open parameters last, and its results."""
        dynamics = self.dynamics
        inputs = [Port(name, dynamics.shape(dynamics.inputs[name])) for name in variant.inputs]
        if dynamics.parameters:
            inputs.append(Port("parameters", (len(dynamics.parameters),)))
        declared = variant.quantity.outputs.items()
        return tuple(inputs), tuple(Port(name, dynamics.shape(sizes)) for name, sizes in declared)

    def traceable(self, variant: Variant) -> Callable[..., Mapping[str, Any]]:
        """The variant as a function of its inputs, the parameters, inertias, and a step of q."""

        def function(
            parameters: Any = None, inertia: Any = None, delta: Any = None, **inputs: Any
        ) -> Mapping[str, Any]:
            dynamics = self.dynamics if parameters is None else self.dynamics.bind(parameters)
            dynamics = dynamics if inertia is None else dynamics.with_inertia(inertia)
            if delta is not None:
                inputs["q"] = dynamics.integrate(inputs["q"], delta)
            return variant.outputs(dynamics.description, **inputs)

        return function

    def program(self, variant: Variant) -> Program:
        """The formulation traced over this system."""
        if variant.key not in self.programs:
            self.programs[variant.key] = self._traced(variant, variant.quantity.name)
        return self.programs[variant.key]

    def kernel(self, variant: Variant) -> Kernel:
        """The compiled variant."""
        if variant.key in self.kernels:
            return self.kernels[variant.key]
        quantity, name = variant.quantity, variant.formulation.name
        if quantity.inverts_mass:
            self.dynamics.require_regular()
        separable = by_tree.is_separable(self.dynamics, variant)
        return self.build(
            variant.key,
            self.traceable(variant),
            self.ports(variant),
            name,
            f"{quantity.summary}: {variant.formulation.summary}",
            numeric=True,
            make_program=partial(self._traced, variant, name) if separable else None,
        )

    def device_kernel(self, variant: Variant) -> DeviceKernel:
        """The variant for arrays of a GPU."""
        from dalembert.kernels.cuda.device import DeviceKernel

        if variant.key not in self.devices:
            kernel = DeviceKernel(self.program(variant), variant.quantity.name)
            self.devices[variant.key] = kernel
        return self.devices[variant.key]

    def build(
        self,
        key: tuple[Any, ...],
        function: Callable[..., Mapping[str, Any]],
        ports: tuple[tuple[Port, ...], tuple[Port, ...]],
        name: str,
        doc: str,
        numeric: bool = False,
        make_program: Callable[[], Program] | None = None,
    ) -> Kernel:
        """The kernel of a traceable function of this system, compiled or from the cache on disk.

        A `numeric` function runs on numbers too. `make_program` traces it, where that is done apart.
        """
        if key not in self.kernels:
            begin()  # a compiled kernel is linked, or else compiled, with it
            sources = [source_digest(package) for package in self.dynamics.traced_from]
            if make_program is not None:
                sources.append(source_digest("dalembert.systems"))
            self.kernels[key] = build(
                key=repr((self.dynamics.content, key, sources)),
                make_program=make_program or (lambda: traced(function, ports[0], name)),
                inputs=ports[0],
                outputs=ports[1],
                name=name,
                doc=doc,
                reference=function if numeric else None,
            )
        return self.kernels[key]

    def _traced(self, variant: Variant, name: str) -> Program:
        """The formulation traced over this system, tree by tree where it is a scene."""
        ports = self.ports(variant)
        if by_tree.is_separable(self.dynamics, variant):
            return by_tree.program(self.dynamics, variant, ports, name)
        return traced(self.traceable(variant), ports[0], name)

    # on numbers and on symbols

    def call(self, kernel: Kernel, what: str, arguments: Sequence[Any], out: Any = None) -> Any:
        """A kernel on arrays; what NumPy refuses is said again in the user's terms."""
        if mapped_over(arguments):
            from dalembert.kernels.call.foreign import Mapped, Named

            ports = [[Named.of(port) for port in x] for x in (kernel.inputs, kernel.outputs)]
            return Mapped(f"{self.dynamics.name}.{what}", kernel.ufunc, *ports)(arguments, out)
        try:
            return kernel.ufunc(*arguments) if out is None else kernel.ufunc(*arguments, out=out)
        except (ValueError, TypeError) as error:
            from dalembert.kernels.call.explain import explain

            explained = explain(error, kernel.inputs, arguments)
            raise ShapeError(f"{self.dynamics.name}.{what}: {explained}") from None

    def at_symbols(
        self,
        function: Callable[..., Mapping[str, Any]],
        inputs: Sequence[Port],
        arguments: Sequence[Any],
        parameters: Parameters = None,
    ) -> Mapping[str, Any]:
        """A traceable function of this system at one state of symbols, ours or CasADi's."""
        if any(map(tracing.is_casadi, arguments)):
            ours = [tracing.adopted(x) for x in arguments]
            results = self.at_symbols(function, inputs, ours, parameters)
            return {name: tracing.exported_array(y) for name, y in results.items()}
        given = {
            port.name: tracing.flat([x]).reshape(port.shape) if tracing.is_symbolic(x) else x
            for port, x in zip(inputs, arguments, strict=False)
        }
        values = self.parameter_array(parameters) if self.has_parameters else None
        with np.errstate(all="ignore"):  # infinite and NaN constants are the function's own
            return function(parameters=values, **given)

    def on_symbols(self, variant: Variant, arguments: Sequence[Any], parameters: Parameters) -> Any:
        """The quantity at one state of symbols, as inside somebody's own constraint or law."""
        on_symbols.require_scalar_graph(self.dynamics.name, variant.quantity.name, arguments)
        inputs, _ = self.ports(variant)
        results = self.at_symbols(self.traceable(variant), inputs, arguments, parameters)
        return tuple(results.values()) if len(results) > 1 else next(iter(results.values()))

    def on_sympy(self, variant: Variant, arguments: Sequence[Any], parameters: Parameters) -> Any:
        """The quantity at one state of SymPy's expressions."""
        inputs, _ = self.ports(variant)
        values = self.parameter_array(parameters) if self.has_parameters else np.zeros(0)
        return on_symbols.by_sympy(self.program(variant), inputs, arguments, values)

    def reference(
        self,
        quantity: str,
        inputs: Sequence[Any],
        formulation: str | None,
        choices: Mapping[str, Any],
    ) -> Any:
        """The formulation itself, run as plain NumPy on one state, nothing compiled."""
        dynamics, declared = self.dynamics, self.dynamics.quantity(quantity)
        arrays = self._one_state(declared, inputs)
        try:
            result = dynamics.bound().compute(quantity, formulation, **arrays, **choices)
        except np.linalg.LinAlgError as error:
            if declared.inverts_mass:
                dynamics.require_regular()
            raise FormulationError(
                f"{dynamics.name}.{quantity} has no value at this state: {error}"
            ) from None
        results = result if isinstance(result, tuple) else (result,)
        if declared.inverts_mass and not all(np.isfinite(x).all() for x in results):
            dynamics.require_regular()
        return result

    def _one_state(self, quantity: Quantity, inputs: Sequence[Any]) -> dict[str, np.ndarray]:
        """The inputs of a quantity by name, as arrays of one state."""
        where = f"{self.dynamics.name}.{quantity.name}"
        if len(inputs) != len(quantity.inputs):
            raise ShapeError(
                f"{where} takes {', '.join(quantity.inputs)}; got {len(inputs)} arrays"
            )
        arrays = {}
        for name, given in zip(quantity.inputs, inputs, strict=True):
            shape = self.dynamics.shape(self.dynamics.inputs[name])
            try:
                arrays[name] = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                raise ShapeError(f"{where}: {name} must be numbers of shape {shape}") from None
            if arrays[name].shape != shape:
                raise ShapeError(
                    f"{where}: {name} must have shape {shape}, one state, got {arrays[name].shape}"
                )
        return arrays

    # parameters as arrays

    def parameters_beside(self, arguments: Sequence[Any], parameters: Parameters) -> Any:
        """Their array; plain numbers do not raise the precision of single-precision arguments."""
        values = self.parameter_array(parameters)
        plain = not any(hasattr(x, "dtype") for x in arrays_of(parameters))
        single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
        return values.astype(np.float32) if plain and single else values

    def parameter_array(self, parameters: Parameters = None) -> np.ndarray:
        """Values (..., n_parameters) of the named parameters."""

        from dalembert.kernels.call import foreign

        if parameters is None or isinstance(parameters, Mapping):
            if not any(map(np.ndim, arrays_of(parameters))):
                return self.dynamics.possible_values(parameters)
            known = self.dynamics.parameter_values(dict.fromkeys(parameters or {}, 0.0))
            values = dict(zip(self.dynamics.parameters, known, strict=True))
            parameters = foreign.stacked(values | dict(parameters or {}))
        elif not mapped_over((parameters,)):
            parameters = np.asarray(parameters)
        return self.dynamics.possible_values(parameters)


def arrays_of(parameters: Any) -> tuple[Any, ...]:
    """What may be arrays in what is given as parameters."""
    if isinstance(parameters, Mapping):
        return tuple(parameters.values())
    return () if parameters is None else (parameters,)


def traced(
    function: Callable[..., Mapping[str, Any]], inputs: Sequence[Port], name: str
) -> Program:
    """The program of a function of these inputs."""
    from dalembert.kernels.program.trace import trace

    return trace(function, {port.name: port.shape for port in inputs}, name=name)
