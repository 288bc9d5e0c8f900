"""Random mechanisms with every kind of joint, for the laws that hold for all of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dalembert.model import Joint, Link, Model, build
from dalembert.model.elements import (
    Anchor,
    Ballast,
    Drag,
    Elements,
    Lift,
    Segment,
    Spring,
    Submerged,
    Tendon,
    Wrap,
)
from dalembert.spatial import exp_se3, point_masses

# joints whose bodies have one coordinate each, as the matrix formulations need them
SCREW_KINDS = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "fixed")
KINDS = (*SCREW_KINDS, "spherical", "free")
ODD = ("massless", "point", "rod")

seeds = st.integers(0, 2**32 - 1)


def random_model(
    rng: np.random.Generator,
    kinds: Sequence[str] = KINDS,
    n: int = 6,
    tree: bool = True,
    drives: bool = True,
) -> Model:
    """A mechanism of `n` links, a chain or a tree, with joints of the given kinds.

    Base, joint and link frames, tool, gravity and drives are all general. Some links between others
    are massless, point masses or thin rods; M(q) stays regular at almost every posture.
    """
    moving = [kind for kind in kinds if kind != "fixed"]
    chosen = [str(rng.choice(kinds if i else moving)) for i in range(n)]
    parents = [-1, *(int(rng.integers(i // 2 - 1, i)) if tree else i - 1 for i in range(1, n))]
    shapes = _shapes(rng, chosen, parents)
    links = [
        Link(
            name=f"link{i}",
            parent=f"link{parents[i]}" if parents[i] >= 0 else None,
            joint=_joint(rng, chosen[i], f"joint{i}", drives),
            frame=random_pose(rng),
            **_inertia(rng, shapes[i]),
        )
        for i in range(n)
    ]
    return build(
        links,
        name="random",
        base=random_pose(rng),
        tool=random_pose(rng),
        tool_link=f"link{int(rng.integers(n // 2, n))}",
        gravity=rng.normal(scale=6.0, size=3),
    )


def with_elements(model: Model, rng: np.random.Generator) -> Model:
    """The mechanism with a spring and drag in every joint, lifted weights and three tendons."""
    bodies = model.bodies
    rest = model.integrate(model.neutral(), rng.uniform(-1.0, 1.0, model.nv))
    single = [i for i, body in enumerate(bodies) if body.chart.nq == 1]
    over = tuple(int(i) for i in rng.choice(single, min(2, len(single)), replace=False))
    forces = {"stiffness": rng.uniform(0.5, 2.0, 3), "damping": rng.uniform(0.1, 0.5, 2)}
    ends = [Anchor(int(i), rng.normal(size=3)) for i in rng.integers(-1, len(bodies), 6)]
    ball = Wrap("sphere", int(rng.integers(len(bodies))), np.eye(3), rng.normal(size=3), 0.3)
    formulation = (Segment(ends[0], ends[1]), Segment(ends[2], ends[3], 0.5))
    tendons = (
        Tendon(
            "belt",
            over,
            rng.normal(size=len(over)),
            rest=np.array([-0.1, 0.1]),
            armature=rng.uniform(0.1, 0.5, 1),
            **forces,
        ),
        Tendon(
            "string",
            segments=formulation,
            rest=np.array([1.0, 1.0]),
            armature=rng.uniform(0.1, 0.5, 1),
            **forces,
        ),
        Tendon("sling", segments=(Segment(ends[4], ends[5], around=ball),), **forces),
    )
    elements = Elements(
        tuple(Spring(i, rng.uniform(0.5, 3.0, 1 + i % 3), rest[b.q]) for i, b in enumerate(bodies)),
        tuple(Drag(i, rng.uniform(0.0, 0.3, 2)) for i in range(len(bodies))),
        tuple(Lift(i, rng.uniform(), rng.normal(size=3)) for i in range(0, len(bodies), 2)),
        tendons,
        tuple(Ballast(i, rng.uniform()) for i, b in enumerate(bodies) if b.chart.nq == 7),
        tuple(
            Submerged(i, np.eye(3), rng.normal(size=3), rng.uniform(0.1, 0.4, 3), 2.0, 0.3)
            for i in range(1, len(bodies), 2)
        ),
    )
    return replace(model, elements=elements)


def random_state(model: Model, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """q (nq,), qd (nv,), qdd (nv,): any angle, unit quaternions, velocities of order one."""
    q = model.integrate(model.neutral(), rng.uniform(-np.pi, np.pi, model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def random_motion(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A wrench at the tool and a base in motion, as the optional inputs of inverse dynamics."""
    names = ("tip_wrench", "base_twist", "base_acceleration")
    return {name: rng.normal(size=6) for name in names}


def random_pose(rng: np.random.Generator) -> np.ndarray:
    """A pose (4, 4) with any rotation, its origin within about a metre."""
    return exp_se3(np.concatenate([rng.normal(scale=0.4, size=3), rng.normal(size=3)]))


def _joint(rng: np.random.Generator, kind: str, name: str, drives: bool) -> Joint:
    first, second = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    driven: dict[str, Any] = {}
    if drives and kind != "fixed":
        driven = {
            "viscous": rng.uniform(0.0, 0.5),
            "coulomb": (rng.uniform(0.0, 0.5), -rng.uniform(0.0, 0.5)),
            "rotor_inertia": rng.uniform(0.0, 1e-2),
            "gear_ratio": rng.uniform(-5.0, 5.0),
        }
    return Joint(
        kind=kind,
        name=name,
        axis=first,
        axis2=second if kind == "universal" else None,
        pitch=rng.normal(scale=0.3) if kind == "helical" else 0.0,
        origin=random_pose(rng),
        offset=rng.normal() if kind in ("revolute", "prismatic", "helical") else 0.0,
        **driven,
    )


def _shapes(rng: np.random.Generator, kinds: list[str], parents: list[int]) -> list[str]:
    """Which links are odd: single-degree ones, each with ordinary links beyond it.

    A free joint beyond a massless link would leave that link's joint without any inertia.
    """
    shapes = ["ordinary"] * len(kinds)
    for i, kind in enumerate(kinds):
        beyond = [kinds[k] for k, parent in enumerate(parents) if parent == i]
        able = kind in ("revolute", "prismatic", "helical") and beyond and "free" not in beyond
        follows = parents[i] >= 0 and shapes[parents[i]] != "ordinary"
        if able and not follows and "fixed" not in (*beyond, kind) and rng.random() < 0.5:
            shapes[i] = str(rng.choice(ODD))
    return shapes


def _inertia(rng: np.random.Generator, shape: str) -> dict[str, Any]:
    if shape == "massless":
        return {}
    # an ordinary body is a cloud of particles: every physical tensor is one
    count = {"point": 1, "rod": 2}.get(shape, 5)
    masses, points = rng.uniform(0.2, 1.0, count), rng.normal(scale=0.3, size=(count, 3))
    mass, com, tensor = point_masses(masses, points)
    return {"mass": mass, "com": com, "inertia": tensor}
