"""Free-body diagrams against λ, for every planar joint."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.errors import FormulationError
from dalembert.mechanisms.motions import Sine
from dalembert.mechanisms.newtonian import free_bodies


def train() -> PlanarMechanism:
    """Two wheels, a rack on a slide, a welded arm, a slotted lever on a rod."""
    return (
        PlanarMechanism("train")
        .body("a", 1.0, 0.1)
        .body("b", 2.0, 0.3, at=(0.5, 0.0))
        .body("rack", 3.0, 0.1, at=(0.5, -0.3))
        .body("arm", 1.0, 0.1, at=(0.2, 0.3), angle=0.4)
        .body("lever", 0.7, 0.05, at=(1.2, 0.4), angle=0.3)
        .revolute("A", "ground", "a")
        .revolute("B", ("ground", (0.5, 0.0)), "b")
        .gear("g", "a", "b", (0.2, 0.3))
        .prismatic("P", "ground", "rack", direction=0.0)
        .rack("r", "rack", "b", direction=0.0, radius=0.3)
        .rigid("w", "b", "arm", at=(0.5, 0.0))
        .revolute("L", ("ground", (1.5, 0.1)), ("lever", (0.3, -0.3)))
        .point_on_line("slot", "lever", "arm", direction=2.0, at=(0.1, 0.5))
        .force("f", "arm", (3.0, 4.0), 1.0)
        .force("h", ("lever", (0.1, 0.0)), (1.0, -2.0), follows=True)
        .spring("s", on="P", stiffness=50.0, damping=2.0)
        .drive("D", "A", Sine(0.0, 0.3, 1.0))
    )


def test_every_joint_of_a_train() -> None:
    mechanism = train().assemble()
    assert mechanism.mobility == 1 and mechanism.freedoms() == 0
    state = mechanism.inverse_dynamics(0.3)
    diagram = free_bodies(state)
    for joint, on in (("A", "a"), ("B", "b"), ("L", "lever"), ("w", "arm")):
        np.testing.assert_allclose(diagram.force(joint, on), state.force(joint, on), atol=1e-9)
    assert abs(diagram["D"] - state.torque("D")) < 1e-10
    assert abs(diagram["w.M"] - state.moment("w", "arm")) < 1e-9
    np.testing.assert_allclose([diagram["P.N"], diagram["P.M"]], state.effort("P"), atol=1e-9)
    np.testing.assert_allclose(diagram["r"], state.effort("r")[0], atol=1e-9)
    # the gear's measure runs against the tangent on which its tooth force is drawn
    np.testing.assert_allclose(diagram["g"], -state.effort("g")[0], atol=1e-9)


def test_the_teeth_push_on_the_bearings() -> None:
    """A tooth force at the pitch point: on its wheel it is balanced by the pin."""
    mechanism = (
        PlanarMechanism(gravity=(0.0, 0.0))
        .body("a", 1.0, 0.1)
        .body("b", 1.0, 0.2, at=(1.0, 0.0))
        .revolute("A", "ground", "a")
        .revolute("B", ("ground", (1.0, 0.0)), "b")
        .gear("g", "a", "b", (0.4, 0.6))
        .torque("load", "b", -6.0)
        .drive("D", "A", Sine(0.0, 0.0, 1.0))
    )
    state = mechanism.inverse_dynamics(0.0)
    assert abs(state.torque("D") - -4.0) < 1e-12  # 6 N m at 0.6 m, seen at 0.4 m
    np.testing.assert_allclose(np.abs(state.force("B", "b")), [0.0, 10.0], atol=1e-12)
    np.testing.assert_allclose(state.force("A", "a"), -state.force("B", "b"), atol=1e-12)


def test_only_in_the_plane() -> None:
    mechanism = (
        SpatialMechanism().body("b", 1.0, (1, 1, 1)).spherical("s", "ground", "b", at=(0, 0, 1))
    )
    with pytest.raises(FormulationError, match="planar"):
        free_bodies(mechanism.forward_dynamics())
