"""Computed-torque control
=======================

Computed torque along a quintic path: the error dies away at the poles that were chosen.
"""

import numpy as np

import dalembert as dl

robot = dl.load("elbow_3r")
path = dl.control.quintic([0.0, 0.3, -0.4], [1.2, -0.5, 0.8], 1.0)
controller = dl.control.ComputedTorque(robot, target=path, kp=100.0, kd=20.0)  # both poles at −10/s

start = path(0.0).q + 0.05
run = dl.simulate(robot, start, np.zeros(3), tau=controller, duration=1.5, dt=0.01, progress=False)
t = run.time.values
error = run.q.values - path(t).q
expected = 0.05 * (1 + 10 * t) * np.exp(-10 * t)
for k in range(0, len(t), 25):
    print(f"t = {t[k]:.2f} s   error {error[k, 0]:.2e} rad   expected {expected[k]:.2e} rad")
assert np.allclose(error, expected[:, None], atol=1e-7)

figure = run.dl.plot(["q", "tau"])
