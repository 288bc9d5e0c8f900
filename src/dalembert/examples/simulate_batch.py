"""Two thousand simulations in one kernel
======================================

Two thousand PUMAs fall at once: one compiled step, blocks that stay in cache, all threads.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

robot = dl.load("puma560")
rng = np.random.default_rng(0)
q0 = rng.uniform(-1.0, 1.0, (2000, robot.nv))
options = {"duration": 1.0, "dt": 1e-3, "save_every": 100, "method": "rk4"}

dl.simulate(robot, q0, **options)  # compiles
begin = time.perf_counter()
run = dl.simulate(robot, q0, **options)
seconds = time.perf_counter() - begin
print(f"{run.sizes['sample']} simulations of 1 s in {seconds:.2f} s: {dict(run.sizes)}")
print(f"friction took {float(run.dissipated[-1].mean()):.1f} J of each, on average")
imbalance = float(np.abs(run.balance).max())
print(f"energy balance within {imbalance:.1e} J")
assert imbalance < 1e-3

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
share = np.percentile(run.dissipated, [5, 25, 50, 75, 95], axis=1)
axes.fill_between(run.time, share[0], share[4], alpha=0.2, label="5 to 95 %")
axes.fill_between(run.time, share[1], share[3], alpha=0.4, label="25 to 75 %")
axes.plot(run.time, share[2], label="median")
axes.set(xlabel="time / s", ylabel="energy lost to friction / J")
axes.legend()
