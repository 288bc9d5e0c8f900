"""The one table of joint kinds against everything that is built from it."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.model.joint import (
    AXES,
    JOINT_KINDS,
    KINDS,
    PLANAR_KINDS,
    SPATIAL_KINDS,
    equivalent_name,
    factors,
    kind_named,
)
from dalembert.systems.bodies import planar, spatial

Z = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize("name", KINDS)
def test_a_loop_holds_what_the_joint_does_not_move(name):
    kind = JOINT_KINDS[name]
    pieces = factors(name, Z, None, 0.1)
    assert sum(chart.nv for _, chart in pieces) == kind.nv
    if kind.loop is None and name != "free":
        return  # its motions are not along the axes of one frame
    assert len(kind.rows) == 6 - kind.nv
    for axis, chart in pieces:
        frame = np.eye(3) if chart.nv > 1 else dl.model.joint.align(axis)
        moved = np.kron(np.eye(2), frame) @ chart.subspace
        constrained = [AXES.index(row) for row in kind.rows]
        assert np.abs(moved[constrained]).max(initial=0.0) < 1e-15


def test_mechanisms_hold_as_many_rows_as_the_table_says():
    assert {name: spatial.JOINTS[name].rows for name in SPATIAL_KINDS} == {
        name: 6 - kind.nv for name, kind in SPATIAL_KINDS.items()
    }
    assert {name: planar.JOINTS[name].rows for name in PLANAR_KINDS} == {
        name: 3 - kind.nv for name, kind in PLANAR_KINDS.items()
    }


def test_no_name_means_two_kinds():
    for kind in JOINT_KINDS.values():
        for name in kind.names - {"revolute"}:  # a loop makes no difference of limits
            assert kind_named(name) is kind
    assert kind_named("hinge") is kind_named(3) is kind_named(None) is None
    assert equivalent_name("hinge", KINDS) is None


def test_a_robot_takes_the_names_of_mechanisms():
    body = {"mass": 1.0, "inertia": np.eye(3)}
    joint = {"type": "screw", "pitch": 0.1}
    robot = dl.Robot.from_links([{"name": "nut", "joint": joint, **body}])
    assert robot.joints[0].kind == "helical"


def test_a_loop_takes_the_names_of_joints():
    assert dl.Loop("a", "b", "fixed").directions == "weld"
    assert dl.Loop("a", "b", "spherical").axes == ("x", "y", "z")


def test_a_mechanism_takes_the_names_of_robots():
    mechanism = dl.SpatialMechanism("jack").body("nut", 1.0, (0.1, 0.1, 0.1))
    mechanism = mechanism.joint("helical", "thread", "ground", "nut", lead=0.01)
    assert mechanism.description.joints[0].kind.name == "screw"
    text = """
name = "plate"
[[body]]
name = "plate"
mass = 1.0
inertia = 0.1
[[joint]]
name = "bolt"
type = "fixed"
between = ["ground", "plate"]
"""
    read = dl.mechanisms.file.read_mechanism(text)
    assert read.description.joints[0].kind.name == "rigid"
