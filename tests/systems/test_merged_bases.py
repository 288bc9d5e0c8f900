"""Bodies fixed to a robot's base go along when that base is attached to another robot."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.serialization import model_from_text, model_text
from dalembert.spatial import pose, rotation_from_rpy

GRIPPER = """<robot name="gripper">
  <link name="palm"><inertial><origin xyz="0.01 0.02 0.05" rpy="0.3 0 0.2"/><mass value="1.2"/>
      <inertia ixx="0.01" iyy="0.012" izz="0.008" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
  <link name="camera"><inertial><origin xyz="0 0 0.01"/><mass value="0.3"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="0.02"/></geometry></visual></link>
  <joint name="mount" type="fixed"><parent link="palm"/><child link="camera"/>
    <origin xyz="0.1 0 0" rpy="0.3 0.1 0.5"/></joint>
  <link name="finger"><inertial><origin xyz="0 0 0.01"/><mass value="0.1"/>
      <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="palm"/><child link="finger"/>
    <axis xyz="0 1 0"/><origin xyz="0 0.02 0.1"/>
    <limit lower="0" upper="0.04" effort="1" velocity="1"/></joint>
</robot>"""
TOTAL = 1.2 + 0.3  # kg, of palm and camera
AT = pose(rotation_from_rpy([0.3, -0.7, 1.1]), [0.2, -0.1, 0.4])
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def gripper():
    return dl.Robot.from_urdf(GRIPPER)


def mass_of(robot):
    return sum(float(body.mass) for body in robot.model.tree.bodies)


@pytest.mark.skipif(sys.platform == "win32", reason="Pinocchio has no wheel for Windows")
@pytest.mark.parametrize("name", ["ur5", "planar_2r"])
def test_arm_and_gripper_are_those_of_pinocchio(name):
    """M, gravity, bias and the poses of the second base's links, after `appendModel`."""
    import pinocchio as pin

    arm = dl.load(name)
    both = arm.merge(gripper())
    first, second = (pin.buildModelFromXML(x) for x in (arm.to_urdf(), GRIPPER))
    first.gravity.linear = arm.model.gravity
    at = first.getFrameId("tool")
    merged = pin.appendModel(first, second, at, pin.SE3.Identity())
    data, rng = merged.createData(), np.random.default_rng(3)
    for _ in range(3):
        q, v = rng.uniform(-1, 1, both.nq), rng.uniform(-1, 1, both.nv)
        seat = np.concatenate([_circle(j, q) for j in _joints_of(merged, both)])
        np.testing.assert_allclose(
            both.mass_matrix(q), _full(pin.crba(merged, data, seat)), **TIGHT
        )
        np.testing.assert_allclose(both.bias(q, v), pin.nle(merged, data, seat, v), **TIGHT)
        pin.framesForwardKinematics(merged, data, seat)
        for link in ("palm", "camera", "finger"):
            expected = data.oMf[merged.getFrameId(link)].homogeneous
            np.testing.assert_allclose(both.pose(q, frame=link), expected, **TIGHT)


def _joints_of(merged, both):
    """(place in our q, whether Pinocchio writes a cosine and a sine), in Pinocchio's order."""
    indices = {name: k for k, name in enumerate(both.coordinates)}
    return [
        (indices[n], j.nq == 2) for n, j in zip(merged.names[1:], merged.joints[1:], strict=True)
    ]


def _circle(joint, q):
    point, turns = joint
    return np.array([np.cos(q[point]), np.sin(q[point])]) if turns else q[[point]]


def _full(upper):
    return np.triu(upper) + np.triu(upper, 1).T


MOVING_BASES = {
    "as it is": lambda robot: robot,
    "pickled": lambda robot: pickle.loads(pickle.dumps(robot)),
    "stored": lambda robot: type(robot)(model_from_text(model_text(robot.model))),
    "URDF": lambda robot: dl.Robot.from_urdf(robot.to_urdf()),
    "MJCF": lambda robot: dl.Robot.from_mjcf(robot.to_mjcf()),
    "moved and back": lambda robot: robot.with_base(AT).with_base(np.eye(4)),
}


@pytest.mark.parametrize("how", MOVING_BASES)
def test_what_is_fixed_to_a_base_is_kept(how):
    """A gripper weighs the same, however it was changed before it is attached."""
    arm = dl.load("ur5")
    built = arm.merge(MOVING_BASES[how](gripper()), prefix="x_")
    expected = arm.merge(gripper())
    q = np.array([0.1, -1.0, 1.0, 0.3, 0.4, 0.5, 0.01])
    np.testing.assert_allclose(built.gravity_torque(q), expected.gravity_torque(q), atol=1e-9)
    assert mass_of(built) - mass_of(arm) >= TOTAL + 0.1 - 1e-12


def test_a_locked_joint_and_a_cut_leave_their_mass_on_the_base():
    """The bodies behind a locked first joint, and the link a subtree is cut at, go along."""
    chain = dl.load("ur5")
    locked, cut = chain.with_joint_locked("shoulder_pan_joint", 0.3), chain.subtree("forearm_link")
    assert float(locked.model.fixed.mass) == pytest.approx(float(chain.model.bodies[0].mass))
    assert float(cut.model.fixed.mass) == pytest.approx(float(chain.model.bodies[2].mass))
    arm = dl.load("planar_2r").with_gravity((0.0, 0.0, -9.81))
    both = arm.merge(chain, prefix="b_").with_joint_locked("b_shoulder_pan_joint", 0.3)
    other = arm.merge(locked, prefix="b_")
    q = np.linspace(-1, 1, both.nq)
    np.testing.assert_allclose(both.mass_matrix(q), other.mass_matrix(q), **TIGHT)


def test_a_parameter_on_the_base_is_found_again():
    rows = [
        {"name": "palm", "joint": {"type": "fixed"}, "mass": dl.Parameter("palm_mass", 1.5)},
        {"name": "finger", "parent": "palm", "mass": 0.1, "inertia": 1e-4 * np.eye(3)},
    ]
    both = dl.load("pendulum").merge(dl.Robot.from_links(rows))
    assert list(both.named_parameters) == ["palm_mass"]
    heavier = both.gravity_torque([0.5, 0.0], parameters={"palm_mass": 2.5})
    change = heavier - both.gravity_torque([0.5, 0.0])
    weight = dl.load("pendulum").with_payload(1.0).gravity_torque([0.5])
    expected = weight - dl.load("pendulum").gravity_torque([0.5])
    np.testing.assert_allclose(change, [expected[0], 0.0], **TIGHT)


def test_visuals_of_both_bases_stay():
    """Shapes on the links of the second base; the first's world keeps its own."""
    floor = "<geom type='box' size='1 1 0.01' contype='0'/>"
    arm = dl.Robot.from_mjcf(
        f"<mujoco><worldbody>{floor}<body name='a'><joint name='j'/>"
        "<geom type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>"
    )
    both = arm.merge(gripper())
    assert [look.link for look in both.notes.visuals] == [None, "a", "palm", "camera"]
    assert [look.link for look in gripper().merge(arm).notes.visuals] == [
        *("palm", "camera"),
        *("robot_base", "a"),
    ]


def test_lifted_weight_and_fluid_of_a_base_go_along():
    """MuJoCo's gravcomp and drag of a body that is fixed to the world."""
    palm = (
        "<mujoco><option density='1000'/><worldbody><body name='palm' {lift}>"
        "<geom type='box' size='0.1 0.2 0.3' mass='2'/><body name='finger' pos='0 0 0.3'>"
        "<joint name='f'/><geom type='sphere' size='0.01' mass='0.1'/></body></body>"
        "</worldbody></mujoco>"
    )
    arm = dl.load("pendulum")
    lifted, plain = (
        arm.merge(dl.Robot.from_mjcf(palm.format(lift=x))) for x in ("gravcomp='1'", "")
    )
    q, qd = np.array([0.7, 0.0]), np.array([1.0, 0.0])
    torque = [r.inverse_dynamics(q, 0 * qd, 0 * qd)[0] for r in (lifted, plain)]
    alone = arm.with_payload(0.1, frame="tool").gravity_torque([0.7])[0]
    assert torque[0] == pytest.approx(alone, rel=0.2) and torque[1] > 2 * torque[0]
    moving, still = plain.inverse_dynamics(q, qd, 0 * qd), plain.inverse_dynamics(q, 0 * qd, 0 * qd)
    assert moving[0] - still[0] > 100.0  # N m: a box of 0.4 x 0.6 m² through water at 1 m/s
