"""The live part of a page: a system's kernels as one WebAssembly module, and its initial state."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from gzip import compress
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.logs.tables import field_header, run_header
from dalembert.report.charts import seven_digits, spread
from dalembert.report.comparison import formulations_part
from dalembert.report.live_equations import balance_part
from dalembert.report.live_forces import (
    controllers_part,
    ellipsoids_part,
    forces_part,
    loads_part,
    motion_part,
    stops_part,
)
from dalembert.report.live_kernels import (
    STIFF,
    Part,
    basic_parts,
    independent_velocities,
    kernel_of,
    slider_coordinates,
    solutions_part,
)
from dalembert.report.live_parameters import parameters_part, with_page_parameters
from dalembert.report.scene import floating_bodies, mechanism_of, numeric_model, poses_of
from dalembert.simulation.provenance import digests, model_attributes
from dalembert.simulation.results import blank
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System
from dalembert.systems.wasm import wasm_within
from dalembert.text import csv_cell
from dalembert.version import __version__

SAMPLES = 361  # of the curves and postures on a page
DT, FINE = 1e-3, 2.5e-4  # s, of a step
MOST_JOINTS = 40  # beyond it a page would carry more code than reading
MOST_BYTES = 600_000  # of a module: compressed, with the viewer and the font, a page below 2 MB
SCRIPTS = (
    *("kernels.js", "closing.js", "state.js", "panels.js", "arrows.js", "posture.js", "strips.js"),
    *("forces.js", "formulations.js", "equations.js"),
    *("settings.js", "parameters.js", "ellipsoids.js"),
    *("drag.js", "solutions.js", "push.js", "stops.js", "waypoints.js", "phase.js"),
    *("netcdf.js", "record.js", "share.js"),
    *("embed.js", "simulate.js"),
)
Feature = Callable[[System], Part]


# the more important first: parts that do not fit are left out
PARTS: tuple[Feature, ...] = (
    *(motion_part, stops_part, parameters_part, controllers_part, ellipsoids_part, solutions_part),
    *(forces_part, loads_part, balance_part, formulations_part),
)


# of a stage alone: all formulations of a robot take as long to trace as the rest of it together
QUICK = tuple(part for part in PARTS if part not in (formulations_part, balance_part))


def live_data(
    system: System,
    start: np.ndarray,
    more: Sequence[Part] = (),
    features: Sequence[Feature] | None = None,
) -> tuple[dict[str, Any] | None, str]:
    """The data of the live part, or None; and a sentence about what is missing, and why.

    Names, units and limits are in the module itself.

    Parameters
    ----------
    system : System
        The system that computes in the page.
    start : ndarray, shape (nq,)
        The posture at which it begins.
    more : sequence of Part, optional
        Kernels and data of what else the page shows.
    features : sequence of callables, optional
        The features of the page, by default all of `PARTS`.

    Returns
    -------
    tuple
        The data, or None where the system does not compute in its page; and the sentence.
    """
    if not system.nv:
        return None, ""
    original = system
    if system.robot is system:
        system = with_page_parameters(system)
    if system.nv > MOST_JOINTS:
        return None, f"With {system.nv} velocities it does not compute inside its page."
    try:
        module, parts, missing = fitting_module(system, more, features)
    except DalembertError as error:
        return None, f"It does not compute inside its page: {error}"
    if len(module) > MOST_BYTES:
        return None, f"Its kernels have {len(module):,} bytes, too many for a page that computes."
    compiled = system.compiled
    dynamics, bound = compiled.dynamics, compiled.dynamics.bound()
    independent, pairs = set(independent_velocities(compiled)), slider_coordinates(dynamics)
    # how energy changes otherwise than by torques
    rng, loss = np.random.default_rng(0), ""
    forces = bound.generalized_forces(system.neutral(), rng.normal(size=dynamics.nv), 0.0)
    if dynamics.moving:
        loss = "lost, less what drivers put in"
    elif np.any(forces) or np.any(bound.coulomb) or dynamics.frictional_rows:
        loss = "lost to friction"
    # the viewer goes along with a floating base
    followed = -1
    if system.robot is not None:
        model = numeric_model(system.robot)
        if sum(body.parent < 0 for body in model.bodies) == 1:
            followed = max(floating_bodies(model), default=-1)
    data = {
        "module": b64encode(compress(module, mtime=0)).decode("ascii"),
        "home": dynamics.normalised(np.round(start, 6)).tolist(),
        # redundant rows seem to contradict the others at the stages of a long step
        "dt": DT if dynamics.freedoms == dynamics.nv - dynamics.rows else FINE,
        "kinds": list(dynamics.kinds.q),
        "joints": [{"k": k, "v": v, "follows": v not in independent} for k, v in pairs],
        "stiff": STIFF * float(np.diag(bound.mass_matrix(compiled.neutral())).max()),
        "robot": system.robot is not None,
        "root": followed,
        "friction": loss,
        "added": system is not original,  # a payload of the page, not of the robot
        "run": empty_run(original, system),
    }
    for part in parts:
        data |= part.data
    left = f"Its page has no {', no '.join(missing)}: the kernels are too large." if missing else ""
    return data | {"left": left}, left


def live_motion(
    system: System, q: np.ndarray, qd: np.ndarray, more: Sequence[Part] = ()
) -> tuple[dict[str, Any], str]:
    """The live part of a page of a motion (samples, …), its states to begin at, and that sentence."""
    finite = np.isfinite(q).all(axis=1)
    if not finite.any():
        return {"live": None}, ""
    live, reason = live_data(system, q[finite.argmax()], more)
    if live is None:
        return {"live": None}, reason
    samples = spread(len(q), SAMPLES)
    states = {"q": seven_digits(q[samples]), "qd": seven_digits(qd[samples])}
    return {"live": live, "states": states}, reason


def fitting_module(
    system: System, more: Sequence[Part] = (), features: Sequence[Feature] | None = None
) -> tuple[bytes, list[Part], list[str]]:
    """The module, the parts that are in it, and the features that are left out as too large."""
    basic, mechanism = basic_parts(system, _moving_tool(system)), mechanism_of(system)

    def body_poses(dynamics: Dynamics, q: np.ndarray) -> dict[str, np.ndarray]:
        """Poses T (bodies, 4, 4) of the frames that a scene's parts are fixed to."""
        if mechanism is None:
            return {"T": poses_of(dynamics.free.description, q)}
        poses = dynamics.free.poses(q)
        return {"T": np.stack([poses[name] for name in mechanism.names[1:]])}

    if system.robot is not None or mechanism is not None:
        kernels = {**basic[0].kernels, "bodies": kernel_of(system, body_poses, "bodies")}
        basic[0] = Part(kernels, feature=basic[0].feature)
    parts = [feature(system) for feature in (PARTS if features is None else features)]
    every = [*basic, *parts, *more]
    module, fits = wasm_within(system, (part.kernels for part in every), MOST_BYTES)
    pairs = list(zip(every, fits, strict=True))
    included = [part for part, is_inside in pairs[len(basic) :] if is_inside]
    missing = dict.fromkeys(part.feature for part, is_inside in pairs if not is_inside)
    return module, included, [feature for feature in missing if feature]


def _moving_tool(system: System) -> str | None:
    """The frame that is dragged, None where it stands still, as the last pin of a linkage does."""
    if system.robot is None:
        return None
    dynamics, q = system.compiled.dynamics.bound(), system.neutral()
    qd = np.random.default_rng(0).normal(size=dynamics.nv)
    if dynamics.rows:
        q, qd = dynamics.project(q, qd, 0.0)
    velocity = dynamics.frame_jacobian(q, "tool")[:3] @ qd
    return "tool" if np.abs(velocity).max() > 1e-9 * np.abs(qd).max() else None


def empty_run(system: System, computed: System) -> dict[str, Any]:
    """A run without instants, to be filled by a page: attributes, coordinates, variables, table head.

    With parameters at their defaults a run carries its model, with others only a digest.

    Parameters
    ----------
    system : System
        The system of the run.
    computed : System
        The system of the page's kernels, which may have parameters that `system` has not.

    Returns
    -------
    dict
        ``attrs``, ``changed``, ``coords``, ``variables``, ``table`` and ``pushed``.
    """
    dynamics, parameters = computed.dynamics, system.named_parameters
    # parameters without a default are zero at first, which is no model to be stored
    model: dict[str, Any] = {}
    if None not in parameters.values():
        model = model_attributes(system, np.array([*parameters.values()]) if parameters else None)
    bound = dynamics.bind(np.array([value or 0.0 for value in dynamics.parameters.values()]))
    run = blank(
        dynamics,
        {
            "system": system.name,
            **(model or digests(dynamics.content)),
            "dalembert_version": __version__,
            "method": "rk4",
            **({"friction": "smooth"} if bound.coulomb.any() else {}),
        },
    )
    pushes = {**run["tau"].attrs, "long_name": "forces from outside, beside those of the drives"}
    run = run.assign(push=(run["tau"].dims, run["tau"].values, pushes))
    energies = [f"{name} [J]" for name in ("kinetic", "potential", "work")]
    return {
        "attrs": run.attrs,
        "changed": digests(dynamics.content),
        "coords": {
            str(k): [str(x) for x in v.values] for k, v in run.coords.items() if k != "time"
        },
        "variables": {
            str(name): {"dims": list(field.dims), "attrs": dict(field.attrs)}
            for name, field in run.variables.items()
            if "time" in field.dims
        },
        "table": ",".join(map(csv_cell, [*run_header(run, dynamics.velocities), *energies])),
        "pushed": ",".join(map(csv_cell, field_header(run["push"], "push_", dynamics.velocities))),
    }
