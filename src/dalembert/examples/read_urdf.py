"""An arm from URDF
================

An arm from URDF text: joints, drives, limits, and the torques of a motion.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

LINK = """<link name="{name}"><inertial><origin xyz="0 0 {c}"/><mass value="{m}"/>
  <inertia ixx="{i}" iyy="{i}" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{a}"/><child link="{b}"/>
  <origin xyz="0 0 {z}"/><axis xyz="0 1 0"/><dynamics damping="0.1"/>
  <limit lower="-2" upper="2" effort="40" velocity="3"/></joint>"""
text = "\n".join(
    [
        '<robot name="my_arm"><link name="base"/>',
        LINK.format(name="upper", c=0.2, m=3.0, i=0.04),
        LINK.format(name="fore", c=0.15, m=1.5, i=0.015),
        JOINT.format(name="shoulder", a="base", b="upper", z=0.1),
        JOINT.format(name="elbow", a="upper", b="fore", z=0.4),
        "</robot>",
    ]
)
robot = dl.Robot.from_urdf(text)
for joint in robot.joints:
    print(f"{joint.name}: {joint.kind}, moves {joint.link}, up to {joint.effort_limit:g} N m")

q, qd, qdd = [0.8, -0.5], [1.0, 0.5], [2.0, -1.0]
tau = robot.inverse_dynamics(q, qd, qdd)
print("torques:", tau.round(3), "N m")
assert np.allclose(robot.forward_dynamics(q, qd, tau), qdd)
assert np.allclose(dl.Robot.from_urdf(robot.to_urdf()).inverse_dynamics(q, qd, qdd), tau)

# static torques over the whole workspace, in one call
angles = np.linspace(-2.0, 2.0, 161)
static = robot.gravity_torque(np.stack(np.meshgrid(angles, angles), axis=-1))
figure, axes = plt.subplots(figsize=(5.2, 4.0), layout="constrained")
lines = axes.contourf(angles, angles, static[..., 0], levels=20, cmap="RdBu")
axes.set(xlabel="shoulder / rad", ylabel="elbow / rad", title="gravity torque of the shoulder")
figure.colorbar(lines, label="N m")
