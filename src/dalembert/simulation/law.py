"""What a controller is to a simulation: a traceable law, its constants and its own state."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

import numpy as np


class Controller(Protocol):
    """A law τ, ż = f(t, q, q̇, z, constants), plain NumPy that also runs on symbols.

    `constants` are gains and targets: inputs of the kernel, so that other numbers need no other
    kernel. Two controllers with equal `structure` and shapes of constants have the same law.
    """

    @property
    def constants(self) -> Mapping[str, np.ndarray]: ...
    @property
    def initial(self) -> np.ndarray: ...
    @property
    def structure(self) -> Hashable: ...
    def law(
        self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]
    ) -> tuple[Any, Any]: ...


def pack(constants: Mapping[str, np.ndarray]) -> np.ndarray:
    """All constants in one vector.

    >>> pack({"kp": np.array([1.0, 2.0]), "M": np.eye(2)})
    array([1., 2., 1., 0., 0., 1.])
    """
    arrays = [np.ravel(np.asarray(value, dtype=float)) for value in constants.values()]
    return np.concatenate([np.zeros(0), *arrays])


def unpack(constants: Mapping[str, np.ndarray], packed: Any) -> dict[str, Any]:
    """The constants again, from a vector of numbers or of symbols."""
    found, start = {}, 0
    for name, value in constants.items():
        shape, size = np.shape(value), int(np.size(value))
        found[name] = packed[start : start + size].reshape(*shape) if shape else packed[start]
        start += size
    return found
