"""`dalembert mechanism`: a mechanism in absolute coordinates: mobility, forces, motion, figures."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cli.inputs import parse
from dalembert.cli.output import column, console, number, print_json, say, show_table
from dalembert.errors import ParameterError, UnknownNameError
from dalembert.mechanisms.file import read_mechanism
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.text import file_name, require_known, suggest
from dalembert.zoo import bodies, entry
from dalembert.zoo.absolute import flyball_governor
from dalembert.zoo.two_bar import SCENARIOS, Scenario, names_scenario, read_scenario, scenario

if TYPE_CHECKING:
    import xarray

    from dalembert.cli.app import MechanismOptions

Facts = dict[str, Any]
PAIRS = {
    "lengths": ("d2", "d3"),
    "masses": ("m2", "m3"),
    "phi_start": ("phi2", "theta"),
    "phi_end": ("phi2", "theta"),
}


def mechanism(options: MechanismOptions) -> None:
    """Print the mechanism's mobility and forces, simulate it, and write figures."""
    analysis, example, duration = _load(options)
    facts = _facts(analysis, example)
    needs_run = options.plot or options.animate or options.report
    seconds = options.simulate or (duration if needs_run else None)
    paths: list[Path] = []
    if seconds is not None:
        # a scenario's own Δt is divided evenly; a requested duration is taken as it is
        even = duration / max(1, round(duration / options.dt))
        dt = min(options.dt, seconds) if options.simulate else even
        torques = None if example is None else example.torques
        run = analysis.simulate(seconds, dt, options.method, torques)
        energy = (run.kinetic + run.potential).values
        # bodies without joints have no residual
        names = ("residual", "velocity_residual")
        largest = [float(run[name].max()) if name in run else 0.0 for name in names]
        facts["run"] = {
            "duration": float(run.time[-1]),
            "samples": int(run.sizes["time"]),
            "method": run.attrs["method"],
            "largest_position_residual": largest[0],
            "largest_velocity_residual": largest[1],
            "energy_at_start": float(energy[0]),
            "energy_at_end": float(energy[-1]),
        }
        paths = _write_figures(analysis, run, options, example)
    if options.json:
        print_json(facts)
        return
    if options.equations:
        for line in analysis.dae_equations().text().splitlines():
            say(console(), line, soft_wrap=True)
    screen, d = console(), analysis.description
    counts = f"{len(d.bodies)} bodies, {len(d.joints)} joints, {len(d.drivers)} drivers"
    say(screen, (analysis.name, "bold"), f", {d.space.name}: {counts}")
    screen.print(
        f"mobility by Grübler's count: {d.space.nv}·{len(d.bodies)} − {facts['joint_rows']} = "
        f"{facts['mobility']}; left with drivers, by rank: {facts['freedoms']}"
        + (f"; {facts['redundant_rows']} redundant rows" if facts["redundant_rows"] else "")
    )
    parts = ("Fx", "Fy", "M") if d.space.dimension == 2 else ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    rows = ([name, *column(wrench)] for name, wrench in facts["forces"].items())
    title = "Joint forces at t = 0, on the second body (N, N m)"
    show_table(screen, title, ("joint", *parts), rows)
    for name, values in facts["efforts"].items():
        say(screen, f"driver {name}: {', '.join(number(x) for x in values)}")
    for name, value in facts.get("run", {}).items():
        text = number(value) if isinstance(value, float) else str(value)
        say(screen, f"{name.replace('_', ' ')}: {text}")
    for path in paths:
        say(screen, "written: ", (str(path), "bold"), soft_wrap=True)


def _load(options: MechanismOptions) -> tuple[Mechanism, Scenario | None, float]:
    """A TOML file, a mechanism of the zoo, or a scenario of the two-bar arm; and its duration, s."""
    subject, file = options.subject, Path(options.subject)
    # numbers by name: pairs, Δt, and any NAME=VALUE
    values: Facts = {}
    for name, pair in PAIRS.items():
        text = getattr(options, name)
        if text is not None:
            option = f"--{name.replace('_', '-')}"
            values[name] = tuple(parse(text, option, "the arm", pair).tolist())
    if options.delta_t is not None:
        values["delta_t"] = options.delta_t
    for text in options.set or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"--set {text!r}: write NAME=VALUE, such as g=1.62")
        pieces = value.replace(",", " ").split()
        several = parse(value, f"--set {name}", "the mechanism", pieces).tolist()
        values[name.strip()] = several[0] if len(several) == 1 else tuple(several)
    zoo = {name: entry(name).build for name in bodies()} | {"flyball_governor": flyball_governor}
    example = None
    if subject in SCENARIOS:
        example = scenario(subject, **values)
    elif subject in zoo:
        known = signature(zoo[subject]).parameters
        for key in values:
            require_known(key, known, f"{subject} has no number", ParameterError)
        return zoo[subject](**values), None, 2.0
    elif file.suffix != ".toml" and not file.exists():
        raise UnknownNameError(
            f"no file, mechanism or scenario {subject!r}{suggest(subject, [*zoo, *SCENARIOS])}"
        )
    elif names_scenario(file):
        example = read_scenario(file, **values)
    elif values:
        raise ParameterError(f"{subject} holds a mechanism: its numbers are those in the file")
    if example is None:
        return read_mechanism(file), None, 2.0
    return example.mechanism, example, example.duration


def _facts(analysis: Mechanism, example: Scenario | None = None) -> Facts:
    """Counts, bodies, joints, and the forces at the first instant, a scenario's by its own drives."""
    d = analysis.description
    joint_rows = sum(joint.kind.rows for joint in d.joints)
    state = analysis.forward_dynamics() if example is None else example.first()
    efforts = {driver.name: state.effort(driver.name) for driver in d.drivers}
    if example is not None:
        torques, state = example.moved(state)
        efforts |= {name: np.array([torque]) for name, torque in torques.items()}
    forces = {}
    for joint in d.joints:
        body = d.names[joint.bodies[-1]]
        forces[f"{joint.name} on {body}"] = state.wrench(joint.name, body)
    return {
        "name": analysis.name,
        "bodies": list(analysis.bodies),
        "coordinates": analysis.nv,
        "joint_rows": joint_rows,
        "driver_rows": d.rows - joint_rows,
        "mobility": analysis.mobility,
        "freedoms": analysis.freedoms(),
        "redundant_rows": analysis.redundant(),
        "forces": forces,
        "efforts": efforts,
    }


def _write_figures(
    analysis: Mechanism, run: xarray.Dataset, options: MechanismOptions, example: Scenario | None
) -> list[Path]:
    """Write the requested files; joint forces are those under the scenario's own drives."""
    from dalembert.report.figures import animate_mechanism, draw_mechanism, with_loads
    from dalembert.report.page import write_page
    from dalembert.report.runs import run_page

    paths, moved = [], None if example is None else example.moved
    base = options.out / file_name(analysis.name)
    if options.plot:
        paths.append(draw_mechanism(analysis, run, base.with_name(f"{base.name}.png"), moved))
    if options.animate:
        paths.append(animate_mechanism(analysis, run, base.with_name(f"{base.name}.gif")))
    if options.report:
        paths.append(base.with_name(f"{base.name}.html"))
        write_page(run_page(with_loads(analysis, run, moved)), paths[-1])
    return paths
