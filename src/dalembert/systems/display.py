"""What a notebook shows of a robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.text import html

if TYPE_CHECKING:
    from dalembert.model import JointInfo, Model


def html_of(model: Model) -> str:
    """Joints, links, masses and ranges as a table."""
    head = "".join(f"<th>{h}</th>" for h in ("joint", "type", "link", "mass / kg", "range"))
    rows = "".join(f"<tr>{_cells(model, joint)}</tr>" for joint in model.joints)
    letters = f"; parameters {', '.join(model.parameters)}" if model.parameters else ""
    return (
        f"<div><b>{html(model.name)}</b>: {len(model.joints)} joints, {model.nv} degrees of "
        f"freedom{html(letters)}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(model: Model, joint: JointInfo) -> str:
    masses = [model.bodies[i].mass for i in joint.bodies]
    symbolic = any(is_symbolic(mass) for mass in masses)
    mass = "depends on parameters" if symbolic else f"{float(sum(masses)):.4g}"
    low, high = joint.lower[0], joint.upper[0]
    free = not np.isfinite([low, high]).any()
    cells = (
        joint.name,
        joint.kind,
        joint.link,
        mass,
        "free" if free else f"{low:.4g} … {high:.4g}",
    )
    return "".join(f"<td>{html(cell)}</td>" for cell in cells)
