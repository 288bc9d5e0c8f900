"""Excitation of the UR5 beside `scipy.optimize` on a Pinocchio regressor, over wall time.

Run it from the top folder: ``python -m benchmarks.excitation [--seconds 30] [--seeds 3]``; it needs
pin and example-robot-data. One thread. Both minimise cond(W), W the base columns of one period of 10 s
at 100 samples, over the same Fourier series (five harmonics, at rest at both ends), with the same
limits of position, velocity and torque and from the same random motions; ours leaves its margin of 2 %
free. The peer calls `computeJointTorqueRegressor` for each sample, from Python, as its users do; its
torques are W's product with the inertias, which costs nothing. SLSQP has the exact slopes of the
linear limits and finite differences of the rest, and begins anew from the next start when it is done;
differential evolution and Nelder and Mead have a penalty. Motions of both are then measured by
Pinocchio's regressor on a grid of 1000 samples. All of it is done for our base columns, and again for
those that a QR with pivoting picks from Pinocchio's regressor. Our time begins at the call, with
kernels on disk as after any first use; the last line is a first use.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.optimize import differential_evolution, minimize

import dalembert as dl
from benchmarks.optional import optional
from dalembert.identification.excitation.problem import Basis
from dalembert.identification.excitation.search import feasible_configurations, random_motions

pin = optional("pinocchio")

PERIOD, HARMONICS, SAMPLES, FINE = 10.0, 5, 100, 1000
STARTS = 200  # random motions, of which every method begins with the best
STEP = 1e-7  # of finite differences
PENALTY = 10.0
TIMES = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
SETTINGS = {"friction": (), "rotor": False, "scaled": False, "noise": 1.0, "budget": 10**9}


class Over(Exception):
    """The time is up."""


class Measure:
    """Pinocchio's regressor of the UR5, and base columns of it."""

    def __init__(self, robot: dl.Robot) -> None:
        from benchmarks.peers import pinocchio_model

        self.model = pinocchio_model("ur5")
        self.data = self.model.createData()
        self.theta = np.concatenate(
            [self.model.inertias[k].toDynamicParameters() for k in range(1, self.model.njoints)]
        )
        rng = np.random.default_rng(0)
        state = [scale * rng.uniform(-1.0, 1.0, (100, 6)) for scale in (np.pi, 2.0, 5.0)]
        Y, ours = self.regressor(*state), robot.base_regressor(*state).reshape(600, -1)
        # our base columns are combinations of Pinocchio's columns
        columns = np.linalg.lstsq(Y, ours, rcond=1e-10)[0]
        picked = np.sort(qr(Y, mode="r", pivoting=True)[1][: ours.shape[1]])
        pivoted = np.eye(Y.shape[1])[:, picked]
        # and the other way round, for our search
        all_ours = robot.regressor(*state).reshape(600, -1)
        combinations = np.linalg.lstsq(all_ours, Y @ pivoted, rcond=1e-10)[0]
        combinations[abs(combinations) < 1e-12] = 0.0
        assert np.abs(Y @ columns - ours).max() < 1e-8
        assert np.abs(all_ours @ combinations - Y @ pivoted).max() < 1e-8
        self.chosen = {"our base columns": columns, "columns of a QR with pivoting": pivoted}
        self.settings: dict[str, dict[str, Any]] = {
            "our base columns": SETTINGS,
            "columns of a QR with pivoting": {**SETTINGS, "combinations": combinations},
        }

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """(samples · 6, 60), sample by sample."""
        call, model, data = pin.computeJointTorqueRegressor, self.model, self.data
        return np.concatenate([call(model, data, *x) for x in zip(q, qd, qdd, strict=True)])

    def fine(self, z: np.ndarray | None, basis: Basis, columns: np.ndarray) -> float:
        """cond(W) on the fine grid; infinite where there is no motion yet."""
        if z is None:
            return np.inf
        Y = self.regressor(*(x @ z.reshape(-1, 6) for x in basis.shapes(FINE)))
        return float(np.linalg.cond(Y @ columns))


class Peer:
    """log cond(W) and the limits of a motion z, by Pinocchio, until the time is up."""

    def __init__(
        self, measure: Measure, robot: dl.Robot, basis: Basis, columns: np.ndarray
    ) -> None:
        self.measure, self.robot, self.columns = measure, robot, columns
        self.shapes = basis.shapes(SAMPLES)
        self.history: list[tuple[float, float, np.ndarray]] = []  # s, log cond, z
        eye = np.eye(6)
        self.rows = np.concatenate([np.kron(x, eye) for x in self.shapes[:2]])
        most = [np.tile(robot.upper, SAMPLES), np.tile(robot.velocity_limit, SAMPLES)]
        self.most = np.concatenate(most)  # limits of the UR5 are even about zero

    def begin(self, seconds: float) -> None:
        """Start the clock."""
        self.start, self.end = time.perf_counter(), time.perf_counter() + seconds

    def both(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """log cond(W), and |τ| / limit of every joint at its largest."""
        if time.perf_counter() > self.end:
            raise Over
        motion = [x @ z.reshape(-1, 6) for x in self.shapes]
        Y = self.measure.regressor(*motion)
        values = np.linalg.eigvalsh((W := Y @ self.columns).T @ W)
        f = 0.5 * np.log(values[-1] / max(values[0], 1e-14 * values[-1]))
        tau = np.abs((Y @ self.measure.theta).reshape(-1, 6)).max(axis=0)
        return f, tau / self.robot.effort_limit

    def note(self, z: np.ndarray, f: float, tau: np.ndarray) -> None:
        """Keep the best motion within the limits, and when it was found."""
        inside = (np.abs(self.rows @ z) <= 1.0001 * self.most).all() and (tau <= 1.0001).all()
        if inside and (not self.history or f < self.history[-1][1]):
            self.history.append((time.perf_counter() - self.start, f, z.copy()))

    def penalised(self, z: np.ndarray) -> float:
        """With what limits are passed by; outside of the linear ones without a regressor."""
        over = np.maximum(np.abs(self.rows @ z) / self.most - 1.0, 0.0)
        if over.max() > 0.1:
            return 20.0 + PENALTY * over.max()
        f, tau = self.both(z)
        self.note(z, f, tau)
        return f + PENALTY * (over.max() + np.maximum(tau - 1.0, 0.0).max())

    def slsqp(self, starts: np.ndarray, rng: np.random.Generator) -> None:
        """All limits as constraints; from one start after the other."""
        known: dict[str, Any] = {"z": None}

        def jacobian(z: np.ndarray) -> dict[str, Any]:
            if known["z"] is None or not np.array_equal(known["z"], z):
                f, tau = self.both(z)
                self.note(z, f, tau)
                moved = [self.both(z + STEP * e) for e in np.eye(len(z))]
                by = [(np.array([m[k] for m in moved]) - x) / STEP for k, x in ((0, f), (1, tau))]
                known.update(z=z.copy(), f=f, tau=tau, df=by[0], dtau=by[1].T)
            return known

        linear = np.concatenate([-self.rows, self.rows]) / np.tile(self.most, 2)[:, None]
        limits = [
            {"type": "ineq", "fun": lambda z: 1.0 + linear @ z, "jac": lambda z: linear},
            {
                "type": "ineq",
                "fun": lambda z: 1.0 - self.both(z)[1],
                "jac": lambda z: -jacobian(z)["dtau"],
            },
        ]
        for z in starts:
            minimize(
                *(lambda z: self.both(z)[0], z),
                jac=lambda z: jacobian(z)["df"],
                method="SLSQP",
                constraints=limits,
                options={"maxiter": 10_000, "ftol": 1e-7},
            )

    def differential_evolution(self, starts: np.ndarray, rng: np.random.Generator) -> None:
        """The best random motions as first population."""
        span = 2.0 * np.abs(starts).max()
        bounds = [(-span, span)] * starts.shape[1]
        differential_evolution(
            *(self.penalised, bounds), init=starts[:60], maxiter=10**6, rng=rng, polish=False
        )

    def nelder_mead(self, starts: np.ndarray, rng: np.random.Generator) -> None:
        """From the best start, with sizes that fit to the number of unknowns."""
        for z in starts:
            minimize(
                *(self.penalised, z),
                method="Nelder-Mead",
                options={"adaptive": True, "maxiter": 10**6, "maxfev": 10**7},
            )


def random_starts(robot: dl.Robot, basis: Basis, seed: int) -> np.ndarray:
    """Motions within the limits, the best first, for all methods."""
    result = dl.excitation(robot, PERIOD, **{**SETTINGS, "budget": 1}, seed=seed)
    rng = np.random.default_rng(seed)
    z, rough = random_motions(
        result.problem, feasible_configurations(result.problem, rng), STARTS, rng
    )
    order = np.argsort(rough)
    return z[order[np.isfinite(rough[order])]]


def peer_curves(
    measure: Measure, robot: dl.Robot, basis: Basis, seconds: float, seed: int, columns: np.ndarray
) -> Iterator[tuple[str, list[tuple[float, float, np.ndarray]]]]:
    """(method, [(s, log cond, z), …])."""
    starts = random_starts(robot, basis, seed)
    for name in ("slsqp", "differential_evolution", "nelder_mead"):
        peer = Peer(measure, robot, basis, columns)
        run: Callable[..., None] = getattr(peer, name)
        peer.begin(seconds)
        with suppress(Over):
            run(starts, np.random.default_rng(seed))
        yield name, peer.history


def at(result: list[tuple[float, float, np.ndarray]], seconds: float) -> np.ndarray | None:
    """The best z that was known after these seconds."""
    known = [z for s, _, z in result if s <= seconds]
    return known[-1] if known else None


def ours(
    robot: dl.Robot, seconds: float, seed: int, settings: dict[str, Any]
) -> tuple[float, np.ndarray]:
    """(seconds it really took, z)."""
    start = time.perf_counter()
    result = dl.excitation(robot, PERIOD, **settings, seed=seed, time_limit=0.9 * seconds)
    return time.perf_counter() - start, result.z


COLD = """
import time, dalembert as dl, numpy as np
robot = dl.load("ur5")
start = time.perf_counter()
found = dl.excitation(robot, {period}, **{settings}, seed={seed}, time_limit={limit})
print(time.perf_counter() - start, found.condition)
"""


def cold(seconds: float, seed: int) -> tuple[float, float]:
    """(seconds, condition) in a fresh process without any kernels."""
    code = COLD.format(period=PERIOD, settings=SETTINGS, seed=seed, limit=0.9 * seconds)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "DALEMBERT_CACHE": cache}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    taken, condition = map(float, done.stdout.split())
    return taken, condition


def compare(robot: dl.Robot, measure: Measure, which: str, times: list[float], seeds: int) -> None:
    """Print the curves of all methods for one choice of base columns."""
    basis, columns = Basis(PERIOD, 1, HARMONICS, robot.nv), measure.chosen[which]
    settings, table = measure.settings[which], {}
    ours(robot, 1.0, 0, settings)  # kernels on disk and in memory
    for seed in range(seeds):
        own = [ours(robot, s, seed, settings) for s in times]
        late = max(taken / s for (taken, _), s in zip(own, times, strict=True))
        print(f"seed {seed}: ours took at most {late:.2f} of the time", flush=True)
        rows = {"dalembert": [measure.fine(z, basis, columns) for _, z in own]}
        for name, result in peer_curves(measure, robot, basis, times[-1], seed, columns):
            rows[name] = [measure.fine(at(result, s), basis, columns) for s in times]
        for name, row in rows.items():
            table.setdefault(name, []).append(row)
    print(f"\ncond(W), {which}, median of {seeds} seeds [lowest … highest]\n")
    print("| method | " + " | ".join(f"{s:g} s" for s in times) + " |")
    print("|---" * (len(times) + 1) + "|")
    for name, runs in table.items():
        cells = [f"{np.median(x):.3g} [{x.min():.3g} … {x.max():.3g}]" for x in np.array(runs).T]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print()


def main() -> None:
    """Both choices of columns, then a first use."""
    parser = ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    dl.set_num_threads(1)
    robot = dl.load("ur5")
    measure = Measure(robot)
    times = [s for s in TIMES if s <= options.seconds]
    for which in measure.chosen:
        compare(robot, measure, which, times, options.seeds)
    taken, condition = cold(10.0, 0)
    print(f"ours, first use, without kernels: condition {condition:.3g} after {taken:.1f} s")


if __name__ == "__main__":
    main()
