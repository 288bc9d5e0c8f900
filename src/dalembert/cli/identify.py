"""`dalembert identify ROBOT LOG --out FILE`: a fitted robot from a log, with what speaks for it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.cli.coordinates import joint_limits
from dalembert.cli.output import console, print_json, say, show, table
from dalembert.cli.report import name_page
from dalembert.cli.simulate import require_writable
from dalembert.cli.subject import load
from dalembert.errors import DalembertError, SettingError
from dalembert.files import whole
from dalembert.identification.findings import IdentificationWarning
from dalembert.identification.fit import Fit
from dalembert.identification.identify import identify as fitted
from dalembert.report.identification import write_fit_page
from dalembert.simulation.log import read_log

ROBOTS = (".urdf", ".xml")


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    out: Path | None = None
    page: Path | None = None
    friction: str = "viscous,coulomb,offset"
    no_rotor: bool = False
    held_out: float = 0.25
    payload: str | None = None
    method: str = "inverse_dynamics"
    cutoff: float | None = None
    delay: float = 0.0
    columns: str | None = None
    ignore_others: bool = False
    dt: float | None = None
    doubts: str = "refuse"
    lock: tuple[str, ...] = ()
    torque_constant: str | None = None
    gear: str | None = None
    motor: str | None = None


def identify(name: str, logs: Sequence[Path], options: Options, deg: bool, as_json: bool) -> None:
    """Fit, say how well it predicts and what it did not see, and write what is asked."""
    system = _with_locks(load(name), options.lock, deg).compiled
    for path, kinds in ((options.out, ROBOTS), (options.page, (".html",))):
        if path is not None:
            require_writable(path, kinds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # they are said below
        read = [_read(path, system, options, deg) for path in logs]
        found = fitted(system, read, **_settings(options))
    if options.out is not None:
        _write(_text(found, options.out), options.out)
    if options.page is not None:
        write_fit_page(found, options.page)
    if as_json:
        print_json(_facts(found, options))
        return
    _show(found)
    screen = console()
    if options.out is not None:
        say(screen, f"written: {options.out}{_of_locks(options.lock)}")
    if options.page is not None:
        name_page(screen, options.page, options.page.stat().st_size)


def _of_locks(locks: Sequence[str]) -> str:
    """What became of held joints in a file."""
    held = ", ".join(lock.partition("=")[0].strip() for lock in locks)
    return (
        f"; {held} stays where it is held there, as part of the link that carries it"
        if held
        else ""
    )


def _with_locks(system: Any, locks: Sequence[str], degrees: bool) -> Any:
    """The system with joints held: ``finger_joint1=0.04``, at 0 where no value is given."""
    for lock in locks:
        joint, _, text = (part.strip() for part in lock.partition("="))
        if not hasattr(system, "with_joint_locked"):
            raise SettingError(f"--lock {lock}: {system.name} is no robot whose joints can be held")
        try:
            value = float(text or 0.0)
        except ValueError:
            raise SettingError(f"--lock {lock} must be a joint, or joint=position") from None
        turns = degrees and joint in system.coordinates and _is_angle(system, joint)
        system = system.with_joint_locked(joint, math.radians(value) if turns else value)
    return system


def _is_angle(system: Any, joint: str) -> bool:
    return bool(system.kinds.q[system.coordinates.index(joint)] == "angle")


def _read(path: Path, system: Any, options: Options, degrees: bool) -> Any:
    return read_log(
        path,
        system,
        degrees=degrees,
        dt=options.dt,
        columns=_renamed(options.columns),
        others="ignore" if options.ignore_others else None,
        torque_constant=joint_limits(system, "torque-constant", options.torque_constant),
        gear=joint_limits(system, "gear", options.gear),
        motor=None if options.motor is None else [x.strip() for x in options.motor.split(",")],
    )


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


def _settings(options: Options) -> dict[str, Any]:
    kinds = [kind.strip() for kind in options.friction.split(",") if kind.strip()]
    return {
        "friction": () if kinds == ["none"] else tuple(kinds),
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


def _write(text: str, path: Path) -> None:
    """Whole or not at all."""
    try:
        with whole(path) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DalembertError(f"--out {path} cannot be written: {error.strerror}") from None


def _facts(found: Fit, options: Options) -> dict[str, Any]:
    errors, base = found.errors(), found.base
    facts: dict[str, Any] = {
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
    written = {"out": options.out, "report": options.page}
    return facts | {name: str(path) for name, path in written.items() if path is not None}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _show(found: Fit) -> None:
    screen, errors = console(), found.errors()
    models = [str(name) for name in errors.columns if name != "torque"]
    title = f"{found.prior.name}: RMS of measured less predicted torque, N m or N"
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
