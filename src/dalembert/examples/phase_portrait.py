"""Phase portrait of a pendulum
============================

Twenty motions in one call: swings inside the separatrix, turns outside of it.
"""

import numpy as np

import dalembert as dl

pendulum = dl.load("pendulum")
rates = np.linspace(0.5, 9.0, 20)[:, None]
run = dl.simulate(pendulum, np.zeros((20, 1)), rates, duration=2.0, dt=1e-3, save_every=10)
energy = (run.kinetic + run.potential).values
assert np.ptp(energy, axis=0).max() < 1e-6
turning = np.abs(run.q.values[-1, :, 0]) > np.pi
print(f"{turning.sum()} of 20 turn over")
figure = run.dl.phase()
