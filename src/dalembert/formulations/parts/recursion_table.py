"""Intermediate values of recursions, by name and link: recording, and conversion to link frames.

A formulation passes the values of each link to `record` where it has computed them, so the table of a
recursion comes from the run that computes the torques. Without a `Recorder` nothing is stored.

Recursions work in body frames, with the origin at the joint and z along its axis. Tables are in the
user's link frames, those of `pose` and `joint_wrenches`. With A and t the rotation and origin of the
link frame in the body frame, each term is converted by one entry of `TO_LINK_FRAME`. Wrenches through
a joint stay about the joint's origin. The bodies inside a joint of several degrees have no link frame
and stay in their own. With gravity by an accelerated base, accelerations contain −g.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from dalembert.formulations.parts.rigid_body import acceleration_matrix
from dalembert.spatial import se3
from dalembert.spatial.arrays import Array
from dalembert.spatial.se3 import Force, Motion, Placement

Record: TypeAlias = Callable[..., None]  # record(link, name=value, …)


def nothing(link: int, **values: Array) -> None:
    """A `Record` that stores nothing."""


class Recorder:
    """Stores the values of every link under their names."""

    def __init__(self) -> None:
        self._values: dict[str, dict[int, Array]] = {}

    def __call__(self, link: int, **values: Array) -> None:
        for name, value in values.items():
            self._values.setdefault(name, {})[link] = value

    def of(self, link: int) -> dict[str, Array]:
        """The values of one link by name; empty for the base, −1."""
        return {name: links[link] for name, links in self._values.items() if link in links}


def stacked(values: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """The values of all links as one array (links, *shape)."""
    return np.stack([np.reshape(x, shape) for x in values])


class Link(NamedTuple):
    """One link of a table: its frame, its parent's, and the recorded values of both bodies."""

    frame: Placement  # A, t: the link's frame in the body's
    parent: Placement  # the same of the parent
    own: Mapping[str, Array]
    before: Mapping[str, Array]  # of the parent; empty for the base
    # minus the wrench of tendons, lifts and fluids on all that the joint carries
    outer: Force | None


def _with_outer(link: Link, x: Array, part: str, R: Array | None = None) -> Array:
    """A joint's force ("linear") or moment ("angular") with that of `outer`, along axes R of it."""
    if link.outer is None:
        return x
    outer: Array = getattr(link.outer, part)
    total: Array = x + (outer if R is None else R @ outer)
    return total


def _offset_in_world(link: Link, d: Array) -> Array:
    """From the origin of the parent's link frame to this one's."""
    offset: Array = d + link.own["R_0"] @ link.frame.p
    return offset - link.before["R_0"] @ link.parent.p if link.before else offset


def _acceleration_matrix(link: Link, suffix: str = "") -> Array:
    """U = ω̇^ + ω^ω^ of the link, from the recorded values."""
    return acceleration_matrix(link.own[f"omega{suffix}"], link.own[f"omega_dot{suffix}"])


TO_LINK_FRAME: Mapping[str, Callable[[Link, Array], Array]] = {
    # scalars, and vectors in world axes
    "unchanged": lambda link, x: x,
    # vectors, and matrices that map vectors, in the link's axes
    "axes": lambda link, x: link.frame.R.T @ x,
    "matrix": lambda link, U: link.frame.R.T @ U @ link.frame.R,
    # motion of the link frame's origin
    "origin_acceleration": lambda link, a: link.frame.acceleration_to_child(
        a, _acceleration_matrix(link)
    ),
    "origin_acceleration_in_world": lambda link, a: (
        a + _acceleration_matrix(link, "_0") @ (link.own["R_0"] @ link.frame.p)
    ),
    "origin_acceleration_by_matrix": lambda link, p_ddot: (
        p_ddot + link.own["W_ddot"] @ link.frame.p
    ),
    "twist": lambda link, V: link.frame.act_inv(Motion.of(V)).array,
    # the moment that belongs to F, about the link frame's origin
    "moment_about_origin": lambda link, N: link.frame.act_inv(Force(link.own["F"], N)).angular,
    # force and moment through the joint, about its origin
    "joint_force": lambda link, f: link.frame.R.T @ _with_outer(link, f, "linear"),
    "joint_moment": lambda link, n: link.frame.R.T @ _with_outer(link, n, "angular"),
    "joint_wrench": lambda link, F: np.concatenate(
        [
            link.frame.R.T @ _with_outer(link, F[0:3], "linear"),
            link.frame.R.T @ _with_outer(link, F[3:6], "angular"),
        ]
    ),
    "joint_force_in_world": lambda link, f: _with_outer(link, f, "linear", link.own["R_0"]),
    "joint_moment_in_world": lambda link, n: _with_outer(link, n, "angular", link.own["R_0"]),
    # placement of the link's frame in its parent's
    "rotation_in_parent": lambda link, R: link.parent.R.T @ R @ link.frame.R,
    "origin_in_parent": lambda link, p: (
        link.parent.R.T @ (p + link.own["R"] @ link.frame.p - link.parent.p)
    ),
    "pose_in_parent": lambda link, A: (
        se3.inverse(se3.pose(*link.parent)) @ A @ se3.pose(*link.frame)
    ),
    "adjoint": lambda link, A: (
        se3.Ad(se3.inverse(se3.pose(*link.frame))) @ A @ se3.Ad(se3.pose(*link.parent))
    ),
    # placement of the link's frame in the world, and its rates
    "world_rotation": lambda link, W: W @ link.frame.R,
    "world_pose": lambda link, W: W @ se3.pose(*link.frame),
    "offset_in_world": _offset_in_world,
    # Hollerbach's sums over a link and all beyond: r = A r' + t in their first factors
    "composite": lambda link, D: se3.inverse(se3.pose(*link.frame)) @ D,
    "composite_moments": lambda link, D: (
        link.frame.R.T @ (D - np.outer(link.frame.p, link.own["e"]))
    ),
    "first_moments": lambda link, c: link.frame.R.T @ (c - link.own["M"] * link.frame.p),
}


@dataclass(frozen=True)
class Term:
    """One intermediate of a recursion, for every link: what it is, its shape and its units."""

    name: str  # the argument of `record`
    symbol: str  # as text prints it, followed by the link's number
    latex: str  # with # for the link's number
    shape: tuple[int, ...]
    units: str
    meaning: str
    conversion: str = "axes"  # a key of `TO_LINK_FRAME`
    gravity: str = ""  # "potential": recorded only where gravity enters as weights

    def in_link_frame(self, link: Link, value: Array) -> Array:
        """The recorded value of a body, converted to the user's link frame."""
        return TO_LINK_FRAME[self.conversion](link, value)


LINK, WORLD = "in the link's axes", "in the world's axes"
ABOUT_JOINT = "about the joint's origin"
RATE, GROWTH, ACCELERATION = "rad/s", "rad/s^2", "m/s^2"
TWIST, TWIST_RATE, WRENCH = "m/s, rad/s", "m/s^2, rad/s^2", "N, N m"


def _term(names: str, shape: tuple[int, ...], units: str, meaning: str, *options: str) -> Term:
    r"""A term by "name symbol latex"; a single "R" is also the symbol, and R_{#} the LaTeX."""
    if " " not in names:
        names = f"{names} {names} {names}_{{#}}"
    name, symbol, latex = names.split(maxsplit=2)
    return Term(name, symbol, latex, shape, units, meaning, *options)


def _vector(names: str, units: str, meaning: str, conversion: str = "axes") -> Term:
    """A term that is a vector (3,) in the link's axes."""
    return _term(names, (3,), units, f"{meaning}, {LINK}", conversion)


def _in_world(term: Term) -> Term:
    """The same vector along the axes of the world."""
    conversion = "unchanged" if term.conversion == "axes" else f"{term.conversion}_in_world"
    return replace(
        term,
        name=f"{term.name}_0",
        symbol=f"{term.symbol}⁰",
        latex=f"{{}}^0{term.latex}",
        meaning=term.meaning.replace(LINK, WORLD),
        conversion=conversion,
    )


FRAME = (
    _term("R", (3, 3), "", "rotation of the link's frame in its parent's", "rotation_in_parent"),
    _term("p", (3,), "m", "origin of the link's frame in its parent's", "origin_in_parent"),
)
MOTION = (
    _vector(r"omega ω \omega_{#}", RATE, "angular velocity"),
    _vector(r"omega_dot ω̇ \dot\omega_{#}", GROWTH, "angular acceleration"),
    _vector(
        r"v_dot v̇ \dot v_{#}",
        ACCELERATION,
        "acceleration of the frame's origin",
        "origin_acceleration",
    ),
)
CENTER = _vector(r"v_dot_C v̇_C \dot v_{C_{#}}", ACCELERATION, "acceleration of the centre of mass")
BODY_WRENCH = (
    _vector("F", "N", "inertial force of the link, m v̇_C"),
    _vector("N", "N m", "moment about the centre of mass, I ω̇ + ω × I ω"),
)
ABOUT_ORIGIN = (
    _vector("F", "N", "inertial force of the link, m a + U h"),
    _vector("N", "N m", "moment about the frame's origin that goes with F", "moment_about_origin"),
)
JOINT = (
    _vector("f", "N", "force of the joint on its link", "joint_force"),
    _vector("n", "N m", f"moment of the joint on its link {ABOUT_JOINT}", "joint_moment"),
)
SUMS = (
    _vector("P", "N", "sum of the forces of this link and all beyond"),
    _vector("L", "N m", f"sum of their moments {ABOUT_JOINT}"),
)
IN_WORLD = (
    _term("R_0 R R_{#}", (3, 3), "", "rotation of the link's frame in the world", "world_rotation"),
    _term(
        "d", (3,), "m", f"from the parent frame's origin to this one's, {WORLD}", "offset_in_world"
    ),
    *map(_in_world, (*MOTION, CENTER, *BODY_WRENCH, *JOINT)),
)
TWISTS = (
    _term("V", (6,), TWIST, f"twist of the link's frame, (linear, angular), {LINK}", "twist"),
    _term(r"V_dot V̇ \dot V_{#}", (6,), TWIST_RATE, f"rate of the twist, {LINK}", "twist"),
    _term(
        "F", (6,), WRENCH, f"wrench of the joint on its link {ABOUT_JOINT}, {LINK}", "joint_wrench"
    ),
)
ADJOINT = _term(
    r"Ad Ad \mathrm{Ad}_{#}", (6, 6), "", "Ad of g⁻¹, g the link's pose in its parent's", "adjoint"
)
W_4X4 = (
    _term("W", (4, 4), "m", "pose of the link's frame in the world", "world_pose"),
    _term(r"W_dot Ẇ \dot W_{#}", (4, 4), "1/s, m/s", "its rate", "world_pose"),
    _term(r"W_ddot Ẅ \ddot W_{#}", (4, 4), "1/s^2, m/s^2", "the rate of its rate", "world_pose"),
)
COMPOSITE_4X4 = (
    _term("D", (4, 4), "N m, N", "Σ J Ẅᵀ of this link and all beyond, in its frame", "composite"),
    _term("c", (4,), "kg m, kg", "first moments and mass likewise", "composite", "potential"),
)
W_3X3 = (
    _term("W", (3, 3), "", "rotation of the link's frame in the world", "world_rotation"),
    _term(r"W_dot Ẇ \dot W_{#}", (3, 3), "1/s", "its rate", "world_rotation"),
    _term(r"W_ddot Ẅ \ddot W_{#}", (3, 3), "1/s^2", "the rate of its rate", "world_rotation"),
    _term(
        r"p_ddot p̈ \ddot p_{#}",
        (3,),
        ACCELERATION,
        f"acceleration of the frame's origin, {WORLD}",
        "origin_acceleration_by_matrix",
    ),
    _term(
        "D", (3, 3), "N m", "moments of this link and all beyond, as a matrix", "composite_moments"
    ),
    _term("e", (3,), "N", f"sum of their forces, {WORLD}", "unchanged"),
    _term("M", (), "kg", "mass of this link and all beyond", "unchanged", "potential"),
    _term("c", (3,), "kg m", "their first moments, in its frame", "first_moments", "potential"),
)
U = _term("U", (3, 3), "1/s^2", "ω̇^ + ω^ω^: a point at r accelerates with v̇ + U r", "matrix")
A = _term("A", (4, 4), "m", "pose of the link's frame in its parent's", "pose_in_parent")

TERMS: Mapping[str, tuple[Term, ...]] = {  # by formulation of inverse dynamics
    "newton_euler": (*FRAME, *MOTION, U, *ABOUT_ORIGIN, *JOINT),
    "craig": (*FRAME, *MOTION, CENTER, *BODY_WRENCH, *JOINT),
    "silver": (*FRAME, *MOTION, CENTER, *BODY_WRENCH, *SUMS),
    "newton_euler_base": IN_WORLD,
    "newton_euler_mixed": (*IN_WORLD[:5], *MOTION, *ABOUT_ORIGIN, *JOINT),
    "screw": (ADJOINT, *TWISTS),
    "operator": TWISTS,
    "hollerbach_4x4": (A, *W_4X4, *COMPOSITE_4X4),
    "hollerbach_3x3": (*FRAME, *W_3X3),
    "uicker_kahn": W_4X4,
}
