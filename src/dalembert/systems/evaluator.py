"""The quantities of a catalogue, compiled when first asked for, and the call that evaluates them.

A call goes System → `Variant` (which quantity, by which formulation) → `Kernel` → `Program` (the
formulation traced over this system) → machine code. Everything here reads only the catalogue, so a
robot, a Lagrangian and a closed chain are compiled by the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import bridge
from dalembert.errors import ShapeError
from dalembert.kernels import Kernel, Port, Program, build, fast_call, source_digest
from dalembert.kernels.call.whose import mapped_over, on_device
from dalembert.kernels.llvm.early import begin
from dalembert.systems import by_tree, on_symbols
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.others_arrays import OnOthersArrays, Parameters, arrays_of
from dalembert.systems.variant import Variant
from dalembert.text import plain_name

if TYPE_CHECKING:
    from dalembert.kernels.cuda.device import DeviceKernel
    from dalembert.kernels.program.count import Count


class Evaluator(OnOthersArrays):
    """Kernels and programs of one system, made when first asked for."""

    def __init__(self, dynamics: Dynamics) -> None:
        plain_name(dynamics.name, "a system")
        self.dynamics = dynamics
        self._open = bool(dynamics.parameters)  # asked in every call
        self._start_without_kernels()

    def _start_without_kernels(self) -> None:
        self._variants: dict[Any, Variant] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._programs: dict[Any, Program] = {}
        self._devices: dict[Any, DeviceKernel] = {}
        self._called: set[str] = set()

    @property
    def description(self) -> Any:
        """The data this system is made of."""
        return self.dynamics.description

    # what users ask for by the name of a quantity

    def evaluate(
        self,
        quantity: str,
        *inputs: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        **choices: Any,
    ) -> Any:
        """Any quantity of the catalogue; `choices` are static, or optional inputs.

        >>> import dalembert as dl
        >>> dl.load("pendulum").evaluate("bias", [0.0], [1.0])
        array([0.])
        """
        return self._evaluate(quantity, inputs, formulation, parameters, out, **choices)

    def kernel(self, quantity: str, formulation: str | None = None, **choices: Any) -> np.ufunc:
        """The compiled `numpy.ufunc` behind a quantity.

        `choices` are static (``frame="tool"``) or name optional inputs (``tip_wrench=True``).

        >>> import dalembert as dl
        >>> isinstance(dl.load("planar_2r").kernel("mass_matrix"), np.ufunc)
        True
        """
        return self._kernel(self._variant(quantity, formulation, choices)).ufunc

    def program(self, quantity: str, formulation: str | None = None, **choices: Any) -> Program:
        """The straight-line program of a quantity for this system."""
        return self._program(self._variant(quantity, formulation, choices))

    def device_kernel(
        self, quantity: str, formulation: str | None = None, **choices: Any
    ) -> DeviceKernel:
        """The CUDA kernels of a quantity; ``.report()`` has their registers, spills and launch.

        Methods called with CuPy arrays use them by themselves.
        """
        return self._device(self._variant(quantity, formulation, choices))

    def reference(
        self, quantity: str, *inputs: Any, formulation: str | None = None, **choices: Any
    ) -> Any:
        """The formulation itself, run as plain NumPy on one state, nothing compiled."""
        names = self.dynamics.quantity(quantity).inputs
        arrays = {n: np.asarray(x, dtype=float) for n, x in zip(names, inputs, strict=True)}
        return self.dynamics.bound().compute(quantity, formulation, **arrays, **choices)

    def operation_count(
        self, quantity: str, formulation: str | None = None, **choices: Any
    ) -> Count:
        """Arithmetic of a quantity for this system, zeros and repetitions removed.

        >>> import dalembert as dl
        >>> dl.load("pendulum").operation_count("inverse_dynamics").trigonometric
        1
        """
        from dalembert.kernels.program.count import count

        return count(self.program(quantity, formulation, **choices))

    # from a variant to its kernel

    def _variant(
        self, quantity: str, formulation: str | None, choices: Mapping[str, Any]
    ) -> Variant:
        """The variant of these choices; arrays among them are optional inputs."""
        told: tuple[Any, ...] = ()
        if choices:
            optional = self.dynamics.quantity(quantity).optional
            told = tuple(
                (name, value is not False if name in optional else value)
                for name, value in choices.items()
            )
        try:
            return self._variants[quantity, formulation, told]
        except (KeyError, TypeError):  # unknown, or a choice that is no word
            found = Variant.of(self.dynamics, quantity, formulation, choices)
        self._variants[quantity, formulation, told] = found
        return found

    def ports(self, variant: Variant) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs of a variant's kernel, the open parameters last, and its results."""
        seen = self.dynamics
        inputs = [Port(name, seen.shape(seen.inputs[name])) for name in variant.inputs]
        if seen.parameters:
            inputs.append(Port("parameters", (len(seen.parameters),)))
        declared = variant.quantity.outputs.items()
        return tuple(inputs), tuple(Port(name, seen.shape(sizes)) for name, sizes in declared)

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
        if key not in self._kernels:
            begin()  # a compiled kernel is linked, or else compiled, with it
            sources = [source_digest(package) for package in self.dynamics.traced_from]
            if make_program is not None:
                sources.append(source_digest("dalembert.systems"))
            self._kernels[key] = build(
                key=repr((self.dynamics.content, key, sources)),
                make_program=make_program or (lambda: traced(function, ports[0], name)),
                inputs=ports[0],
                outputs=ports[1],
                name=name,
                doc=doc,
                reference=function if numeric else None,
            )
        return self._kernels[key]

    def _kernel(self, variant: Variant) -> Kernel:
        if variant.key not in self._kernels and variant.quantity.inverts_mass:
            self.dynamics.require_regular()
        made, way = variant.quantity, variant.formulation
        doc = f"{made.summary}: {way.summary}"
        function, ports = self._traceable(variant), self.ports(variant)
        apart = partial(self._traced, variant, way.name)
        if not by_tree.is_separable(self.dynamics, variant):
            return self.build(variant.key, function, ports, way.name, doc, numeric=True)
        return self.build(variant.key, function, ports, way.name, doc, True, apart)

    def _traced(self, variant: Variant, name: str) -> Program:
        """The formulation traced over this system, tree by tree where it is a scene."""
        ports = self.ports(variant)
        if by_tree.is_separable(self.dynamics, variant):
            return by_tree.program(self.dynamics, variant, ports, name)
        return traced(self._traceable(variant), ports[0], name)

    def _traceable(self, variant: Variant) -> Callable[..., Mapping[str, Any]]:
        def function(
            parameters: Any = None, inertia: Any = None, **inputs: Any
        ) -> Mapping[str, Any]:
            seen = self.dynamics if parameters is None else self.dynamics.bind(parameters)
            seen = seen if inertia is None else seen.with_inertia(inertia)
            return variant.outputs(seen.description, **inputs)

        return function

    def _program(self, variant: Variant) -> Program:
        """The formulation traced over this system."""
        if variant.key not in self._programs:
            self._programs[variant.key] = self._traced(variant, variant.quantity.name)
        return self._programs[variant.key]

    def _device(self, variant: Variant) -> DeviceKernel:
        from dalembert.kernels.cuda.device import DeviceKernel

        if variant.key not in self._devices:
            made = DeviceKernel(self._program(variant), variant.quantity.name)
            self._devices[variant.key] = made
        return self._devices[variant.key]

    def _device_kernels(self) -> dict[Any, DeviceKernel]:
        """Kernels for arrays of a GPU, by the keys of variants."""
        return self._devices

    # the call

    def _evaluate(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        **choices: Any,
    ) -> Any:
        """What a method of the quantity's name returns; choices that are None were not made."""
        chosen = {name: value for name, value in choices.items() if value is not None}
        variant = self._variant(quantity, formulation, chosen)
        arguments = (*inputs, *(chosen[name] for name in variant.optional))
        result = self._result(variant, arguments, parameters, out)
        symbolic = on_symbols.is_symbols(result[0] if isinstance(result, tuple) else result)
        before = self.__dict__.get(quantity)
        if getattr(before, "only", before is None) and not (
            symbolic or chosen or formulation or self._open
        ):
            if quantity in self._called or on_device(inputs):
                self._shorten(quantity, variant, inputs)
            self._called.add(quantity)  # a first result does not wait for what makes others quicker
        return result

    def _result(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Parameters, out: Any
    ) -> Any:
        """The kernel on arrays, or the formulation itself where symbols are among them."""
        if mapped_over((*arguments, *arrays_of(parameters))):
            return self._mapped(variant, arguments, parameters, out)
        if any(map(bridge.is_symbolic, arguments)):
            return self._on_symbols(variant, arguments, parameters)
        try:
            return self._run(variant, arguments, parameters, out)
        except ShapeError:
            # no numbers: perhaps somebody's own symbols, looked at only now as calls are to be quick
            found = on_symbols.as_arrays(arguments)
            if found is not None:
                return self._on_symbols(variant, tuple(found), parameters)
            if not on_symbols.has_sympy(arguments):
                raise
        inputs, _ = self.ports(variant)
        values = self.parameter_array(parameters) if self._open else np.zeros(0)
        return on_symbols.by_sympy(self._program(variant), inputs, arguments, values)

    def _on_symbols(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Parameters
    ) -> Any:
        """The quantity at one state of symbols, as inside somebody's own constraint or law."""
        on_symbols.require_scalar_graph(self.dynamics.name, variant.quantity.name, arguments)
        inputs, _ = self.ports(variant)
        run = self._traceable(variant)
        found = tuple(self.at_symbols(run, inputs, arguments, parameters).values())
        return found if len(found) > 1 else found[0]

    def at_symbols(
        self,
        function: Callable[..., Mapping[str, Any]],
        inputs: Sequence[Port],
        arguments: Sequence[Any],
        parameters: Parameters = None,
    ) -> Mapping[str, Any]:
        """A traceable function of this system at one state of symbols."""
        given = {
            port.name: bridge.array(bridge.column(x), *port.shape) if bridge.is_symbolic(x) else x
            for port, x in zip(inputs, arguments, strict=False)
        }
        open_ = self.parameter_array(parameters) if self.dynamics.parameters else None
        return function(parameters=open_, **given)

    def _run(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Parameters, out: Any
    ) -> Any:
        """The kernel on arrays, on the GPU where they lie there."""
        if self._open:
            arguments = (*arguments, self._parameters_beside(arguments, parameters))
        elif parameters is not None:
            self.dynamics.parameter_values(dict(parameters))
        try:
            if on_device(arguments):
                return self._device(variant)(arguments, out)
        except ShapeError as error:
            raise ShapeError(f"{self.dynamics.name}.{variant.quantity.name}: {error}") from None
        kernel = self._kernels.get(variant.key) or self._kernel(variant)
        return self.call(kernel, variant.quantity.name, arguments, out)

    def call(self, kernel: Kernel, what: str, arguments: Sequence[Any], out: Any = None) -> Any:
        """A kernel on arrays; what NumPy refuses is said again in the user's terms."""
        if mapped_over(arguments):
            from dalembert.kernels.call import foreign

            sides = [
                [foreign.Named.of(port) for port in x] for x in (kernel.inputs, kernel.outputs)
            ]
            return foreign.Mapped(f"{self.dynamics.name}.{what}", kernel.ufunc, *sides)(
                arguments, out
            )
        try:
            return kernel.ufunc(*arguments) if out is None else kernel.ufunc(*arguments, out=out)
        except (ValueError, TypeError) as error:
            from dalembert.kernels.call.explain import explain

            explained = explain(error, kernel.inputs, arguments)
            raise ShapeError(f"{self.dynamics.name}.{what}: {explained}") from None

    def _shorten(self, quantity: str, variant: Variant, inputs: tuple[Any, ...]) -> None:
        """Put what is quicker in front of the method: for known batches on a GPU, and a builtin
        for calls with one plain state, see `fast_call`.

        Only in front of the library's own: a method that a subclass overrides stays what it is.
        """

        from dalembert.systems.on_card import OnCard

        card = on_device(inputs)
        if card and quantity in self.__dict__:
            return
        method = getattr(type(self), quantity, None)
        own = getattr(method, "__module__", "").partition(".")[0] == __name__.partition(".")[0]
        if method is None or not own:
            return
        doc = f"{quantity}{_plain_signature(method)}\n--\n\n{method.__doc__ or ''}"
        made: Callable[..., Any] = OnCard(
            self._device_kernels(), variant.key, method.__get__(self), doc, only=card
        )
        if not card:
            made = fast_call(self._kernel(variant), made, quantity, doc)
        self.__dict__[quantity] = made


def traced(
    function: Callable[..., Mapping[str, Any]], inputs: Sequence[Port], name: str
) -> Program:
    """The program of a function of these inputs."""
    from dalembert.kernels.program.trace import trace

    return trace(function, {port.name: port.shape for port in inputs}, name=name, plain=True)


def _plain_signature(method: Any) -> str:
    """The arguments of a method without self and annotations, as `inspect` reads them in a doc."""
    found = signature(method)
    bare = [p.replace(annotation=p.empty) for p in list(found.parameters.values())[1:]]
    return str(found.replace(parameters=bare, return_annotation=found.empty))
