"""A closed chain from MJCF
========================

A gripper with two closed loops and a gear between its sides: written to an MJCF file, read from it,
closed by a motor on one joint.
"""

import tempfile
from pathlib import Path

import numpy as np

import dalembert as dl

file = Path(tempfile.mkdtemp()) / "gripper.xml"
file.write_text(dl.load("robotiq_2f85").to_mjcf())
gripper = dl.load(file)  # a robot with its loops closed
print(gripper)

q = gripper.assemble()
tau, lam = gripper.inverse_dynamics(q, 0 * q, 0 * q, actuators=["left_driver"])
print("torque that holds it against gravity:", tau[0].round(4), "N m")

motor = np.zeros(gripper.nv)
motor[0] = 0.5  # N m
run = dl.simulate(gripper, q, tau=motor, duration=0.1, dt=1e-3, progress=False)
left, right = run.q.sel(joint="left_driver"), run.q.sel(joint="right_driver")
assert np.abs(left - right).max() < 1e-9  # the gear between them
figure = run.dl.plot(["q"])
