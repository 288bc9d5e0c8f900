"""A table of the largest speeds, torques and powers of a motion, beside the limits of its joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.report.sections import table
from dalembert.simulation.along import peaks
from dalembert.text import html

if TYPE_CHECKING:
    import xarray

HEAD = ("joint", "speed", "limit", "torque", "at / s", "limit", "rms torque", "power / W")


def peaks_html(run: xarray.Dataset) -> str:
    """The table, and where limits were passed first."""
    found = peaks(run)
    rows = []
    for k, name in enumerate(found["joint"].values):
        one = {str(key): float(found[key].values[k]) for key in found}
        rows.append(
            (
                html(str(name)),
                f"{abs(one['speed']):.4g}",
                _limit(one["speed_limit"], one["speed_share"]),
                f"{one['torque']:.4g}",
                f"{one['torque_time']:.4g}",
                _limit(one["torque_limit"], one["torque_share"]),
                f"{one['torque_rms']:.4g}",
                f"{one['power']:.4g}",
            )
        )
    said = str(run.attrs.get("limits_passed", "")).split("; ")
    passed = "".join(f"<li>{html(sentence)}</li>" for sentence in said if sentence)
    beyond = f"<p>Limits that are passed, where first:</p><ul>{passed}</ul>" if passed else ""
    return table(HEAD, rows) + beyond


def _limit(limit: float, share: float) -> str:
    """The limit and how much of it is used; what is passed is bold."""
    if not np.isfinite(limit):
        return "–"
    text = f"{limit:.4g} ({100.0 * share:.3g} %)"
    return f"<b>{text}</b>" if share > 1.0 + 1e-9 else text
