"""Words for singular postures: what the axes of joints have in common, and what is lost by it."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-3  # of a singular value beside the largest
SMALL = 1e-3  # of a part of a wrench that is not worth saying
PITCH = 1e-6  # m per rad below which a screw is a turn
ROUNDING = 1e-9  # of a share of a twist that is none
NEAR_SINGULAR = 1e3  # condition of the constraints beyond which a stall is theirs


def reason(
    screws: np.ndarray, names: list[str], frame: str, place: np.ndarray | None, tolerance: float
) -> str:
    """Why the screws (6, k) of these joints, along world axes, are dependent.

    Where only the position of the frame counts, `place` (3,) is where it is.
    """
    who, said = listed(names), ""
    omega, v = screws[3:], screws[:3]
    rates = np.linalg.norm(omega, axis=0)
    if (rates > ROUNDING).all():
        axes, v = omega / rates, v / rates
        if np.abs(np.einsum("ik,ik->k", axes, v)).max() < PITCH:
            lines = Lines(axes, np.cross(axes.T, v.T).T)  # the points nearest to the origin
            if place is not None:
                said = _at(lines, place, f"{frame!r}", names, tolerance)
            else:
                said = _together(lines, who, tolerance) or _wrist(lines, names, tolerance)
    elif not (rates > ROUNDING).any() and rank_of(v, tolerance) < len(names):
        said = f"{who} slide {'along one line' if len(names) == 2 else 'in one plane'}"
    return said or f"the motions of {who} there are dependent"


class Lines(NamedTuple):
    """Lines in space: unit directions (3, k) and a point of each (3, k)."""

    axes: np.ndarray
    points: np.ndarray

    def of(self, chosen: list[int]) -> Lines:
        """Some of them."""
        return Lines(self.axes[:, chosen], self.points[:, chosen])

    def meeting(self) -> tuple[np.ndarray, float]:
        """The point (3,) nearest to all lines, and how far off the farthest is."""
        across = [np.eye(3) - np.outer(a, a) for a in self.axes.T]
        pairs = list(zip(across, self.points.T, strict=True))
        centre = np.linalg.lstsq(sum(across), sum(P @ x for P, x in pairs), rcond=None)[0]
        return centre, max(float(np.linalg.norm(P @ (x - centre))) for P, x in pairs)

    def near(self, tolerance: float) -> float:
        """What counts as no distance, m."""
        return tolerance * max(1.0, float(np.abs(self.points).max()))


def _together(lines: Lines, who: str, tolerance: float) -> str:
    """What all the lines have in common."""
    near = lines.near(tolerance)
    if rank_of(lines.axes, tolerance) == 1:
        apart = lines.points - lines.points[:, :1]
        if np.abs(apart).max() < near:
            return f"the axes of {who} are one line"
        flat = np.linalg.svd(apart, compute_uv=False)[1] < near
        where = " and in one plane (stretched or folded)" if flat else ""
        return f"the axes of {who} are parallel{where}"
    if lines.meeting()[1] < near:
        flat = rank_of(lines.axes, tolerance) == 2
        where = " and lie in one plane" if flat else ""
        return f"the axes of {who} meet in one point{where}"
    return ""


def _wrist(lines: Lines, names: list[str], tolerance: float) -> str:
    """Three axes that meet in a point, which has come into the plane of two others."""
    if len(names) != 5:
        return ""
    for hand in combinations(range(5), 3):
        centre, off = lines.of(list(hand)).meeting()
        rest = [k for k in range(5) if k not in hand]
        who = f"the point where the axes of {listed([names[k] for k in hand])} meet"
        said = _at(lines.of(rest), centre, who, [names[k] for k in rest], tolerance)
        if said and off < lines.near(tolerance):
            return said
    return ""


def _at(lines: Lines, point: np.ndarray, who: str, names: list[str], tolerance: float) -> str:
    """A point on one line, or in the plane of two: turns about them move it one way only."""
    near, whose = lines.near(tolerance), listed(names)
    if len(names) == 1:
        off = np.linalg.norm(np.cross(lines.axes[:, 0], point - lines.points[:, 0]))
        return f"{who} is on the axis of {whose}" if off < near else ""
    if len(names) != 2:
        return ""
    (a, b), (p, r) = lines.axes.T, lines.points.T
    normal = np.cross(a, b)
    if np.linalg.norm(normal) < tolerance:  # parallel
        normal = np.cross(a, r - p)
    normal = normal / max(float(np.linalg.norm(normal)), ROUNDING)
    flat = max(abs(normal @ (r - p)), abs(normal @ (point - p))) < near
    return f"{who} is in the plane of the axes of {whose}" if flat else ""


def rank_of(A: np.ndarray, tolerance: float) -> int:
    """Singular values above `tolerance` of the largest."""
    sizes = np.linalg.svd(A, compute_uv=False)
    return int((sizes > tolerance * max(sizes.max(initial=0.0), 1e-300)).sum())


def direction(wrench: np.ndarray, length: float) -> str:
    """What a frame cannot do any more, from the wrench (6,) that nobody feels."""
    f, m = wrench[:3], wrench[3:]
    pushes, twists = np.linalg.norm(f) * length, np.linalg.norm(m)
    if twists < SMALL * pushes:
        return f"move along {_triple(f)}"
    if pushes < SMALL * twists:
        return f"turn about {_triple(m)}"
    return f"move along {_triple(f)} without turning, nor turn about {_triple(m)} without moving"


def _triple(x: np.ndarray) -> str:
    unit = np.round(x / np.linalg.norm(x), 3) + 0.0
    return f"({', '.join(f'{value:.3g}' for value in unit)})"


def listed(names: list[str]) -> str:
    """'a', 'b' and 'c'."""
    shown = [repr(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def dead_point(system: Any, q: np.ndarray) -> str:
    """That a posture is singular, in words; nothing where it is not."""
    looked = getattr(system, "mobility", None)
    found = looked(q) if callable(looked) else None
    if found is None or (found.condition < NEAR_SINGULAR and not found.singular):
        return ""
    return (
        f"q = {np.round(q, 6).tolist()} is at or near a singular posture (a dead point) of "
        f"{system.name}: its constraints lose rank there, and the motion behind it is not "
        "determined. End the run before it, or start on the branch that is meant"
    )
