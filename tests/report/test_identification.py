"""The page of a fit: one file, all joints, nothing fetched, names made harmless."""

import re

import pytest

import dalembert as dl
from dalembert.report.sections import ticks
from tests.identification.logs import REAL, other_robot, replace, ugly_log


@pytest.fixture(scope="module")
def fit():
    prior = dl.load("planar_2r")
    ugly = replace(REAL, rate=200.0, duration=10.0)
    return dl.identify(prior, ugly_log(prior, ugly, other_robot(prior, 1, 0.3)).log)


def test_the_page_of_a_fit_has_all_sections_and_needs_no_network(fit, tmp_path):
    path = fit.report(tmp_path / "deep" / "fit.html")
    text = path.read_text()
    for word in ("Models side by side", "Warnings", "What is left", "Friction", "Base parameters"):
        assert f"<h2>{word}</h2>" in text
    for joint in ("link1_joint", "link2_joint"):
        assert f"Torque of {joint}" in text and f"{joint}: autocorrelation" in text
    assert "unconstrained" in text and "Ljung" in text and "digest of the prior" in text
    assert not re.search(r"(src|href)=\"https?:", text)
    body = text[: text.index('<script type="application/json"')]
    assert not re.search(r"\b(nan|inf)\b", body)


def test_what_a_log_does_not_show_is_on_the_page(fit, tmp_path):
    hidden = dl.Fit(**{**_fields(fit), "warnings": ("<b>odd</b> joint",)})
    text = hidden.report(tmp_path / "fit.html").read_text()
    assert "&lt;b&gt;odd&lt;/b&gt; joint" in text and "<b>odd</b>" not in text


def test_the_page_doubts_joints_whose_leftovers_are_not_noise(fit, tmp_path):
    coloured = fit.whiteness()["p"] < 1e-3
    assert coloured.any() and not fit.warnings  # elastic joints, and Stribeck's friction
    text = fit.report(tmp_path / "fit.html").read_text()
    warnings = text[text.index("<h2>Warnings</h2>") : text.index("<h2>What is left</h2>")]
    assert "None." not in warnings and "is not white noise" in warnings
    assert all(joint in warnings for joint in coloured.index[coloured])
    assert "not filtered" in text


def test_the_fitted_robot_has_the_errors_of_the_table(fit):
    errors = fit.errors().loc["fit"].drop("all")["consistent"]
    (line,) = [x for x in fit.robot.model.notes.provenance if x.startswith("RMS of measured")]
    assert all(f"{joint} {rms:.4g}" in line for joint, rms in errors.items())


def _fields(fit):
    return {name: getattr(fit, name) for name in fit.__dataclass_fields__}


def test_round_numbers_lie_between_the_ends():
    assert ticks(-1.0, 1.0) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    for low, high in ((0.0, 1e-9), (-3e7, 1.0), (0.2, 0.9)):
        marks = ticks(low, high)
        assert 2 <= len(marks) <= 7 and low <= marks[0] and marks[-1] <= high * (1 + 1e-9)
