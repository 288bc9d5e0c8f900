"""URDFs that Pinocchio reads too: trees of every joint, with mimic, limits and friction.

Whole files are right but for some, so that everything in them is compared: M, τ, q̈, poses and
Jacobians of all links, limits, on a fixed and on a free base, with joints held at a posture.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

import numpy as np

from dalembert.errors import SingularMassMatrixError
from dalembert.systems.robot import Robot
from dalembert.tracing.interpreter import interpret
from tests.fuzz.grammar import Writer
from tests.fuzz.peers import AGREEMENT
from tests.fuzz.sound import faults, slips

Case = tuple[bytes, dict[str, Any]]  # a file, and options of `Robot.from_urdf`

KINDS = ("revolute", "revolute", "continuous", "prismatic", "fixed", "floating", "planar")
MOVING = ("revolute", "continuous", "prismatic")  # one degree of freedom
WRONG = 0.12  # share of files with one mistake
# each replaces the first occurrence of a piece of text
MISTAKES = (
    ('type="fixed"', 'type="fix"'),
    ('type="revolute"', 'type="revolut"'),
    ('<parent link="link0"/>', '<parent link="nobody"/>'),
    ('name="link1"', 'name="link0"'),
    ('<child link="link1"/>', '<child link="link0"/>'),
    ('<mass value="', '<mass value="-'),
    ('<mass value="', '<mass value="nan'),
    ('xyz="', 'xyz="1 '),
    ('multiplier="', 'multiplier="1e400'),
    ("</robot>", '<link name="alone"/></robot>'),
    ("</robot>", ""),
    ('damping="', 'damping="-'),
)
NAMES = (("link{}", "joint{}"), ("л {}", "ö.{}"), ("a/b{}", "a/b{}"), ("tool{}", "x y {}&amp;"))
# what has no part in the tree
OTHERS = (
    "<!-- <joint/> -->",
    '<material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>',
    '<gazebo reference="link1"><mu1>0.2</mu1></gazebo>',
    '<gazebo><plugin name="control" filename="libcontrol.so"/></gazebo>',
)
CONDITION = 1e12  # of M, beyond which q̈ is rounding


class Numbers(Writer):
    """Right numbers, in the ways in which files write them."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.wrong = 0.0
        self.style = self.pick(("{!r}", "{!r}", "{!r}", "{:+.6f}", "{:.3e}", "{:.4g}"))
        self.between = self.pick((" ", "  "))  # urdfdom splits at spaces alone

    def numbers(self, *values: float) -> str:
        return self.between.join(self.style.format(float(x)) for x in values)


class File:
    """One file, part by part."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.w = Numbers(rng)
        self.kinds: dict[str, str] = {}  # by joint
        self.followers: set[str] = set()
        self.names = self.w.pick(NAMES) if self.w.sometimes(0.2) else NAMES[0]

    def text(self) -> str:
        """The whole file."""
        w, rng = self.w, self.w.rng
        count = int(rng.integers(2, 40 if w.sometimes(0.05) else 12))
        shape = w.pick(("chain", "tree", "star"))
        for k in range(1, count):
            self.kinds[self.joint(k)] = w.pick(KINDS)
        if not any(kind != "fixed" for kind in self.kinds.values()):
            self.kinds[self.joint(1)] = "revolute"
        parts = [self._link(k) for k in range(count)]
        for k in range(1, count):
            parent = {"chain": k - 1, "tree": int(rng.integers(k)), "star": 0}[shape]
            parts.append(self._joint(k, parent))
        parts += [part for part in OTHERS if w.sometimes(0.1)]
        if w.sometimes(0.5):
            parts = [parts[int(k)] for k in rng.permutation(len(parts))]
        inside = "\n".join(parts)
        return f'<?xml version="1.0"?>\n<robot name="made">\n{inside}\n</robot>\n'

    def link(self, k: int) -> str:
        """The name of a link."""
        return self.names[0].format(k)

    def joint(self, k: int) -> str:
        """The name of a joint."""
        return self.names[1].format(k)

    def _link(self, k: int) -> str:
        w = self.w
        visual = '<visual><geometry><box size="1 1 1"/></geometry></visual>' * w.sometimes(0.2)
        if w.sometimes(0.15):
            return f'<link name="{self.link(k)}">{visual}</link>'
        I = 10.0 ** w.rng.uniform(-4, 1) * w.moments() * (not w.sometimes(0.1))
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        values = [I[i, j] for i in range(3) for j in range(i, 3)]
        tensor = " ".join(f'{n}="{w.numbers(x)}"' for n, x in zip(names, values, strict=True))
        mass = f'<mass value="{w.numbers(10.0 ** w.rng.uniform(-3, 2))}"/>'
        inertial = f"<inertial>{self._origin()}{mass}<inertia {tensor}/></inertial>"
        return f'<link name="{self.link(k)}">{inertial}{visual}</link>'

    def _origin(self) -> str:
        """An <origin>, often left out in part, with quarter turns as files print them."""
        w = self.w
        rpy = w.normal(3)
        if w.sometimes(0.4):
            quarter = (0.0, np.pi / 2, -np.pi / 2, np.pi)
            digits = int(w.pick((5, 7, 12, 17)))
            rpy = " ".join(f"{quarter[int(k)]:.{digits}g}" for k in w.rng.integers(4, size=3))
        xyz = f' xyz="{w.normal(3)}"' * w.sometimes(0.8)
        turn = f' rpy="{rpy}"' * w.sometimes(0.8)
        return f"<origin{xyz}{turn}/>" * w.sometimes(0.85)

    def _joint(self, k: int, parent: int) -> str:
        w, kind = self.w, self.kinds[self.joint(k)]
        parts = [
            f'<parent link="{self.link(parent)}"/>',
            f'<child link="{self.link(k)}"/>',
            self._origin(),
        ]
        axis = w.pick((w.normal(3), "1 0 0", "0 -1 0", "0 0 3", "0 0 -1", "0.6 0 0.8"))
        if kind == "planar":
            axis = "0 0 1"  # Pinocchio's plane is x–y whatever the axis
        if kind == "planar" or w.sometimes(0.85):
            parts.append(f'<axis xyz="{axis}"/>')
        if kind != "fixed":
            parts += self._limit(kind)
        if kind in MOVING:
            parts += self._friction() + self._mimic(k)
        if w.sometimes(0.3):
            parts = [parts[int(i)] for i in w.rng.permutation(len(parts))]
        return f'<joint name="{self.joint(k)}" type="{kind}">{"".join(parts)}</joint>'

    def _limit(self, kind: str) -> list[str]:
        w = self.w
        if kind not in ("revolute", "prismatic") and w.sometimes(0.7):
            return []
        low, high = sorted(w.rng.normal(size=2) * 2)
        ends = w.pick((f'lower="{low}" upper="{high}"', f'upper="{abs(high)}"', ""))
        return [f'<limit {ends} effort="{w.positive()}" velocity="{w.positive()}"/>']

    def _friction(self) -> list[str]:
        w = self.w
        words = [f'{word}="{w.positive()}"' for word in ("damping", "friction") if w.sometimes(0.5)]
        return [f"<dynamics {' '.join(words)}/>"] if words else []

    def _mimic(self, k: int) -> list[str]:
        """Leaders of any kind, before or after their followers, followers themselves, or fixed."""
        w = self.w
        leaders = [
            j for j, kind in self.kinds.items() if j != self.joint(k) and kind in (*MOVING, "fixed")
        ]
        if not leaders or not w.sometimes(0.2):
            return []
        self.followers.add(self.joint(k))
        factor = f' multiplier="{w.pick((w.normal(1), "0", "-1", "1e-3"))}"' * w.sometimes(0.8)
        offset = f' offset="{w.normal(1)}"' * w.sometimes(0.6)
        return [f'<mimic joint="{w.pick(leaders)}"{factor}{offset}/>']


def case(rng: np.random.Generator, earlier: Case | None = None) -> Case:
    """A file, and how it is to be read."""
    file = File(rng)
    text = file.text()
    if file.w.sometimes(WRONG):
        old, new = file.w.pick([pair for pair in MISTAKES if pair[0] in text])
        text = text.replace(old, new, 1)
    options: dict[str, Any] = {"base": file.w.pick(("fixed", "free"))}
    if file.w.sometimes(0.3):
        kinds = {unescape(name): kind for name, kind in file.kinds.items()}
        followers = {unescape(name) for name in file.followers}
        moving = [name for name, kind in kinds.items() if kind != "fixed" and name not in followers]
        options["joints"] = [name for name in moving if file.w.sometimes(0.7)]
        options["posture"] = {
            name: float(rng.normal())
            for name in moving
            if name not in options["joints"] and kinds[name] in MOVING
        }
    return text.encode(), options


def outcome(case: Case) -> str:
    """Accepted only with Pinocchio's numbers, or with Pinocchio's refusal and nothing wrong to see."""
    data, options = case
    robot = Robot.from_urdf(data, **options)
    if problems := faults(data):
        return f"accepted silently: {problems[0]}"
    if (problems := slips(data)) and not robot.notes.warnings:
        return f"accepted without a warning: {problems[0]}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_bytes(data)
        peer = locked_peer(path, robot, options)
    return (
        compared(robot, peer)
        or limits(robot, peer)
        or compared(Robot.from_urdf(robot.to_urdf(), base="fixed"), peer, traced=False)
        or "accepted"
    )


def locked_peer(path: Path, robot: Robot, options: dict[str, Any]) -> Any:
    """Pinocchio's model of the file, in the coordinates of a robot some of whose joints are held."""
    from tests.oracles.pinocchio_urdf import Peer

    class Locked(Peer):
        """Joints held at a posture are constants, planar ones move in the moved frame."""

        def _velocity_map(self) -> np.ndarray:
            return self.map(robot.model.neutral(), np.zeros(robot.nv))[0]

        def _rows(self) -> Any:
            for name, joint in zip(self.model.names[1:], self.model.joints[1:], strict=True):
                leader, factor, offset = self._leader(name)
                rows = slice(joint.idx_v, joint.idx_v + joint.nv)
                yield joint, rows, self.slices.get(leader), leader, factor, offset

        def map(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """T (nv of Pinocchio, nv) and Ṫ q̇: its velocity is T q̇."""
            T, drift = np.zeros((self.model.nv, self.robot.nv)), np.zeros(self.model.nv)
            for joint, rows, ours, _, factor, _ in self._rows():
                if ours is None:
                    continue
                T[rows, ours.v] = factor * np.eye(joint.nv)
                if joint.nq == 4:
                    (c, s), turn = _cos_sin(q[ours.q][2]), qd[ours.v][2]
                    block = np.array([[c, s], [-s, c]])
                    T[rows.start : rows.start + 2, ours.v.start : ours.v.start + 2] = block
                    rate = turn * np.array([[-s, c], [-c, -s]])
                    drift[rows.start : rows.start + 2] = rate @ qd[ours.v][:2]
            return T, drift

        def configuration(self, q: np.ndarray) -> np.ndarray:
            import pinocchio

            p = pinocchio.neutral(self.model)
            for joint, _, ours, leader, factor, offset in self._rows():
                at = slice(joint.idx_q, joint.idx_q + joint.nq)
                if ours is None and joint.nv > 1:
                    continue  # held at neutral
                value = q[ours.q] if ours is not None else np.atleast_1d(self._constant(leader))
                if joint.nq == 4:
                    p[at] = [*value[:2], *_cos_sin(value[2])]
                elif joint.nq == 2:
                    p[at] = _cos_sin(factor * value[0] + offset)
                else:
                    p[at] = factor * value + offset
            return p

        def _constant(self, leader: str) -> float:
            """The value of a joint that has no coordinate: held, or fixed by the file."""
            return options.get("posture", {}).get(leader, 0.0)

        def dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Any:
            """M, h and τ = M q̈ + h, friction included."""
            import pinocchio

            T, drift = self.map(q, qd)
            self.B = T
            p, v = self.configuration(q), T @ qd
            upper = np.triu(pinocchio.crba(self.model, self.data, p))
            M = T.T @ (upper + np.triu(upper, 1).T) @ T
            loss = self.friction(qd)
            h = T.T @ pinocchio.rnea(self.model, self.data, p, v, drift) + loss
            tau = T.T @ pinocchio.rnea(self.model, self.data, p, v, T @ qdd + drift) + loss
            return M, h, tau

    return Locked(path, robot, options["base"])


def _cos_sin(angle: float) -> list[float]:
    return [np.cos(angle), np.sin(angle)]


def compared(robot: Robot, peer: Any, traced: bool = True) -> str:
    """Nothing, or which of our numbers are others than Pinocchio's."""
    rng = np.random.default_rng(robot.nv)
    for k in range(2):
        q = robot.model.integrate(robot.model.neutral(), rng.uniform(-np.pi, np.pi, robot.nv))
        qd, qdd = rng.normal(size=(2, robot.nv))
        M, h, tau = peer.dynamics(q, qd, qdd)
        scale = max(1.0, *(np.abs(x).max(initial=0.0) for x in (M, h, tau)))
        theirs = {"mass_matrix": M, "inverse_dynamics": tau}
        arguments = {"mass_matrix": (q,), "inverse_dynamics": (q, qd, qdd)}
        if np.linalg.cond(M) < CONDITION:
            theirs["forward_dynamics"] = qdd
            arguments["forward_dynamics"] = (q, qd, tau)
        for name, expected in theirs.items():
            size = scale * (np.linalg.cond(M) if name == "forward_dynamics" else 1.0)
            ours = {"reference": robot.reference(name, *arguments[name])}
            if traced and k == 0:
                ours["program"] = _program(robot, name, arguments[name], ours["reference"])
            for which, value in ours.items():
                error = np.abs(value - expected).max()
                if not error <= AGREEMENT * size:
                    return f"{name} ({which}): {error:.1e} from Pinocchio's beside {size:.1e}"
        for name, (pose, J) in peer.frames(q).items():
            for what, expected in (("pose", pose), ("jacobian", J)):
                error = np.abs(robot.reference(what, q, frame=name) - expected).max()
                if not error <= AGREEMENT * max(1.0, np.abs(expected).max()):
                    return f"{what} of {name}: {error:.1e} from Pinocchio's"
    return ""


def _program(robot: Robot, name: str, inputs: tuple[np.ndarray, ...], reference: Any) -> Any:
    """The traced quantity; a regular M that is called singular is an error elsewhere."""
    try:
        robot.dynamics.require_regular()
    except SingularMassMatrixError:
        return reference
    return interpret(robot.program(name), *inputs)[0]


def limits(robot: Robot, peer: Any) -> str:
    """Nothing, or a limit of a joint that leads nobody which is another one than Pinocchio's."""
    led = {leader for leader, _, _ in peer.follows.values()}
    for joint in robot.joints:
        if joint.name in led or joint.kind not in ("revolute", "prismatic"):
            continue
        there = peer.model.joints[peer.model.getJointId(joint.name)]
        pairs = {
            "lower": (robot.lower[joint.v][0], peer.model.lowerPositionLimit[there.idx_q]),
            "upper": (robot.upper[joint.v][0], peer.model.upperPositionLimit[there.idx_q]),
            "effort": (robot.effort_limit[joint.v][0], peer.model.upperEffortLimit[there.idx_v]),
            "velocity": (
                robot.velocity_limit[joint.v][0],
                peer.model.upperVelocityLimit[there.idx_v],
            ),
        }
        for what, (ours, theirs) in pairs.items():
            if not np.isclose(ours, theirs, rtol=1e-12):
                return f"{what} limit of {joint.name}: {ours} for Pinocchio's {theirs}"
    return ""
