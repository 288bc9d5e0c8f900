"""Identification through a simulation in JAX
==========================================

A payload and a friction from measured motions, by gradients through a simulation.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

jax.config.update("jax_enable_x64", True)

load, friction = dl.Parameter("load", 0.5), dl.Parameter("friction", 0.1)
arm = dl.Robot.from_dh(
    [
        {
            "a": 0.6,
            "mass": 4.0,
            "com": (-0.3, 0, 0),
            "inertia": np.eye(3) * 0.1,
            "viscous": friction,
        },
        {"a": 0.5, "mass": 2.0 + load, "com": (-0.1, 0, 0), "inertia": np.eye(3) * 0.05},
    ],
    convention="standard",
    gravity=(0, -9.81, 0),
    name="arm",
)
there = dl.jax(arm)
rng = np.random.default_rng(0)
starts = rng.uniform(-1.0, 1.0, (16, 2))
still, torques = np.zeros((16, 2)), rng.normal(scale=5.0, size=(60, 16, 2))


def motion(x):
    """q (6, 16, 2) along 0.6 s of sixteen runs, for the numbers x (load, friction)."""
    named = {"load": x[0], "friction": x[1]}
    return there.rollout(starts, still, torques, 60, 1e-2, every=10, parameters=named)[0]


truth = jnp.array([1.7, 0.8])
measured = motion(truth) + 1e-3 * rng.normal(size=(6, 16, 2))
misfit = jax.jit(lambda x: (motion(x) - measured).ravel())
jacobian = jax.jit(jax.jacfwd(misfit))

x = jnp.array([0.5, 0.1])
for iteration in range(6):
    print(f"{iteration}: load {x[0]:.4f} kg, friction {x[1]:.4f} N m s/rad")
    x = x - jnp.linalg.lstsq(jacobian(x), misfit(x))[0]  # Gauss–Newton
print(f"fitted {x[0]:.4f} kg and {x[1]:.4f} N m s/rad; the truth is 1.7 and 0.8")
assert jnp.abs(x - truth).max() < 0.02

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
t = 0.1 * np.arange(1, 7)
for k, color in ((0, "C0"), (5, "C1"), (10, "C2")):
    axes.plot(t, measured[:, k], "o", color=color, fillstyle="none")
    axes.plot(t, motion(x)[:, k], color=color)
axes.set(xlabel="time / s", ylabel="q / rad", title="measured (circles) and fitted")
