"""A recursive Newton-Euler function of a six-joint arm (the UR5's table), in plain NumPy."""

import numpy as np

SHAPES = {"q": (6,), "qd": (6,), "qdd": (6,)}

_A = (0.0, -0.425, -0.39225, 0.0, 0.0, 0.0)
_D = (0.089159, 0.0, 0.0, 0.10915, 0.09465, 0.0823)
_SIN_ALPHA, _COS_ALPHA = (1.0, 0.0, 0.0, 1.0, -1.0, 0.0), (0.0, 1.0, 1.0, 0.0, 0.0, 1.0)
_MASS = (3.7, 8.393, 2.33, 1.219, 1.219, 0.1897)
_CENTRE = np.array(
    [
        [0.0, -0.02561, 0.00193],
        [0.2125, 0.0, 0.11336],
        [0.15, 0.0, 0.0265],
        [0.0, -0.0018, 0.01634],
        [0.0, 0.0018, 0.01634],
        [0.0, 0.0, -0.001159],
    ]
)
_INERTIA = np.array(
    [
        [0.010267, 0.010267, 0.00666],
        [0.2269, 0.2269, 0.0151],
        [0.0494, 0.0494, 0.004],
        [0.1112, 0.1112, 0.2194],
        [0.1112, 0.1112, 0.2194],
        [0.0171, 0.0171, 0.0338],
    ]
)
_Z = np.array([0.0, 0.0, 1.0])
_OFFSET = np.stack([_A, np.multiply(_D, _SIN_ALPHA), np.multiply(_D, _COS_ALPHA)], axis=1)


def _cross(a, b):
    return np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def _rotation(angle, i):
    c, s, zero = np.cos(angle), np.sin(angle), 0.0 * angle
    ca, sa = _COS_ALPHA[i], _SIN_ALPHA[i]
    rows = [[c, -s * ca, s * sa], [s, c * ca, -c * sa], [zero, sa + zero, ca + zero]]
    return np.stack([np.stack(row) for row in rows])


def inverse_dynamics(q, qd, qdd):
    """Joint torques (6,) of the arm."""
    turn = [_rotation(q[i], i) for i in range(6)]
    w, dw, a = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    force, moment = [], []
    for i, back in enumerate(R.T for R in turn):
        dw = back @ (dw + _Z * qdd[i] + _cross(w, _Z * qd[i]))
        w = back @ (w + _Z * qd[i])
        a = back @ a + _cross(dw, _OFFSET[i]) + _cross(w, _cross(w, _OFFSET[i]))
        centre = a + _cross(dw, _CENTRE[i]) + _cross(w, _cross(w, _CENTRE[i]))
        force.append(_MASS[i] * centre)
        moment.append(_INERTIA[i] * dw + _cross(w, _INERTIA[i] * w))
    f, n, torque = np.zeros(3), np.zeros(3), []
    for i in reversed(range(6)):
        n = n + _cross(_OFFSET[i], f) + _cross(_OFFSET[i] + _CENTRE[i], force[i]) + moment[i]
        f = f + force[i]
        f, n = turn[i] @ f, turn[i] @ n
        torque.append(n @ _Z)
    return np.stack(torque[::-1])
