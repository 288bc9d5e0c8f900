"""Learning a residual torque in PyTorch
=====================================

What a model leaves out, learnt in PyTorch: a network adds its torque to those of the equations.
"""

import numpy as np
import torch

import dalembert as dl

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
arm = dl.torch(dl.load("planar_2r"))
DT, STEPS = 1e-2, 40


def left_out(q, qd):
    """The truth, which nobody knows: friction that falls from rest, and a hose at the elbow."""
    friction = (0.8 + 0.6 * torch.exp(-((qd / 0.3) ** 2))) * torch.tanh(20.0 * qd)
    hose = torch.stack([torch.zeros_like(q[..., 0]), 2.0 * torch.sin(q[..., 1] - 0.4)], -1)
    return -friction - hose


def motion(q, qd, tau, residual, steps):
    """States (steps, ..., 2) under torques (steps, ..., 2), and whatever the residual adds."""

    def controller(t, q, qd):
        return tau[round(float(t) / DT)] + residual(q, qd)

    return arm.rollout(q, qd, controller, steps, DT)


def experiment(count, rng):
    """Measured motions: torques, and states with the first one, noise of an encoder on them."""
    q = torch.tensor(rng.uniform(-1.5, 1.5, (count, 2)))
    tau = torch.tensor(np.cumsum(rng.normal(scale=0.8, size=(STEPS, count, 2)), axis=0))
    with torch.no_grad():
        states = motion(q, torch.zeros_like(q), tau, left_out, STEPS)
    both = [torch.cat([first[None], x]) for first, x in zip((q, 0 * q), states, strict=True)]
    return tau, *(x + 1e-4 * torch.tensor(rng.normal(size=x.shape)) for x in both)


rng = np.random.default_rng(0)
tau, q, qd = experiment(64, rng)
layers = torch.nn.Linear(6, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 2)
network = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])


def residual(q, qd):
    """The network's torque (..., 2)."""
    return network(torch.cat([torch.sin(q), torch.cos(q), 2.0 * qd], -1))


def misfit(tau, q, qd, residual, window=5):
    """Velocities predicted over windows of some steps from measured states, against those seen."""
    first = [x[:-1:window].flatten(0, 1) for x in (q, qd)]
    torques, measured = (
        x.unflatten(0, (-1, window)).transpose(0, 1).flatten(1, 2) for x in (tau, qd[1:])
    )
    return ((motion(*first, torques, residual, window)[1] - measured) ** 2).mean()


steps = torch.optim.Adam(network.parameters(), lr=1e-2)
rate = torch.optim.lr_scheduler.CosineAnnealingLR(steps, 300)
for iteration in range(300):
    steps.zero_grad()
    loss = misfit(tau, q, qd, residual)
    loss.backward()
    steps.step()
    rate.step()
    if iteration % 50 == 0:
        print(f"{iteration:3d}: mean square of the misfit {loss.item():.2e} (rad/s)²")

with torch.no_grad():
    unseen = experiment(32, rng)
    bare = misfit(*unseen, lambda q, qd: torch.zeros_like(q)).item()
    learnt = misfit(*unseen, residual).item()
print(f"on motions it has not seen: {bare:.2e} without, {learnt:.2e} with the network")
assert learnt < 0.05 * bare
