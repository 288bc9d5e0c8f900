"""The `dalembert` command: each subcommand with its options, in the order of the help.

A subcommand is a dataclass of its options. The module of `dalembert.cli` that carries it out is
imported when the subcommand runs, so that `dalembert --help` imports none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

import typer
from typer import Argument, Option

from dalembert.cli.options import (
    QD,
    QDD,
    TRUSTED,
    Acceleration,
    Command,
    Commands,
    Degrees,
    Formulation,
    IgnoreOthers,
    Json,
    Lock,
    MotionFile,
    MotionPage,
    Payload,
    Q,
    Robot,
    RowTime,
    Tau,
    Tip,
    TipWrench,
    Torque,
    Velocity,
    complete_robot,
    locks,
    numbers,
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
def command(name: str, module: str, epilog: str) -> Callable[[type[Options]], type[Options]]:
    """Make a class the options of the subcommand `name`, run by ``dalembert.cli.<module>.<name>``."""

    def register(declared: type[Options]) -> type[Options]:
        options: Callable[..., Options] = dataclass(eq=False, repr=False)(declared)

        def call(**values: Any) -> None:
            getattr(import_module(f"dalembert.cli.{module}"), name)(options(**values))

        vars(call)["__signature__"] = inspect.signature(options, eval_str=True)
        app.command(name, cls=Command, help=declared.__doc__, epilog=epilog)(call)
        return declared

    return register


@command("zoo", "robots", "Example: dalembert zoo --json")
class ZooOptions:
    """List the robots that come with the package, with their sources."""

    json: Json = False


@command("info", "robots", "Example: dalembert info ur5")
class InfoOptions:
    """Show a robot: joints, links, limits, frames, what its file said, what its dynamics cost."""

    robot: Robot
    strict: Annotated[bool, Option("--strict", help="Warnings about a file are errors.")] = False
    json: Json = False


@command(
    "inverse",
    "dynamics",
    "Examples: dalembert inverse ur5 --q 0,-90,90,0,45,0 --deg; "
    "dalembert inverse ur5 --csv path.csv --out torques.csv --report",
)
class InverseOptions:
    """Inverse dynamics: the torques of a state, or along a motion from a file."""

    robot: Robot
    q: Q = None
    qd: QD = None
    qdd: QDD = None
    tip_wrench: TipWrench = None
    formulation: Formulation = None
    table: Annotated[
        bool, Option("--table", help="Every intermediate of the formulation, link by link.")
    ] = False
    csv: Annotated[
        Path | None,
        Option(help="A motion instead of one state: a column 'time' and one for each joint."),
    ] = None
    out: Annotated[
        Path | None, Option(help="File for the torques of the motion, .csv, .nc or .zarr.")
    ] = None
    report: Annotated[
        bool, Option("--report", help="Write a page of the motion: out/NAME.html.")
    ] = False
    dt: RowTime = None
    lowpass: Annotated[
        float | None, Option(help="Filter the motion, without delay, below these Hz.")
    ] = None
    actuators: Annotated[
        str | None, Option(help="Joints that drive a closed chain, by commas.")
    ] = None
    ignore_others: IgnoreOthers = False
    tip: Tip = None
    payload: Payload = None
    lock: Lock = None
    deg: Degrees = False
    json: Json = False


@command(
    "ik",
    "kinematics",
    "Examples: dalembert ik ur5 --target 0.4,0.2,0.5,0,90,0 --deg; "
    "dalembert ik ur5 --csv poses.csv --out q.csv --path",
)
class IkOptions:
    """Inverse kinematics: joint positions that put a frame where it should be."""

    robot: Robot
    target: Annotated[
        str | None, numbers("x, y, z and roll, pitch, yaw of the frame; x, y, z alone: a point.")
    ] = None
    csv: Annotated[
        Path | None, Option(help="Poses from a file: columns x, y, z, roll, pitch, yaw.")
    ] = None
    out: Annotated[Path | None, Option(help="File for the joint positions, .csv.")] = None
    frame: Annotated[str, Option(help="The frame to be put there.")] = "tool"
    position_only: Annotated[
        bool, Option("--position-only", help="Let the frame turn as it likes.")
    ] = False
    all: Annotated[bool, Option("--all", help="All postures of a target.")] = False
    path: Annotated[
        bool, Option("--path", help="The poses of the file are a path: no joint may jump.")
    ] = False
    q: Annotated[str | None, numbers("Joint positions to start from; default: anywhere.")] = None
    no_limits: Annotated[bool, Option("--no-limits", help="Joints may go beyond their limits.")] = (
        False
    )
    tolerance: Annotated[float, Option(help="Distance and angle, m and rad.")] = 1e-9
    restarts: Annotated[int, Option(help="How often a search begins anew.")] = 300
    seed: Annotated[int, Option(help="Of the random postures to begin at.")] = 0
    tip: Tip = None
    payload: Payload = None
    lock: Lock = None
    deg: Degrees = False
    json: Json = False


@command("forward", "dynamics", "Example: dalembert forward scara --tau 1 0 -5 0")
class ForwardOptions:
    """Forward dynamics: the accelerations under torques."""

    robot: Robot
    q: Q = None
    qd: QD = None
    tau: Tau = None
    tip_wrench: TipWrench = None
    formulation: Formulation = None
    deg: Degrees = False
    json: Json = False


@command("matrices", "dynamics", "Example: dalembert matrices planar_2r --q 0.3 1.2")
class MatricesOptions:
    """Mass matrix, bias, gravity, energies, pose and Jacobian at one state."""

    robot: Robot
    q: Q = None
    qd: QD = None
    frame: Annotated[str, Option(help="Frame of the pose and Jacobian.")] = "tool"
    deg: Degrees = False
    json: Json = False


@command("bench", "bench", "Example: dalembert bench panda")
class BenchOptions:
    """Measure how fast a robot's dynamics run on this machine."""

    robot: Robot
    states: Annotated[int, Option("-n", "--states", min=1, help="States per call.")] = 65536
    json: Json = False


@command("demo", "report", "Example: dalembert demo --robot puma560")
class DemoOptions:
    """Show a robot, check it, evaluate a million states, and write a page of it in motion."""

    out: Annotated[Path, Option(help="Folder for the page and the picture.")] = Path("out")
    robot: Annotated[str, Option(help="A robot of the zoo.", autocompletion=complete_robot)] = "ur5"
    states: Annotated[int, Option(min=1, help="States to evaluate.")] = 2**20


@command("count", "robots", "Example: dalembert count puma560 --plot counts.png")
class CountOptions:
    """Count the arithmetic of every formulation, beside the published figures."""

    robot: Robot
    quantity: Annotated[str, Option(help="Quantity to count.")] = "inverse_dynamics"
    plot: Annotated[
        Path | None, Option(help="Draw counts against the number of joints into this file.")
    ] = None
    json: Json = False


@command("report", "report", "Examples: dalembert report puma560; dalembert report study.zarr")
class ReportOptions:
    """Write one page: the moving arm, plots, equations, agreement and operation counts."""

    subject: Annotated[
        str,
        Argument(
            metavar="ROBOT|RUN.nc|STUDY.zarr",
            help="A robot of the zoo, a URDF or MJCF file, a stored run, or the store of a sweep.",
            autocompletion=complete_robot,
        ),
    ]
    out: Annotated[Path | None, Option(help="The page to write; default: out/NAME.html.")] = None
    robot: Annotated[
        str | None, Option(help="The robot of a run, if the zoo does not have it.")
    ] = None
    study: Annotated[
        Path | None, Option(help="The file of a sweep; default: the .toml beside its store.")
    ] = None


@command("studio", "studio", "Examples: dalembert studio; dalembert studio arm.urdf --port 8123")
class StudioOptions:
    """Edit a robot's file in the browser beside its live page; only this machine can reach it."""

    file: Annotated[
        Path | None,
        Argument(metavar="[FILE]", help="A URDF, MJCF or TOML file to open, beside its meshes."),
    ] = None
    port: Annotated[
        int, Option(min=0, max=65535, help="Port to listen on; default: a free one.")
    ] = 0
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True
    limit: Annotated[
        float, Option(min=1.0, help="Seconds after which a text that takes long is given up.")
    ] = 120.0


@command(
    "simulate",
    "simulate",
    "Example: dalembert simulate puma560 --duration 2 --q 0 45 -90 0 0 0 --deg --out run.nc",
)
class SimulateOptions:
    """Simulate a robot: let go, under torques, or under a controller."""

    robot: Robot
    duration: Annotated[float, Option(help="Seconds to simulate.")]
    q: Q = None
    qd: QD = None
    tau: Tau = None
    controller: Annotated[str, Option(help="none, pd_gravity or computed_torque.")] = "none"
    target: Annotated[str | None, numbers("Where the controller goes; default: it holds.")] = None
    kp: Annotated[float, Option(help="Position gain of the controller.")] = 100.0
    kd: Annotated[float, Option(help="Velocity gain of the controller.")] = 20.0
    method: Annotated[str | None, Option(help="Integrator; default: DOP853, adaptive.")] = None
    dt: Annotated[float, Option(help="Step of fixed-step methods, s.")] = 1e-3
    save_every: Annotated[
        int | None, Option(min=1, help="Steps between saved states; default: about 200.")
    ] = None
    restitution: Annotated[
        float | None, Option(help="Make the joints' limits stops of this restitution, 0 … 1.")
    ] = None
    out: Annotated[Path | None, Option(help="File for the result, .nc or .zarr.")] = None
    checkpoint: Annotated[
        Path | None, Option(help="Folder from which a run that was cut short goes on.")
    ] = None
    formulation: Formulation = None
    deg: Degrees = False
    json: Json = False


@command(
    "path",
    "kinematics",
    "Example: dalembert path ur5 --points points.csv --acceleration 10 --out motion.csv",
)
class PathOptions:
    """Find the fastest motion along a path within limits of velocity, acceleration and torque."""

    robot: Robot
    points: Annotated[
        Path, Option(help="Way-points, CSV: joints by name, or x, y, z with qw … qz or roll … yaw.")
    ]
    kind: Annotated[
        str | None,
        Option(help="cubic, quintic or lines through joints; lines or arc through poses."),
    ] = None
    blend: Annotated[
        float, Option(min=0.0, help="Corners of lines are rounded over this, rad or m.")
    ] = 0.0
    q: Q = None
    frame: Annotated[str, Option(help="The frame that goes to poses.")] = "tool"
    velocity: Velocity = None
    acceleration: Acceleration = None
    torque: Torque = None
    grid: Annotated[
        int | None, Option(min=2, help="Intervals of the path; default: as many as needed.")
    ] = None
    dt: Annotated[float, Option(help="Time between rows of the result, s.")] = 1e-2
    out: MotionFile = None
    report: MotionPage = False
    tip: Tip = None
    payload: Payload = None
    lock: Lock = None
    deg: Degrees = False
    json: Json = False


@command("sweep", "sweep", "Example: dalembert sweep study.toml --dry-run")
class SweepOptions:
    """Run a study: a simulation for every row of a design; one cut short goes on."""

    file: Annotated[Path, Argument(metavar="FILE", help="The study, TOML.", exists=True)]
    dry_run: Annotated[
        bool, Option("--dry-run", help="Say how many runs, bytes and about how long.")
    ] = False
    processes: Annotated[
        int | None, Option(min=1, help="Processes beside this one; default: none.")
    ] = None
    scheduler: Annotated[
        str | None, Option(help="Address or scheduler file of a dask cluster to run on.")
    ] = None
    json: Json = False


@command(
    "mechanism",
    "mechanism",
    "Example: dalembert mechanism joint_interpolated --phi-end 1.5,-0.6 --plot",
)
class MechanismOptions:
    """Show a mechanism in absolute coordinates: mobility, joint forces, motion."""

    subject: Annotated[
        str,
        Argument(metavar="FILE|NAME", help="A TOML file, a mechanism of the zoo, or a scenario."),
    ]
    lengths: Annotated[str | None, Option(help="d₂,d₃ of a scenario's arm, m.")] = None
    masses: Annotated[str | None, Option(help="m₂,m₃ of a scenario's arm, kg.")] = None
    phi_start: Annotated[str | None, Option(help="φ₂,θ at the start, rad.")] = None
    phi_end: Annotated[str | None, Option(help="φ₂,θ at the end, rad.")] = None
    delta_t: Annotated[float | None, Option(help="Δt of a scenario, s.")] = None
    set: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Another number, such as g=1.62.")
    ] = None
    equations: Annotated[
        bool, Option("--equations", help="Print Φ, Φ_q, ν, γ, M and Q with symbols.")
    ] = False
    simulate: Annotated[float | None, Option(help="Seconds to simulate.")] = None
    dt: Annotated[float, Option(help="Time between samples, or the fixed step, s.")] = 1e-2
    method: Annotated[
        str, Option(help="DOP853, rk4, baumgarte; stiff: generalized_alpha, Radau.")
    ] = "DOP853"
    plot: Annotated[bool, Option("--plot", help="Draw x, y, φ, rates, forces, torques.")] = False
    animate: Annotated[bool, Option("--animate", help="Write a GIF of the motion.")] = False
    report: Annotated[bool, Option("--report", help="Write a page of all curves.")] = False
    out: Annotated[Path, Option(help="Folder for pictures.")] = Path("out")
    json: Json = False


@command("excite", "identify", "Example: dalembert excite ur5 --duration 20 --out motion.csv")
class ExciteOptions:
    """Find a periodic motion within limits that shows the robot's inertias and friction best."""

    robot: Robot
    duration: Annotated[float, Option(help="Seconds of motion.")]
    out: MotionFile = None
    rate: Annotated[float, Option(help="Rows of the file per second, Hz.")] = 100.0
    velocity: Velocity = None
    acceleration: Acceleration = None
    torque: Torque = None
    above: Annotated[
        float | None, Option(help="Height that all frames stay above, m.", show_default=False)
    ] = None
    q: Annotated[str | None, numbers("Posture to begin and end at; default: the best one.")] = None
    harmonics: Annotated[int, Option(help="Harmonics of the period.")] = 5
    periods: Annotated[
        int | None, Option(help="Periods in the duration; default: of about 10 s.")
    ] = None
    objective: Annotated[str, Option(help="condition or information.")] = "condition"
    inertias_only: Annotated[
        bool, Option("--inertias-only", help="Neither friction nor rotors are sought.")
    ] = False
    budget: Annotated[int, Option(help="Evaluations of the search.")] = 2000
    seed: Annotated[int, Option(help="Of the random motions to begin at.")] = 0
    report: MotionPage = False
    deg: Degrees = False
    json: Json = False


@command(
    "identify",
    "identify",
    "Example: dalembert identify arm.urdf log.csv --out fitted.urdf --report fit.html",
)
class IdentifyOptions:
    """Fit inertias, friction and rotors to a log, and write the fitted robot."""

    robot: Robot
    log: Annotated[
        list[Path], Argument(help="Recorded positions and torques: .csv, .parquet, .npz, .nc.")
    ]
    out: Annotated[
        Path | None, Option(help="File for the fitted robot: .urdf, or .xml for MJCF.")
    ] = None
    report: Annotated[Path | None, Option(help="File for a page of the fit: .html.")] = None
    friction: Annotated[
        str,
        Option(
            help="Of viscous, coulomb, offset, stribeck, load, for the joints that move and are "
            "driven; joint:kind, … for other joints; or none."
        ),
    ] = "viscous,coulomb,offset"
    no_rotor: Annotated[bool, Option("--no-rotor", help="Rotors stay as they are.")] = False
    held_out: Annotated[
        float, Option(help="Share of the log, its end, that only judges the fit.")
    ] = 0.25
    payload: Annotated[
        str | None, Option(metavar="LINK", help="Only this link's inertia is unknown.")
    ] = None
    method: Annotated[str, Option(help="inverse_dynamics, power or simulation.")] = (
        "inverse_dynamics"
    )
    cutoff: Annotated[
        float | None, Option(help="Of the filter of positions, Hz; default: chosen.")
    ] = None
    delay: Annotated[float, Option(help="Seconds by which torques come late.")] = 0.0
    columns: Annotated[
        str | None,
        Option(
            help="Names of the file, pos1=q_joint1,cur1=tau_joint1; or all, if it has none.",
            show_default=False,
        ),
    ] = None
    ignore_others: IgnoreOthers = False
    dt: RowTime = None
    on_inconsistent: Annotated[
        str, Option(help="raise, or warn: fit a log that cannot be right all the same.")
    ] = "raise"
    lock: Annotated[
        list[str] | None,
        locks("Hold a joint that the log does not have, a finger say; may be repeated."),
    ] = None
    torque_constant: Annotated[
        str | None, numbers("Torques are currents: N m/A, one or one for each joint.")
    ] = None
    gear: Annotated[str | None, numbers("Gear ratios: the log is of the motors.")] = None
    motor: Annotated[
        str | None,
        Option(
            help="What of q,qd,qdd,tau is of the motors; default: all, with --gear.",
            show_default=False,
        ),
    ] = None
    deg: Degrees = False
    json: Json = False


@command("equations", "equations", "Example: dalembert equations elbow_3r --html --out elbow.html")
class EquationsOptions:
    """Print the equations of motion with symbols, as a textbook would."""

    robot: Robot
    latex: Annotated[bool, Option("--latex", help="As LaTeX.")] = False
    html: Annotated[bool, Option("--html", help="As a page that needs no network.")] = False
    pdf_ready: Annotated[bool, Option("--pdf-ready", help="As a whole LaTeX document.")] = False
    quantity: Annotated[
        list[str] | None,
        Option(
            help="M, C, g, Gamma, K, U, B, Csq, psi, G, e; under constraints also h, A, gamma, "
            "lambda, P_omega, P_T, M_p, h_p, tau_p, M_r, h_r, tau_r, Delta; may be repeated. "
            "Default: those that say all of the motion."
        ),
    ] = None
    recursion: Annotated[
        str | None,
        Option(help="Instead, what this formulation computes link by link, as text or LaTeX."),
    ] = None
    simplify: Annotated[str, Option(help="full or fast.")] = "full"
    timeout: Annotated[float, Option(help="Seconds to look for shorter forms.")] = 30.0
    out: Annotated[Path | None, Option(help="Write to this file.")] = None


@command("export", "robots", "Example: dalembert export ur5 --quantity inverse_dynamics --target c")
class ExportOptions:
    """Write a quantity as C, CUDA, WebAssembly or a CasADi function that stands on its own."""

    robot: Robot
    quantity: Annotated[str, Option(help="What to export.")] = "inverse_dynamics"
    target: Annotated[str, Option(help="c, cuda, wasm or casadi.")] = "c"
    out: Annotated[Path, Option(help="Folder for the files.")] = Path("out")
    dtype: Annotated[str, Option(help="float64 or float32.")] = "float64"
    layout: Annotated[str, Option(help="row or column, for CUDA.")] = "row"
    formulation: Formulation = None


@command("cache", "cache", "Example: dalembert cache --verify")
class CacheOptions:
    """Show what is kept of compiled kernels: where, how much; verify it, or clear it."""

    verify: Annotated[
        bool, Option("--verify", help="Read every entry and remove damaged ones.")
    ] = False
    clear: Annotated[bool, Option("--clear", help="Remove all entries.")] = False
    json: Json = False
