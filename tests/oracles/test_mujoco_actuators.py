"""Actuators against MuJoCo: lengths, moment arms, forces, rates of activations, for every kind."""

import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulationError, ModelError, UnknownNameError
from tests.oracles.mujoco_twin import Twin

EXACT = 1e-12  # beside the largest number; both compute the same sums in another order

BODIES = """
<mujoco><option timestep="0.01"/><worldbody>
  <site name="still" pos="0.1 0.2 0.3" euler="20 30 40"/>
  <body name="trunk"><freejoint name="root"/><geom type="box" size=".1 .2 .3" pos=".02 0 0"/>
    <site name="on_trunk" pos=".1 .1 .1" euler="50 0 20"/>
    <body name="arm" pos=".3 0 0"><joint name="ball" type="ball"/><geom type="box" size=".1 .1 .3"/>
      <body name="hand" pos=".3 .1 0"><joint name="hinge" axis="1 1 0" ref="10" RANGE/>
        <geom type="capsule" size=".1 .3"/><geom name="ball" size=".2"/>
        <site name="on_hand" pos=".1 .2 .3" euler="1 2 50"/>
        <body name="rail" pos=".1 .1 .3"><joint name="slide" type="slide" axis="0 1 1"/>
          <geom type="capsule" size=".1 .3"/><site name="on_rail" pos=".1 .2 .3" euler="9 2 50"/>
        </body></body></body></body></worldbody>
<tendon>
  <fixed name="over joints" actuatorfrcrange="-2 3"><joint joint="hinge" coef="0.3"/>
    <joint joint="slide" coef="-2"/></fixed>
  <spatial name="through points"><site site="on_trunk"/><geom geom="ball"/><site site="on_rail"/>
    <pulley divisor="2"/><site site="still"/><site site="on_hand"/></spatial>
</tendon>
<actuator>ACTUATORS</actuator></mujoco>"""
CLAMPED = 'actuatorfrcrange="-20 30"'
KINDS = {
    "motor at a hinge": '<motor joint="hinge" gear="2"/>',
    "motor at a ball": '<motor joint="ball" gear="1 2 3"/>',
    "motor at a ball, in its parent": '<motor jointinparent="ball" gear="1 2 3"/>',
    "motor at a free joint": '<motor joint="root" gear="1 2 3 4 5 6"/>',
    "motor at a free joint, in the world": '<motor jointinparent="root" gear="1 2 3 4 5 6"/>',
    "thruster": '<motor site="on_hand" gear="1 2 3 4 5 6"/>',
    "between sites": '<motor site="on_hand" refsite="on_trunk" gear="1 2 3 4 5 6"/>',
    "to the world": '<motor site="on_rail" refsite="still" gear="1 2 3 4 5 6"/>',
    "along a site": '<motor site="on_rail" refsite="on_hand" gear="1 2 3 0 0 0"/>',
    "crank": '<general cranksite="on_rail" slidersite="on_trunk" cranklength="0.9" gear="2"/>',
    "crank out of reach": '<general cranksite="on_rail" slidersite="on_trunk" cranklength=".01"/>',
    "servo": '<position joint="hinge" kp="20" kv="2" ctrlrange="-1 1" forcerange="-3 4"/>',
    "filtered servo": '<position joint="hinge" kp="20" timeconst="0.3"/>',
    "servo of a ball": '<position joint="ball" kp="20" gear="1 1 0"/>',
    "filtered servo of a ball": '<position joint="ball" kp="20" gear="1 1 0" timeconst="0.3"/>',
    "filtered servo of an angle": '<position site="on_rail" refsite="still" kp="9" timeconst="0.2" '
    'gear="0 0 0 0 1 2"/>',
    "servo of an angle": '<position site="on_rail" refsite="still" kp="9" gear="0 0 0 0 1 2"/>',
    "velocity": '<velocity joint="slide" kv="3"/>',
    "integrated velocity": '<intvelocity joint="slide" kp="30" actrange="-0.5 0.5"/>',
    "damper": '<damper joint="slide" kv="3" ctrlrange="0 1"/>',
    "cylinder": '<cylinder joint="hinge" timeconst="0.2" area="2" bias="1 2 3"/>',
    "affine": '<general joint="slide" gaintype="affine" gainprm="2 3 4" biastype="affine" '
    'biasprm="1 2 3"/>',
    "early exact filter": '<general joint="slide" dyntype="filterexact" dynprm="0.05" '
    'gainprm="2" actearly="true"/>',
    "early filter": '<general joint="slide" dyntype="filter" dynprm="0.05" gainprm="2" '
    'actearly="true" actrange="-.1 .1"/>',
}
PULLING = {
    "over joints": '<position tendon="over joints" kp="4" kv="1" gear="1.5"/>',
    "through points": '<motor tendon="through points" gear="2"/>',
    "a limit that two share": '<motor tendon="over joints" gear="1.5"/>'
    '<motor tendon="over joints" forcerange="-1 1"/><motor tendon="through points"/>',
}
ALL = "".join(text.replace(" ", f' name="{name}" ', 1) for name, text in KINDS.items())


def text(actuators: str, joint: str = "") -> str:
    return BODIES.replace("ACTUATORS", actuators).replace("RANGE", joint)


def close(actual, expected) -> None:
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=EXACT * scale)


def compared(twin: Twin, rng: np.random.Generator) -> None:
    robot, d, na = twin.robot, twin.d, twin.m.na
    q, qd, _ = robot.random_state(rng)
    u, activation = 2.0 * rng.normal(size=twin.m.nu), rng.uniform(-0.1, 0.1, na)
    state = {"activation": activation} if na else {}
    twin.put(q, qd, u, activation)
    close(robot.reference("transmission", q), twin.moment)
    close(robot.reference("actuator_lengths", q), d.actuator_length)
    close(robot.reference("actuator_efforts", q, qd, u, **state), d.actuator_force)
    close(robot.reference("actuator_forces", q, qd, u, **state), twin.ours(d.qfrc_actuator))
    if na:
        close(robot.reference("activation_rate", u, activation), d.act_dot)


@pytest.mark.parametrize("kind", [*KINDS, *PULLING])
def test_every_kind_is_mujocos(kind):
    twin = Twin(text((KINDS | PULLING)[kind]))
    for seed in range(4):
        compared(twin, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.endswith(("a ball", "an angle"))])
def test_servos_of_angles_take_the_shorter_way(kind):
    """MuJoCo 4 turns filters of servos on the circle, too."""
    twin = Twin(text(KINDS[kind]))
    robot, d = twin.robot, twin.d
    q, qd, _ = robot.random_state(np.random.default_rng(5))
    for u, w in ((9.0, -8.0), (-7.0, 6.0), (5.0, 5.0)):
        state = {"activation": np.array([w])} if twin.m.na else {}
        twin.put(q, qd, np.array([u]), np.array([w] * twin.m.na))
        close(robot.reference("actuator_efforts", q, qd, np.array([u]), **state), d.actuator_force)
        if state:
            close(robot.reference("activation_rate", np.array([u]), np.array([w])), d.act_dot)


def test_all_together_with_a_limit_of_a_joint_in_batches():
    """Compiled, 50 states at once; the limit of the hinge is active in some and not in others."""
    twin, rng = Twin(text(ALL, CLAMPED)), np.random.default_rng(1)
    robot = twin.robot
    assert robot.actuators == tuple(KINDS)
    q, qd, _ = robot.random_state(rng, 50)
    u, activation = rng.normal(size=(50, len(KINDS))), rng.uniform(-0.1, 0.1, (50, twin.m.na))
    actual = robot.actuator_forces(q, qd, u, activation)
    at = robot.model.joints[2].v.start
    assert {-20.0, 30.0} < set(actual[:, at])
    for k in range(50):
        twin.put(q[k], qd[k], u[k], activation[k])
        close(actual[k], twin.ours(twin.d.qfrc_actuator))


def test_written_and_read_again_the_actuators_are_the_same():
    built = text(ALL + "".join(PULLING.values()), CLAMPED)
    robot, rng = dl.Robot.from_mjcf(built), np.random.default_rng(2)
    again = dl.Robot.from_mjcf(robot.to_mjcf())
    assert again.actuators == robot.actuators and again.activations == robot.activations
    np.testing.assert_array_equal(again.control_limits, robot.control_limits)
    q, qd, _ = robot.random_state(rng)
    u, w = rng.normal(size=len(robot.actuators)), rng.uniform(-0.1, 0.1, len(robot.activations))
    forces = (r.reference("actuator_forces", q, qd, u, activation=w) for r in (again, robot))
    close(*forces)


def test_moment_arms_are_the_slopes_of_the_lengths():
    """Virtual work: B = ∂l/∂q, where the reference does not turn and the length is no angle of 3D."""
    smooth = ("motor at a hinge", "crank", "velocity", "over joints", "through points")
    robot = dl.Robot.from_mjcf(text("".join((KINDS | PULLING)[name] for name in smooth)))
    q, _, _ = robot.random_state(np.random.default_rng(3))
    B, h = robot.reference("transmission", q), 1e-6
    for k, unit in enumerate(np.eye(robot.nv)):
        ahead, behind = (robot.model.integrate(q, s * h * unit) for s in (1, -1))
        lengths = [robot.reference("actuator_lengths", x) for x in (ahead, behind)]
        np.testing.assert_allclose((lengths[0] - lengths[1]) / (2 * h), B[:, k], atol=1e-8)


def test_an_activation_stops_at_its_range_as_in_mujocos_step():
    twin = Twin(text(KINDS["integrated velocity"]))
    q, qd, _ = twin.robot.random_state(np.random.default_rng(0))
    for start, u in ((0.5, 2.0), (-0.5, -1.0), (0.5, -1.0)):
        rate = twin.robot.reference("activation_rate", np.array([u]), np.array([start]))
        twin.put(q, qd, [u], [start])
        twin.m.opt.timestep = 1e-3
        mujoco.mj_step(twin.m, twin.d)
        np.testing.assert_allclose(start + 1e-3 * rate, twin.d.act, atol=1e-15)


def test_what_is_no_general_actuator_is_listed():
    muscle = '<muscle name="biceps" joint="hinge" lengthrange="-1 1"/>'
    built = text(muscle + '<motor name="kept" joint="hinge"/>')
    robot = dl.Robot.from_mjcf(built)
    assert robot.actuators == ("kept",)
    (left,) = robot.notes.left_out
    assert (left.what, left.name) == ("actuator", "biceps") and "muscle" in left.effect


def test_controls_by_name_and_errors_that_name_things():
    robot = dl.Robot.from_mjcf(text('<motor name="elbow" joint="hinge" gear="3"/>'))
    q, qd = robot.neutral(), np.zeros(robot.nv)
    assert robot.actuator_forces(q, qd, {"elbow": 2.0})[9] == 6.0
    with pytest.raises(UnknownNameError, match="did you mean 'elbow'"):
        robot.actuator_forces(q, qd, {"elbo": 2.0})
    with pytest.raises(FormulationError, match="none of its actuators has an activation"):
        robot.activation_rate([1.0], [0.0])
    with pytest.raises(FormulationError, match="planar_2r has no actuators"):
        dl.load("planar_2r").transmission([0.0, 0.0])
    with pytest.raises(ModelError, match="no joint 'link3_joint'; did you mean"):
        dl.load("planar_2r").with_actuators([dl.Actuator("m", "link3_joint")])
    with pytest.raises(ModelError, match="force_range of actuator 'm' must be a pair"):
        dl.Actuator("m", "hinge", force_range=(1.0, -1.0))


def test_the_filter_of_a_disabled_servo_on_a_ball_joint_is_named():
    """MuJoCo's goes the shorter direction round also where the servo is off; ours does not."""
    text = """<mujoco><option actuatorgroupdisable="3"/><worldbody>
      <body><joint type="ball" name="b"/><geom size=".1" pos=".3 0 0"/></body></worldbody><actuator>
      <position name="off" joint="b" timeconst="1" gear="0 0 1" group="3"/>
      <position name="on" joint="b" timeconst="1" gear="0 0 1"/></actuator></mujoco>"""
    robot = dl.Robot.from_mjcf(text)
    (row,) = robot.notes.left_out
    assert (row.what, row.name) == ("filter of a disabled servo", "off")
    rates = robot.activation_rate([4.0, 4.0], [0.0, 0.0])
    np.testing.assert_allclose(rates, [4.0, 4.0 - 2.0 * np.pi], atol=EXACT)


@pytest.mark.parametrize("motor", ['gear="0"', 'gear="2" group="3"'])
def test_a_motor_that_gives_nothing_limits_its_joint_to_nothing(motor):
    """Zero times an unlimited control is zero, with no warning."""
    text = f"""<mujoco><option actuatorgroupdisable="3"/><worldbody>
      <body><joint name="j"/><geom size=".1"/></body></worldbody>
      <actuator><motor joint="j" {motor}/></actuator></mujoco>"""
    assert dl.Robot.from_mjcf(text).joints[0].effort_limit == 0.0
