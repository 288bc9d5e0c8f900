"""Springs, drag, lifted weights and tendons survive being written and read again."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ModelError
from dalembert.model.elements import Elements
from dalembert.systems.robot import Robot
from tests.importers.test_mjcf import Peer, close
from tests.oracles.test_mujoco_forces import FLUID, FORCES, PLATE


def same_dynamics(one, other, tolerance=1e-12):
    rng = np.random.default_rng(3)
    for _ in range(4):
        q = one.model.integrate(one.neutral(), rng.uniform(-1.0, 1.0, one.nv))
        qd, qdd = rng.normal(size=(2, one.nv))
        first, second = (r.reference("inverse_dynamics", q, qd, qdd) for r in (one, other))
        np.testing.assert_allclose(first, second, atol=tolerance * np.abs(first).max())


def test_forces_survive_mjcf():
    # a plate of another share is merged with its link: MuJoCo holds one share for all of it
    text = FORCES.replace('gravcomp="1.5"', "").replace(
        'name="plate" pos="0.1 0 0"', 'name="plate"'
    )
    robot = Robot.from_mjcf(text)
    back = Robot.from_mjcf(robot.to_mjcf())
    same_dynamics(robot, back)
    assert [t.name for t in back.model.tendons] == [t.name for t in robot.model.tendons]
    assert not back.notes.left_out


def test_weights_that_are_only_increased_survive_mjcf():
    """MuJoCo looks at gravcomp only if some share is positive."""
    robot = Robot.from_mjcf(
        """<mujoco><worldbody><body gravcomp="1"/><body name="a" gravcomp="-0.5">
        <joint axis="0 1 0"/><geom size=".1" pos="1 0 0" mass="2"/></body></worldbody></mujoco>"""
    )
    np.testing.assert_allclose(robot.gravity_torque([0.0]), [-1.5 * 2.0 * 9.81])
    text = robot.to_mjcf()
    again = Robot.from_mjcf(Robot.from_mjcf(text).to_mjcf())
    for back in (Robot.from_mjcf(text), again):
        same_dynamics(robot, back)
    q, qd = np.array([0.3]), np.array([0.5])
    theirs = Peer(text).dynamics(q, qd, qd, 0.0 * qd)[1]
    close(robot.reference("inverse_dynamics", q, qd, qd), theirs)


def test_a_fluid_survives_mjcf():
    robot = Robot.from_mjcf(FLUID.replace("PLATE", ""))
    same_dynamics(robot, Robot.from_mjcf(robot.to_mjcf()), 1e-9)
    merged = Robot.from_mjcf(FLUID.replace("PLATE", PLATE))
    with pytest.raises(ModelError, match="'trunk': MuJoCo's fluid acts on a whole link"):
        merged.to_mjcf()


def test_a_fluid_leaves_the_links_between_several_joints_of_a_body_alone():
    """They have no mass; MuJoCo gives them one, and would make a box of it that is metres wide."""
    robot = Robot.from_mjcf(
        """<mujoco><option density="4000" viscosity="0.1"/><worldbody><body name="torso">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
        <joint name="turn" axis="0 0 1" ref="20"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/>
        <body pos="1 0 0"><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/>
        </body></body></worldbody></mujoco>"""
    )
    text = robot.to_mjcf()
    back = Robot.from_mjcf(text)
    same_dynamics(robot, back, 1e-9)
    assert len(back.model.elements.submerged) == 2
    q, qd = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0, -4.0])
    theirs = Peer(text).dynamics(q, qd, qd, 0.0 * qd)[1]
    close(robot.reference("inverse_dynamics", q, qd, qd), theirs)


def test_a_branch_of_a_tendon_that_begins_where_the_last_ended_is_a_branch_again():
    path = (
        """<site site="a"/><site site="b"/><pulley divisor="3"/><site site="b"/><site site="c"/>"""
    )
    robot = Robot.from_mjcf(
        f"""<mujoco><worldbody><site name="a"/><site name="c" pos="0 1 1"/><body>
        <joint axis="0 1 0"/><geom size=".1" pos="1 0 0"/><site name="b" pos="1 .2 0"/></body>
        </worldbody><tendon><spatial stiffness="9" springlength=".1">{path}</spatial></tendon>
        </mujoco>"""
    )
    text = robot.to_mjcf()
    assert text.count("<pulley") == 1
    same_dynamics(robot, Robot.from_mjcf(text))


@pytest.mark.parametrize("geom", ['type="sphere" size=".2"', 'type="capsule" size=".1 .4"'])
def test_boxes_in_a_fluid_keep_axes_that_their_inertia_does_not_tell(geom):
    """Two moments are equal, and drag along the axes of a square box is not that along others."""
    robot = Robot.from_mjcf(
        f"""<mujoco><option density="900"/><worldbody><body><freejoint/>
        <geom {geom} pos=".1 .2 .3" euler="20 40 70"/></body></worldbody></mujoco>"""
    )
    same_dynamics(robot, Robot.from_mjcf(robot.to_mjcf()), 1e-9)


def test_rotors_of_free_joints_are_no_ballast_after_a_round_trip():
    trunk = {"name": "trunk", "mass": 1.0, "com": [0.1, 0.2, 0.3], "inertia": np.eye(3)}
    for ballast in (True, False):
        joint = {"type": "free", "rotor_inertia": 0.4, "ballast": ballast}
        robot = dl.Robot.from_links([{**trunk, "joint": joint}])
        back = Robot.from_mjcf(robot.to_mjcf())
        same_dynamics(robot, back)
        assert bool(back.model.elements.ballasts) is ballast


def test_springs_and_drag_of_joints_survive_urdf():
    link = {"name": "bob", "mass": 2.0, "com": [0.0, 0.1, -0.5], "inertia": np.eye(3)}
    joint = {"axis": [0, 1, 0], "stiffness": [3.0, 0.2], "rest": 0.4, "drag": [0.1, 0.2]}
    robot = dl.Robot.from_links([{**link, "joint": joint}])
    same_dynamics(robot, Robot.from_urdf(robot.to_urdf()))


def test_springs_that_gazebo_reads_are_read():
    text = """<robot name="r"><link name="base"/><link name="a"><inertial><origin xyz="0 0 1"/>
      <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
      </joint><gazebo reference="a"><mu1>0.2</mu1></gazebo>GAZEBO</robot>"""
    spring = "<springStiffness>4</springStiffness><springReference>0.3</springReference>"
    numbers = f'<gazebo reference="j">{spring}</gazebo>'
    bare, sprung = (Robot.from_urdf(text.replace("GAZEBO", g)) for g in ("", numbers))
    extra = sprung.gravity_torque([0.8]) - bare.gravity_torque([0.8])
    np.testing.assert_allclose(extra, [2.0], rtol=1e-13)


def test_what_a_format_cannot_hold_is_said():
    robot = Robot.from_mjcf(FORCES)
    with pytest.raises(ModelError, match="URDF has no tendons, lifted weights, springs of free"):
        robot.to_urdf()
    with pytest.raises(ModelError, match=r"'arm'.*lifts a share of the whole link"):
        robot.to_mjcf()
    bare = Robot(replace(robot.model, elements=Elements()))
    same_dynamics(bare, Robot.from_mjcf(bare.to_mjcf()))
