"""Large constrained systems: their equations on numbers, state by state, by LAPACK.

Straight-line code of a dense solution grows with the cube of the system: 90 coordinates held by 60 rows
are a million operations, and minutes to compile. What grows with the tree and the loops alone (M, h, ψ,
A and its drift) is traced once here and then evaluated; the routes themselves run on those numbers as
they are written, and `linalg` leaves the dense matrices to LAPACK.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert import bridge
from dalembert.errors import ShapeError
from dalembert.formulations.registry import Quantity
from dalembert.kernels import explain
from dalembert.kernels.call.looped import Looped
from dalembert.kernels.call.whose import on_device
from dalembert.systems.carried import Around
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.timed import TimedSystem

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics
    from dalembert.systems.evaluator import Parameters
    from dalembert.systems.variant import Variant

MOST = 200_000  # operations of a solution that is compiled whole


def operations(nv: int, rows: int, rank: int) -> int:
    """About as many operations as forward dynamics by the multiplier route have as straight-line code.

    Redundant rows are chosen from by comparing all of them at every step.

    >>> operations(28, 24, 20) < MOST < operations(92, 60, 40)
    True
    """
    basis = 2 * rows * rows * nv if rank == rows else 5 * rank * rows * nv
    return basis + rows * nv * nv + nv**3 // 3


def is_large(system: ConstrainedDynamics) -> bool:
    """Whether a system's dense solutions are left to LAPACK.

    What has open parameters or coordinates that move by themselves is compiled whole in any case.
    """
    if system.pivots is None or system.parameters or len(system.values) or system.dynamics.moving:
        return False
    return operations(system.nv, system.rows, len(system.pivots.rows)) > MOST


@dataclass(frozen=True, eq=False)
class Evaluated(Around):
    """The system inside, each of its quantities traced once and then evaluated on numbers."""

    dynamics: Dynamics
    _functions: dict[Any, Any] = field(default_factory=dict)

    traced_from: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return self.dynamics.name

    @property
    def content(self) -> str:
        return self.dynamics.content

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        return self.dynamics.catalogue

    @property
    def parameters(self) -> Mapping[str, float | None]:
        return self.dynamics.parameters

    @property
    def description(self) -> Any:
        return self.dynamics.description

    def compute(self, quantity: str, formulation: str | None = None, **inputs: Any) -> Any:
        words = {name: x for name, x in inputs.items() if isinstance(x, str) or x is None}
        arrays = {name: x for name, x in inputs.items() if name not in words}
        if any(map(bridge.is_symbolic, arrays.values())):
            return self.dynamics.compute(quantity, formulation, **inputs)
        shapes = {name: np.shape(x) for name, x in arrays.items()}
        key = (quantity, formulation, *words.items(), *shapes.items())
        if key not in self._functions:

            def function(**symbols: Any) -> Any:
                return self.dynamics.compute(quantity, formulation, **symbols, **words)

            self._functions[key] = bridge.traced(function, shapes, shared=True)
        return self._functions[key](**arrays)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.compute("jacobian", q=q, frame=frame, expressed_in=expressed_in)


class LargeMethods(TimedSystem):
    """Quantities of large systems that solve dense equations are called state by state."""

    dynamics: ConstrainedDynamics

    def _run(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Parameters, out: Any
    ) -> Any:
        if not self._is_looped(variant) or parameters is not None or on_device(arguments):
            return super()._run(variant, arguments, parameters, out)
        inputs, _ = self.ports(variant)
        if variant.key not in self._looped:
            if variant.quantity.inverts_mass:
                self.dynamics.require_regular()
            seen = self.dynamics.on_numbers
            shapes = {port.name: port.shape for port in inputs}
            self._looped[variant.key] = Looped(lambda **x: variant.outputs(seen, **x), shapes)
        for port, x in zip(inputs, arguments, strict=True):
            if np.shape(x)[np.ndim(x) - len(port.shape) :] != port.shape:
                explained = explain(ValueError(), inputs, arguments)
                raise ShapeError(f"{self.name}.{variant.quantity.name}: {explained}")
        return _returned(self._looped[variant.key](*arguments), arguments, out)

    def _shorten(self, quantity: str, variant: Variant, inputs: tuple[Any, ...]) -> None:
        if not self._is_looped(variant):
            super()._shorten(quantity, variant, inputs)

    def _is_looped(self, variant: Variant) -> bool:
        dense = variant.quantity.inverts_mass or "status" in variant.quantity.outputs
        return dense and self.dynamics.large

    @property
    def _looped(self) -> dict[Any, Looped]:
        """The functions called so far."""
        found: dict[Any, Looped] = self.__dict__.setdefault("_looped_functions", {})
        return found


def _returned(found: Any, arguments: tuple[Any, ...], out: Any) -> Any:
    """In single precision where all arguments are; in the arrays of `out` where there are any."""
    single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
    several = isinstance(found, tuple)
    results = [x.astype(np.float32) if single else x for x in (found if several else (found,))]
    if out is not None:
        places = out if isinstance(out, tuple) else (out,)
        results = [_put(x, place) for x, place in zip(results, places, strict=True)]
    return tuple(results) if several else results[0]


def _put(x: np.ndarray, place: np.ndarray | None) -> np.ndarray:
    if place is None:
        return x
    place[...] = x
    return place
