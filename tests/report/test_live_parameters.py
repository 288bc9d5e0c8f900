"""Parameters of a live robot: what a page computes with them is what the library says."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.program.interpret import interpret
from dalembert.report.live_ellipsoids import ellipsoids
from dalembert.report.live_parameters import loaded, near, parameters_part
from dalembert.zoo.letters import symbolic_model

Q = (0.3, -1.2, 1.1, -0.8, 0.9, 0.2)


def test_a_robot_without_parameters_gets_a_payload_at_its_tool():
    ur5 = dl.load("ur5")
    made = loaded(ur5)
    assert dict(made.named_parameters) == {"payload": 0.0}
    heavy = made.gravity_torque(Q, parameters={"payload": 2.5})
    np.testing.assert_allclose(heavy, ur5.with_payload(2.5).gravity_torque(Q), atol=1e-12)
    (row,) = parameters_part(made).data["parameters"]
    expected = {"name": "payload", "value": 0.0, "low": 0.0, "high": 5.0, "unit": "kg"}
    assert row == {**expected, "least": 0.0}
    assert loaded(made) is made


def test_a_tool_that_does_not_move_gets_no_payload():
    body = {"name": "a", "mass": 1.0, "com": (0.1, 0, 0), "inertia": np.eye(3) * 0.01}
    still = dl.Robot.from_links([{**body, "joint": {"type": "revolute"}}]).with_tool(frame="base")
    assert loaded(still) is still
    assert not parameters_part(still).data


def test_sliders_have_units_and_ranges_of_what_they_are():
    joint = {"type": "revolute", "axis": (0, 1, 0), "viscous": dl.Parameter("b", 0.3)}
    mass, offset = dl.Parameter("m", 2.0), dl.Parameter("x", -0.1)
    link = {"name": "a", "mass": mass, "com": (offset, 0, 0), "inertia": np.eye(3) * 0.1}
    arm = dl.Robot.from_links([{**link, "joint": joint}])
    rows = {row["name"]: row for row in parameters_part(arm).data["parameters"]}
    assert {name: row["unit"] for name, row in rows.items()} == {
        "m": "kg",
        "x": "m",
        "b": "N m s/rad",
    }
    assert (rows["m"]["low"], rows["m"]["high"]) == (0.0, 4.0)
    assert (rows["x"]["low"], rows["x"]["high"]) == (-0.2, 0.2)
    assert near(4.6) == 5.0


def test_lengths_stretch_the_parts_that_they_are():
    arm = symbolic_model("planar_2r")
    moved = parameters_part(arm).data["stretch"]
    length = str(list(arm.named_parameters).index("l1"))
    assert [0.0, 0.0, 0.0, 1.0, 0.0, 0.0] in [part.get(length) for part in moved.values()]


@pytest.mark.parametrize("payload", [0.0, 2.0])
def test_ellipsoids_are_those_of_the_library(payload):
    robot = dl.load("ur5").with_payload(payload)
    kernel = ellipsoids(loaded(dl.load("ur5")))
    found = interpret(kernel, np.array(Q), np.array([payload]))
    J = robot.jacobian(Q, expressed_in="world")[:3]
    np.testing.assert_allclose(found[0], J @ J.T, atol=1e-12)
    mobility = J @ np.linalg.solve(robot.mass_matrix(Q), J.T)
    np.testing.assert_allclose(found[1], mobility, rtol=1e-10)
    radii = robot.velocity_ellipsoid(Q)[0]
    np.testing.assert_allclose(np.sqrt(np.linalg.eigvalsh(found[0]))[::-1], radii, rtol=1e-9)
