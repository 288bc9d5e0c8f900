"""What a recursion computes on its way, by name and link.

A formulation hands the values of each link to `record` where it has computed them, so the table of a
recursion is made by the run that gives the torques. Without a `Recorder` nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dalembert.spatial.arrays import Array

Record: TypeAlias = Callable[..., None]  # record(link, name=value, …)


def nothing(link: int, **values: Any) -> None:
    """Keep nothing."""


class Recorder:
    """Keeps the values of every link under their names."""

    def __init__(self) -> None:
        self._found: dict[str, dict[int, Any]] = {}

    def __call__(self, link: int, **values: Any) -> None:
        for name, value in values.items():
            self._found.setdefault(name, {})[link] = value

    def of(self, link: int) -> dict[str, Any]:
        """What is kept of one link, by name; nothing for the base, −1."""
        return {name: found[link] for name, found in self._found.items() if link in found}


def stacked(values: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """The values of all links as one array (links, *shape)."""
    return np.stack([np.reshape(x, shape) for x in values])


@dataclass(frozen=True)
class Term:
    """One intermediate of a recursion, for every link: what it is, its shape and its units."""

    name: str  # the argument of `record`
    symbol: str  # as text prints it, the link's number behind it
    latex: str  # with # where the link's number goes
    shape: tuple[int, ...]
    units: str
    meaning: str
    seen: Callable[..., Any]  # a function of `link_frames`: the body's value, in the link's frame
    gravity: str = ""  # "potential": it is there only where gravity enters as weights
