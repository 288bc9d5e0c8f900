"""The page of a fit: models beside one another, torques, leftovers, parameters, what was not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.identification.checks import autocorrelation
from dalembert.identification.solving import leftovers
from dalembert.report.charts import Plot, Series
from dalembert.report.drawn import Axes, chart, grid
from dalembert.report.page import page, performed
from dalembert.report.sections import table
from dalembert.text import html
from dalembert.version import __version__

if TYPE_CHECKING:
    from dalembert.identification.fit import Fit

PRIOR, SHOWN = "prior", {"unconstrained": 1, "consistent": 2}
WRAPPED = 'style="display:inline-block;white-space:normal;text-align:left;width:24rem"'
COLOURED = 1e-3  # Ljung and Box's p below which leftovers are not noise
MOST = 400  # rows of the table of parameters
BINS = 41  # of the histogram of residuals
POINTS = 300  # of the curve of friction
DOTS = 400  # measured points beside it


def fit_page(fit: Fit) -> str:
    """The page, with the arm as it moved in the log."""
    records = (*fit.records, *fit.held_out)
    t, q = (np.concatenate([getattr(r, name) for r in records]) for name in ("t", "q"))
    order = np.argsort(t, kind="stable")
    t, q = t[order], q[order]
    good = np.concatenate([[True], np.diff(t) > 0.0])
    charts = _torques(fit, order[good])
    sections = [
        ("models", "Models side by side", _models(fit)),
        ("doubts", "Doubts", _doubts(fit)),
        ("leftovers", "What is left", leftover_pictures(fit)),
        ("friction", "Friction", friction_pictures(fit) + _friction(fit)),
        ("parameters", "Base parameters", _parameters(fit)),
        ("unseen", "What the log does not show", _unseen(fit)),
        ("origin", "Where it comes from", _origin(fit)),
    ]
    lead = _lead(fit)
    data = performed(fit.prior.robot, t[good], q[good], charts)
    return page(f"Identification of {fit.prior.name}", "", lead, data, sections)


def _lead(fit: Fit) -> str:
    seconds = sum(float(r.t[-1] - r.t[0]) for r in fit.records)
    held = sum(float(r.t[-1] - r.t[0]) for r in fit.held_out)
    said = (
        f"{sum(len(r.t) for r in fit.records):,} samples over {seconds:.4g} s were fitted by "
        f"{len(fit.grouping.names)} base parameters, condition {fit.condition:.4g}"
    )
    if held:
        said += f"; {held:.4g} s were held out"
    return said + "."


def _torques(fit: Fit, chosen: np.ndarray) -> list[Plot]:
    """Measured and predicted torque of every joint, then what is left of all of them."""
    left = fit.residuals
    y = left["measured"].values[chosen]
    y[np.diff(left["stretch"].values[chosen], append=-1) != 0] = np.nan  # no line over a pause
    best = list(fit.values)[-1]
    known = dict(zip(fit.prior.dynamics.velocities, fit.prior.dynamics.units("tau"), strict=True))
    units = [known.get(row, "N m") for row in fit.columns.rows]
    charts = []
    for k, name in enumerate(fit.columns.rows):
        series = [Series("measured", y[:, k])]
        series += [
            Series(model, y[:, k] - left[model].values[chosen, k], dashed=model == PRIOR)
            for model in dict.fromkeys((best, PRIOR))
        ]
        charts.append(Plot(f"Torque of {name}", f"τ / {units[k]}", tuple(series)))
    for unit in dict.fromkeys(units):
        series = [
            Series(name, left[best].values[chosen, k])
            for k, name in enumerate(fit.columns.rows)
            if units[k] == unit
        ]
        charts.append(Plot(f"Measured less predicted ({best})", f"Δτ / {unit}", tuple(series)))
    return charts


def _models(fit: Fit) -> str:
    """RMS of the torques' errors, each beside its share of the torque."""
    errors = fit.errors()
    models = [name for name in errors.columns if name != "torque"]
    head = ("data", "joint", "torque", *(f"{html(m)}" for m in models))
    rows = []
    for (data, joint), row in errors.iterrows():
        size = row["torque"]
        shares = [
            f'<span class="faint">{row[m] / size:.1%}</span>' if size else "–" for m in models
        ]
        cells = [f"{row[m]:.4g}<br>{share}" for m, share in zip(models, shares, strict=True)]
        rows.append((html(str(data).replace("_", " ")), html(str(joint)), f"{size:.4g}", *cells))
    lead = (
        "<p>Root mean square of measured less predicted torque, N m or N, and as a share of the "
        "torque's own deviation; torques are as recorded, not filtered. “unconstrained” are base "
        "parameters by least squares, “consistent” "
        "is the robot, whose bodies can be real.</p>"
    )
    return lead + table(head, rows, left=2)


def _doubts(fit: Fit) -> str:
    p = fit.whiteness()["p"]
    coloured = [str(joint) for joint in p.index[p < COLOURED]]
    found = list(fit.warnings)
    if coloured:
        found.append(
            f"what is left of the torques of {', '.join(coloured)} is not white noise (Ljung–Box "
            f"p < {COLOURED:g}): something acts there that the model does not have; standard "
            "deviations allow for it"
        )
    if not found:
        return '<p class="ok">None.</p>'
    return "<ul>" + "".join(f"<li>{html(x)}</li>" for x in found) + "</ul>"


def _friction(fit: Fit) -> str:
    found = fit.friction
    head = ("joint", *(html(str(c)) for c in found.columns))
    rows = [(html(str(j)), *(_number(x) for x in row)) for j, row in found.iterrows()]
    return table(head, rows)


def _parameters(fit: Fit) -> str:
    """Values with their deviations beside the prior, with an interval drawn for each."""
    base, explained = fit.base, fit.explained
    head = ("parameter", "value", "± std", "prior", "change / std", "", "is")
    rows = []
    for name, row in list(base.iterrows())[:MOST]:
        change = (row["value"] - row["prior"]) / row["std"] if row["std"] > 0.0 else np.nan
        known = np.isfinite(row["std"])
        rows.append(
            (
                html(str(name)),
                _number(row["value"]),
                _number(row["std"]) if known else "not seen",
                _number(row["prior"]),
                _number(change) if known else "–",
                _interval(row["value"], row["std"], row["prior"]) if known else "",
                f'<span class="faint" {WRAPPED}>{html(_short(explained[str(name)]))}</span>',
            )
        )
    lead = (
        "<p>Combinations of inertias, friction and rotors on which torques depend. The bar is three "
        "standard deviations about the value, the mark is the prior.</p>"
    )
    return lead + table(head, rows)


def _interval(value: float, std: float, prior: float) -> str:
    """A bar of ±3 σ about the value and a mark at the prior, on a common line."""
    low, high = min(value - 3 * std, prior), max(value + 3 * std, prior)
    size = (high - low) or 1.0
    a, b, m = (4 + 92 * (x - low) / size for x in (value - 3 * std, value + 3 * std, prior))
    return (
        '<svg width="100" height="14" role="img" aria-label="interval">'
        f'<rect x="{a:.1f}" y="4" width="{max(b - a, 1.5):.1f}" height="6" rx="2" '
        'style="fill:var(--accent)"/>'
        f'<line x1="{m:.1f}" x2="{m:.1f}" y1="1" y2="13" style="stroke:var(--c1);stroke-width:2"/>'
        "</svg>"
    )


def _unseen(fit: Fit) -> str:
    if not fit.unseen:
        return "<p>Every base parameter shows in this log.</p>"
    lead = "<p>These keep the prior's value.</p>"
    rows = [(html(name), html(why)) for name, why in fit.unseen]
    return lead + table(("parameter", "why"), rows, left=2)


def _origin(fit: Fit) -> str:
    """What was done, with which settings and versions."""
    done = "<ol>" + "".join(f"<li>{html(line)}</li>" for line in fit.said) + "</ol>"
    facts: list[tuple[str, Any]] = [
        ("prior", fit.prior.name),
        ("digest of the prior", fit.prior.dynamics.content),
        *((str(key), value) for key, value in fit.settings.items()),
        ("dalembert", __version__),
        ("NumPy", np.__version__),
    ]
    shown = [(html(key), html(str(value))) for key, value in facts if value is not None]
    return done + table(("setting", "value"), shown, left=2)


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _number(x: float) -> str:
    return f"{x:.4g}" if np.isfinite(x) else "–"


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
        spread = f"deviation {x.std():.4g}, mean {x.mean():.2g}; dashed: the normal of both"
        shown.append(chart(f"{name}: leftovers, N m or N", _histogram(x), spread))
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
        still, t = np.zeros_like(motion), np.arange(POINTS) * 1.0
        q = np.tile(record.q[0], (POINTS, 1))
        moved = replace(record, t=t, q=q, qd=motion, qdd=still, tau=still)
        curve = (fit.columns.evaluate(moved) @ only)[:, k]
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
