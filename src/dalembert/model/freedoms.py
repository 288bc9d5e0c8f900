"""A joint as users describe it, checked and taken apart into charts of one or more coordinates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import ModelError
from dalembert.model.check import direction, is_one, number, numbers
from dalembert.model.joint import KINDS, Chart, Factors, factors
from dalembert.model.link import Joint
from dalembert.spatial.arrays import Vector, Vector3
from dalembert.spatial.rotations import snap
from dalembert.text import short


class Freedom(NamedTuple):
    """One chart of a joint: its unit axis in the joint frame, and what is added to its q."""

    axis: Vector3
    chart: Chart
    offset: Vector  # (nq,)


def freedoms(joint: Joint, label: str) -> list[Freedom]:
    """The charts of a joint in the order of its coordinates; a fixed joint has none."""
    where = f"joint {label!r}"
    if not isinstance(joint.kind, str) or joint.kind not in KINDS:
        known = ", ".join(KINDS)
        raise ModelError(
            f"{where}: joint type {short(joint.kind)} is unknown; known types: {known}"
        )
    axis, second = _unit(joint.axis, f"{where}: axis"), None
    if joint.axis2 is not None:
        if joint.kind != "universal":
            raise ModelError(f"{where}: axis2 is for universal joints, this one is {joint.kind}")
        second = _unit(joint.axis2, f"{where}: axis2")
    pitch = number(joint.pitch, f"{where}: pitch")
    if joint.kind != "helical" and (is_symbolic(pitch) or pitch != 0.0):
        raise ModelError(f"{where}: pitch is for helical joints, this one is {joint.kind}")
    pieces = [(snap(a), chart) for a, chart in factors(joint.kind, axis, second, pitch)]
    offsets = _offsets(joint, pieces, f"{where}: offset")
    return [Freedom(a, chart, x) for (a, chart), x in zip(pieces, offsets, strict=True)]


def _unit(axis: Any, what: str) -> Vector3:
    given = direction(axis, what)
    if is_symbolic(given):
        return given / np.sqrt(given @ given)
    return snap(given / np.linalg.norm(given))


def _offsets(joint: Joint, pieces: Factors, what: str) -> list[Vector]:
    """(nq,) for every piece, zero where none is given; quaternions have no offset."""
    if not _is_zero(joint.offset, what):
        if not pieces or any(chart.nq > 1 for _, chart in pieces):
            raise ModelError(f"{what}: a {joint.kind} joint has none; turn its origin instead")
        if len(pieces) == 1:
            return [number(joint.offset, what).reshape(1)]
        given = numbers(joint.offset, (len(pieces),), f"{what}, one for each coordinate,")
        return [given[k : k + 1] for k in range(len(pieces))]
    return [np.zeros(chart.nq) for _, chart in pieces]


def _is_zero(offset: Any, what: str) -> bool:
    if not is_one(offset):
        return False
    found = number(offset, what)
    return not is_symbolic(found) and bool(found == 0.0)
