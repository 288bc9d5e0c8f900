"""Curves of a mechanism's run: x, y, φ, their rates, forces at every pin, torques of the motors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.loads import Moved, loads
from dalembert.report.colours import PALETTE
from dalembert.text import picture

if TYPE_CHECKING:
    import xarray

SAMPLES = 400  # of a curve; more are not seen
MOST = 6  # bodies or joints whose curves can be told apart
DASHES = ("-", "--", ":", "-.")  # of x, y, z, w


class Curve(NamedTuple):
    """A line over time: its colour and dash are numbers of a body or joint, and of a component."""

    label: str
    values: np.ndarray
    colour: int
    dash: int


class Panel(NamedTuple):
    """Curves with one axis."""

    label: str
    curves: list[Curve]


def sampled(run: xarray.Dataset) -> xarray.Dataset:
    """At most `SAMPLES` instants of a run, the first and the last among them."""
    chosen = np.unique(np.linspace(0, run.sizes["time"] - 1, SAMPLES).round().astype(int))
    return run.isel(time=chosen)


def panels(mechanism: Analysis, run: xarray.Dataset, moved: Moved | None = None) -> list[Panel]:
    """Positions, angles, their rates, joint forces and efforts; energies where nothing acts."""
    d = mechanism.description
    plane, size = d.space.dimension == 2, d.space.dimension
    q = run.q.values.reshape(len(run.time), -1, d.space.nq)
    v = run.qd.values.reshape(len(run.time), -1, d.space.nv)
    axes = d.space.coordinates
    turns = ("phi",) if plane else ("x", "y", "z")
    found = loads(mechanism, run, moved)
    made = [
        Panel("position / m", _bodies(d.names, q[..., :size], axes[:size])),
        Panel("φ / rad" if plane else "quaternion", _bodies(d.names, q[..., size:], axes[size:])),
        Panel("velocity / m/s", _bodies(d.names, v[..., :size], [f"v{a}" for a in axes[:size]])),
        Panel(
            "angular velocity / rad/s", _bodies(d.names, v[..., size:], [f"ω{a}" for a in turns])
        ),
        Panel("joint forces / N", _joints(found, size)),
    ]
    if found.sizes["acting"]:
        efforts = found.effort.values
        names = list(found.acting.values)
        own = [Curve(str(name), efforts[:, k], k, 0) for k, name in enumerate(names[: 2 * MOST])]
        return [*made, Panel("drives / N m, N", own)]
    return [*made, Panel("energy / J", _energies(run))]


def _bodies(names: tuple[str, ...], values: np.ndarray, parts: Any) -> list[Curve]:
    """One curve for every body and component of values (time, bodies, components)."""
    said = {"phi": "φ", "ωphi": "ω"}
    return [
        Curve(f"{names[b + 1]} {said.get(part, part)}", values[:, b, k], b, k)
        for b in range(min(values.shape[1], MOST))
        for k, part in enumerate(parts)
    ]


def _joints(found: xarray.Dataset, size: int) -> list[Curve]:
    labels = [str(x) for x in found.component.values[: MOST * size]]
    return [
        Curve(label, found.joint_force.values[:, k], k // size, k % size)
        for k, label in enumerate(labels)
    ]


def _energies(run: xarray.Dataset) -> list[Curve]:
    total = (run.kinetic + run.potential).values
    parts = [(name, run[name].values) for name in ("kinetic", "potential")]
    return [Curve(name, y, k, 0) for k, (name, y) in enumerate([*parts, ("energy", total)])]


def plot(axes: Any, t: np.ndarray, panel: Panel) -> None:
    """A panel with its legend beside it."""
    for curve in panel.curves:
        style = {"color": PALETTE[curve.colour % len(PALETTE)], "linestyle": DASHES[curve.dash]}
        axes.plot(t, curve.values, label=picture(curve.label), linewidth=1.3, **style)
    axes.set_ylabel(panel.label)
    axes.set_xlim(float(t[0]), float(t[-1]))
    if panel.curves:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7, handlelength=2.4)
