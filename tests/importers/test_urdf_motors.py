"""Simple transmissions of a URDF are motors with names, reductions and limits."""

import numpy as np

import dalembert as dl

SIMPLE = "<type>transmission_interface/SimpleTransmission</type>"


def text(*transmissions: str) -> str:
    link = (
        '<inertial><origin xyz="0 0 0.3"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        'ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0 0 {k}"/><axis xyz="0 1 0"/>'
        f'<limit lower="-2" upper="2" effort="{20 * k}" velocity="1"/></joint>'
        for k in range(3)
    )
    links = "".join(f'<link name="l{k}">{link if k else ""}</link>' for k in range(4))
    return f'<robot name="arm">{links}{joints}{"".join(transmissions)}</robot>'


def simple(name: str, joint: str, inside: str = "", motor: str = "m") -> str:
    actuator = f'<actuator name="{motor}">{inside}</actuator>'
    return f'<transmission name="{name}">{SIMPLE}<joint name="{joint}"/>{actuator}</transmission>'


def test_motors_have_the_reduction_of_their_gear_and_the_effort_of_their_joint():
    half = "<mechanicalReduction>50</mechanicalReduction>"
    robot = dl.Robot.from_urdf(text(simple("t0", "j0", half), simple("t1", "j1", motor="m1")))
    assert robot.actuators == ("m", "m1")
    np.testing.assert_array_equal(robot.transmission(np.zeros(3)), [[50, 0, 0], [0, 1, 0]])
    # an effort of zero, as many files have it, says nothing; of j1 it is 20 N m
    tau = robot.actuator_forces(np.zeros(3), np.zeros(3), [2.0, 30.0])
    np.testing.assert_array_equal(tau, [100.0, 20.0, 0.0])
    again = dl.Robot.from_urdf(robot.to_urdf())
    assert again.actuators == robot.actuators
    np.testing.assert_array_equal(again.transmission(np.zeros(3)), [[50, 0, 0], [0, 1, 0]])


def test_what_is_no_simple_motor_is_counted_and_refuses_nothing():
    other = simple("t", "j0").replace("Simple", "Differential")
    bad = simple("t2", "j2", "<mechanicalReduction>fast</mechanicalReduction>")
    same = simple("t3", "j1")
    robot = dl.Robot.from_urdf(text(other, bad, same, simple("t4", "gone")))
    assert robot.actuators == ("m", "m_2") and "transmission (2)" in robot.notes.ignored
    assert any("reduction is taken as 1" in line for line in robot.notes.warnings)


def test_rotors_alone_are_no_motors():
    rotor = simple("t", "j1", "<motorInertia>0.1</motorInertia>").replace(SIMPLE, "")
    robot = dl.Robot.from_urdf(text(rotor))
    assert robot.actuators == () and robot.model.drive.rotor[1] == 0.1
    assert dl.Robot.from_urdf(robot.to_urdf()).actuators == ()


def test_a_follower_may_have_the_motor():
    loaded = text(simple("t", "j2")).replace(
        '<origin xyz="0 0 2"/>', '<mimic joint="j1" multiplier="-2"/><origin xyz="0 0 2"/>'
    )
    robot = dl.Robot.from_urdf(loaded)
    np.testing.assert_array_equal(robot.transmission([0.0, 0.0]), [[0.0, -2.0]])
