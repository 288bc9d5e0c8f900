"""The `dalembert` command: each subcommand with its options, in the order of the help.

A subcommand is a dataclass of its options. The module of `dalembert.cli` that carries it out is
imported when the subcommand runs, so that `dalembert --help` imports none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

import typer
from typer import Option

from dalembert.cli.options import (
    ACCELERATION,
    DEGREES,
    FORMULATION,
    IGNORE_OTHERS,
    JSON,
    LOCK,
    MOTION_FILE,
    MOTION_PAGE,
    PAYLOAD,
    QD,
    ROBOT,
    ROW_TIME,
    TAU,
    TIP_WRENCH,
    TORQUE,
    TRUSTED,
    VELOCITY,
    Command,
    Commands,
    Q,
    argument,
    complete_robot,
    flag,
    numbers,
    option,
)

Options = TypeVar("Options")


def print_version(requested: bool) -> None:
    if requested:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 success, 1 failure, 2 wrong use, 130 stopped by Ctrl-C.",
)


@app.callback()
def root(
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
    trust: Annotated[
        list[str] | None,
        Option(
            metavar="FOLDER",
            help="A folder beside a robot file's own, from which it may open files; repeatable.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Dynamics of robot manipulators and linked rigid bodies.

    Units are SI and radians; twists and wrenches are (linear, angular).
    """
    TRUSTED[:] = trust or []


@dataclass_transform(eq_default=False)
def command(module: str) -> Callable[[type[Options]], type[Options]]:
    """Make ``NameOptions`` the options of a subcommand, run by ``dalembert.cli.<module>.<name>``.

    The class's docstring is its help: a sentence, and below it an example.
    """

    def register(declared: type[Options]) -> type[Options]:
        options: Callable[..., Options] = dataclass(eq=False, repr=False)(declared)
        name = declared.__name__.removesuffix("Options").lower()
        summary, _, example = inspect.cleandoc(declared.__doc__ or "").partition("\n\n")

        def call(**values: Any) -> None:
            getattr(import_module(f"dalembert.cli.{module}"), name)(options(**values))

        vars(call)["__signature__"] = inspect.signature(options, eval_str=True)
        epilog = " ".join(example.split())
        app.command(name, cls=Command, help=summary, epilog=epilog)(call)
        return declared

    return register


# the first and the last options of several commands


@dataclass(eq=False, repr=False)
class StateOptions:
    """Of commands that read numbers for joints."""

    robot: str = ROBOT
    _: KW_ONLY
    deg: bool = DEGREES
    json: bool = JSON


@dataclass(eq=False, repr=False)
class ChangeOptions:
    """Of commands that read numbers for joints of a robot that may be changed."""

    robot: str = ROBOT
    _: KW_ONLY
    tip: str | None = option(
        None, "The frame that is the tool.", metavar="FRAME", show_default=False
    )
    payload: str | None = PAYLOAD
    lock: list[str] | None = LOCK
    deg: bool = DEGREES
    json: bool = JSON


@command("robots")
class ZooOptions:
    """List the robots that come with the package, with their sources.

    Example: dalembert zoo --json
    """

    json: bool = JSON


@command("robots")
class InfoOptions:
    """Show a robot: joints, links, limits, frames, what its file said, what its dynamics cost.

    Example: dalembert info ur5
    """

    robot: str = ROBOT
    strict: bool = flag("--strict", "Warnings about a file are errors.")
    json: bool = JSON


@command("dynamics")
class InverseOptions(ChangeOptions):
    """Inverse dynamics: the torques of a state, or along a motion from a file.

    Examples: dalembert inverse ur5 --q 0,-90,90,0,45,0 --deg; dalembert inverse ur5 --csv
    path.csv --out torques.csv --report
    """

    q: str | None = Q
    qd: str | None = QD
    qdd: str | None = numbers("Joint accelerations; default: zero.")
    tip_wrench: str | None = TIP_WRENCH
    formulation: str | None = FORMULATION
    table: bool = flag("--table", "Every intermediate of the formulation, link by link.")
    csv: Path | None = option(
        None, "A motion instead of one state: a column 'time' and one for each joint."
    )
    out: Path | None = option(None, "File for the torques of the motion, .csv, .nc or .zarr.")
    report: bool = flag("--report", "Write a page of the motion: out/NAME.html.")
    dt: float | None = ROW_TIME
    lowpass: float | None = option(None, "Filter the motion, without delay, below these Hz.")
    actuators: str | None = option(None, "Joints that drive a closed chain, by commas.")
    ignore_others: bool = IGNORE_OTHERS


@command("kinematics")
class IkOptions(ChangeOptions):
    """Inverse kinematics: joint positions that put a frame where it should be.

    Examples: dalembert ik ur5 --target 0.4,0.2,0.5,0,90,0 --deg --all; dalembert ik ur5 --csv
    poses.csv --out q.csv --path
    """

    target: str | None = numbers(
        "x, y, z and roll, pitch, yaw of the frame; x, y, z alone: a point."
    )
    csv: Path | None = option(
        None, "Poses from a file: columns x, y, z and roll, pitch, yaw or qw, qx, qy, qz."
    )
    out: Path | None = option(None, "File for the joint positions, .csv.")
    frame: str = option("tool", "The frame to be put there.")
    position_only: bool = flag("--position-only", "Let the frame turn as it likes.")
    all: bool = flag("--all", "All postures of a target.")
    fixed: list[str] | None = option(
        None,
        "With --all, a joint that keeps its position, joint=value; may be repeated.",
        metavar="JOINT=VALUE",
        show_default=False,
    )
    swivel: float | None = option(
        None, "With --all, the elbow's angle about the line from shoulder to wrist."
    )
    explain: bool = flag("--explain", "Say how all postures are solved for, and stop.")
    path: bool = flag("--path", "The poses of the file are a path: no joint may jump.")
    q: str | None = numbers("Joint positions to start from; default: anywhere.")
    no_limits: bool = flag("--no-limits", "Joints may go beyond their limits.")
    tolerance: float = option(1e-9, "Distance and angle, m and rad.")
    restarts: int = option(300, "How often a search begins anew.")
    seed: int = option(0, "Of the random postures to begin at.")


@command("dynamics")
class ForwardOptions(StateOptions):
    """Forward dynamics: the accelerations under torques.

    Example: dalembert forward scara --tau 1 0 -5 0
    """

    q: str | None = Q
    qd: str | None = QD
    tau: str | None = TAU
    tip_wrench: str | None = TIP_WRENCH
    formulation: str | None = FORMULATION


@command("dynamics")
class MatricesOptions(StateOptions):
    """Mass matrix, bias, gravity, energies, pose and Jacobian at one state.

    Example: dalembert matrices planar_2r --q 0.3 1.2
    """

    q: str | None = Q
    qd: str | None = QD
    frame: str = option("tool", "Frame of the pose and Jacobian.")


@command("dynamics")
class EvaluateOptions(StateOptions):
    """Evaluate any quantity of the catalogue at one state; without a quantity, list them all.

    Examples: dalembert evaluate ur5; dalembert evaluate ur5 manipulability --q 0,-90,90,0,45,0
    --deg --set frame=tool
    """

    quantity: str | None = argument(None, "Quantity to evaluate.", metavar="[QUANTITY]")
    q: str | None = Q
    qd: str | None = QD
    qdd: str | None = numbers("Joint accelerations; default: zero.")
    tau: str | None = TAU
    set: list[str] | None = option(
        None,
        "Another input or choice, frame=tool or tip_wrench=0,0,5,0,0,0; may be repeated.",
        metavar="NAME=VALUE",
        show_default=False,
    )
    formulation: str | None = FORMULATION


@command("performance")
class BenchOptions:
    """Measure how fast a robot's dynamics run on this machine.

    Example: dalembert bench panda
    """

    robot: str = ROBOT
    states: int = option(65536, "States per call.", "-n", "--states", min=1)
    json: bool = JSON


@command("report")
class DemoOptions:
    """Show a robot, check it, evaluate a million states, and write a page of it in motion.

    Example: dalembert demo --robot puma560
    """

    out: Path = option(Path("out"), "Folder for the page and the picture.")
    robot: str = option("ur5", "A robot of the zoo.", autocompletion=complete_robot)
    states: int = option(2**20, "States to evaluate.", min=1)


@command("dynamics")
class CompareOptions(StateOptions):
    """Compare all formulations of the motion at one state: results, operations, disagreement.

    Example: dalembert compare four_bar --qd 1,-1,0.5
    """

    q: str | None = Q
    qd: str | None = QD
    tau: str | None = TAU


@command("robots")
class CountOptions:
    """Count the arithmetic of every formulation, beside the published figures.

    Examples: dalembert count puma560 --plot counts.png; dalembert count four_bar
    """

    robot: str = ROBOT
    quantity: str | None = option(
        None,
        "Quantity to count; default: inverse_dynamics, under constraints forward_dynamics.",
        show_default=False,
    )
    plot: Path | None = option(None, "Draw counts against the number of joints into this file.")
    json: bool = JSON


@command("report")
class ReportOptions:
    """Write one page: the moving arm, plots, equations, agreement and operation counts.

    Examples: dalembert report puma560; dalembert report study.zarr
    """

    subject: str = argument(
        ...,
        "A robot of the zoo, a URDF or MJCF file, a stored run, or the store of a sweep.",
        metavar="ROBOT|RUN.nc|STUDY.zarr",
        autocompletion=complete_robot,
    )
    out: Path | None = option(None, "The page to write; default: out/NAME.html.")
    robot: str | None = option(None, "The robot of a run, if the zoo does not have it.")
    study: Path | None = option(None, "The file of a sweep; default: the .toml beside its store.")


@command("report")
class StudioOptions:
    """Edit a robot's file in the browser beside its live page; only this machine can reach it.

    Examples: dalembert studio; dalembert studio arm.urdf --port 8123
    """

    file: Path | None = argument(
        None, "A URDF, MJCF or TOML file to open, beside its meshes.", metavar="[FILE]"
    )
    port: int = option(0, "Port to listen on; default: a free one.", min=0, max=65535)
    browser: bool = option(True, "Open the page in a browser.", "--browser/--no-browser")
    limit: float = option(120.0, "Seconds after which a text that takes long is given up.", min=1.0)


@command("simulate")
class SimulateOptions(StateOptions):
    """Simulate a robot: let go, under torques, or under a controller.

    Example: dalembert simulate puma560 --duration 2 --q 0 45 -90 0 0 0 --deg --out run.nc
    """

    duration: float = option(..., "Seconds to simulate.")
    q: str | None = Q
    qd: str | None = QD
    tau: str | None = TAU
    controller: str = option("none", "none, pd_gravity or computed_torque.")
    target: str | None = numbers("Where the controller goes; default: it holds.")
    kp: float = option(100.0, "Position gain of the controller.")
    kd: float = option(20.0, "Velocity gain of the controller.")
    method: str | None = option(None, "Integrator; default: DOP853, adaptive.")
    dt: float = option(1e-3, "Step of fixed-step methods, s.")
    save_every: int | None = option(None, "Steps between saved states; default: about 200.", min=1)
    restitution: float | None = option(
        None, "Make the joints' limits stops of this restitution, 0 … 1."
    )
    out: Path | None = option(None, "File for the result, .nc or .zarr.")
    checkpoint: Path | None = option(None, "Folder from which a run that was cut short goes on.")
    formulation: str | None = FORMULATION


@command("kinematics")
class PathOptions(ChangeOptions):
    """Find the fastest motion along a path within limits of velocity, acceleration and torque.

    Example: dalembert path ur5 --points points.csv --acceleration 10 --out motion.csv
    """

    points: Path = option(
        ..., "Way-points, CSV: joints by name, or x, y, z with qw … qz or roll … yaw."
    )
    kind: str | None = option(
        None, "cubic, quintic or lines through joints; lines or arc through poses."
    )
    blend: float = option(0.0, "Corners of lines are rounded over this, rad or m.", min=0.0)
    q: str | None = Q
    frame: str = option("tool", "The frame that goes to poses.")
    velocity: str | None = VELOCITY
    acceleration: str | None = ACCELERATION
    torque: str | None = TORQUE
    grid: int | None = option(None, "Intervals of the path; default: as many as needed.", min=2)
    dt: float = option(1e-2, "Time between rows of the result, s.")
    out: Path | None = MOTION_FILE
    report: bool = MOTION_PAGE


@command("simulate")
class SweepOptions:
    """Run a study: a simulation for every row of a design; one cut short goes on.

    Example: dalembert sweep study.toml --dry-run
    """

    file: Path = argument(..., "The study, TOML.", metavar="FILE", exists=True)
    dry_run: bool = flag("--dry-run", "Say how many runs, bytes and about how long.")
    processes: int | None = option(None, "Processes beside this one; default: none.", min=1)
    scheduler: str | None = option(None, "Address or scheduler file of a dask cluster to run on.")
    json: bool = JSON


@command("mechanism")
class MechanismOptions:
    """Show a mechanism in absolute coordinates: mobility, joint forces, motion.

    Example: dalembert mechanism joint_interpolated --phi-end 1.5,-0.6 --plot
    """

    subject: str = argument(
        ..., "A TOML file, a mechanism of the zoo, or a scenario.", metavar="FILE|NAME"
    )
    lengths: str | None = option(None, "d₂,d₃ of a scenario's arm, m.")
    masses: str | None = option(None, "m₂,m₃ of a scenario's arm, kg.")
    phi_start: str | None = option(None, "φ₂,θ at the start, rad.")
    phi_end: str | None = option(None, "φ₂,θ at the end, rad.")
    delta_t: float | None = option(None, "Δt of a scenario, s.")
    set: list[str] | None = option(None, "Another number, such as g=1.62.", metavar="NAME=VALUE")
    equations: bool = flag("--equations", "Print Φ, Φ_q, ν, γ, M and Q with symbols.")
    simulate: float | None = option(None, "Seconds to simulate.")
    dt: float = option(1e-2, "Time between samples, or the fixed step, s.")
    method: str = option("DOP853", "DOP853, rk4, baumgarte; stiff: generalized_alpha, Radau.")
    plot: bool = flag("--plot", "Draw x, y, φ, rates, forces, torques.")
    animate: bool = flag("--animate", "Write a GIF of the motion.")
    report: bool = flag("--report", "Write a page of all curves.")
    out: Path = option(Path("out"), "Folder for pictures.")
    json: bool = JSON


@command("identify")
class ExciteOptions(StateOptions):
    """Find a periodic motion within limits that shows the robot's inertias and friction best.

    Example: dalembert excite ur5 --duration 20 --out motion.csv
    """

    duration: float = option(..., "Seconds of motion.")
    out: Path | None = MOTION_FILE
    rate: float = option(100.0, "Rows of the file per second, Hz.")
    velocity: str | None = VELOCITY
    acceleration: str | None = ACCELERATION
    torque: str | None = TORQUE
    above: float | None = option(None, "Height that all frames stay above, m.", show_default=False)
    q: str | None = numbers("Posture to begin and end at; default: the best one.")
    harmonics: int = option(5, "Harmonics of the period.")
    periods: int | None = option(None, "Periods in the duration; default: of about 10 s.")
    objective: str = option("condition", "condition or information.")
    inertias_only: bool = flag("--inertias-only", "Neither friction nor rotors are sought.")
    budget: int = option(2000, "Evaluations of the search.")
    seed: int = option(0, "Of the random motions to begin at.")
    report: bool = MOTION_PAGE


@command("identify")
class IdentifyOptions(StateOptions):
    """Fit inertias, friction and rotors to a log, and write the fitted robot.

    Example: dalembert identify arm.urdf log.csv --out fitted.urdf --report fit.html
    """

    log: list[Path] = argument(..., "Recorded positions and torques: .csv, .parquet, .npz, .nc.")
    out: Path | None = option(None, "File for the fitted robot: .urdf, or .xml for MJCF.")
    report: Path | None = option(None, "File for a page of the fit: .html.")
    friction: str = option(
        "viscous,coulomb,offset",
        "Of viscous, coulomb, offset, stribeck, load, for the joints that move and are "
        "driven; joint:kind, … for other joints; or none.",
    )
    no_rotor: bool = flag("--no-rotor", "Rotors stay as they are.")
    held_out: float = option(0.25, "Share of the log, its end, that only judges the fit.")
    payload: str | None = option(None, "Only this link's inertia is unknown.", metavar="LINK")
    method: str = option("inverse_dynamics", "inverse_dynamics, power or simulation.")
    cutoff: float | None = option(None, "Of the filter of positions, Hz; default: chosen.")
    delay: float = option(0.0, "Seconds by which torques come late.")
    columns: str | None = option(
        None,
        "Names of the file, pos1=q_joint1,cur1=tau_joint1; or all, if it has none.",
        show_default=False,
    )
    ignore_others: bool = IGNORE_OTHERS
    dt: float | None = ROW_TIME
    on_inconsistent: str = option(
        "raise", "raise, or warn: fit a log that cannot be right all the same."
    )
    lock: list[str] | None = option(
        None,
        "Hold a joint that the log does not have, a finger say; may be repeated.",
        metavar="JOINT=POSITION",
        show_default=False,
    )
    torque_constant: str | None = numbers("Torques are currents: N m/A, one or one for each joint.")
    gear: str | None = numbers("Gear ratios: the log is of the motors.")
    motor: str | None = option(
        None,
        "What of q,qd,qdd,tau is of the motors; default: all, with --gear.",
        show_default=False,
    )


@command("robots")
class EquationsOptions:
    """Print the equations of motion with symbols, as a textbook would.

    Example: dalembert equations elbow_3r --html --out elbow.html
    """

    robot: str = ROBOT
    latex: bool = flag("--latex", "As LaTeX.")
    html: bool = flag("--html", "As a page that needs no network.")
    pdf_ready: bool = flag("--pdf-ready", "As a whole LaTeX document.")
    quantity: list[str] | None = option(
        None,
        "M, C, g, Gamma, K, U, B, Csq, psi, G, e; under constraints also h, A, gamma, "
        "lambda, qdd, P_omega, P_T, M_p, h_p, tau_p, M_r, h_r, tau_r, Delta; may be repeated. "
        "Default: those that say all of the motion.",
    )
    recursion: str | None = option(
        None, "Instead, what this formulation computes link by link, as text or LaTeX."
    )
    simplify: str = option("full", "full or fast.")
    timeout: float = option(30.0, "Seconds to look for shorter forms.")
    out: Path | None = option(None, "Write to this file.")


@command("robots")
class ExportOptions:
    """Write a quantity as C, CUDA, WebAssembly or a CasADi function that stands on its own.

    Examples: dalembert export ur5 --quantity inverse_dynamics --target c; dalembert export panda
    --quantity inverse_kinematics_branches --set fixed=panda_joint7=0.4
    """

    robot: str = ROBOT
    quantity: str = option("inverse_dynamics", "What to export.")
    target: str = option("c", "c, cuda, wasm or casadi.")
    out: Path = option(Path("out"), "Folder for the files.")
    dtype: str = option("float64", "float64 or float32.")
    layout: str = option("row", "row or column, for CUDA.")
    set: list[str] | None = option(
        None,
        "A choice, frame=tool, or the name of an optional input; may be repeated.",
        metavar="NAME=VALUE",
        show_default=False,
    )
    formulation: str | None = FORMULATION


@command("examples")
class ExampleOptions:
    """Run an example, show its code or copy it; without a name, list them all.

    Examples: dalembert example; dalembert example swing; dalembert example swing --copy .
    """

    name: str | None = argument(None, "The example.", metavar="[NAME]")
    _: KW_ONLY
    show: bool = flag("--show", "Print its code instead of running it.")
    copy: Path | None = option(None, "Copy it into this folder instead of running it.")
    out: Path = option(Path("out"), "Folder for its figure.")
    json: bool = JSON


@command("performance")
class DoctorOptions:
    """Check this installation: versions, processor, cache, GPU, and a test of the kernels.

    Example: dalembert doctor --json
    """

    json: bool = JSON


@command("performance")
class CacheOptions:
    """Show what is kept of compiled kernels: where, how much; verify it, or clear it.

    Example: dalembert cache --verify
    """

    verify: bool = flag("--verify", "Read every entry and remove damaged ones.")
    clear: bool = flag("--clear", "Remove all entries.")
    json: bool = JSON
