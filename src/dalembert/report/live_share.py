"""What a page needs to save a motion as a file of the library: a run of no instants, as data."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.simulation.log_write import header, headings
from dalembert.simulation.provenance import carried, digests
from dalembert.simulation.result import blank
from dalembert.systems.system import System
from dalembert.text import csv_cell
from dalembert.version import __version__


def unwritten(system: System, computed: System) -> dict[str, Any]:
    """The run that a page fills in: attributes, coordinates, variables, and the head of its table.

    `computed` is the system of the page's kernels, which may have parameters that `system` has not.
    With parameters at their defaults a run carries its model, with others only a digest.
    """
    made, open_ = computed.dynamics, system.named_parameters
    # parameters without a default are zero at first, which is no model to be carried
    known = None not in open_.values()
    own = carried(system, np.array([*open_.values()]) if open_ else None) if known else {}
    first = made.bind(np.array([value or 0.0 for value in made.parameters.values()]))
    run = blank(
        made,
        {
            "system": system.name,
            **(own or digests(made.content)),
            "dalembert_version": __version__,
            "method": "rk4",
            **({"friction": "smooth"} if first.coulomb.any() else {}),
        },
    )
    pushes = {**run["tau"].attrs, "long_name": "forces from outside, beside those of the drives"}
    run = run.assign(push=(run["tau"].dims, run["tau"].values, pushes))
    energies = [f"{name} [J]" for name in ("kinetic", "potential", "work")]
    return {
        "attrs": run.attrs,
        "changed": digests(made.content),
        "coords": {
            str(k): [str(x) for x in v.values] for k, v in run.coords.items() if k != "time"
        },
        "variables": {
            str(name): {"dims": list(field.dims), "attrs": dict(field.attrs)}
            for name, field in run.variables.items()
            if "time" in field.dims
        },
        "table": ",".join(map(csv_cell, [*header(run, made.velocities), *energies])),
        "pushed": ",".join(map(csv_cell, headings(run["push"], "push_", made.velocities))),
    }
