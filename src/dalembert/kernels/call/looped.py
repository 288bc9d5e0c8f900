"""A function of one state called like its kernel, where none is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

Shapes = Mapping[str, tuple[int, ...]]
Function = Callable[..., Any]


class Looped:
    """The same function on numbers, one state after the other; called like its kernel."""

    def __init__(self, function: Function, inputs: Shapes) -> None:
        self.function = function
        self.inputs = {key: len(shape) for key, shape in inputs.items() if prod(shape)}

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """One array, or a tuple of them where the function returns a dict; batches broadcast."""
        given = [np.asarray(x, dtype=float) for x in arrays]
        cores = list(self.inputs.values())
        if all(x.ndim == core for x, core in zip(given, cores, strict=True)):
            return self._returned(self._one(given), out)
        lead = np.broadcast_shapes(
            *(x.shape[: x.ndim - core] for x, core in zip(given, cores, strict=True))
        )
        full = [
            np.broadcast_to(x, (*lead, *x.shape[x.ndim - core :]))
            for x, core in zip(given, cores, strict=True)
        ]
        rows = [self._one([x[where] for x in full]) for where in np.ndindex(*lead)]
        results = [
            np.stack(column).reshape(*lead, *column[0].shape) for column in zip(*rows, strict=True)
        ]
        return self._returned(results, out)

    @staticmethod
    def _returned(results: list[np.ndarray], out: Any) -> Any:
        if out is not None:
            out[...] = results[0]
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _one(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        found = self.function(**dict(zip(self.inputs, arrays, strict=True)))
        values = found.values() if isinstance(found, Mapping) else [found]
        return [np.asarray(value, dtype=float) for value in values]
