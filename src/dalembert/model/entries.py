"""Which entries of M(q), and of slopes of τ, a mechanism has: between branches there is nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.tracing import is_symbolic


def mass_entries(description: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the entries of M on and below its diagonal that are not always zero.

    In a tree M_ij is there where the joint of j carries that of i. Row by row, columns ascending; of
    something that is no tree of bodies, the whole lower triangle.

    >>> import dalembert as dl
    >>> rows, columns = mass_entries(dl.load("planar_2r").model)
    >>> list(zip(rows.tolist(), columns.tolist()))
    [(0, 0), (1, 0), (1, 1)]
    """
    tree = getattr(description, "tree", None)
    supports = getattr(tree, "supports", None)
    G = getattr(description, "G", None)
    if supports is None or tree is None or is_symbolic(G):
        return np.tril_indices(description.nv)
    if G is None:
        return _carried(tree.bodies, supports)
    # M = Gᵀ M_tree G
    rows, columns = _carried(tree.bodies, supports)
    there = np.zeros((tree.nv, tree.nv), dtype=int)
    there[rows, columns] = there[columns, rows] = 1
    moved = (np.asarray(G) != 0.0).astype(int)
    found = np.nonzero(np.tril(moved.T @ there @ moved))
    return found[0], found[1]


def slope_entries(description: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) of the entries of ∂τ/∂q and ∂τ/∂q̇ that are not always zero.

    Those of M, mirrored; all of them where elements, such as tendons, may act between branches. In the
    order in which they are computed: by the larger index, each row before the column, to the diagonal.
    """
    nv = description.nv
    there = np.zeros((nv, nv), dtype=bool)
    there[mass_entries(description)] = True
    tree = getattr(description, "tree", None)
    if tree is None or tree.elements:
        there[:] = True
    rows, columns = np.nonzero(there | there.T)
    order = np.lexsort((columns > rows, np.minimum(rows, columns), np.maximum(rows, columns)))
    return rows[order], columns[order]


ENTRIES = {"packed": mass_entries, "packed_slopes": slope_entries}  # by the size of what is packed


def _carried(bodies: Any, supports: Any) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = [], []
    for body, way in zip(bodies, supports, strict=True):
        carrying = np.concatenate([np.arange(bodies[j].v.start, bodies[j].v.stop) for j in way])
        for row in range(body.v.start, body.v.stop):
            own = carrying[carrying <= row]
            rows.append(np.full(len(own), row))
            columns.append(np.sort(own))
    return np.concatenate(rows), np.concatenate(columns)
