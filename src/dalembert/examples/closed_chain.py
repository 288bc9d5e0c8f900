"""Closed chain: constraint forces by every method
===============================================

A four-bar linkage: one tree and one pin; its accelerations and constraint forces by methods that agree.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

linkage = dl.load("four_bar")
q = linkage.assemble()
qd = linkage.project_velocity(q, np.eye(linkage.nv)[0])
print(linkage)
print("posture:", q.round(4), " closed to", f"{np.abs(linkage.residual(q)).max():.0e} m")

still = np.zeros(linkage.nv)
results = []
for route in linkage.dynamics.catalogue["forward_dynamics"].formulations:
    qdd, lam = linkage.forward_dynamics(q, qd, still, formulation=route.name)
    print(f"{route.name:16} q̈ = {qdd.round(6)}   λ = {lam.round(6)}")
    results.append(np.concatenate([qdd, lam]))
assert np.ptp(results, axis=0).max() < 1e-8 * np.abs(results).max()

# the force in the pin over one swing
run = dl.simulate(linkage, q, 0 * qd, duration=2.0, dt=0.01, progress=False)
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(run.time, run["lambda"], label=["horizontal", "vertical"])
axes.set(xlabel="time / s", ylabel="force in the pin / N")
axes.legend()
