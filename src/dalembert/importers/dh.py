"""Denavit–Hartenberg tables, standard and modified.

Standard (Denavit and Hartenberg 1955; Paul 1981): A_i = Rz(θ) Tz(d) Tx(a) Rx(α), joint i turns about
z_{i−1}, the link frame sits at the far end. Modified (Craig 1986): A_i = Rx(α) Tx(a) Rz(θ) Tz(d),
joint i turns about z_i, the link frame sits on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import ModelError
from dalembert.model import Joint, Link
from dalembert.model.parameter import expression
from dalembert.spatial.rotations import rotation_x, rotation_z, snap
from dalembert.spatial.se3 import pose

GEOMETRY = ("a", "alpha", "d", "theta", "joint", "offset", "name")
INERTIA = ("mass", "com", "inertia")
DRIVE = (
    "rotor_inertia",
    "gear_ratio",
    "viscous",
    "coulomb",
    "viscous_motor",
    "coulomb_motor",
    "limits",
    "velocity_limit",
    "effort_limit",
)


def links_from_dh(rows: Sequence[Mapping[str, Any]], convention: str) -> list[Link]:
    """One link per row; see `Robot.from_dh` for the keys of a row."""
    try:
        place = {"standard": _standard, "modified": _modified}[convention]
    except KeyError:
        raise ModelError(f"convention {convention!r} must be 'standard' or 'modified'") from None
    links: list[Link] = []
    for number, row in enumerate(rows, start=1):
        where = f"DH row {number}"
        unknown = sorted(set(row) - {*GEOMETRY, *INERTIA, *DRIVE})
        if unknown:
            known = ", ".join((*GEOMETRY, *INERTIA, *DRIVE))
            raise ModelError(f"{where}: unknown key {unknown[0]!r}; known keys: {known}")
        kind = row.get("joint", "revolute")
        if kind not in ("revolute", "prismatic"):
            raise ModelError(f"{where}: joint {kind!r} must be 'revolute' or 'prismatic'")
        origin, frame, offset = place(row, kind)
        name = row.get("name", f"link{number}")
        joint = Joint(
            kind=kind,
            name=row.get("name", f"joint{number}"),
            origin=origin,
            offset=offset,
            **{key: row[key] for key in DRIVE if key in row},
        )
        links.append(
            Link(
                name=name,
                parent=links[-1].name if links else None,
                joint=joint,
                frame=frame,
                **{key: row[key] for key in INERTIA if key in row},
            )
        )
    return links


def _modified(row: Mapping[str, Any], kind: str) -> tuple[Any, Any, Any]:
    """Joint origin Rx(α) Tx(a) and the constant part of Rz Tz; the link frame is the joint's."""
    a, alpha, d, theta, offset = _geometry(row)
    twist = pose(snap(rotation_x(alpha)), np.stack([a, 0.0, 0.0]))
    if kind == "revolute":
        return twist @ pose(None, np.stack([0.0, 0.0, d])), None, theta + offset
    return twist @ pose(snap(rotation_z(theta)), None), None, d + offset


def _standard(row: Mapping[str, Any], kind: str) -> tuple[Any, Any, Any]:
    """The joint moves at the previous link frame; the link frame is carried at Tz Tx(a) Rx(α)."""
    a, alpha, d, theta, offset = _geometry(row)
    twist = pose(snap(rotation_x(alpha)), np.stack([a, 0.0, 0.0]))
    if kind == "revolute":
        return None, pose(None, np.stack([0.0, 0.0, d])) @ twist, theta + offset
    return pose(snap(rotation_z(theta)), None), twist, d + offset


def _geometry(row: Mapping[str, Any]) -> tuple[Any, ...]:
    values = tuple(expression(row.get(key, 0.0)) for key in ("a", "alpha", "d", "theta", "offset"))
    for key, value in zip(("a", "alpha", "d", "theta", "offset"), values, strict=True):
        if value.shape != () or (not is_symbolic(value) and not np.isfinite(value)):
            raise ModelError(f"DH {key} must be one finite number, not {row[key]!r}")
    return values
