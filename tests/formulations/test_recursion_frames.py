"""Tables of recursions speak in the frames of `pose` and `joint_wrenches`, in every formulation."""

import numpy as np
import pytest

import dalembert as dl
from dalembert import zoo
from dalembert.errors import FormulationError
from dalembert.formulations import QUANTITIES
from dalembert.formulations.parts.recursion_table import TERMS
from dalembert.spatial import se3
from dalembert.systems.recursion import RecordedDynamics
from tests.formulations import comparison
from tests.formulations.mechanisms import random_model, with_elements

FORMULATIONS = [f.name for f in QUANTITIES["inverse_dynamics"].formulations if f.name in TERMS]


def assert_close(actual, expected):
    """To 1e-11 of the larger of the values and 1: sums of lengths and forces may cancel."""
    comparison.assert_close(actual, expected, terms=1.0)


def loaded(name):
    """A robot of the zoo, or a random tree of all kinds of joints with tendons, lifts and fluid."""
    if name != "random tree":
        return dl.load(name)
    rng = np.random.default_rng(4)
    return dl.Robot(with_elements(random_model(rng, n=5), rng))


class Observed:
    """What public methods say of every link and joint at one state."""

    def __init__(self, robot):
        self.robot = robot
        self.model = robot.model.tree
        self.state = robot.random_state(np.random.default_rng(7))
        q, qd, qdd = self.state
        self.links = [(j.link, j.bodies[-1], k) for k, j in enumerate(self.model.joints)]
        self.poses = {i: robot.reference("pose", q, frame=link) for link, i, _ in self.links}
        self.jacobians = {
            i: robot.reference("jacobian", q, frame=link, expressed_in="body") @ qd
            for link, i, _ in self.links
        }
        self.wrenches = robot.reference("joint_wrenches", q, qd, qdd)

    def table(self, formulation):
        names = ("q", "qd", "qdd")
        return RecordedDynamics(self.robot, formulation, {}).function(
            **dict(zip(names, self.state, strict=True))
        )

    def before(self, i):
        """The pose of the parent's link frame; None where that is a body inside a joint."""
        parent = self.model.bodies[i].parent
        return np.eye(4) if parent < 0 else self.poses.get(parent)


@pytest.mark.parametrize("name", [*zoo.names(), "random tree"])
def test_tables_are_in_the_frames_of_pose_and_joint_wrenches(name):
    observed = Observed(loaded(name))
    for formulation in FORMULATIONS:
        try:
            table = observed.table(formulation)
        except FormulationError:  # `craig` has joints of one axis only
            continue
        for _, i, k in observed.links:
            at = observed.poses[i]
            _placements(table, i, at, observed.before(i))
            _motion(table, i, at, observed.jacobians[i])
            _wrench(table, i, at, observed.wrenches[k], bool(observed.model.elements))


def _placements(table, i, at, before):
    size = 4 if "W" in table and table["W"].shape[-1] == 4 else 3
    for key in ("R_0", "W"):
        if key in table:
            assert_close(table[key][i], at[:size, :size])
    if before is None:
        return
    step = np.linalg.inv(before) @ at
    if "R" in table:
        assert_close(table["R"][i], step[:3, :3])
        assert_close(table["p"][i], step[:3, 3])
    if "A" in table:
        assert_close(table["A"][i], step)
    if "Ad" in table:
        assert_close(table["Ad"][i], se3.Ad(np.linalg.inv(step)))
    if "d" in table:
        assert_close(table["d"][i], at[:3, 3] - before[:3, 3])


def _motion(table, i, at, twist):
    if "V" in table:
        assert_close(table["V"][i], twist)
    if "omega" in table:
        assert_close(table["omega"][i], twist[3:])
    if "omega_0" in table:
        assert_close(table["omega_0"][i], at[:3, :3] @ twist[3:])
    if "W_dot" in table:
        size = table["W_dot"].shape[-1]
        rate = at @ se3.hat_se3(twist)
        assert_close(table["W_dot"][i], rate[:size, :size])


def _wrench(table, i, at, wrench, has_elements):
    if "f" in table:
        assert_close(np.concatenate([table["f"][i], table["n"][i]]), wrench)
    if "V" in table:
        assert_close(table["F"][i], wrench)
    if "f_0" in table:
        assert_close(table["f_0"][i], at[:3, :3] @ wrench[:3])
        assert_close(table["n_0"][i], at[:3, :3] @ wrench[3:])
    if "P" in table and not has_elements:  # sums over links; elements are no links
        assert_close(np.concatenate([table["P"][i], table["L"][i]]), wrench)


def test_an_axis_along_y_turns_about_y():
    """The compiled table: ω of a joint with axis (0, 1, 0) is along y of its link."""
    rows = [
        {
            "name": "a",
            "joint": {"type": "revolute", "axis": (0, 1, 0)},
            "mass": 1.0,
            "com": (0.1, 0, 0),
            "inertia": np.eye(3),
        }
    ]
    table = dl.Robot.from_links(rows).recursion([0.3], [2.0], [0.5])
    np.testing.assert_array_equal(table["omega"], [[0.0, 2.0, 0.0]])
    assert table["n"][0, 1] == pytest.approx(float(table["tau"][0]))


def test_a_table_is_iterated_over_its_names():
    table = dl.load("planar_2r").recursion([0.1, 0.2], [1.0, 2.0], [0.0, 0.0])
    assert list(table) == [*(term.name for term in table.terms), "tau"]
    assert len(table) == len(table.terms) + 1 and "omega" in table and "omga" not in table
