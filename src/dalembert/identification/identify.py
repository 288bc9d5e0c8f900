"""From a log to a fitted robot: each stage a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.identification.base import base_of
from dalembert.identification.columns import columns_of
from dalembert.identification.fit import Fit
from dalembert.identification.logs import logs_of, part_of, records_of, split
from dalembert.identification.outliers import cleaned
from dalembert.identification.rebuilt import with_values
from dalembert.identification.solving import solve
from dalembert.identification.tuning import choose_cutoff, choose_widths, with_noise_widths
from dalembert.systems.system import System


def identify(
    system: System,
    log: Any,
    *,
    held_out: Any = 0.25,
    friction: Sequence[str] = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    links: Sequence[str] | None = None,
    robust: bool = True,
    cutoff: float | None = None,
) -> Fit:
    """The system's inertias, friction and rotors from a log of its motion and torques.

    `log` is an `xarray.Dataset` as `read_log` and `simulate` make it, a path, or a list of them. The
    last `held_out` of its time, or another log, is kept for judging the fit. `friction` names the
    kinds of friction that are asked for; with `links` only these links' inertias are. `robust` takes
    single torques far off their neighbours as not measured. `cutoff`, Hz, is the filter's for
    positions; where it is None it is chosen by their spectrum, and lowered as long as that predicts
    the torques better.
    """
    settings = {
        "held_out": held_out if isinstance(held_out, float | int | None) else "a log",
        "friction": tuple(friction),
        "rotor": rotor,
        "links": None if links is None else tuple(links),
        "robust": robust,
        "cutoff": cutoff,
    }
    logs = logs_of(system, log)
    columns = columns_of(system, friction, rotor, links)
    base = base_of(columns)
    if cutoff is None:
        some = part_of(logs, held_out)
        cutoff = choose_cutoff(columns, base, lambda c: records_of(system, some, c))
    fitted, held = split(system, records_of(system, logs, cutoff), held_out, cutoff)
    columns = with_noise_widths(columns, fitted)
    fitted, said = cleaned(columns, base, fitted) if robust else (fitted, [])
    columns = choose_widths(columns, base, fitted)
    found, x = solve(columns, base, fitted)
    values = {"prior": np.asarray(columns.values), "unconstrained": x}
    done = tuple(dict.fromkeys([line for record in fitted for line in record.said] + said))
    robot = with_values(columns, x)
    return Fit(robot, system, columns, base, found, values, fitted, held, settings, done)
