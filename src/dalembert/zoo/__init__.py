"""Named robots, as tables with citation.

>>> names()[:3]
('pendulum', 'planar_2r', 'elbow_3r')
>>> entry("puma560").title
'Unimation PUMA 560, with motors and friction'
>>> entry("puma56")
Traceback (most recent call last):
...
dalembert.errors.UnknownNameError: no robot is called 'puma56'; did you mean 'puma560'? ...
"""

from __future__ import annotations

from difflib import get_close_matches

from dalembert.errors import UnknownNameError
from dalembert.robot import Robot
from dalembert.zoo import (
    elbow_3r,
    iiwa14,
    panda,
    pendulum,
    planar_2r,
    puma560,
    rp,
    rx90,
    scara,
    stanford,
    ur5,
)
from dalembert.zoo.entry import Entry

__all__ = ["Entry", "entry", "load", "names"]

_MODULES = (
    pendulum,
    planar_2r,
    elbow_3r,
    rp,
    scara,
    stanford,
    puma560,
    rx90,
    ur5,
    panda,
    iiwa14,
)
_ENTRIES = {module.ENTRY.name: module.ENTRY for module in _MODULES}


def names() -> tuple[str, ...]:
    """Names of all robots of the zoo, from the simplest to the largest."""
    return tuple(_ENTRIES)


def entry(name: str) -> Entry:
    """The entry of this name; an unknown one is an error that suggests the nearest."""
    if name in _ENTRIES:
        return _ENTRIES[name]
    near = get_close_matches(str(name).lower(), _ENTRIES, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UnknownNameError(f"no robot is called {name!r}; {hint}The zoo has: {', '.join(names())}")


def load(name: str) -> Robot:
    """The robot of the zoo with this name, built with its default numbers.

    >>> load("planar_2r").nv
    2
    """
    return entry(name).build()
