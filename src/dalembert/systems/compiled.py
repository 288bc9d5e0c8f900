"""The compiled quantities of one system: which variant a call means, its kernel, and its call.

A system is described by data (a robot's `Model`, the energies of a `Lagrangian`) and a catalogue of
quantities, whose formulations are functions (description, **inputs). Everything here reads only the
`Description` interface, so a robot and anything else that moves are compiled by the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert import formulations
from dalembert.errors import DalembertError, FormulationError, ShapeError
from dalembert.formulations import Quantity
from dalembert.formulations.forward.regularity import require_regular_mass_matrix
from dalembert.formulations.registry import INPUTS, SIZES, Formulation, Size, suggest
from dalembert.kernels import Kernel, Port, Program, build, fast_call, source_digest
from dalembert.kernels.call.explain import explain
from dalembert.kernels.cuda.device import DeviceKernel, on_device
from dalembert.text import plain_name

if TYPE_CHECKING:
    from dalembert.kernels.program.count import Count

# the packages whose sources decide what a traced program computes
TRACED_FROM = (
    "dalembert.bridge",
    "dalembert.linalg",
    "dalembert.spatial",
    "dalembert.model",
    "dalembert.formulations",
)

Parameters = Mapping[str, float] | np.ndarray | None


class Description(Protocol):
    """The data of a system: sizes, a digest of its content, and named parameters to bind."""

    @property
    def name(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def content(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, float | None]: ...
    def bind(self, values: Any) -> Any: ...
    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray: ...


@dataclass(frozen=True)
class Variant:
    """One kernel's worth: a quantity, a formulation, static choices, the optional inputs given."""

    quantity: Quantity
    formulation: Formulation
    static: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = ()

    @staticmethod
    def of(
        quantity: Quantity,
        formulation: str | None,
        choices: Mapping[str, Any],
        description: Any = None,
    ) -> Variant:
        """The variant that `choices` ask for; a choice the quantity does not have is an error."""
        known = (*quantity.static, *quantity.optional)
        for name in choices:
            if name not in known:
                raise DalembertError(
                    f"{quantity.name} takes no {name!r}{suggest(name, list(known))}"
                )
        chosen = quantity.formulation(formulation, description)
        for name in choices:
            if name in quantity.static and not chosen.takes(name):
                raise FormulationError(
                    f"{quantity.name} by {chosen.name} has no choice of {name!r}"
                )
        return Variant(
            quantity,
            chosen,
            tuple((name, choices[name]) for name in quantity.static if name in choices),
            tuple(name for name in quantity.optional if choices.get(name)),
        )

    @cached_property
    def key(self) -> str:
        """What tells this variant from others."""
        static = [f"{name}={value}" for name, value in self.static]
        return " ".join([self.quantity.name, self.formulation.name, *static, *self.optional])


@dataclass(frozen=True)
class Kind:
    """What systems of one kind share: their catalogue, and what their programs are traced from.

    A symbolic size that the registry does not know is an attribute of the description.
    """

    quantity: Callable[[str], Quantity]
    traced_from: tuple[str, ...] = TRACED_FROM
    inputs: Mapping[str, tuple[Size, ...]] = field(default_factory=lambda: INPUTS)
    require_regular: Callable[[Any], None] = require_regular_mass_matrix

    def shape(self, description: Any, sizes: tuple[Size, ...]) -> tuple[int, ...]:
        """Numbers for symbolic sizes."""

        def number(size: Size) -> int:
            if isinstance(size, int):
                return size
            return SIZES[size](description) if size in SIZES else getattr(description, size)

        return tuple(map(number, sizes))


ROBOT = Kind(formulations.quantity)


class Compiled:
    """Kernels and programs of one description, made when first asked for."""

    def __init__(self, description: Description, kind: Kind = ROBOT) -> None:
        plain_name(description.name, "a system")
        self.description = description
        self.kind = kind
        self._kernels: dict[str, Kernel] = {}
        self._programs: dict[str, Program] = {}
        self._devices: dict[str, DeviceKernel] = {}

    def kernel(self, variant: Variant) -> Kernel:
        """The kernel of a variant, compiled or from the cache on disk."""
        if variant.key not in self._kernels:
            if variant.quantity.inverts_mass:
                self.kind.require_regular(self.description)
            sources = " ".join(source_digest(package) for package in self.kind.traced_from)
            self._kernels[variant.key] = build(
                key=f"{self.description.content} {variant.key} {sources}",
                make_program=lambda: self.program(variant),
                inputs=self.inputs(variant),
                outputs=self.outputs(variant),
                name=variant.formulation.name,
                doc=f"{variant.quantity.summary}: {variant.formulation.summary}",
            )
        return self._kernels[variant.key]

    def inputs(self, variant: Variant) -> tuple[Port, ...]:
        """Ports of the kernel: required inputs, optional ones given, parameters if any."""
        names = (*variant.quantity.inputs, *variant.optional)
        ports = [Port(name, self._shape(self.kind.inputs[name])) for name in names]
        if self.description.parameters:
            ports.append(Port("parameters", (len(self.description.parameters),)))
        return tuple(ports)

    def outputs(self, variant: Variant) -> tuple[Port, ...]:
        """Ports of the results."""
        declared = variant.quantity.outputs.items()
        return tuple(Port(name, self._shape(sizes)) for name, sizes in declared)

    def _shape(self, sizes: tuple[Size, ...]) -> tuple[int, ...]:
        return self.kind.shape(self.description, sizes)

    def program(self, variant: Variant) -> Program:
        """The formulation traced over this description."""
        if variant.key not in self._programs:
            from dalembert.kernels.program.trace import trace

            def function(parameters: Any = None, **inputs: Any) -> dict[str, Any]:
                bound = (
                    self.description if parameters is None else self.description.bind(parameters)
                )
                result = variant.formulation.function(bound, **inputs, **dict(variant.static))
                results = result if isinstance(result, tuple) else (result,)
                return dict(zip(variant.quantity.outputs, results, strict=True))

            ports = {port.name: port.shape for port in self.inputs(variant)}
            self._programs[variant.key] = trace(function, ports, name=variant.quantity.name)
        return self._programs[variant.key]

    def device_kernel(self, variant: Variant) -> DeviceKernel:
        """The CUDA kernels of a variant, compiled when the first array on a GPU arrives."""
        if variant.key not in self._devices:
            made = DeviceKernel(self.program(variant), variant.quantity.name)
            self._devices[variant.key] = made
        return self._devices[variant.key]

    def call(self, variant: Variant, arguments: tuple[Any, ...], parameters: Any, out: Any) -> Any:
        """Evaluate; what NumPy refuses is said again in the user's terms."""
        if self.description.parameters:
            arguments = (*arguments, self._parameter_array(parameters))
        elif parameters is not None:
            self.description.parameter_values(dict(parameters))
        if on_device(arguments):
            return self._on_device(variant, arguments, out)
        kernel = self._kernels.get(variant.key) or self.kernel(variant)
        try:
            return (
                kernel.ufunc(*arguments, out=out) if out is not None else kernel.ufunc(*arguments)
            )
        except (ValueError, TypeError) as error:
            explained = explain(error, kernel.inputs, arguments)
            name = f"{self.description.name}.{variant.quantity.name}"
            raise ShapeError(f"{name}: {explained}") from None

    def _on_device(self, variant: Variant, arguments: tuple[Any, ...], out: Any) -> Any:
        try:
            return self.device_kernel(variant)(arguments, out)
        except ShapeError as error:
            raise ShapeError(f"{self.description.name}.{variant.quantity.name}: {error}") from None

    def _parameter_array(self, parameters: Any) -> Any:
        if parameters is None or isinstance(parameters, Mapping):
            return self.description.parameter_values(parameters)
        return np.asarray(parameters)


class Evaluator:
    """What users hold of any system: its quantities, compiled when first asked for."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._variants: dict[str, Variant] = {}

    @property
    def description(self) -> Any:
        """The data this system is made of."""
        return self._compiled.description

    @property
    def kind(self) -> Kind:
        """The catalogue behind its quantities."""
        return self._compiled.kind

    def kernel(self, quantity: str, formulation: str | None = None, **choices: Any) -> np.ufunc:
        """The compiled `numpy.ufunc` behind a quantity.

        `choices` are static (``frame="tool"``) or name optional inputs (``tip_wrench=True``).

        >>> import dalembert as dl
        >>> isinstance(dl.load("planar_2r").kernel("mass_matrix"), np.ufunc)
        True
        """
        return self._compiled.kernel(self._variant(quantity, formulation, choices)).ufunc

    def program(self, quantity: str, formulation: str | None = None, **choices: Any) -> Program:
        """The straight-line program of a quantity for this system."""
        return self._compiled.program(self._variant(quantity, formulation, choices))

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

    def reference(
        self, quantity: str, *inputs: Any, formulation: str | None = None, **choices: Any
    ) -> Any:
        """The formulation itself, run as plain NumPy on one state, nothing compiled."""
        found = self.kind.quantity(quantity)
        bound = self.description
        if bound.parameters:
            bound = bound.bind(bound.parameter_values())
        arrays = {
            name: np.asarray(x, dtype=float) for name, x in zip(found.inputs, inputs, strict=True)
        }
        chosen = found.formulation(formulation, self.description)
        return chosen.function(bound, **arrays, **choices)

    def evaluate(
        self,
        quantity: str,
        *inputs: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        **choices: Any,
    ) -> Any:
        """Any quantity of the catalogue, compiled; `choices` are static, or optional inputs.

        >>> import dalembert as dl
        >>> dl.load("pendulum").evaluate("bias", [0.0], [1.0])
        array([0.])
        """
        optional = self.kind.quantity(quantity).optional
        given = {name: choices.pop(name) for name in optional if name in choices}
        return self._evaluate(quantity, inputs, given, formulation, parameters, None, **choices)

    def _variant(
        self, quantity: str, formulation: str | None, choices: Mapping[str, Any]
    ) -> Variant:
        key = repr((quantity, formulation, choices))
        found = self._variants.get(key)
        if found is None:
            listed = self.kind.quantity(quantity)
            found = Variant.of(listed, formulation, choices, self.description)
            self._variants[key] = found
        return found

    def _evaluate(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        optional: Mapping[str, Any],
        formulation: str | None,
        parameters: Parameters,
        out: Any,
        **static: str,
    ) -> Any:
        given = {name: value for name, value in optional.items() if value is not None}
        chosen = {**static, **dict.fromkeys(given, True)}
        variant = self._variant(quantity, formulation, chosen)
        result = self._compiled.call(variant, (*inputs, *given.values()), parameters, out)
        plain = formulation is None and not (given or static or self.description.parameters)
        if plain and not on_device(inputs):
            self._shorten(quantity, variant)
        return result

    def _shorten(self, quantity: str, variant: Variant) -> None:
        """Put a builtin in front of the method, for calls with one plain state; see `fast_call`."""
        if quantity not in self.__dict__ and hasattr(type(self), quantity):
            method = getattr(self, quantity)
            doc = getattr(type(self), quantity).__doc__
            kernel = self._compiled.kernel(variant)
            self.__dict__[quantity] = fast_call(kernel, method, quantity, doc)
