"""What cannot be is said with the name of the body, joint or driver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.errors import (
    CompileError,
    ConstraintError,
    ConvergenceError,
    DalembertError,
    InertiaError,
    ModelError,
    ParameterError,
    ShapeError,
    UnknownNameError,
)
from dalembert.mechanisms.motions import ConstantSpeed, Sine, Trapezoid
from dalembert.mechanisms.to_robot import robot_with_loops
from dalembert.zoo.absolute import four_bar, two_bars
from dalembert.zoo.two_bar import scenario


def rod() -> PlanarMechanism:
    return PlanarMechanism("m").body("rod", 1.0, 0.1, points={"A": (-0.5, 0.0)})


def test_bodies() -> None:
    with pytest.raises(InertiaError, match=r"'ball'.*mass 0"):
        PlanarMechanism().body("ball", 0.0, 1.0)
    with pytest.raises(InertiaError, match=r"'ball'.*inertia nan"):
        PlanarMechanism().body("ball", 1.0, math.nan)
    with pytest.raises(InertiaError, match=r"'ball'.*triangle"):
        SpatialMechanism().body("ball", 1.0, (1.0, 1.0, 3.0))
    with pytest.raises(ModelError, match=r"'rod' is there already"):
        rod().body("rod", 1.0, 1.0)
    with pytest.raises(ModelError, match=r"'a.b'"):
        rod().body("a.b", 1.0, 1.0)
    for ask in (PlanarMechanism.forward_dynamics, lambda empty: empty.simulate(1.0)):
        with pytest.raises(ConstraintError, match=r"no bodies"):
            ask(PlanarMechanism("empty"))


def test_joints() -> None:
    with pytest.raises(UnknownNameError, match=r"joint 'pin': no body 'rob'.*'rod'"):
        rod().revolute("pin", "ground", "rob")
    with pytest.raises(UnknownNameError, match=r"joint 'pin': body 'rod' has no point 'B'"):
        rod().revolute("pin", "ground", "rod.B")
    with pytest.raises(ModelError, match=r"'pin' links body 'rod' to itself"):
        rod().revolute("pin", "rod", "rod.A")
    with pytest.raises(ModelError, match=r"'r'.*positive length"):
        rod().distance("r", "ground", "rod", length=-1.0)
    with pytest.raises(ModelError, match=r"'g'.*radii"):
        rod().gear("g", "ground", "rod", (0.0, 1.0))
    with pytest.raises(ModelError, match=r"'pin': its axis is zero"):
        SpatialMechanism().body("b", 1.0, (1, 1, 1)).revolute("pin", "ground", "b", axis=(0, 0, 0))
    with pytest.raises(ModelError, match=r"'u'.*right angles"):
        SpatialMechanism().body("b", 1.0, (1, 1, 1)).universal(
            "u", "ground", "b", axes=((0, 0, 1), (0, 1, 1))
        )


def test_drivers_and_forces() -> None:
    arm = rod().revolute("pin", "ground", "rod.A")
    with pytest.raises(UnknownNameError, match=r"'D': no joint or body 'pim'.*'pin'"):
        arm.drive("D", "pim", Sine(0, 1, 1))
    with pytest.raises(ModelError, match=r"'D' needs a motion"):
        arm.drive("D", "pin", 3.0)
    with pytest.raises(CompileError, match=r"driver 'D'.*np\.sin"):
        rod().drive("D", "rod.phi", lambda t: math.sin(t)).forward_dynamics()
    with pytest.raises(DalembertError, match=r"driver 'D' has 2 rows, its motion 1"):
        rod().drive("D", "rod.A", ConstantSpeed(0.0, 1.0)).forward_dynamics()
    with pytest.raises(ModelError, match=r"'s' acts along one quantity"):
        arm.spring("s", "rod.A", stiffness=1.0)
    with pytest.raises(ModelError, match=r"ramp"):
        Trapezoid(0.0, 1.0, 1.0, ramp=0.7)
    with pytest.raises(ModelError, match=r"'F' acts on the ground"):
        arm.force("F", "ground", (1.0, 0.0))
    with pytest.raises(ParameterError, match=r"no open actuator 'x'"):
        arm.forward_dynamics(torques={"x": 1.0})
    with pytest.raises(ShapeError, match=r"q must have the shape \(3,\)"):
        arm.forward_dynamics(q=np.zeros(2), qd=np.zeros(3))


def test_what_cannot_move_as_asked() -> None:
    with pytest.raises(ConstraintError, match=r"1 motions are not driven"):
        two_bars().drive("D", "A", Sine(0, 1, 1)).inverse_dynamics(0.0)
    long = four_bar(crank=0.3)
    with pytest.raises(ConvergenceError, match=r"gap at '[ABCD]'"):
        PlanarMechanism().body("a", 1, 1).revolute("A", ("ground", (0, 0)), "a").revolute(
            "B", ("ground", (5, 0)), ("a", (1, 0))
        ).forward_dynamics()
    with pytest.raises(ConvergenceError, match=r"cannot be followed"):
        # the rocker of a crank-rocker cannot go round
        long.drive("motor", "D", ConstantSpeed(float(long.description.bodies[2].start[2]), 8.0))
        long.inverse_dynamics(1.0)


def test_a_state_off_the_constraints_is_refused() -> None:
    arm = two_bars()
    q, v = arm.start()
    with pytest.raises(ConstraintError, match=r"q misses '[AB]' by 0\.01; assemble"):
        arm.forward_dynamics(q + 0.01 * np.eye(6)[0], v)
    with pytest.raises(ConstraintError, match=r"v misses 'B' by 0\.5"):
        arm.forward_dynamics(q, v + 0.5 * np.eye(6)[4])


def test_a_driver_that_reaches_too_far_is_named() -> None:
    arm = two_bars().drive("lead", "bar3.C", ConstantSpeed((1.5, 0.3), (5.0, 0.3)))
    arm.assemble([0.3, 0.0, 0.1, 0.9, 0.3, 1.2])
    for ask in (lambda: arm.inverse_dynamics([0.0, 1.0]), lambda: arm.forward_dynamics(t=1.0)):
        with pytest.raises(ConvergenceError, match=r"driver 'lead' asks for more"):
            ask()


def test_wheels_have_whole_teeth_and_threads_a_pitch() -> None:
    pair = SpatialMechanism().body("a", 1.0, (1, 1, 1)).body("b", 1.0, (1, 1, 1), at=(1, 0, 0))
    pair.revolute("A", "ground", "a").revolute("B", "ground", "b")
    with pytest.raises(ModelError, match=r"'mesh'.*whole numbers of teeth"):
        pair.gear("mesh", "A", "B", (1.0, np.pi))
    with pytest.raises(ModelError, match=r"'thread'.*pitch"):
        pair.screw("thread", "ground", "a", pitch=0.0)
    with pytest.raises(ModelError, match=r"'r': rack takes direction, radius, phase, not radius"):
        rod().joint("rack", "r", "ground", "rod", radius=1.0)
    with pytest.raises(UnknownNameError, match=r"'r': no kind 'rak'"):
        rod().joint("rak", "r", "ground", "rod")


def test_questions_about_a_state() -> None:
    state = two_bars().forward_dynamics()
    with pytest.raises(UnknownNameError, match=r"'A' does not act on 'bar3'"):
        state.force("A", on="bar3")
    with pytest.raises(UnknownNameError, match=r"no joint, driver or force 'C'"):
        state.force("C", on="bar3")
    with pytest.raises(UnknownNameError, match=r"no point 'Q'"):
        state.point("bar3.Q")


def test_a_loose_body_and_a_gear_have_a_robot_too() -> None:
    loose = robot_with_loops(rod())
    assert loose.tree == ("rod free",) and loose.robot.nv == 3
    geared = rod().body("w", 1, 1, at=(1, 0)).revolute("A", "ground", "rod")
    geared.revolute("B", ("ground", (1, 0)), "w").gear("g", "rod", "w", (0.4, 0.6))
    assert [loop.label for loop in robot_with_loops(geared).loops] == ["g"]


@pytest.mark.parametrize("t", [math.nan, math.inf, -math.inf, [0.1, math.nan]])
def test_times_that_are_no_numbers_are_refused(t: Any) -> None:
    """A continuation towards them would never arrive."""
    mechanism = scenario("joint_interpolated").mechanism
    for ask in (mechanism.inverse_dynamics, mechanism.kinematics):
        with pytest.raises(ParameterError, match="expected a finite time t"):
            ask(t)
    if not np.ndim(t):
        for ask in (
            lambda t: mechanism.forward_dynamics(t=t),
            lambda t: mechanism.assemble(t=t),
            lambda t: mechanism.dae(t=t),
        ):
            with pytest.raises(ParameterError, match="expected a finite time t"):
                ask(t)


def test_a_time_too_far_to_be_followed_is_refused_at_once() -> None:
    with pytest.raises(ConvergenceError, match=r"t = 1e\+300 s is .* steps away"):
        scenario("joint_interpolated").mechanism.inverse_dynamics(1e300)
