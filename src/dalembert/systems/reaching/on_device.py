"""The same search on arrays of a GPU: one kernel for the steps, one for what is missed."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from dalembert.errors import SettingError, ShapeError
from dalembert.kernels.cuda.device import home
from dalembert.systems.reaching.hunt import Hunt, Reached
from dalembert.systems.reaching.targets import common_batch


def reach_on_device(hunt: Hunt, T: Any, q0: Any, continuous: bool) -> Reached:
    """Postures of targets (..., 4, 4) on a GPU; those that are no poses are not found."""
    import cupy as cp

    if hunt.how.goal is not None or continuous or hunt.weights is not None:
        raise SettingError(
            "a goal, weights and continuous=True are for arrays on the host: use T.get()"
        )
    given = {"T": T} | ({} if q0 is None else {"q0": q0})
    with home(list(given), list(given.values())):
        targets, nq, first = cp.asarray(T), hunt.system.nq, None
        if tuple(targets.shape[-2:]) != (4, 4):
            raise ShapeError(f"T on a GPU must be poses (..., 4, 4), not {tuple(targets.shape)}")
        batch = common_batch(tuple(targets.shape[:-2]), q0, nq)
        rows = prod(batch)
        flat = cp.broadcast_to(targets, (*batch, 4, 4)).reshape(rows, 4, 4)
        if q0 is not None:
            starts = cp.broadcast_to(cp.asarray(q0), (*batch, nq))
            first = cp.ascontiguousarray(starts).reshape(rows, nq)
        searched = replace(hunt, device=True).run(flat.astype("float64", copy=False), first)
        q = hunt.rested(searched.q, cp.asarray(hunt.resting) if first is None else first)
        return Reached(q.reshape(*batch, nq), searched.found.reshape(batch))
