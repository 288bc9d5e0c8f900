"""Energy over many steps
======================

Symplectic methods in canonical variables keep the energy near its value for ever; Runge and Kutta's
method of higher order drifts at the same coarse step.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

arm = dl.load("planar_2r").with_gravity((0.0, -9.81, 0.0))
start = np.array([-1.0, 0.3])
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
errors = {}
for method in ("rk4", "stormer_verlet", "implicit_midpoint"):
    options = {"duration": 500.0, "dt": 0.04, "method": method, "save_every": 8}
    run = dl.simulate(arm, start, np.zeros(2), progress=False, **options)
    energy = (run.kinetic + run.potential).values
    errors[method] = np.abs(energy - energy[0])
    axes.semilogy(run.time, np.maximum(errors[method], 1e-9), label=method, linewidth=0.8)
    early, late = errors[method][1:251].max(), errors[method][-250:].max()
    print(f"{method:18} energy error {early:.1e} J at first, {late:.1e} J at the end")
    if method != "rk4":
        assert late < 2.0 * early
axes.set(xlabel="time / s", ylabel="energy error / J")
axes.legend()
