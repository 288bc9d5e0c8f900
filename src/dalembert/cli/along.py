"""`dalembert inverse ROBOT --csv FILE`: torques along a motion, against limits, as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.cli.coordinates import WRENCH, coordinates, parse
from dalembert.cli.output import console, number, print_json, say, show, table, write_csv
from dalembert.cli.report import FOLDER, name_page
from dalembert.cli.simulate import require_writable, write
from dalembert.cli.subject import load
from dalembert.errors import SettingError
from dalembert.report.page import write_page
from dalembert.report.runs import run_page
from dalembert.simulation.along import peaks, torques_along
from dalembert.simulation.log import read_log
from dalembert.systems.system import System
from dalembert.text import file_name, visible


@dataclass(frozen=True)
class Motion:
    """What the command line says of a motion in a file."""

    csv: Path | None = None
    out: Path | None = None
    report: bool = False
    dt: float | None = None
    lowpass: float | None = None
    actuators: str | None = None
    ignore_others: bool = False
    tip_wrench: str | None = None
    formulation: str | None = None


class Made(NamedTuple):
    """A motion with its torques, and the largest of them."""

    run: Any
    peaks: Any


def refuse_mixed(motion: Motion, state: dict[str, Any]) -> bool:
    """Whether a motion is asked for; a state beside it, or its options without it, are errors."""
    options = {
        "--out": motion.out,
        "--report": motion.report or None,
        "--dt": motion.dt,
        "--lowpass": motion.lowpass,
        "--actuators": motion.actuators,
        "--ignore-others": motion.ignore_others or None,
    }
    for given, other, why in (
        (motion.csv is not None, {f"--{k}": v for k, v in state.items()}, "is not for --csv"),
        (motion.csv is None, options, "needs a motion: --csv FILE"),
    ):
        wrong = [name for name, value in other.items() if value is not None]
        if given and wrong:
            raise SettingError(f"{wrong[0]} {why}")
    return motion.csv is not None


def along(name: str, motion: Motion, degrees: bool, as_json: bool) -> None:
    """Read the motion, compute its torques, compare them with limits, and write what is asked."""
    system = load(name).compiled
    if motion.out is not None:
        require_writable(motion.out, (".csv", ".nc", ".zarr"))
    made = _made(system, motion, degrees)
    if motion.out is not None:
        _write(made.run, motion.out)
    page = _page(system, made.run, motion) if motion.report else None
    if as_json:
        print_json(_facts(made, motion, page))
        return
    _show(system, made, motion)
    if page is not None:
        name_page(console(), page, page.stat().st_size)


def _made(system: System, motion: Motion, degrees: bool) -> Made:
    assert motion.csv is not None
    others = "ignore" if motion.ignore_others else "refuse"
    log = read_log(
        motion.csv, system, degrees=degrees, dt=motion.dt, lowpass=motion.lowpass, others=others
    )
    given: dict[str, Any] = {}
    if motion.tip_wrench is not None:
        given["tip_wrench"] = parse(motion.tip_wrench, "--tip-wrench", "the tool", WRENCH)
    if motion.formulation is not None:
        given["formulation"] = motion.formulation
    drivers = None if motion.actuators is None else motion.actuators.replace(" ", "").split(",")
    run = torques_along(system, log, drivers, **given)
    return Made(run, peaks(run))


def _write(run: Any, path: Path) -> None:
    """Times and torques as a table that `read_log` understands, or all of it as netCDF or Zarr."""
    if path.suffix != ".csv":
        write(run, path)
        return
    units = str(run.tau.attrs["units"]).split(", ")
    names = [str(x) for x in run.joint.values]
    units = units if len(units) == len(names) else units * len(names)
    head = [f"tau_{n} [{u}]" if u else f"tau_{n}" for n, u in zip(names, units, strict=True)]
    times = run.time.values + run.attrs["start_time"]
    rows = np.column_stack([times, run.tau.values])
    write_csv(path, ["time [s]", *head], rows, ["%.16g", *["%.12g"] * len(names)])


def _page(system: System, run: Any, motion: Motion) -> Path:
    assert motion.csv is not None
    path = FOLDER / f"{file_name(motion.csv.stem)}.html"
    if motion.out is not None:
        path = motion.out.with_suffix(".html")
    with console().status("drawing …"):
        write_page(run_page(run, system.robot), path)
    return path


def _facts(made: Made, motion: Motion, page: Path | None) -> dict[str, Any]:
    run = made.run
    facts: dict[str, Any] = {
        "robot": run.attrs["system"],
        "rows": run.sizes["time"],
        "seconds": float(run.time.values[-1] - run.time.values[0]),
        "derivatives": run.attrs["derivatives"],
        "joints": [str(x) for x in run.joint.values],
    }
    facts |= {str(name): made.peaks[name].values for name in made.peaks}
    facts["limits_passed"] = _passed(run)
    written = {"out": motion.out, "report": page}
    return facts | {name: str(path) for name, path in written.items() if path is not None}


def _passed(run: Any) -> list[str]:
    said = run.attrs.get("limits_passed", "")
    return said.split("; ") if said else []


def _show(system: System, made: Made, motion: Motion) -> None:
    screen, run, found = console(), made.run, made.peaks
    rows, seconds = run.sizes["time"], run.time.values[-1] - run.time.values[0]
    title = f"{system.name}, {rows:,} rows over {seconds:.6g} s"
    heads = ("joint", "speed", "of limit", "torque", "at", "of limit", "rms", "power")
    shown = table(title, *heads)
    for k, entry in enumerate(coordinates(system, "tau")):
        speed, torque = entry.unit("qd"), entry.unit("tau")
        shown.add_row(
            entry.name,
            f"{number(abs(found.speed.values[k]))} {speed}".rstrip(),
            _share(found.speed_share.values[k]),
            f"{number(found.torque.values[k])} {torque}".rstrip(),
            f"{found.torque_time.values[k]:.6g} s",
            _share(found.torque_share.values[k]),
            f"{number(found.torque_rms.values[k])} {torque}".rstrip(),
            f"{number(found.power.values[k])} W",
        )
    show(screen, shown)
    say(screen, f"derivatives: {visible(run.attrs['derivatives'])}")
    for sentence in _passed(run):
        say(screen, ("limit passed:", "red"), f" {sentence}")
    if motion.out is not None:
        say(screen, f"written: {motion.out}")


def _share(share: float) -> str:
    """Percent of a limit, marked where it is passed; a dash where there is none."""
    if not np.isfinite(share) or share == 0.0:
        return "–"
    return f"{100.0 * share:.3g} %" + (" !" if share > 1.0 + 1e-9 else "")
