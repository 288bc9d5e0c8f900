"""The mass matrix as its entries on and below the diagonal, without zeros: `out_layout="packed"`.

M of a humanoid has a thousand entries, of which a quarter are numbers of their own; to write all of
them takes longer than to compute them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, ShapeError, UnknownNameError
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.model.entries import mass_entries
from dalembert.text import suggest

LAYOUTS = ("dense", "packed")


def laid_out(quantity: Quantity, layout: Any) -> Quantity:
    """The quantity with its result in this layout, which its formulations take as a choice."""
    if layout not in LAYOUTS:
        known = suggest(layout, list(LAYOUTS)) if isinstance(layout, str) else ""
        raise UnknownNameError(f"out_layout={layout!r} must be one of {LAYOUTS}{known}")
    if layout == "dense":
        return quantity
    if quantity.name != "mass_matrix":
        raise DalembertError(
            f"{quantity.name} has no out_layout {layout!r}: only mass_matrix is symmetric with "
            "zeros between branches"
        )
    return replace(
        quantity,
        summary=f"{quantity.summary}, its lower entries without zeros",
        outputs={"M": ("packed",)},
        formulations=tuple(map(_packing, quantity.formulations)),
        static=(*quantity.static, "out_layout"),
    )


def _packing(formulation: Formulation) -> Formulation:
    """The formulation whose M is packed."""
    dense: Callable[..., Any] = formulation.function

    def packed(description: Any, *, out_layout: str, **given: Any) -> Any:
        M = dense(description, **given)
        return np.stack([M[i, j] for i, j in zip(*mass_entries(description), strict=True)])

    return replace(formulation, function=packed)


def unpacked(description: Any, values: Any) -> np.ndarray:
    """M (..., nv, nv), full and symmetric, from its packed entries (..., n)."""
    values = np.asarray(values)
    rows, columns = mass_entries(description)
    if values.shape[-1:] != (len(rows),):
        raise ShapeError(
            f"M has {len(rows)} packed entries, (..., {len(rows)}), not {values.shape}"
        )
    M = np.zeros((*values.shape[:-1], description.nv, description.nv), dtype=values.dtype)
    M[..., rows, columns] = M[..., columns, rows] = values
    return M
