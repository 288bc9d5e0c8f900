"""What a recursion computes on its way, by name and link.

A formulation hands the values of each link to `record` where it has computed them, so the table of a
recursion is made by the run that gives the torques. Without a `Recorder` nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dalembert.records import record
from dalembert.spatial.arrays import Array

Record: TypeAlias = Callable[..., None]  # record(link, name=value, …)


def nothing(link: int, **values: Any) -> None:
    """Keep nothing."""


class Recorder:
    """Keeps the values of every link under their names."""

    def __init__(self, links: int) -> None:
        self.links = links
        self._found: dict[str, dict[int, Any]] = {}

    def __call__(self, link: int, **values: Any) -> None:
        for name, value in values.items():
            self._found.setdefault(name, {})[link] = value

    def stacked(self, name: str, shape: tuple[int, ...]) -> Array:
        """The values of one name, (links, *shape)."""
        found = self._found[name]
        if not shape:
            return np.stack([found[i] for i in range(self.links)])
        # casadi arrays of three axes can only be reshaped
        flat = np.concatenate([found[i].ravel() for i in range(self.links)])
        return flat.reshape(self.links, *shape)


@record
class Term:
    """One intermediate of a recursion, for every link: what it is, its shape and its units."""

    name: str  # the argument of `record`
    symbol: str  # as text prints it, the link's number behind it
    latex: str  # with # where the link's number goes
    shape: tuple[int, ...]
    units: str
    meaning: str
    gravity: str = ""  # "potential": it is there only where gravity enters as weights
