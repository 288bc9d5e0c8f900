"""A payload that the controller does not know
===========================================

Computed torque with a payload the controller does not know, with and without integral action.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl
from dalembert.control import ComputedTorque, quintic
from dalembert.zoo.six_joint_arms import puma_rows


def puma(payload: float) -> dl.Robot:
    """The PUMA with its motors, without Coulomb friction, holding a point mass."""
    rows = [dict(row) for row in puma_rows()]
    for row in rows:
        del row["coulomb_motor"]
    rows[-1]["mass"] += payload
    return dl.Robot.from_dh(rows, convention="standard", name="puma560")


known, loaded = puma(0.0), puma(2.0)
start = np.array([0.0, 0.8, -2.4, 0.0, 0.9, 0.0])
path = quintic(start, start + np.array([0.6, 0.4, -0.5, 0.3, -0.4, 0.5]), duration=1.0)

ends = {}
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for name, ki in (("PD", None), ("PID", 1000.0)):
    controller = ComputedTorque(known, path, kp=400.0, kd=40.0, ki=ki)
    run = dl.simulate(loaded, start, tau=controller, duration=4.0, dt=0.01)
    error = np.abs(run.q.values - path(run.time.values).q)
    ends[name] = error[-1].max()
    axes.semilogy(run.time, error.max(axis=1), label=name)
    print(
        f"{name}: largest error {error.max():.4f} rad on the way, {ends[name]:.1e} rad at the end"
    )
assert ends["PID"] < 0.01 * ends["PD"]

axes.set(xlabel="time / s", ylabel="largest joint error / rad")
axes.legend()
