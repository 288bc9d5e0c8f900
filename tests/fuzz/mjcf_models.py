"""Right MJCF models with everything that enters dynamics, beside MuJoCo: none may differ in silence.

Trees, references, armature, springs, fluids, tendons, equalities, every actuator and flag. What our
reader leaves out by name is switched off in MuJoCo too, so that all the rest is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.from_file import close_chains
from dalembert.errors import DalembertError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.kinematics.tendons import straight_pieces
from dalembert.importers.mjcf_compile import CompiledModel, Dropped
from dalembert.model.notes import LeftOut
from dalembert.systems.robot import Robot
from tests.constraints.mujoco_loops import Peer as ClosedPeer
from tests.fuzz.grammar import MJCF_GEOMS, Writer
from tests.importers.test_mjcf import Peer, friction

# beside the largest of the terms that are added up; MuJoCo takes frames that are turned by less than
# 1e-6 as not turned, which is seen up to 5e-9
AGREEMENT = 1e-8
CLOSED = 1e-6  # of accelerations under equalities, whose drift is taken by differences
STEPS = (3e-3, 3e-4)  # s, of those differences: a length that bends sharply needs the shorter one
NOTHING = 1e-9  # singular values of scaled rows below this are none
SINGULAR = 1e10  # condition of M beyond which accelerations are nobody's
REDUNDANT = "set apart: redundant or idle rows"
FLAGS = (
    *("constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity"),
    *("clampctrl", "warmstart", "filterparent", "actuation", "refsafe", "sensor", "midphase"),
    *("eulerdamp", "autoreset", "nativeccd", "island"),
)
ENABLED = ("override", "energy", "fwdinv", "invdiscrete")
MOST = 8  # bodies
UNUSED_GROUP = 29  # of actuators that are switched off


class Model(Writer):
    """One model as text, and the names it has so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.wrong = 0.0
        self.count = 0
        self.bodies: list[str] = []
        self.sites: list[str] = []
        self.rounds: list[str] = []  # spheres and cylinders, which tendons run over
        self.joints: dict[str, str] = {}  # kinds by name
        self.tendons: list[str] = []

    def maybe(self, share: float, text: Callable[[], str]) -> str:
        """The text in that share of cases."""
        return f" {text()}" if self.sometimes(share) else ""

    def name(self, kind: str, known: list[str]) -> str:
        """A new name as an attribute; some things have none."""
        name = f"{kind}{len(known)}_{self.rng.integers(3)}"
        known.append(name)
        return f'name="{name}"'

    @property
    def scalars(self) -> list[str]:
        """Joints of one degree."""
        return [name for name, kind in self.joints.items() if kind in ("hinge", "slide")]

    def series(self) -> str:
        """One to three coefficients of a spring or damper."""
        return self.positive(int(self.rng.integers(1, 4)))

    def turned(self) -> str:
        """An orientation in one of MJCF's words."""
        word = self.pick(("quat", "euler", "axisangle", "xyaxes", "zaxis"))
        count = {"quat": 4, "euler": 3, "axisangle": 4, "xyaxes": 6, "zaxis": 3}[word]
        return f'{word}="{self.normal(count)}"'

    def range_of(self, key: str, width: float = 2.0) -> str:
        """A range around zero."""
        low, high = self.rng.uniform(0.1, width, 2)
        return f'{key}="{self.numbers(-low, high)}"'


def case(rng: np.random.Generator) -> bytes:
    """A model of one to three trees."""
    w = Model(rng)
    world = "".join(_site(w) for _ in range(int(rng.integers(0, 3))))
    world += _geom(w) if w.sometimes(0.2) else ""
    world += "".join(_body(w, 0) for _ in range(int(rng.integers(1, 4))))
    sections = {
        "tendon": "".join(_tendon(w) for _ in range(w.pick((0, 0, 1, 2, 3)))),
        "equality": "".join(_equality(w) for _ in range(w.pick((0, 0, 0, 1, 2)))),
        "actuator": "".join(_actuator(w) for _ in range(w.pick((0, 1, 2, 3, 5)))),
    }
    ends = "".join(f"<{key}>{inside}</{key}>" for key, inside in sections.items())
    head = f"{_compiler(w)}{_option(w)}"
    return f'<mujoco model="made">{head}<worldbody>{world}</worldbody>{ends}</mujoco>'.encode()


def _compiler(w: Model) -> str:
    words = [f'angle="{w.pick(("degree", "radian"))}"']
    words.append(w.maybe(0.3, lambda: f'eulerseq="{w.pick(("xyz", "zyx", "XYZ", "zXz"))}"'))
    words.append(w.maybe(0.1, lambda: f'boundmass="{w.positive()}"'))
    words.append(w.maybe(0.1, lambda: f'boundinertia="{w.positive()}"'))
    words.append(w.maybe(0.1, lambda: f'settotalmass="{w.positive()}"'))
    words.append(w.maybe(0.1, lambda: f'inertiafromgeom="{w.pick(("true", "auto"))}"'))
    words.append(w.maybe(0.1, lambda: 'fusestatic="true"'))
    words.append(w.maybe(0.1, lambda: 'alignfree="true"'))
    words.append(w.maybe(0.1, lambda: 'balanceinertia="true"'))
    return f"<compiler {' '.join(words)}/>"


def _option(w: Model) -> str:
    words = f'gravity="{w.normal(3, 5.0)}"'
    if w.sometimes(0.25):
        words += f' density="{w.positive()}" viscosity="{w.positive()}"'
        words += w.maybe(0.5, lambda: f'wind="{w.normal(3)}"')
    words += w.maybe(0.2, lambda: f'timestep="{w.pick((0.001, 0.01, 0.02))}"')
    words += w.maybe(0.2, lambda: f'integrator="{w.pick(("implicit", "RK4", "implicitfast"))}"')
    words += w.maybe(0.1, lambda: f'actuatorgroupdisable="{w.rng.integers(3)}"')
    off = [flag for flag in FLAGS if w.sometimes(0.06)]
    if w.sometimes(0.05):
        off += [flag for flag in ("spring", "damper") if flag not in off]
    flags = [f'{flag}="disable"' for flag in off]
    flags += [f'{flag}="enable"' for flag in ENABLED if w.sometimes(0.05)]
    return f"<option {words}><flag {' '.join(flags)}/></option>"


def _body(w: Model, depth: int) -> str:
    parts = []
    w.count += 1
    words = w.maybe(0.8, lambda: f'pos="{w.normal(3)}"') + w.maybe(0.7, w.turned)
    words += w.maybe(0.15, lambda: f'gravcomp="{w.pick((1, 0.4, 2, -0.5))}"')
    words += " " + w.name("body", w.bodies) if w.sometimes(0.9) else ""
    if not depth and w.sometimes(0.25):
        parts.append(_free(w))
    elif not depth or w.sometimes(0.85):
        for _ in range(w.pick((1, 1, 1, 2, 3))):
            parts.append(_joint(w))
            if 'type="ball"' in parts[-1]:
                break
    if w.sometimes(0.4):
        parts.append(_inertial(w))
    parts += [_geom(w) for _ in range(w.pick((1, 1, 2)))]
    parts += [_site(w) for _ in range(w.pick((0, 1, 2)))]
    while depth < 4 and w.count < MOST and w.sometimes(0.55):
        parts.append(_body(w, depth + 1))
    return f"<body{words}>{''.join(parts)}</body>"


def _inertial(w: Model) -> str:
    I = w.moments()
    tensor = w.numbers(*np.diag(I), I[0, 1], I[0, 2], I[1, 2])
    words = f'pos="{w.normal(3)}" mass="{w.positive()}"'
    if w.sometimes(0.5):
        return f'<inertial {words} fullinertia="{tensor}"/>'
    return f'<inertial {words} {w.turned()} diaginertia="{w.numbers(*np.linalg.eigvalsh(I))}"/>'


def _free(w: Model) -> str:
    known = list(w.joints)
    name = w.name("joint", known)
    w.joints[known[-1]] = "free"
    if w.sometimes(0.3):
        aligned = w.maybe(0.3, lambda: 'align="true"')
        return f"<freejoint {name}{aligned}/>"
    return f'<joint type="free" {name}{_forces(w)}/>'


def _joint(w: Model) -> str:
    kind = w.pick(("hinge", "hinge", "slide", "ball"))
    known = list(w.joints)
    name = w.name("joint", known)
    w.joints[known[-1]] = kind
    words = f'type="{kind}" {name}' + w.maybe(0.6, lambda: f'pos="{w.normal(3)}"') + _forces(w)
    words += w.maybe(0.1, lambda: 'actuatorgravcomp="true"')
    words += w.maybe(0.05, lambda: f'springyield="{w.positive()}"')
    words += w.maybe(0.1, lambda: f'springdamper="{w.positive(2)}"')
    if kind != "ball":
        words += f' axis="{w.normal(3)}"'
        words += w.maybe(0.3, lambda: f'ref="{w.normal(1)}"')
        words += w.maybe(0.3, lambda: f'springref="{w.normal(1)}"')
        words += w.maybe(0.3, lambda: w.range_of("range", 3.0))
        words += w.maybe(0.15, lambda: w.range_of("actuatorfrcrange"))
    return f"<joint {words}/>"


def _forces(w: Model) -> str:
    words = "".join(
        w.maybe(0.3, lambda k=key: f'{k}="{w.series()}"') for key in ("damping", "stiffness")
    )
    words += "".join(
        w.maybe(0.25, lambda k=key: f'{k}="{w.positive()}"') for key in ("armature", "frictionloss")
    )
    return words


def _geom(w: Model) -> str:
    kind = w.pick(list(MJCF_GEOMS))
    words = f'type="{kind}"' + w.maybe(0.7, lambda: f'pos="{w.normal(3)}"') + w.maybe(0.7, w.turned)
    scale = 10.0 ** w.rng.uniform(-3, 0) if w.sometimes(0.3) else 0.2
    words += f' size="{w.numbers(*scale * w.rng.uniform(0.1, 2.0, MJCF_GEOMS[kind]))}"'
    words += w.maybe(0.2, lambda: f'mass="{w.positive()}"') + w.maybe(0.2, lambda: 'density="500"')
    words += w.maybe(0.1, lambda: f'group="{w.rng.integers(5)}"')
    if w.sometimes(0.2):
        words += ' fluidshape="ellipsoid"' + w.maybe(0.5, lambda: f'fluidcoef="{w.positive(5)}"')
    if kind in ("sphere", "cylinder"):
        words += " " + w.name("round", w.rounds)
    return f"<geom {words}/>"


def _site(w: Model) -> str:
    pose = w.maybe(0.9, lambda: f'pos="{w.normal(3)}"') + w.maybe(0.7, w.turned)
    return f"<site {w.name('site', w.sites)}{pose}/>"


def _tendon(w: Model) -> str:
    words = w.name("tendon", w.tendons)
    words += "".join(
        w.maybe(0.5, lambda k=key: f'{k}="{w.series()}"') for key in ("damping", "stiffness")
    )
    words += w.maybe(
        0.4, lambda: f'springlength="{w.numbers(*np.sort(w.rng.uniform(0.0, 3.0, 2)))}"'
    )
    words += w.maybe(0.1, lambda: f'frictionloss="{w.positive()}"')
    words += w.maybe(0.1, lambda: f'range="{w.numbers(0.1, 3.0)}"')
    words += w.maybe(0.1, lambda: w.range_of("actuatorfrcrange"))
    words += w.maybe(0.05, lambda: f'springyield="{w.positive()}"')
    armature = w.maybe(0.15, lambda: f'armature="{w.positive()}"')
    if w.scalars and (len(w.sites) < 2 or w.sometimes(0.4)):
        over = w.rng.permutation(w.scalars)[: int(w.rng.integers(1, 4))]
        inside = "".join(f'<joint joint="{name}" coef="{w.normal(1)}"/>' for name in over)
        return f"<fixed {words}{armature}>{inside}</fixed>"
    if len(w.sites) < 2:
        w.tendons.pop()
        return ""
    path = _path(w)
    armature = "" if "<geom" in path else armature  # MuJoCo has no armature of tendons over geoms
    return f"<spatial {words}{armature}>{path}</spatial>"


def _path(w: Model) -> str:
    """Site to site, over geoms and with pulleys."""
    inside = ""
    for branch in range(w.pick((1, 1, 2))):
        inside += f'<pulley divisor="{w.positive()}"/>' if branch or w.sometimes(0.1) else ""
        points = w.rng.permutation(w.sites)[: w.pick((2, 2, 3, 4))]
        inside += f'<site site="{points[0]}"/>'
        for point in points[1:]:
            if w.rounds and w.sometimes(0.5):
                beside = w.maybe(0.15, lambda: f'sidesite="{w.pick(w.sites)}"')
                inside += f'<geom geom="{w.pick(w.rounds)}"{beside}/>'
            inside += f'<site site="{point}"/>'
    return inside


def _equality(w: Model) -> str:
    words = w.maybe(0.1, lambda: 'active="false"')
    kinds = ["connect", "weld", "joint", "joint", "tendon"]
    kind = w.pick(kinds)
    if kind == "joint" and w.scalars:
        pair = w.rng.permutation(w.scalars)[:2]
        ends = "".join(f' joint{k + 1}="{name}"' for k, name in enumerate(pair))
        return f'<joint{ends} polycoef="{w.numbers(0.0)} {w.normal(4)}"{words}/>'
    if kind == "tendon" and w.tendons:
        pair = w.rng.permutation(w.tendons)[:2]
        ends = "".join(f' tendon{k + 1}="{name}"' for k, name in enumerate(pair))
        return f'<tendon{ends} polycoef="{w.numbers(0.0)} {w.normal(2)} 0 0"{words}/>'
    if kind in ("connect", "weld") and w.bodies:
        pair = w.rng.permutation(w.bodies)[: int(w.rng.integers(1, 3))]
        ends = "".join(f' body{k + 1}="{name}"' for k, name in enumerate(pair))
        if kind == "connect" or w.sometimes(0.5):
            ends += f' anchor="{w.normal(3)}"'
        if kind == "weld":
            ends += w.maybe(0.5, lambda: f'torquescale="{w.pick((0, 0.5, 2))}"')
        return f"<{kind}{ends}{words}/>"
    return ""


def _target(w: Model, kinds: tuple[str, ...]) -> str:
    """What an actuator pulls at, with its gear."""
    targets: dict[str, Callable[[], str]] = {}
    if w.joints:
        targets["joint"] = lambda: f'joint="{w.pick(list(w.joints))}"'
        targets["jointinparent"] = lambda: f'jointinparent="{w.pick(list(w.joints))}"'
    if w.tendons:
        targets["tendon"] = lambda: f'tendon="{w.pick(w.tendons)}"'
    if len(w.sites) > 1:
        targets["pair"] = lambda: f'site="{w.pick(w.sites)}" refsite="{w.pick(w.sites)}"'
        targets["site"] = lambda: f'site="{w.pick(w.sites)}"'
        targets["crank"] = lambda: (
            f'cranksite="{w.pick(w.sites)}" slidersite="{w.pick(w.sites)}" '
            f'cranklength="{w.positive()}"'
        )
    known = [kind for kind in kinds if kind in targets]
    return "" if not known else targets[w.pick(known)]()


ALL = ("joint", "joint", "jointinparent", "tendon", "site", "pair", "crank")


def _actuator(w: Model) -> str:
    kind = w.pick(list(ACTUATORS))
    kinds, own = ACTUATORS[kind]
    target = _target(w, kinds) if kinds else f'body="{w.pick(w.bodies)}"' if w.bodies else ""
    if not target:
        return ""
    words = w.maybe(0.5, lambda: f'name="{kind}{w.rng.integers(10**6)}"')
    words += w.maybe(0.3, lambda: f'group="{w.rng.integers(4)}"')
    if kind not in ("dcmotor", "orientation"):
        words += w.maybe(0.3, lambda: w.range_of("forcerange", 20.0))
    if kinds and kind != "orientation":
        words += w.maybe(0.6, lambda: f'gear="{w.normal(6 if "site" in target else 3)}"')
        if "joint" in target or "tendon" in target:
            words += w.maybe(0.2, lambda: f'armature="{w.positive()}"')
            words += w.maybe(0.2, lambda: f'damping="{w.series()}"')
    if kind not in ("adhesion", "damper", "orientation"):
        words += w.maybe(0.3, lambda: w.range_of("ctrlrange"))
    words += w.maybe(0.05, lambda: 'delay="0.01" nsample="4"')
    return f"<{kind} {target}{words} {own(w)}/>"


def _general(w: Model) -> str:
    words = f'gaintype="{w.pick(("fixed", "affine"))}" gainprm="{w.normal(3)}"'
    words += w.maybe(0.5, lambda: f'biastype="affine" biasprm="{w.normal(3)}"')
    if w.sometimes(0.5):
        words += f' dyntype="{w.pick(("integrator", "filter", "filterexact"))}"'
        words += f' dynprm="{w.positive()}"' + w.maybe(0.5, lambda: w.range_of("actrange"))
        words += w.maybe(0.3, lambda: 'actearly="true"')
    return words


def _gains(w: Model, *names: str) -> str:
    return " ".join(f'{name}="{w.positive()}"' for name in names if w.sometimes(0.8))


ACTUATORS: dict[str, tuple[tuple[str, ...], Callable[[Model], str]]] = {
    "general": (ALL, _general),
    "motor": (ALL, lambda w: ""),
    "position": (ALL, lambda w: _gains(w, "kp", w.pick(("kv", "dampratio")), "timeconst")),
    "velocity": (ALL, lambda w: _gains(w, "kv")),
    "intvelocity": (ALL, lambda w: _gains(w, "kp", "kv") + " " + w.range_of("actrange")),
    "damper": (ALL, lambda w: f'{_gains(w, "kv")} ctrlrange="0 {w.positive()}"'),
    "cylinder": (ALL, lambda w: f'{_gains(w, "area", "timeconst")} bias="{w.normal(3)}"'),
    "muscle": (("joint", "tendon"), lambda w: _gains(w, "force")),
    "adhesion": ((), lambda w: f'{_gains(w, "gain")} ctrlrange="0 1"'),
    "pid": (("joint", "tendon"), lambda w: _gains(w, "kp", "kv", "ki")),
    "dcmotor": (
        ("joint", "tendon"),
        lambda w: (
            f'motorconst="{w.positive(2)}" resistance="{w.positive()}"'
            + w.maybe(0.5, lambda: f'input="{w.pick(("voltage", "pos vel", "none"))}"')
        ),
    ),
    "orientation": (("pair",), lambda w: _gains(w, "kp", "kv")),
}

BETWEEN_BRANCHES = "zeros of M beside a tendon's armature"
DISABLED_FILTER = "filter of a disabled servo"


def outcome(data: bytes) -> str:
    """Accepted with MuJoCo's accelerations, also under the equalities; or how they differ."""
    text = data.decode()
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        peer = Beside(text)
    except ValueError:
        Robot.from_mjcf(data)  # refused there; here, too, or read more leniently
        return "accepted"
    finally:
        mujoco.set_mju_user_warning(before)
    robot = Robot.from_mjcf(data)
    if any(row.what == "actuatorgravcomp" for row in robot.notes.left_out):
        # it is named, but by joint: nothing is lifted on either side
        peer.m.body_gravcomp[:] = 0.0
        robot = Robot(replace(robot.model, elements=replace(robot.model.elements, lifts=())))
    if any(row.what == BETWEEN_BRANCHES for row in robot.notes.left_out):
        # MuJoCo has no entries of M between branches: tendons have no inertia on either side
        at_tendons = peer.m.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON
        peer.m.tendon_armature[:], peer.m.actuator_armature[at_tendons] = 0.0, 0.0
        tendons = tuple(replace(t, armature=np.zeros(0)) for t in robot.model.tendons)
        elements = replace(robot.model.elements, tendons=tendons)
        robot = Robot(replace(robot.model, elements=elements))
    return peer.difference(robot) or _written(robot) or _closed(robot, peer) or "accepted"


def _use_exact_frames(m: mujoco.MjModel) -> None:
    """Without MuJoCo's shortcut that counts frames turned by less than 1e-6 as unturned."""
    for name in ("body_sameframe", "geom_sameframe", "site_sameframe"):
        getattr(m, name)[:] = 0


class Beside(Peer):
    """MuJoCo's model without what ours leaves out by name."""

    def __init__(self, text: str) -> None:
        spec = mujoco.MjSpec.from_string(text)
        # else it simulates the ranges of muscles, for minutes
        spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
        self.m = spec.compile()
        self.m.opt.enableflags = 0
        _use_exact_frames(self.m)
        # numbers of actuators, not of controls
        self.names = CompiledModel(mujoco, self.m, [], Dropped()).names
        self.actuators = self.names["actuator"]
        self.d = mujoco.MjData(self.m)

    def difference(self, robot: Robot) -> str:
        """Nothing, or what differs at a random state and control; constraints are off."""
        m = self.m
        if (m.nq, m.nv) != (robot.nq, robot.nv):
            return f"MuJoCo has {m.nv} velocities, we {robot.nv}"
        for row in robot.notes.left_out:
            self.forget(row)
        flags = m.opt.disableflags
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        difference = self._at_random(robot)
        m.opt.disableflags = flags
        return difference

    def forget(self, row: LeftOut) -> None:
        """Switch off in MuJoCo what our reader has left out."""
        m, joints, tendons = self.m, self.names["joint"], self.names["tendon"]
        if row.what == "actuator":
            m.actuator_group[self.actuators.index(row.name)] = UNUSED_GROUP
            m.opt.disableactuator |= 1 << UNUSED_GROUP
        elif row.what == "nonlinear damping of an actuator":
            m.actuator_dampingpoly[self.actuators.index(row.name)] = 0.0
        elif row.what == "yield of a tendon spring":
            m.tendon_springyield[tendons.index(row.name)] = 0.0
        elif row.what == "yield of a spring":
            m.jnt_springyield[joints.index(row.name)] = 0.0
        elif row.what not in (
            "tendon friction",
            "tendon limit",
            "frictionloss of a free joint",
            "actuatorgravcomp",
            BETWEEN_BRANCHES,
            DISABLED_FILTER,
        ):
            raise NotImplementedError(f"{row.what} is left out; how is it switched off in MuJoCo?")

    def _at_random(self, robot: Robot) -> str:
        m, d, rng = self.m, self.d, np.random.default_rng(12)
        q = robot.model.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, robot.nv))
        qd, tau = rng.normal(size=(2, robot.nv))
        u = 2.0 * rng.normal(size=len(robot.actuators))
        inside = [a.activation_range for a in robot.model.driven_by.active]
        w = np.array([0.9 * np.clip(rng.uniform(-1.0, 1.0), *ends) for ends in inside])
        T, drift = self.set(q, qd)
        indices = [self.actuators.index(name) for name in robot.actuators]
        active = [self.actuators.index(a.name) for a in robot.model.driven_by.active]
        d.ctrl[m.actuator_ctrladr[indices]] = u
        d.act[m.actuator_actadr[active]] = w
        d.qfrc_applied[:] = T.T @ tau
        mujoco.mj_forward(m, d)
        if d.warning.number.any():
            return ""  # MuJoCo has met numbers it does not trust, and begins anew
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        M = T @ M @ T.T
        scale = max(1.0, np.abs(M).max())
        if (error := np.abs(robot.reference("mass_matrix", q) - M).max()) > AGREEMENT * scale:
            return f"M differs by {error / scale:.1e}"
        if np.linalg.cond(M) > SINGULAR:
            return ""
        driven, rates = np.zeros(robot.nv), np.zeros(0)
        if indices:
            state = {"activation": w} if active else {}
            driven = robot.reference("actuator_forces", q, qd, u, **state)
            rates = robot.reference("activation_rate", u, w) if active else rates
        named = {row.name for row in robot.notes.left_out if row.what == DISABLED_FILTER}
        compared = [a.name not in named for a in robot.model.driven_by.active]
        apart = np.abs(rates - d.act_dot[m.actuator_actadr[active]])[compared]
        if apart.max(initial=0.0) > AGREEMENT:
            return "rates of activations differ"
        theirs = T @ d.qacc + drift
        needed = robot.reference("inverse_dynamics", q, qd, theirs) - friction(robot, qd)
        terms = (np.abs(M) @ np.abs(theirs), np.abs(needed), np.abs(driven), np.abs(tau))
        scale = max(1.0, *(term.max() for term in terms))
        error = np.abs(needed - driven - tau).max()
        return "" if error <= AGREEMENT * scale else f"torques differ by {error / scale:.1e}"


def _written(robot: Robot) -> str:
    """Nothing, or how torques differ once the robot is written to MJCF; some cannot be."""
    try:
        text = robot.to_mjcf()
    except DalembertError:
        return ""
    peer = Peer(text)
    _use_exact_frames(peer.m)
    peer.m.opt.enableflags = 0
    rng = np.random.default_rng(5)
    q = robot.model.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, robot.nv))
    qd, qdd = rng.normal(size=(2, robot.nv))
    T, drift = peer.set(q, qd)
    peer.d.qacc[:] = T.T @ (qdd - drift)
    mujoco.mj_inverse(peer.m, peer.d)
    theirs = T @ peer.d.qfrc_inverse
    ours = robot.reference("inverse_dynamics", q, qd, qdd) - friction(robot, qd)
    M = np.abs(robot.reference("mass_matrix", q))
    scale = max(1.0, np.abs(ours).max(), (M @ np.abs(qdd)).max())
    error = np.abs(ours - theirs).max()
    return "" if error <= AGREEMENT * scale else f"written: torques differ by {error / scale:.1e}"


def _closed(robot: Robot, peer: Beside) -> str:
    """Nothing, or how accelerations under the file's equalities differ."""
    closed = close_chains(robot)
    if not isinstance(closed, Constrained):
        return ""
    for row in closed.robot.notes.left_out:
        if row.what.endswith(" constraint"):
            peer.m.eq_active0[peer.names["equality"].index(row.name)] = False
    other = ClosedPeer.__new__(ClosedPeer)
    other.m = peer.m
    other.m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    if not CompiledModel(mujoco, other.m, [], Dropped()).disabled("ACTUATION"):
        other.m.jnt_actgravcomp[:] &= not peer.actuators  # else actuators lift, which are off below
    for name in ("CONTACT", "LIMIT", "FRICTIONLOSS", "ACTUATION"):
        other.m.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    other.d = mujoco.MjData(other.m)
    rng, q = np.random.default_rng(3), closed.neutral()
    qd, tau = rng.normal(size=(2, closed.nv))
    other.put(q, qd)
    if np.abs(other.d.efc_pos[: other.d.ne]).max(initial=0.0) > CLOSED:
        return "MuJoCo's equalities are open where ours are closed"
    if not other.d.ne:
        return REDUNDANT  # MuJoCo has no rows that are zero everywhere
    M, _, J, _ = other.matrices(q, qd)
    if np.linalg.cond(M) > SINGULAR or _ends_meet(robot, q):
        return ""
    rows = np.linalg.solve(np.linalg.cholesky(M), J.T).T
    size = np.linalg.norm(rows, axis=1)
    sizes = np.linalg.svd(rows / np.where(size > 1e-12, size, 1.0)[:, None], compute_uv=False)
    apart = bool(np.any(sizes < 1e-3)) or len(sizes) < len(J) or len(J) < closed.rows
    rank = int((sizes > NOTHING).sum())
    if closed.freedoms != robot.nv - rank:
        return REDUNDANT if apart else f"{closed.freedoms} freedoms, MuJoCo {robot.nv - rank}"
    qd = qd - np.linalg.lstsq(J, J @ qd, rcond=NOTHING)[0]
    loss = friction(robot, qd)
    ours = closed.reference("forward_dynamics", q, qd, tau + loss)[0]
    for step in STEPS:
        other.step = step
        theirs = other.solve(q, qd, tau)[0]
        scale = max(1.0, np.abs(theirs).max(), np.abs(qd).max() ** 2)
        if (error := np.abs(ours - theirs).max()) <= CLOSED * scale:
            return ""
    return REDUNDANT if apart else f"closed: accelerations differ by {error / scale:.1e}"


def _ends_meet(robot: Robot, q: np.ndarray) -> bool:
    """Whether two bodies' points on a tendon meet: its length has a kink there, and no slope."""
    poses = body_poses(robot.model, q)
    pieces = (piece for tendon in robot.model.tendons for piece in straight_pieces(poses, tendon))
    return any(p.first != p.last and np.linalg.norm(p.span) < NOTHING for p in pieces)
