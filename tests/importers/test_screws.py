"""Products of exponentials: kinematics as the formula says, and bad screws named."""

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.spatial import compose, exp_se3
from dalembert.systems.robot import Robot

RNG = np.random.default_rng(3)
INERTIA = (1.0, np.diag([0.2, 0.3, 0.4]))


def unit_screws() -> np.ndarray:
    """A revolute, a prismatic and a helical one, in general position."""
    axes = RNG.normal(size=(3, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    point = RNG.normal(size=3)
    revolute = np.concatenate([-np.cross(axes[0], point), axes[0]])
    prismatic = np.concatenate([axes[1], np.zeros(3)])
    helical = np.concatenate([-np.cross(axes[2], -point) + 0.2 * axes[2], axes[2]])
    return np.stack([revolute, prismatic, helical])


def frames() -> list[np.ndarray]:
    return [exp_se3(RNG.normal(size=6)) for _ in range(3)]


def test_product_of_exponentials():
    screws, links, tool = unit_screws(), frames(), exp_se3(RNG.normal(size=6))
    robot = Robot.from_screws(screws, links, [INERTIA] * 3, tool=tool)
    q = RNG.normal(size=3)
    g = np.eye(4)
    for i in range(3):
        g = compose(g, exp_se3(screws[i], q[i]))
        pose = robot.reference("pose", q, frame=f"link{i + 1}")
        np.testing.assert_allclose(pose, g @ links[i], atol=1e-14)
    np.testing.assert_allclose(robot.reference("pose", q), g @ tool, atol=1e-14)


def test_spatial_jacobian_columns_are_the_carried_screws():
    screws = unit_screws()
    robot = Robot.from_screws(screws, frames(), [INERTIA] * 3)
    J = robot.reference("jacobian", np.zeros(3), expressed_in="spatial")
    np.testing.assert_allclose(J, screws.T, atol=1e-14)


def test_trees():
    robot = Robot.from_screws(unit_screws(), frames(), [INERTIA] * 3, parents=[-1, 0, 0])
    M = robot.reference("mass_matrix", RNG.normal(size=3))
    assert M[1, 2] == 0.0 and M[0, 1] != 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"screws": [[0, 0, 0, 0, 0, 2.0]]}, "length 2"),
        ({"screws": [[0, 0, 0, 0, 0, 0.0]]}, "length 0"),
        ({"screws": [[0, 0, np.nan, 0, 0, 1.0]]}, "six finite numbers"),
        ({"screws": [[0, 0, 1.0]]}, "six finite numbers"),
        ({"frames": [np.eye(3)]}, "4×4"),
        ({"frames": []}, "1 screws but 0 frames"),
        ({"parents": [4]}, "no index of a link"),
        ({"names": ["a", "b"]}, "2 names"),
    ],
)
def test_bad_screws(change, message):
    arguments = {"screws": [[0, 0, 0, 0, 0, 1.0]], "frames": [np.eye(4)], "inertias": [INERTIA]}
    with pytest.raises(ModelError, match=message):
        Robot.from_screws(**{**arguments, **change})
