"""`dalembert mechanism`: a mechanism in absolute coordinates, looked at, moved and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cli.inputs import parse
from dalembert.cli.output import console, number, print_json, say, table
from dalembert.errors import ParameterError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.file import read_mechanism
from dalembert.mechanisms.loads import loads
from dalembert.text import file_name
from dalembert.zoo import bodies, entry
from dalembert.zoo.governor import flyball_governor
from dalembert.zoo.scenario_file import names_scenario, read_scenario
from dalembert.zoo.two_bar_scenarios import SCENARIOS, Scenario, scenario

if TYPE_CHECKING:
    from dalembert.cli.app import MechanismOptions

PAIRS = {
    "lengths": ("d2", "d3"),
    "masses": ("m2", "m3"),
    "phi_start": ("phi2", "theta"),
    "phi_end": ("phi2", "theta"),
}


def mechanism(options: MechanismOptions) -> None:
    """Say what it is, move it, and write pictures."""
    made, found, duration = find(options.subject, _numbers(options))
    torques = None if found is None else found.torques
    facts = describe(made, found)
    shown = options.plot or options.animate or options.report
    wanted = options.simulate or (duration if shown else None)
    run = None
    if wanted is not None:
        # a scenario's own Δt is divided evenly; a duration that was asked for is taken as it is
        even = duration / max(1, round(duration / options.dt))
        dt = min(options.dt, wanted) if options.simulate else even
        run = made.simulate(wanted, dt, options.method, torques)
        facts["run"] = summary(run)
    paths = [] if run is None else pictures(made, run, options, found)
    if options.json:
        print_json(facts)
        return
    if options.equations:
        for line in made.dae_equations().text().splitlines():
            say(console(), line, soft_wrap=True)
    show(made, facts)
    if run is not None:
        screen = console()
        for name, value in facts["run"].items():
            said = number(value) if isinstance(value, float) else str(value)
            say(screen, f"{name.replace('_', ' ')}: {said}")
        for path in paths:
            say(screen, "written: ", (str(path), "bold"), soft_wrap=True)


def find(subject: str, given: Mapping[str, Any]) -> tuple[Analysis, Scenario | None, float]:
    """A TOML file, a mechanism of the zoo, or a scenario of the two-bar arm, with own numbers."""
    zoo = {name: entry(name).build for name in bodies()} | {"flyball_governor": flyball_governor}
    if subject in SCENARIOS:
        found = scenario(subject, **given)
        return found.mechanism, found, found.duration
    if subject in zoo:
        known = list(signature(zoo[subject]).parameters)
        for key in given:
            if key not in known:
                raise ParameterError(f"{subject} has no number {key!r}{suggest(key, known)}")
        return zoo[subject](**given), None, 2.0
    if Path(subject).suffix != ".toml" and not Path(subject).exists():
        raise UnknownNameError(
            f"no file, mechanism or scenario {subject!r}{suggest(subject, [*zoo, *SCENARIOS])}"
        )
    if names_scenario(Path(subject)):
        found = read_scenario(Path(subject), **given)
        return found.mechanism, found, found.duration
    if given:
        raise ParameterError(f"{subject} holds a mechanism: its numbers are those in the file")
    return read_mechanism(Path(subject)), None, 2.0


def _numbers(options: MechanismOptions) -> dict[str, Any]:
    """Numbers by name from the options of the command: pairs, Δt, and any NAME=VALUE."""
    found: dict[str, Any] = {}
    for name, pair in PAIRS.items():
        text = getattr(options, name)
        if text is not None:
            option = f"--{name.replace('_', '-')}"
            found[name] = tuple(parse(text, option, "the arm", pair).tolist())
    if options.delta_t is not None:
        found["delta_t"] = options.delta_t
    for text in options.set or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"--set {text!r}: write NAME=VALUE, such as g=1.62")
        pieces = value.replace(",", " ").split()
        values = parse(value, f"--set {name}", "the mechanism", pieces).tolist()
        found[name.strip()] = values[0] if len(values) == 1 else tuple(values)
    return found


def describe(made: Analysis, found: Scenario | None = None) -> dict[str, Any]:
    """Counts, bodies, joints, and the forces at the first instant, a scenario's by its own drives."""
    d = made.description
    joints = sum(joint.kind.rows for joint in d.joints)
    state = led = made.forward_dynamics() if found is None else found.first()
    efforts = {driver.name: led.effort(driver.name) for driver in d.drivers}
    if found is not None:
        torques, state = found.moved(led)
        efforts |= {name: np.array([torque]) for name, torque in torques.items()}
    return {
        "name": made.name,
        "bodies": list(made.bodies),
        "coordinates": made.nv,
        "joint_rows": joints,
        "driver_rows": d.rows - joints,
        "mobility": made.mobility,
        "freedoms": made.freedoms(),
        "redundant_rows": made.redundant(),
        "forces": {
            f"{joint.name} on {d.names[joint.bodies[-1]]}": state.wrench(
                joint.name, d.names[joint.bodies[-1]]
            )
            for joint in d.joints
        },
        "efforts": efforts,
    }


def summary(run: Any) -> dict[str, Any]:
    """How a run went."""
    energy = (run.kinetic + run.potential).values
    return {
        "duration": float(run.time[-1]),
        "samples": int(run.sizes["time"]),
        "method": run.attrs["method"],
        "largest_position_residual": _largest(run, "residual"),
        "largest_velocity_residual": _largest(run, "velocity_residual"),
        "energy_at_start": float(energy[0]),
        "energy_at_end": float(energy[-1]),
    }


def _largest(run: Any, name: str) -> float:
    """Of a residual; bodies without joints have none."""
    return float(run[name].max()) if name in run else 0.0


def pictures(
    made: Analysis, run: Any, options: MechanismOptions, found: Scenario | None = None
) -> list[Path]:
    """What was asked for, in the folder; forces are those of the scenario's own drives."""
    from dalembert.report.mechanism_picture import animate, draw

    paths, moved = [], None if found is None else found.moved
    place = options.out / file_name(made.name)
    if options.plot:
        paths.append(draw(made, run, place.with_name(f"{place.name}.png"), moved))
    if options.animate:
        paths.append(animate(made, run, place.with_name(f"{place.name}.gif")))
    if options.report:
        paths.append(write_run(made, run, place.with_name(f"{place.name}.html"), moved))
    return paths


def write_run(made: Analysis, run: Any, path: Path, moved: Any = None) -> Path:
    """A page of the run with the forces at every joint and the torques of the motors."""
    from dalembert.report.mechanism_picture import sampled
    from dalembert.report.page import write_page
    from dalembert.report.runs import run_page

    seen = sampled(run)
    shown = seen.drop_vars("tau").merge(loads(made, seen, moved), combine_attrs="override")
    write_page(run_page(shown), path)
    return path


def show(made: Analysis, facts: dict[str, Any]) -> None:
    """Tables for people."""
    screen, d = console(), made.description
    per_body = d.space.nv
    counts = f"{len(d.bodies)} bodies, {len(d.joints)} joints, {len(d.drivers)} drivers"
    say(screen, (made.name, "bold"), f", {d.space.name}: {counts}")
    screen.print(
        f"mobility by Grübler's count: {per_body}·{len(d.bodies)} − {facts['joint_rows']} = "
        f"{facts['mobility']}; left with drivers, by rank: {facts['freedoms']}"
        + (f"; {facts['redundant_rows']} redundant rows" if facts["redundant_rows"] else "")
    )
    parts = ("Fx", "Fy", "M") if d.space.dimension == 2 else ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    made_table = table("Joint forces at t = 0, on the second body (N, N m)", "joint", *parts)
    for name, wrench in facts["forces"].items():
        made_table.add_row(name, *(number(x, float(np.abs(wrench).max())) for x in wrench))
    screen.print(made_table)
    for name, values in facts["efforts"].items():
        say(screen, f"driver {name}: {', '.join(number(x) for x in values)}")
