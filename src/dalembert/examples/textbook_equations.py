"""Symbolic equations of motion
============================

The equations of a two-link arm in symbols, as a textbook prints them, and as a function again.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

equations = dl.symbolic_model("planar_2r").equations(["M", "C"], progress=False)
print(equations)
print()
print(equations.latex("M"))

M = equations.lambdify("M")
q = np.array([0.3, 1.1])
assert np.allclose(M(q), dl.load("planar_2r").mass_matrix(q))

angles = np.linspace(-np.pi, np.pi, 201)
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for i, j in ((0, 0), (0, 1), (1, 1)):
    entry = [M(np.array([0.0, angle]))[i, j] for angle in angles]
    axes.plot(angles, entry, label=f"$M_{{{i + 1}{j + 1}}}$")
axes.set(xlabel=r"$\theta_2$ / rad", ylabel="kg m²")
axes.legend()
