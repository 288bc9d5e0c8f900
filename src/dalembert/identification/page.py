"""The page of a fit: prediction errors, torques, residuals, parameters, unseen parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.identification.residuals import autocorrelation, residuals
from dalembert.report.charts import Plot, Series
from dalembert.report.page import motion_data, page
from dalembert.report.sections import Axes, chart, grid, table
from dalembert.text import html
from dalembert.version import __version__

if TYPE_CHECKING:
    from dalembert.identification.result import Fit

PRIOR = "prior"
WRAPPED = 'style="display:inline-block;white-space:normal;text-align:left;width:24rem"'
COLOURED = 1e-3  # Ljung and Box's p below which residuals are not noise
MAX_ROWS = 400  # of the table of parameters
MAX_EXPLANATION = 160  # characters
BINS = 41  # of the histogram of residuals
POINTS = 300  # of the curve of friction
MAX_DOTS = 400  # measured points beside it


def fit_page(fit: Fit) -> str:
    """HTML of the page, with the arm as it moved in the log."""
    records = (*fit.records, *fit.held_out)
    t, q = (np.concatenate([getattr(r, name) for r in records]) for name in ("t", "q"))
    order = np.argsort(t, kind="stable")
    t, q = t[order], q[order]
    increasing = np.concatenate([[True], np.diff(t) > 0.0])
    charts = _torque_plots(fit, order[increasing])
    friction = fit.friction
    kinds = ("joint", *(html(str(c)) for c in friction.columns))
    numbers = [(html(str(j)), *(_number(x) for x in row)) for j, row in friction.iterrows()]
    p, messages = fit.whiteness()["p"], list(fit.warnings)
    coloured = [str(joint) for joint in p.index[p < COLOURED]]
    if coloured:
        messages.append(
            f"what is left of the torques of {', '.join(coloured)} is not white noise (Ljung–Box "
            f"p < {COLOURED:g}): something acts there that the model does not have; standard "
            "deviations allow for it"
        )
    items = "".join(f"<li>{html(x)}</li>" for x in messages)
    unseen = "<p>Every base parameter shows in this log.</p>"
    if fit.unseen:
        reasons = [(html(name), html(reason)) for name, reason in fit.unseen]
        unseen = "<p>These keep the prior's value.</p>"
        unseen += table(("parameter", "why"), reasons, left=2)
    sections = [
        ("models", "Models side by side", _models(fit)),
        ("warnings", "Warnings", f"<ul>{items}</ul>" if items else '<p class="ok">None.</p>'),
        ("residuals", "What is left", _residual_charts(fit)),
        ("friction", "Friction", _friction_charts(fit) + table(kinds, numbers)),
        ("parameters", "Base parameters", _parameters(fit)),
        ("unseen", "What the log does not show", unseen),
        ("origin", "Where it comes from", _origin(fit)),
    ]
    fitted, tested = (
        sum(float(r.t[-1] - r.t[0]) for r in part) for part in (fit.records, fit.held_out)
    )
    lead = (
        f"{sum(len(r.t) for r in fit.records):,} samples over {fitted:.4g} s were fitted by "
        f"{len(fit.grouping.names)} base parameters, condition {fit.condition:.4g}"
    )
    lead += f"; {tested:.4g} s were held out." if tested else "."
    data = motion_data(fit.prior.robot, t[increasing], q[increasing], charts)
    return page(f"Identification of {fit.prior.name}", "", lead, data, sections)


def _torque_plots(fit: Fit, chosen: np.ndarray) -> list[Plot]:
    """Measured and predicted torque of every joint, then the residuals of all of them."""
    left = fit.residuals
    y = left["measured"].values[chosen]
    y[np.diff(left["stretch"].values[chosen], append=-1) != 0] = np.nan  # no line over a pause
    best = list(fit.values)[-1]
    dynamics, rows = fit.prior.dynamics, fit.regressor.rows
    by_name = dict(zip(dynamics.velocities, dynamics.units("tau"), strict=True))
    units = [by_name.get(row, "N m") for row in rows]
    charts = []
    for k, name in enumerate(rows):
        series = [Series("measured", y[:, k])]
        for model in dict.fromkeys((best, PRIOR)):
            torque = y[:, k] - left[model].values[chosen, k]
            series.append(Series(model, torque, dashed=model == PRIOR))
        charts.append(Plot(f"Torque of {name}", f"τ / {units[k]}", tuple(series)))
    errors = [Series(name, left[best].values[chosen, k]) for k, name in enumerate(rows)]
    for unit in dict.fromkeys(units):
        own = tuple(x for x, of in zip(errors, units, strict=True) if of == unit)
        charts.append(Plot(f"Measured less predicted ({best})", f"Δτ / {unit}", own))
    return charts


def _models(fit: Fit) -> str:
    """RMS of the torques' errors, each beside its share of the torque."""
    errors = fit.errors()
    models = [name for name in errors.columns if name != "torque"]
    head = ("data", "joint", "torque", *map(html, models))
    rows = []
    for (data, joint), row in errors.iterrows():
        cells, size = [], row["torque"]
        for m in models:
            share = f'<span class="faint">{row[m] / size:.1%}</span>' if size else "–"
            cells.append(f"{row[m]:.4g}<br>{share}")
        rows.append((html(str(data).replace("_", " ")), html(str(joint)), f"{size:.4g}", *cells))
    lead = (
        "<p>Root mean square of measured less predicted torque, N m or N, and as a share of the "
        "torque's own deviation; torques are as recorded, not filtered. “unconstrained” are base "
        "parameters by least squares, “consistent” "
        "is the robot, whose bodies can be real.</p>"
    )
    return lead + table(head, rows, left=2)


def _parameters(fit: Fit) -> str:
    """Values with their deviations beside the prior, with an interval drawn for each."""
    base, explained = fit.base, fit.explained
    head = ("parameter", "value", "± std", "prior", "change / std", "", "is")
    rows = []
    for name, row in list(base.iterrows())[:MAX_ROWS]:
        value, std, prior = row["value"], row["std"], row["prior"]
        change = (value - prior) / std if std > 0.0 else np.nan
        uncertainty = ("not seen", _number(prior), "–", "")
        if np.isfinite(std):
            # a bar of ±3 σ about the value and a mark at the prior, on a common line
            low, high = min(value - 3 * std, prior), max(value + 3 * std, prior)
            size = (high - low) or 1.0
            a, b, m = (4 + 92 * (x - low) / size for x in (value - 3 * std, value + 3 * std, prior))
            interval = (
                '<svg width="100" height="14" role="img" aria-label="interval">'
                f'<rect x="{a:.1f}" y="4" width="{max(b - a, 1.5):.1f}" height="6" rx="2" '
                'style="fill:var(--accent)"/>'
                f'<line x1="{m:.1f}" x2="{m:.1f}" y1="1" y2="13" '
                'style="stroke:var(--c1);stroke-width:2"/></svg>'
            )
            uncertainty = (_number(std), _number(prior), _number(change), interval)
        explanation = explained[str(name)]
        if len(explanation) > MAX_EXPLANATION:
            explanation = explanation[: MAX_EXPLANATION - 1] + "…"
        wrapped = f'<span class="faint" {WRAPPED}>{html(explanation)}</span>'
        rows.append((html(str(name)), _number(value), *uncertainty, wrapped))
    lead = (
        "<p>Combinations of inertias, friction and rotors on which torques depend. The bar is three "
        "standard deviations about the value, the mark is the prior.</p>"
    )
    return lead + table(head, rows)


def _origin(fit: Fit) -> str:
    """Processing steps, settings and versions."""
    steps = "<ol>" + "".join(f"<li>{html(line)}</li>" for line in fit.notes) + "</ol>"
    facts: list[tuple[str, object]] = [
        ("prior", fit.prior.name),
        ("digest of the prior", fit.prior.dynamics.content),
        *((str(key), value) for key, value in fit.settings.items()),
        ("dalembert", __version__),
        ("NumPy", np.__version__),
    ]
    rows = [(html(key), html(str(value))) for key, value in facts if value is not None]
    return steps + table(("setting", "value"), rows, left=2)


def _number(x: float) -> str:
    return f"{x:.4g}" if np.isfinite(x) else "–"


def _residual_charts(fit: Fit) -> str:
    """A histogram and the autocorrelation of the last model's residuals, for every equation."""
    model = list(fit.values)[-1]
    parts = residuals(fit.regressor, fit.records, fit.values[model])
    every = np.concatenate(parts)
    lags = min(200, max(len(part) for part in parts) - 1)
    r = autocorrelation(parts, lags)
    lag = np.arange(lags + 1) / fit.records[0].rate
    bound = 1.96 / np.sqrt(len(every))
    whiteness = fit.whiteness(model)
    charts = []
    for k, name in enumerate(fit.regressor.rows):
        x = every[:, k]
        size, sigma = float(np.quantile(np.abs(x), 0.999)) or 1.0, float(x.std()) or 1.0
        counts, edges = np.histogram(x, BINS, (-size, size))
        share, middle = counts / max(len(x), 1), 0.5 * (edges[1:] + edges[:-1])
        axes = Axes((-size, size), (0.0, 1.05 * float(share.max(initial=1e-3))))
        normal = np.exp(-0.5 * ((middle - x.mean()) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
        body = axes.lines() + axes.bars(edges, share)
        body += axes.curve(middle, normal * (edges[1] - edges[0]), 1, dashed=True)
        spread = f"deviation {x.std():.4g}, mean {x.mean():.2g}; dashed: the normal of both"
        charts.append(chart(f"{name}: residuals, N m or N", body, spread))
        axes = Axes((0.0, float(lag[-1])), (min(-0.2, float(r[:, k].min())), 1.0))
        body = axes.lines() + axes.curve(lag, r[:, k])
        for side in (-bound, bound):
            body += axes.curve(lag[[0, -1]], np.full(2, side), 1, dashed=True)
        note = (
            f"over s; dashed: 95 % of white noise; next sample {whiteness['next'].iloc[k]:.2f}, "
            f"Ljung–Box p {whiteness['p'].iloc[k]:.2g}"
        )
        charts.append(chart(f"{name}: autocorrelation", body, note))
    lead = f"<p>Of the model “{model}”, on the data that was fitted.</p>"
    return lead + grid(charts)


def _friction_charts(fit: Fit) -> str:
    """Friction over speed by the last model, with measured less all other torques as dots."""
    regressor, model = fit.regressor, list(fit.values)[-1]
    names, kinds, rows, x = regressor.names, regressor.kinds, regressor.rows, fit.values[model]
    is_serial = regressor.inertial + len(kinds) * len(rows) == len(names)
    if rows != fit.prior.dynamics.velocities or not is_serial:
        return ""
    is_friction = np.array(
        [n.rpartition(":")[2] in kinds and not n.endswith(":rotor") for n in names]
    )
    friction = np.where(is_friction, x, 0.0)
    record = fit.records[0]
    step = max(1, len(record.t) // MAX_DOTS)
    left = residuals(regressor, fit.records[:1], x)[0][::step]
    charts = []
    for k, name in enumerate(rows):
        top = float(np.abs(record.qd[:, k]).max()) or 1.0
        speed = np.linspace(-top, top, POINTS)
        qd = np.zeros((POINTS, len(rows)))
        qd[:, k] = speed
        zero, t = np.zeros_like(qd), np.arange(POINTS) * 1.0
        q = np.tile(record.q[0], (POINTS, 1))
        sweep = replace(record, t=t, q=q, qd=qd, qdd=zero, tau=zero)
        curve = (regressor.evaluate(sweep) @ friction)[:, k]
        speeds = record.qd[::step, k]
        measured = np.interp(speeds, speed, curve) + left[:, k]
        size = max(float(np.quantile(np.abs(measured), 0.995)), float(np.abs(curve).max())) or 1.0
        axes = Axes((-top, top), (-1.1 * size, 1.1 * size))
        dots = "".join(
            f'<circle cx="{u:.1f}" cy="{v:.1f}" r="1.1" style="fill:var(--faint)" '
            'fill-opacity=".55"/>'
            for u, v in (axes.at(a, b) for a, b in zip(speeds, measured, strict=True))
            if abs(v) < 1e4
        )
        charts.append(chart(f"{name}", axes.lines() + dots + axes.curve(speed, curve)))
    lead = (
        f"<p>Torque of friction, N m or N, over speed, by “{model}”; dots are what was measured less "
        "all other torques.</p>"
    )
    return lead + grid(charts)
