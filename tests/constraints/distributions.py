"""Known distributions as Pfaffian rows A(q), with the growth vectors published for them."""

import numpy as np


def rows(*lines):
    return np.stack([np.stack(list(line)) for line in lines])


def unicycle(q):
    return rows([np.sin(q[2]), -np.cos(q[2]), 0.0])


def rolling_disk(q):
    return rows([1.0, 0.0, 0.0, -np.cos(q[2])], [0.0, 1.0, 0.0, -np.sin(q[2])])


def car(q):
    """x, y of the rear axle, heading, steering angle."""
    front = q[2] + q[3]
    blade = [np.sin(front), -np.cos(front), -np.cos(q[3]), 0.0]
    return rows([np.sin(q[2]), -np.cos(q[2]), 0.0, 0.0], blade)


def trailers(q):
    """x, y of the last axle and the headings from there to the tractor; every bar of length 1."""
    n = len(q) - 2
    result = []
    for k in range(n):
        s, c = np.sin(q[2 + k]), np.cos(q[2 + k])
        # the axle k is at (x, y) + Σ_{j<k} (cos θ_j, sin θ_j): no velocity across its heading
        turns = [-(s * np.sin(q[2 + j]) + c * np.cos(q[2 + j])) * (j < k) for j in range(n)]
        result.append([s, -c, *turns])
    return rows(*result)


def chained(q):
    """ẋ₁ = u, ẋ₂ = w, ẋ_{k+1} = x_k u."""
    n = len(q)
    return rows(*([-q[k - 1] if j == 0 else float(j == k) for j in range(n)] for k in range(2, n)))


def martinet(q):
    return rows([0.0, -(q[0] ** 2), 1.0])


def cubic(q):
    return rows([0.0, -(q[0] ** 3), 1.0])


def heisenberg(q):
    return rows([-q[1], q[0], -2.0])


def heisenberg_5(q):
    return rows([-q[1], q[0], -q[3], q[2], -2.0])


def engel(q):
    """dy = p dx, dp = r dx in (x, y, p, r)."""
    return rows([-q[2], 1.0, 0.0, 0.0], [-q[3], 0.0, 1.0, 0.0])


def hilbert_cartan(q):
    """z' = (y'')² in (x, y, p, r, z)."""
    return rows(
        [-q[2], 1.0, 0.0, 0.0, 0.0], [-q[3], 0.0, 1.0, 0.0, 0.0], [-(q[3] ** 2), 0.0, 0.0, 0.0, 1.0]
    )


def ball_on_plane(q):
    """Unit ball rolling without spin, contact coordinates (u, v, x, y, ψ)."""
    u, psi = q[0], q[4]
    c, s, k = np.cos(psi), np.sin(psi), np.cos(u)
    return rows(
        [-c, s * k, 1.0, 0.0, 0.0], [s, c * k, 0.0, 1.0, 0.0], [0.0, np.sin(u), 0.0, 0.0, 1.0]
    )


def gradient(q):
    """The gradient of q₀ q₁ q₂, disguised by a factor: holonomic."""
    scale = 2.0 + np.sin(q[0])
    return scale * rows([q[1] * q[2], q[0] * q[2], q[0] * q[1]])


def leaf(q):
    """dz = x z dy: what starts on z = 0 stays there, elsewhere everything is reached."""
    return rows([0.0, -q[0] * q[2], 1.0])


RIGHT = np.pi / 2
KNOWN = {
    "unicycle": (unicycle, [0.1, 0.2, 0.3], (2, 3)),
    "rolling disk": (rolling_disk, [0.1, 0.2, 0.3, 0.4], (2, 3, 4)),
    "car": (car, [0.1, 0.2, 0.3, 0.4], (2, 3, 4)),
    # Jean, The car with N trailers: characterization of the singular configurations (1996)
    "two trailers": (trailers, [0.1, 0.2, 0.3, 0.5, 0.4], (2, 3, 4, 5)),
    "two trailers, tractor across": (trailers, [0.1, 0.2, 0.3, 0.5, 0.5 + RIGHT], (2, 3, 4, 4, 5)),
    "two trailers, last one across": (trailers, [0.1, 0.2, 0.3, 0.3 + RIGHT, 0.4], (2, 3, 4, 5)),
    "three trailers": (trailers, [0.1, 0.2, 0.3, 0.5, 0.4, 0.6], (2, 3, 4, 5, 6)),
    "chained, five states": (chained, np.zeros(5), (2, 3, 4, 5)),
    "chained, eight states": (chained, np.linspace(0.0, 0.7, 8), (2, 3, 4, 5, 6, 7, 8)),
    "Martinet at x = 0": (martinet, [0.0, 0.3, 0.1], (2, 2, 3)),
    "Martinet elsewhere": (martinet, [0.5, 0.3, 0.1], (2, 3)),
    "dz = x³ dy at x = 0": (cubic, [0.0, 0.3, 0.1], (2, 2, 2, 3)),
    "Heisenberg": (heisenberg, [0.1, 0.2, 0.3], (2, 3)),
    "Heisenberg, five states": (heisenberg_5, np.zeros(5), (4, 5)),
    "Engel": (engel, np.zeros(4), (2, 3, 4)),
    "Hilbert and Cartan": (hilbert_cartan, np.linspace(0.1, 0.5, 5), (2, 3, 5)),
    "ball on a plane": (ball_on_plane, np.linspace(0.1, 0.5, 5), (2, 3, 5)),
    "gradient": (gradient, [0.5, 0.7, -0.4], (2, 2)),
    "on the only leaf": (leaf, [0.2, 0.1, 0.0], (2, 2)),
    "off that leaf": (leaf, [0.2, 0.1, 0.3], (2, 3)),
}
