"""Pictures of a fit: how its leftovers are spread and hang together, and friction over speed."""

from __future__ import annotations

import numpy as np

from dalembert.identification.checks import autocorrelation
from dalembert.identification.fit import Fit
from dalembert.identification.solving import leftovers
from dalembert.report.drawn import Axes, chart, grid

BINS = 41
POINTS = 300  # of the curve of friction
DOTS = 400


def leftover_pictures(fit: Fit) -> str:
    """A histogram and the autocorrelation of what the last model leaves, for every equation."""
    model = list(fit.values)[-1]
    pieces = leftovers(fit.columns, fit.records, fit.values[model])
    every = np.concatenate(pieces)
    lags = min(200, max(len(piece) for piece in pieces) - 1)
    r = autocorrelation(pieces, lags)
    lag = np.arange(lags + 1) / fit.records[0].rate
    bound = 1.96 / np.sqrt(len(every))
    told = fit.whiteness(model)
    shown = []
    for k, name in enumerate(fit.columns.rows):
        x = every[:, k]
        shown.append(chart(f"{name}: leftovers, N m or N", _histogram(x), _spread(x)))
        axes = Axes((0.0, float(lag[-1])), (min(-0.2, float(r[:, k].min())), 1.0))
        body = axes.lines() + axes.curve(lag, r[:, k])
        for side in (-bound, bound):
            body += axes.curve(lag[[0, -1]], np.full(2, side), 1, dashed=True)
        note = (
            f"over s; dashed: 95 % of white noise; next sample {told['next'].iloc[k]:.2f}, "
            f"Ljung–Box p {told['p'].iloc[k]:.2g}"
        )
        shown.append(chart(f"{name}: autocorrelation", body, note))
    lead = f"<p>Of the model “{model}”, on the data that was fitted.</p>"
    return lead + grid(shown)


def _histogram(x: np.ndarray) -> str:
    size = float(np.quantile(np.abs(x), 0.999)) or 1.0
    heights, edges = np.histogram(x, BINS, (-size, size))
    share = heights / max(len(x), 1)
    axes = Axes((-size, size), (0.0, 1.05 * float(share.max(initial=1e-3))))
    sigma, middle = float(x.std()) or 1.0, 0.5 * (edges[1:] + edges[:-1])
    normal = np.exp(-0.5 * ((middle - x.mean()) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    curve = axes.curve(middle, normal * (edges[1] - edges[0]), 1, dashed=True)
    return axes.lines() + axes.bars(edges, share) + curve


def _spread(x: np.ndarray) -> str:
    return f"deviation {x.std():.4g}, mean {x.mean():.2g}; dashed: the normal of both"


def friction_pictures(fit: Fit) -> str:
    """Friction over speed, by the last model, with what was measured less all else as dots."""
    names, kinds = fit.columns.names, fit.columns.kinds
    x = list(fit.values.values())[-1]
    rows, joints = fit.columns.rows, fit.prior.dynamics.velocities
    if rows != joints or fit.columns.inertial + len(kinds) * len(rows) != len(names):
        return ""
    rubbing = np.array([n.rpartition(":")[2] in kinds and not n.endswith(":rotor") for n in names])
    only = np.where(rubbing, x, 0.0)
    record = fit.records[0]
    step = max(1, len(record.t) // DOTS)
    left = leftovers(fit.columns, fit.records[:1], x)[0][::step]
    model = list(fit.values)[-1]
    shown = []
    for k, name in enumerate(rows):
        top = float(np.abs(record.qd[:, k]).max()) or 1.0
        speed = np.linspace(-top, top, POINTS)
        motion = np.zeros((POINTS, len(rows)))
        motion[:, k] = speed
        still = np.zeros_like(motion)
        q = np.broadcast_to(record.q[0], (POINTS, record.q.shape[1]))
        curve = _friction_torque(fit, q, motion, still, only)[:, k]
        at = record.qd[::step, k]
        measured = np.interp(at, speed, curve) + left[:, k]
        size = max(float(np.quantile(np.abs(measured), 0.995)), float(np.abs(curve).max())) or 1.0
        axes = Axes((-top, top), (-1.1 * size, 1.1 * size))
        dots = "".join(
            f'<circle cx="{u:.1f}" cy="{v:.1f}" r="1.1" style="fill:var(--faint)" '
            'fill-opacity=".55"/>'
            for u, v in (axes.at(a, b) for a, b in zip(at, measured, strict=True))
            if abs(v) < 1e4
        )
        shown.append(chart(f"{name}", axes.lines() + dots + axes.curve(speed, curve)))
    lead = (
        f"<p>Torque of friction, N m or N, over speed, by “{model}”; dots are what was measured less "
        "all other torques.</p>"
    )
    return lead + grid(shown)


def _friction_torque(
    fit: Fit, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, only: np.ndarray
) -> np.ndarray:
    from dataclasses import replace

    moved = replace(
        fit.records[0], t=np.arange(len(q)) * 1.0, q=q.copy(), qd=qd, qdd=qdd, tau=np.zeros_like(qd)
    )
    return np.asarray(fit.columns.evaluate(moved) @ only)
