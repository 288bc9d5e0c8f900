"""Velocity and force ellipsoids
=============================

How fast the tool can move, and how hard it can push, in every direction of a posture.
"""

import numpy as np

import dalembert as dl
from dalembert.report.figures import plot_ellipsoids

robot = dl.load("ur5")
q = np.array([0.3, -1.2, 1.6, -0.4, 1.2, 0.0])
radii, directions = robot.velocity_ellipsoid(q, task="position")
force, _ = robot.force_ellipsoid(q, task="position")
print("velocity:", radii.round(3), "  force:", force.round(3))
print("manipulability:", robot.manipulability(q, task="position").round(4))
assert np.allclose(np.sort(radii), np.sort(1 / force))  # easy to move is hard to push
figure = plot_ellipsoids(robot, q)
