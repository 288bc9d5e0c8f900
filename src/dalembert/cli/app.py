"""The commands and their options: only signatures, so that `dalembert --help` is quick.

What a command does is in the module it imports when it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from dalembert.cli.commands import Commands, ListsCommand, PlainCommand
from dalembert.cli.options import (
    QD,
    QDD,
    TRUSTED,
    Chosen,
    Degrees,
    Json,
    Name,
    Q,
    Tabled,
    Tau,
    TipWrench,
    complete_robot,
    numbers,
)


def version(wanted: bool) -> None:
    if wanted:
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
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder beside an MJCF file's own, from which it may open files; repeatable.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Dynamics of robot manipulators and linked rigid bodies.

    Units are SI and radians; twists and wrenches are (linear, angular).
    """
    TRUSTED[:] = trust or []


@app.command(epilog="Example: dalembert zoo --json")
def zoo(json: Json = False) -> None:
    """List the robots that come with the package, with their sources."""
    from dalembert.cli.robots import zoo

    zoo(json)


@app.command(epilog="Example: dalembert info ur5")
def info(
    robot: Name,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings about a file are errors.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a robot: joints, links, limits, frames, what its file said, what its dynamics cost."""
    from dalembert.cli.robots import info

    info(robot, strict, json)


@app.command(
    cls=ListsCommand,
    epilog="Examples: dalembert inverse ur5 --q 0,-90,90,0,45,0 --deg; "
    "dalembert inverse ur5 --csv path.csv --out torques.csv --report",
)
def inverse(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    qdd: QDD = None,
    tip_wrench: TipWrench = None,
    formulation: Chosen = None,
    table: Tabled = False,
    csv: Annotated[
        Path | None,
        typer.Option(help="A motion instead of one state: a column 'time' and one for each joint."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the torques of the motion, .csv, .nc or .zarr.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--report", help="Write a page of the motion: out/NAME.html.")
    ] = False,
    dt: Annotated[
        float | None, typer.Option(help="Seconds between rows, where no column has times.")
    ] = None,
    lowpass: Annotated[
        float | None, typer.Option(help="Filter the motion, without delay, below these Hz.")
    ] = None,
    actuators: Annotated[
        str | None, typer.Option(help="Joints that drive a closed chain, by commas.")
    ] = None,
    ignore_others: Annotated[
        bool, typer.Option("--ignore-others", help="Ignore columns that belong to no joint.")
    ] = False,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Inverse dynamics: the torques of a state, or along a motion from a file."""
    from dalembert.cli.along import Motion, along, refuse_mixed
    from dalembert.cli.dynamics import inverse, recursion

    given = {"q": q, "qd": qd, "qdd": qdd}
    motion = Motion(csv, out, page, dt, lowpass, actuators, ignore_others, tip_wrench, formulation)
    if refuse_mixed(motion, {**given, "table": table or None}):
        along(robot, motion, deg, json)
        return
    (recursion if table else inverse)(robot, given, tip_wrench, formulation, deg, json)


@app.command(
    cls=ListsCommand,
    epilog="Examples: dalembert ik ur5 --target 0.4,0.2,0.5,0,90,0 --deg; "
    "dalembert ik ur5 --csv poses.csv --out q.csv --path",
)
def ik(
    robot: Name,
    target: Annotated[
        str | None, numbers("x, y, z and roll, pitch, yaw of the frame; x, y, z alone: a point.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Poses from a file: columns x, y, z, roll, pitch, yaw.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the joint positions, .csv.")] = None,
    frame: Annotated[str, typer.Option(help="The frame to be put there.")] = "tool",
    position_only: Annotated[
        bool, typer.Option("--position-only", help="Let the frame turn as it likes.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="All postures of a target.")] = False,
    path: Annotated[
        bool, typer.Option("--path", help="The poses of the file are a path: no joint may jump.")
    ] = False,
    q: Annotated[str | None, numbers("Joint positions to start from; default: anywhere.")] = None,
    no_limits: Annotated[
        bool, typer.Option("--no-limits", help="Joints may go beyond their limits.")
    ] = False,
    tolerance: Annotated[float, typer.Option(help="Distance and angle, m and rad.")] = 1e-9,
    restarts: Annotated[int, typer.Option(help="How often a search begins anew.")] = 300,
    seed: Annotated[int, typer.Option(help="Of the random postures to begin at.")] = 0,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Inverse kinematics: joint positions that put a frame where it should be."""
    from dalembert.cli.ik import Wanted, ik

    where = (target, csv, out, frame, position_only, every, path, q, not no_limits)
    ik(robot, Wanted(*where, tolerance, restarts, seed, deg), json)


@app.command(cls=ListsCommand, epilog="Example: dalembert forward scara --tau 1 0 -5 0")
def forward(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    tau: Tau = None,
    tip_wrench: TipWrench = None,
    formulation: Chosen = None,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Forward dynamics: the accelerations under torques."""
    from dalembert.cli.dynamics import forward

    forward(robot, {"q": q, "qd": qd, "tau": tau}, tip_wrench, formulation, deg, json)


@app.command(cls=ListsCommand, epilog="Example: dalembert matrices planar_2r --q 0.3 1.2")
def matrices(
    robot: Name,
    q: Q = None,
    qd: QD = None,
    frame: Annotated[str, typer.Option(help="Frame of the pose and Jacobian.")] = "tool",
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Mass matrix, bias, gravity, energies, pose and Jacobian at one state."""
    from dalembert.cli.dynamics import matrices

    matrices(robot, {"q": q, "qd": qd}, frame, deg, json)


@app.command(epilog="Example: dalembert bench panda")
def bench(
    robot: Name,
    states: Annotated[int, typer.Option("-n", "--states", min=1, help="States per call.")] = 65536,
    json: Json = False,
) -> None:
    """Measure how fast a robot's dynamics run on this machine."""
    from dalembert.cli.bench import bench

    bench(robot, states, json)


@app.command(epilog="Example: dalembert demo --robot puma560")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page and the picture.")] = Path("out"),
    robot: Annotated[
        str, typer.Option(help="A robot of the zoo.", autocompletion=complete_robot)
    ] = "ur5",
    states: Annotated[int, typer.Option(min=1, help="States to evaluate.")] = 2**20,
) -> None:
    """Show a robot, check it, evaluate a million states, and write a page of it in motion."""
    from dalembert.cli.demo import demo

    demo(out, robot, states)


@app.command(epilog="Example: dalembert count puma560 --plot counts.png")
def count(
    robot: Name,
    quantity: Annotated[str, typer.Option(help="Quantity to count.")] = "inverse_dynamics",
    plot: Annotated[
        Path | None, typer.Option(help="Draw counts against the number of joints into this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Count the arithmetic of every formulation, beside the published figures."""
    from dalembert.cli.count import count

    count(robot, quantity, plot, json)


@app.command(epilog="Examples: dalembert report puma560; dalembert report study.zarr")
def report(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|RUN.nc|STUDY.zarr",
            help="A robot of the zoo, a URDF or MJCF file, a stored run, or the store of a sweep.",
            autocompletion=complete_robot,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The page to write; default: out/NAME.html.")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(help="The robot of a run, if the zoo does not have it.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="The file of a sweep; default: the .toml beside its store.")
    ] = None,
) -> None:
    """Write one page: the moving arm, plots, equations, agreement and operation counts."""
    from dalembert.cli.report import report

    report(subject, out, robot, study)


@app.command(
    cls=ListsCommand,
    epilog="Example: dalembert simulate puma560 --duration 2 --q 0 45 -90 0 0 0 --deg --out run.nc",
)
def simulate(
    robot: Name,
    duration: Annotated[float, typer.Option(help="Seconds to simulate.")],
    q: Q = None,
    qd: QD = None,
    tau: Tau = None,
    controller: Annotated[str, typer.Option(help="none, pd_gravity or computed_torque.")] = "none",
    target: Annotated[str | None, numbers("Where the controller goes; default: it holds.")] = None,
    kp: Annotated[float, typer.Option(help="Position gain of the controller.")] = 100.0,
    kd: Annotated[float, typer.Option(help="Velocity gain of the controller.")] = 20.0,
    method: Annotated[
        str | None, typer.Option(help="Integrator; default: DOP853, adaptive.")
    ] = None,
    dt: Annotated[float, typer.Option(help="Step of fixed-step methods, s.")] = 1e-3,
    save_every: Annotated[
        int | None, typer.Option(min=1, help="Steps between saved states; default: about 200.")
    ] = None,
    restitution: Annotated[
        float | None, typer.Option(help="Make the joints' limits stops of this restitution, 0 … 1.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the result, .nc or .zarr.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder from which a run that was cut short goes on.")
    ] = None,
    formulation: Chosen = None,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Simulate a robot: let go, under torques, or under a controller."""
    from dalembert.cli.simulate import Options, simulate

    options = Options(
        *(duration, controller, target, kp, kd, method, dt, save_every),
        *(restitution, out, checkpoint, formulation),
    )
    simulate(robot, {"q": q, "qd": qd, "tau": tau}, options, deg, json)


@app.command(
    cls=ListsCommand,
    epilog="Example: dalembert path ur5 --points points.csv --acceleration 10 --out motion.csv",
)
def path(
    robot: Name,
    points: Annotated[
        Path,
        typer.Option(
            help="Way-points, CSV: joints by name, or x, y, z with qw … qz or roll … yaw."
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(help="cubic, quintic or lines through joints; lines or arc through poses."),
    ] = None,
    blend: Annotated[
        float, typer.Option(min=0.0, help="Corners of lines are rounded over this, rad or m.")
    ] = 0.0,
    q: Q = None,
    frame: Annotated[str, typer.Option(help="The frame that goes to poses.")] = "tool",
    velocity: Annotated[str | None, numbers("Velocity limits; default: the robot's.")] = None,
    acceleration: Annotated[str | None, numbers("Acceleration limits; default: none.")] = None,
    torque: Annotated[str | None, numbers("Torque limits; default: the robot's.")] = None,
    grid: Annotated[
        int | None, typer.Option(min=2, help="Intervals of the path; default: as many as needed.")
    ] = None,
    dt: Annotated[float, typer.Option(help="Time between rows of the result, s.")] = 1e-2,
    out: Annotated[
        Path | None, typer.Option(help="File for times, q, qd, qdd, tau: .csv, .nc or .zarr.")
    ] = None,
    page: Annotated[bool, typer.Option("--report", help="Write a page of it in motion.")] = False,
    deg: Degrees = False,
    json: Json = False,
) -> None:
    """Find the fastest motion along a path within limits of velocity, acceleration and torque."""
    from dalembert.cli.path import Options, path

    limits = (velocity, acceleration, torque)
    options = Options(points, kind, blend, q, frame, *limits, grid, dt, out, page)
    path(robot, options, deg, json)


@app.command(epilog="Example: dalembert sweep study.toml --dry-run")
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study, TOML.", exists=True)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many runs, bytes and about how long.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes beside this one; default: none.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address or scheduler file of a dask cluster to run on.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a study: a simulation for every row of a design; one cut short goes on."""
    from dalembert.cli.sweep import sweep

    sweep(file, dry_run, processes, scheduler, json)


@app.command(epilog="Example: dalembert mechanism joint_interpolated --phi-end 1.5,-0.6 --plot")
def mechanism(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME", help="A TOML file, a mechanism of the zoo, or a scenario."
        ),
    ],
    lengths: Annotated[str | None, typer.Option(help="d₂,d₃ of a scenario's arm, m.")] = None,
    masses: Annotated[str | None, typer.Option(help="m₂,m₃ of a scenario's arm, kg.")] = None,
    phi_start: Annotated[str | None, typer.Option(help="φ₂,θ at the start, rad.")] = None,
    phi_end: Annotated[str | None, typer.Option(help="φ₂,θ at the end, rad.")] = None,
    delta_t: Annotated[float | None, typer.Option(help="Δt of a scenario, s.")] = None,
    numbers: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another number, such as g=1.62."),
    ] = None,
    equations: Annotated[
        bool, typer.Option("--equations", help="Print Φ, Φ_q, ν, γ, M and Q in letters.")
    ] = False,
    simulate: Annotated[float | None, typer.Option(help="Seconds to simulate.")] = None,
    dt: Annotated[float, typer.Option(help="Time between samples, or the fixed step, s.")] = 1e-2,
    method: Annotated[
        str, typer.Option(help="DOP853, rk4, baumgarte; stiff: generalized_alpha, Radau.")
    ] = "DOP853",
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw x, y, φ, rates, forces, torques.")
    ] = False,
    animate: Annotated[bool, typer.Option("--animate", help="Write a GIF of the motion.")] = False,
    page: Annotated[bool, typer.Option("--report", help="Write a page of all curves.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for pictures.")] = Path("out"),
    json: Json = False,
) -> None:
    """Show a mechanism in absolute coordinates: mobility, joint forces, motion."""
    from dalembert.cli.mechanism import Options, mechanism, numbers_of

    arm = {"lengths": lengths, "masses": masses, "phi_start": phi_start, "phi_end": phi_end}
    own = numbers_of({**arm, "delta_t": delta_t}, numbers or [])
    options = Options(simulate, dt, method, plot, animate, out, own, equations, page)
    mechanism(subject, options, json)


@app.command(epilog="Example: dalembert equations elbow_3r --html --out elbow.html")
def equations(
    robot: Name,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX.")] = False,
    html: Annotated[bool, typer.Option("--html", help="As a page that needs no network.")] = False,
    pdf_ready: Annotated[
        bool, typer.Option("--pdf-ready", help="As a whole LaTeX document.")
    ] = False,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            help="M, C, g, Gamma, K, U, B, Csq, psi, G, e; under constraints also h, A, gamma, "
            "lambda, P_omega, P_T, M_p, h_p, tau_p, M_r, h_r, tau_r, Delta; may be repeated. "
            "Default: those that say all of the motion."
        ),
    ] = None,
    recursion: Annotated[
        str | None,
        typer.Option(
            help="Instead, what this formulation computes link by link, as text or LaTeX."
        ),
    ] = None,
    simplify: Annotated[str, typer.Option(help="full or fast.")] = "full",
    timeout: Annotated[float, typer.Option(help="Seconds to look for shorter forms.")] = 30.0,
    out: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
) -> None:
    """Print the equations of motion in letters, as a textbook would."""
    from dalembert.cli.equations import equations, links

    chosen = [name for name, wanted in (("latex", latex), ("html", html)) if wanted]
    form = (chosen + ["pdf-ready"] * pdf_ready + ["text"])[0]
    if recursion is not None:
        links(robot, form, recursion, timeout, out)
        return
    equations(robot, form, quantity, simplify, timeout, out)


@app.command(epilog="Example: dalembert export ur5 --quantity inverse_dynamics --target c")
def export(
    robot: Name,
    quantity: Annotated[str, typer.Option(help="What to export.")] = "inverse_dynamics",
    target: Annotated[str, typer.Option(help="c, cuda or casadi.")] = "c",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("out"),
    dtype: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    layout: Annotated[str, typer.Option(help="row or column, for CUDA.")] = "row",
    formulation: Chosen = None,
) -> None:
    """Write a quantity as C, CUDA or a CasADi function that stands on its own."""
    from dalembert.cli.export import export

    export(robot, quantity, target, out, dtype, layout, formulation)


for registered in app.registered_commands:
    if not issubclass(registered.cls or TyperCommand, PlainCommand):
        registered.cls = PlainCommand
