"""The same search on arrays of a GPU: one kernel for the steps, one for what is missed."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from dalembert.errors import SettingError, ShapeError
from dalembert.kernels.cuda.device import home
from dalembert.systems.reaching.hunt import Hunt, Reached


def reach_on_device(hunt: Hunt, T: Any, q0: Any, continuous: bool) -> Reached:
    """Postures of targets (..., 4, 4) on a GPU; those that are no poses are not found."""
    import cupy as cp

    if hunt.how.goal is not None or continuous or hunt.weights is not None:
        raise SettingError(
            "a goal, weights and continuous=True are for arrays on the host: use T.get()"
        )
    given = {"T": T} | ({} if q0 is None else {"q0": q0})
    with home(list(given), list(given.values())):
        return _reached(cp, hunt, cp.asarray(T), q0)


def _reached(cp: Any, hunt: Hunt, targets: Any, q0: Any) -> Reached:
    if tuple(targets.shape[-2:]) != (4, 4):
        raise ShapeError(f"T on a GPU must be poses (..., 4, 4), not {tuple(targets.shape)}")
    batch, nq = tuple(targets.shape[:-2]), hunt.system.nq
    rows = prod(batch)
    flat = targets.reshape(rows, 4, 4).astype("float64", copy=False)
    first = None
    if q0 is not None:
        first = cp.ascontiguousarray(cp.broadcast_to(cp.asarray(q0), (*batch, nq))).reshape(
            rows, nq
        )
    q, found = replace(hunt, device=True).run(flat, first)
    return Reached(q.reshape(*batch, nq), found.reshape(batch))
