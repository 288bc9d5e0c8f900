"""`dalembert identify` and `dalembert excite`: a robot fitted to logs, and motions for logging."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from dalembert.cli.inputs import joint_limits, load, motion_limits, state, with_locks
from dalembert.cli.output import console, number, print_json, say, show_table
from dalembert.cli.results import (
    MOTIONS,
    path_names,
    require_writable,
    say_written,
    write_results,
    write_text,
)
from dalembert.errors import DalembertError, SettingError
from dalembert.identification.diagnostics import IdentificationWarning
from dalembert.identification.excitation import excitation
from dalembert.identification.identify import identify as fit_model
from dalembert.identification.result import Fit
from dalembert.logs.read import read_log

if TYPE_CHECKING:
    from dalembert.cli.app import ExciteOptions, IdentifyOptions

ROBOTS = (".urdf", ".xml")


def identify(options: IdentifyOptions) -> None:
    """Fit, print prediction errors and unidentified parameters, write the fitted robot."""
    system = with_locks(load(options.robot), options.lock, options.deg).compiled
    require_writable(options.out, ROBOTS)
    require_writable(options.report, (".html",), "--report")
    motor = None if options.motor is None else [x.strip() for x in options.motor.split(",")]
    reading: dict[str, Any] = {
        "degrees": options.deg,
        "dt": options.dt,
        "columns": _column_names(options.columns),
        "others": "ignore" if options.ignore_others else None,
        "torque_constant": joint_limits(system, "torque-constant", options.torque_constant),
        "gear": joint_limits(system, "gear", options.gear),
        "motor": motor,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentificationWarning)  # they are printed below
        fit = fit_model(
            system,
            [read_log(path, system, **reading) for path in options.log],
            friction=_friction(options.friction),
            rotor=not options.no_rotor,
            held_out=options.held_out or None,
            links=None if options.payload is None else (options.payload,),
            method=options.method,
            cutoff=options.cutoff,
            delay=options.delay,
            on_inconsistent=options.on_inconsistent,
        )
    if options.out is not None:
        robot = fit.robot.robot
        if robot is None:
            raise DalembertError(f"{fit.robot.name} has no file form; take --report")
        text = robot.to_urdf() if options.out.suffix == ".urdf" else robot.to_mjcf()
        write_text(options.out, text)
    if options.report is not None:
        fit.report(options.report)
    if options.json:
        print_json(_fit_facts(fit) | path_names(out=options.out, report=options.report))
        return
    _show_fit(fit)
    if options.out is not None:
        locked = ", ".join(lock.partition("=")[0].strip() for lock in options.lock or ())
        note = "stays where it is held there, as part of the link that carries it"
        say(console(), f"written: {options.out}" + (f"; {locked} {note}" if locked else ""))
    say_written(None, options.report)


def _column_names(text: str | None) -> dict[str, str] | list[str] | None:
    """Names in the file by their meaning, ``pos1=q_shoulder,cur1=tau_shoulder``, or all in order."""
    if text is None:
        return None
    if "=" not in text and "," in text:  # of a file that has no names
        return [name.strip() for name in text.split(",")]
    pairs = [piece.partition("=") for piece in text.split(",")]
    if not all(old.strip() and new.strip() for old, _, new in pairs):
        raise SettingError(
            f"--columns {text!r} must be pairs like pos1=q_joint1,cur1=tau_joint1, or "
            "for a file without names all of them, time,q1,q2,tau1,tau2"
        )
    return {old.strip(): new.strip() for old, _, new in pairs}


def _friction(text: str) -> tuple[str, ...] | dict[str, list[str]]:
    """Terms, ``viscous,coulomb``, or terms of joints, ``crank:viscous,crank:coulomb``; or none."""
    terms = [term.strip() for term in text.split(",") if term.strip()]
    if not any(":" in term for term in terms):
        return () if terms == ["none"] else tuple(terms)
    by_joint: dict[str, list[str]] = {}
    for joint, _, term in (term.rpartition(":") for term in terms):
        if not joint:
            raise SettingError(
                f"--friction {text!r} must be kinds for all driven joints, or joint:kind for each"
            )
        by_joint.setdefault(joint.strip(), []).append(term.strip())
    return by_joint


def _fit_facts(fit: Fit) -> dict[str, Any]:
    errors, base = fit.errors(), fit.base
    plain = (str, int, float, bool, type(None))
    return {
        "robot": fit.prior.name,
        "settings": {
            key: value if isinstance(value, plain) else str(value)
            for key, value in fit.settings.items()
        },
        "notes": list(fit.notes),
        "warnings": list(fit.warnings),
        "unseen": [list(pair) for pair in fit.unseen],
        "condition": fit.condition,
        "errors": {
            data: errors.loc[data].to_dict("index")
            for data in dict.fromkeys(errors.index.get_level_values(0))
        },
        "base": base[["value", "std", "prior"]].T.to_dict("list"),
    }


def _show_fit(fit: Fit) -> None:
    screen, errors = console(), fit.errors()
    models = [str(name) for name in errors.columns if name != "torque"]
    title = f"{fit.prior.name}: RMS of measured (not filtered) less predicted torque, N m or N"
    rows = []
    for (data, joint), row in errors.iterrows():
        size = float(row["torque"])
        cells = [f"{row[m]:.4g} ({row[m] / size:.1%})" if size else f"{row[m]:.4g}" for m in models]
        rows.append((str(data).replace("_", " "), str(joint), f"{size:.4g}", *cells))
    show_table(screen, title, ("data", "joint", "torque", *models), rows, left=2)
    counts = f"condition {fit.condition:.4g}; {len(fit.unseen)} of them are not seen"
    say(screen, f"{len(fit.grouping.names)} base parameters, {counts}")
    for parameter, reason in fit.unseen:
        say(screen, f"  not seen: {parameter} – {reason}")
    for sentence in fit.notes:
        say(screen, f"  {sentence}")
    for sentence in fit.warnings:
        say(screen, ("warning:", "yellow"), f" {sentence}")


def excite(options: ExciteOptions) -> None:
    """Search an exciting motion, print how much of its limits it uses, write it."""
    robot = load(options.robot).compiled
    require_writable(options.out, MOTIONS)
    optional: dict[str, Any] = {"friction": (), "rotor": False} if options.inertias_only else {}
    motion = excitation(
        robot,
        options.duration,
        harmonics=options.harmonics,
        periods=options.periods,
        objective=options.objective,
        budget=options.budget,
        seed=options.seed,
        start=None if options.q is None else state(robot, options, "q")["q"],
        workspace=None if options.above is None else {"above": options.above},
        **motion_limits(robot, options),
        **optional,
    )
    paths = write_results(motion.sampled(options.rate), robot, options, robot.name)
    if options.json:
        facts = {
            "robot": motion.robot.name,
            "seconds": motion.duration,
            "period": motion.trajectory.period,
            "harmonics": motion.trajectory.harmonics,
            "condition": motion.condition,
            "information": motion.information,
            "parameters": list(motion.parameters),
            "limits": [{**r._asdict(), "margin": r.margin} for r in motion.limited],
            "sums": motion.trajectory.sums,
            "notes": list(motion.notes),
        }
        print_json(facts | path_names(**paths))
        return
    screen, trajectory = console(), motion.trajectory
    title = f"{motion.robot.name}, {motion.duration:g} s, condition {motion.condition:.4g}"
    rows = []
    for r in motion.limited:
        margin = f"{r.margin:.3g} m" if r.kind == "distance" else f"{100.0 * r.margin:.3g} %"
        limits = f"{number(r.lower)} … {number(r.upper)}"
        rows.append((r.kind, r.joint, f"{r.lowest:.4g}", f"{r.highest:.4g}", limits, margin))
    heads = ("limit", "joint", "lowest", "highest", "limits", "margin")
    show_table(screen, title, heads, rows, left=2)
    counts = f"period {trajectory.period:g} s, {trajectory.harmonics} harmonics"
    say(screen, f"{len(motion.parameters)} base parameters, {counts}")
    for sentence in motion.notes:
        say(screen, sentence)
    say_written(**paths)
