"""A million states at once
========================

A million states at once: kernels are NumPy ufuncs, with batches, broadcasting and out=.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

robot = dl.load("panda")
q, qd, qdd = robot.random_state(np.random.default_rng(0), 1_000_000)

tau = robot.inverse_dynamics(q, qd, qdd)  # the first call compiles for this robot and machine
best = min(timeit.repeat(lambda: robot.inverse_dynamics(q, qd, qdd, out=tau), repeat=7, number=1))
print(f"{robot.name}: {len(q) / best / 1e6:.0f} million inverse dynamics per second")

# every posture of one set with every velocity of another, without copying either
h = robot.bias(q[:1000, None], qd[None, :500])
print("bias of all pairs:", h.shape)

kernel = robot.kernel("inverse_dynamics")
print("the kernel is a", type(kernel).__name__, "with signature", kernel.signature)
assert isinstance(kernel, np.ufunc)

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for k, joint in enumerate(robot.joints):
    axes.hist(tau[:, k], bins=200, range=(-80, 80), histtype="step", label=joint.name)
axes.set(xlabel="torque of random motions / N m", ylabel="states", yscale="log")
axes.legend(fontsize="small")
