"""Where every frame is, how it moves, and its Jacobians (000 p.21–22)."""

from __future__ import annotations

from functools import reduce

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.parts.sweeps import outward, transforms
from dalembert.model import Body, Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Matrix, Pose, Twist, Vector, Vector3
from dalembert.spatial.se3 import IDENTITY, Motion, Placement

EXPRESSED_IN = ("body", "spatial", "world")


def body_poses(model: Model, q: Vector) -> list[Placement]:
    """(R, p) of every body frame in the world."""
    placements = transforms(model, q)
    return outward(model, IDENTITY, lambda i, body, parent: parent.then(placements[i]))


def body_twists(model: Model, q: Vector, qd: Vector, base: Motion | None = None) -> list[Motion]:
    """(v, ω) of every body, in its own frame; `base` is the twist of the base where it moves."""
    placements = transforms(model, q)
    return outward(
        model,
        Motion.zero() if base is None else base,
        lambda i, body, parent: (
            placements[i].act_inv(parent) + Motion.of(body.subspace @ qd[body.v])
        ),
    )


def frame_pose(model: Model, poses: list[Placement], name: str) -> Placement:
    """(R, p) of a named frame in the world."""
    frame = model.frame(name)
    parent = poses[frame.body] if frame.body >= 0 else IDENTITY
    return parent.then(frame.placement)


def frames_apart(model: Model, q: Vector, a: str, b: str) -> tuple[Placement, Placement, Placement]:
    """(R, p) of the nearest body that carries both frames, in the world, and of a and b in it.

    The joints that carry that body do not enter the two placements, not even as terms that cancel.
    """
    frames = (model.frame(a), model.frame(b))
    first, second = (model.supports[f.body] if f.body >= 0 else () for f in frames)
    shared = [i for i in first if i in second]
    lines = (shared, first[len(shared) :], second[len(shared) :])
    transforms_along = ([model.bodies[i].transform(q) for i in line] for line in lines)
    carrier, *apart = (reduce(Placement.then, line, IDENTITY) for line in transforms_along)
    ends = [last.then(frame.placement) for last, frame in zip(apart, frames, strict=True)]
    return carrier, ends[0], ends[1]


def pose(model: Model, q: Vector, frame: str = "tool") -> Pose:
    """The (4, 4) pose of a named frame in the world."""
    return se3.pose(*frame_pose(model, body_poses(model, q), frame))


def integrate(model: Model, q: Vector, step: Vector) -> Vector:
    """q (nq,) moved by the velocity `step` (nv,) for unit time, each joint on its own manifold."""
    return model.integrate(q, step)


def difference(model: Model, q: Vector, to: Vector) -> Vector:
    """The step (nv,) with integrate(q, step) = to, for each joint the shortest one."""
    return model.difference(q, to)


def jacobian(model: Model, q: Vector, frame: str = "tool", expressed_in: str = "body") -> Matrix:
    """J (6, nv) with V = J q̇ the twist (linear, angular) of a named frame.

    "body": the body twist, in the frame itself; "spatial": the spatial twist, about the world's
    origin; "world": velocity of the frame's origin and angular velocity, along the world's axes.
    """
    poses = body_poses(model, q)
    R_f, p_f = frame_pose(model, poses, frame)
    _check_view(expressed_in)
    about = np.zeros(3) if expressed_in == "spatial" else p_f
    columns = columns_about(model, poses, model.frame(frame).body, about)
    if expressed_in == "body":
        columns = [np.concatenate([R_f.T @ c[0:3], R_f.T @ c[3:6]]) for c in columns]
    return np.stack(columns).T


def _check_view(expressed_in: str) -> None:
    """Raise unless `expressed_in` is one of the three views of a twist."""
    if expressed_in not in EXPRESSED_IN:
        raise UnknownNameError(f"expressed_in={expressed_in!r} must be one of {EXPRESSED_IN}")


def columns_about(model: Model, poses: list[Placement], body: int, about: Vector3) -> list[Twist]:
    """Per velocity coordinate the (6,) twist at the point `about`, along the world's axes."""
    support = model.supports[body] if body >= 0 else ()
    columns: list[Twist] = []
    for i, link in enumerate(model.bodies):
        body_frame = Placement(poses[i].R, poses[i].p - about)
        for k in range(link.chart.nv):
            if i not in support:
                columns.append(np.zeros(6))
                continue
            columns.append(body_frame.act(Motion.of(link.subspace[:, k])).array)
    return columns


def jacobian_rate(
    model: Model, q: Vector, qd: Vector, frame: str = "tool", expressed_in: str = "body"
) -> Matrix:
    """dJ/dt (6, nv) along q̇, for the same three views as `jacobian`.

    A joint's twist is fixed in its own body, which moves: with spatial twists, the column j of J has
    the rate [V_j, J_j], V_j the spatial twist of body j.
    """
    poses = body_poses(model, q)
    columns = columns_about(model, poses, model.frame(frame).body, np.zeros(3))
    own_columns = columns_of_all(model, poses)

    def step(i: int, body: Body, parent: Twist) -> Twist:
        terms = [own_columns[v] * qd[v] for v in range(body.v.start, body.v.stop)]
        result: Twist = parent + sum(terms[1:], terms[0])
        return result

    twists = outward(model, np.zeros(6), step)
    owners = [i for i, body in enumerate(model.bodies) for _ in range(body.chart.nv)]
    rates = [se3.bracket(twists[i], c) for i, c in zip(owners, columns, strict=True)]
    J, J_dot = np.stack(columns).T, np.stack(rates).T
    _check_view(expressed_in)
    if expressed_in == "spatial":
        return J_dot
    R_f, p_f = frame_pose(model, poses, frame)
    V = J @ qd
    if expressed_in == "body":
        # J_b = Ad_{g⁻¹} J_s, and d/dt Ad_{g⁻¹} = −Ad_{g⁻¹} ad_{V_s}
        return se3.Ad_inv(se3.pose(R_f, p_f)) @ (J_dot - se3.ad(V) @ J)
    # J_w = [v + ω × p, ω]: its rate adds ω × ṗ
    p_dot = V[0:3] + np.cross(V[3:6], p_f)
    shifted = [
        np.concatenate([r[0:3] + np.cross(r[3:6], p_f) + np.cross(c[3:6], p_dot), r[3:6]])
        for r, c in zip(rates, columns, strict=True)
    ]
    return np.stack(shifted).T


def columns_of_all(model: Model, poses: list[Placement]) -> list[Twist]:
    """Spatial twist of every velocity coordinate, whichever body it belongs to."""
    columns: list[Twist] = []
    for link, body_frame in zip(model.bodies, poses, strict=True):
        for k in range(link.chart.nv):
            columns.append(body_frame.act(Motion.of(link.subspace[:, k])).array)
    return columns
