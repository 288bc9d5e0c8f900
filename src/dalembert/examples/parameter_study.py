"""A study over parameters
=======================

The largest speed of a pendulum over its start: a simulation for every combination, in batches. A study
with `store=` goes on where it was cut short.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

robot = dl.load("pendulum")
study = dl.sweep(
    robot,
    {"q0.link1_joint": np.linspace(0.1, 3.0, 30), "qd0.link1_joint": np.linspace(-2.0, 2.0, 21)},
    {"duration": 1.0, "dt": 1e-3},
    "peak_velocity",
    progress=False,
)
print(study)
peaks = study.peak_velocity.values.reshape(30, 21)
assert np.isfinite(peaks).all()
figure, axes = plt.subplots(figsize=(5.4, 4.0), layout="constrained")
picture = axes.imshow(peaks.T, origin="lower", extent=(0.1, 3.0, -2.0, 2.0), aspect="auto")
axes.set(xlabel="angle at the start / rad", ylabel="velocity at the start / rad/s")
figure.colorbar(picture, label="largest speed / rad/s")
