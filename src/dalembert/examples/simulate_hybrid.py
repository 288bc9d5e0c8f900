"""Hybrid control of a redundant parallel manipulator
==================================================

Hybrid control of the redundant parallel manipulator: a circle, and a prescribed internal force.
"""

import numpy as np

import dalembert as dl
from dalembert.control import RedundantActuation, via_points

platform = dl.load("parallel_3rr")
names = list(platform.description.dynamics.coordinates)
task = [names.index(name) for name in ("theta1", "theta3")]
home = platform.neutral()

# a circle in the plane of the two driving angles, once around in two seconds, from rest to rest
turn = np.linspace(0.0, 2.0 * np.pi, 13)
circle = home[task] + 0.08 * np.stack([np.cos(turn) - 1.0, np.sin(turn)], axis=1)
path = via_points(circle, np.linspace(0.0, 2.0, 13))
force = np.array([2.0, -1.0, 0.5, 1.0])

controller = RedundantActuation(platform, ("theta1", "theta3"), path, kp=100.0, kd=20.0, lam=force)
run = dl.simulate(platform, tau=controller, duration=2.0, dt=0.02)
error = np.abs(run.q.values[:, task] - path(run.time.values).q).max()
print(f"tracking error {error:.1e} rad, constraints met within {float(run.residual.max()):.1e}")
print(f"internal force {run['lambda'][50].values} N, wanted {force} N")
assert error < 1e-7 and np.allclose(run["lambda"], force, atol=1e-5)

figure = run.dl.plot(["q", "lambda"])
