"""What the checks of JAX and PyTorch on a GPU share: their list, errors, one robot."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy as np
import torch

import dalembert as dl

jax.config.update("jax_enable_x64", True)
DEVICE = os.environ.get("CHECK_DEVICE", "cuda")  # "cpu": to try this script itself
CPU, CARD = jax.devices("cpu")[0], jax.devices()[0]
LIMIT = {"float32": 3e-4, "float64": 1e-11}
CHECKS: dict[str, Callable[[], Any]] = {}


def check(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Remember a function that returns the largest error, or (error, what else to say)."""

    def remember(function: Callable[[], Any]) -> Callable[[], Any]:
        CHECKS[name] = function
        return function

    return remember


def error(found: Any, expected: Any) -> float:
    """The largest difference between trees of arrays, relative to the largest entry of each."""
    worst = 0.0
    for x, y in zip(_leaves(found), _leaves(expected), strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, y.shape, x.dtype, y.dtype)
        if x.size:
            assert np.isfinite(x).all(), "not finite"
            worst = max(worst, float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-30)))
    return worst


def _leaves(tree: Any) -> list[np.ndarray]:
    if isinstance(tree, tuple | list):
        return [leaf for branch in tree for leaf in _leaves(branch)]
    if isinstance(tree, torch.Tensor):
        return [tree.detach().cpu().numpy()]
    return [np.asarray(tree)]


def panda(dtype: str, *lead: int) -> tuple[Any, list[np.ndarray]]:
    """A Panda and states (*lead, 7) of it."""
    system = dl.load("panda")
    x = system.random_state(np.random.default_rng(1), int(np.prod(lead)))
    return system, [a.reshape(*lead, -1).astype(dtype) for a in x]


def squares(values: Any) -> Any:
    return sum((x**2).sum() for x in values)
