"""Matrices as their entries, without zeros: `out_layout="packed"`.

M of a humanoid has a thousand entries, of which a quarter are numbers of their own, and half of the
slopes of its torques are zeros; to write all of them takes longer than to compute them. M is given by
its entries on and below the diagonal, slopes by all that are not zero between branches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, ShapeError, UnknownNameError
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.model.entries import ENTRIES
from dalembert.text import suggest

LAYOUTS = ("dense", "packed")
_SLOPES = {"dtau_dq": "packed_slopes", "dtau_dqd": "packed_slopes", "M": "packed"}
PACKED = {"mass_matrix": {"M": "packed"}, "inverse_dynamics_derivatives": _SLOPES}


def laid_out(quantity: Quantity, layout: Any) -> Quantity:
    """The quantity with its result in this layout, which its formulations take as a choice."""
    if layout not in LAYOUTS:
        raise UnknownNameError(f"out_layout={layout!r} is unknown{suggest(layout, LAYOUTS)}")
    if layout == "dense":
        return quantity
    sizes = PACKED.get(quantity.name)
    if sizes is None:
        raise DalembertError(
            f"{quantity.name} has no out_layout {layout!r}: only {' and '.join(PACKED)} have zeros "
            "between branches"
        )
    return replace(
        quantity,
        summary=f"{quantity.summary}, their entries without zeros",
        outputs={name: (size,) for name, size in sizes.items()},
        formulations=tuple(_packing(each, list(sizes.values())) for each in quantity.formulations),
        static=(*quantity.static, "out_layout"),
    )


def _packing(formulation: Formulation, sizes: list[str]) -> Formulation:
    """The formulation whose matrices are packed."""
    dense: Callable[..., Any] = formulation.function

    def packed(description: Any, *, out_layout: str, **given: Any) -> Any:
        found = dense(description, **given)
        matrices = found if isinstance(found, tuple) else (found,)
        made = tuple(
            np.stack([A[i, j] for i, j in zip(*ENTRIES[size](description), strict=True)])
            for A, size in zip(matrices, sizes, strict=True)
        )
        return made if isinstance(found, tuple) else made[0]

    return replace(formulation, made_by=packed)


def packed_entries(description: Any, quantity: Quantity) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the first result of a quantity that can be packed."""
    (size,) = next(iter(laid_out(quantity, "packed").outputs.values()))
    return ENTRIES[str(size)](description)


def unpacked(description: Any, quantity: Quantity, values: Any) -> np.ndarray:
    """The matrix (..., nv, nv) of packed entries (..., n); M is full and symmetric."""
    values = np.asarray(values)
    rows, columns = packed_entries(description, quantity)
    if values.shape[-1:] != (len(rows),):
        raise ShapeError(
            f"{next(iter(quantity.outputs))} has {len(rows)} packed entries, (..., {len(rows)}), "
            f"not {values.shape}"
        )
    A = np.zeros((*values.shape[:-1], description.nv, description.nv), dtype=values.dtype)
    A[..., rows, columns] = values
    if quantity.name == "mass_matrix":
        A[..., columns, rows] = values
    return A
