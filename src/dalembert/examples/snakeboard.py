"""A snakeboard propels itself
===========================

Two wheel pairs that cannot slip sideways: turning wheels and rotor in step moves the board forward.
Constraints are nonholonomic, and met to rounding.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

board = dl.load("snakeboard")
names = list(board.coordinates)
rotor, back, front = (names.index(name) for name in ("psi", "phi_b", "phi_f"))


def gait(t, q, qd):
    """Torques that swing the rotor and the wheels out of phase."""
    goal = {rotor: 0.8 * np.sin(4 * t), back: -0.5 * np.sin(4 * t), front: 0.5 * np.sin(4 * t)}
    tau = np.zeros(6)
    for k, angle in goal.items():
        tau[k] = 40.0 * (angle - q[k]) - 4.0 * qd[k]
    return tau


start = board.neutral()
start[[back, front]] = -0.2, 0.2
run = dl.simulate(board, start, tau=gait, duration=5.0, dt=0.01, progress=False)
x, y = run.q.values[:, :2].T
print(f"moved {np.hypot(x[-1] - x[0], y[-1] - y[0]):.2f} m")
slip = np.einsum("tij,tj->ti", board.jacobian(run.q.values), run.qd.values)
print(f"wheels slip at most {np.abs(slip).max():.0e} m/s")
assert np.abs(slip).max() < 1e-8

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(x, y)
axes.set(xlabel="x / m", ylabel="y / m", aspect="equal", title="path of the board's centre")
