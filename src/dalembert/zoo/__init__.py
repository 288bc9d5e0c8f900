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

import os
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.importers.xml_read import read_xml
from dalembert.robot import Robot
from dalembert.zoo import (
    elbow_3r,
    iiwa14,
    kinova_gen3,
    panda,
    particle,
    pendulum,
    planar_2r,
    puma560,
    rp,
    rx90,
    scara,
    spherical_pendulum,
    stanford,
    two_bar_arm,
    ur3,
    ur5,
    ur10,
    xarm7,
)
from dalembert.zoo.entry import Entry

__all__ = ["Entry", "entry", "load", "names", "systems"]

_MODULES = (
    pendulum,
    planar_2r,
    elbow_3r,
    rp,
    two_bar_arm,
    scara,
    stanford,
    puma560,
    rx90,
    ur3,
    ur5,
    ur10,
    panda,
    iiwa14,
    xarm7,
    kinova_gen3,
)
_SYSTEMS = (particle, spherical_pendulum)
_ROBOTS = {module.ENTRY.name: module.ENTRY for module in _MODULES}
_ENTRIES: dict[str, Entry[Any]] = {
    **_ROBOTS,
    **{module.ENTRY.name: module.ENTRY for module in _SYSTEMS},
}


def names() -> tuple[str, ...]:
    """Names of all robots of the zoo, from the simplest to the largest."""
    return tuple(_ROBOTS)


def systems() -> tuple[str, ...]:
    """Names of the systems of the zoo that are no robots: given by their energies.

    >>> systems()
    ('particle', 'spherical_pendulum')
    """
    return tuple(name for name in _ENTRIES if name not in _ROBOTS)


def entry(name: str) -> Entry[Any]:
    """The entry of this name; an unknown one is an error that suggests the nearest."""
    if name in _ENTRIES:
        return _ENTRIES[name]
    near = get_close_matches(str(name).lower(), _ENTRIES, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(_ENTRIES)
    raise UnknownNameError(f"no robot is called {name!r}; {hint}The zoo has: {listed}")


def load(name: str | PathLike[str], **options: Any) -> Any:
    """The robot or system of the zoo with this name, or the robot in this file (URDF or MJCF).

    `options` are the numbers of a textbook model (``load("pendulum", l=2.0)``), or those of
    `Robot.from_urdf` and `Robot.from_mjcf`.

    >>> load("planar_2r").nv
    2
    """
    if isinstance(name, str) and name in _ENTRIES:
        return entry(name).build(**options)
    if not _is_path(name):
        entry(str(name))
    document = read_xml(Path(name))
    read = Robot.from_mjcf if document.root.tag == "mujoco" else Robot.from_urdf
    return read(Path(name), **options)


def _is_path(name: str | PathLike[str]) -> bool:
    """A path by its type, its ending, a folder in it, or because it is there."""
    if not isinstance(name, str):
        return True
    known = Path(name).suffix.lower() in (".urdf", ".xml", ".mjcf", ".xacro")
    return known or "/" in name or os.sep in name or os.path.exists(name)
