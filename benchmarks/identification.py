"""A long log fitted, and whether reported deviations are right.

Run it from the top folder: ``python -m benchmarks.identification`` fits base parameters to a million
samples of a seven-joint arm and says where the time goes. ``--calibration`` fits simulated logs whose
truth is known, with 1 % of noise in the torques and rounded positions, and counts how often base
parameters are within three reported standard deviations; every seed has a motion, a robot and noise
of its own.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray
from rich.console import Console
from rich.table import Table

import dalembert as dl
from dalembert.identification.least_squares import decimate, estimate
from dalembert.identification.preparation import prepare
from dalembert.identification.pseudo_inertia import pseudo_inertias
from dalembert.identification.regressor import Regressor, base_parameters, build_regressor
from dalembert.identification.residuals import residuals
from tests.identification.logs import (
    CLEAN,
    SyntheticLog,
    fourier,
    other_robot,
    ugly_log,
    with_drive,
)

RATE, BITS, NOISE = 1000.0, 16, 0.01  # samples per second, encoder, of the largest torque
CHUNK = 50_000  # samples that are simulated at once
WITHIN = 3.0  # reported standard deviations
ROBOTS = ("panda", "puma560")


def long_log(robot: Any, samples: int) -> xarray.Dataset:
    """A periodic motion of another robot than the catalogue's, with friction, noise and rounding."""
    motion, t = fourier(robot), np.arange(samples) / RATE
    true = with_drive(other_robot(robot, off=0.1), np.full(robot.nv, 0.5), np.full(robot.nv, 0.3))
    q, tau = np.empty((2, samples, robot.nv))
    for start in range(0, samples, CHUNK):
        part = slice(start, start + CHUNK)
        q[part], qd, qdd = motion(t[part])
        tau[part] = true.inverse_dynamics(q[part], qd, qdd)
    noise = np.random.default_rng(0).normal(size=tau.shape)
    tau += NOISE * np.abs(tau).max(axis=0) * noise
    step = 2.0 * np.pi / 2**BITS
    fields = {"q": np.round(q / step) * step, "tau": tau}
    joints = list(robot.dynamics.velocities)
    data = {name: (("time", "joint"), values) for name, values in fields.items()}
    return xarray.Dataset(data, {"time": t, "joint": joints})


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """(what comes back, seconds on the clock, seconds of all cores)."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def million_table(samples: int) -> Table:
    """The whole fit, and its stages one by one."""
    robot = dl.load("panda")
    log = long_log(robot, samples)
    warm = log.isel(time=slice(0, 20_000))
    dl.identify(robot, warm)  # kernels are compiled
    table = Table(title=f"{samples:,} samples of {robot.name}, {RATE:g} Hz")
    for head in ("stage", "s on the clock", "s of all cores", "samples/s"):
        table.add_column(head, justify="left" if head == "stage" else "right")

    def row(name: str, work: Callable[[], Any]) -> Any:
        result, wall, cpu = timed(work)
        table.add_row(name, f"{wall:.2f}", f"{cpu:.2f}", f"{samples / wall:,.0f}")
        return result

    settings = {"held_out": None, "consistent": False}
    row("dl.identify, base parameters", lambda: dl.identify(robot, log, **settings))
    table.add_section()
    columns = build_regressor(robot)
    base = row("base parameters of the structure", lambda: base_parameters(columns))
    records = row("filter and derivatives", lambda: prepare(robot, log))
    columns = columns.with_widths(records[0].rate_noise)
    row("columns alone, in blocks", lambda: residuals(columns, records, columns.values))
    rows = row("columns filtered and thinned", lambda: decimate(columns, base, records))
    row("weights, triangles, deviations", lambda: estimate(rows, base.matrix @ columns.values))
    return table


def accuracy() -> str:
    """The fit by triangles of blocks against one least-squares problem of all its rows."""
    robot = dl.load("panda")
    (record,) = prepare(robot, long_log(robot, 20_000))
    columns = build_regressor(robot).with_widths(record.rate_noise)
    base = base_parameters(columns)
    rows = decimate(columns, base, [record], 4)
    estimated = estimate(rows, base.matrix @ columns.values)
    A = np.zeros((*rows.y.shape, rows.size))
    for j, (W, indices) in enumerate(zip(rows.W, rows.indices, strict=True)):
        A[:, j, indices] = W / estimated.noise[j]
    b = (rows.y / estimated.noise).ravel()
    whole = np.linalg.lstsq(A.reshape(len(b), -1), b, rcond=None)[0]
    apart = np.abs(estimated.beta - whole)
    return (
        f"base parameters against one QR of all {len(b)} rows: apart by {apart.max():.1e}, "
        f"{(apart / np.sqrt(np.diag(estimated.covariance))).max():.1e} of their deviations"
    )


@dataclass
class Seed:
    """One fit of a log whose truth is known."""

    z: np.ndarray  # (base,) errors in reported deviations
    names: tuple[str, ...]
    held_out: np.ndarray  # (nv,) torque error over noise, unconstrained
    consistent: np.ndarray  # (nv,) the same of the robot
    real: bool  # every pseudo-inertia positive definite
    cutoff: float


def true_values(columns: Regressor, log: SyntheticLog) -> np.ndarray:
    """x (p,) of the robot that made a log."""
    x, nv = np.array(build_regressor(log.robot).values), log.prior.nv
    k = columns.inertial + nv * columns.kinds.index("offset")
    x[k : k + nv] = log.offset
    return x


def one_seed(name: str, seed: int, bits: int, rate: float, duration: float) -> Seed:
    """A log of another robot along another motion, fitted with all defaults."""
    prior = dl.load(name)
    clean = replace(CLEAN, seed=seed, bits=bits, rate=rate, duration=duration, offset=0.01)
    motion, noise = fourier(prior, seed), replace(clean, noise=0.0)
    true = other_robot(prior, seed, 0.1)
    log = ugly_log(prior, clean, true, motion)
    level = (log.log.tau - ugly_log(prior, noise, true, motion).log.tau).std("time").values
    fit = dl.identify(prior, log.log)
    truth = fit.grouping.matrix @ true_values(fit.regressor, log)
    table, errors = fit.base, fit.errors().loc["held_out"].iloc[:-1]
    bodies = pseudo_inertias(fit.values["consistent"][: fit.regressor.inertial])
    return Seed(
        ((table["value"] - truth) / table["std"]).to_numpy(),
        tuple(table.index),
        errors["unconstrained"].to_numpy() / level,
        errors["consistent"].to_numpy() / level,
        bool(np.linalg.eigvalsh(bodies).min() > 0.0),
        fit.records[0].cutoff,
    )


def calibration_table(seeds: int, bits: int, rate: float, duration: float, first: int = 0) -> Table:
    """How often base parameters are within three deviations, and how well torques are predicted."""
    title = f"{seeds} seeds: {duration:g} s at {rate:g} Hz, {bits} bits per turn, 1 % torque noise"
    table = Table(title=title)
    heads = ("robot", "within 3", "inertial", "friction", "rms z", "worst mean z", "held out")
    for head in (*heads, "robot's", "all real", "cut-off, Hz"):
        table.add_column(head)
    for name in ROBOTS:
        outcomes = [
            one_seed(name, seed, bits, rate, duration) for seed in range(first, first + seeds)
        ]
        z = np.stack([each.z for each in outcomes])
        joints = {"viscous", "coulomb", "offset", "rotor"}
        drive = np.array([n.rpartition(":")[2] in joints for n in outcomes[0].names])
        worst = int(np.argmax(abs(z.mean(axis=0))))
        cutoffs = [each.cutoff for each in outcomes]
        table.add_row(
            name,
            *(f"{np.mean(abs(part) < WITHIN):.4f}" for part in (z, z[:, ~drive], z[:, drive])),
            f"{np.sqrt(np.mean(z**2)):.3f}",
            f"{z.mean(axis=0)[worst]:+.2f} {outcomes[0].names[worst]}",
            f"{np.mean([each.held_out for each in outcomes]):.3f}",
            f"{np.mean([each.consistent for each in outcomes]):.3f}",
            str(all(each.real for each in outcomes)),
            f"{min(cutoffs):.2g}–{max(cutoffs):.2g}",
        )
    return table


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10**6)
    parser.add_argument("--calibration", action="store_true")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed; others than those of the docs")
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--duration", type=float, default=20.0)
    options = parser.parse_args()
    console = Console(width=140)
    if options.calibration:
        arguments = options.seeds, options.bits, options.rate, options.duration, options.first
        console.print(calibration_table(*arguments))
        return
    console.print(million_table(options.samples))
    console.print(accuracy())


if __name__ == "__main__":
    main()
