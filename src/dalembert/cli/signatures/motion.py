"""Motions in time: simulated, planned, swept over designs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.commands import ListsCommand
from dalembert.cli.options import QD, Chosen, Degrees, Json, Name, Q, Tau, numbers

commands = typer.Typer()


@commands.command(
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


@commands.command(
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


@commands.command(epilog="Example: dalembert sweep study.toml --dry-run")
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


@commands.command(
    epilog="Example: dalembert mechanism joint_interpolated --phi-end 1.5,-0.6 --plot"
)
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
