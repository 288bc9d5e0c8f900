"""The equations of motion as a linear regression W x = y, and their base parameters.

x holds ten inertial parameters of every body, then friction and rotors of every joint. Where all
joints move independently there is an equation for each velocity,

    Y(q, q̇, q̈) θ + F(q̇, q̈) f = τ − e(q, q̇),

with e the torques of springs, tendons, drag and lifted weights, which are taken as known. Joints that
follow others give Gᵀ of their tree's rows, closed chains Nᵀ of them with q̇ = N ẋ, which eliminates the
constraint forces.

F is joint by joint: the torque of a drive (`formulations.parts.drive`) is linear in its parameters,
with the derivatives

    viscous    q̇
    coulomb    s(q̇)                     (T_c⁺ − T_c⁻) / 2
    offset     1                        (T_c⁺ + T_c⁻) / 2, friction that differs by direction
    stribeck   s(q̇) exp(−(q̇/v)²)        excess of Coulomb friction near rest
    load       s(q̇) |τ_j|               share of the torque that the joint transmits
    rotor      q̈

The sign of a velocity with noise of deviation w is random near rest. s is its expectation,
E[sign(q̇ + w ε)] = erf(q̇ / (√2 w)), and sign(q̇) itself where w is 0. The load τ_j is that of the bodies
alone, by the prior's inertias: a measured torque would put its own noise, and the unknown friction,
into the column. A fit then uses its own inertias and is repeated. The load of a joint that follows
another is the leader's.

Not every x is identifiable: β = G x are the fewest combinations that determine the torques (Gautier
1991, by QR of W at random motions). Inertias come first, from the base outward, so a rotor that acts
like a link's moment is grouped with the link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from scipy.special import erf

from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.base_parameters import (
    NAMES,
    elimination_order,
    from_moments,
    grouped,
    to_moments,
)
from dalembert.formulations.derivatives.regressor import PER_BODY, with_inertial_parameters
from dalembert.identification.record import Record
from dalembert.linalg.rank import CLOSED, close
from dalembert.model.frozen import Frozen
from dalembert.model.model import Drive
from dalembert.systems.system import System
from dalembert.text import require_known

STRIBECK_VELOCITY = 0.1  # rad/s or m/s at which Stribeck friction is down to 1/e, by default
ROWS_PER_COLUMN = 4  # random rows by which base parameters are determined
STEP, STEPS = 0.25, 10  # rad or m per step, and steps, of a closed chain's random walk
INDEPENDENT = 1e-2  # least sine of the angle between a motion and one the driven joints cannot see
REGULAR = 0.1  # of the smallest singular value at the start: less is near a singularity
VELOCITY, TORQUE = 2.0, 5.0  # deviations of q̇ and q̈, so that no term of the equations is small
SLOWEST = -2.0  # power of ten of the slowest states, where Stribeck friction shows

Friction = str | Sequence[str] | Mapping[str, str | Sequence[str]]


class JointMotion(NamedTuple):
    """Arguments of the friction of n samples, for every joint of the tree."""

    qd: np.ndarray  # (n, joints)
    qdd: np.ndarray  # (n, joints)
    sign: np.ndarray  # s(q̇) (n, joints)
    slow: np.ndarray | float = 1.0  # exp(−(q̇/v)²) (n, joints)
    load: np.ndarray | float = 1.0  # τ_j (n, joints)


def expected_sign(qd: np.ndarray, width: np.ndarray) -> np.ndarray:
    """E[sign(q̇ + w ε)] = erf(q̇ / (√2 w)), ε normal; sign(q̇) where w is 0.

    >>> expected_sign(np.array([-2.0, 0.5]), np.array([0.0, 0.5])).round(4)
    array([-1.    ,  0.6827])
    """
    is_blurred = np.asarray(width) > 0.0
    safe = np.where(is_blurred, width, 1.0)
    return np.asarray(np.where(is_blurred, erf(qd / (np.sqrt(2.0) * safe)), np.sign(qd)))


# columns (n, joints) of each kind, in the order of the unknowns
KINDS: dict[str, Callable[[JointMotion], np.ndarray]] = {
    "viscous": lambda m: m.qd,
    "coulomb": lambda m: m.sign,
    "offset": lambda m: np.ones_like(m.qd),
    "stribeck": lambda m: m.sign * m.slow,
    "load": lambda m: m.sign * np.abs(m.load),
    "rotor": lambda m: m.qdd,
}
FRICTION = tuple(kind for kind in KINDS if kind != "rotor")


def drive_parameters(drive: Drive) -> dict[str, np.ndarray]:
    """Parameters (joints,) of each kind; a `Drive` has neither Stribeck nor load friction."""
    columns = (drive.viscous, drive.coulomb_positive, drive.coulomb_negative, drive.rotor)
    viscous, positive, negative, rotor = (np.asarray(x, dtype=float) for x in columns)
    coulomb, offset, zero = (positive - negative) / 2.0, (positive + negative) / 2.0, 0.0 * rotor
    return dict(zip(KINDS, (viscous, coulomb, offset, zero, zero, rotor), strict=True))


@dataclass(frozen=True, eq=False)
class Regressor(Frozen):
    """W of a system's unknowns x (p,), made by `build_regressor`."""

    system: System
    names: tuple[str, ...]  # (p,) 'link:m' …, then 'joint:viscous', 'joint:coulomb', …
    inertial: int  # number of inertial parameters, which come first
    kinds: tuple[str, ...]  # of friction and rotor, each with a column for every joint of the tree
    values: np.ndarray  # (p,) prior
    free: np.ndarray  # (p,) bool: which are unknown; the others keep their values
    independent: tuple[str, ...] | None = None  # velocities of a closed chain's equations
    widths: np.ndarray | None = None  # (nv,) of Coulomb's sign; None takes the record's rate noise
    load_inertia: np.ndarray | None = None  # (inertial,) for the load; None is the prior's

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the equations: velocities, the independent ones of a closed chain."""
        if not self.system.dynamics.rows:
            return self.system.dynamics.velocities
        return self.independent or self.system.independent  # type: ignore[attr-defined]  # of closed chains

    @cached_property
    def model(self) -> Any:
        """The robot's model with numbers for all parameters."""
        return self.system.robot.dynamics.bound().description  # type: ignore[union-attr]  # required by build_regressor

    @property
    def links(self) -> list[str]:
        """Names of the bodies, each with ten inertial parameters."""
        return [name.rpartition(":")[0] for name in self.names[: self.inertial : PER_BODY]]

    def kind_slice(self, kind: str) -> slice:
        """The entries of x of one kind of friction or of the rotors."""
        joints = self.model.tree.nv
        start = self.inertial + joints * self.kinds.index(kind)
        return slice(start, start + joints)

    def with_widths(self, widths: ArrayLike) -> Regressor:
        """The regressor whose Coulomb sign rises over `widths` (nv,), rad/s or m/s; 0: plain sign."""
        width = np.broadcast_to(np.asarray(widths, float), (self.system.nv,))
        return replace(self, widths=width)

    def evaluate(self, record: Record) -> np.ndarray:
        """W (n, rows, p) of a record's n samples."""
        return self._project(record, self.joint_rows(record))

    def joint_rows(self, record: Record) -> np.ndarray:
        """W (n, nv, p) of the torques of all joints, loops not closed."""
        W = np.zeros((len(record.t), self.system.nv, len(self.names)))
        Y = W[:, :, : self.inertial]
        self.system.regressor(record.q, record.qd, record.qdd, out=Y)  # type: ignore[attr-defined]  # of systems with bodies
        leader, ratio = leaders(self.model)
        motion, entries = self.joint_motion(record, Y), np.arange(len(self.names))
        for kind in self.kinds:
            W[:, leader, entries[self.kind_slice(kind)]] = ratio * KINDS[kind](motion)
        return W

    def observations(self, record: Record) -> np.ndarray:
        """y (n, rows): the torques that W x explains."""
        return self._project(record, self.drive_torques(record)[..., None])[..., 0]

    def measured(self, record: Record) -> np.ndarray:
        """Torques (n, rows) as measured, of a closed chain's independent velocities."""
        return self._project(record, np.nan_to_num(record.tau)[..., None])[..., 0]

    def equations(self, record: Record) -> tuple[np.ndarray, np.ndarray]:
        """W (n, rows, p) and y (n, rows) less the part of the known parameters."""
        W, y = self.evaluate(record), self.observations(record)
        return W, y - W[..., ~self.free] @ self.values[~self.free]

    def drive_torques(self, record: Record) -> np.ndarray:
        """τ − e (n, nv): torques less those of springs, tendons and drag.

        A torque that was not measured (NaN) is that of a passive joint: zero.
        """
        tau = np.nan_to_num(record.tau, nan=0.0)
        if self.massless_robot is not None:
            tau = tau - self.massless_robot.inverse_dynamics(record.q, record.qd, record.qdd)
        return np.asarray(tau)

    def row_noise(self, record: Record, noise: np.ndarray) -> np.ndarray:
        """(rows,) deviation in the equations of independent noise (nv,) of the torques."""
        columns = self._project(record, np.tile(np.diag(noise), (len(record.t), 1, 1)))
        return np.asarray(np.sqrt((columns**2).sum(axis=2).mean(axis=0)))

    def sign_variance(self, record: Record, x: np.ndarray) -> np.ndarray:
        """Variance (n, nv) of x's Coulomb friction where noise hides the sign of a velocity.

        A sign with expectation s has the variance 1 − s².
        """
        variance = np.zeros((len(record.t), self.system.nv))
        if "coulomb" not in self.kinds:
            return variance
        leader, ratio = leaders(self.model)
        m = self.joint_motion(record, np.zeros((len(record.t), self.system.nv, self.inertial)))
        size = ratio * x[self.kind_slice("coulomb")]
        for j, k in enumerate(leader):
            variance[:, k] += size[j] ** 2 * (1.0 - m.sign[:, j] ** 2)
        return variance

    @cached_property
    def massless_robot(self) -> Any:
        """The robot without inertias, friction and rotors, or None where it has no springs etc."""
        model, robot = self.model, self.system.robot
        if not model.elements or robot is None:
            return None
        zero = np.zeros(model.tree.nv)
        bare = with_drive(model, type(model.drive)(zero, zero, zero, zero))
        return type(robot)(with_inertial_parameters(bare, np.zeros(self.inertial)))

    def joint_motion(self, record: Record, Y: np.ndarray) -> JointMotion:
        """Arguments of friction and rotors, for every joint of the tree; Y (n, nv, inertial)."""
        leader, ratio = leaders(self.model)
        widths = record.rate_noise if self.widths is None else self.widths
        qd, qdd = (x[:, leader] * ratio for x in (record.qd, record.qdd))
        width = STRIBECK_VELOCITY * np.abs(ratio)
        slow = np.exp(-((qd / width) ** 2)) if "stribeck" in self.kinds else 1.0
        theta = self.values[: self.inertial] if self.load_inertia is None else self.load_inertia
        load = (Y @ theta)[:, leader] if "load" in self.kinds else 1.0
        return JointMotion(qd, qdd, expected_sign(qd, widths[leader] * np.abs(ratio)), slow, load)

    def _project(self, record: Record, rows: np.ndarray) -> np.ndarray:
        """Nᵀ rows: (n, nv, k) → (n, rows, k); the rows themselves where nothing is closed."""
        if not self.system.dynamics.rows:
            return rows
        times = {"t": record.t} if self.system.dynamics.moving else {}
        reduced = self.system.reduced(record.q, record.qd, self.independent, **times)  # type: ignore[attr-defined]  # of closed chains
        return np.asarray(np.swapaxes(reduced.N, -1, -2) @ rows)

    def system_with(self, x: np.ndarray) -> System:
        """The system with parameters x (p,); an offset makes Coulomb friction unequal by direction.

        A drive has no Stribeck and no load friction: these are left out.
        """
        own = drive_parameters(self.model.drive)
        own |= {kind: x[self.kind_slice(kind)] for kind in self.kinds}
        coulomb, offset = own["coulomb"], own["offset"]
        drive = Drive(own["viscous"], offset + coulomb, offset - coulomb, own["rotor"])
        model = with_inertial_parameters(self.model, x[: self.inertial])
        return rebuild(self.system, with_drive(model, drive))


def with_drive(model: Any, drive: Drive) -> Any:
    """The model with other drives, (joints of its tree,)."""
    tree = replace(model.tree, drive=drive)
    return tree if model.tree is model else replace(model, tree=tree)


def rebuild(system: System, model: Any) -> System:
    """The robot of a model, or the closed chain that the system makes of it."""
    whole: Any = system
    rebuilt: System = type(whole.robot)(model)
    return rebuilt if whole.robot is whole else whole.with_robot(rebuilt)


def build_regressor(
    system: System,
    friction: Friction = ("viscous", "coulomb", "offset"),
    rotor: bool = True,
    links: Sequence[str] | None = None,
    independent: Sequence[str] | None = None,
    driven: np.ndarray | None = None,
) -> Regressor:
    """Regressor of a robot, or of a closed chain of one.

    Parameters
    ----------
    friction : str, sequence of str or mapping
        Unknown kinds of `FRICTION`, or a mapping of joints to such kinds. Other friction of the
        system stays as it is.
    rotor : bool
        Whether rotors are unknown.
    links : sequence of str, optional
        Links whose inertial parameters are unknown; then friction and rotors are known.
    independent : sequence of str, optional
        Velocities of a closed chain's equations.
    driven : (nv,) bool, optional
        Velocities that friction without named joints, and rotors, belong to; default all.

    Examples
    --------
    >>> import dalembert as dl
    >>> regressor = build_regressor(dl.load("planar_2r"), friction=["viscous"], rotor=False)
    >>> regressor.inertial, regressor.names[-1], regressor.rows
    (20, 'link2_joint:viscous', ('link1_joint', 'link2_joint'))
    """
    robot: Any = system.robot
    if robot is None or robot.dynamics.velocities != system.dynamics.velocities:
        raise IdentificationError(
            f"{system.name} has no links in joint coordinates to be identified: describe it as a robot "
            "(dl.Robot.from_urdf, …), or as one that closes its loops (dl.Constrained)"
        )
    if system.dynamics.frictional_rows:
        raise IdentificationError(
            f"{system.name}: friction at its contacts grows with constraint forces, so its torques "
            "are not linear in the unknown; set the contacts' friction to zero"
        )
    model = robot.dynamics.bound().description
    joints = model.tree.velocities
    default = np.broadcast_to(True if driven is None else driven, (system.nv,))[leaders(model)[0]]
    unknown: dict[str, np.ndarray] = {}  # (joints of the tree,) bool of each unknown kind
    indices: dict[str, Any] = {joint.name: joint.v for joint in model.tree.joints}
    indices |= {name: k for k, name in enumerate(joints)}
    chosen = friction if isinstance(friction, Mapping) else {None: friction}
    for joint, own_kinds in chosen.items():
        if joint is not None:
            message = f"friction: {model.name} has no joint"
            require_known(joint, indices, message, IdentificationError)
        for kind in (own_kinds,) if isinstance(own_kinds, str) else own_kinds:
            require_known(kind, FRICTION, "friction has no kind", IdentificationError)
            own = unknown.setdefault(kind, np.zeros(len(joints), dtype=bool))
            own[default if joint is None else indices[joint]] = True
    if rotor:
        unknown["rotor"] = default
    known = drive_parameters(model.drive)
    kinds = tuple(kind for kind in KINDS if kind in unknown or known[kind].any())
    names = robot.parameter_names + tuple(f"{j}:{kind}" for kind in kinds for j in joints)
    values = np.concatenate([robot.parameters, *(known[kind] for kind in kinds)])
    equations = None if independent is None else tuple(independent)
    free = _free_entries(model, kinds, unknown if links is None else {}, links)
    return Regressor(system, names, len(robot.parameters), kinds, values, free, equations)


def may_be_passive(system: System) -> bool:
    """Whether joints may have no drive: those of a closed chain or of a floating base."""
    return bool(system.dynamics.rows) or system.nq != system.nv


def leaders(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """For every joint of the tree the velocity it moves with, and the factor."""
    G = getattr(model, "G", None)
    if G is None:
        return np.arange(model.tree.nv), np.ones(model.tree.nv)
    leader = np.abs(G).argmax(axis=1)
    return leader, G[np.arange(len(G)), leader]


def _free_entries(
    model: Any,
    kinds: tuple[str, ...],
    unknown: Mapping[str, np.ndarray],
    links: Sequence[str] | None,
) -> np.ndarray:
    """(p,) bool: inertias of `links`, default all, and the `unknown` friction and rotors.

    Bodies that only join two axes of one joint have no inertia of their own, and a free joint has
    neither friction nor rotor.
    """
    moving = {model.bodies[joint.bodies[-1]].name: joint.bodies[-1] for joint in model.tree.joints}
    names = tuple(moving) if links is None else (links,) if isinstance(links, str) else links
    inertial = np.zeros((len(model.bodies), PER_BODY), dtype=bool)
    for link in names:
        message = f"links fixed to one another count as one, and {model.name} has no moving link"
        require_known(link, moving, message, IdentificationError)
        inertial[moving[link]] = True
    has_drive = np.ones(model.tree.nv, dtype=bool)
    for joint in model.tree.joints:
        has_drive[joint.v] = joint.kind != "free"
    return np.concatenate([inertial.ravel(), *(has_drive & unknown.get(k, False) for k in kinds)])


@dataclass(frozen=True, eq=False)
class BaseParameters(Frozen):
    """The base parameters β = G x of a regressor: W x = (W selection) β for the unknown part of x."""

    names: tuple[str, ...]  # (base,)
    explained: tuple[str, ...]  # each as a combination of entries of x
    matrix: np.ndarray  # G (base, p); zero at known entries
    selection: np.ndarray  # (p, base)
    nonzero: np.ndarray  # (rows, base) bool: whether a base parameter is in an equation

    def nearest(self, beta: np.ndarray, x0: np.ndarray) -> np.ndarray:
        """x (p,) with G x = β, nearest to x0 (p,)."""
        return np.asarray(x0 + np.linalg.lstsq(self.matrix, beta - self.matrix @ x0, rcond=None)[0])


def base_parameters(regressor: Regressor, starts: np.ndarray | None = None) -> BaseParameters:
    """The base parameters of the regressor's unknowns, from random motions of its system.

    A closed chain moves in the assembly mode of the configurations `starts` (k, nq), default that of
    its reference configuration.
    """
    p = len(regressor.names)
    count = ROWS_PER_COLUMN * p // max(1, len(regressor.rows)) + 1
    record = random_record(regressor.system, np.random.default_rng(0), count, starts)
    if regressor.system.dynamics.rows:
        # an orthonormal basis, rows scaled: near a singularity of the independent velocities the
        # equations in these would be much larger than all others
        N, _ = null_space(regressor.system, record.q)
        W = np.swapaxes(N, -1, -2) @ regressor.joint_rows(record)
        W = W / np.abs(W).max(axis=(1, 2), keepdims=True)
    else:
        W = regressor.evaluate(record)
    W = W.reshape(-1, p)
    bodies = regressor.inertial // PER_BODY
    others = np.eye(p - regressor.inertial)
    T, T_inv = (block_diag(x, others) for x in (to_moments(bodies), from_moments(bodies)))
    free = np.asarray(regressor.free)
    W = np.where(free, W @ T_inv, 0.0)  # known parameters are in no base parameter
    order = [*elimination_order(bodies), *range(regressor.inertial, p)]
    moments = [f"{link}:{name}" for link in regressor.links for name in NAMES]
    names = (*moments, *regressor.names[regressor.inertial :])
    groups = grouped(W, names, [k for k in order if free[k]])
    G = np.where(free, groups.matrix, 0.0)
    columns = list(groups.kept)
    sizes = np.abs(W[:, columns]).reshape(count, -1, len(columns)).max(axis=0)
    base_names = tuple(groups.names[k] for k in columns)
    return BaseParameters(base_names, groups.explained(), G @ T, T_inv[:, columns], sizes > 0.0)


def random_record(
    system: System, rng: np.random.Generator, n: int, starts: np.ndarray | None = None
) -> Record:
    """n random states of the system, in no order of time; no torques and no noise.

    A closed chain walks at random from the configurations `starts` (k, nq), default the reference
    one, and stays in their assembly mode: another mode has other freedoms, and other parameters.

    >>> import dalembert as dl
    >>> random_record(dl.load("four_bar"), np.random.default_rng(0), 3).q.shape
    (3, 3)
    """

    def speeds() -> np.ndarray:
        """(n, 1) factors of velocities: half of the states are fast, the others of all speeds."""
        return VELOCITY * 10.0 ** (SLOWEST * np.maximum(0.0, rng.uniform(-1.0, 1.0, (n, 1))))

    if system.dynamics.rows:
        closed: Any = system
        first = closed.neutral()[None] if starts is None or not len(starts) else starts
        q = np.stack(list(islice(_random_walk(closed, rng, first), n)))
        qd = closed.project_velocity(q, speeds() * rng.normal(size=(n, closed.nv)))
        qdd, _ = closed.forward_dynamics(q, qd, TORQUE * rng.normal(size=(n, closed.nv)))
    else:
        q, qd, qdd = system.random_state(rng, n, within_limits=False)
        qd, qdd = speeds() * qd, TORQUE * qdd
    zero = np.zeros(system.nv)
    return Record(np.zeros(n), q, qd, qdd, np.zeros((n, system.nv)), zero, zero)


def null_space(system: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N (..., nv, k) orthonormal with A N = 0, smallest singular value (...) of A's rank)."""
    rank = system.nv - len(system.independent)
    _, values, Vt = np.linalg.svd(system.jacobian(q, 0.0))
    return np.swapaxes(Vt[..., rank:, :], -1, -2), values[..., rank - 1]


def driven_velocities(
    system: System, starts: np.ndarray, driven: np.ndarray
) -> tuple[str, ...] | None:
    """Names of the driven velocities of a closed chain where they determine all others, else None.

    In these its equations are those of the measured torques, each with its own noise.
    """
    if not system.dynamics.rows or not len(starts):
        return None
    N, _ = null_space(system, starts)
    if np.count_nonzero(driven) != N.shape[-1]:
        return None
    if np.linalg.svd(N[..., driven, :], compute_uv=False)[..., -1].min() <= INDEPENDENT:
        return None
    names = system.dynamics.velocities
    return tuple(name for name, is_driven in zip(names, driven, strict=True) if is_driven)


def _random_walk(system: Any, rng: np.random.Generator, starts: np.ndarray) -> Iterator[np.ndarray]:
    """Closed configurations (nq,): a few steps from each start in turn, then from the next.

    A step that does not close, or comes near a singularity, where assembly modes meet, ends the walk.
    """
    rows = list(system.dynamics.positions)

    def constraints(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return system.residual(q, 0.0), system.jacobian(q, 0.0)[rows]

    while True:
        for start in starts:
            q, _ = close(start, constraints, system.integrate)
            N, regular = null_space(system, q)
            yield q
            for _ in range(STEPS):
                step = N @ rng.normal(size=N.shape[1])
                step *= rng.uniform(0.2, 1.0) * STEP / np.abs(step).max()
                q, residual = close(system.integrate(q, step), constraints, system.integrate)
                N, smallest = null_space(system, q)
                if residual > CLOSED or smallest < REGULAR * regular:
                    break
                yield q
