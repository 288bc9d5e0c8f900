"""Quantities on arrays of dask and xarray, parameters as arrays, and what of a system travels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kernels.call.whose import mapped_over
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.variant import Variant
from dalembert.travel import Portable

Parameters = Mapping[str, Any] | np.ndarray | None


class OnOthersArrays(Portable):
    """A system whose quantities are mapped over chunks, in this process or in others."""

    dynamics: Dynamics
    _open: bool  # whether there are open parameters

    if TYPE_CHECKING:

        def _start_without_kernels(self) -> None: ...
        def _variant(
            self, quantity: str, formulation: str | None, choices: Mapping[str, Any]
        ) -> Variant: ...
        def _result(
            self, variant: Variant, arguments: tuple[Any, ...], parameters: Any, out: Any
        ) -> Any: ...

    def _data(self) -> dict[str, Any]:
        """What goes to another process; kernels are made again there, or found in the cache.

        They are in front of methods, and in private tables, which hold nothing else.
        """

        from dalembert.systems.on_card import OnCard

        return {
            name: value
            for name, value in super()._data().items()
            if not isinstance(value, BuiltinFunctionType | OnCard)
            and not (name.startswith("_") and type(value) is dict)
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(state)
        self._start_without_kernels()

    def _mapped(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Parameters, out: Any
    ) -> Any:
        """The quantity on arrays of dask and xarray, with the names of its axes."""

        from dalembert.kernels.call import foreign
        from dalembert.systems.labels import named_ports

        inputs, outputs = named_ports(self.dynamics, variant)
        given = (self._parameters_beside(arguments, parameters),) if self._open else ()
        what = f"{self.dynamics.name}.{variant.quantity.name}"
        choices = {**dict(variant.static), **dict.fromkeys(variant.optional, True)}
        asked = (variant.quantity.name, variant.formulation.name, choices)
        chunk = partial(self._chunk, *asked)  # words travel, a variant does not
        return foreign.Mapped(what, chunk, inputs, outputs)((*arguments, *given), out)

    def _chunk(
        self, quantity: str, formulation: str, choices: Mapping[str, Any], *arrays: Any
    ) -> Any:
        """A chunk of it, NumPy's arrays with those of the open parameters last."""
        variant = self._variant(quantity, formulation, choices)
        count = len(variant.inputs)
        return self._on_chunk(variant, arrays[:count], arrays[count] if self._open else None)

    def _on_chunk(self, variant: Variant, arrays: tuple[Any, ...], parameters: Any) -> Any:
        """What the method of this quantity gives for NumPy's arrays, refusals included."""
        return self._result(variant, arrays, parameters, None)

    def _parameters_beside(self, arguments: Sequence[Any], parameters: Parameters) -> Any:
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
