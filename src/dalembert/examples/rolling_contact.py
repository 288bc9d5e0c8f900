"""An arm that rolls on a sphere
=============================

The finger of an arm rolls without slipping on a sphere: the contact point, and its normal force.
"""

import matplotlib.pyplot as plt

import dalembert as dl

arm = dl.load("arm_rolling_on_sphere")
q = arm.assemble()
qd = arm.project_velocity(q, [0.3, 0.2, -0.2, 0.1, 0.3, 0.0])
tau, _ = arm.inverse_dynamics(q, 0 * q, 0 * q)  # holds it at the start
run = dl.simulate(arm, q, qd, tau=tau, duration=0.5, dt=5e-3, progress=False)
print(f"constraints met within {float(run.residual.max()):.0e}")
assert float(run.residual.max()) < 1e-8

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(run.time, run["lambda"], label=list(arm.dynamics.row_names))
axes.set(xlabel="time / s", ylabel="contact forces")
axes.legend(fontsize="small")
