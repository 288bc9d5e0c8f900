"""Unimation PUMA 560: the most measured arm of all, with motors, gears and friction."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, diagonal, register

INCH = 0.0254
# The source has neither mass nor transverse moments for link 1, which only turns about a fixed axis
# through its centre, so that they never act. A real body has them; these are chosen.
COLUMN = 13.0  # kg
ACROSS = 0.35  # kg m²
# Second moment of mass along the axis of joint 3, moved from link 2 to link 3: see `grouped`.
MOVED = 0.004  # kg m²

# Standard DH (Paul's signs of the twist); m, rad, kg. The first offset is the pedestal.
GEOMETRY: list[Keywords] = [
    {"d": 26.45 * INCH, "a": 0.0, "alpha": pi / 2, "mass": COLUMN, "com": (0.0, 0.0, 0.0)},
    {"d": 0.0, "a": 0.4318, "alpha": 0.0, "mass": 17.4, "com": (-0.3638, 0.006, 0.2275)},
    {"d": 0.15005, "a": 0.0203, "alpha": -pi / 2, "mass": 4.8, "com": (-0.0203, -0.0141, 0.070)},
    {"d": 0.4318, "a": 0.0, "alpha": pi / 2, "mass": 0.82, "com": (0.0, 0.019, 0.0)},
    {"d": 0.0, "a": 0.0, "alpha": -pi / 2, "mass": 0.34, "com": (0.0, 0.0, 0.0)},
    {"d": 0.0, "a": 0.0, "alpha": 0.0, "mass": 0.09, "com": (0.0, 0.0, 0.032)},
]
# Principal moments about the centres of mass as published, kg m².
MOMENTS = (
    (0.0, 0.35, 0.0),
    (0.130, 0.524, 0.539),
    (0.066, 0.086, 0.0125),
    (1.8e-3, 1.3e-3, 1.8e-3),
    (0.3e-3, 0.4e-3, 0.3e-3),
    (0.15e-3, 0.15e-3, 0.04e-3),
)
# Motors: inertia kg m², gear ratio, viscous N m s/rad, Coulomb N m at (positive, negative)
# velocity, all measured at the motor; then the joint's range in degrees.
MOTORS = (
    (200e-6, -62.6111, 1.48e-3, (0.395, -0.435), (-160, 160)),
    (200e-6, 107.815, 0.817e-3, (0.126, -0.071), (-45, 225)),
    (200e-6, -53.7063, 1.38e-3, (0.132, -0.105), (-225, 45)),
    (33e-6, 76.0364, 71.2e-6, (11.2e-3, -16.9e-3), (-110, 170)),
    (33e-6, 71.923, 82.6e-6, (9.26e-3, -14.5e-3), (-100, 100)),
    (33e-6, 76.686, 36.7e-6, (3.96e-3, -10.5e-3), (-266, 266)),
)


def grouped() -> tuple[tuple[float, float, float], ...]:
    """The moments with which every link is a possible body and every joint torque is unchanged.

    Published for link 3 is I_yy > I_xx + I_zz. Mass spread along the axis of joint 3 may be counted
    to either of the links it connects: its second moment s adds s (1 − z zᵀ) to a tensor, which a
    turn about z leaves alone. That axis is z of link 2 and y of link 3. The inner wrench of
    joint 3, which depends on where the joint is cut, does change.
    """
    _, (x2, y2, z2), (x3, y3, z3), *wrist = MOMENTS
    column = (ACROSS, MOMENTS[0][1], ACROSS)
    upper_arm = (x2 - MOVED, y2 - MOVED, z2)
    forearm = (x3 + MOVED, y3, z3 + MOVED)
    return (column, upper_arm, forearm, *wrist)


def rows() -> list[Keywords]:
    """The table of `Robot.from_dh`.

    Published moments that no body can have are regrouped (see `grouped`).
    """
    table = []
    for row, moments, motor in zip(GEOMETRY, grouped(), MOTORS, strict=True):
        keys = ("rotor_inertia", "gear_ratio", "viscous_motor", "coulomb_motor")
        drive = dict(zip(keys, motor, strict=False))
        limits = tuple(angle * pi / 180 for angle in motor[-1])
        table.append({**row, "inertia": diagonal(*moments), **drive, "limits": limits})
    return table


@register(
    "puma560",
    "Unimation PUMA 560, with motors and friction",
    "Corke and Armstrong-Hélouvry, A search for consensus among model parameters reported for "
    "the PUMA 560 robot, Proc. IEEE ICRA 1994, pp. 1608-1613; as in Corke's Robotics Toolbox",
)
def build() -> Robot:
    """The arm with its drives. Ready pose (0, π/2, −π/2, 0, 0, 0): straight up."""
    return Robot.from_dh(rows(), convention="standard", name="puma560")
