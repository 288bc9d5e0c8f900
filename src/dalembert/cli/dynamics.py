"""`dalembert inverse`, `forward`, `matrices` and `evaluate`; torques along a motion from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cli.inputs import WRENCH, coordinates, known_frame, load, load_changed, parse, state
from dalembert.cli.output import column, console, number, print_json, say, show_array, show_table
from dalembert.cli.results import (
    MOTIONS,
    path_names,
    require_writable,
    say_written,
    write,
    write_run_page,
)
from dalembert.errors import FormulationError, ParameterError, SettingError
from dalembert.logs.read import read_log
from dalembert.logs.tables import field_header, write_table
from dalembert.simulation.results import peaks, torques_along
from dalembert.systems.system import System
from dalembert.text import require_known, visible

if TYPE_CHECKING:
    import xarray

    from dalembert.cli.app import (
        CompareOptions,
        EvaluateOptions,
        ForwardOptions,
        InverseOptions,
        MatricesOptions,
    )
    from dalembert.formulations.registry import Quantity

TWIST = ("vx", "vy", "vz", "ωx", "ωy", "ωz")
SYMBOLS = {"q": "q", "qd": "q̇", "qdd": "q̈", "tau": "τ"}
STATE_OPTIONS = ("q", "qd", "qdd", "table")
MOTION_OPTIONS = ("out", "report", "dt", "lowpass", "actuators", "ignore_others")


def inverse(options: InverseOptions) -> None:
    """τ = M q̈ + C q̇ + N + J_tᵀ F_t + friction of a state or along a motion; with constraints also λ."""
    is_state = options.csv is None
    reason = "needs a motion: --csv FILE" if is_state else "is not for --csv"
    for name in MOTION_OPTIONS if is_state else STATE_OPTIONS:
        if getattr(options, name) not in (None, False):
            raise SettingError(f"--{name.replace('_', '-')} {reason}")
    system = load_changed(options).compiled
    if options.csv is not None:
        _along_motion(system, options.csv, options)
        return
    arrays = state(system, options, "q", "qd", "qdd")
    if not options.table:
        _solve(system, "inverse_dynamics", arrays, options)
        return
    # every intermediate of a formulation, link by link
    robot = system.robot
    if robot is None or robot is not system:
        raise FormulationError(f"{options.robot} is not a tree of links; --table needs one")
    wrench = _wrench(system, "inverse_dynamics", options.tip_wrench)
    inputs: dict[str, Any] = {**arrays, **wrench}
    recursion = robot.recursion(**inputs, formulation=options.formulation)
    if not options.json:
        console().print(recursion.text(), soft_wrap=True)
        return
    heading = {
        "robot": options.robot,
        "formulation": recursion.formulation,
        "links": list(recursion.links),
    }
    units = {term.name: term.units for term in recursion.terms}
    print_json({**heading, **inputs, **recursion.values, "units": units})


def forward(options: ForwardOptions) -> None:
    """q̈ with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ; with constraints also λ."""
    system = load(options.robot).compiled
    _solve(system, "forward_dynamics", state(system, options, "q", "qd", "tau"), options)


def compare(options: CompareOptions) -> None:
    """Every formulation at one state: q̈, Aᵀλ or τ, operations, and the largest disagreement."""
    from dalembert.report.compare import HEADS, compare

    system = load(options.robot).compiled
    q, qd, tau = state(system, options, "q", "qd", "tau").values()
    result = compare(system, q, qd, tau)
    if options.json:
        entries = [
            {**vars(x), "operations": x.operations and vars(x.operations)} for x in result.entries
        ]
        print_json({**vars(result), "entries": entries, "disagreement": result.disagreement})
        return
    screen = console()
    rows = (entry.cells for entry in result.entries)
    show_table(screen, system.name, HEADS, rows, left=2, words=(len(HEADS) - 1,))
    for line in (*result.notes, result.summary):
        say(screen, line)


def _solve(
    system: System,
    quantity: str,
    arrays: dict[str, np.ndarray],
    options: InverseOptions | ForwardOptions,
) -> None:
    """Evaluate inverse or forward dynamics at one state and print the result."""
    listed = system.dynamics.quantity(quantity)
    formulation = listed.formulation(options.formulation, system.dynamics.description).name
    wrench = _wrench(system, quantity, options.tip_wrench)
    settings: dict[str, Any] = dict(wrench)
    if options.formulation is not None:
        settings["formulation"] = formulation
    solution = getattr(system, quantity)(*arrays.values(), **settings)
    outputs = solution if isinstance(solution, tuple) else (solution,)
    results = dict(zip(listed.outputs, outputs, strict=True))
    if options.json:
        heading = {
            "robot": options.robot,
            "formulation": formulation,
            "joints": list(system.dynamics.velocities),
        }
        units = [entry.unit(next(iter(results))) for entry in coordinates(system, "tau")]
        print_json({**heading, **arrays, **wrench, **results, "units": units})
        return
    title = f"{system.name}, {formulation}"
    multipliers = results.pop("lam", np.zeros(0))
    columns = {SYMBOLS[key]: (key, value) for key, value in {**arrays, **results}.items()}
    if system.nq != system.nv:  # quaternions: q has rows of its own
        _show_state(system, title, {"q": columns.pop("q")})
    _show_state(system, title, columns)
    if multipliers.size:
        rows = zip(system.dynamics.row_names, column(multipliers), strict=True)
        show_table(console(), "Forces of the constraints", ("row", "λ"), rows)


def _wrench(system: System, quantity: str, text: str | None) -> dict[str, np.ndarray]:
    """The keyword `tip_wrench` of --tip-wrench, or nothing."""
    if text is None:
        return {}
    if "tip_wrench" not in system.dynamics.quantity(quantity).optional:
        raise ParameterError(f"--tip-wrench: {system.name} takes forces as --tau")
    return {"tip_wrench": parse(text, "--tip-wrench", "the tool", WRENCH)}


def _show_state(system: System, title: str, columns: dict[str, tuple[str, np.ndarray]]) -> None:
    """Print a row per joint; `columns` maps a heading to a kind of quantity and its values."""
    entries = coordinates(system, next(iter(columns.values()))[0])
    heads, cells = ["joint"], [[entry.name for entry in entries]]
    for heading, (quantity, values) in columns.items():
        units = [entry.unit(quantity) for entry in entries]
        same = len(set(units)) == 1
        label = f"{heading}, {units[0]}" if same and units[0] else heading
        heads.append(label)
        cells.append(column(values, None if same else units))
    show_table(console(), title, heads, zip(*cells, strict=True))


def matrices(options: MatricesOptions) -> None:
    """Mass matrix, bias, gravity torques, energies, and pose and Jacobian of a frame at one state."""
    system = load(options.robot).compiled
    arrays = state(system, options, "q", "qd")
    q, qd, frame = arrays["q"], arrays["qd"], options.frame
    dynamics = system.dynamics.bound()
    has_gravity = "gravity_torque" in dynamics.catalogue
    gravity = system.gravity_torque(q) if has_gravity else system.bias(q, np.zeros(system.nv))
    values: dict[str, Any] = {
        "mass_matrix": system.mass_matrix(q),
        "bias": system.bias(q, qd),
        "gravity_torque": gravity,
        "kinetic_energy": float(system.kinetic_energy(q, qd)),
        "potential_energy": float(system.potential_energy(q)),
    }
    if dynamics.frames:
        frame = known_frame(system, frame)
        if system.robot is not None:
            pose, jacobian = system.robot.pose(q, frame), system.robot.jacobian(q, frame, "body")
        else:
            pose, jacobian = dynamics.pose(q, frame), dynamics.frame_jacobian(q, frame, "body")
        values |= {"frame": frame, "pose": pose, "jacobian": jacobian}
    elif frame != "tool":
        raise ParameterError(f"--frame {frame}: {system.name} has no frames")
    if dynamics.rows:
        rows = dynamics.at(q, None, 0.0)
        values |= {"constraint_jacobian": rows.A, "residual": rows.h}
    names = list(system.dynamics.velocities)
    if options.json:
        print_json({"robot": options.robot, "joints": names, **arrays, **values})
        return
    screen = console()
    _show_state(system, system.name, {"q": ("q", q)})
    forces = {
        "q̇": ("qd", qd),
        "bias C q̇ + N": ("tau", values["bias"]),
        "gravity N(q)": ("tau", values["gravity_torque"]),
    }
    _show_state(system, "Forces", forces)
    show_array(screen, "Mass matrix M, SI units", values["mass_matrix"], names, names)
    if "pose" in values:
        axes, title = ("x", "y", "z"), f"Pose of {frame!r}"
        show_array(screen, title, values["pose"][:3], axes, (*axes, "position, m"))
        show_array(screen, f"Body Jacobian of {frame!r}", values["jacobian"], TWIST, names)
    if "constraint_jacobian" in values:
        labels = system.dynamics.row_names
        show_array(screen, "Constraints A(q)", values["constraint_jacobian"], labels, names)
    screen.print(f"kinetic energy    {number(values['kinetic_energy'])} J")
    screen.print(f"potential energy  {number(values['potential_energy'])} J")


# any quantity of the catalogue


def evaluate(options: EvaluateOptions) -> None:
    """One quantity of the system's catalogue at one state, or the list of all."""
    system = load(options.robot).compiled
    if options.quantity is None:
        _list_quantities(system, options)
        return
    quantity = system.dynamics.quantity(options.quantity)
    inputs, choices = _inputs_and_choices(system, quantity, options)
    quantity = system._variant(quantity.name, options.formulation, choices).quantity
    result = system._evaluate(quantity.name, tuple(inputs.values()), options.formulation, **choices)
    values = result if isinstance(result, tuple) else (result,)
    results = dict(zip(quantity.outputs, values, strict=True))
    formulation = quantity.formulation(options.formulation, system.dynamics.description).name
    heading = {"robot": options.robot, "quantity": quantity.name, "formulation": formulation}
    if options.json:
        print_json({**heading, **inputs, **choices, **results})
        return
    say(console(), f"{system.name}: {quantity.summary} ({formulation})")
    names = {"nq": system.coordinates, "nv": system.dynamics.velocities}
    names["rows"] = system.dynamics.row_names
    for (name, sizes), value in zip(quantity.outputs.items(), values, strict=True):
        labels = [
            names[size] if size in names else [str(k + 1) for k in range(length)]
            for size, length in zip(sizes, np.shape(value), strict=True)
        ]
        _show_result(name, np.asarray(value), labels)


def _inputs_and_choices(
    system: System, quantity: Quantity, options: EvaluateOptions
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The inputs of a quantity in its order, and its optional inputs and static choices."""
    settings = dict(part.partition("=")[::2] for part in options.set or ())
    known = (*quantity.inputs, *quantity.optional, *quantity.static)
    for name in settings:
        require_known(name, known, f"--set {name}: {quantity.name} takes no", ParameterError)
    for name in SYMBOLS:
        if getattr(options, name) is not None and name not in quantity.inputs:
            raise SettingError(f"--{name}: {quantity.name} takes {', '.join(quantity.inputs)}")
    arrays = state(system, options, *(name for name in SYMBOLS if name in quantity.inputs))
    choices: dict[str, Any] = {}
    for name in known:
        text = settings.get(name)
        if name in quantity.static:
            if text is not None:
                choices[name] = text
        elif text is not None or (name in quantity.inputs and name not in arrays):
            shape = system.dynamics.shape(system.dynamics.inputs[name])
            entries = [f"{name}[{k}]" for k in range(int(np.prod(shape)))]
            values = np.zeros(len(entries))
            if text is not None:
                values = parse(text, f"--set {name}", system.name, entries)
            (arrays if name in quantity.inputs else choices)[name] = values.reshape(shape)
    return {name: arrays[name] for name in quantity.inputs}, choices


def _show_result(name: str, value: np.ndarray, labels: list[Sequence[str]]) -> None:
    """Print one result: a number, a column, a matrix, or the matrices of a larger array."""
    if value.ndim == 0:
        say(console(), f"{name} = {number(float(value))}")
    elif value.ndim == 1:
        show_array(console(), name, value[:, None], labels[0], [""])
    elif value.ndim == 2:
        show_array(console(), name, value, labels[0], labels[1])
    else:
        for label, part in zip(labels[0], value, strict=True):
            _show_result(f"{name}, {label}", part, labels[1:])


def _list_quantities(system: System, options: EvaluateOptions) -> None:
    """Every quantity of the catalogue with its inputs, choices and formulations."""
    catalogue = system.dynamics.catalogue.values()
    if options.json:
        facts = [
            {
                "quantity": each.name,
                "summary": each.summary,
                "inputs": each.inputs,
                "optional": each.optional,
                "choices": each.static,
                "formulations": [f.name for f in each.formulations],
            }
            for each in catalogue
        ]
        print_json(facts)
        return
    rows = [
        (each.name, each.summary, ", ".join(each.inputs), str(len(each.formulations)))
        for each in catalogue
    ]
    heads = ("quantity", "", "inputs", "formulations")
    show_table(console(), f"{system.name}: quantities", heads, rows, left=3)


# torques along a motion


def _along_motion(system: System, csv: Path, options: InverseOptions) -> None:
    """Compute the torques of the motion in a file, compare them with limits, write the results."""
    require_writable(options.out, MOTIONS)
    log = read_log(
        csv,
        system,
        degrees=options.deg,
        dt=options.dt,
        lowpass=options.lowpass,
        others="ignore" if options.ignore_others else "refuse",
    )
    settings: dict[str, Any] = _wrench(system, "inverse_dynamics", options.tip_wrench)
    if options.formulation is not None:
        settings["formulation"] = options.formulation
    actuators = None if options.actuators is None else options.actuators.replace(" ", "").split(",")
    run = torques_along(system, log, actuators, **settings)
    maxima = peaks(run)
    if options.out is not None and options.out.suffix != ".csv":
        write(run, options.out)
    elif options.out is not None:  # times and torques, as `read_log` understands them
        head = ["time [s]", *field_header(run.tau, "tau_")]
        rows = np.column_stack([run.time.values + run.attrs["start_time"], run.tau.values])
        write_table(options.out, head, rows, ["%.16g", *["%.12g"] * (len(head) - 1)])
    page = None
    if options.report:
        page = write_run_page(run, system.robot, options.out, csv.stem)
    message = run.attrs.get("limits_passed", "")
    limits_passed = message.split("; ") if message else []
    if options.json:
        facts = {
            "robot": run.attrs["system"],
            "rows": run.sizes["time"],
            "seconds": float(run.time.values[-1] - run.time.values[0]),
            "derivatives": run.attrs["derivatives"],
            "joints": [str(x) for x in run.joint.values],
            **{str(name): maxima[name].values for name in maxima},
            "limits_passed": limits_passed,
        }
        print_json(facts | path_names(out=options.out, report=page))
        return
    screen = console()
    _show_peaks(system, run, maxima)
    say(screen, f"derivatives: {visible(run.attrs['derivatives'])}")
    for sentence in limits_passed:
        say(screen, ("limit passed:", "red"), f" {sentence}")
    say_written(options.out, page)


def _show_peaks(system: System, run: xarray.Dataset, maxima: xarray.Dataset) -> None:
    """Largest speeds, torques and powers of every joint, beside their limits."""
    count, seconds = run.sizes["time"], run.time.values[-1] - run.time.values[0]
    title = f"{system.name}, {count:,} rows over {seconds:.6g} s"
    heads = ("joint", "speed", "of limit", "torque", "at", "of limit", "rms", "power")
    rows = []
    for k, entry in enumerate(coordinates(system, "tau")):
        peak = {str(name): float(maxima[name].values[k]) for name in maxima}
        shares = []  # percent of a limit, marked where it is exceeded; a dash where there is none
        for share in (peak["speed_share"], peak["torque_share"]):
            text = f"{100.0 * share:.3g} %" + (" !" if share > 1.0 + 1e-9 else "")
            shares.append(text if np.isfinite(share) and share != 0.0 else "–")
        cells = (
            f"{number(abs(peak['speed']))} {entry.unit('qd')}",
            shares[0],
            f"{number(peak['torque'])} {entry.unit('tau')}",
            f"{peak['torque_time']:.6g} s",
            shares[1],
            f"{number(peak['torque_rms'])} {entry.unit('tau')}",
            f"{number(peak['power'])} W",
        )
        rows.append((entry.name, *map(str.rstrip, cells)))
    show_table(console(), title, heads, rows)
