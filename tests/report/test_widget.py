"""The live stage outside its report: alone in a document, inside another page, in a notebook."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report import live
from dalembert.report.page import stage_page, write_page
from tests.report.test_live import state
from tests.report.test_page import wait_until


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    path = tmp_path_factory.mktemp("stage") / "stage.html"
    write_page(stage_page(dl.load("ur5")), path)
    return path


def test_a_stage_alone_begins_live_and_is_light(open_page, alone):
    shown = open_page(alone)
    wait_until(shown, lambda: shown.locator("#live").is_visible())
    assert not shown.locator(".modes, header, footer, #play").filter(visible=True).count()
    np.testing.assert_allclose(state(shown), shown.evaluate("live.home"), rtol=0, atol=0)
    assert alone.stat().st_size < 1_000_000


def test_a_system_that_does_not_compute_is_shown_in_its_motion(monkeypatch):
    monkeypatch.setattr(live, "MOST_JOINTS", 1)
    text = stage_page(dl.load("planar_2r"))
    assert "With 2 degrees of freedom it does not compute" in text and '"poses"' in text
