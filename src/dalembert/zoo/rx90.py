"""Stäubli RX-90 in modified DH, a full inertia on every link, as operation counts assume."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import register, symmetric

REACH = 0.45  # m, upper arm and forearm alike

# twist α, length a, offset d of each joint
GEOMETRY = (
    (0.0, 0.0, 0.0),
    (pi / 2, 0.0, 0.0),
    (0.0, REACH, 0.0),
    (-pi / 2, 0.0, REACH),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
)
# mass kg, centre of mass m, tensor kg m² (xx, yy, zz, xy, xz, yz): no entry is zero
BODIES = (
    (12.0, (-0.08, -0.059, 0.054), (0.108, 0.134, 0.143, 0.0021, -0.0141, -0.00965)),
    (15.0, (0.221, 0.009, 0.065), (0.0895, 0.335, 0.357, 0.0526, -0.0108, 0.0117)),
    (7.5, (0.016, -0.013, -0.073), (0.0619, 0.0561, 0.0602, 0.00418, 0.0029, -0.00557)),
    (4.0, (-0.011, -0.01, -0.178), (0.0513, 0.072, 0.0417, -0.0084, -0.0281, -0.00995)),
    (2.0, (-0.03, -0.032, -0.047), (0.00407, 0.00458, 0.00428, -5.2e-05, 3.4e-05, -0.000332)),
    (0.8, (0.006, -0.005, 0.062), (0.00109, 0.00109, 0.000859, -1.1e-05, -2.4e-05, -3.5e-05)),
)


@register(
    "rx90",
    "Stäubli RX-90 geometry with a general inertia on every link",
    "Khalil and Dombre, Modeling, Identification and Control of Robots (2002): geometry of the "
    "RX-90; inertias chosen",
)
def build() -> Robot:
    """The geometry is the arm's; the inertias are chosen, boxes of its size in general position."""
    rows = [
        {
            "alpha": alpha,
            "a": a,
            "d": d,
            "mass": mass,
            "com": com,
            "inertia": symmetric(*tensor),
        }
        for (alpha, a, d), (mass, com, tensor) in zip(GEOMETRY, BODIES, strict=True)
    ]
    return Robot.from_dh(rows, convention="modified", name="rx90")
