"""Forward dynamics in SciPy's integrator
======================================

An arm let go: forward dynamics integrated by SciPy, and its energy stays what it was.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import dalembert as dl

robot = dl.load("elbow_3r")
n = robot.nv


def motion(t: float, state: np.ndarray) -> np.ndarray:
    q, qd = state[:n], state[n:]
    return np.concatenate([qd, robot.forward_dynamics(q, qd, np.zeros(n))])


start = np.array([0.3, 0.8, -0.5, 1.0, 0.0, 0.0])
run = solve_ivp(motion, (0.0, 2.0), start, rtol=1e-10, atol=1e-10, t_eval=np.linspace(0, 2, 9))
q, qd = run.y[:n].T, run.y[n:].T
energy = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
for t, posture, E in zip(run.t, q, energy, strict=True):
    print(f"t = {t:.2f} s   q = {np.array2string(posture, precision=3, sign=' ')}   E = {E:.9f} J")
print(f"energy drift: {np.ptp(energy):.1e} J in {run.nfev} evaluations")
assert np.ptp(energy) < 1e-7

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(run.t, q, "o-", label=[joint.name for joint in robot.joints])
axes.set(xlabel="time / s", ylabel="q / rad")
axes.legend()
