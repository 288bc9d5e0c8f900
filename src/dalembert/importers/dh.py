"""Denavit–Hartenberg tables, standard and modified.

Standard (Denavit and Hartenberg 1955; Paul 1981): A_i = Rz(θ) Tz(d) Tx(a) Rx(α), joint i turns about
z_{i−1}, the link frame sits at the far end. Modified (Craig 1986): A_i = Rx(α) Tx(a) Rz(θ) Tz(d),
joint i turns about z_i, the link frame sits on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model import Joint, Link
from dalembert.model.validation import mapping, numbers
from dalembert.spatial.rotations import rotation_x, rotation_z, snap
from dalembert.spatial.se3 import pose
from dalembert.text import short

GEOMETRY = ("a", "alpha", "d", "theta", "joint", "offset", "name")
INERTIA = ("mass", "com", "inertia")
DRIVE = (
    *("rotor_inertia", "gear_ratio", "viscous", "coulomb", "viscous_motor", "coulomb_motor"),
    *("limits", "velocity_limit", "effort_limit", "stiffness", "rest", "drag"),
)


def links_from_dh(rows: Sequence[Mapping[str, Any]], convention: Any) -> list[Link]:
    """One link per row; see `Robot.from_dh` for the keys of a row."""
    if not isinstance(convention, str) or convention not in ("standard", "modified"):
        raise ModelError(f"convention {short(convention)} must be 'standard' or 'modified'")
    if not isinstance(rows, list | tuple):
        raise ModelError(f"rows must be a list of mappings, not {type(rows).__name__}")
    links: list[Link] = []
    known = (*GEOMETRY, *INERTIA, *DRIVE)
    for count, values in enumerate(rows, start=1):
        where = f"DH row {count}"
        row = mapping(values, where)
        unknown = sorted(set(row) - {*known})
        if unknown:
            raise ModelError(f"{where}: unknown key {unknown[0]!r}; known keys: {', '.join(known)}")
        kind = row.get("joint", "revolute")
        if not isinstance(kind, str) or kind not in ("revolute", "prismatic"):
            raise ModelError(f"{where}: joint {short(kind)} must be 'revolute' or 'prismatic'")
        origin, frame, offset = _frames(row, kind, convention == "modified", where)
        joint = Joint(
            kind=kind,
            name=row.get("name", f"joint{count}"),
            origin=origin,
            offset=offset,
            **{key: row[key] for key in DRIVE if key in row},
        )
        links.append(
            Link(
                name=row.get("name", f"link{count}"),
                parent=links[-1].name if links else None,
                joint=joint,
                frame=frame,
                **{key: row[key] for key in INERTIA if key in row},
            )
        )
    return links


def _frames(row: Mapping[str, Any], kind: str, modified: bool, where: str) -> tuple[Any, Any, Any]:
    """(Joint origin, link frame in the moved joint frame, offset of q).

    Modified: the origin is Rx(α) Tx(a) and what is constant of Rz Tz, the link frame the joint's.
    Standard: the joint moves at the frame of the link before and carries Tz Tx(a) Rx(α).
    """
    keys = ("a", "alpha", "d", "theta", "offset")
    a, alpha, d, theta, offset = (numbers(row.get(k, 0.0), (), f"{where}: DH {k}") for k in keys)
    twist = pose(snap(rotation_x(alpha)), np.stack([a, 0.0, 0.0]))
    turns = kind == "revolute"
    zero = theta + offset if turns else d + offset
    still = pose(None, np.stack([0.0, 0.0, d])) if turns else pose(snap(rotation_z(theta)), None)
    if modified:
        return twist @ still, None, zero
    return (None, still @ twist, zero) if turns else (still, twist, zero)
