"""The live stage outside its report: alone in a document, inside another page, in a notebook."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import Error

import dalembert as dl
from dalembert.report import live
from dalembert.report import widget as widgets
from dalembert.report.page import stage_page, write_page
from dalembert.report.runs import open_run
from tests.report.test_live import state
from tests.report.test_page import wait_until


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    path = tmp_path_factory.mktemp("stage") / "stage.html"
    write_page(stage_page(dl.load("ur5")), path)
    return path


def test_a_stage_alone_begins_live_and_is_light(open_page, alone):
    tab = open_page(alone)
    wait_until(tab, lambda: tab.locator("#live").is_visible())
    assert not tab.locator(".modes, header, footer, #play").filter(visible=True).count()
    np.testing.assert_allclose(state(tab), tab.evaluate("live.home"), rtol=0, atol=0)
    assert alone.stat().st_size < 1_000_000


def test_a_system_that_does_not_compute_is_shown_in_its_motion(monkeypatch):
    monkeypatch.setattr(live, "MOST_JOINTS", 1)
    text = stage_page(dl.load("planar_2r"))
    assert "With 2 velocities it does not compute" in text and '"poses"' in text


# what a notebook's side of a widget does, without a notebook
MODEL = """
class Model {
  constructor(values) { Object.assign(this, { values, heard: {}, sent: [], saves: 0 }); }
  get(name) { return this.values[name]; }
  set(name, value) {
    if (JSON.stringify(value) === JSON.stringify(this.values[name])) return;
    this.values[name] = value;
    (this.heard[`change:${name}`] ?? []).forEach((act) => act());
  }
  on(event, act) { (this.heard[event] ??= []).push(act); }
  off(event, act) { this.heard[event] = this.heard[event].filter((one) => one !== act); }
  send(message) { this.sent.push(message); }
  save_changes() { this.saves += 1; }
}
"""


@pytest.fixture(scope="module")
def widget():
    return dl.Widget(dl.load("elbow_3r"), height=500)


@pytest.fixture(scope="module")
def notebook(widget, tmp_path_factory):
    """A bare page that shows the widget by its own script, with a model in place of Python."""
    widget._handle_custom_msg({"ask": "page"}, [])
    names = ("_page", "_message", "name", "q", "qd", "t", "running", "parameters", "height")
    values = {name: getattr(widget, name) for name in names} | {"q": [0.1, 0.2, 0.3]}
    data = json.dumps(values).replace("<", "\\u003c")
    script = widget._esm.replace("export default", "const made =")
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    path.write_text(
        f"<!doctype html><title>notebook</title><div id=cell></div><script>{MODEL}\n{script}\n"
        f"const model = new Model({data}), asked = model.values._page; model.values._page = '';"
        "const gone = made.render({ model, el: document.getElementById('cell') });</script>",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def tab(open_page, notebook):
    page = open_page(notebook)
    assert page.evaluate("model.sent") == [{"ask": "page"}]  # it is made when somebody looks
    page.evaluate("model.set('_page', asked)")
    wait_until(page, lambda: stands(page) == [0.1, 0.2, 0.3])
    return page


def inside(page):
    return page.frames[1]


def stands(page, k=1):
    """q in the frame with this number, None while its page is not there."""
    there = "typeof live !== 'undefined' && live && live.isShown ? Array.from(live.q) : null"
    try:
        return page.frames[k].evaluate(there)
    except (Error, IndexError):
        return None


def test_a_widget_begins_where_python_has_it_and_follows_the_page(tab):
    assert inside(tab).evaluate("Array.from(live.q)") == [0.1, 0.2, 0.3]
    inside(tab).evaluate("live.pose([0.5, -0.25, 1])")
    wait_until(tab, lambda: tab.evaluate("model.get('q')") == [0.5, -0.25, 1])
    inside(tab).evaluate("live.advance(0.1); live.tell('moved')")
    wait_until(tab, lambda: tab.evaluate("model.get('t')") == pytest.approx(0.1))
    robot = dl.load("elbow_3r")
    again = dl.simulate(robot, [0.5, -0.25, 1], [0, 0, 0], duration=0.1, method="rk4")
    for name in ("q", "qd"):
        value = tab.evaluate(f"model.get('{name}')")
        np.testing.assert_allclose(value, again[name][-1], rtol=0, atol=1e-9)


def test_the_page_follows_what_python_sets(tab):
    tab.evaluate("model.set('q', [1, 0.5, 0]); model.set('qd', [0, 0, 2])")
    wait_until(tab, lambda: inside(tab).evaluate("Array.from(live.qd)") == [0, 0, 2])
    assert inside(tab).evaluate("Array.from(live.q)") == [1, 0.5, 0]
    tab.evaluate("model.set('q', [0, 0.5, 0])")  # alone it is at rest
    wait_until(tab, lambda: tab.evaluate("model.get('qd')") == [0, 0, 0])
    tab.evaluate("model.set('running', true)")
    wait_until(tab, lambda: tab.evaluate("model.get('t')") > 0.05)
    tab.evaluate("model.set('running', false)")
    wait_until(tab, lambda: inside(tab).evaluate("live.recording.rows") > 50)
    inside(tab).get_by_role("button", name="Let go").wait_for()


def test_a_page_refuses_what_is_no_state_of_it_and_says_so(tab):
    before = inside(tab).evaluate("Array.from(live.q)")
    frame = "document.querySelector('iframe').contentWindow"
    for wrong in ("{q: [1, 2]}", "{q: [1, NaN, 2]}", "{q: 'abc'}", "{parameters: {nothing: 1}}"):
        tab.evaluate(f"{frame}.postMessage({{dalembert: {wrong}}}, '*')")
        tab.get_by_text("The page refused it").wait_for()
        tab.evaluate("document.querySelector('p').textContent = ''")
    for ignored in ("null", "5", "{}", "{dalembert: 1}"):
        tab.evaluate(f"{frame}.postMessage({ignored}, '*')")
    assert inside(tab).evaluate("Array.from(live.q)") == before
    # a message that does not come from the parent is not heard
    inside(tab).evaluate("postMessage({dalembert: {q: [9, 9, 9]}}, '*')")
    inside(tab).evaluate("new Promise((done) => setTimeout(done))")
    assert inside(tab).evaluate("Array.from(live.q)") == before


def test_messages_are_few_and_the_last_state_is_told(tab):
    tab.evaluate("window.told = 0; addEventListener('message', () => { told += 1; })")
    inside(tab).evaluate("for (let k = 0; k < 200; k++) live.pose([k / 200, 0, 0])")
    wait_until(tab, lambda: tab.evaluate("model.get('q')")[0] == 199 / 200)
    assert tab.evaluate("told") <= 2


def test_a_framed_page_saves_files_and_has_no_address(tab, tmp_path):
    inside(tab).evaluate("live.advance(0.01); live.tell('moved')")
    with tab.expect_download() as download:
        inside(tab).get_by_role("button", name="Run file").click()
    download.value.save_as(tmp_path / "run.nc")
    assert open_run(tmp_path / "run.nc").sizes["time"] == 11
    assert inside(tab).get_by_role("button", name="Copy link").count() == 0


def test_a_widget_that_is_gone_hears_nothing(tab):
    tab.evaluate("gone()")
    inside(tab).evaluate("live.pose([1, 1, 1]); new Promise((done) => setTimeout(done, 100))")
    assert tab.evaluate("model.get('q')") != [1, 1, 1]
    assert not any(tab.evaluate("Object.values(model.heard).map((all) => all.length)"))


def test_a_page_that_stands_alone_tells_nobody(open_page, alone):
    page = open_page(alone)
    wait_until(page, lambda: page.locator("#live").is_visible())
    page.evaluate("window.told = 0; addEventListener('message', () => { told += 1; })")
    page.evaluate("live.pose(live.home); postMessage({dalembert: {q: [9, 9, 9, 9, 9, 9]}}, '*')")
    wait_until(page, lambda: page.evaluate("told") == 1)
    np.testing.assert_array_equal(state(page), page.evaluate("live.home"))


def test_traits_take_arrays_and_refuse_what_is_no_state(widget):
    changes = []
    widget.observe(lambda change: changes.append(change["new"]), "q")
    widget.q = np.array([0.0, 1.0, 2.0])
    assert widget.q == (0.0, 1.0, 2.0) and changes == [(0.0, 1.0, 2.0)]
    widget.set_state({"q": [3.0, 2.0, 1.0], "t": 0.5})  # as a notebook's message does it
    assert widget.q == (3.0, 2.0, 1.0) and widget.t == 0.5
    for wrong in ([1, 2], [np.nan] * 3, "abc"):
        with pytest.raises(dl.ShapeError, match="elbow_3r: q must be 3 finite numbers"):
            widget.q = wrong
    assert widget.q == (3.0, 2.0, 1.0)


def test_parameters_are_known_by_name():
    rows = [{"a": 1.0, "mass": dl.Parameter("m", 2.0)}]
    widget = dl.Robot.from_dh(rows, convention="standard").widget()
    assert widget.parameters == {"m": 2.0}
    with pytest.raises(dl.UnknownNameError, match="no parameter 'mm'"):
        widget.parameters = {"mm": 1.0}
    widget.set_state({"parameters": {"m": 3}})  # JavaScript knows no other 3.0
    assert widget.parameters == {"m": 3.0} and isinstance(widget.parameters["m"], float)
    for wrong in (np.nan, "abc"):
        with pytest.raises(dl.ParameterError, match="parameter 'm' must be a finite number"):
            widget.parameters = {"m": wrong}
    with pytest.raises(dl.ParameterError, match="t must be a finite number"):
        widget.t = np.nan


def test_a_system_has_one_widget_and_its_page_is_made_when_seen(monkeypatch):
    built = []
    monkeypatch.setattr(widgets, "stage_page", lambda system: built.append(system) or "page")
    robot = dl.load("pendulum")
    widget = robot.widget()
    assert robot.widget() is widget and not built
    widget._handle_custom_msg({"ask": "page"}, [])
    dl.Widget(robot)._handle_custom_msg({"ask": "page"}, [])
    assert widget._page == "page" and built == [robot]
    widget.close()
    assert robot.widget() is not widget
    widgets.page_of.cache_clear()


def test_a_page_that_cannot_be_made_is_message(monkeypatch):
    def refuse(system):
        raise dl.ModelError("nothing to show")

    monkeypatch.setattr(widgets, "stage_page", refuse)
    widget = dl.Widget(dl.load("pendulum"))
    widget._handle_custom_msg({"ask": "page"}, [])
    assert widget._message == "It has no page: nothing to show" and not widget._page


def test_a_robot_shows_itself_live_in_notebooks_only(monkeypatch):
    robot, view = dl.load("planar_2r"), "application/vnd.jupyter.widget-view+json"
    assert set(robot._repr_mimebundle_()[0]) == {"text/plain", "text/html"}
    shell = SimpleNamespace(display_formatter=SimpleNamespace(active_types=["text/plain"]))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert view not in robot._repr_mimebundle_()[0]  # a terminal
    shell.display_formatter.active_types.append("text/html")
    bundle, _ = robot._repr_mimebundle_(include=None, exclude=None)
    assert bundle[view]["model_id"] == robot.widget().model_id
    assert bundle["text/html"] == robot._repr_html_() and bundle["text/plain"] == repr(robot)
    monkeypatch.setattr("dalembert.systems.robot.FEW", 1)
    assert view not in robot._repr_mimebundle_()[0]


@pytest.fixture
def two_views(tab):
    """Two views of one widget; each is a frame."""
    tab.evaluate(  # low ones: what is not in sight does not run
        "model.set('height', 300); document.body.append(document.createElement('div'));"
        "void made.render({ model, el: document.body.lastChild })"
    )
    wait_until(tab, lambda: stands(tab, 2) == [0.1, 0.2, 0.3])
    return tab, *tab.frames[1:]


def test_of_two_views_one_runs_and_the_other_follows(two_views):
    tab, first, second = two_views
    time = "live.time"
    first.evaluate("document.querySelector('.run button').click()")
    wait_until(tab, lambda: first.evaluate(time) > 0.5)
    wait_until(tab, lambda: second.evaluate(time) > 0.5)
    assert tab.evaluate("model.get('running')") is True
    second.evaluate("live.pose([0.5, -0.25, 1])")  # a hand there stops it here
    wait_until(tab, lambda: first.evaluate("Array.from(live.q)") == [0.5, -0.25, 1])
    wait_until(tab, lambda: tab.evaluate("model.get('running')") is False)
    tab.evaluate("model.set('running', true)")  # Python lets it go: one of them runs
    wait_until(tab, lambda: min(f.evaluate(time) for f in (first, second)) > 0.3)


def test_a_page_that_is_loaded_again_goes_on_where_it_was(tab):
    inside(tab).evaluate("live.pose([0.5, -0.25, 1])")
    wait_until(tab, lambda: tab.evaluate("model.get('q')") == [0.5, -0.25, 1])
    tab.evaluate("document.body.append(document.querySelector('iframe'))")  # loads it again
    wait_until(tab, lambda: stands(tab) == [0.5, -0.25, 1])
    assert tab.evaluate("model.get('q')") == [0.5, -0.25, 1]


def test_a_saved_notebook_without_a_page_says_why_there_is_none(tab):
    """As `nbconvert --execute` leaves it: nobody asked for the page, and nobody answers now."""
    tab.evaluate(
        "const wait = window.setTimeout, end = document.createElement('div');"
        "document.body.append(end);"
        "window.setTimeout = (act) => act();"
        "made.render({ model: new Model({ ...model.values, _page: '' }), el: end });"
        "window.setTimeout = wait; undefined"
    )
    assert tab.get_by_text("Python does not answer").is_visible()


def test_whoever_cannot_show_a_widget_shows_its_table(widget):
    bundle, _ = widget._repr_mimebundle_()
    assert bundle["text/html"] == dl.load("elbow_3r")._repr_html_()
    assert bundle["text/plain"].startswith("<Widget of elbow_3r: q (")
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    loop = dl.load("four_bar").widget()._repr_mimebundle_()[0]
    assert loop["text/plain"].startswith("<Widget of four_bar")
