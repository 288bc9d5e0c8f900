"""The live robot of a page: what it shows is what the library says, however it is moved."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report import live
from dalembert.report.charts import motion_charts
from dalembert.report.motion import move
from dalembert.report.page import motion_data, page, write_page
from tests.fuzz.outputs import robot as named
from tests.report.test_page import changed, pixels, wait_until
from tests.systems.test_interface import floating

Q = (0.3, -1.2, 1.1, -0.8, 0.9, 0.2)


def written(robot, folder):
    motion = move(robot)
    data = motion_data(robot, motion.t, motion.q, motion_charts(robot, motion))
    text = page(
        robot.name, "", "A motion.", {**data, "live": live.live_data(robot, motion.q[0])[0]}, []
    )
    write_page(text, folder / "page.html")
    return folder / "page.html"


def pose(tab, q=Q):
    for k, value in enumerate(q):
        tab.locator(f"#joint{k}").fill(str(value))


def numbers(tab, selector):
    """All digits of the numbers shown there."""
    values = tab.locator(f"{selector} data").evaluate_all("all => all.map((one) => one.value)")
    return np.array(values, dtype=float)


def state(tab, name="q"):
    return np.array(tab.evaluate(f"Array.from(live.{name})"))


def test_a_posture_typed_in_shows_what_the_library_says_of_it(tab):
    robot = dl.load("ur5")
    before = pixels(tab)
    pose(tab)
    near = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(numbers(tab, ".joint"), robot.gravity_torque(Q), **near)
    np.testing.assert_allclose(numbers(tab, ".matrix"), robot.mass_matrix(Q).ravel(), **near)
    expected = [0.0, robot.potential_energy(Q), robot.manipulability(Q)]
    np.testing.assert_allclose(numbers(tab, ".values dl"), expected, **near)
    bodies = np.array(tab.evaluate("Array.from(live.value('bodies'))")).reshape(-1, 4, 4)
    np.testing.assert_allclose(bodies, live.poses_of(robot.model, np.array(Q)), **near)
    assert changed(before, pixels(tab)) > 0.01


def test_limits_hold_what_is_typed_and_nonsense_changes_nothing(tab):
    field = tab.locator("#joint2")
    field.fill("100")
    assert state(tab)[2] == dl.load("ur5").upper[2]
    field.press("Enter")
    assert float(field.input_value()) == pytest.approx(dl.load("ur5").upper[2], abs=1e-4)
    before = state(tab)
    field.fill("")
    np.testing.assert_array_equal(state(tab), before)


def test_the_keys_of_a_slider_move_its_joint_and_not_the_recording(tab):
    pose(tab)
    slider = tab.locator(".joint input[type=range]").first
    recorded = tab.evaluate("clock.now()")
    slider.focus()
    tab.keyboard.press("ArrowRight")
    assert state(tab)[0] > Q[0]
    np.testing.assert_array_equal(state(tab)[1:], Q[1:])
    assert tab.evaluate("clock.now()") == recorded
    assert slider.get_attribute("aria-label") == "shoulder_pan, rad"


def test_let_go_without_friction_keeps_its_energy(tab):
    """Ten seconds, sixty frames in each: relative drift below 1e-6."""
    pose(tab)
    tab.evaluate("for (let k = 0; k < 600; k++) live.advance(1 / 60)")
    assert abs(tab.evaluate("live.time") - 10.0) < 1.001e-3
    energy = abs(dl.load("ur5").potential_energy(Q))
    assert abs(tab.evaluate("live.lost()")) < 1e-6 * energy


def test_gravity_held_does_the_work_that_the_energy_gains(tab):
    pose(tab)
    tab.evaluate("live.advance(0.5)")
    tab.locator(".run select").nth(1).select_option("gravity")
    tab.evaluate("live.advance(0.5)")
    assert abs(tab.evaluate("live.work")) > 0.1
    assert abs(tab.evaluate("live.lost()")) < 1e-5  # J; torques are renewed every millisecond


def test_let_go_pause_step_and_reset(tab):
    pose(tab)
    go, step, reset = (tab.locator(".run button").nth(k) for k in range(3))
    go.click()
    wait_until(tab, lambda: tab.evaluate("live.time") > 0.05)
    assert go.text_content() == "Pause"
    go.click()
    count = tab.evaluate("live.count")
    step.click()
    assert tab.evaluate("live.count") == count + 10
    tab.locator("#arm").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("live.count") == count + 20
    assert not np.allclose(state(tab), Q)
    reset.click()
    np.testing.assert_array_equal(state(tab), Q)
    assert not state(tab, "qd").any() and tab.evaluate("live.time") == 0.0


def test_the_address_holds_the_state(tab, open_page, path):
    pose(tab)
    tab.locator(".run button").nth(1).click()
    wait_until(tab, lambda: "qd=" in tab.evaluate("location.hash"))
    again = open_page(path)
    again.goto(path.as_uri() + tab.evaluate("location.hash"))
    again.reload()
    wait_until(again, lambda: again.locator("#live").is_visible())
    for name in ("q", "qd"):
        np.testing.assert_array_equal(state(again, name), state(tab, name))


def test_an_address_that_does_not_fit_is_said(open_page, path):
    tab = open_page(path, at=0.0)
    tab.locator(".modes").wait_for()
    for wrong in ("1,2", "1,2,3,4,5,x", "1,2,3,4,5,", "1,2,3,4,5,1e999"):
        tab.evaluate("(q) => { location.hash = `#q=${q}` }", wrong)
        message = tab.get_by_text("q must be 6 numbers")
        message.wait_for()
        assert not tab.locator("#live").is_visible()
        message.evaluate("(said) => said.remove()")
    tab.evaluate("location.hash = '#q=0,0,0,0,0,1&qd=0,0,0,0,0,1e200'")
    message = tab.get_by_text("its energy in this state is no number")
    message.wait_for()
    message.evaluate("(said) => said.remove()")
    tab.evaluate("location.hash = '#q=0,0,0,0,0,1'")
    wait_until(tab, lambda: tab.locator("#live").is_visible())
    assert state(tab).tolist() == [0, 0, 0, 0, 0, 1]


def drawn(tab, frames=4):
    """Wait until the picture has been drawn again, however long that takes."""
    tab.evaluate(
        "(n) => new Promise((done) => {"
        " const next = () => (n-- > 0 ? requestAnimationFrame(next) : done()); next(); })",
        frames,
    )


def test_the_tool_goes_where_it_is_dragged(tab):
    pose(tab)
    target = dl.load("ur5").pose(Q)[:3, 3] + np.array([0.05, -0.1, 0.08])
    tab.evaluate("(point) => toolOf(live).moveTo(point)", target.tolist())
    np.testing.assert_allclose(dl.load("ur5").pose(state(tab))[:3, 3], target, atol=1e-3)
    drawn(tab)
    grip = tab.locator(".grip").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 30, y - 20, steps=6)
    tab.mouse.up()
    drawn(tab)
    moved = tab.locator(".grip").bounding_box()
    assert moved["x"] - grip["x"] == pytest.approx(30, abs=2)
    assert moved["y"] - grip["y"] == pytest.approx(-20, abs=2)


def test_names_are_text(open_page, tmp_path):
    name = "<img src=x onerror=alert(1)>"
    tab = open_page(written(named(name), tmp_path), at=0.0)
    tab.locator(".modes button").nth(1).click()
    assert any(name in text for text in tab.locator(".joint label").all_text_contents())
    assert tab.locator("img").count() == 0


def test_a_browser_without_webassembly_says_so(browser, path):
    context = browser.new_context(offline=True)
    context.add_init_script("delete window.WebAssembly")
    tab = context.new_page()
    tab.goto(path.as_uri())
    tab.get_by_text("WebAssembly is off").wait_for()
    assert tab.locator("#charts .chart").count() == 3
    context.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_cut_off_or_jumps(open_page, path, width):
    tab = open_page(path, width, at=0.0)
    tab.locator(".modes button").nth(1).click()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tops = "[...document.querySelectorAll('#live .box')].map((e) => e.offsetTop)"
    before = tab.evaluate(tops)
    pose(tab)
    tab.locator(".run button").nth(1).click()
    assert tab.evaluate(tops) == before


def test_kernels_too_large_leave_a_sentence(monkeypatch):
    robot = dl.load("pendulum")
    monkeypatch.setattr(live, "MOST_BYTES", 10)
    data, reason = live.live_data(robot, robot.neutral())
    assert data is None and "too many for a page" in reason


def test_joints_of_a_floating_robot_have_their_own_limits(open_page, tmp_path):
    """Its q has one entry more than its velocities, which limits are given for."""
    robot = floating()
    tab = open_page(written(robot, tmp_path), at=0.0)
    tab.locator(".modes button").nth(1).click()
    field = tab.locator(f"#joint{robot.nq - 1}")
    field.fill("100")
    assert state(tab)[-1] == robot.upper[-1]
    assert tab.locator(".joint input[type=number]").count() == 1
    height = "live.value('bodies')[11]"
    before = state(tab)
    for size in ("0", "1e+200"):  # no attitude at all
        # the page writes its own state into the address before it is told of the change
        tab.evaluate(
            "(x) => { location.hash = `#q=0,0,0,0,0,0,${x},1`; address.write(address.text(live)) }",
            size,
        )
        tab.get_by_text(f"has the length {size}.").wait_for()
        np.testing.assert_array_equal(state(tab), before)
    fallen = tab.evaluate(f"{{ const z = {height}; live.advance(0.2); {height} - z }}")
    assert fallen == pytest.approx(-0.5 * 9.81 * 0.2**2, rel=1e-9)  # the hull, without contact


INSIDE = """() => {
  const { left, right, top, bottom } = document.getElementById("arm").getBoundingClientRect();
  const one = document.querySelector(".grip").getBoundingClientRect();
  return one.left >= left && one.right <= right && one.top >= top && one.bottom <= bottom;
}"""


def test_a_robot_that_hangs_stays_in_a_narrow_picture(open_page, path):
    """The camera goes farther off and looks at it; what is outside covers no control."""
    tab = open_page(path, at=0.0, width=400)
    tab.locator(".modes button").nth(1).click()
    for q in ([0.0, 1.57, 0.0, 0.0, 0.0, 0.0], [3.1, 0.4, 0.0, 0.0, 0.0, 0.0]):
        tab.evaluate("(q) => live.pose(q)", q)
        wait_until(tab, lambda: tab.evaluate(INSIDE))
    assert tab.evaluate("getComputedStyle(document.getElementById('arm')).overflow") == "hidden"


def test_the_plots_come_first_and_tools_unfold(tab):
    """The panels that follow a released robot are visible without scrolling."""
    pose(tab)
    assert tab.locator(".posture .head").get_by_role("button").count() == 2
    tab.get_by_role("tab", name="Motion").click()
    assert tab.locator(".strip:visible").first.bounding_box()["y"] < 500
    assert tab.get_by_label("force along x, N").is_hidden()
    tab.locator(".push summary").click()
    assert tab.get_by_label("force along x, N").is_visible()
    tab.get_by_role("tab", name="Posture").click()
    tab.get_by_role("button", name="Add as way-point").click()
    tab.get_by_role("tab", name="Motion").click()
    assert tab.get_by_role("button", name="Follow").is_visible()


def test_rounding_is_nothing_beside_a_recorded_curve(open_page, path):
    """The kinetic energy of a motion that begins at rest is zero, not 1e-30."""
    tab = open_page(path, at=0.0)
    texts = tab.locator("#charts .legend span").all_text_contents()
    assert texts and not any("e−" in text for text in texts)


def test_space_starts_and_stops_wherever_it_means_nothing_else(tab):
    go = tab.locator(".run button").first
    for used in (tab.get_by_role("tab", name="Posture"), tab.locator(".joint input").first):
        used.focus()
        tab.keyboard.press("Space")
        assert go.text_content() == "Pause"
        tab.keyboard.press("Space")
        assert go.text_content() == "Let go"
        tab.get_by_role("tab", name="Posture").click()


def test_a_page_without_dragging_of_the_tool_is_live_all_the_same(open_page, tmp_path, monkeypatch):
    """Its payload and its ellipsoids are still at the tool."""
    all_parts = live.basic_parts

    def without_dragging(*options):
        return [part for part in all_parts(*options) if "reach" not in part.kernels]

    monkeypatch.setattr(live, "basic_parts", without_dragging)
    tab = open_page(written(dl.load("elbow_3r"), tmp_path), at=0.0)
    tab.locator(".modes button").nth(1).click()
    assert tab.locator(".ellipsoid").count() == 2 and tab.locator(".grip").count() == 0
