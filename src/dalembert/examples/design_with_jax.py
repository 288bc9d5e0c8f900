"""Designing a closed chain in JAX
===============================

Lengths of a four-bar whose crank needs least torque to carry it, by gradients through the closed chain.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl
from dalembert.zoo.constrained_loops import build_four_bar

jax.config.update("jax_enable_x64", True)

chain = build_four_bar(coupler=dl.Parameter("coupler", 0.9), rocker=dl.Parameter("rocker", 0.8))
there = dl.jax(chain)
# postures of the first design, the crank turned through half a turn
angles = np.linspace(0.3, 3.0, 12)
first = [chain.neutral()]
for angle in angles:
    guess = first[-1].copy()
    guess[0] = angle
    first.append(chain.assemble(guess, fixed=["crank"]))
postures, still = np.stack(first[1:]), np.zeros((12, 3))


def effort(lengths):
    """The mean square of the crank's torque at rest, N² m², over the postures closed again."""
    named = {"coupler": lengths[0], "rocker": lengths[1]}
    q, _ = there.evaluate("project", postures, still, parameters=named)
    tau, _ = there.inverse_dynamics(q, still, still, actuators=["crank"], parameters=named)
    return (tau[..., 0] ** 2).mean()


value_and_gradient = jax.jit(jax.value_and_grad(effort))
lengths = before = jnp.array([0.9, 0.8])
print(f"coupler {lengths[0]:.3f} m, rocker {lengths[1]:.3f} m: {effort(lengths):.4f} N² m²")
efforts = []
for _ in range(20):
    value, gradient = value_and_gradient(lengths)
    efforts.append(float(value))
    lengths = lengths - 0.01 * gradient / jnp.linalg.norm(gradient)  # a centimetre downhill
print(f"coupler {lengths[0]:.3f} m, rocker {lengths[1]:.3f} m: {effort(lengths):.4f} N² m²")

h, d = 1e-5, jnp.array([0.6, -0.8])
differences = (effort(before + h * d) - effort(before - h * d)) / (2 * h)
assert jnp.isclose(value_and_gradient(before)[1] @ d, differences, rtol=1e-6)
assert effort(lengths) < 0.9 * effort(before)

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(efforts, "o-")
axes.set(xlabel="step, 1 cm each", ylabel="mean square of the torque / N² m²")
