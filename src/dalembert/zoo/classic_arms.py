"""The Stanford arm of Scheinman (1969): two revolute joints, a prismatic one, a spherical wrist."""

from __future__ import annotations

from math import pi

from dalembert.systems.robot import Robot
from dalembert.zoo.entry import Keywords, diagonal, register, symmetric

# The Robotics Toolbox has 1.054, 6.447, 0.092, 0.566 and 1.554 m among the centres of mass, most of
# them far outside their links. Read as decimetres, as here, they lie inside. The rotor inertias are
# as seen at the joints, so the gear ratios are 1.
STANFORD_ROWS: list[Keywords] = [
    {"d": 0.412, "a": 0.0, "alpha": -pi / 2, "mass": 9.29, "com": (0.0, 0.0175, -0.1105)},
    {"d": 0.154, "a": 0.0, "alpha": pi / 2, "mass": 5.01, "com": (0.0, -0.1054, 0.0)},
    {"theta": -pi / 2, "a": 0.0, "alpha": 0.0, "mass": 4.25, "com": (0.0, 0.0, -0.6447)},
    {"d": 0.0, "a": 0.0, "alpha": -pi / 2, "mass": 1.08, "com": (0.0, 0.0092, -0.054)},
    {"d": 0.0, "a": 0.0, "alpha": pi / 2, "mass": 0.63, "com": (0.0, 0.0, 0.0566)},
    {"d": 0.263, "a": 0.0, "alpha": 0.0, "mass": 0.51, "com": (0.0, 0.0, 0.1554)},
]
STANFORD_MOMENTS = (
    (0.276, 0.255, 0.071),
    (0.108, 0.018, 0.100),
    (2.51, 2.51, 0.006),
    (0.002, 0.001, 0.001),
    (0.003, 0.003, 0.0004),
    (0.013, 0.013, 0.0003),
)
STANFORD_ROTORS = (0.953, 2.193, 0.782, 0.106, 0.097, 0.020)
STANFORD_DEGREES = (170, 170, None, 170, 90, 170)
INCH = 0.0254


@register(
    "stanford",
    "Stanford arm, with reflected rotor inertias",
    "Paul, Robot Manipulators: Mathematics, Programming, and Control (1981), tables 6.5, "
    "6.6; kinematics from Stanford AIM-177, fig. 2.3; as collected in Corke's Robotics Toolbox",
)
def build_stanford() -> Robot:
    """Standard DH; the prismatic joint reaches from 12 to 50 inches."""
    rows = []
    table = zip(STANFORD_ROWS, STANFORD_MOMENTS, STANFORD_ROTORS, STANFORD_DEGREES, strict=True)
    for row, moments, rotor, limit in table:
        kind, bounds = "prismatic", (12 * INCH, 50 * INCH)
        if limit is not None:
            kind, bounds = "revolute", (-limit * pi / 180, limit * pi / 180)
        body = {"inertia": diagonal(*moments), "rotor_inertia": rotor}
        rows.append({**row, "joint": kind, **body, "limits": bounds})
    return Robot.from_dh(rows, convention="standard", name="stanford")


RX90_REACH = 0.45  # m, upper arm and forearm alike

# twist α, length a, offset d of each joint
RX90_GEOMETRY = (
    (0.0, 0.0, 0.0),
    (pi / 2, 0.0, 0.0),
    (0.0, RX90_REACH, 0.0),
    (-pi / 2, 0.0, RX90_REACH),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
)
# mass kg, centre of mass m, tensor kg m² (xx, yy, zz, xy, xz, yz): no entry is zero
RX90_BODIES = (
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
def build_rx90() -> Robot:
    """The geometry is the arm's; the inertias are chosen, boxes of its size in general position."""
    rows = []
    for (alpha, a, d), (mass, com, tensor) in zip(RX90_GEOMETRY, RX90_BODIES, strict=True):
        body = {"mass": mass, "com": com, "inertia": symmetric(*tensor)}
        rows.append({"alpha": alpha, "a": a, "d": d, **body})
    return Robot.from_dh(rows, convention="modified", name="rx90")
