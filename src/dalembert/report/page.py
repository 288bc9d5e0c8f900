"""One self-contained page: the mechanism in motion, plots that follow it, equations and checks.

Everything is inside the file: it opens from ``file://`` without network.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FormulationError
from dalembert.files import written
from dalembert.report import agreement
from dalembert.report.asset import asset
from dalembert.report.charts import Plot, motion_charts, seven_digits, spread
from dalembert.report.closures import drawn, drawn_bodies
from dalembert.report.colours import css
from dalembert.report.facts import describe
from dalembert.report.live import MOST_JOINTS, QUICK, SAMPLES, alive, live_of
from dalembert.report.live import SCRIPTS as LIVE_SCRIPTS
from dalembert.report.live_equations import equations_part
from dalembert.report.looks import Looks, looks_of
from dalembert.report.mathematics import mathematics
from dalembert.report.motion import SampledMotion, move, path, postures
from dalembert.report.released import SECONDS, let_go, released
from dalembert.report.run_charts import run_charts
from dalembert.report.sections import agreement_html, coordinates_html, counts_html, model_html
from dalembert.report.skeleton import numbers_of
from dalembert.symbolic.page import FORMULAS
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import html, html_data

POSES, FEWEST = 12_000, 61  # of bodies at all instants; the viewer goes from one to the next
GLIMPSES = 41  # postures of the recorded motion on a stage alone, where it only gives the bounds
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

Checks = tuple[Sequence[agreement.Agreement], Sequence[agreement.Law]]


def robot_page(
    robot: Robot,
    motion: SampledMotion | None = None,
    checks: Checks | None = None,
    progress: Callable[[str], Any] = lambda step: None,
) -> str:
    """The report of a robot; `motion` and `checks` are made here unless they are there already."""
    if motion is None:
        progress("moving")
        motion = move(robot)
    charts = motion_charts(robot, motion)
    lead = "A smooth motion through three postures, at rest at both ends."
    recorded = (motion.t, motion.q, motion.qd, motion.tau)
    return _computing_page(robot, robot, recorded, charts, checks, lead, progress)


def system_page(system: System, progress: Callable[[str], Any] = lambda step: None) -> str:
    """The report of any system: a robot's own, or what can be said of others.

    They are let go from the reference posture with a velocity the constraints allow.
    """
    if system.robot is system:
        return robot_page(system.robot, progress=progress)
    given = system  # a mechanism is drawn, its equations are compiled
    try:
        system = given.compiled
        symbolic = system.dynamics.on_symbols  # an error, where it is solved on numbers
    except FormulationError as error:
        return _recorded_page(given, f"Its equations are not in its page: {error}", progress)
    if not symbolic.traces:
        why = (
            f"Its equations are not in its page: {system.nv} velocities and {symbolic.rows} "
            "constraints are too many for one program, so they are solved on numbers"
        )
        return _recorded_page(given, why, progress)
    progress("simulating")
    run = let_go(system)
    charts = [chart for found in run_charts(run).values() for chart in found]
    recorded = tuple(run[name].values for name in ("time", "q", "qd", "tau"))
    lead = f"Let go with a small velocity; {run.sizes['time']:,} instants over {SECONDS:g} s."
    return _computing_page(given, system, recorded, charts, None, lead, progress)


def _computing_page(
    system: System,
    compiled: System,
    recorded: tuple[np.ndarray, ...],
    charts: Sequence[Plot],
    checks: Checks | None,
    lead: str,
    progress: Callable[[str], Any],
) -> str:
    """The page of a recorded motion t, q, qd, tau (samples, …) that also computes its own."""
    t, q, qd, tau = recorded
    if checks is None:
        progress("comparing formulations")
        checks = (list(agreement.formulations(compiled)), list(agreement.laws(compiled)))
    facts, robot = describe(system), system.robot
    progress("writing equations")
    equations = mathematics(compiled)
    progress("counting operations")
    model = model_html(robot, facts) if robot is system else coordinates_html(facts)
    sections = [
        ("model", "Model", model),
        ("equations", "Equations", equations.html),
        ("agreement", "Every formulation agrees", agreement_html(*checks)),
        ("counts", "Operation counts", counts_html(compiled)),
    ]
    progress("compiling the page's kernels")
    live, why = alive(system, q, qd, [equations_part(compiled, equations, t, tau)])
    data = {**performed(system, t, q, charts), **live}
    title = facts["title"] or system.name
    return page(title, facts["citation"] or "", f"{lead} {why}".strip(), data, sections)


def _recorded_page(system: System, why: str, progress: Callable[[str], Any]) -> str:
    """The page of a system that is too large for one program: what it is, and its motion."""
    facts = describe(system)
    progress("simulating")
    run = let_go(system)
    charts = [chart for found in run_charts(run).values() for chart in found]
    few = [chart for chart in charts if len(chart.series) <= MOST_JOINTS]
    lead = f"Let go with a small velocity, for {SECONDS:g} s. {why}."
    data = performed(system, run["time"].values, run["q"].values, few)
    sections = [("model", "Model", coordinates_html(facts))]
    return page(facts["title"] or system.name, facts["citation"] or "", lead, data, sections)


def stage_page(system: System, progress: Callable[[str], Any] = lambda step: None) -> str:
    """The stage alone as a self-contained document: the live robot without sections or recording.

    Formulations are not compared in it. A system that does not compute in its page is shown in its
    recorded motion, with the reason.
    """
    progress("moving")
    if system.robot is system:
        t, q, _, _ = path(system.robot)
    else:
        run = let_go(system)
        t, q = run["time"].values, run["q"].values
    progress("compiling the page's kernels")
    live, why = live_of(system, q[0], rooms=QUICK)
    few = spread(len(t), GLIMPSES)
    shown = performed(system, t[few], q[few], [])
    return page(system.name, "", why, {**shown, "live": live, "alone": True}, [])


def start_of(system: System) -> np.ndarray:
    """q (nq,) where a live system begins."""
    if system.robot is not system:
        return released(system)[0]
    return system.integrate(system.neutral(), postures(system.robot)[0])


def performed(
    system: System | None, t: np.ndarray, q: np.ndarray | None, charts: Sequence[Plot]
) -> dict[str, Any]:
    """The data of a page of one motion: the moving part, and how the robot looks."""
    looks = shapes_of(system)
    shown = None if looks is None else looks.plain()
    return {**moving(system, t, q, charts, looks), "looks": shown}


def shapes_of(system: System | None) -> Looks | None:
    """The shapes of a system's links, where its file has any."""
    robot = None if system is None else system.robot
    return None if robot is None else looks_of(numbers_of(robot))


def moving(
    system: System | None,
    t: np.ndarray,
    q: np.ndarray | None,
    charts: Sequence[Plot],
    looks: Looks | None = None,
) -> dict[str, Any]:
    """The data of the moving part: at most `SAMPLES` instants of curves and postures."""
    chosen = spread(len(t), SAMPLES)
    shape = None
    if system is not None and q is not None and np.isfinite(q).all(axis=1).any():
        few = min(len(chosen), max(FEWEST, POSES // max(1, drawn_bodies(system))))
        frames = chosen[spread(len(chosen), few)]
        # where a posture is not finite, the last one that is
        good = np.isfinite(q).all(axis=1)
        last = np.maximum.accumulate(np.where(good, np.arange(len(q)), -1))
        shown = q[np.where(last < 0, np.argmax(good), last)]
        shape = drawn(system, t[frames], shown[frames], looks)
    times = seven_digits(t[chosen])
    return {"t": times, "charts": [chart.plain(chosen) for chart in charts], "scene": shape}


def page(
    title: str,
    source: str,
    lead: str,
    data: dict[str, Any],
    sections: Sequence[tuple[str, str, str]],
) -> str:
    """The page of one motion; sections are (anchor, heading, HTML)."""
    shown = stage(data["scene"], data.get("looks"))
    first = f'<section id="motion"><p>{html(lead)}</p>{shown}</section>\n'
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
    """The whole document: what comes first, in HTML, and sections (anchor, heading, HTML).

    A stage alone has neither headings nor a font for formulas.
    """
    links = "".join(f'<a href="#{anchor}">{html(name)}</a>' for anchor, name, _ in sections)
    body = "".join(
        f'<section id="{anchor}"><h2>{html(name)}</h2>{content}</section>\n'
        for anchor, name, content in sections
    )
    from dalembert.version import __version__

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


def stage(drawn: Any, looks: dict[str, Any] | None) -> str:
    """The picture with its controls, and the place of the plots."""
    view = f'<div id="arm" role="img" tabindex="0" aria-label="{VIEW}"></div>'
    tick = '<label><input type="checkbox" id="inertia"> inertia</label>'
    if looks:
        tick = '<label><input type="checkbox" id="skeleton"> skeleton</label>' + tick
    said = "".join(f"<li>{html(note)}</li>" for note in looks["notes"]) if drawn and looks else ""
    return (
        '<div class="stage"><div class="view box">'
        + (view if drawn else "")
        + '<div class="controls"><button id="play" type="button" title="Space">Play</button>'
        '<input type="range" id="time" aria-label="time" title="arrow keys step">'
        '<output id="now" for="time"></output>'
        + (tick if drawn else "")
        + "</div>"
        + (f'<ul class="said faint">{said}</ul>' if said else "")
        + '</div><div id="charts"></div></div>'
    )


def style(formulas: bool = True) -> str:
    """The style sheet, and a font for mathematics, which many systems lack."""
    sheets = ("page", "live", "forces", "parameters")
    plain = css() + "".join(asset(f"assets/{name}.css") for name in sheets)
    if not formulas:
        return plain
    font = (files("dalembert.report") / "vendor/stix-math.woff2").read_bytes()
    source = f"data:font/woff2;base64,{b64encode(font).decode()}"
    face = f'@font-face {{ font-family: "STIX formulas"; src: url("{source}") format("woff2"); }}\n'
    return face + plain + asset("assets/equations.css") + FORMULAS


def write_page(text: str, path: Path) -> None:
    """Write a page, whole or not at all, making its folder."""
    with written(path) as part:
        part.write_text(text, encoding="utf-8")
