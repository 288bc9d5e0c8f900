"""`dalembert identify ROBOT LOG --out FILE`: a fitted robot from a log, with what speaks for it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.inputs import joint_limits, load, with_locks
from dalembert.cli.output import console, print_json, say, show, table
from dalembert.cli.results import named, require_writable, say_written, write_text
from dalembert.errors import DalembertError, SettingError
from dalembert.identification.findings import IdentificationWarning
from dalembert.identification.fit import Fit
from dalembert.identification.identify import identify as fitted
from dalembert.simulation.log import read_log

if TYPE_CHECKING:
    from dalembert.cli.app import IdentifyOptions

ROBOTS = (".urdf", ".xml")


def identify(options: IdentifyOptions) -> None:
    """Fit, say how well it predicts and what it did not see, and write what is asked."""
    system = with_locks(load(options.robot), options.lock, options.deg).compiled
    require_writable(options.out, ROBOTS)
    require_writable(options.report, (".html",))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # they are said below
        found = fitted(system, _logs(system, options), **_settings(options))
    if options.out is not None:
        write_text(options.out, _text(found, options.out))
    if options.report is not None:
        found.report(options.report)
    if options.json:
        print_json(_facts(found) | named(out=options.out, report=options.report))
        return
    _show(found)
    if options.out is not None:
        held = ", ".join(lock.partition("=")[0].strip() for lock in options.lock or ())
        where = "stays where it is held there, as part of the link that carries it"
        say(console(), f"written: {options.out}" + (f"; {held} {where}" if held else ""))
    say_written(None, options.report)


def _logs(system: Any, options: IdentifyOptions) -> list[Any]:
    settings: dict[str, Any] = {
        "degrees": options.deg,
        "dt": options.dt,
        "columns": _renamed(options.columns),
        "others": "ignore" if options.ignore_others else None,
        "torque_constant": joint_limits(system, "torque-constant", options.torque_constant),
        "gear": joint_limits(system, "gear", options.gear),
        "motor": None if options.motor is None else [x.strip() for x in options.motor.split(",")],
    }
    return [read_log(path, system, **settings) for path in options.log]


def _renamed(given: str | None) -> dict[str, str] | list[str] | None:
    """Names of the file and what they are, ``pos1=q_shoulder,cur1=tau_shoulder``, or all of them."""
    if given is None:
        return None
    if "=" not in given and "," in given:  # of a file that has no names
        return [name.strip() for name in given.split(",")]
    pairs = [piece.partition("=") for piece in given.split(",")]
    if not all(old.strip() and new.strip() for old, _, new in pairs):
        raise SettingError(
            f"--columns {given!r} must be pairs like pos1=q_joint1,cur1=tau_joint1, or "
            "for a file without names all of them, time,q1,q2,tau1,tau2"
        )
    return {old.strip(): new.strip() for old, _, new in pairs}


def _friction(given: str) -> tuple[str, ...] | dict[str, list[str]]:
    """Kinds, ``viscous,coulomb``, or kinds of joints, ``crank:viscous,crank:coulomb``; or none."""
    kinds = [kind.strip() for kind in given.split(",") if kind.strip()]
    if not any(":" in kind for kind in kinds):
        return () if kinds == ["none"] else tuple(kinds)
    found: dict[str, list[str]] = {}
    for joint, _, kind in (kind.rpartition(":") for kind in kinds):
        if not joint:
            raise SettingError(
                f"--friction {given!r} must be kinds for all driven joints, or joint:kind for each"
            )
        found.setdefault(joint.strip(), []).append(kind.strip())
    return found


def _settings(options: IdentifyOptions) -> dict[str, Any]:
    return {
        "friction": _friction(options.friction),
        "rotor": not options.no_rotor,
        "held_out": options.held_out or None,
        "links": None if options.payload is None else (options.payload,),
        "method": options.method,
        "cutoff": options.cutoff,
        "delay": options.delay,
        "doubts": options.doubts,
    }


def _text(found: Fit, out: Path) -> str:
    robot = found.robot.robot
    if robot is None:
        raise DalembertError(f"{found.robot.name} has no file form; take --report")
    return robot.to_urdf() if out.suffix == ".urdf" else robot.to_mjcf()


def _facts(found: Fit) -> dict[str, Any]:
    errors, base = found.errors(), found.base
    return {
        "robot": found.prior.name,
        "settings": {key: _plain(value) for key, value in found.settings.items()},
        "said": list(found.said),
        "warnings": list(found.warnings),
        "unseen": [list(pair) for pair in found.unseen],
        "condition": found.condition,
        "errors": {
            str(data): {
                str(joint): {str(k): float(v) for k, v in row.items()}
                for joint, row in errors.loc[data].iterrows()
            }
            for data in dict.fromkeys(errors.index.get_level_values(0))
        },
        "base": {
            str(name): [row["value"], row["std"], row["prior"]] for name, row in base.iterrows()
        },
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _show(found: Fit) -> None:
    screen, errors = console(), found.errors()
    models = [str(name) for name in errors.columns if name != "torque"]
    title = f"{found.prior.name}: RMS of measured (not filtered) less predicted torque, N m or N"
    made = table(title, "data", "joint", "torque", *models, left=2)
    for (data, joint), row in errors.iterrows():
        size = float(row["torque"])
        cells = [f"{row[m]:.4g} ({row[m] / size:.1%})" if size else f"{row[m]:.4g}" for m in models]
        made.add_row(str(data).replace("_", " "), str(joint), f"{size:.4g}", *cells)
    show(screen, made)
    say(
        screen,
        f"{len(found.grouping.names)} base parameters, condition {found.condition:.4g}; "
        f"{len(found.unseen)} of them are not seen",
    )
    for parameter, why in found.unseen:
        say(screen, f"  not seen: {parameter} – {why}")
    for sentence in found.said:
        say(screen, f"  {sentence}")
    for sentence in found.warnings:
        say(screen, ("warning:", "yellow"), f" {sentence}")
