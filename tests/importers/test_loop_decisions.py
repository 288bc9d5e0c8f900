"""Loops of files whose digits, or whose idle rows, must not decide whether they are read.

The geometry of constraints decides how far rows may be apart, and which of them hold nothing.
"""

import numpy as np
import pytest

import dalembert as dl
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.spatial.rotations import rotation_from_rpy

DIGITS = 6  # of every number of the linkage below, as exporters print them
LENGTH, WIDTH = 0.034567891, 0.02345678  # m, of the bars of a parallelogram
HINGE = (("", 0.0), ("_z", 0.1))  # two points of the axis that closes it


def printed(values) -> str:
    return " ".join(f"{x:.{DIGITS}g}" for x in values)


def parallelogram() -> str:
    """A head on a neck, and a rod beside the neck whose hinge at the head is two `connect`.

    All frames are turned in space, so that no number is exact: the points miss each other by about
    1e-8 m, and the axes are parallel to 1e-6.
    """
    turns = [rotation_from_rpy((0.3 * k, 0.35 * k, 0.2 * k)) for k in range(5)]
    turns[0] = rotation_from_rpy((0.7, 0.4, 0.3))

    def quaternion(R) -> str:
        x, y, z, w = quaternion_from_matrix(R)
        return printed((w, x, y, z))

    def inside(k, vector) -> str:
        return printed(turns[k].T @ np.array(vector))

    def sites(name, k, at) -> str:
        placed = [(end, inside(k, (at[0], at[1] + along, at[2]))) for end, along in HINGE]
        return "".join(f'<site name="{name}{end}" pos="{here}"/>' for end, here in placed)

    def body(name, k, at, turned, tip, more="") -> str:
        geom = f'<geom type="capsule" size="0.005" fromto="0 0 0 {inside(k, tip)}"/>'
        joint = f'<joint name="{name}" axis="{inside(k, (0, 1, 0))}"/>'
        head = f'<body name="{name}" pos="{at}" quat="{quaternion(turned)}">'
        return f"{head}{joint}{geom}{more}</body>"

    up, across = (0, 0, LENGTH), (WIDTH, 0, 0)
    table = sites("head", 3, across)
    head = body("head", 3, inside(1, up), turns[1].T @ turns[3], across, table)
    neck = body("neck", 1, "0 0 0", turns[1], up, head)
    rod = body("rod", 4, printed(across), turns[4], up, sites("rod", 4, up))
    pins = "".join(
        f'<connect name="pin{end}" site1="head{end}" site2="rod{end}"/>' for end, _ in HINGE
    )
    return f"""<mujoco><compiler angle="radian"/><worldbody>
      <body name="torso" quat="{quaternion(turns[0])}"><geom type="sphere" size="0.01"/>{neck}{rod}
      </body></worldbody><equality>{pins}</equality></mujoco>"""


def fingers(tips: bool) -> str:
    """A gripper whose second finger mimics the first, and Gazebo's slider between their ends."""
    inertia = '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>'
    parts = ['<link name="palm"/>']

    def add(name, parent, joint, origin, leader, factor):
        mimic = f'<mimic joint="{leader}" multiplier="{factor}"/>' if leader else ""
        limit = '<limit lower="-1" upper="1" effort="9" velocity="9"/>'
        parts.append(
            f'<link name="{name}"><inertial><mass value="0.1"/>{inertia}</inertial></link>'
            f'<joint name="{name}" type="{joint}"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{origin}"/><axis xyz="0 {0 if tips else 1} {1 if tips else 0}"/>'
            f"{limit}{mimic}</joint>"
        )

    joint = "revolute" if tips else "prismatic"
    add("left", "palm", joint, "0.1 0.02 0", "", 0)
    add("right", "palm", joint, "0.1 -0.02 0", "left", -1)
    ends = ("left", "right")
    if tips:  # they stay parallel
        add("left_tip", "left", joint, "0.06 0 0", "left", -1)
        add("right_tip", "right", joint, "0.06 0 0", "left", 1)
        ends = ("left_tip", "right_tip")
    slider = f"""<gazebo><joint name="slider" type="prismatic"><parent>{ends[0]}</parent>
      <child>{ends[1]}</child><axis><xyz>0 1 0</xyz></axis></joint></gazebo>"""
    return f'<robot name="gripper">{"".join(parts)}{slider}</robot>'


def test_a_hinge_of_two_points_that_miss_by_digits_is_closed(tmp_path):
    """docs/howto/closed_files.md: redundant rows may be apart by up to 1e-6 m or rad."""
    path = tmp_path / "parallelogram.xml"
    path.write_text(parallelogram())
    closed = dl.load(path)
    assert closed.freedoms == 1
    assert np.abs(closed.neutral()).max() < 1e-4  # assembled where the file draws it


@pytest.mark.parametrize("tips", [False, True], ids=["slides", "parallel tips"])
def test_a_joint_between_fingers_that_mimic_holds_nothing(tmp_path, tips):
    path = tmp_path / "gripper.urdf"
    path.write_text(fingers(tips))
    robot = dl.load(path)
    assert robot.nv == 1
    (left,) = robot.robot.notes.left_out
    assert left.name == "slider"
