"""The equations of a two-link arm in symbols, as a textbook prints them, and as a function again."""

import numpy as np

import dalembert as dl

equations = dl.symbolic_model("planar_2r").equations(["M", "C"], progress=False)
print(equations)
print()
print(equations.latex("M"))

M = equations.lambdify("M")
q = np.array([0.3, 1.1])
assert np.allclose(M(q), dl.load("planar_2r").mass_matrix(q))
