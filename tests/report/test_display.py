"""Displays in notebooks: robots as tables, equations as formulas, runs with their accessor."""

import numpy as np

import dalembert as dl


def test_robots_are_tables():
    html = dl.load("ur5")._repr_html_()
    assert html.count("<tr>") == 7
    assert "shoulder_pan_joint" in html
    assert "8.393" in html


def test_names_are_escaped_and_parameters_named():
    load = dl.Parameter("load", 1.0)
    rows = [{"name": "<i>", "a": 0.5, "mass": load, "inertia": np.eye(3)}]
    html = dl.Robot.from_dh(rows, convention="standard", name="a&b")._repr_html_()
    assert "<i>" not in html
    assert "a&amp;b" in html
    assert "parameters load" in html
    assert "depends on parameters" in html


def test_equations_are_formulas():
    assert dl.symbolic_model("planar_2r").equations(["M"], progress=False)._repr_latex_()[0] == "$"
