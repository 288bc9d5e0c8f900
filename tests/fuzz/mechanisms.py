"""Fuzz targets for mechanisms in TOML: mutated texts, hostile values for every key."""

from __future__ import annotations

import re

import numpy as np

from dalembert.mechanisms.file import read_mechanism
from dalembert.zoo.two_bar import names_scenario, read_scenario
from tests.fuzz.grammar import mechanism
from tests.fuzz.mutate import delete_span, flip_byte, repeat_span, truncate

PLANAR = """
name = "slider_crank"
kind = "planar"
gravity = [0.0, -9.81]
[ground]
O = [0.0, 0.0]
rail = [0.0, 0.0]
[[body]]
name = "crank"
mass = 1.0
inertia = 0.01
at = [0.1, 0.0]
points = { A = [-0.1, 0.0], B = [0.1, 0.0] }
[[body]]
name = "slider"
mass = 2.0
inertia = 0.02
at = [0.5, 0.0]
angle = 0.1
[[joint]]
name = "pin"
type = "revolute"
between = ["ground.O", "crank.A"]
[[joint]]
name = "rod"
type = "distance"
between = ["crank.B", "slider"]
[[driver]]
name = "motor"
on = "pin"
motion = "constant_speed"
start = 0.0
end = 6.28
duration = 1.0
[[spring]]
name = "back"
between = ["ground.O", "slider"]
stiffness = 100.0
free = 0.4
damping = 2.0
[[actuator]]
name = "drive"
on = "slider.x"
value = 1.5
[[force]]
name = "push"
on = "slider"
force = [1.0, 0.0]
"""
SPATIAL = """
name = "gyroscope"
kind = "spatial"
gravity = [0.0, 0.0, -9.81]
[ground]
O = [0.0, 0.0, 0.0]
[[body]]
name = "disc"
mass = 1.0
inertia = [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.2]]
at = [0.0, 0.0, 0.3]
points = { foot = [0.0, 0.0, -0.3] }
[[joint]]
name = "ball"
type = "spherical"
between = ["ground.O", "disc.foot"]
[[body]]
name = "rotor"
mass = 0.5
inertia = [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]
at = [0.0, 0.0, 0.6]
velocity = [0.0, 0.0, 0.0, 0.0, 0.0, 3.0]
[[joint]]
name = "hinge"
type = "revolute"
between = ["disc", "rotor"]
axis = [0.0, 0.0, 1.0]
at = [0.0, 0.0, 0.5]
[[torque]]
name = "turn"
on = "rotor"
moment = [0.0, 0.0, 1.0]
"""
SPLINE = """
name = "rod"
[[body]]
name = "rod"
mass = 1.3
inertia = 0.2
at = [0.4, 0.0]
[[joint]]
name = "pin"
type = "revolute"
between = ["ground", ["rod", [-0.4, 0.0]]]
[[driver]]
name = "motor"
on = "pin"
motion = "spline"
points = [0.0, 1.0, 0.5]
times = [0.0, 1.0, 2.0]
[[spring]]
name = "back"
on = "pin.angle"
stiffness = 3.0
"""
SCENARIO = """
scenario = "straight_line"
lengths = [1.2, 0.9]
masses = [2.0, 1.5]
centroids = [0.5, 0.4]
inertias = [0.1, 0.2]
g = 9.81
tool_start = [1.2, 0.2]
phi_end = [1.0, 0.5]
delta_t = 0.5
"""
TEXTS = (PLANAR,) * 5 + (SPATIAL,) * 3 + (SPLINE, SCENARIO)
NUMBER = re.compile(r"(?<![\w\"])-?\d+\.?\d*")
VALUE = re.compile(r"(?<== )[^\n]+")
KEY = re.compile(r"^\w+(?= =)", re.MULTILINE)
LINE = re.compile(r"^[^\n]*\n", re.MULTILINE)
TOKENS = (
    *(
        "nan",
        "inf",
        "-inf",
        "1e308",
        "-1",
        "0",
        "1e-320",
        "9223372036854775808",
        "true",
        '""',
        "[]",
    ),
    *(
        '"ground"',
        '"crank"',
        '"nobody.A"',
        '"pin"',
        "[1]",
        "[1, 2, 3, 4]",
        "[[1, 2], [3, 4]]",
        "{}",
    ),
    *('"revolute"', '"x.y.z"', "1979-05-27", "[nan, nan]", '["a", "b"]', "{ A = 1 }", "'''x'''"),
    *(
        '"constant_speed"',
        "[[]]",
        '"\\u0000"',
        "0x10",
        "1_000",
        "[0.0, 0.0]",
        '["ground", "ground"]',
    ),
    *('"free"', '"fixed"', '"prismatic"', "[{}]", "[1e300, 1e300]", "10000000000000000000000000"),
)
HEADERS = ("[[body]]\n", "[[joint]]\n", "[ground]\n", "[[driver]]\n", "[[zebra]]\n", "[body]\n")


def case(rng: np.random.Generator, earlier: str | None = None) -> str:
    """A mechanism or a scenario, with up to three things changed; or one of the grammar's."""
    if earlier is None and rng.random() < 0.3:
        return mechanism(rng)
    text = TEXTS[int(rng.integers(len(TEXTS)))] if earlier is None else earlier
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        text = CHANGES[int(rng.integers(len(CHANGES)))](text, rng)
    return text


def outcome(text: str) -> str:
    """Read it; what was let in has finite numbers, and says what it is."""
    source = text + "\n"
    mechanism = (
        read_scenario(source).mechanism if names_scenario(source) else read_mechanism(source)
    )
    d = mechanism.description
    for body in d.bodies:
        if not all(np.isfinite(np.asarray(x, float)).all() for x in (body.mass, body.inertia)):
            return "accepted with a number that is not finite"
    mechanism.forward_dynamics()
    return "accepted"


def _replace(pattern: re.Pattern[str], text: str, rng: np.random.Generator, by: str) -> str:
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    at = matches[int(rng.integers(len(matches)))]
    return text[: at.start()] + by + text[at.end() :]


def _token(rng: np.random.Generator) -> str:
    return TOKENS[int(rng.integers(len(TOKENS)))]


def change_value(text: str, rng: np.random.Generator) -> str:
    """A key gets another value."""
    return _replace(VALUE, text, rng, _token(rng))


def change_number(text: str, rng: np.random.Generator) -> str:
    """A number becomes something else."""
    return _replace(NUMBER, text, rng, _token(rng))


def change_key(text: str, rng: np.random.Generator) -> str:
    """A key gets the name of another."""
    matches = KEY.findall(text)
    return _replace(KEY, text, rng, matches[int(rng.integers(len(matches)))]) if matches else text


def drop_line(text: str, rng: np.random.Generator) -> str:
    """A line is missing."""
    return _replace(LINE, text, rng, "")


def insert_header(text: str, rng: np.random.Generator) -> str:
    """A table begins where none should."""
    lines = text.splitlines(keepends=True)
    lines.insert(int(rng.integers(len(lines) + 1)), HEADERS[int(rng.integers(len(HEADERS)))])
    return "".join(lines)


def bytes_of(text: str, rng: np.random.Generator) -> str:
    """A mutation that knows nothing of TOML."""
    blind = (flip_byte, delete_span, repeat_span, truncate)
    data = text.encode(errors="surrogatepass")
    return blind[int(rng.integers(len(blind)))](data, rng).decode(errors="replace")


CHANGES = (
    *(change_value, change_value, change_value, change_number, change_number),
    *(change_key, drop_line, insert_header, bytes_of),
)
