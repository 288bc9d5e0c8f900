"""TOML files: the same mechanism as by calls, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import ImportFileError
from dalembert.mechanisms.file import read_mechanism
from dalembert.zoo.absolute import slider_crank

GOOD = """\
name = "slider_crank_engine"
gravity = [0.0, 0.0]

[ground]
O = [0.0, 0.0]

[[body]]
name = "crank"
mass = 1.0
inertia = 0.0008333333333333334
at = [0.025, 0.04330127018922194]
angle = 1.0471975511965976
points = { A = [-0.05, 0.0], B = [0.05, 0.0] }

[[body]]
name = "rod"
mass = 0.6
inertia = 0.0045
at = [0.19, 0.04]
angle = -0.29
points = { B = [-0.15, 0.0], P = [0.15, 0.0] }

[[body]]
name = "piston"
mass = 0.8
inertia = 0.008
at = [0.33, 0.0]

[[joint]]
name = "A"
type = "revolute"
between = ["ground.O", "crank.A"]

[[joint]]
name = "B"
type = "revolute"
between = ["crank.B", "rod.B"]

[[joint]]
name = "P"
type = "revolute"
between = ["rod.P", "piston"]

[[joint]]
name = "cylinder"
type = "prismatic"
between = ["ground", "piston"]
direction = 0.0

[[driver]]
name = "motor"
on = "A"
motion = "constant_acceleration"
start = 1.0471975511965976
speed = 40.0
acceleration = 5.0

[[spring]]
name = "valve"
on = "cylinder"
stiffness = 100.0
free = 0.2
"""


def test_file_and_calls_make_the_same_mechanism(tmp_path: Path) -> None:
    from dalembert.mechanisms.motions import ConstantAcceleration

    path = tmp_path / "engine.toml"
    path.write_text(GOOD)
    read = read_mechanism(path)
    called = slider_crank()
    called.drive("motor", "A", ConstantAcceleration(np.pi / 3, 40.0, 5.0))
    called.spring("valve", "cylinder", stiffness=100.0, free=0.2)
    for t in (0.0, 0.05):
        a, b = read.inverse_dynamics(t), called.inverse_dynamics(t)
        np.testing.assert_allclose(a.q, b.q, atol=1e-12)
        np.testing.assert_allclose(a.torque("motor"), b.torque("motor"), rtol=1e-10)


WRONG = [
    ('name = "crank"', 'nam = "crank"', "needs 'name'|unknown key 'nam'", 8),
    ("mass = 0.6", "mass = -0.6", "'rod'.*positive mass", 17),
    ('type = "prismatic"', 'type = "prism"', "did you mean 'prismatic'", 47),
    ('"rod.P", "piston"', '"rod.Q", "piston"', "'rod' has no point 'Q'", 43),
    ('"rod.P", "piston"', '"rod.P", "piton"', "no body 'piton'; did you mean 'piston'", 43),
    ('"rod.P", "piston"', f'"rod.P", "{"x" * 5000}"', "no body 'x+…$", 43),
    ('on = "A"', 'on = "Z"', "no joint or body 'Z'", 53),
    ('motion = "constant_acceleration"', 'motion = "cosine"', "no motion 'cosine'", 54),
    ("stiffness = 100.0", "stiffnes = 100.0", "did you mean 'stiffness'", 62),
    ("inertia = 0.0045", "inertia = 0.0", "'rod' has the inertia", 18),
    ("at = [0.33, 0.0]", "at = [0.33]", "'piston': at must be 2 numbers|2 finite", 27),
    ("gravity = [0.0, 0.0]", "gravity = [0.0]", "gravity", 2),
    ('name = "B"\ntype', 'name = "A"\ntype', "'A' is there already", 35),
    ("direction = 0.0", "direction = 0.0\nfoo = 1", "unknown key 'foo'", 50),
    ("[[spring]]", "[[sprong]]", "did you mean 'spring'", None),
    ('name = "crank"', 'name = "crank', "no TOML", 8),
]


@pytest.mark.parametrize(("good", "bad", "message", "line"), WRONG)
def test_mistakes_are_found_with_their_line(
    good: str, bad: str, message: str, line: int | None
) -> None:
    assert good in GOOD
    with pytest.raises(ImportFileError, match=message) as caught:
        read_mechanism(GOOD.replace(good, bad, 1))
    if line is not None:
        assert caught.value.line is not None and abs(caught.value.line - line) <= 1


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match=r"nowhere\.toml"):
        read_mechanism(tmp_path / "nowhere.toml")


def test_spatial_file() -> None:
    text = """
kind = "spatial"
[[body]]
name = "rod"
mass = 1.0
inertia = [0.001, 0.1, 0.1]
at = [0.5, 0.0, 0.0]
[[joint]]
name = "pin"
type = "revolute"
between = ["ground", "rod"]
at = [0.0, 0.0, 0.0]
axis = [0.0, 1.0, 0.0]
[[actuator]]
name = "motor"
on = "pin"
value = 2.0
"""
    mechanism = read_mechanism(text)
    assert mechanism.mobility == 1
    state = mechanism.forward_dynamics()
    # (0.1 + 1/4) α = 2 + g/2 about y, down at x = ½
    np.testing.assert_allclose(state.a[4], (2.0 + 9.81 / 2) / 0.35, rtol=1e-12)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("mass", '"heavy"', "mass must be a number"),
        ("mass", "true", "mass must be a number"),
        ("points", "[1, 2]", "points must be a table"),
        ("name", "3", "name must be text"),
        ("inertia", "nan", "no number of a mechanism"),
        ("mass", "1e-320", "no number of a mechanism"),
        ("at", "[inf, 0.0]", "no number of a mechanism"),
    ],
)
def test_values_of_another_type_are_refused_with_their_line(key, value, message):
    rows = {"name": '"bob"', "mass": "1.0", "inertia": "0.1", "at": "[1.0, 0.0]", key: value}
    text = "[[body]]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items())
    with pytest.raises(ImportFileError, match=message) as caught:
        read_mechanism(text)
    assert caught.value.line == 2 + list(rows).index(key)
