"""Running plots of a live robot: what they say when it rests, which curves, which time, on paper."""

import numpy as np
import pytest

import dalembert as dl
from tests.report.test_live import Q, pose, state
from tests.report.test_page import wait_until

STRIPS = ("Positions", "Velocities", "Torques", "Power of the drives", "Energy balance")


@pytest.fixture
def shown(shown):
    """The live robot after half a second of motion, at rest, its Motion leaf seen."""
    pose(shown)
    move(shown)
    return shown


def move(shown, drive="none"):
    shown.get_by_role("tab", name="Motion").click()
    shown.evaluate(f"live.choose('{drive}')")
    shown.evaluate("for (let k = 0; k < 30; k++) { live.advance(1 / 60); live.tell('moved'); }")
    shown.evaluate("live.tell('paused')")


def strip(shown, title):
    return shown.locator(".strip").filter(has=shown.get_by_role("heading", name=title, exact=True))


def values(texts):
    return np.array([float(text.replace("−", "-")) for text in texts])


def test_values_under_the_pointer_are_those_of_the_motion(shown):
    """At the instant that the tip names, the library's own rollout has these positions."""
    picture = strip(shown, "Positions").locator("svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    shown.mouse.move(box["x"] + 72, box["y"] + 60)
    tip = strip(shown, "Positions").locator(".tip")
    time = float(tip.locator("b").text_content().removeprefix("t = ").removesuffix(" s"))
    assert 0.05 < time < 0.5
    robot = dl.load("ur5")
    steps = round(time / 1e-3)
    q, _ = robot.rollout(np.array(Q), np.zeros(6), np.zeros(6), steps=steps, dt=1e-3)
    found = dict(
        zip(
            tip.locator("span").all_text_contents(),
            values(tip.locator("em").all_text_contents()),
            strict=True,
        )
    )
    names = shown.evaluate("live.joints.map((joint) => plainName(joint.name))")
    np.testing.assert_allclose([found[name] for name in names], q[-1], rtol=0, atol=6e-4)


def test_a_click_shows_that_instant_in_all_legends(shown):
    picture = strip(shown, "Velocities").locator("svg")
    before = strip(shown, "Positions").locator(".legend span").all_text_contents()
    np.testing.assert_allclose(values(before), state(shown), rtol=0, atol=6e-4)
    picture.click(position={"x": 60, "y": 60})
    after = strip(shown, "Positions").locator(".legend span").all_text_contents()
    assert np.abs(values(after) - Q).max() < 0.05 < np.abs(values(before) - Q).max()


def test_curves_are_hidden_by_mouse_and_keyboard_and_stay_hidden(shown):
    part = strip(shown, "Positions")
    button, curves = part.locator(".legend button").nth(2), part.locator("svg path")
    assert curves.count() == 6 and button.get_attribute("aria-pressed") == "true"
    button.focus()
    shown.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false" and curves.count() == 5
    shown.evaluate("live.advance(0.01); live.tell('moved')")  # a canvas again
    assert part.locator("canvas").is_visible() and curves.count() == 0
    wait_until(shown, lambda: curves.count() == 5)  # without a pause, after a while
    button.click()
    assert curves.count() == 6


def test_time_is_narrowed_by_dragging_in_all_plots_and_whole_again(shown):
    picture = strip(shown, "Positions").locator("svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    shown.mouse.move(box["x"] + 70, box["y"] + 60)
    shown.mouse.down()
    shown.mouse.move(box["x"] + 200, box["y"] + 70, steps=4)
    shown.mouse.up()
    last = """(e) => [...e.querySelectorAll("text[text-anchor=middle]")]
      .map((text) => Number(text.textContent)).filter(Number.isFinite).pop()"""
    narrow = [strip(shown, title).locator("svg").evaluate(last) for title in STRIPS]
    assert len({*narrow}) == 1 and narrow[0] < 6
    back = strip(shown, "Energy balance").locator(".back")
    assert back.is_visible()
    picture.focus()
    shown.keyboard.press("Escape")
    assert back.is_hidden() and picture.evaluate(last) == 10
    shown.keyboard.press("+")
    back.click()
    assert back.is_hidden()


def test_power_is_that_of_the_drives(shown):
    """Torques that hold against gravity, on a robot that moves."""
    move(shown, "gravity")
    found = values(strip(shown, "Power of the drives").locator(".legend span").all_text_contents())
    expected = dl.load("ur5").gravity_torque(state(shown)) * state(shown, "qd")
    # torques are renewed every millisecond
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.02 * np.abs(expected).max())


def test_paper_shows_all_leaves_in_light_colours(open_page, path):
    shown = open_page(path, scheme="dark", at=0.0)
    shown.locator(".modes button").nth(1).click()
    pose(shown)
    move(shown)
    shown.get_by_role("tab", name="Posture").click()
    shown.emulate_media(media="print")
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.locator("#arm img.paper").get_attribute("alt") == "The mechanism at 0.50 s"
    for title in STRIPS:
        assert strip(shown, title).locator("svg").is_visible()
        assert strip(shown, title).locator("canvas").is_hidden()
    assert shown.locator(".matrix").is_visible() and shown.locator(".leaves").is_hidden()
    heading = "(e) => getComputedStyle(e, '::before').content"
    assert shown.locator(".leaf").nth(1).evaluate(heading) == '"Motion"'
    ink = strip(shown, "Positions").evaluate("(e) => getComputedStyle(e).color")
    assert max(map(int, ink.removeprefix("rgb(").removesuffix(")").split(","))) < 100
    shown.evaluate("dispatchEvent(new Event('afterprint'))")


def test_nothing_moves_by_itself_for_who_asked_for_that(browser, path):
    """Neither the recorded motion nor the live robot."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    shown = context.new_page()
    shown.goto(path.as_uri())
    shown.locator(".modes button").nth(1).wait_for()
    wait_until(shown, lambda: shown.evaluate("performance.getEntriesByName('live').length"))
    assert shown.locator("#play").text_content() == "Play" and shown.evaluate("clock.now()") == 0
    shown.locator(".modes button").nth(1).click()
    assert shown.evaluate("live.time") == 0
    context.close()


def test_one_finger_scrolls_the_page(shown):
    """Over the picture and over the plots of a live robot."""
    for place in (shown.locator("#arm canvas"), strip(shown, "Positions").locator("svg")):
        assert place.evaluate("(e) => getComputedStyle(e).touchAction") == "pan-y"
