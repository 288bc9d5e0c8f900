"""Equations on a page: readable, folded where long, and honest where they are left out."""

import re

import numpy as np
import sympy

import dalembert as dl
from dalembert.report import live_equations
from dalembert.report.live_equations import DIGITS, page_equations, with_symbols, without_noise
from dalembert.report.page import style
from dalembert.symbolic.notation import dotted


def test_small_robots_are_written_with_the_symbols_of_their_source():
    html = page_equations(dl.load("planar_2r")).html
    assert "<mi>β</mi>" in html
    assert html.count("<details") == html.count(" open>") == 4


def test_own_robots_get_symbols():
    rows = [{"a": 0.4, "mass": 1.5, "com": (-0.2, 0, 0), "inertia": 0.1 * np.eye(3)}]
    robot = dl.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    assert "m1" in with_symbols(robot).model.parameters
    load = dl.Parameter("load", 1.0)
    own = dl.Robot.from_dh([{"a": 0.4, "mass": load}], convention="standard")
    assert with_symbols(own) is own


def test_numbers_are_short_and_rounding_noise_is_left_out():
    robot = dl.load("ur5")
    equations = without_noise(robot.equations(["M"], progress=False))
    numbers = {str(x) for x in equations.M.atoms(sympy.Float)}
    assert all(abs(float(x)) > 1e-9 for x in numbers)
    q = np.linspace(0.2, 1.2, 6)
    exact = robot.mass_matrix(q)
    assert np.abs(equations.lambdify("M")(q) - exact).max() < 1e-12 * np.abs(exact).max()
    printed = re.findall(r"<mn>(\d+\.\d+)</mn>", equations.sections(DIGITS)[0].body)
    assert max(len(x.replace(".", "").lstrip("0")) for x in printed) == DIGITS


def test_long_mathematics_is_folded_or_left_out(monkeypatch):
    robot = dl.load("planar_2r")
    monkeypatch.setattr(live_equations, "OPEN", 0)
    equations = page_equations(robot)
    assert len(equations.sections) == equations.html.count("<details") == 4
    assert " open>" not in equations.html and "robot.equations()" not in equations.html
    monkeypatch.setattr(live_equations, "MOST", 0)
    equations = page_equations(robot)
    assert equations.html.count("robot.equations()") == 4 and not equations.sections


def test_what_cannot_be_written_says_why():
    ball = {"name": "b", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
    html = page_equations(dl.Robot.from_links([ball])).html
    assert html
    assert "Traceback" not in html


def test_dots_stand_clear_of_their_symbols(open_page, tmp_path):
    """Browsers set an accent onto the top of its symbol: a dot over V touched the serifs."""
    path = tmp_path / "equations.html"
    symbols = "".join(
        f"<math>{dotted(f'<mi>{x}</mi>', dot)}</math>" for x in "ωqVθ" for dot in "˙¨"
    )
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><style>{style()}</style>{symbols}", "utf-8"
    )
    gaps = open_page(path).evaluate(
        """[...document.querySelectorAll("mover")].map((over) => {
        const [letter, dot] = [...over.children].map((part) => part.getBoundingClientRect());
        const free = parseFloat(getComputedStyle(over.children[1]).paddingBottom);
        return [(letter.top - dot.bottom + free) / parseFloat(getComputedStyle(over).fontSize),
                dot.height - free];
        })"""
    )
    assert len(gaps) == 8
    assert all(0.06 < gap < 0.2 and height > 0 for gap, height in gaps)
