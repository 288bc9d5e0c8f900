"""The page of a study in a browser: brushes select runs everywhere, a click shows a run's motion."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.errors import SimulationError
from dalembert.report import studies as pages
from dalembert.report.studies import columns, extremes, study_page, thinned
from dalembert.sweeps.store import is_study, open_study
from tests.sweeps.studies import arm, settings

# the law is far too stiff for its step where kp is 1e7
OVER = {"load": [0.0, 1.0, 2.0, 4.0], "friction": [0.1, 0.5], "kp": [50.0, 80.0, 200.0, 1e7]}
REDUCE = ["peak_torque", "work"]


@pytest.fixture(scope="module")
def study():
    how = settings(duration=0.4, dt=4e-3, save_every=2)
    return dl.sweep(arm(), OVER, how, REDUCE)


@pytest.fixture(scope="module")
def path(study, tmp_path_factory):
    return study.dl.report(tmp_path_factory.mktemp("study") / "study.html")


def data_of(text):
    """The data inside a page."""
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def brush(page, label, low, high):
    """Drag along an axis, between shares of its height."""
    box = page.locator(f'[data-column="{label}"] .handle').bounding_box()
    x, foot, tall = box["x"] + box["width"] / 2, box["y"] + box["height"] - 8, box["height"] - 16
    page.mouse.move(x, foot - low * tall)
    page.mouse.down()
    page.mouse.move(x, foot - 0.5 * (low + high) * tall)
    page.mouse.move(x, foot - high * tall)
    page.mouse.up()


def count(page):
    return page.locator("#chosen").text_content()


def bars(page):
    """Heights of the selected part of all histograms."""
    heights = "all => all.map((bar) => Number(bar.getAttribute('height')))"
    return sum(page.locator("#histograms .own").evaluate_all(heights))


def test_brushing_an_axis_selects_runs_everywhere(open_page, path):
    page = open_page(path, at=0.1)
    every = bars(page)
    assert count(page) == "32 of 32 runs selected"
    brush(page, "load", 0.0, 0.3)
    assert count(page) == "16 of 32 runs selected"  # loads 0 and 1
    assert page.locator("#table tbody tr").count() == 16
    assert bars(page) != every
    brush(page, "friction", 0.9, 1.0)
    assert count(page) == "8 of 32 runs selected"
    page.locator("#all").click()
    assert count(page) == "32 of 32 runs selected" and bars(page) == every


def test_clicking_a_run_shows_its_motion(open_page, path):
    page = open_page(path, at=0.1)
    assert page.locator("#picked").text_content().startswith("Run 0: load 0")
    first = page.locator(".chart path").first.get_attribute("d")
    page.locator('#table button[data-run="30"]').click()
    assert "Run 30: load 4, friction 0.5, kp 200" in page.locator("#picked").text_content()
    assert page.locator("#arm canvas").count() == 1
    assert page.locator(".chart path").first.get_attribute("d") != first
    page.locator("#time").fill("0.3")
    assert page.locator("#now").text_content() == "0.30 s"
    assert page.locator("#table tr.picked button").text_content() == "▶ 30"


def test_clicking_a_line_picks_its_run(open_page, path):
    page = open_page(path, at=0.1)
    brush(page, "kp", 0.1, 0.2)  # 200 on a logarithmic axis from 50 to 1e7
    brush(page, "load", 0.9, 1.0)
    brush(page, "friction", 0.9, 1.0)
    assert count(page) == "1 of 32 runs selected"
    box = page.locator("#axes svg").bounding_box()
    ends = [
        page.locator(f'[data-column="{c}"] .handle').bounding_box() for c in ("load", "friction")
    ]
    x = 0.5 * (ends[0]["x"] + ends[1]["x"]) + 14
    page.mouse.click(x, box["y"] + 48)  # the only line left runs along the top
    assert page.locator("#picked").text_content().startswith("Run 30:")


def test_runs_that_failed_are_listed_with_their_reason(open_page, path):
    page = open_page(path, at=0.1, scheme="dark")
    rows = page.locator("#failures tbody tr")
    assert rows.count() == 8
    assert "not finite or beyond all bounds" in rows.first.text_content()
    rows.first.locator("button").click()
    assert "Run 3:" in page.locator("#picked").text_content()
    assert "Failed: not finite" in page.locator("#picked").text_content()


def test_a_narrow_page_does_not_scroll_sideways(open_page, path):
    page = open_page(path, at=0.1, width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_motion_on_the_page_is_the_runs_own(study, path):
    motion = data_of(path.read_text(encoding="utf-8"))["motions"]["9"]
    tau = [
        s["y"] for c in motion["charts"] if c["title"].startswith("Torques") for s in c["series"]
    ]
    peak = np.abs(np.array(tau, float)).max(axis=1)
    np.testing.assert_allclose(peak, study.peak_torque[9], rtol=1e-6)  # seven digits on the page


def test_what_came_out_of_failed_runs_is_not_drawn(study):
    drawn, left = columns(study)
    assert [c.name for c in drawn] == [*OVER, "peak_torque", "peak_torque", "work"] and not left
    failed = study.status.values != 0
    assert failed.sum() == 8
    assert all(np.isnan(c.values[failed]).all() for c in drawn if not c.varied)
    assert int(np.nanargmax(np.where(failed, np.nan, study.work))) in extremes(drawn)


def test_large_studies_are_thinned_and_say_so(study, monkeypatch):
    monkeypatch.setattr(pages, "DRAWN", 20)
    monkeypatch.setattr(pages, "MOTIONS", 5)
    text = study_page(study)
    data = data_of(text)
    assert len(data["runs"]) == 20 and len(data["motions"]) == 5
    assert "20 of them are drawn" in text and "5 runs, marked ▶" in text
    assert {str(k) for k in data["runs"]} >= set(data["motions"])


def test_a_run_without_a_motion_names_the_most_similar_that_has_one(
    open_page, study, tmp_path, monkeypatch
):
    monkeypatch.setattr(pages, "MOTIONS", 5)
    page = open_page(study.dl.report(tmp_path / "few.html"), at=0.1)
    page.locator("#table tbody tr").last.locator("button").click()
    assert "This page has no motion of it" in page.locator("#picked").text_content()
    assert page.locator("#stage").is_hidden()
    page.locator("#picked button").click()
    assert page.locator("#stage").is_visible()


def test_thinning_does_not_meet_the_period_of_a_grid():
    few = thinned(np.arange(10_000), 100, first=[17])
    assert 17 in few and len(set(few.tolist())) == 100
    assert len(set((few % 10).tolist())) == 10


def test_names_on_the_page_are_only_text(study):
    evil = "</script><script>alert(1)</script>"
    text = study_page(study.assign_attrs(system=evil).rename(work=evil))
    assert evil not in text and "<script>alert" not in text


STUDY = """
system = "planar_2r"
reduce = "peak_velocity"
[over]
q0.link1_joint = [0.0, 0.5, 1.0]
[simulate]
duration = 0.1
dt = 0.01
"""


def test_the_command_draws_a_store_and_moves_it_by_the_file_beside(tmp_path, monkeypatch):
    pytest.importorskip("zarr")
    file, store, page = (tmp_path / name for name in ("a.toml", "a.zarr", "a.html"))
    file.write_text(STUDY)
    call = ["report", str(store), "--out", str(page)]
    assert CliRunner().invoke(app, ["sweep", str(file)]).exit_code == 0
    assert is_study(store) and not is_study(tmp_path)
    monkeypatch.setattr("dalembert.sweeps.store._recent", {})  # as in another process
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert len(data_of(page.read_text(encoding="utf-8"))["motions"]) == 3
    file.write_text(STUDY.replace("0.5", "0.6"))
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 1 and "another study: design was" in result.output + result.stderr
    file.unlink()
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0 and "Give --study" in result.output
    assert "No run has a motion here" in page.read_text(encoding="utf-8")


def test_a_damaged_store_is_refused(tmp_path):
    pytest.importorskip("zarr")
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / ".zattrs").write_text('{"study": "{}", "order": "[]"}')
    with pytest.raises(SimulationError, match=r"b\.zarr': status/files\.json.* is lost or changed"):
        open_study(tmp_path / "b.zarr")
