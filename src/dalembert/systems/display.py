"""A robot in a notebook: a table of its joints, and its live page."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import views
from dalembert.text import html
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model import JointInfo, Model
    from dalembert.systems.robot import Robot

FEW = 12  # joints up to which a robot shows itself live: its kernels are compiled in seconds


def bundle_of(robot: Robot) -> tuple[dict[str, Any], dict[str, Any]]:
    """Representations of a robot by MIME type: text, a table, and a live page if possible.

    The second mapping is their metadata.
    """
    data: dict[str, Any] = {"text/plain": repr(robot), "text/html": html_of(robot.model)}
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    shows = shell is not None and "text/html" in shell.display_formatter.active_types
    if shows and 0 < robot.nv <= FEW and find_spec("anywidget") is not None:
        live, about = views.widget(robot)._repr_mimebundle_()
        return live | data, about
    return data, {}


def html_of(model: Model) -> str:
    """Joints, links, masses and ranges as a table."""
    head = "".join(f"<th>{h}</th>" for h in ("joint", "type", "link", "mass / kg", "range"))
    rows = "".join(f"<tr>{_cells(model, joint)}</tr>" for joint in model.joints)
    parameters = f"; parameters {', '.join(model.parameters)}" if model.parameters else ""
    return (
        f"<div><b>{html(model.name)}</b>: {len(model.joints)} joints, {model.nv} degrees of "
        f"freedom{html(parameters)}<table><thead><tr>{head}</tr></thead>"
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
