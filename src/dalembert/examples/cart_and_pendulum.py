"""A system from its energies
==========================

A system from its energies: a pendulum on a cart, derived, compiled and let go.
"""

import numpy as np
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl

x, theta = dynamicsymbols("x theta")
m, M, l, g = sympy.symbols("m M l g", positive=True)
velocity = sympy.Matrix(
    [x.diff() + l * theta.diff() * sympy.cos(theta), l * theta.diff() * sympy.sin(theta)]
)
cart = dl.Lagrangian(
    [x, theta],
    kinetic=M * x.diff() ** 2 / 2 + m * velocity.dot(velocity) / 2,
    potential=-m * g * l * sympy.cos(theta),
    parameters={m: 0.2, M: 1.0, l: 0.5, g: 9.81},
    name="cart",
)
print(cart.equations(["M", "g"], progress=False))

run = dl.simulate(cart, [0.0, 2.0], [0.0, 0.0], duration=3.0, dt=0.01, progress=False)
energy = (run.kinetic + run.potential).values
v, w = run.qd.values.T
momentum = 1.2 * v + 0.2 * 0.5 * w * np.cos(run.q.values[:, 1])  # along x, nothing pushes
print(f"energy drift {np.ptp(energy):.1e} J, momentum drift {np.ptp(momentum):.1e} kg m/s")
assert np.ptp(energy) < 1e-8
assert np.abs(momentum).max() < 1e-8

figure = run.dl.plot(["q", "energy"])
