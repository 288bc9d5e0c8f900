"""The fastest motion along a path
===============================

A path through way-points of a PUMA 560, timed so that one joint is always at its torque limit.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

robot = dl.load("puma560")
points = np.radians([[0, 45, -90, 0, 30, 0], [60, 20, -60, 30, 0, 0], [90, 60, -120, 0, 45, 60]])
limits = np.array([90.0, 120.0, 70.0, 20.0, 20.0, 20.0])  # N m
path = dl.control.through(points, degree=5)
fast = dl.time_optimal(path, robot, torque=limits)
print(f"{fast.duration:.3f} s; at a limit: {fast.active}")

t = np.linspace(0.0, fast.duration, 400)
motion = fast(t)
tau = robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
assert (np.abs(tau) <= 1.001 * limits).all()

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(t, tau / limits, label=[joint.name for joint in robot.joints])
axes.set(xlabel="time / s", ylabel="torque / limit")
axes.legend(fontsize="small", ncols=3)
