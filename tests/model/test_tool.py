"""The default tool: chosen by names and structure, never by the order of links."""

import itertools

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.notes import Notes
from dalembert.model.tool import Mount, default_tool

LINK = (
    '<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="j_{1}" type="{2}"><parent link="{0}"/><child link="{1}"/><axis xyz="0 1 0"/>'
    '<origin xyz="{3}"/><limit lower="-1" upper="1" effort="1" velocity="1"/>{4}</joint>'
)
ARM = (("base", "upper", "revolute", "0 0 0"), ("upper", "hand", "revolute", "0.5 0 0"))
FINGERS = (
    ("hand", "finger_l", "prismatic", "0.1 0.05 0"),
    ("hand", "finger_r", "prismatic", "0.1 -0.05 0"),
)
TCP = ("hand", "tcp", "fixed", "0.3 0 0")


def urdf(rows, mimic=()):
    """Links in the order of their joints."""
    links = ["base", *(child for _, child, *_ in rows)]
    followed = {child: f'<mimic joint="j_{leader}"/>' for child, leader in mimic}
    joints = [JOINT.format(*row, followed.get(row[1], "")) for row in rows]
    masses = {"finger_l": 0.2, "finger_r": 0.2, "tcp": 0.0}
    text = [LINK.format(name, masses.get(name, 1.0)) for name in links]
    return f'<robot name="arm">{"".join(text)}{"".join(joints)}</robot>'


def tool(**links):
    """The default tool of links "name": (parent, kind), with "f" for joints that follow."""
    mounts = {k: Mount(parent, kind != "fixed", kind == "f") for k, (parent, kind) in links.items()}
    return default_tool(mounts)


def test_no_order_of_links_changes_the_tool_and_its_load():
    orders = list(itertools.permutations((*FINGERS, TCP)))
    robots = [dl.Robot.from_urdf(urdf((*ARM, *order))) for order in orders]
    by_name = [{"j_upper": 0.3, "j_hand": -0.4, "j_finger_l": 0.0, "j_finger_r": 0.0}] * len(orders)
    torques = [
        robot.with_payload(5.0).gravity_torque([q[name] for name in robot.coordinates])[:2]
        for robot, q in zip(robots, by_name, strict=True)
    ]
    for robot, torque in zip(robots, torques, strict=True):
        assert robot.notes.tool == "its name" and robot.notes.warnings == ()
        assert "tool at 'tcp'" in repr(robot)
        np.testing.assert_allclose(torque, torques[0], rtol=1e-12)


@pytest.mark.parametrize("mimic", [(), (("finger_r", "finger_l"),)])
def test_fingers_are_not_the_tool(mimic):
    """Without a name it is the hand that carries them, also where one finger follows the other."""
    robot = dl.Robot.from_urdf(urdf((*ARM, *FINGERS), mimic))
    assert "tool at 'hand'" in repr(robot) and "chain" in robot.notes.tool
    assert robot.notes.warnings == ()
    leaf = ("hand", "grasp", "fixed", "0.2 0 0")
    assert "tool at 'grasp'" in repr(dl.Robot.from_urdf(urdf((*ARM, leaf, *FINGERS), mimic)))


def test_structures():
    assert tool(a=(None, "r"), b=("a", "r"), mark=(None, "fixed")).name == "b"
    assert tool(a=(None, "r"), f=("a", "f"), b=("a", "r")).name == "a"  # a and two fingers
    level = {"a": (None, "r"), "b": ("a", "r"), "held": ("b", "f"), "flange": ("held", "r")}
    assert tool(**level).name == "flange"  # a palletiser's wrist follows its arm
    assert tool(a=(None, "r"), b=("a", "r"), held=("b", "f")).name == "held"
    assert tool(mark=(None, "fixed")) is None
    wheels = {f"wheel{k}": (None, "r") for k in range(4)}
    arm = {"a": (None, "r"), "b": ("a", "r"), "c": ("b", "r")}
    assert tool(**wheels, **arm).name == "c" and not tool(**wheels, **arm).others
    assert tool(**arm, ee_link=("c", "fixed"), tool0=("c", "fixed")).name == "tool0"
    assert tool(**arm, wrist_tcp=("c", "fixed"), tool0=("c", "fixed")).name == "wrist_tcp"
    assert (
        tool(**arm, tool0=("c", "fixed"), gripper_tool0=("tool0", "fixed")).name == "gripper_tool0"
    )
    assert tool(**arm, camera=("b", "fixed")).name == "c"


def test_an_ambiguous_tool_is_a_warning_that_names_the_others():
    chosen = tool(left=(None, "r"), right=(None, "r"))
    assert (chosen.name, chosen.others) == ("left", ("right",))
    assert "could as well be 'right'. Say which with tip=" in chosen.noted(Notes()).warnings[0]
    two = tool(**{f"{s}{k}": (f"{s}{k - 1}" if k else None, "r") for s in "lr" for k in range(3)})
    assert (two.name, two.others) == ("l2", ("r2",))
    marks = tool(a=(None, "r"), x=("a", "fixed"), y=("a", "fixed"))
    assert (marks.name, marks.others) == ("x", ("y",))
    robot = dl.Robot.from_urdf(urdf(FINGERS).replace('"hand"', '"base"'), strict=True)
    assert "Say which with tip=" in robot.notes.warnings[-1]


MJCF = """<mujoco><worldbody><body name="upper"><joint name="a"/><geom size="0.1"/>
  <body name="hand" pos="0.5 0 0"><joint name="b" axis="0 1 0"/><geom size="0.1"/>{site}
    <body name="one"><joint name="c" type="slide"/><geom size="0.01"/></body>
    <body name="two"><joint name="d" type="slide"/><geom size="0.01"/></body>
  </body></body></worldbody>{coupled}</mujoco>"""


@pytest.mark.parametrize("coupled", ["", '<equality><joint joint1="d" joint2="c"/></equality>'])
def test_bodies_and_sites_of_mjcf(coupled):
    plain = dl.Robot.from_mjcf(MJCF.format(site="", coupled=coupled))
    assert "tool at 'hand'" in repr(plain)
    site = '<site name="imu"/><site name="left_tcp" pos="0.2 0 0"/>'
    assert "tool at 'left_tcp'" in repr(dl.Robot.from_mjcf(MJCF.format(site=site, coupled=coupled)))


def test_a_tool_left_behind_is_chosen_anew():
    robot = dl.Robot.from_urdf(urdf((*ARM, *FINGERS)), tip="upper")
    assert robot.notes.tool == "given" and "tool at 'upper'" in repr(robot)
    cut = robot.subtree("hand")
    assert "tool at 'finger_l'" in repr(cut)
    assert "could as well be 'finger_r'" in cut.notes.warnings[-1]
    assert robot.with_tool(np.eye(4)).notes.tool == "placed by with_tool"
