"""The compiled quantities of one model: which variant a call means, its kernel, and its call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, ShapeError
from dalembert.formulations import Quantity
from dalembert.formulations.regularity import require_regular_mass_matrix
from dalembert.formulations.registry import INPUTS, Formulation, shape, suggest
from dalembert.kernels import Kernel, Port, Program, build, explain, source_digest
from dalembert.model import Model

# the packages whose sources decide what a traced program computes
TRACED_FROM = ("dalembert.spatial", "dalembert.model", "dalembert.formulations")


@dataclass(frozen=True)
class Variant:
    """One kernel's worth: a quantity, a formulation, static choices and the optional inputs given."""

    quantity: Quantity
    formulation: Formulation
    static: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = ()

    @staticmethod
    def of(quantity: Quantity, formulation: str | None, choices: Mapping[str, Any]) -> Variant:
        """The variant that `choices` ask for; a choice the quantity does not have is an error."""
        known = (*quantity.static, *quantity.optional)
        for name in choices:
            if name not in known:
                raise DalembertError(f"{quantity.name} takes no {name!r}{suggest(name, list(known))}")
        return Variant(
            quantity,
            quantity.formulation(formulation),
            tuple((name, choices[name]) for name in quantity.static if name in choices),
            tuple(name for name in quantity.optional if choices.get(name)),
        )

    @cached_property
    def key(self) -> str:
        """What tells this variant from others."""
        static = [f"{name}={value}" for name, value in self.static]
        return " ".join([self.quantity.name, self.formulation.name, *static, *self.optional])


class Compiled:
    """Kernels and programs of one model, made when first asked for."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._kernels: dict[str, Kernel] = {}
        self._programs: dict[str, Program] = {}

    def kernel(self, variant: Variant) -> Kernel:
        """The kernel of a variant, compiled or from the cache on disk."""
        if variant.key not in self._kernels:
            if variant.quantity.inverts_mass:
                require_regular_mass_matrix(self._model)
            sources = " ".join(source_digest(package) for package in TRACED_FROM)
            self._kernels[variant.key] = build(
                key=f"{self._model.content} {variant.key} {sources}",
                make_program=lambda: self.program(variant),
                inputs=self.inputs(variant),
                outputs=self.outputs(variant),
                name=variant.formulation.name,
                doc=f"{variant.quantity.summary}: {variant.formulation.summary}",
            )
        return self._kernels[variant.key]

    def inputs(self, variant: Variant) -> tuple[Port, ...]:
        """Ports of the kernel: required inputs, optional ones given, parameters if there are any."""
        names = (*variant.quantity.inputs, *variant.optional)
        ports = [Port(name, shape(self._model, INPUTS[name])) for name in names]
        if self._model.parameters:
            ports.append(Port("parameters", (len(self._model.parameters),)))
        return tuple(ports)

    def outputs(self, variant: Variant) -> tuple[Port, ...]:
        """Ports of the results."""
        declared = variant.quantity.outputs.items()
        return tuple(Port(name, shape(self._model, sizes)) for name, sizes in declared)

    def program(self, variant: Variant) -> Program:
        """The formulation traced over this model."""
        if variant.key not in self._programs:
            from dalembert.kernels.trace import trace

            def function(parameters: Any = None, **inputs: Any) -> dict[str, Any]:
                model = self._model if parameters is None else self._model.bind(parameters)
                result = variant.formulation.function(model, **inputs, **dict(variant.static))
                results = result if isinstance(result, tuple) else (result,)
                return dict(zip(variant.quantity.outputs, results, strict=True))

            ports = {port.name: port.shape for port in self.inputs(variant)}
            self._programs[variant.key] = trace(function, ports, name=variant.quantity.name)
        return self._programs[variant.key]

    def call(self, variant: Variant, arguments: tuple[Any, ...], parameters: Any, out: Any) -> Any:
        """Evaluate; what NumPy refuses is said again in the user's terms."""
        kernel = self._kernels.get(variant.key) or self.kernel(variant)
        if self._model.parameters:
            arguments = (*arguments, self._parameter_array(parameters))
        elif parameters is not None:
            self._model.parameter_values(dict(parameters))
        try:
            return kernel.ufunc(*arguments, out=out) if out is not None else kernel.ufunc(*arguments)
        except (ValueError, TypeError) as error:
            explained = explain(error, kernel.inputs, arguments)
            raise ShapeError(f"{self._model.name}.{variant.quantity.name}: {explained}") from None

    def _parameter_array(self, parameters: Any) -> Any:
        if parameters is None or isinstance(parameters, Mapping):
            return self._model.parameter_values(parameters)
        return np.asarray(parameters)
