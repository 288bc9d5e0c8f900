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

from dalembert import tracing
from dalembert.errors import ShapeError
from dalembert.formulations.registry import Quantity
from dalembert.kernels import explain
from dalembert.kernels.call.looped import Looped
from dalembert.systems.carried import Around
from dalembert.systems.dynamics import Dynamics

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics
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
        if any(map(tracing.is_symbolic, arrays.values())):
            return self.dynamics.compute(quantity, formulation, **inputs)
        shapes = {name: np.shape(x) for name, x in arrays.items()}
        key = (quantity, formulation, *words.items(), *shapes.items())
        if key not in self._functions:

            def function(**symbols: Any) -> Any:
                return self.dynamics.compute(quantity, formulation, **symbols, **words)

            self._functions[key] = tracing.traced(function, shapes)
        return self._functions[key](**arrays)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.compute("jacobian", q=q, frame=frame, expressed_in=expressed_in)


def is_looped(system: Any, variant: Variant) -> bool:
    """Whether a quantity solves dense equations of a large system, and is called state by state."""
    dense = variant.quantity.inverts_mass or "status" in variant.quantity.outputs
    return dense and system.dynamics.large


def run_on_numbers(system: Any, variant: Variant, arguments: tuple[Any, ...], out: Any) -> Any:
    """A quantity on arrays, state by state; functions are kept in the system's `_looped`."""
    inputs, _ = system.ports(variant)
    functions: dict[Any, Looped] = system.__dict__.setdefault("_looped", {})
    if variant.key not in functions:
        if variant.quantity.inverts_mass:
            system.dynamics.require_regular()
        seen = system.dynamics.on_numbers
        shapes = {port.name: port.shape for port in inputs}
        functions[variant.key] = Looped(lambda **x: variant.outputs(seen, **x), shapes)
    for port, x in zip(inputs, arguments, strict=True):
        if np.shape(x)[np.ndim(x) - len(port.shape) :] != port.shape:
            explained = explain(ValueError(), inputs, arguments)
            raise ShapeError(f"{system.name}.{variant.quantity.name}: {explained}")
    return _returned(functions[variant.key](*arguments), arguments, out)


def _returned(found: Any, arguments: tuple[Any, ...], out: Any) -> Any:
    """In single precision where all arguments are; in the arrays of `out` where there are any."""
    single = all(getattr(x, "dtype", None) == np.float32 for x in arguments)
    several = isinstance(found, tuple)
    results = [x.astype(np.float32) if single else x for x in (found if several else (found,))]
    if out is not None:
        places = out if isinstance(out, tuple) else (out,)
        for k, place in enumerate(places):
            if place is not None:
                place[...] = results[k]
                results[k] = place
    return tuple(results) if several else results[0]
