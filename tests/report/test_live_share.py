"""Files that a reader saves from a live page: the library reads them, to the same bits."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.page import stage_page, write_page
from dalembert.report.runs import open_run, robot_to_draw, system_of_run
from dalembert.simulation import system_of
from tests.fuzz.outputs import robot as named
from tests.report.test_page import wait_until

Q = (0.3, -1.2, 1.1)
RUN = ("time", "q", "qd", "tau", "work", "kinetic", "potential")


def staged(robot, folder):
    write_page(stage_page(robot), folder / "page.html")
    return folder / "page.html"


def begun(page):
    wait_until(page, lambda: page.locator("#live").is_visible())
    return page


def saved(page, button, folder):
    with page.expect_download() as download:
        page.locator(".share").get_by_role("button", name=button).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def recorded(page, name):
    return np.array(page.evaluate(f"Array.from(live.recording.columns().{name})"))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return staged(dl.load("elbow_3r"), tmp_path_factory.mktemp("share"))


@pytest.fixture
def moved(open_page, path):
    """Half a second let go, and a quarter of one with gravity held."""
    tab = begun(open_page(path))
    tab.evaluate(f"live.pose({list(Q)}); live.advance(0.5)")
    tab.locator(".run select").nth(1).select_option("gravity")
    tab.evaluate("live.advance(0.25); live.tell('moved')")
    return tab


def test_a_saved_run_is_the_recording_and_what_the_library_simulates(moved, tmp_path):
    robot = dl.load("elbow_3r")
    run = open_run(saved(moved, "Run file", tmp_path))
    for name in RUN:
        np.testing.assert_array_equal(run[name].values.ravel(), recorded(moved, name))

    def torques(t, q, qd):
        return np.zeros(3) if t < 0.4999 else robot.gravity_torque(q)

    how = {"duration": 0.75, "dt": 1e-3, "method": "rk4", "control_dt": 1e-3, "progress": False}
    again = dl.simulate(robot, Q, np.zeros(3), torques, **how)
    for name in ("time", "q", "qd", "tau", "kinetic", "potential"):
        # the last torques are those of the last step, not of one that never came
        saved_values, simulated = run[name].values[:-1], again[name].values[:-1]
        np.testing.assert_allclose(saved_values, simulated, rtol=0, atol=1e-9)
        assert run[name].attrs == again[name].attrs and run[name].dims == again[name].dims
    np.testing.assert_allclose(run["work"], again["work"], rtol=0, atol=1e-6)
    assert list(run.joint.values) == list(again.joint.values)
    same = ("system", "model", "model_digest", "dalembert_version", "method", "dt", "steps")
    assert {key: run.attrs[key] for key in same} == {key: again.attrs[key] for key in same}


def test_a_saved_run_is_a_run_like_any_other(moved, tmp_path):
    path = saved(moved, "Run file", tmp_path)
    assert path.name == "elbow_3r.nc"
    run = open_run(path)
    assert system_of(run) == dl.load("elbow_3r")
    assert abs(run["balance"]).max() < 1e-5 and not run["dissipated"].any()
    page = run.dl.report(tmp_path / "run.html").read_text()
    assert "751 instants over 0.75 s" in page and "recorded in a page" in page


def test_a_saved_table_is_read_as_a_log(moved, tmp_path):
    log = dl.read_log(saved(moved, "Table", tmp_path), dl.load("elbow_3r"))
    for name in ("time", "q", "qd", "tau"):
        np.testing.assert_array_equal(log[name].values.ravel(), recorded(moved, name))
    assert "3 columns ignored: kinetic [J], potential [J], work [J]" in log.attrs["preparation"]


def test_what_pushed_is_told_beside_the_drives(moved, tmp_path):
    robot, push = dl.load("elbow_3r"), [0.5, -2.0, 1.0]
    moved.evaluate(f"live.forces.push({{ acts: true, value: () => {push} }})")
    moved.evaluate("live.pose(live.home); live.advance(0.1); live.tell('moved')")
    run = open_run(saved(moved, "Run file", tmp_path))
    np.testing.assert_allclose(run["push"], np.tile(push, (101, 1)), atol=1e-12)
    settings = {"duration": 0.1, "method": "rk4", "control_dt": 1e-3, "progress": False}
    again = dl.simulate(
        robot, run.q[0], run.qd[0], lambda t, q, qd: robot.gravity_torque(q) + push, **settings
    )
    np.testing.assert_allclose(run["q"], again["q"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["tau"][:-1] + push, again["tau"][:-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["work"], again["work"], rtol=0, atol=1e-6)
    table = saved(moved, "Table", tmp_path).read_text().splitlines()
    names = table[0].split(",")
    assert names[-3:] == [f"push_{name} [N m]" for name in robot.dynamics.velocities]
    assert len(table[1].split(",")) == len(names)


def test_stops_at_limits_are_told(moved, tmp_path):
    stops = "{ restitution: 0.25, step: (dt) => { live.glide(dt); live.struck += 0.5; } }"
    moved.evaluate(f"live.stops = {stops}; live.advance(0.002); live.tell('moved')")
    run = open_run(saved(moved, "Run file", tmp_path))
    assert run.attrs["restitution"] == 0.25 and float(run["dissipated"][-1]) == 1.0


def test_a_posture_begins_a_new_recording_and_saving_leaves_the_state(moved):
    before = moved.evaluate("[...live.q, ...live.qd, ...live.tau, live.time, live.energy()]")
    moved.evaluate("runOf(live.recording); tableOf(live.recording)")
    after = moved.evaluate("[...live.q, ...live.qd, ...live.tau, live.time, live.energy()]")
    assert before == after
    moved.evaluate("live.pose(live.home)")
    assert moved.evaluate("live.recording.rows") == 1
    buttons = moved.locator(".share button")
    assert [one.is_enabled() for one in buttons.all()] == [True, False, False, True]
    moved.locator(".run button").nth(1).click()
    assert all(one.is_enabled() for one in buttons.all())


def test_a_recording_ends_where_it_is_full(moved):
    moved.evaluate("live.recording.most = 1031; live.advance(0.5); live.tell('moved')")
    assert "the first 1.03 s" in moved.locator(".share .head").text_content()
    times = recorded(moved, "time")  # more than one block of them
    np.testing.assert_allclose(times, 1e-3 * np.arange(1031), rtol=1e-12)


def test_a_saved_picture_is_sharp_and_has_the_background(moved, tmp_path):
    from PIL import Image

    with Image.open(saved(moved, "Picture", tmp_path)) as image:
        assert image.format == "PNG"
        pixels = np.asarray(image).astype(int)
    size = moved.evaluate("[arm.clientHeight, arm.clientWidth]")
    assert pixels.shape == (2 * size[0], 2 * size[1], 4) and (pixels[..., 3] == 255).all()
    assert (abs(pixels[..., :3] - pixels[2, 2, :3]).max(axis=-1) > 40).mean() > 0.01  # an arm


def test_the_link_that_is_copied_holds_the_state(moved):
    moved.context.grant_permissions(["clipboard-read", "clipboard-write"])
    moved.get_by_role("button", name="Copy link").click()
    moved.get_by_text("whoever opens it sees this state").wait_for()
    copied = moved.evaluate("navigator.clipboard.readText()")
    q = copied.partition("#q=")[2].partition("&")[0].split(",")
    assert [float(x) for x in q] == moved.evaluate("Array.from(live.q)")


def test_names_in_files_are_text(open_page, tmp_path):
    name = '=cmd|"x",<b>/é'
    robot = named(name)
    tab = begun(open_page(staged(robot, tmp_path)))
    tab.locator(".run button").nth(1).click()
    run = open_run(saved(tab, "Run file", tmp_path))
    assert list(run.joint.values) == list(robot.dynamics.velocities)
    log = dl.read_log(saved(tab, "Table", tmp_path), robot)
    np.testing.assert_array_equal(log.q.values, run.q.values)


def test_parameters_are_told_and_others_than_the_defaults_are_no_model_of_the_file(
    open_page, tmp_path
):
    rows = [{"a": dl.Parameter("l", 1.0), "mass": dl.Parameter("m", 2.0)}]
    robot = dl.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))
    tab = begun(open_page(staged(robot, tmp_path)))
    tab.evaluate("live.advance(0.01); live.tell('moved')")
    run = open_run(saved(tab, "Run file", tmp_path))
    assert system_of(run).model.content == robot.model.bind(robot.model.parameter_values()).content
    tab.evaluate("live.parameters[1] = 0.5; live.advance(0.011); live.tell('moved')")
    run = open_run(saved(tab, "Run file", tmp_path))
    assert run.attrs["parameters"] == '{"m":2,"l":0.5}' and run.sizes["time"] == 11
    assert system_of(run, robot) is robot and "model" not in run.attrs
    again = dl.simulate(
        robot, run.q[0], run.qd[0], duration=0.01, method="rk4", parameters={"l": 0.5, "m": 2.0}
    )
    np.testing.assert_allclose(run.q, again.q, rtol=0, atol=1e-9)
    # its page has these values, not the defaults: in the picture, and where it is live
    long = dl.Robot(robot.model.bind(robot.model.parameter_values({"l": 0.5, "m": 2.0})))
    assert robot_to_draw(run, robot) == (long, "") and system_of_run(run, robot) == long
    assert system_of_run(run.assign_attrs(parameters="{}"), robot) is None
    log = dl.read_log(saved(tab, "Table", tmp_path), robot)
    assert "model" not in log.attrs and log.attrs["model_digest"] == run.attrs["model_digest"]


def test_a_run_with_a_payload_of_the_page_is_drawn_with_it(moved, tmp_path):
    moved.evaluate("Settings.of(live).put([2.5]); live.pose(live.home); live.advance(0.01)")
    moved.evaluate("live.tell('moved')")
    run = open_run(saved(moved, "Run file", tmp_path))
    own, loaded = system_of_run(run, None), dl.load("elbow_3r").with_payload(2.5)
    assert robot_to_draw(run, None) == (own, "")
    np.testing.assert_allclose(own.gravity_torque(Q), loaded.gravity_torque(Q), rtol=1e-12)


def test_the_page_of_a_run_takes_any_system():
    loop = dl.load("four_bar")
    run = dl.simulate(loop, loop.neutral(), np.zeros(3), duration=0.01, progress=False)
    run = run.drop_vars("lambda")  # as a page saves it
    assert system_of_run(run, loop) is loop and robot_to_draw(run, loop) == (loop.robot, "")
