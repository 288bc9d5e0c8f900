"""Arms whose inverse kinematics decomposes into subproblems: all configurations for a pose.

With G = T M⁻¹ the equation of an arm is E₁ E₂ … E₆ = G. Two kinds of three joints in a row leave
equations for the other three:

- three axes that meet in a point P (Pieper 1968): what they do leaves P in place;
- three parallel axes: what they do leaves their direction, and heights along it, in place.

Both give two equations, linear in (cos α, sin α) of one joint and (cos β, sin β) of another. Where two
neighbouring axes are parallel or meet, one of the equations has only one of the angles, and everything
is solved by square roots; else by a quartic (`subproblems.two_circles`). An arm in reverse is an arm
again, which leaves two positions of each kind. Arms with fewer joints get further ones that must come
out at zero. The residual of the equation decides about each candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.inverse_kinematics.geometry import SAME, SerialChain
from dalembert.formulations.inverse_kinematics.subproblems import (
    UNDETERMINED,
    Angle,
    Functional,
    Locus,
    Root,
    across,
    discriminant,
    locus,
    on_circle,
    planar,
    rotated,
    turning,
    two_circles,
    wrist,
)
from dalembert.spatial.arrays import Matrix3, Pose, Scalar, Vector3
from dalembert.spatial.se3 import pose

Value = Angle | Scalar


class Motion(NamedTuple):
    """A rigid motion x ↦ R x + t."""

    R: Matrix3
    t: Vector3

    def act(self, x: Vector3) -> Vector3:
        """The point it takes x to."""
        return self.R @ x + self.t

    def inverse(self) -> Motion:
        """The motion back."""
        return Motion(self.R.T, -(self.R.T @ self.t))


class Candidate(NamedTuple):
    """Values of all joints, and the least margin on the path to them."""

    values: tuple[Value, ...]
    margin: Scalar


Solver = Callable[..., list[Candidate]]
Arm = tuple[Solver, str]  # and how it is solved


@dataclass(frozen=True, eq=False)
class Decomposition:
    """How the equation of an arm is solved; `solve` is one pure function of the pose.

    Examples
    --------
    >>> import dalembert as dl
    >>> from dalembert.formulations.inverse_kinematics.geometry import serial_chain
    >>> arm = dl.load("puma560")
    >>> chain, entries = serial_chain(arm.dynamics)
    >>> puma = decomposition(chain)
    >>> print(puma.text)
    axes 4, 5, 6 meet; joints 1, 3, 2 place their point, by square roots (axes 2 and 3 are parallel)
    >>> q, residual, margin = puma.solutions(arm.pose([0.3, 0.4, -0.5, 0.6, 0.7, 0.8]))
    >>> q.shape, bool((residual < 1e-14).all())
    ((8, 6), True)
    """

    chain: SerialChain
    solve: Solver
    text: str

    def solutions(self, T: Pose, *more: Scalar) -> tuple[Any, Any, Any]:
        """q (K, n), the residual (K,) of the pose, rad and parts of the size, and margins (K,).

        The residual is the largest entry of (E₁ … Eₕ)⁻¹ G − Eₕ₊₁ … Eₙ. Angles are within ±π.
        """
        chain = self.chain
        R = T[:3, :3] @ chain.tool[:3, :3].T
        G = Motion(R, T[:3, 3] - R @ chain.tool[:3, 3])
        rows, residuals, margins = [], [], []
        for candidate in self.solve(G, *more):
            values = candidate.values[: chain.n]
            half = chain.n // 2
            left, right = G, _moved(chain, values, half)
            for i in range(half):
                left = _undone(chain, i, values[i], left)
            apart = [*(left.R - right.R).ravel(), *((left.t - right.t) / chain.size)]
            worst = abs(apart[0])
            for x in apart[1:]:
                worst = np.maximum(worst, abs(x))
            rows.append(np.stack([_coordinate(x) for x in values]))
            residuals.append(worst)
            margins.append(candidate.margin)
        return np.stack(rows), np.stack(residuals), np.stack(margins)


def _coordinate(value: Value) -> Scalar:
    return np.arctan2(value[1], value[0]) if isinstance(value, tuple) else value


def _back(value: Value) -> Value:
    """The value of the joint that moves back."""
    return (value[0], -value[1]) if isinstance(value, tuple) else -value


def _undone(chain: SerialChain, i: int, value: Value, motion: Motion) -> Motion:
    """E_i⁻¹ after a motion."""
    k, p = chain.directions[i], chain.points[i]
    if not isinstance(value, tuple):
        return Motion(motion.R, motion.t - value * k)
    back = (value[0], -value[1])
    return Motion(rotated(k, back, motion.R), p + rotated(k, back, motion.t - p))


def _moved(chain: SerialChain, values: tuple[Value, ...], first: int) -> Motion:
    """E_first … Eₙ."""
    motion = Motion(np.eye(3), np.zeros(3))
    for i in reversed(range(first, chain.n)):
        k, p, value = chain.directions[i], chain.points[i], values[i]
        if isinstance(value, tuple):
            motion = Motion(rotated(k, value, motion.R), p + rotated(k, value, motion.t - p))
        else:
            motion = Motion(motion.R, motion.t + value * k)
    return motion


def _rotation_left(chain: SerialChain, joints: list[tuple[int, Value]], R: Matrix3) -> Matrix3:
    """Rotations of joints, the last of the list first, applied to R."""
    for i, value in reversed(joints):
        if isinstance(value, tuple):
            R = rotated(chain.directions[i], value, R)
    return R


# one joint in the middle takes a point of one locus to a point of another


class _Placement(NamedTuple):
    """Which functionals place a point by joints a, b, c, in the order in which they are solved."""

    functionals: tuple[Functional, Functional]
    blind: str  # the joint that the first functional leaves out
    relation: str
    axis: Vector3 | None  # of that joint, where it meets the axis of b

    def roots(self, x: Locus, y: Locus, scale: float) -> Iterator[tuple[Root, Root]]:
        """Values of the joints of the two loci, for which the functionals agree."""
        first, second = self.functionals
        if not self.blind:
            assert x.w is not None and y.w is not None
            A, B, constants = [], [], []
            for functional, by in (
                (first, scale),
                (second, scale**2 if second.point is not None else scale),
            ):
                a1, a2, a0 = functional.on(x)
                b1, b2, b0 = functional.on(y)
                A += [a1 / by, a2 / by]
                B += [-b1 / by, -b2 / by]
                constants.append((b0 - a0) / by)
            yield from two_circles(tuple(A), tuple(B), (constants[0], constants[1]))
            return
        # the locus that the first functional sees is solved first
        one, other = (y, x) if self.blind == "a" else (x, y)
        origin = other.centre + other.u
        for r in first.roots(one, first.of(origin), _scale(first, scale)):
            point = one.at(r.value)
            height, square = second.of(point), None
            if self.axis is not None and first.point is not None:
                away = point - first.point
                e1, e2 = across(second.normal)
                wide = (e1 @ away) ** 2 + (e2 @ away) ** 2
                along = self.axis @ (origin - first.point)
                above = second.normal @ away
                cosine = float(self.axis @ second.normal)
                square = discriminant(cosine, wide, along, above) / scale**2
            for s in second.roots(other, height, _scale(second, scale), square):
                yield (s, r) if self.blind == "a" else (r, s)


def _placement(chain: SerialChain, a: int | None, b: int, c: int) -> _Placement:
    """How joints a, b, c place a point: functionals that joint b leaves unchanged, one of them without
    a or without c where their axes allow that.

    With a None the locus of a is moved by the target, and has no structure.
    """
    kb, pb = chain.directions[b], chain.points[b]
    if chain.prismatic[b]:
        e1, e2 = across(kb)
        for joint, name in ((c, "c"), (a, "a")):
            if joint is None:
                continue
            k = chain.directions[joint]
            if chain.prismatic[joint]:
                n = np.cross(kb, k)
                blind = np.linalg.norm(n) > chain.tolerance
            else:
                n, blind = k, abs(k @ kb) <= chain.tolerance
            if blind:
                n = n / np.linalg.norm(n)
                n = n - kb * (n @ kb)
                return _Placement(
                    (Functional(n), Functional(np.cross(kb, n))), name, "at right angles", None
                )
        return _Placement((Functional(e1), Functional(e2)), "", "", None)
    for joint, name in ((c, "c"), (a, "a")):
        if joint is None:
            continue
        k = chain.directions[joint]
        if chain.prismatic[joint]:
            if abs(k @ kb) <= chain.tolerance:
                return _Placement(
                    (Functional(kb), Functional(kb, pb)), name, "at right angles", None
                )
        elif chain.parallel(b, joint):
            return _Placement((Functional(kb), Functional(kb, pb)), name, "parallel", None)
        else:
            point = chain.meeting_point((joint, b))
            if point is not None:
                return _Placement((Functional(kb, point), Functional(kb)), name, "meeting", k)
    return _Placement((Functional(kb), Functional(kb, pb)), "", "", None)


def _scale(functional: Functional, size: float) -> float:
    """What makes its equation a number without a unit."""
    return size if functional.point is None else size * size


def _least(*margins: Scalar) -> Scalar:
    worst = margins[0]
    for margin in margins[1:]:
        if not (isinstance(margin, float) and margin >= 1.0):
            worst = np.minimum(worst, margin)
    return worst


def _middle_value(chain: SerialChain, b: int, x: Vector3, y: Vector3) -> Root:
    """The value of joint b that takes y to x."""
    k, p = chain.directions[b], chain.points[b]
    if chain.prismatic[b]:
        return Root(k @ (x - y), 1.0)
    return turning(k, (y - p) / chain.size, (x - p) / chain.size)


# three axes that meet


def _meeting_last(chain: SerialChain) -> Arm | None:
    """Axes 4, 5, 6 meet in P: E₁⁻¹ (G P) = E₂ (E₃ P)."""
    P = chain.meeting_point((3, 4, 5))
    if P is None or not _is_wrist(chain, 3):
        return None
    placement = _placement(chain, 0, 1, 2)
    if not placement.blind and chain.prismatic[:3].any():
        return None
    axes = _axes(chain, 3)

    def solve(G: Motion) -> list[Candidate]:
        x = locus(-chain.directions[0], chain.points[0], chain.prismatic[0], G.act(P))
        y = locus(chain.directions[2], chain.points[2], chain.prismatic[2], P)
        candidates = []
        for a, c in placement.roots(x, y, chain.size):
            b = _middle_value(chain, 1, x.at(a.value), y.at(c.value))
            arm = (a.value, b.value, c.value)
            Q = _rotation_left(chain, [(i, _back(arm[i])) for i in (2, 1, 0)], G.R)
            for turns in wrist(axes, Q):
                margin = _least(a.margin, b.margin, c.margin, turns[1].margin)
                candidates.append(Candidate((*arm, *(r.value for r in turns)), margin))
        return candidates

    return solve, _placed(placement, (1, 2, 3), (4, 5, 6))


def _meeting_inside(chain: SerialChain) -> Arm | None:
    """Axes 2, 3, 4 meet in P: E₆ (G⁻¹ E₁ P) = E₅⁻¹ P."""
    P = chain.meeting_point((1, 2, 3))
    if P is None or not _is_wrist(chain, 1):
        return None
    placement = _placement(chain, None, 5, 4)
    if not placement.blind and chain.prismatic[[0, 4, 5]].any():
        return None
    axes = _axes(chain, 1)

    def solve(G: Motion) -> list[Candidate]:
        back = G.inverse()
        own = locus(chain.directions[0], chain.points[0], chain.prismatic[0], P)
        w = None if own.w is None else back.R @ own.w
        x = Locus(back.act(own.centre), back.R @ own.u, w)
        y = locus(-chain.directions[4], chain.points[4], chain.prismatic[4], P)
        candidates = []
        for a, c in placement.roots(x, y, chain.size):
            b = _middle_value(chain, 5, y.at(c.value), x.at(a.value))
            R5 = _rotation_left(chain, [(5, b.value), (4, c.value)][::-1], np.eye(3))
            Q = _rotation_left(chain, [(0, _back(a.value))], G.R @ R5.T)
            for turns in wrist(axes, Q):
                margin = _least(a.margin, b.margin, c.margin, turns[1].margin)
                inner = (r.value for r in turns)
                candidates.append(Candidate((a.value, *inner, c.value, b.value), margin))
        return candidates

    return solve, _placed(placement, (1, 6, 5), (2, 3, 4))


def _is_wrist(chain: SerialChain, first: int) -> bool:
    """Whether neighbours among three axes that meet are not parallel."""
    return not (chain.parallel(first, first + 1) or chain.parallel(first + 1, first + 2))


def _axes(chain: SerialChain, first: int) -> tuple[Vector3, Vector3, Vector3]:
    a, b, c = chain.directions[first : first + 3]
    return a, b, c


def _placed(placement: _Placement, arm: tuple[int, ...], meeting: tuple[int, ...]) -> str:
    a, b, c = arm
    text = f"axes {', '.join(map(str, meeting))} meet; joints {a}, {c}, {b} place their point, by "
    if not placement.blind:
        return text + "a quartic"
    pair = sorted((b, a if placement.blind == "a" else c))
    relation = {"meeting": "meet", "parallel": "are parallel"}.get(
        placement.relation, f"are {placement.relation}"
    )
    return text + f"square roots (axes {pair[0]} and {pair[1]} {relation})"


# three parallel axes


def _parallel_inside(chain: SerialChain) -> Arm | None:
    """Axes 2, 3, 4 are parallel to k: with g = R_Gᵀ E₁ k and h = E₅⁻¹ k

    E₆ g = h, and (E₁ k)·(G p₆ − p₁) + h·(p₅ − p₆) = k·(p₅ − p₁) for the heights of E₅'s axis.
    """
    if not _are_parallel(chain, 1) or chain.prismatic[[0, 4, 5]].any():
        return None
    k, k6 = chain.directions[1], chain.directions[5]
    p1, p5, p6 = chain.points[[0, 4, 5]]
    point = chain.meeting_point((4, 5))
    if point is not None:
        p5 = p6 = point
    turns = locus(chain.directions[0], np.zeros(3), False, k)
    bends = locus(-chain.directions[4], np.zeros(3), False, k)
    assert turns.w is not None and bends.w is not None

    def solve(G: Motion) -> list[Candidate]:
        r = (G.act(p6) - p1) / chain.size
        first = (turns.u @ r, turns.w @ r)
        along = (k @ (p5 - p1)) / chain.size - turns.centre @ r
        f = G.R @ k6  # k₆·g = (E₁ k)·f
        pairs: list[tuple[Root, Root]] = []
        if point is not None:
            for a in on_circle(*first, along):
                g = G.R.T @ turns.at(a.value)
                pairs += [(a, e) for e in _bent(bends, chain.directions[4], k6, g)]
        else:
            offset = (p5 - p6) / chain.size
            A = (*first, turns.u @ f, turns.w @ f)
            B = (bends.u @ offset, bends.w @ offset, -(bends.u @ k6), -(bends.w @ k6))
            d = (along - bends.centre @ offset, bends.centre @ k6 - turns.centre @ f)
            pairs = two_circles(A, B, d)
        candidates = []
        for a, e in pairs:
            g, h = G.R.T @ turns.at(a.value), bends.at(e.value)
            last = turning(k6, g, h)
            inner = _undone(chain, 0, a.value, _after(chain, G, [(5, last.value), (4, e.value)]))
            for values, margin in _planar(chain, (1, 2, 3), inner):
                joints = (a.value, *values, e.value, last.value)
                candidates.append(Candidate(joints, _least(a.margin, e.margin, margin)))
        return candidates

    how = "square roots (axes 5 and 6 meet)" if point is not None else "a quartic"
    return solve, f"axes 2, 3, 4 are parallel; joints 1, 5, 6 turn their plane, by {how}"


def _parallel_first(chain: SerialChain) -> Arm | None:
    """Axes 1, 2, 3 are parallel to k: with v = R_Gᵀ k and h = E₄⁻¹ k

    E₅ (E₆ v) = h, and k·t_G + v·p₆ + (E₆ v)·(p₅ − p₆) + h·(p₄ − p₅) = k·p₄ for heights of E₄'s axis.
    """
    if not _are_parallel(chain, 0) or chain.prismatic[3:].any():
        return None
    k, k5, k6 = chain.directions[0], chain.directions[4], chain.directions[5]
    p4, p5, p6 = chain.points[3:]
    before, after = chain.meeting_point((3, 4)), chain.meeting_point((4, 5))
    if before is not None:
        p4 = p5 = before
    elif after is not None:
        p5 = p6 = after
    bends = locus(-chain.directions[3], np.zeros(3), False, k)
    assert bends.w is not None

    def solve(G: Motion) -> list[Candidate]:
        v = G.R.T @ k
        turns = locus(k6, np.zeros(3), False, v)
        assert turns.w is not None
        known = (k @ p4 - k @ G.t - v @ p6) / chain.size
        near, far = (p5 - p6) / chain.size, (p4 - p5) / chain.size
        pairs: list[tuple[Root, Root]] = []
        if before is not None:  # the last joint alone
            for a in on_circle(turns.u @ near, turns.w @ near, known - turns.centre @ near):
                y = turns.at(a.value)
                pairs += [(a, e) for e in _bent(bends, chain.directions[3], k5, y)]
        elif after is not None:  # the fourth alone
            for e in on_circle(bends.u @ far, bends.w @ far, known - bends.centre @ far):
                pairs += [(a, e) for a in _bent(turns, k6, k5, bends.at(e.value))]
        else:
            A = (turns.u @ near, turns.w @ near, turns.u @ k5, turns.w @ k5)
            B = (bends.u @ far, bends.w @ far, -(bends.u @ k5), -(bends.w @ k5))
            d = (
                known - turns.centre @ near - bends.centre @ far,
                bends.centre @ k5 - turns.centre @ k5,
            )
            pairs = two_circles(A, B, d)
        candidates = []
        for a, e in pairs:
            fifth = turning(k5, turns.at(a.value), bends.at(e.value))
            inner = _after(chain, G, [(5, a.value), (4, fifth.value), (3, e.value)])
            for values, margin in _planar(chain, (0, 1, 2), inner):
                joints = (*values, e.value, fifth.value, a.value)
                least = _least(a.margin, e.margin, fifth.margin, margin)
                candidates.append(Candidate(joints, least))
        return candidates

    pair = "4 and 5" if before is not None else "5 and 6" if after is not None else ""
    how = f"square roots (axes {pair} meet)" if pair else "a quartic"
    return solve, f"axes 1, 2, 3 are parallel; joints 4, 5, 6 turn their plane, by {how}"


def _bent(circle: Locus, axis: Vector3, pole: Vector3, y: Vector3) -> list[Root]:
    """Points of a circle of unit vectors about an axis at which pole·x = pole·y of a unit vector y."""
    assert circle.w is not None
    e1, e2 = across(pole)
    height, wide = pole @ y, (e1 @ y) ** 2 + (e2 @ y) ** 2
    square = discriminant(float(axis @ pole), wide, axis @ circle.at((1.0, 0.0)), height)
    a1, a2 = pole @ circle.u, pole @ circle.w
    return on_circle(a1, a2, height - pole @ circle.centre, square)


def _after(chain: SerialChain, G: Motion, joints: list[tuple[int, Value]]) -> Motion:
    """G E₆⁻¹ E₅⁻¹ …, for joints in this order."""
    R, t = G
    for i, value in joints:
        k, p = chain.directions[i], chain.points[i]
        if isinstance(value, tuple):
            # R x + t with x ↦ p + E⁻¹ (x − p): rows of R turned forth
            turned = rotated(k, value, R.T).T
            R, t = turned, t + (R - turned) @ p
        else:
            t = t - value * (R @ k)
    return Motion(R, t)


def _are_parallel(chain: SerialChain, first: int) -> bool:
    """Whether three joints in a row turn about parallel axes in one direction or opposite ones."""
    i, j, k = range(first, first + 3)
    return not chain.prismatic[[i, j, k]].any() and chain.parallel(i, j) and chain.parallel(i, k)


def _planar(
    chain: SerialChain, joints: tuple[int, int, int], motion: Motion
) -> list[tuple[tuple[Value, ...], Scalar]]:
    """Values of three parallel joints, which may turn in opposite directions, and their margin."""
    k = chain.directions[joints[0]]
    p1, p2, p3 = chain.points[list(joints)]
    opposite = chain.directions[list(joints)] @ k < 0.0
    solutions = []
    for three in planar(k, (p1, p2, p3), motion.R, motion.t, chain.size):
        values = tuple(
            _back(r.value) if against else r.value
            for r, against in zip(three, opposite, strict=True)
        )
        solutions.append((values, _least(*(r.margin for r in three))))
    return solutions


def _in_plane(chain: SerialChain) -> Arm | None:
    """At most three parallel joints that turn, and one that slides along them: it goes first.

    A slide along the axes commutes with the turns.
    """
    turning_joints, sliding = np.flatnonzero(~chain.prismatic), np.flatnonzero(chain.prismatic)
    if not 1 <= len(turning_joints) <= 3 or len(sliding) > 1:
        return None
    if not all(chain.parallel(0, j) for j in range(1, chain.n)):
        return None
    k = chain.directions[turning_joints[0]]
    missing = 3 - len(turning_joints)  # joints beside the last, which must stay at zero
    e1, _ = across(k)
    last = chain.points[turning_joints[-1]]
    beside = [last + (j + 1) * chain.size * e1 for j in range(missing)]
    full = replace(
        chain,
        directions=np.stack([*chain.directions[turning_joints], *[k] * missing]),
        points=np.stack([*chain.points[turning_joints], *beside]),
        prismatic=np.zeros(3, dtype=bool),
    )

    def solve(G: Motion) -> list[Candidate]:
        by = {}
        if len(sliding):
            (j,) = sliding
            d = k @ (G.act(full.points[2]) - full.points[2])
            G = Motion(G.R, G.t - d * k)
            by[int(j)] = d * float(chain.directions[j] @ k)
        candidates = []
        for values, margin in _planar(full, (0, 1, 2), G):
            joints = by | dict(zip(turning_joints.tolist(), values, strict=False))
            candidates.append(Candidate(tuple(joints[i] for i in range(chain.n)), margin))
        return candidates

    return solve, "all axes are parallel; a triangle in the plane across them, by a square root"


def with_swivel(chain: SerialChain) -> Decomposition | None:
    """An arm of seven joints whose first three and last three axes meet, with its swivel angle.

    With the shoulder S and the wrist W, |E₄ W − S| = |G W − S| determines the elbow. The swivel angle
    ψ is that of the elbow about the line from S to G W, from the half-plane in which the first axis
    points (Shimizu et al. 2008). The direction to the wrist and that of the elbow across it are then
    known, and with them the rotations of the shoulder and of the wrist.
    """
    if chain.n != 7 or chain.prismatic.any():
        return None
    S, W = chain.meeting_point((0, 1, 2)), chain.meeting_point((4, 5, 6))
    if S is None or W is None or not (_is_wrist(chain, 0) and _is_wrist(chain, 4)):
        return None
    k1, k4, p4 = chain.directions[0], chain.directions[3], chain.points[3]
    elbow = (p4 + k4 * (k4 @ (S - p4)) - S) / chain.size
    bend = locus(k4, p4, False, W)
    functional = Functional(k4, S)

    def solve(G: Motion, swivel: Scalar) -> list[Candidate]:
        to_wrist = G.act(W) - S
        n, c, s = _along(to_wrist), np.cos(swivel), np.sin(swivel)
        e = _along(k1 - n * (n @ k1))
        e = _along(e - n * (n @ e))
        side = c * e + s * np.cross(n, e)
        there = np.stack([n, side, np.cross(n, side)], axis=1)
        candidates = []
        for r in functional.roots(bend, to_wrist @ to_wrist, chain.size**2):
            n0 = _along(bend.at(r.value) - S)
            e0 = elbow - n0 * (n0 @ elbow)
            margin = np.minimum(r.margin, np.sqrt(e0 @ e0))
            e0 = _along(e0)
            e0 = _along(e0 - n0 * (n0 @ e0))  # twice is enough (Kahan), the elbow stretched as well
            here = np.stack([n0, e0, np.cross(n0, e0)], axis=1)
            R = there @ here.T
            Q = rotated(k4, _back(r.value), R.T @ G.R)
            for first, last in product(wrist(_axes(chain, 0), R), wrist(_axes(chain, 4), Q)):
                least = _least(margin, first[1].margin, last[1].margin)
                values = (*(x.value for x in first), r.value, *(x.value for x in last))
                candidates.append(Candidate(values, least))
        return candidates

    text = "axes 1, 2, 3 and 5, 6, 7 meet; joint 4 by the distance, the others by the swivel angle"
    return Decomposition(chain, solve, text)


def swivel_angle(chain: SerialChain, q: np.ndarray) -> np.ndarray:
    """(...) the swivel angle of `with_swivel` at configurations q (..., 7), rad."""
    return swivel_and_gradient(chain, q)[0]


def swivel_and_gradient(chain: SerialChain, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The swivel angle ψ (...) at q (..., 7), and ∂ψ/∂q (..., 7).

    ψ is the angle about n = w / |w| from the first axis a to the elbow b, both taken across n. Its
    derivative by b is (n × b⊥) / |b⊥|², by a the same with the other sign, and by w what makes ψ
    indifferent to rotations of all three: −g_w × w = a × g_a + b × g_b.
    """
    S, W = chain.meeting_point((0, 1, 2)), chain.meeting_point((4, 5, 6))
    a, k4, p4 = chain.directions[0], chain.directions[3], chain.points[3]
    assert S is not None and W is not None
    (b, J_b), (w, J_w) = (
        chain.part(slice(count), pose(None, point)).pose_and_jacobian(q[..., :count])
        for count, point in ((3, p4 + k4 * (k4 @ (S - p4))), (4, W))
    )
    b, w = b[..., :3, 3] - S, w[..., :3, 3] - S
    length = np.linalg.norm(w, axis=-1, keepdims=True)
    n = w / length
    a_across, b_across = (x - n * np.sum(n * x, axis=-1, keepdims=True) for x in (a, b))
    turned = np.cross(n, b_across)
    angle = np.arctan2(
        np.sum(np.cross(n, a_across) * b_across, -1), np.sum(a_across * b_across, -1)
    )
    wide_a, wide_b = (
        np.maximum(np.sum(x * x, axis=-1, keepdims=True), UNDETERMINED)
        for x in (a_across, b_across)
    )
    g_b, g_a = turned / wide_b, -np.cross(n, a_across) / wide_a
    g_w = np.cross(w, np.cross(a, g_a) + np.cross(b, g_b)) / length**2
    gradient = np.zeros(q.shape)
    gradient[..., :3] = np.einsum("...i,...ij->...j", g_b, J_b[..., :3, :])
    gradient[..., :4] += np.einsum("...i,...ij->...j", g_w, J_w[..., :3, :])
    return angle, gradient


def _along(x: Vector3) -> Vector3:
    square = x @ x
    there = square > UNDETERMINED
    return np.where(there, x / np.sqrt(np.where(there, square, 1.0)), np.eye(3)[0])


SOLVERS = (_parallel_inside, _parallel_first, _meeting_last, _meeting_inside)


def _reversed(arm: Arm, n: int) -> Arm:
    """The arm, from the solution of its reverse."""
    solve, text = arm
    numbers = str.maketrans("".join(map(str, range(1, n + 1))), "".join(map(str, range(n, 0, -1))))

    def solve_back(G: Motion) -> list[Candidate]:
        return [Candidate(c.values[::-1], c.margin) for c in solve(G.inverse())]

    return solve_back, "in reverse: " + text.translate(numbers)


def _with_six_joints(chain: SerialChain) -> Iterator[SerialChain]:
    """The chain with further joints beyond its last, in a few positions, which must stay at zero.

    They are at right angles to each other where it can be, so that zero is a regular position.
    """
    missing = 6 - chain.n
    if missing == 0:
        yield chain
        return
    k, p = chain.directions[-1], chain.points[-1]
    e1, e2 = across(k)
    tilted = np.array([0.36, 0.48, 0.8])
    points, first = [p], [e1, e2]
    if chain.n > 1:
        crossed = np.cross(k, chain.directions[-2])
        if np.linalg.norm(crossed) > 0.1:
            first.insert(0, crossed / np.linalg.norm(crossed))
        point = chain.meeting_point((chain.n - 2, chain.n - 1))
        if point is not None:
            points.insert(0 if missing == 1 else 1, point)
    points += [p + 0.7 * chain.size * k, p + 0.7 * chain.size * tilted]
    for point, e in product(points, [*first, np.cross(k, tilted)]):
        e = e / np.linalg.norm(e)
        f = np.cross(k, e)
        directions, at = [e, f, k][:missing], [point] * missing
        if missing > 3:  # a wrist beyond the first of them
            directions = [f] * (missing - 4) + [e] + [e, f, k]
            beside = [p + 0.3 * chain.size * e] * (missing - 3)
            at = beside + [p + chain.size * tilted] * 3
        yield replace(
            chain,
            directions=np.concatenate([chain.directions, directions]),
            points=np.concatenate([chain.points, at]),
            prismatic=np.concatenate([chain.prismatic, np.zeros(missing, dtype=bool)]),
        )


def decomposition(chain: SerialChain) -> Decomposition | None:
    """How the arm is solved, by square roots if that can be; None where its geometry is general."""
    arm = _in_plane(chain)
    if arm is not None:
        return Decomposition(chain, *arm)
    if chain.n > 6:
        return None
    arms: list[Arm] = []
    for full in _with_six_joints(chain):
        for solver in SOLVERS:
            for is_reversed in (False, True):
                arm = solver(full.inverted() if is_reversed else full)
                if arm is not None:
                    arm = _reversed(arm, 6) if is_reversed else arm
                    if _is_complete(Decomposition(chain, *arm)):
                        if "quartic" not in arm[1]:
                            return Decomposition(chain, *arm)
                        arms.append(arm)
    return Decomposition(chain, *arms[0]) if arms else None


SAMPLES = 8  # configurations at which a decomposition is tested


def _is_complete(arm: Decomposition) -> bool:
    """Whether it returns the configuration of random poses, or of most, if axes are nearly special."""
    rng, missed = np.random.default_rng(5), 0
    exact = arm.chain.tolerance <= SAME
    with np.errstate(all="ignore"):
        for _ in range(SAMPLES):
            q = np.where(arm.chain.prismatic, arm.chain.size, 3.0)
            q = q * rng.uniform(-1.0, 1.0, arm.chain.n)
            solutions, residual, _ = arm.solutions(arm.chain.pose(q))
            turns = np.where(arm.chain.prismatic, 0.0, 2.0 * np.pi)
            apart = solutions - q
            apart -= turns * np.round(apart / np.where(turns > 0.0, turns, 1.0))
            near = np.abs(apart).max(axis=1) < (1e-6 if exact else 0.05)
            missed += not (near & (residual < (1e-8 if exact else 0.05))).any()
    return missed <= (0 if exact else SAMPLES // 4)
