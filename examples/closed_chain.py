"""A four-bar linkage: one tree and one pin; constraint forces by routes that agree."""

import numpy as np

import dalembert as dl

linkage = dl.load("four_bar")
q = linkage.assemble()
qd = linkage.project_velocity(q, np.eye(linkage.nv)[0])
print(linkage)
print("posture:", q.round(4), " closed to", f"{np.abs(linkage.residual(q)).max():.0e} m")

still = np.zeros(linkage.nv)
results = []
for route in ("multiplier", "elimination", "projection", "gauge", "udwadia_kalaba"):
    qdd, lam = linkage.forward_dynamics(q, qd, still, formulation=route)
    print(f"{route:14} q̈ = {qdd.round(6)}   λ = {lam.round(6)}")
    results.append(np.concatenate([qdd, lam]))
assert np.ptp(results, axis=0).max() < 1e-8 * np.abs(results).max()
