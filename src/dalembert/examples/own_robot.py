"""An arm from a Denavit–Hartenberg table
======================================

An arm with a payload that stays a parameter: gravity compensation for many payloads in one call.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

load = dl.Parameter("load", 0.0)  # kg, a point mass at the wrist
rod = np.diag([0.0, 0.04, 0.04])  # kg m², about the centre of mass
rows = [
    {"name": "shoulder", "a": 0.6, "mass": 4.0, "com": (-0.3, 0, 0), "inertia": rod},
    {"name": "elbow", "a": 0.5, "mass": 2.0, "com": (-0.25, 0, 0), "inertia": rod},
    {"name": "wrist", "mass": load, "inertia": 1e-3 * np.eye(3)},
]
arm = dl.Robot.from_dh(rows, convention="standard", gravity=(0.0, -9.81, 0.0), name="arm")

q = np.radians([40.0, -70.0, 20.0])
loads = np.linspace(0.0, 5.0, 6)[:, None]
static = arm.gravity_torque(q, parameters=loads)  # one call for all loads
for kg, tau in zip(loads[:, 0], static, strict=True):
    print(f"{kg:.0f} kg: shoulder {tau[0]:6.2f} N m, elbow {tau[1]:6.2f} N m")

# each kilogram adds g times the horizontal distance of the wrist
levers = 9.81 * arm.jacobian(q, expressed_in="world", parameters={"load": 1.0})[1]
assert np.allclose(np.diff(static, axis=0), levers)

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(loads, static, label=[joint.name for joint in arm.joints])
axes.set(xlabel="payload / kg", ylabel="static torque / N m")
axes.legend()
