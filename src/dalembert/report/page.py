"""Self-contained HTML pages: the moving mechanism, plots, equations and checks in one file.

Everything is inside the file: it opens from ``file://`` without network.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FormulationError
from dalembert.files import output_file
from dalembert.report import asset, comparison
from dalembert.report.charts import (
    ON_DARK,
    PALETTE,
    Plot,
    motion_charts,
    run_charts,
    seven_digits,
    spread,
)
from dalembert.report.facts import describe
from dalembert.report.live import MOST_JOINTS, QUICK, SAMPLES, live_data, live_motion
from dalembert.report.live import SCRIPTS as LIVE_SCRIPTS
from dalembert.report.live_equations import equations_part, page_equations
from dalembert.report.motion import SECONDS, SampledMotion, free_motion, move, path
from dalembert.report.scene import mechanism_of, numeric_model, system_scene
from dalembert.report.sections import agreement_html, coordinates_html, counts_html, model_html
from dalembert.report.visuals import Visuals, visuals_of
from dalembert.symbolic.page import FORMULAS
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import file_name, html, html_data
from dalembert.version import __version__

MAX_POSES, MIN_FRAMES = 12_000, 61  # poses of all bodies at all instants; the viewer interpolates
STAGE_POSES = 41  # postures of the recorded motion on a stage alone, which gives its bounds
SCRIPTS = ("clock.js", "plots.js", "shapes.js", "handling.js", "bones.js", "viewer.js")
NO_SCRIPTS = (
    "<noscript><p>Scripts are off: the moving picture and the plots need them, all else is here."
    "</p></noscript>\n"
)
VIEW = (
    "The mechanism in motion. Drag or Shift with arrows turns it, plus and minus zoom. Anywhere on "
    "the page Space plays and pauses, arrows step from sample to sample."
)
# nothing may be fetched, from anywhere
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:"
)

Progress = Callable[[str], object]
Checks = tuple[Sequence[comparison.Agreement], Sequence[comparison.Identity]]


def robot_page(
    robot: Robot,
    motion: SampledMotion | None = None,
    checks: Checks | None = None,
    progress: Progress = lambda step: None,
) -> str:
    """The report of a robot as an HTML document.

    Parameters
    ----------
    robot : Robot
        Any robot without loops.
    motion : SampledMotion, optional
        The recorded motion; by default a smooth one through three postures.
    checks : tuple of sequences, optional
        Agreement of formulations and identities between quantities; by default computed.
    progress : callable, optional
        Called with the name of every step.

    Returns
    -------
    str
        The text of the page, which needs no network.
    """
    if motion is None:
        progress("moving")
        motion = move(robot)
    charts = motion_charts(robot, motion)
    lead = "A smooth motion through three postures, at rest at both ends."
    recorded = (motion.t, motion.q, motion.qd, motion.tau)
    return _computing_page(robot, robot, recorded, charts, checks, lead, progress)


def system_page(system: System, progress: Progress = lambda step: None) -> str:
    """The report of any system; one that is no robot is shown in free motion.

    It starts at the reference posture with a velocity that the constraints allow. The page of a
    system that is too large for one program has its model and its motion alone.
    """
    if system.robot is system:
        return robot_page(system.robot, progress=progress)
    reason = ""
    try:
        compiled = system.compiled  # a mechanism is drawn, its equations are compiled
        symbolic = compiled.dynamics.on_symbols  # an error, where it is solved on numbers
        if not symbolic.traces:
            reason = (
                f"{compiled.nv} velocities and {symbolic.rows} constraints are too many for one "
                "program, so they are solved on numbers"
            )
    except FormulationError as error:
        compiled, reason = system, str(error)
    progress("simulating")
    run = free_motion(system if reason else compiled)
    charts = [chart for several in run_charts(run).values() for chart in several]
    if not reason:
        t, q, qd, tau = (run[name].values for name in ("time", "q", "qd", "tau"))
        lead = f"Let go with a small velocity; {len(t):,} instants over {SECONDS:g} s."
        return _computing_page(system, compiled, (t, q, qd, tau), charts, None, lead, progress)
    facts = describe(system)
    few = [chart for chart in charts if len(chart.series) <= MOST_JOINTS]
    lead = f"Let go with a small velocity, for {SECONDS:g} s. Its equations are not in its page: "
    data = motion_data(system, run["time"].values, run["q"].values, few)
    sections = [("model", "Model", coordinates_html(facts))]
    title, source = facts["title"] or system.name, facts["citation"] or ""
    return page(title, source, f"{lead}{reason}.", data, sections)


def _computing_page(
    system: System,
    compiled: System,
    recorded: tuple[np.ndarray, ...],
    charts: Sequence[Plot],
    checks: Checks | None,
    lead: str,
    progress: Progress,
) -> str:
    """The page of a recorded motion t, q, qd, tau (samples, …) that also computes its own."""
    t, q, qd, tau = recorded
    if checks is None:
        progress("comparing formulations")
        checks = (list(comparison.formulations(compiled)), list(comparison.identities(compiled)))
    facts, robot = describe(system), system.robot
    progress("writing equations")
    equations = page_equations(compiled)
    progress("counting operations")
    model = model_html(robot, facts) if robot is system else coordinates_html(facts)
    sections = [
        ("model", "Model", model),
        ("equations", "Equations", equations.html),
        ("agreement", "Every formulation agrees", agreement_html(*checks)),
        ("counts", "Operation counts", counts_html(compiled)),
    ]
    progress("compiling the page's kernels")
    live, reason = live_motion(system, q, qd, [equations_part(compiled, equations, t, tau)])
    data = {**motion_data(system, t, q, charts), **live}
    title = facts["title"] or system.name
    return page(title, facts["citation"] or "", f"{lead} {reason}".strip(), data, sections)


def stage_page(system: System, progress: Progress = lambda step: None) -> str:
    """The stage alone as a self-contained document: the live robot without sections or recording.

    Formulations are not compared in it. A system that does not compute in its page is shown in its
    recorded motion, with the reason.

    Parameters
    ----------
    system : System
        Any system: a robot, a closed chain, a mechanism, a Lagrangian.
    progress : callable, optional
        Called with the name of every step.

    Returns
    -------
    str
        The text of the page, which needs no network.
    """
    progress("moving")
    if system.robot is system:
        t, q, _, _ = path(system.robot)
    else:
        run = free_motion(system)
        t, q = run["time"].values, run["q"].values
    progress("compiling the page's kernels")
    live, reason = live_data(system, q[0], features=QUICK)
    few = spread(len(t), STAGE_POSES)
    data = {**motion_data(system, t[few], q[few], []), "live": live, "alone": True}
    return page(system.name, "", reason, data, [])


def motion_data(
    system: System | None, t: np.ndarray, q: np.ndarray | None, charts: Sequence[Plot]
) -> dict[str, Any]:
    """The data of a page of one motion: curves, scene, and visuals of the robot."""
    visuals = system_visuals(system)
    plain = None if visuals is None else visuals.plain()
    return {**moving_data(system, t, q, charts, visuals), "visuals": plain}


def system_visuals(system: System | None) -> Visuals | None:
    """The visual geometry of a system's links, where its file has any."""
    robot = None if system is None else system.robot
    return None if robot is None else visuals_of(numeric_model(robot))


def moving_data(
    system: System | None,
    t: np.ndarray,
    q: np.ndarray | None,
    charts: Sequence[Plot],
    visuals: Visuals | None = None,
) -> dict[str, Any]:
    """Curves and scene of a motion: at most `SAMPLES` instants of q (samples, nq) at t (samples,)."""
    samples = spread(len(t), SAMPLES)
    scene = None
    if system is not None and q is not None and np.isfinite(q).all(axis=1).any():
        drawn = mechanism_of(system) or (system.robot and system.robot.model)
        most = max(MIN_FRAMES, MAX_POSES // max(1, len(drawn.bodies) if drawn else 0))
        frames = samples[spread(len(samples), min(len(samples), most))]
        # where a posture is not finite, the last one that is
        finite = np.isfinite(q).all(axis=1)
        last = np.maximum.accumulate(np.where(finite, np.arange(len(q)), -1))
        filled = q[np.where(last < 0, np.argmax(finite), last)]
        scene = system_scene(system, t[frames], filled[frames], visuals)
    curves = [chart.plain(samples) for chart in charts]
    return {"t": seven_digits(t[samples]), "charts": curves, "scene": scene}


def page(
    title: str,
    source: str,
    lead: str,
    data: dict[str, Any],
    sections: Sequence[tuple[str, str, str]],
) -> str:
    """The page of one motion; sections are (anchor, heading, HTML)."""
    view = stage(data["scene"] is not None, data.get("visuals"))
    first = f'<section id="motion"><p>{html(lead)}</p>{view}</section>\n'
    scripts = [asset("vendor/three.min.js")] if data["scene"] else []
    computing = LIVE_SCRIPTS if data.get("live") else ()
    scripts += [asset(f"assets/{name}") for name in (*SCRIPTS, *computing)]
    begin = "goLive();" if computing else ""
    return document(title, source, first, data, sections, [*scripts, f"perform(data);{begin}"])


def document(
    title: str,
    source: str,
    first: str,
    data: dict[str, Any],
    sections: Sequence[tuple[str, str, str]],
    scripts: Sequence[str],
) -> str:
    """The whole document: the first part, in HTML, and sections (anchor, heading, HTML).

    A stage alone has neither headings nor a font for formulas.
    """
    links = body = ""
    for anchor, name, content in sections:
        links += f'<a href="#{anchor}">{html(name)}</a>'
        body += f'<section id="{anchor}"><h2>{html(name)}</h2>{content}</section>\n'
    head = (
        f'<header><h1>{html(title)}</h1><p class="faint">{html(source)}</p>'
        f'<nav><a href="#motion">Motion</a>{links}</nav></header>\n'
    )
    foot = f"<footer>Made by dalembert {__version__}. Units are SI and radians.</footer>\n"
    if alone := bool(data.get("alone")):
        head = foot = ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html(title)} – dalembert</title>\n<style>\n{style(not alone)}</style>\n"
        f'</head>\n<body class="{"alone" * alone}">\n{head}<main>\n'
        f"{NO_SCRIPTS}{first}{body}</main>\n{foot}"
        f'<script type="application/json" id="data">{html_data(data)}</script>\n'
        + "".join(f"<script>\n{text}\n</script>\n" for text in scripts)
        + "</body>\n</html>\n"
    )


def stage(has_scene: bool, visuals: dict[str, Any] | None) -> str:
    """The picture with its controls, and the container of the plots."""
    view = f'<div id="arm" role="img" tabindex="0" aria-label="{VIEW}"></div>'
    boxes = '<label><input type="checkbox" id="inertia"> inertia</label>'
    notes = ""
    if visuals:
        boxes = '<label><input type="checkbox" id="skeleton"> skeleton</label>' + boxes
        notes = "".join(f"<li>{html(note)}</li>" for note in visuals["notes"])
    return (
        '<div class="stage"><div class="view box">'
        + (view if has_scene else "")
        + '<div class="controls"><button id="play" type="button" title="Space">Play</button>'
        '<input type="range" id="time" aria-label="time" title="arrow keys step">'
        '<output id="now" for="time"></output>'
        + (boxes if has_scene else "")
        + "</div>"
        + (f'<ul class="notes faint">{notes}</ul>' if has_scene and notes else "")
        + '</div><div id="charts"></div></div>'
    )


def style(formulas: bool = True) -> str:
    """The style sheet, and a font for mathematics, which many systems lack."""
    light, dark = (
        " ".join(f"--c{k}: {colour};" for k, colour in enumerate(colours))
        for colours in (PALETTE, ON_DARK)
    )
    plain = (  # paper is light
        f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) "
        f"{{ :root:not(.printing) {{ {dark} }} }}\n"
    )
    sheets = ("page", "live", "forces", "parameters")
    plain += "".join(asset(f"assets/{name}.css") for name in sheets)
    if not formulas:
        return plain
    font = (files("dalembert.report") / "vendor/stix-math.woff2").read_bytes()
    source = f"data:font/woff2;base64,{b64encode(font).decode()}"
    face = f'@font-face {{ font-family: "STIX formulas"; src: url("{source}") format("woff2"); }}\n'
    return face + plain + asset("assets/equations.css") + FORMULAS


def write_page(text: str, path: Path) -> None:
    """Write a page, whole or not at all, making its folder."""
    with output_file(path) as part:
        part.write_text(text, encoding="utf-8")


def write_report(
    system: System, path: str | PathLike[str] | None = None, progress: Progress = lambda step: None
) -> Path:
    """Write the page of a system, which computes in the browser, and return its path.

    Parameters
    ----------
    system : System
        Any system: a robot, a closed chain, a mechanism, a Lagrangian.
    path : path, optional
        The file to write; by default the system's name with ``.html`` in the present folder.
    progress : callable, optional
        Called with the name of every step.

    Returns
    -------
    Path
        The file that was written.
    """
    target = Path(f"{file_name(system.name)}.html" if path is None else path)
    write_page(system_page(system.compiled, progress), target)
    return target
