"""Training a policy through a simulation in JAX
=============================================

A small network that brings a batch of arms to rest, trained by gradients through their motion.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

jax.config.update("jax_enable_x64", True)
arm = dl.jax(dl.load("planar_2r"))
DT, STEPS = 2e-2, 60


def torque(policy, q, qd):
    """A small network and a linear part, from the state to the torques (..., 2)."""
    state = jnp.concatenate([jnp.sin(q), jnp.cos(q), qd], axis=-1)
    hidden = jnp.tanh(state @ policy["first"])
    return hidden @ policy["second"] + jnp.concatenate([q, qd], axis=-1) @ policy["gains"]


def cost(policy, starts):
    """The mean distance from rest at q = 0, and the effort on the way."""
    controller = lambda t, q, qd: torque(policy, q, qd)  # noqa: E731
    q, qd = arm.rollout(starts, 0 * starts, controller, STEPS, DT, method="semi_implicit")
    return (q**2).mean() + 0.1 * (qd**2).mean() + 1e-4 * (torque(policy, q, qd) ** 2).mean()


rng = np.random.default_rng(0)
shapes = {"first": (6, 16), "second": (16, 2), "gains": (4, 2)}
policy = {key: jnp.asarray(0.1 * rng.normal(size=shape)) for key, shape in shapes.items()}
starts = jnp.asarray(rng.uniform(-1.0, 1.0, (128, 2)))
speed = jax.tree.map(jnp.zeros_like, policy)


@jax.jit
def descend(policy, speed):
    """One step of descent with momentum, along slopes of bounded length."""
    value, gradient = jax.value_and_grad(cost)(policy, starts)
    size = jnp.sqrt(sum((x**2).sum() for x in jax.tree.leaves(gradient)))
    speed = jax.tree.map(lambda v, g: 0.9 * v - 0.1 * g / jnp.maximum(size, 0.3), speed, gradient)
    return value, jax.tree.map(jnp.add, policy, speed), speed


costs = []
for iteration in range(150):
    value, policy, speed = descend(policy, speed)
    costs.append(float(value))
    if iteration % 30 == 0:
        print(f"{iteration:3d}: cost {value:.4f}")
print(f"cost {costs[0]:.4f} before, {costs[-1]:.4f} after {len(costs)} steps of descent")
assert costs[-1] < 0.5 * costs[0]

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.semilogy(costs)
axes.set(xlabel="step of descent", ylabel="cost")
