"""Running plots of a live robot: what they say when it rests, which curves, which time, on paper."""

import numpy as np
import pytest

import dalembert as dl
from tests.report.test_live import Q, pose, state
from tests.report.test_page import wait_until

STRIPS = ("Positions", "Velocities", "Torques", "Power of the drives", "Energy balance")


@pytest.fixture
def tab(tab):
    """The live robot after half a second of motion, at rest, its Motion leaf seen."""
    pose(tab)
    move(tab)
    return tab


def move(tab, drive="none"):
    tab.get_by_role("tab", name="Motion").click()
    tab.evaluate(f"live.choose('{drive}')")
    tab.evaluate("for (let k = 0; k < 30; k++) { live.advance(1 / 60); live.tell('moved'); }")
    tab.evaluate("live.tell('paused')")


def strip(tab, title):
    return tab.locator(".strip").filter(has=tab.get_by_role("heading", name=title, exact=True))


def values(texts):
    return np.array([float(text.replace("−", "-")) for text in texts])


def test_values_under_the_pointer_are_those_of_the_motion(tab):
    """At the instant that the tip names, the library's own rollout has these positions."""
    picture = strip(tab, "Positions").locator("svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    tab.mouse.move(box["x"] + 72, box["y"] + 60)
    tip = strip(tab, "Positions").locator(".tip")
    time = float(tip.locator("b").text_content().removeprefix("t = ").removesuffix(" s"))
    assert 0.05 < time < 0.5
    robot = dl.load("ur5")
    steps = round(time / 1e-3)
    q, _ = robot.rollout(np.array(Q), np.zeros(6), np.zeros(6), steps=steps, dt=1e-3)
    values_of_page = dict(
        zip(
            tip.locator("span").all_text_contents(),
            values(tip.locator("em").all_text_contents()),
            strict=True,
        )
    )
    names = tab.evaluate("live.joints.map((joint) => plainName(joint.name))")
    np.testing.assert_allclose([values_of_page[name] for name in names], q[-1], rtol=0, atol=6e-4)


def test_a_click_shows_that_instant_in_all_legends(tab):
    picture = strip(tab, "Velocities").locator("svg")
    before = strip(tab, "Positions").locator(".legend span").all_text_contents()
    np.testing.assert_allclose(values(before), state(tab), rtol=0, atol=6e-4)
    picture.click(position={"x": 60, "y": 60})
    after = strip(tab, "Positions").locator(".legend span").all_text_contents()
    assert np.abs(values(after) - Q).max() < 0.05 < np.abs(values(before) - Q).max()


def test_curves_are_hidden_by_mouse_and_keyboard_and_stay_hidden(tab):
    part = strip(tab, "Positions")
    button, curves = part.locator(".legend button").nth(2), part.locator("svg path")
    assert curves.count() == 6 and button.get_attribute("aria-pressed") == "true"
    button.focus()
    tab.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false" and curves.count() == 5
    tab.evaluate("live.advance(0.01); live.tell('moved')")  # a canvas again
    assert part.locator("canvas").is_visible() and curves.count() == 0
    wait_until(tab, lambda: curves.count() == 5)  # without a pause, after a while
    button.click()
    assert curves.count() == 6


def test_time_is_narrowed_by_dragging_in_all_plots_and_whole_again(tab):
    picture = strip(tab, "Positions").locator("svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    tab.mouse.move(box["x"] + 70, box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 200, box["y"] + 70, steps=4)
    tab.mouse.up()
    last = """(e) => [...e.querySelectorAll("text[text-anchor=middle]")]
      .map((text) => Number(text.textContent)).filter(Number.isFinite).pop()"""
    narrow = [strip(tab, title).locator("svg").evaluate(last) for title in STRIPS]
    assert len({*narrow}) == 1 and narrow[0] < 6
    back = strip(tab, "Energy balance").locator(".back")
    assert back.is_visible()
    picture.focus()
    tab.keyboard.press("Escape")
    assert back.is_hidden() and picture.evaluate(last) == 10
    tab.keyboard.press("+")
    back.click()
    assert back.is_hidden()


def test_power_is_that_of_the_drives(tab):
    """Torques that hold against gravity, on a robot that moves."""
    move(tab, "gravity")
    values_of_page = values(
        strip(tab, "Power of the drives").locator(".legend span").all_text_contents()
    )
    expected = dl.load("ur5").gravity_torque(state(tab)) * state(tab, "qd")
    # torques are renewed every millisecond
    np.testing.assert_allclose(values_of_page, expected, rtol=0, atol=0.02 * np.abs(expected).max())


def test_paper_shows_all_leaves_in_light_colours(open_page, path):
    tab = open_page(path, scheme="dark", at=0.0)
    tab.locator(".modes button").nth(1).click()
    pose(tab)
    move(tab)
    tab.get_by_role("tab", name="Posture").click()
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("#arm img.paper").get_attribute("alt") == "The mechanism at 0.50 s"
    for title in STRIPS:
        assert strip(tab, title).locator("svg").is_visible()
        assert strip(tab, title).locator("canvas").is_hidden()
    assert tab.locator(".matrix").is_visible() and tab.locator(".leaves").is_hidden()
    heading = "(e) => getComputedStyle(e, '::before').content"
    assert tab.locator(".leaf").nth(1).evaluate(heading) == '"Motion"'
    ink = strip(tab, "Positions").evaluate("(e) => getComputedStyle(e).color")
    assert max(map(int, ink.removeprefix("rgb(").removesuffix(")").split(","))) < 100
    tab.evaluate("dispatchEvent(new Event('afterprint'))")


def test_nothing_moves_by_itself_for_who_asked_for_that(browser, path):
    """Neither the recorded motion nor the live robot."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    tab = context.new_page()
    tab.goto(path.as_uri())
    tab.locator(".modes button").nth(1).wait_for()
    wait_until(tab, lambda: tab.evaluate("performance.getEntriesByName('live').length"))
    assert tab.locator("#play").text_content() == "Play" and tab.evaluate("clock.now()") == 0
    tab.locator(".modes button").nth(1).click()
    assert tab.evaluate("live.time") == 0
    context.close()


def test_one_finger_scrolls_the_page(tab):
    """Over the picture and over the plots of a live robot."""
    for target in (tab.locator("#arm canvas"), strip(tab, "Positions").locator("svg")):
        assert target.evaluate("(e) => getComputedStyle(e).touchAction") == "pan-y"
