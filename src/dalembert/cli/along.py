"""`dalembert inverse ROBOT --csv FILE`: torques along a motion, against limits, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cli.inputs import WRENCH, coordinates, load_changed, parse
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.cli.results import (
    MOTIONS,
    named,
    require_writable,
    say_written,
    write,
    write_csv,
    write_run_page,
)
from dalembert.errors import SettingError
from dalembert.simulation.along import peaks, torques_along
from dalembert.simulation.log import read_log
from dalembert.systems.system import System
from dalembert.text import visible

if TYPE_CHECKING:
    from dalembert.cli.app import InverseOptions


def refuse_mixed(options: InverseOptions) -> None:
    """Options of a motion are not for one state, nor those of a state for a motion."""
    wrong, why = ["q", "qd", "qdd", "table"], "is not for --csv"
    if options.csv is None:
        wrong = ["out", "report", "dt", "lowpass", "actuators", "ignore_others"]
        why = "needs a motion: --csv FILE"
    for name in wrong:
        if getattr(options, name) not in (None, False):
            raise SettingError(f"--{name.replace('_', '-')} {why}")


def along(options: InverseOptions) -> None:
    """Read the motion, compute its torques, compare them with limits, and write what is asked."""
    system = load_changed(options).compiled
    require_writable(options.out, MOTIONS)
    run = _torques(system, options)
    found = peaks(run)
    if options.out is not None:
        _write(run, options.out)
    page = None
    if options.report:
        assert options.csv is not None
        page = write_run_page(run, system.robot, options.out, options.csv.stem)
    if options.json:
        print_json(_facts(run, found) | named(out=options.out, report=page))
        return
    _show(system, run, found)
    say_written(options.out, page)


def _torques(system: System, options: InverseOptions) -> Any:
    """The motion of the file with the torques along it."""
    assert options.csv is not None
    others = "ignore" if options.ignore_others else "refuse"
    log = read_log(
        options.csv,
        system,
        degrees=options.deg,
        dt=options.dt,
        lowpass=options.lowpass,
        others=others,
    )
    given: dict[str, Any] = {}
    if options.tip_wrench is not None:
        given["tip_wrench"] = parse(options.tip_wrench, "--tip-wrench", "the tool", WRENCH)
    if options.formulation is not None:
        given["formulation"] = options.formulation
    drivers = None if options.actuators is None else options.actuators.replace(" ", "").split(",")
    return torques_along(system, log, drivers, **given)


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


def _facts(run: Any, found: Any) -> dict[str, Any]:
    return {
        "robot": run.attrs["system"],
        "rows": run.sizes["time"],
        "seconds": float(run.time.values[-1] - run.time.values[0]),
        "derivatives": run.attrs["derivatives"],
        "joints": [str(x) for x in run.joint.values],
        **{str(name): found[name].values for name in found},
        "limits_passed": _passed(run),
    }


def _passed(run: Any) -> list[str]:
    said = run.attrs.get("limits_passed", "")
    return said.split("; ") if said else []


def _show(system: System, run: Any, found: Any) -> None:
    screen = console()
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


def _share(share: float) -> str:
    """Percent of a limit, marked where it is passed; a dash where there is none."""
    if not np.isfinite(share) or share == 0.0:
        return "–"
    return f"{100.0 * share:.3g} %" + (" !" if share > 1.0 + 1e-9 else "")
