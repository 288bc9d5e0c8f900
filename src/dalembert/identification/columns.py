"""The equations of motion as columns that multiply what is unknown: W x = y.

x holds ten inertial numbers of every body, then friction and rotors of every joint. Where all joints
move on their own there is an equation for each velocity,

    Y(q, q̇, q̈) θ + F(q̇, q̈) f = τ − e(q, q̇),

with e the torques of springs, tendons, drag and lifted weights, which are taken as known. Joints that
follow others give Gᵀ of their tree's rows, closed chains Nᵀ of them with q̇ = N ẋ: the forces of the
constraints fall out, whatever they are.

F is joint by joint: the torque of a drive (`formulations.parts.drive`) is linear in its numbers,
with the derivatives

    viscous    q̇
    coulomb    s(q̇)                     (T_c⁺ − T_c⁻) / 2
    offset     1                        (T_c⁺ + T_c⁻) / 2, friction that differs by direction
    stribeck   s(q̇) exp(−(q̇/v)²)        what Coulomb friction is higher by near rest
    load       s(q̇) |τ_j|               share of the torque that the joint transmits
    rotor      q̈

A rate with noise of deviation w has the sign ±1 by chance near rest. s is what is expected of it,
E[sign(q̇ + w ε)] = erf(q̇ / (√2 w)), and sign(q̇) itself where w is 0. The load τ_j is that of the bodies
alone, by the prior's inertias: a measured torque would put its own noise, and the friction that is
asked for, into the column. A fit then puts its own in their place and is repeated. Of a joint that
follows another it is the leader's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf

from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.inertial import PER_BODY, with_inertial_parameters
from dalembert.formulations.registry import suggest
from dalembert.identification.random_motion import random_record
from dalembert.identification.record import Record
from dalembert.model.frozen import Frozen
from dalembert.model.model import Drive
from dalembert.systems.system import System

STRIBECK = 0.1  # rad/s or m/s: where Stribeck's part is down to 1/e, unless told
Friction = str | Sequence[str] | Mapping[str, str | Sequence[str]]
_TRIED = 8  # random motions by which it is seen which columns act on which equation
_ZERO = 1e-13  # of the largest entry: rounding of a column that does not act


class Motion(NamedTuple):
    """What the friction of n samples depends on, an entry for every joint; `load` where asked for."""

    qd: np.ndarray  # (n, joints)
    qdd: np.ndarray  # (n, joints)
    widths: np.ndarray  # w (joints,) of the sign, rad/s or m/s
    stribeck: np.ndarray  # v (joints,)
    load: np.ndarray  # τ_j (n, joints)


def expected_sign(qd: np.ndarray, width: np.ndarray) -> np.ndarray:
    """E[sign(q̇ + w ε)] = erf(q̇ / (√2 w)), ε normal; sign(q̇) where w is 0.

    >>> expected_sign(np.array([-2.0, 0.5]), np.array([0.0, 0.5])).round(4)
    array([-1.    ,  0.6827])
    """
    blurred = np.asarray(width) > 0.0
    safe = np.where(blurred, width, 1.0)
    return np.where(blurred, erf(qd / (np.sqrt(2.0) * safe)), np.sign(qd))


# one column per joint, each (n, joints), in the order of the unknowns
KINDS: dict[str, Callable[[Motion], np.ndarray]] = {
    "viscous": lambda m: m.qd,
    "coulomb": lambda m: expected_sign(m.qd, m.widths),
    "offset": lambda m: np.ones_like(m.qd),
    "stribeck": lambda m: expected_sign(m.qd, m.widths) * np.exp(-((m.qd / m.stribeck) ** 2)),
    "load": lambda m: expected_sign(m.qd, m.widths) * np.abs(m.load),
    "rotor": lambda m: m.qdd,
}
FRICTION = tuple(kind for kind in KINDS if kind != "rotor")


def drive_values(drive: Drive) -> dict[str, np.ndarray]:
    """Each kind's numbers (joints,) in a drive, which knows neither Stribeck's nor load's friction."""
    positive, negative = (
        np.asarray(x, dtype=float) for x in (drive.coulomb_positive, drive.coulomb_negative)
    )
    none = np.zeros_like(positive)
    return {
        "viscous": np.asarray(drive.viscous, dtype=float),
        "coulomb": (positive - negative) / 2.0,
        "offset": (positive + negative) / 2.0,
        "stribeck": none,
        "load": none,
        "rotor": np.asarray(drive.rotor, dtype=float),
    }


@dataclass(frozen=True, eq=False)
class Columns(Frozen):
    """What multiplies the unknowns x (p,) of a system; `columns_of` makes it."""

    system: System
    names: tuple[str, ...]  # (p,) 'link:m' …, then 'joint:viscous', 'joint:coulomb', …
    inertial: int  # how many are inertial: the first
    kinds: tuple[str, ...]  # of friction and rotor, each with a column for every joint of the tree
    values: np.ndarray  # (p,) prior
    free: np.ndarray  # (p,) bool: which are unknown; the others keep their values
    independent: tuple[str, ...] | None = None  # velocities that a closed chain's equations are of
    widths: np.ndarray | None = None  # (nv,) of Coulomb's sign; None takes the record's rate noise
    stribeck: np.ndarray | None = None  # (nv,) Stribeck's velocities; None is `STRIBECK`
    loading: np.ndarray | None = None  # (inertial,) by which load is reckoned; None is the prior's

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the equations: velocities, the independent ones of a closed chain."""
        if not self.system.dynamics.rows:
            return self.system.dynamics.velocities
        return self.independent or self.system.independent  # type: ignore[attr-defined]  # of closed chains

    @cached_property
    def model(self) -> Any:
        """The robot's model with numbers for all parameters."""
        return self.system.robot.dynamics.bound().description  # type: ignore[union-attr]  # columns_of asked for it

    def with_widths(self, widths: Any, stribeck: Any = None) -> Columns:
        """The same with Coulomb's sign rising over `widths` (nv,), rad/s or m/s; 0: plain sign."""
        made = [
            None if x is None else np.broadcast_to(np.asarray(x, float), (self.system.nv,))
            for x in (widths, stribeck)
        ]
        return replace(self, widths=made[0], stribeck=made[1])

    def with_values(self, x: Any) -> Columns:
        """The same with another prior x (p,)."""
        return replace(self, values=np.asarray(x, dtype=float))

    def with_load(self, x: Any) -> Columns:
        """The same with the load of joints reckoned by the inertias of x (p,), not the prior's."""
        return replace(self, loading=np.asarray(x, dtype=float)[: self.inertial])

    def evaluate(self, record: Record) -> np.ndarray:
        """W (n, rows, p) of a record's n samples."""
        return self._projected(record, self.of_joints(record))

    def of_joints(self, record: Record) -> np.ndarray:
        """The columns (n, nv, p) in the torques of all joints, loops not closed."""
        W = np.zeros((len(record.t), self.system.nv, len(self.names)))
        Y = W[:, :, : self.inertial]
        self.system.regressor(record.q, record.qd, record.qdd, out=Y)  # type: ignore[attr-defined]  # of systems with bodies
        leader, ratio = self._leaders
        joints = np.arange(len(leader))
        motion, at = self.motion(record, Y), self.inertial
        for kind in self.kinds:
            W[:, leader, at + joints] = ratio * KINDS[kind](motion)
            at += len(joints)
        return W

    def measured(self, record: Record) -> np.ndarray:
        """y (n, rows): the torques that the columns explain."""
        return self._projected(record, self.torques(record)[..., None])[..., 0]

    def torques(self, record: Record) -> np.ndarray:
        """τ − e (n, nv): torques less those of springs, tendons and drag, of every joint.

        A torque that was not measured (NaN) is that of a joint nobody drives: zero.
        """
        tau = np.nan_to_num(record.tau, nan=0.0)
        if self._bare is None:
            return tau
        return tau - self._bare.inverse_dynamics(record.q, record.qd, record.qdd)

    def noise_of_rows(self, record: Record, noise: np.ndarray) -> np.ndarray:
        """(rows,) deviation in the equations of independent noise (nv,) of the torques."""
        each = self._projected(record, np.tile(np.diag(noise), (len(record.t), 1, 1)))
        return np.asarray(np.sqrt((each**2).sum(axis=2).mean(axis=0)))

    @cached_property
    def acts(self) -> np.ndarray:
        """(rows, p) bool: whether a column is ever anything but zero in an equation."""
        record = random_record(self.system, np.random.default_rng(0), _TRIED)
        Y = np.abs(self.system.regressor(record.q, record.qd, record.qdd)).max(axis=0)  # type: ignore[attr-defined]  # of systems with bodies
        leader, _ = self._leaders
        jointed = np.tile(np.arange(self.system.nv)[:, None] == leader, len(self.kinds))
        acts = np.concatenate([_ZERO * Y.max(initial=0.0) < Y, jointed], axis=-1)
        if not self.system.dynamics.rows:
            return acts
        return np.repeat(acts.any(axis=0, keepdims=True), len(self.rows), axis=0)

    @cached_property
    def _leaders(self) -> tuple[np.ndarray, np.ndarray]:
        """For every joint of the tree the velocity it moves with, and by which factor."""
        return _leaders(self.model)

    def doubt(self, record: Record, x: np.ndarray) -> np.ndarray:
        """Variance (n, nv) of x's Coulomb friction where noise hides the sign of a velocity.

        A sign that is expected to be s has the variance 1 − s².
        """
        found = np.zeros((len(record.t), self.system.nv))
        if "coulomb" not in self.kinds:
            return found
        leader, ratio = self._leaders
        m = self.motion(record, np.zeros((len(record.t), self.system.nv, self.inertial)))
        at = self.inertial + len(leader) * self.kinds.index("coulomb")
        size = ratio * x[at : at + len(leader)]
        for j, k in enumerate(leader):
            found[:, k] += size[j] ** 2 * (1.0 - expected_sign(m.qd[:, j], m.widths[j]) ** 2)
        return found

    @cached_property
    def _bare(self) -> Any:
        """The robot without inertias, friction and rotors: springs and the like are left, or None."""
        model, robot = self.model, self.system.robot
        if not model.elements or robot is None:
            return None
        none = np.zeros(model.tree.nv)
        drive = type(model.drive)(none, none, none, none)
        tree = replace(model.tree, drive=drive)
        whole = tree if model is model.tree else replace(model, tree=tree)
        return type(robot)(with_inertial_parameters(whole, np.zeros(self.inertial)))

    def motion(self, record: Record, Y: np.ndarray) -> Motion:
        """What friction and rotors depend on, for every joint of the tree; Y (n, nv, inertial)."""
        leader, ratio = self._leaders
        widths = record.rate_noise if self.widths is None else self.widths
        slow = np.full(self.system.nv, STRIBECK) if self.stribeck is None else self.stribeck
        load = np.zeros((1, 1))
        if "load" in self.kinds:
            theta = self.values[: self.inertial] if self.loading is None else self.loading
            load = (Y @ theta)[:, leader]
        far = np.abs(ratio)
        return Motion(
            record.qd[:, leader] * ratio,
            record.qdd[:, leader] * ratio,
            widths[leader] * far,
            slow[leader] * far,
            load,
        )

    def _projected(self, record: Record, rows: np.ndarray) -> np.ndarray:
        """Nᵀ (n, nv, k) → (n, rows, k); the rows themselves where nothing is closed."""
        if not self.system.dynamics.rows:
            return rows
        at = {"t": record.t} if self.system.dynamics.moving else {}
        made = self.system.reduced(record.q, record.qd, self.independent, **at)  # type: ignore[attr-defined]  # of closed chains
        return np.swapaxes(made.N, -1, -2) @ rows


def columns_of(
    system: System,
    friction: Friction = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    links: Sequence[str] | None = None,
    independent: Sequence[str] | None = None,
    driven: np.ndarray | None = None,
) -> Columns:
    """Columns of a robot, or of a closed chain of one.

    `friction` are kinds of `FRICTION`, or a mapping of joints to such kinds. What
    the system has of other kinds stays as it is. Kinds without joints, and rotors, are of the
    velocities `driven` (nv,) bool, default all. With `links` only the ten inertial numbers of these
    are unknown. `independent` names the velocities that a closed chain's equations are of.

    >>> import dalembert as dl
    >>> made = columns_of(dl.load("planar_2r"), friction=["viscous"], rotor=False)
    >>> made.inertial, made.names[-1], made.rows
    (20, 'link2_joint:viscous', ('link1_joint', 'link2_joint'))
    """
    robot = _require_bodies(system)
    model = robot.dynamics.bound().description
    usual = np.ones(system.nv, dtype=bool) if driven is None else np.asarray(driven, dtype=bool)
    asked = _asked(model, friction, rotor, usual[_leaders(model)[0]])
    known = drive_values(model.drive)
    kinds = tuple(kind for kind in KINDS if kind in asked or known[kind].any())
    joints = model.tree.velocities
    names = robot.parameter_names + tuple(f"{j}:{kind}" for kind in kinds for j in joints)
    values = np.concatenate([robot.parameters, *(known[kind] for kind in kinds)])
    chosen = None if independent is None else tuple(independent)
    free = _free(model, kinds, asked if links is None else {}, links)
    return Columns(system, names, len(robot.parameters), kinds, values, free, chosen)


def may_be_passive(system: System) -> bool:
    """Whether joints may have no drive: those that a loop moves, or a base that floats."""
    return bool(system.dynamics.rows) or system.nq != system.nv


def _require_bodies(system: System) -> Any:
    robot = system.robot
    if robot is None or robot.dynamics.velocities != system.dynamics.velocities:
        raise IdentificationError(
            f"{system.name} has no links in joint coordinates whose inertias could be identified: "
            "describe it as a robot (dl.Robot.from_urdf, …), or as one that closes its loops "
            "(dl.Constrained)"
        )
    if system.dynamics.rubbing:
        raise IdentificationError(
            f"{system.name}: friction at its contacts grows with constraint forces, so its torques "
            "are not linear in the unknown; set the contacts' friction to zero"
        )
    return robot


def _asked(model: Any, friction: Friction, rotor: bool, usual: np.ndarray) -> dict[str, np.ndarray]:
    """(joints of the tree,) bool of each kind that is unknown; `usual` where no joints are named."""
    joints = model.tree.velocities
    of = {joint.name: joint.v for joint in model.tree.joints}
    of |= {name: slice(k, k + 1) for k, name in enumerate(joints)}
    if not isinstance(friction, Mapping):
        found = dict.fromkeys(_kinds(friction), usual)
    else:
        found = {}
        for joint, kinds in friction.items():
            if joint not in of:
                raise IdentificationError(
                    f"friction: {model.name} has no joint {joint!r}{suggest(str(joint), list(of))}"
                )
            for kind in _kinds(kinds):
                found.setdefault(kind, np.zeros(len(joints), dtype=bool))[of[joint]] = True
    return found | ({"rotor": usual} if rotor else {})


def _kinds(friction: str | Sequence[str]) -> tuple[str, ...]:
    kinds = (friction,) if isinstance(friction, str) else tuple(friction)
    for kind in kinds:
        if kind not in FRICTION:
            hint = suggest(str(kind), list(FRICTION))
            raise IdentificationError(
                f"friction has no kind {kind!r}{hint}; kinds are {', '.join(FRICTION)}"
            )
    return kinds


def _leaders(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """For every joint of the tree the velocity it moves with, and by which factor."""
    G = getattr(model, "G", None)
    if G is None:
        return np.arange(model.tree.nv), np.ones(model.tree.nv)
    leader = np.abs(G).argmax(axis=1)
    return leader, G[np.arange(len(G)), leader]


def _free(
    model: Any,
    kinds: tuple[str, ...],
    asked: Mapping[str, np.ndarray],
    links: Sequence[str] | None,
) -> np.ndarray:
    """(p,) bool: inertias of `links`, default all, and the friction and rotors `asked` for.

    Bodies that only join two axes of one joint have no inertia of their own, and a free joint has
    neither friction nor rotor.
    """
    real = {model.bodies[k].name: k for k in (joint.bodies[-1] for joint in model.tree.joints)}
    names = tuple(real) if links is None else (links,) if isinstance(links, str) else links
    inertial = np.zeros((len(model.bodies), PER_BODY), dtype=bool)
    for link in names:
        if link not in real:
            raise IdentificationError(
                f"{model.name} has no moving link {link!r}{suggest(str(link), list(real))}; "
                f"links fixed to one another count as one: {', '.join(real)}"
            )
        inertial[real[link]] = True
    jointed = np.ones(model.tree.nv, dtype=bool)
    for joint in model.tree.joints:
        if joint.kind == "free":
            jointed[joint.v] = False
    parts = [jointed & asked.get(kind, False) for kind in kinds]
    return np.concatenate([inertial.ravel(), *parts])
