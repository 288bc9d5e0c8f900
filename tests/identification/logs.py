"""Logs as ugly as real ones, of arms whose true numbers are known: the same for the same seed.

>>> made = ugly_log("panda", Ugly(seed=3), robot=other_robot(dl.load("panda"), seed=3))
>>> made.log.tau.shape, made.prior.name
((19807, 7), 'panda')
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.model.model import Drive
from dalembert.simulation.results import labelled
from dalembert.spatial.inertia import from_silver_tensor, pseudo_inertia_of_moments

ROBOTS = ("panda", "puma560", "ur5", "planar_2r")
HARMONICS = 5
TENSOR = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # Ixx, Ixy, Ixz, Iyy, Iyz, Izz


@dataclass(frozen=True)
class Ugly:
    """What is wrong with a log. Torques are fractions of each joint's largest one."""

    seed: int = 0
    duration: float = 20.0  # s
    rate: float = 1000.0  # samples per second
    noise: float = 0.01  # of torque, standard deviation
    bits: int = 20  # of the encoder, of one turn of the joint; 0 is a perfect one
    torque_step: float = 2e-3  # by which torque is quantised
    jitter: float = 0.1  # of the stamps, in steps
    repeated: int = 8  # first rows that come twice, stamp and all
    stuck: int = 8  # first rows that hold the first values while stamps go on
    missing: float = 0.01  # of the rows
    gap: float = 0.0  # s without rows, in the middle
    drift: float = 0.01  # of torque, from begin to end
    delay: float = 0.0  # s, of torque behind motion
    elastic: float = 0.0  # rad by which the largest torque twists each joint before its encoder
    ripple: float = 0.0  # of torque, at 40 per turn of the joint
    rates: float = 0.0  # rad/s, noise of recorded velocities; 0 records none
    stribeck: float = 0.0  # of the largest torque, at rest
    offset: float = 0.01  # of the largest torque
    friction: float = 0.05  # Coulomb and viscous (at the largest speed), of the largest torque


USUAL = Ugly()
CLEAN = Ugly(torque_step=0, jitter=0, repeated=0, stuck=0, missing=0, drift=0, bits=24, offset=0)
REAL = Ugly(
    jitter=0.3, missing=0.02, gap=0.15, drift=0.02, elastic=2e-3, ripple=5e-3, stribeck=0.02
)


@dataclass(frozen=True, eq=False)
class SyntheticLog:
    """A log with the truth behind it."""

    log: Any  # xarray.Dataset with q, tau, and qd where asked for
    prior: Any  # what a user has: the catalogue's robot
    robot: Any  # the true one: inertias, rotors, viscous and Coulomb friction in its drive
    offset: np.ndarray  # (nv,) constant torques
    stribeck: np.ndarray  # (nv,) what friction at rest is more than Coulomb's
    delay: float


@dataclass(frozen=True, eq=False)
class Fourier:
    """q = centre + Σ aₖ sin(k ω t) + bₖ cos(k ω t), within the limits of the joints."""

    centre: np.ndarray  # (nv,)
    sines: np.ndarray  # (HARMONICS, nv)
    cosines: np.ndarray
    omega: float

    def __call__(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q, q̇, q̈) (n, nv) at the times."""
        k = self.omega * np.arange(1, HARMONICS + 1)
        s, c = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
        return (
            self.centre + s @ self.sines + c @ self.cosines,
            (c * k) @ self.sines - (s * k) @ self.cosines,
            -(s * k**2) @ self.sines - (c * k**2) @ self.cosines,
        )


def fourier(
    robot: Any, seed: int = 0, period: float = 10.0, still: tuple[int, ...] = ()
) -> Fourier:
    """A random periodic motion within 80 % of the limits; the joints `still` stay where they are."""
    rng = np.random.default_rng((7, seed))
    lower, upper = (
        np.where(np.isfinite(x), x, s * 2.0) for x, s in ((robot.lower, -1), (robot.upper, 1))
    )
    centre, amplitude = 0.5 * (lower + upper), np.minimum(0.4 * (upper - lower), 1.5)
    speed = np.where(np.isfinite(robot.velocity_limit), 0.8 * robot.velocity_limit, 2.0)
    a, b = rng.normal(size=(2, HARMONICS, robot.nv)) / np.arange(1, HARMONICS + 1)[:, None]
    unit = Fourier(np.zeros(robot.nv), a, b, 2 * np.pi / period)
    q, qd, _ = unit(np.linspace(0.0, period, 500))
    scale = np.minimum(amplitude / np.abs(q).max(axis=0), speed / np.abs(qd).max(axis=0))
    scale[list(still)] = 0.0
    return replace(unit, centre=centre, sines=a * scale, cosines=b * scale)


def other_robot(robot: Any, seed: int = 0, off: float = 0.2) -> Any:
    """The same robot with other inertias, all of them physical: P' = U B Bᵀ Uᵀ, P = U Uᵀ, B ≈ 1."""
    rng = np.random.default_rng((11, seed))
    parameters = []
    for theta in robot.parameters.reshape(-1, 10):
        inertia = np.zeros((3, 3))
        for (i, j), value in zip(TENSOR, theta[4:], strict=True):
            inertia[i, j] = inertia[j, i] = value
        P = pseudo_inertia_of_moments(theta[0], theta[1:4], inertia)
        values, vectors = np.linalg.eigh(P)
        U = vectors * np.sqrt(np.maximum(values, 0.0))
        U = U @ (np.eye(4) + 0.5 * off * rng.normal(size=(4, 4)))
        P = U @ U.T
        tensor = from_silver_tensor(P[:3, :3])
        parameters += [P[3, 3], *P[:3, 3], *(tensor[i, j] for i, j in TENSOR)]
    return robot.with_parameters(parameters)


def with_drive(robot: Any, viscous: Any, coulomb: Any, rotor: Any = None) -> Any:
    """The robot with this friction, and these rotors where they are given, (nv,) each."""
    own = robot.description.drive
    rotor = own.rotor if rotor is None else np.asarray(rotor, float)
    coulomb = np.asarray(coulomb, float)
    drive = Drive(np.asarray(viscous, float), coulomb, -coulomb, rotor)
    return type(robot)(replace(robot.description, drive=drive))


def ugly_log(
    prior: Any, ugly: Ugly = USUAL, robot: Any = None, motion: Fourier | None = None
) -> SyntheticLog:
    """A log of `robot` (the prior itself where None) moving along `motion`, recorded badly."""
    prior = dl.load(prior) if isinstance(prior, str) else prior
    robot = prior if robot is None else robot
    motion = fourier(prior, ugly.seed) if motion is None else motion
    rng = np.random.default_rng((13, ugly.seed))
    t = _stamps(ugly, rng)
    bare = with_drive(robot, np.zeros(robot.nv), np.zeros(robot.nv))
    q, qd, _ = motion(t)
    peak = np.maximum(np.abs(bare.inverse_dynamics(*motion(t))).max(axis=0), 1e-3)
    speed = np.maximum(np.abs(qd).max(axis=0), 1e-3)
    true = with_drive(robot, ugly.friction * peak / speed, ugly.friction * peak)
    synthetic = SyntheticLog(
        None, prior, true, ugly.offset * peak, ugly.stribeck * peak, ugly.delay
    )
    now = _torque(synthetic, motion, t)
    tau = now if not ugly.delay else _torque(synthetic, motion, t - ugly.delay)
    tau += ugly.drift * peak * (t / t[-1])[:, None] * rng.choice([-1, 1], robot.nv)
    tau += ugly.ripple * peak * np.sin(40 * q)
    tau += ugly.noise * peak * rng.normal(size=tau.shape)
    values = {
        "q": _stepped(q + ugly.elastic * now / peak, 2 * np.pi * 2.0**-ugly.bits * (ugly.bits > 0))
    }
    if ugly.rates:
        values["qd"] = qd + ugly.rates * rng.normal(size=qd.shape)
    values["tau"] = _stepped(tau, ugly.torque_step * peak)
    keep = _is_recorded(ugly, t, rng)
    values = {name: _first_rows(x[keep], ugly) for name, x in values.items()}
    stamps = np.concatenate([np.full(ugly.repeated, t[keep][0]), t[keep]])
    return replace(synthetic, log=labelled(prior.dynamics, stamps, values, {"system": prior.name}))


def write_csv(log: Any, path: Path, names: str = "{quantity}_{joint}", start: float = 0.0) -> Path:
    """The log as a text file; `names` of its columns may use quantity, joint and k (from 1)."""
    joints = [str(j) for j in log.joint.values]
    present = [x for x in ("q", "qd", "tau") if x in log]
    header = [
        names.format(quantity=x, joint=j, k=k + 1) for x in present for k, j in enumerate(joints)
    ]
    rows = np.column_stack([log.time.values + start, *(log[x].values for x in present)])
    np.savetxt(
        path,
        rows,
        "%.9g" if not start else "%.9f",
        ",",
        header=",".join(["time", *header]),
        comments="",
    )
    return path


def _stamps(ugly: Ugly, rng: np.random.Generator) -> np.ndarray:
    t = np.arange(round(ugly.duration * ugly.rate)) / ugly.rate
    return t + (ugly.jitter / ugly.rate) * rng.uniform(0.0, 1.0, len(t))


def _torque(synthetic: SyntheticLog, motion: Fourier, t: np.ndarray) -> np.ndarray:
    """τ (n, nv) with Stribeck's friction and offsets: what the drives really gave."""
    q, qd, qdd = motion(t)
    slow = np.sign(qd) * np.exp(-((qd / 0.1) ** 2))
    return (
        synthetic.robot.inverse_dynamics(q, qd, qdd) + synthetic.stribeck * slow + synthetic.offset
    )


def _stepped(x: np.ndarray, step: Any) -> np.ndarray:
    step = np.broadcast_to(np.asarray(step, float), x.shape)
    return np.where(step > 0.0, np.round(x / np.where(step > 0.0, step, 1.0)) * step, x)


def _is_recorded(ugly: Ugly, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which rows there are: some are lost one by one, and all of a gap."""
    keep = rng.uniform(size=len(t)) >= ugly.missing
    middle = t[-1] / 2
    return keep & ~((t > middle) & (t < middle + ugly.gap))


def _first_rows(x: np.ndarray, ugly: Ugly) -> np.ndarray:
    """Values that hold still at first, after rows that were written more than once."""
    x = x.copy()
    x[: ugly.stuck] = x[0]
    return np.concatenate([np.repeat(x[:1], ugly.repeated, axis=0), x])
