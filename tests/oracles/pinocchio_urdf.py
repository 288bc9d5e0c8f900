"""The robots of example-robot-data in Pinocchio, and how far our reading of them is from it.

Joints are matched by name. <mimic>, damping and friction are read from the file by the standard
library's ElementTree, so that nothing of the importer under test is used on the other side.
"""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import files
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from dalembert.systems.robot import Robot


@cache
def described() -> dict[str, Path]:
    """Every URDF of the package: "description/file" → path."""
    actual = [f for f in files("example-robot-data") or () if f.suffix == ".urdf"]
    return {f"{_package(f)}/{f.stem}": Path(str(f.locate())) for f in sorted(actual)}


def _package(file) -> str:
    return file.parts[file.parts.index("robots") + 1].removesuffix("_description")


class Peer:
    """Pinocchio's model of a file, fed with the coordinates of our robot."""

    def __init__(self, path: Path, robot: Robot, base: str) -> None:
        root = (pin.JointModelFreeFlyer(),) if base == "free" else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        self.robot = robot
        self.tree = ElementTree.parse(path).getroot()
        self.slices = {joint.name: joint for joint in robot.joints}
        self.follows = self._read_mimic()
        self.B = self._velocity_map()

    def _read_mimic(self) -> dict[str, tuple[str, float, float]]:
        names = {joint.get("name") for joint in self.tree.findall("joint")}
        actual = {}
        for joint in self.tree.findall("joint"):
            mimic = joint.find("mimic")
            if mimic is not None and mimic.get("joint") in names:
                factor, offset = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
                actual[joint.get("name")] = (mimic.get("joint"), factor, offset)
        return actual

    def _leader(self, name: str) -> tuple[str, float, float]:
        factor, offset = 1.0, 0.0
        while name in self.follows:
            name, by, plus = self.follows[name]
            factor, offset = factor * by, offset + factor * plus
        return name, factor, offset

    def _velocity_map(self) -> np.ndarray:
        """B with v_pinocchio = B q̇."""
        B = np.zeros((self.model.nv, self.robot.nv))
        for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
            leader, factor, _ = self._leader(name)
            rows = slice(joint.idx_v, joint.idx_v + joint.nv)
            B[rows, self.slices[leader].v] = factor * np.eye(joint.nv)
        return B

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's q; its continuous joints are (cos, sin)."""
        p = np.zeros(self.model.nq)
        for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
            leader, factor, offset = self._leader(name)
            value = factor * q[self.slices[leader].q] + offset
            if joint.nq == 2:
                value = np.array([np.cos(value[0]), np.sin(value[0])])
            p[joint.idx_q : joint.idx_q + joint.nq] = value
        return p

    def friction(self, qd: np.ndarray) -> np.ndarray:
        """Bᵀ (damping q̇ + friction sign q̇) of the file."""
        v, torque = self.B @ qd, np.zeros(self.model.nv)
        for joint in self.tree.findall("joint"):
            dynamics = joint.find("dynamics")
            if dynamics is not None and self.model.existJointName(joint.get("name")):
                i = self.model.joints[self.model.getJointId(joint.get("name"))].idx_v
                damping, friction = (float(dynamics.get(k, 0)) for k in ("damping", "friction"))
                torque[i] = damping * v[i] + friction * np.sign(v[i])
        return self.B.T @ torque

    def dynamics(self, q, qd, qdd) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, τ of the motion, and q̈ under the torques `qdd`."""
        p, v = self.configuration(q), self.B @ qd
        upper = np.triu(pin.crba(self.model, self.data, p))
        M = self.B.T @ (upper + np.triu(upper, 1).T) @ self.B
        loss = self.friction(qd)
        tau = self.B.T @ pin.rnea(self.model, self.data, p, v, self.B @ qdd) + loss
        h = self.B.T @ pin.nonLinearEffects(self.model, self.data, p, v) + loss
        if self.follows or np.linalg.matrix_rank(M) < len(M):
            regular = np.linalg.cond(M) < 1e14
            return M, tau, np.linalg.solve(M, qdd - h) if regular else np.full(len(M), np.nan)
        # without followers B is a permutation
        return M, tau, self.B.T @ pin.aba(self.model, self.data, p, v, self.B @ (qdd - loss))

    def frames(self, q) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Pose and body Jacobian of every link."""
        p = self.configuration(q)
        pin.computeJointJacobians(self.model, self.data, p)
        pin.framesForwardKinematics(self.model, self.data, p)
        actual = {}
        for i, frame in enumerate(self.model.frames):
            if frame.type == pin.FrameType.BODY:
                J = pin.getFrameJacobian(self.model, self.data, i, pin.ReferenceFrame.LOCAL)
                actual[frame.name] = self.data.oMf[i].homogeneous, J.reshape(6, -1) @ self.B
        return actual


@dataclass
class Errors:
    """Largest errors, relative to the largest entry (poses and Jacobians: at least 1)."""

    mass_matrix: float = 0.0
    inverse: float = 0.0
    forward: float = 0.0
    pose: float = 0.0
    jacobian: float = 0.0
    condition: float = 1.0  # of M, the largest

    def note(self, name: str, ours: np.ndarray, theirs: np.ndarray, least: float = 1e-12) -> None:
        """Keep the larger of this error and what was seen before; NaN stays."""
        error = np.abs(ours - theirs).max() / max(least, np.abs(theirs).max())
        setattr(self, name, float(np.maximum(getattr(self, name), error)))

    def worst(self) -> float:
        """The largest of all; forward dynamics as far as rounding in M leaves it determined.

        Links without mass make cond(M) as large as 1e11 (iCub on a free base). Of q̈ then only
        eps · cond(M) is meant by the numbers in M, for us and for Pinocchio.
        """
        actual = [self.mass_matrix, self.inverse, self.pose, self.jacobian]
        if self.forward > np.finfo(float).eps * self.condition:
            actual.append(self.forward)
        return max(actual)


def compare(
    robot: Robot, peer: Peer, states: int, rng: np.random.Generator, frames: int | None = None
) -> Errors:
    """Our plain formulations against Pinocchio at random states; `frames` limits the Jacobians."""
    errors = Errors()
    model = robot.model
    for _ in range(states):
        q = model.integrate(model.neutral(), rng.uniform(-np.pi, np.pi, robot.nv))
        qd, qdd = rng.normal(size=(2, robot.nv))
        M, tau, acceleration = peer.dynamics(q, qd, qdd)
        errors.condition = max(errors.condition, float(np.linalg.cond(M)))
        errors.note("mass_matrix", robot.reference("mass_matrix", q), M)
        errors.note("inverse", robot.reference("inverse_dynamics", q, qd, qdd), tau)
        if np.isnan(acceleration).any():
            errors.forward = np.nan
        else:
            errors.note("forward", robot.reference("forward_dynamics", q, qd, qdd), acceleration)
        theirs = peer.frames(q)
        chosen = list(theirs)
        if frames is not None:
            chosen = list(rng.permutation(chosen)[:frames])
        for name in chosen:
            pose, J = theirs[name]
            errors.note("pose", robot.reference("pose", q, frame=name), pose, 1.0)
            errors.note("jacobian", robot.reference("jacobian", q, frame=name), J, 1.0)
    return errors
