"""Accepted files in Pinocchio or MuJoCo: the torques of a random motion must be the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from dalembert.systems.robot import Robot

AGREEMENT = 1e-9  # beside the largest of the numbers that are added up
ROUNDING = 1e-14  # beside the largest product of mass and squared length
STATE = 12  # seed of the motion
PLANAR = (4, 3)  # sizes of Pinocchio's planar joint, whose velocity is one in the moved frame


def like_pinocchio(robot: Robot, data: bytes) -> str:
    """Nothing, or how far the torques are from Pinocchio's reading of the same URDF."""
    import pinocchio

    from tests.oracles.pinocchio_urdf import Peer

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_bytes(data)
        try:
            peer = Peer(path, robot, "fixed")
        except (ValueError, RuntimeError, KeyError, SyntaxError):  # refused on the other side
            return ""
    if any((joint.nq, joint.nv) == PLANAR for joint in peer.model.joints):
        return ""
    q, qd, qdd = _motion(robot)
    p, v = peer.configuration(q), peer.B @ qd
    torque = pinocchio.rnea(peer.model, peer.data, p, v, peer.B @ qdd)
    theirs = peer.B.T @ torque + peer.friction(qd)
    return _difference(robot, (q, qd, qdd), theirs, np.zeros(robot.nv), "Pinocchio")


def like_mujoco(robot: Robot, data: bytes) -> str:
    """Nothing, or how far the torques are from MuJoCo's reading of the same MJCF."""
    import mujoco

    from tests.importers.test_mjcf import Peer, friction

    try:
        peer = Peer(data.decode())
    except (ValueError, UnicodeDecodeError):  # what we read more leniently than MuJoCo
        return ""
    if (peer.m.nq, peer.m.nv) != (robot.nq, robot.nv):
        return f"MuJoCo has {peer.m.nv} coordinates, we {robot.nv}"
    q, qd, qdd = _motion(robot)
    T, drift = peer.set(q, qd)
    peer.d.qacc[:] = T.T @ (qdd - drift)  # T is orthogonal
    mujoco.mj_inverse(peer.m, peer.d)
    theirs = T @ peer.d.qfrc_inverse
    return _difference(robot, (q, qd, qdd), theirs, friction(robot, qd), "MuJoCo")


def _motion(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(STATE)
    q = robot.model.integrate(robot.model.neutral(), rng.uniform(-1.0, 1.0, robot.nv))
    qd, qdd = rng.normal(size=(2, robot.nv))
    return q, qd, qdd


def _difference(robot: Robot, motion, theirs: np.ndarray, loss: np.ndarray, peer: str) -> str:
    """Compared beside the largest term of M q̈ + h: numbers of 1e12 in a file cancel to less."""
    if robot.model.parameters or not robot.nv:
        return ""
    q, qd, qdd = motion
    ours = robot.reference("inverse_dynamics", q, qd, qdd) - loss
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return ""  # numbers near 1e300 in the file; both overflow, each in its own term
    M = robot.reference("mass_matrix", q)
    scale = max(1.0, np.abs(ours).max(), np.abs(theirs).max(), np.abs(M).max() * np.abs(qdd).max())
    error = np.abs(ours - theirs).max()
    close = error <= AGREEMENT * scale + ROUNDING * _largest_moment(robot)
    return "" if close else f"torques {error / scale:.1e} from {peer}'s"


def _largest_moment(robot: Robot) -> float:
    """Σ |I| + Σ m (Σ l)², kg m²: what is added up, and cancels where somebody writes 1e12 m."""
    bodies = robot.model.tree.bodies
    length = sum(np.linalg.norm((*body.translation, *body.offset)) for body in bodies)
    mass = sum(float(body.mass) for body in bodies)
    return float(sum(np.abs(body.inertia).sum() for body in bodies) + mass * length**2)
