"""Every lower pair as a joint of a robot and as a loop, against the mechanism's own dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.errors import FormulationError
from dalembert.mechanisms.state import State
from dalembert.mechanisms.to_robot import Converted

AXIS, AT = (0.3, -0.5, 0.8), (0.6, 0.2, -0.1)
ACROSS = np.cross(AXIS, (1.0, 0.0, 0.0))
PAIRS: dict[str, dict[str, Any]] = {
    "revolute": {"axis": AXIS},
    "prismatic": {"axis": AXIS},
    "cylindrical": {"axis": AXIS},
    "screw": {"axis": AXIS, "pitch": 0.3},
    "planar": {"normal": AXIS},
    "spherical": {},
    "universal": {"axes": (AXIS, ACROSS)},
    "fixed": {},
}


def bodies(name: str) -> SpatialMechanism:
    """Two boxes, the first on a hinge."""
    tilt = np.array([0.1, -0.2, 0.3, 0.9])
    return (
        SpatialMechanism(name, gravity=(0.4, -1.0, -9.0))
        .body("a", 1.3, (0.05, 0.1, 0.12), at=(0.3, 0.1, 0.0), rotation=tilt)
        .body("b", 0.7, (0.03, 0.06, 0.05), at=(0.9, 0.4, -0.3), rotation=tilt[[1, 0, 3, 2]])
        .revolute("hinge", "ground", "a", at=(0.0, 0.0, 0.0), axis=(0.2, 1.0, 0.1))
    )


def moving(mechanism: Any, seed: int) -> State:
    """A posture and a velocity that the joints allow."""
    rng = np.random.default_rng(seed)
    q, _ = mechanism.start()
    d = mechanism.description
    for _ in range(3):  # a little way along allowed motions, so that the posture is no special one
        step = mechanism._solver.velocity(0.0, q, 0.15 * rng.normal(size=mechanism.nv))
        q = mechanism._solver.position(0.0, d.integrate(q, step))
    return mechanism.forward_dynamics(
        q, mechanism._solver.velocity(0.0, q, rng.normal(size=mechanism.nv))
    )


def accelerations(converted: Converted, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """By the equations on numbers: nothing has to be compiled for them."""
    return converted.system().dynamics.bound().motion(0.0, q, qd, np.zeros(len(qd)))[0]


def agree(mechanism: Any, seed: int = 1) -> Converted:
    state, converted = moving(mechanism, seed), mechanism.to_robot()
    q, qd, qdd = converted.coordinates(state)
    acceleration = accelerations(converted, q, qd)
    np.testing.assert_allclose(acceleration, qdd, atol=1e-8 * max(1.0, np.abs(qdd).max()))
    for name in mechanism.bodies:
        pose = converted.robot.pose(q, frame=name)
        np.testing.assert_allclose(pose[:2, 3], state.body(name)[:2], atol=1e-11)
    return converted


@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("kind", PAIRS)
def test_a_pair_in_the_tree_moves_as_in_the_mechanism(kind: str, ends: tuple[str, str]) -> None:
    mechanism = bodies(kind)
    getattr(mechanism, kind)("pair", *ends, at=AT, **PAIRS[kind])
    converted = agree(mechanism)
    assert not converted.loops
    assert converted.robot.nv == mechanism.mobility


@pytest.mark.parametrize("kind", [kind for kind in PAIRS if kind not in ("fixed", "prismatic")])
def test_a_pair_as_a_loop_moves_as_in_the_mechanism(kind: str) -> None:
    """The second body hangs on a ball; the pair closes the chain to a third on the ground."""
    mechanism = bodies(kind)
    mechanism.body("c", 0.9, (0.04, 0.05, 0.06), at=(1.2, 0.1, 0.2))
    mechanism.spherical("ball", "a", "b", at=(0.7, 0.3, -0.2))
    mechanism.spherical("foot", "ground", "c", at=(1.5, 0.0, 0.0))
    getattr(mechanism, kind)("pair", "b", "c", at=AT, **PAIRS[kind])
    converted = agree(mechanism)
    assert [loop.label for loop in converted.loops] == ["pair"]


def test_bodies_without_joints_are_free() -> None:
    apart = SpatialMechanism("apart").body("b", 1.0, (0.1, 0.2, 0.25), velocity=(1, 2, 3, 1, -2, 1))
    agree(apart.spring("k", between=("b", "ground"), stiffness=0.0, damping=0.0))
    rod = PlanarMechanism("rod").body("bob", 1.0, 1.0, at=(-0.6, 0.8))
    converted = agree(rod.distance("rod", "ground", "bob", length=1.0))
    assert converted.robot.nv == 3 and [loop.label for loop in converted.loops] == ["rod"]


def test_planar_gears_racks_and_welds_close_a_robot() -> None:
    mechanism = (
        PlanarMechanism("train")
        .body("a", 1.0, 0.02, at=(0.0, 0.0))
        .body("b", 2.0, 0.05, at=(0.3, 0.0))
        .body("tip", 0.5, 0.01, at=(0.3, 0.2), angle=0.3)
        .body("slider", 0.8, 0.1, at=(0.0, 0.1))
        .revolute("A", "ground", "a", at=(0.0, 0.0))
        .revolute("B", "ground", "b", at=(0.3, 0.0))
        .rigid("weld", "tip", "b", at=(0.3, 0.1))
        .prismatic("rail", "ground", "slider", direction=0.0)
        .gear("teeth", "a", "b", (0.1, 0.2))
        .rack("rack", "slider", "a", direction=0.0, radius=-0.1)
    )
    converted = agree(mechanism)
    assert {loop.label for loop in converted.loops} == {"teeth", "rack"}


def test_a_function_of_quaternions_is_refused_in_words() -> None:
    mechanism = bodies("own").constrain("own", ["a", "b"], lambda q: (q[0] - q[1])[:1])
    with pytest.raises(FormulationError, match="'own' is a function of quaternions"):
        mechanism.to_robot()
