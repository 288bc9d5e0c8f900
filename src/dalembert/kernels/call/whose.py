"""Whose arrays they are: asked in every call, so that nothing is imported to find out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def on_device(arrays: Sequence[Any]) -> bool:
    """Whether any of the arrays lies on a GPU."""
    return any(type(x) is not np.ndarray and hasattr(x, "__cuda_array_interface__") for x in arrays)


def is_lazy(x: Any) -> bool:
    """Whether it is a dask array."""
    return _package(x) == "dask"


def is_labelled(x: Any) -> bool:
    """Whether it is an xarray.DataArray."""
    return _package(x) == "xarray" and hasattr(x, "dims") and hasattr(x, "name")


def mapped_over(arrays: Sequence[Any]) -> bool:
    """Whether any of them is to be mapped over: dask's or xarray's."""
    return any(type(x) is not np.ndarray and (is_lazy(x) or is_labelled(x)) for x in arrays)


def _package(x: Any) -> str:
    return type(x).__module__.partition(".")[0]
