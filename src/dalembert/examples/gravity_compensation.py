"""Gravity compensation with a payload
===================================

Static torques of a UR5 that carries a payload, along a motion and for every load at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

load = dl.Parameter("load", 0.0)  # kg
robot = dl.load("ur5").with_payload(load, com=(0.0, 0.0, 0.05))

start, goal = np.radians([[0, -150, 120, -60, -90, 0], [0, -30, 30, -90, -90, 0]])
share = np.linspace(0.0, 1.0, 101)[:, None]
q = start + share * (goal - start)
loads = np.array([0.0, 2.5, 5.0])
tau = robot.gravity_torque(q, parameters=loads[:, None, None])  # (3, 101, 6)

for kg, torques in zip(loads, tau, strict=True):
    print(f"{kg:3.1f} kg: shoulder at most {np.abs(torques[:, 1]).max():5.1f} N m")
heavier = dl.load("ur5").with_payload(5.0, com=(0.0, 0.0, 0.05))
assert np.allclose(tau[2], heavier.gravity_torque(q))

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for kg, torques in zip(loads, tau, strict=True):
    axes.plot(100 * share, torques[:, 1], label=f"{kg:g} kg")
axes.set(xlabel="share of the motion / %", ylabel="torque of the shoulder lift / N m")
axes.legend()
