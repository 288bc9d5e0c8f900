"""Natural frequencies from derivatives
====================================

Derivatives of the dynamics are quantities like any other: natural frequencies of an arm on springs.
"""

import matplotlib.pyplot as plt
import numpy as np

import dalembert as dl

robot = dl.load("ur5")
q = np.radians([0.0, -90.0, 90.0, 0.0, 45.0, 0.0])
still = np.zeros(6)
dtau_dq, _, M = robot.inverse_dynamics_derivatives(q, still, still)
springs = np.diag([2e4, 2e4, 1e4, 3e3, 3e3, 3e3])  # N m/rad at the joints

# M δq̈ + (K + ∂τ/∂q) δq = 0 around the posture that gravity is balanced in
squares, modes = np.linalg.eig(np.linalg.solve(M, springs + dtau_dq))
for frequency in np.sort(np.sqrt(squares.real)) / (2 * np.pi):
    print(f"{frequency:8.2f} Hz")
assert (squares.real > 0).all()

step = 1e-6
central = [
    (robot.gravity_torque(q + step * e) - robot.gravity_torque(q - step * e)) / (2 * step)
    for e in np.eye(6)
]
assert np.allclose(dtau_dq, np.transpose(central), atol=1e-6)

# along a motion of the elbow, all postures in one call
angles = np.linspace(0.0, np.pi / 2, 91)
postures = np.tile(q, (91, 1))
postures[:, 2] = angles
dtau_dq, _, M = robot.inverse_dynamics_derivatives(postures, 0 * postures, 0 * postures)
squares = np.linalg.eigvals(np.linalg.solve(M, springs + dtau_dq)).real
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.semilogy(np.degrees(angles), np.sort(np.sqrt(squares), axis=1) / (2 * np.pi))
axes.set(xlabel="elbow / °", ylabel="natural frequency / Hz")
