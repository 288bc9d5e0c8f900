"""From a log to a fitted robot: each stage a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.identification.accumulate import step_of, thinned
from dalembert.identification.base import base_of
from dalembert.identification.columns import columns_of
from dalembert.identification.fit import Fit
from dalembert.identification.least_squares import estimate
from dalembert.identification.logs import records_of, split
from dalembert.identification.rebuilt import with_values
from dalembert.systems.system import System


def identify(
    system: System,
    log: Any,
    *,
    held_out: Any = 0.25,
    friction: Sequence[str] = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    links: Sequence[str] | None = None,
    cutoff: float | None = None,
) -> Fit:
    """The system's inertias, friction and rotors from a log of its motion and torques.

    `log` is an `xarray.Dataset` as `read_log` and `simulate` make it, a path, or a list of them. The
    last `held_out` of its time, or another log, is kept for judging the fit. `friction` names the
    kinds of friction that are asked for; with `links` only these links' inertias are. `cutoff`, Hz,
    is the filter's for positions; it is chosen from their spectrum where it is None.
    """
    settings = {
        "held_out": held_out if isinstance(held_out, float | int | None) else "a log",
        "friction": tuple(friction),
        "rotor": rotor,
        "links": None if links is None else tuple(links),
        "cutoff": cutoff,
    }
    fitted, held = split(system, records_of(system, log, cutoff), held_out, cutoff)
    columns = columns_of(system, friction, rotor, links)
    columns = columns.with_widths(np.max([record.rate_noise for record in fitted], axis=0))
    base = base_of(columns)
    rows = thinned(columns, base, fitted, step_of(fitted))
    prior = np.asarray(columns.values)
    found = estimate(rows, base.matrix @ prior)
    x = base.full(found.beta, prior)
    values = {"prior": prior, "unconstrained": x}
    said = tuple(dict.fromkeys(line for record in fitted for line in record.said))
    robot = with_values(columns, x)
    return Fit(robot, system, columns, base, found, values, fitted, held, settings, said)
