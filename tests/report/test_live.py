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


def pose(shown, q=Q):
    for k, value in enumerate(q):
        shown.locator(f"#joint{k}").fill(str(value))


def numbers(shown, selector):
    """All digits of the numbers shown there."""
    found = shown.locator(f"{selector} data").evaluate_all("all => all.map((one) => one.value)")
    return np.array(found, dtype=float)


def state(shown, name="q"):
    return np.array(shown.evaluate(f"Array.from(live.{name})"))


def test_a_posture_typed_in_shows_what_the_library_says_of_it(shown):
    robot = dl.load("ur5")
    before = pixels(shown)
    pose(shown)
    near = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(numbers(shown, ".joint"), robot.gravity_torque(Q), **near)
    np.testing.assert_allclose(numbers(shown, ".matrix"), robot.mass_matrix(Q).ravel(), **near)
    expected = [0.0, robot.potential_energy(Q), robot.manipulability(Q)]
    np.testing.assert_allclose(numbers(shown, ".values dl"), expected, **near)
    bodies = np.array(shown.evaluate("Array.from(live.value('bodies'))")).reshape(-1, 4, 4)
    np.testing.assert_allclose(bodies, live.poses_of(robot.model, np.array(Q)), **near)
    assert changed(before, pixels(shown)) > 0.01


def test_limits_hold_what_is_typed_and_nonsense_changes_nothing(shown):
    field = shown.locator("#joint2")
    field.fill("100")
    assert state(shown)[2] == dl.load("ur5").upper[2]
    field.press("Enter")
    assert float(field.input_value()) == pytest.approx(dl.load("ur5").upper[2], abs=1e-4)
    held = state(shown)
    field.fill("")
    np.testing.assert_array_equal(state(shown), held)


def test_the_keys_of_a_slider_move_its_joint_and_not_the_recording(shown):
    pose(shown)
    slider = shown.locator(".joint input[type=range]").first
    recorded = shown.evaluate("clock.now()")
    slider.focus()
    shown.keyboard.press("ArrowRight")
    assert state(shown)[0] > Q[0]
    np.testing.assert_array_equal(state(shown)[1:], Q[1:])
    assert shown.evaluate("clock.now()") == recorded
    assert slider.get_attribute("aria-label") == "shoulder_pan, rad"


def test_let_go_without_friction_keeps_its_energy(shown):
    """Ten seconds, sixty frames in each: relative drift below 1e-6."""
    pose(shown)
    shown.evaluate("for (let k = 0; k < 600; k++) live.advance(1 / 60)")
    assert abs(shown.evaluate("live.time") - 10.0) < 1.001e-3
    energy = abs(dl.load("ur5").potential_energy(Q))
    assert abs(shown.evaluate("live.lost()")) < 1e-6 * energy


def test_gravity_held_does_the_work_that_the_energy_gains(shown):
    pose(shown)
    shown.evaluate("live.advance(0.5)")
    shown.locator(".run select").nth(1).select_option("gravity")
    shown.evaluate("live.advance(0.5)")
    assert abs(shown.evaluate("live.work")) > 0.1
    assert abs(shown.evaluate("live.lost()")) < 1e-5  # J; torques are renewed every millisecond


def test_let_go_pause_step_and_reset(shown):
    pose(shown)
    go, step, reset = (shown.locator(".run button").nth(k) for k in range(3))
    go.click()
    wait_until(shown, lambda: shown.evaluate("live.time") > 0.05)
    assert go.text_content() == "Pause"
    go.click()
    held = shown.evaluate("live.count")
    step.click()
    assert shown.evaluate("live.count") == held + 10
    shown.locator("#arm").focus()
    shown.keyboard.press("ArrowRight")
    assert shown.evaluate("live.count") == held + 20
    assert not np.allclose(state(shown), Q)
    reset.click()
    np.testing.assert_array_equal(state(shown), Q)
    assert not state(shown, "qd").any() and shown.evaluate("live.time") == 0.0


def test_the_address_holds_the_state(shown, open_page, path):
    pose(shown)
    shown.locator(".run button").nth(1).click()
    wait_until(shown, lambda: "qd=" in shown.evaluate("location.hash"))
    again = open_page(path)
    again.goto(path.as_uri() + shown.evaluate("location.hash"))
    again.reload()
    wait_until(again, lambda: again.locator("#live").is_visible())
    for name in ("q", "qd"):
        np.testing.assert_array_equal(state(again, name), state(shown, name))


def test_an_address_that_does_not_fit_is_said(open_page, path):
    found = open_page(path, at=0.0)
    found.locator(".modes").wait_for()
    for wrong in ("1,2", "1,2,3,4,5,x", "1,2,3,4,5,", "1,2,3,4,5,1e999"):
        found.evaluate("(q) => { location.hash = `#q=${q}` }", wrong)
        said = found.get_by_text("q must be 6 numbers")
        said.wait_for()
        assert not found.locator("#live").is_visible()
        said.evaluate("(said) => said.remove()")
    found.evaluate("location.hash = '#q=0,0,0,0,0,1&qd=0,0,0,0,0,1e200'")
    said = found.get_by_text("its energy in this state is no number")
    said.wait_for()
    said.evaluate("(said) => said.remove()")
    found.evaluate("location.hash = '#q=0,0,0,0,0,1'")
    wait_until(found, lambda: found.locator("#live").is_visible())
    assert state(found).tolist() == [0, 0, 0, 0, 0, 1]


def drawn(shown, frames=4):
    """Wait until the picture has been drawn again, however long that takes."""
    shown.evaluate(
        "(n) => new Promise((done) => {"
        " const next = () => (n-- > 0 ? requestAnimationFrame(next) : done()); next(); })",
        frames,
    )


def test_the_tool_goes_where_it_is_dragged(shown):
    pose(shown)
    target = dl.load("ur5").pose(Q)[:3, 3] + np.array([0.05, -0.1, 0.08])
    shown.evaluate("(point) => toolOf(live).reach(point)", target.tolist())
    np.testing.assert_allclose(dl.load("ur5").pose(state(shown))[:3, 3], target, atol=1e-3)
    drawn(shown)
    grip = shown.locator(".grip").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    shown.mouse.move(x, y)
    shown.mouse.down()
    shown.mouse.move(x + 30, y - 20, steps=6)
    shown.mouse.up()
    drawn(shown)
    moved = shown.locator(".grip").bounding_box()
    assert moved["x"] - grip["x"] == pytest.approx(30, abs=2)
    assert moved["y"] - grip["y"] == pytest.approx(-20, abs=2)


def test_names_are_text(open_page, tmp_path):
    name = "<img src=x onerror=alert(1)>"
    shown = open_page(written(named(name), tmp_path), at=0.0)
    shown.locator(".modes button").nth(1).click()
    assert any(name in text for text in shown.locator(".joint label").all_text_contents())
    assert shown.locator("img").count() == 0


def test_a_browser_without_webassembly_says_so(browser, path):
    context = browser.new_context(offline=True)
    context.add_init_script("delete window.WebAssembly")
    shown = context.new_page()
    shown.goto(path.as_uri())
    shown.get_by_text("WebAssembly is off").wait_for()
    assert shown.locator("#charts .chart").count() == 3
    context.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_cut_off_or_jumps(open_page, path, width):
    shown = open_page(path, width, at=0.0)
    shown.locator(".modes button").nth(1).click()
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tops = "[...document.querySelectorAll('#live .box')].map((e) => e.offsetTop)"
    before = shown.evaluate(tops)
    pose(shown)
    shown.locator(".run button").nth(1).click()
    assert shown.evaluate(tops) == before


def test_kernels_too_large_leave_a_sentence(monkeypatch):
    robot = dl.load("pendulum")
    monkeypatch.setattr(live, "MOST_BYTES", 10)
    found, why = live.live_data(robot, robot.neutral())
    assert found is None and "too many for a page" in why


def test_joints_of_a_floating_robot_have_their_own_limits(open_page, tmp_path):
    """Its q has one entry more than its velocities, which limits are given for."""
    robot = floating()
    shown = open_page(written(robot, tmp_path), at=0.0)
    shown.locator(".modes button").nth(1).click()
    field = shown.locator(f"#joint{robot.nq - 1}")
    field.fill("100")
    assert state(shown)[-1] == robot.upper[-1]
    assert shown.locator(".joint input[type=number]").count() == 1
    height = "live.value('bodies')[11]"
    held = state(shown)
    for size in ("0", "1e+200"):  # no attitude at all
        # the page writes its own state into the address before it is told of the change
        shown.evaluate(
            "(x) => { location.hash = `#q=0,0,0,0,0,0,${x},1`; address.write(address.text(live)) }",
            size,
        )
        shown.get_by_text(f"has the length {size}.").wait_for()
        np.testing.assert_array_equal(state(shown), held)
    fallen = shown.evaluate(f"{{ const z = {height}; live.advance(0.2); {height} - z }}")
    assert fallen == pytest.approx(-0.5 * 9.81 * 0.2**2, rel=1e-9)  # the hull, without contact


INSIDE = """() => {
  const { left, right, top, bottom } = document.getElementById("arm").getBoundingClientRect();
  const one = document.querySelector(".grip").getBoundingClientRect();
  return one.left >= left && one.right <= right && one.top >= top && one.bottom <= bottom;
}"""


def test_a_robot_that_hangs_stays_in_a_narrow_picture(open_page, path):
    """The camera goes farther off and looks at it; what is outside covers no control."""
    shown = open_page(path, at=0.0, width=400)
    shown.locator(".modes button").nth(1).click()
    for q in ([0.0, 1.57, 0.0, 0.0, 0.0, 0.0], [3.1, 0.4, 0.0, 0.0, 0.0, 0.0]):
        shown.evaluate("(q) => live.pose(q)", q)
        wait_until(shown, lambda: shown.evaluate(INSIDE))
    assert shown.evaluate("getComputedStyle(document.getElementById('arm')).overflow") == "hidden"


def test_the_plots_come_first_and_tools_unfold(shown):
    """What is looked at after a robot is let go is seen without scrolling."""
    pose(shown)
    assert shown.locator(".posture .head").get_by_role("button").count() == 2
    shown.get_by_role("tab", name="Motion").click()
    assert shown.locator(".strip:visible").first.bounding_box()["y"] < 500
    assert shown.get_by_label("force along x, N").is_hidden()
    shown.locator(".push summary").click()
    assert shown.get_by_label("force along x, N").is_visible()
    shown.get_by_role("tab", name="Posture").click()
    shown.get_by_role("button", name="Add as way-point").click()
    shown.get_by_role("tab", name="Motion").click()
    assert shown.get_by_role("button", name="Follow").is_visible()


def test_rounding_is_nothing_beside_a_recorded_curve(open_page, path):
    """The kinetic energy of a motion that begins at rest is zero, not 1e-30."""
    shown = open_page(path, at=0.0)
    texts = shown.locator("#charts .legend span").all_text_contents()
    assert texts and not any("e−" in text for text in texts)


def test_space_starts_and_stops_wherever_it_means_nothing_else(shown):
    go = shown.locator(".run button").first
    for used in (shown.get_by_role("tab", name="Posture"), shown.locator(".joint input").first):
        used.focus()
        shown.keyboard.press("Space")
        assert go.text_content() == "Pause"
        shown.keyboard.press("Space")
        assert go.text_content() == "Let go"
        shown.get_by_role("tab", name="Posture").click()


def test_a_page_without_dragging_of_the_tool_is_live_all_the_same(open_page, tmp_path, monkeypatch):
    """Its payload and its ellipsoids are still at the tool."""
    all_parts = live.basic_parts

    def without_dragging(*options):
        return [part for part in all_parts(*options) if "reach" not in part.kernels]

    monkeypatch.setattr(live, "basic_parts", without_dragging)
    shown = open_page(written(dl.load("elbow_3r"), tmp_path), at=0.0)
    shown.locator(".modes button").nth(1).click()
    assert shown.locator(".ellipsoid").count() == 2 and shown.locator(".grip").count() == 0
