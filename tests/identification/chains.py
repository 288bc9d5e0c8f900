"""Closed chains with drives, and logs of them whose true numbers are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints import Constrained, Loop
from dalembert.identification.record import Record
from dalembert.logs.read import close_chain
from dalembert.model.joint import align
from dalembert.simulation.results import labelled
from dalembert.spatial import pose
from dalembert.systems.robot import Robot

BASE, PLATE, CRANK, ROD, HALF = 0.2, 0.05, 0.24, 0.6, 0.06  # m


def delta(payload: float = 0.0) -> Constrained:
    """A Delta robot: three cranks, six rods on universal joints, a platform held at six points."""
    inward = BASE + CRANK - PLATE
    depth = np.sqrt(ROD**2 - inward**2)
    mass = 0.305 + payload
    plate = {"name": "platform", "joint": {"name": "platform_motion", "type": "free"}}
    links: list[dict[str, Any]] = [
        {**plate, "mass": mass, "inertia": mass * np.diag([2e-3, 2e-3, 3e-3])}
    ]
    frames: dict[str, Any] = {}
    along = align(np.array([-inward, 0.0, -depth]) / ROD)
    for k, angle in enumerate(2.0 * np.pi * np.arange(3) / 3.0):
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        motor = {"name": f"motor{k}", "type": "revolute", "axis": (0.0, 1.0, 0.0)}
        motor["origin"] = pose(R, R @ [BASE, 0.0, 0.0])
        own = {"mass": 0.4, "com": (CRANK / 2, 0.0, 0.0), "inertia": 1e-3 * np.diag([0.2, 2, 2])}
        links.append({"name": f"crank{k}", "joint": motor, **own})
        for name, y in ((f"{k}a", -HALF), (f"{k}b", HALF)):
            pivot = {"name": f"pivot{name}", "type": "universal", "axis": (1.0, 0.0, 0.0)}
            pivot |= {"axis2": (0.0, 1.0, 0.0), "origin": pose(along, [CRANK, y, 0.0])}
            rod = {
                "mass": 0.06,
                "com": (0.0, 0.0, ROD / 2),
                "inertia": 1e-3 * np.diag([1, 1, 0.01]),
            }
            links.append({"name": f"rod{name}", "parent": f"crank{k}", "joint": pivot, **rod})
            frames[f"tip{name}"] = (f"rod{name}", pose(np.eye(3), [0.0, 0.0, ROD]))
            frames[f"head{name}"] = ("platform", pose(np.eye(3), R @ [PLATE, y, 0.0]))
    loops = [
        Loop(f"tip{k}{x}", f"head{k}{x}", "point", along="world", name=f"ball{k}{x}")
        for k in range(3)
        for x in "ab"
    ]
    home = np.concatenate([[0.0, 0.0, -depth, 0.0, 0.0, 0.0, 1.0], np.zeros(15)])
    return Constrained(Robot.from_links(links, frames=frames, name="delta"), loops, guess=home)


def driven(truth: Any, joints: tuple[str, ...], t: np.ndarray, amplitude: float) -> Record:
    """A periodic motion of these joints and the torques it takes; NaN where nobody drives."""
    rng = np.random.default_rng(0)
    k = np.arange(1.0, 6.0)[:, None, None]  # harmonics, then times, then joints
    a, phase = (
        rng.normal(size=(5, 1, len(joints))) / np.sqrt(k),
        rng.uniform(0, 6, (5, 1, len(joints))),
    )
    w = 2.0 * np.pi * k / t[-1]
    s, c = np.sin(w * t[:, None] + phase), np.cos(w * t[:, None] + phase)
    x, xd, xdd = (part.sum(axis=0) for part in (a * s, a * w * c, -a * w**2 * s))
    x, xd, xdd = (amplitude / np.abs(x).max() * part for part in (x, xd, xdd))
    dynamics = truth.dynamics
    q_at, v_at = (
        [list(n).index(j) for j in joints] for n in (dynamics.coordinates, dynamics.velocities)
    )
    q = close_chain(truth, dict(zip(q_at, (x + truth.neutral()[q_at]).T, strict=True)), t)
    qd = np.zeros((len(t), truth.nv))
    qd[:, v_at] = xd
    small = truth.reduced(q, qd, joints)
    qd = np.einsum("nij,nj->ni", small.N, xd)
    lost = np.einsum("nij,ni->nj", small.N, truth.generalized_forces(q, qd))
    tau = np.zeros_like(qd)
    tau[:, v_at] = np.einsum("nij,nj->ni", small.M_r, xdd) + small.h_r - lost
    qdd = truth.forward_dynamics(q, qd, tau)[0]
    none = np.zeros(truth.nv)
    known = np.isin(np.arange(truth.nv), v_at)
    return Record(t, q, qd, qdd, np.where(known, tau, np.nan), none, none)


def noisy(truth: Any, record: Record, share: float = 0.01) -> Any:
    """The positions of a record as a log, with noise in the torques: a share of the largest one."""
    noise = np.random.default_rng(1).normal(size=record.tau.shape)
    size = share * np.abs(record.tau).max(axis=0)
    return labelled(truth.dynamics, record.t, {"q": record.q, "tau": record.tau + size * noise}, {})
