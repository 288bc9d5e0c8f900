"""`dalembert mechanism`: a mechanism in absolute coordinates, looked at, moved and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.cli.output import console, number, print_json, say, table
from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.file import read_mechanism
from dalembert.text import file_name
from dalembert.zoo.absolute import ENTRIES
from dalembert.zoo.two_bar_scenarios import SCENARIOS, Scenario, scenario


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    simulate: float | None = None
    dt: float = 1e-2
    method: str = "DOP853"
    plot: bool = False
    animate: bool = False
    out: Path = Path("out")


def mechanism(subject: str, options: Options, as_json: bool) -> None:
    """Say what it is, move it, and write pictures."""
    made, found, duration = find(subject)
    torques = None if found is None else found.torques
    facts = describe(made, found)
    wanted = options.simulate or (duration if options.plot or options.animate else None)
    run = None
    if wanted is not None:
        run = made.simulate(wanted, min(options.dt, wanted), options.method, torques)
        facts["run"] = summary(run)
    paths = [] if run is None else pictures(made, run, options)
    if as_json:
        print_json(facts)
        return
    show(made, facts)
    if run is not None:
        screen = console()
        for name, value in facts["run"].items():
            said = number(value) if isinstance(value, float) else str(value)
            say(screen, f"{name.replace('_', ' ')}: {said}")
        for path in paths:
            say(screen, "written: ", (str(path), "bold"), soft_wrap=True)


def find(subject: str) -> tuple[Analysis, Scenario | None, float]:
    """A TOML file, a mechanism of the zoo, or a scenario of the two-bar arm."""
    if subject in SCENARIOS:
        found = scenario(subject)
        return found.mechanism, found, found.duration
    zoo = {entry.name: entry for entry in ENTRIES}
    if subject in zoo:
        return zoo[subject].build(), None, 2.0
    if Path(subject).suffix != ".toml" and not Path(subject).exists():
        known = [*zoo, *SCENARIOS]
        raise UnknownNameError(
            f"no file, mechanism or scenario {subject!r}{suggest(subject, known)}"
        )
    return read_mechanism(Path(subject)), None, 2.0


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


def pictures(made: Analysis, run: Any, options: Options) -> list[Path]:
    """What was asked for, in the folder."""
    from dalembert.report.mechanism_picture import animate, draw

    paths = []
    if options.plot:
        paths.append(draw(made, run, options.out / f"{file_name(made.name)}.png"))
    if options.animate:
        paths.append(animate(made, run, options.out / f"{file_name(made.name)}.gif"))
    return paths


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
