"""Handling of plots and pages: pointer, keys, fingers, paper, all kinds of sight."""

import itertools
import json

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.charts import ON_DARK, PALETTE, Plot, Series
from dalembert.report.page import motion_data, page, write_page
from dalembert.report.sections import table
from tests.report.test_page import changed, pixels, wait_until

T = np.linspace(0.0, 2.0, 101)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of two plots, a folded part and a long table."""
    series = (
        Series("sine", np.sin(3 * T)),
        Series("<b>ramp</b>", 5 * T),
        Series("gap", np.full(len(T), np.nan)),
    )
    charts = [Plot("first", "y / m", series[:2]), Plot("second", "z / m", series)]
    robot = dl.load("planar_2r")
    data = motion_data(robot, T, np.stack([T, -T], axis=1), charts)
    rows = [(str(k), "x" * 30, str(k**3)) for k in range(60)]
    more = "<details class='box'><summary>more</summary><p id='more'>folded</p></details>"
    text = more + table("abc", rows)
    file = tmp_path_factory.mktemp("handling") / "page.html"
    write_page(page("A page", "", "", data, [("table", "Table", text)]), file)
    return file


def now(tab):
    return float(tab.locator("#now").text_content().removesuffix(" s"))


def svg_box(tab, k=0):
    return tab.locator("#charts svg").nth(k).bounding_box()


def at(box, time, whole=(0.0, 2.0)):
    """The pixel of a time, between the margins of a plot."""
    return box["x"] + 58 + (box["width"] - 68) * (time - whole[0]) / (whole[1] - whole[0])


def test_the_pointer_shows_the_nearest_sample(open_page, path):
    tab = open_page(path, at=0.0)
    box = svg_box(tab)
    tab.mouse.move(at(box, 0.503), box["y"] + 10)
    tip = tab.locator(".tip").first
    assert tip.locator("b").text_content() == "t = 0.500 s"
    assert tip.locator("span").all_text_contents() == ["<b>ramp</b>", "sine"]
    assert tip.locator("em").all_text_contents() == ["2.500", f"{np.sin(1.5):.3f}"]
    assert tab.locator(".marks circle").count() == 2
    inside = tip.bounding_box()
    assert box["y"] <= inside["y"] <= box["y"] + box["height"]
    tab.mouse.move(5, 5)
    assert tip.is_hidden()


def test_the_legend_hides_curves_and_the_axis_follows(open_page, path):
    tab = open_page(path, at=0.0)
    chart = tab.locator(".chart").first
    ramp = chart.locator(".legend button").nth(1)
    assert ramp.get_attribute("aria-pressed") == "true"
    ramp.click()
    assert ramp.get_attribute("aria-pressed") == "false"
    assert chart.locator("path").count() == 1
    labels = chart.locator("svg text").all_text_contents()
    assert "1.0" in labels and "10" not in labels
    ramp.click(modifiers=["Shift"])
    pressed = [b.get_attribute("aria-pressed") for b in chart.locator(".legend button").all()]
    assert pressed == ["false", "true"]
    ramp.click(modifiers=["Shift"])
    assert chart.locator("path").count() == 2


def test_dragging_zooms_all_plots_and_there_are_ways_back(open_page, path):
    tab = open_page(path, at=0.0)
    box = svg_box(tab)

    def labels():
        return tab.locator("#charts svg").nth(1).locator("text").all_text_contents()

    whole = labels()
    backs = [
        lambda: tab.locator(".back").first.click(),
        lambda: tab.keyboard.press("Escape"),
        lambda: tab.mouse.dblclick(at(box, 1.0), box["y"] + 30),
    ]
    for back in backs:
        tab.mouse.move(at(box, 0.5), box["y"] + 40)
        tab.mouse.down()
        tab.mouse.move(at(box, 0.9), box["y"] + 60, steps=3)
        tab.mouse.up()
        assert "0.7" in labels() and "2.0" not in labels()
        assert tab.locator(".back").first.is_visible()
        tab.locator("#charts svg").first.focus()
        back()
        assert labels() == whole
        assert tab.locator(".back").first.is_hidden()
    tab.locator("#charts svg").first.focus()
    tab.keyboard.press("+")
    assert labels() != whole
    tab.keyboard.press("-")
    assert labels() == whole


def test_the_cursor_of_now_can_be_dragged(open_page, path):
    tab = open_page(path, at=0.5)
    box = svg_box(tab)
    tab.mouse.move(at(box, 0.5), box["y"] + 40)
    tab.mouse.down()
    tab.mouse.move(at(box, 1.5), box["y"] + 40, steps=4)
    tab.mouse.up()
    assert now(tab) == pytest.approx(1.5, abs=0.02)
    assert tab.locator(".back").first.is_hidden()


def test_keys_play_and_step(open_page, path):
    tab = open_page(path, at=0.5)
    for key, time in [("ArrowRight", 0.52), ("ArrowLeft", 0.5), ("Shift+ArrowRight", 0.7)]:
        tab.keyboard.press(key)
        assert now(tab) == pytest.approx(time)
    tab.keyboard.press("End")
    assert now(tab) == 2.0
    tab.keyboard.press("Home")
    assert now(tab) == 0.0
    tab.keyboard.press(" ")
    assert tab.locator("#play").text_content() == "Pause"
    tab.keyboard.press(" ")
    assert tab.locator("#play").text_content() == "Play"
    # a button's own key is the button's
    tab.locator("#play").focus()
    tab.keyboard.press(" ")
    assert tab.locator("#play").text_content() == "Pause"


def test_whoever_has_the_focus_shows_it_and_says_what_it_is(open_page, path):
    tab = open_page(path, at=0.0)
    distances = set()
    for _ in range(25):
        tab.keyboard.press("Tab")
        labels = tab.evaluate(
            """(() => { const e = document.activeElement, s = getComputedStyle(e);
            const said = e.getAttribute("aria-label") || (e.closest("label") || e).textContent;
            return [e.id || e.tagName.toLowerCase(), s.outlineStyle, parseFloat(s.outlineWidth), said];
            })()"""
        )
        if labels[0] == "body":
            break
        assert labels[1] != "none" and labels[2] >= 2, labels
        assert labels[3].strip(), labels
        distances.add(labels[0])
    assert {"arm", "play", "time", "inertia", "svg", "button", "summary"} <= distances
    assert tab.locator("#time").get_attribute("aria-valuetext") == "0.00 s"


# where the page has come to rest: the same for thirty frames
AT_REST = """() => new Promise((done) => {
  let last = -1, same = 0;
  const look = () => {
    same = scrollY === last ? same + 1 : 0;
    last = scrollY;
    if (same > 30) done(last); else requestAnimationFrame(look);
  };
  look();
})"""


def test_wheel_and_finger_scroll_the_page_past_the_picture(open_page, path):
    tab = open_page(path, at=0.0)
    box = tab.locator("#arm").bounding_box()
    tab.mouse.move(box["x"] + 200, box["y"] + 200)
    tab.mouse.wheel(0, 120)
    wait_until(tab, lambda: tab.evaluate("scrollY") > 50)
    assert "wheel" in tab.locator(".hint").inner_text()
    assert tab.locator("#arm canvas").evaluate("e => e.style.touchAction") == "pan-y"
    tab.evaluate("scrollTo(0, 0)")
    finger = tab.context.new_cdp_session(tab)
    for k in range(12):
        touch = [{"x": box["x"] + 200, "y": box["y"] + 300 - 20 * k}]
        kind = "touchMove" if k else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touch})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wait_until(tab, lambda: tab.evaluate("scrollY") > 50)
    tab.evaluate(AT_REST)  # a finger's swing goes on after it has left
    tab.evaluate("scrollTo(0, 0)")
    tab.mouse.click(box["x"] + 200, box["y"] + 200)  # now it is meant
    tab.mouse.wheel(0, 120)
    assert tab.evaluate(AT_REST) == 0


def test_the_view_comes_back(open_page, path):
    tab = open_page(path, at=0.3)
    first = pixels(tab)
    tab.locator("#arm").focus()
    for key in ("Shift+ArrowLeft", "Shift+ArrowUp", "+"):
        tab.keyboard.press(key)
    assert changed(first, pixels(tab)) > 0.01
    tab.locator(".again").click()
    tab.evaluate("document.activeElement.blur()")
    assert changed(first, pixels(tab)) < 2e-3


def test_paper_shows_the_picture_and_everything_folded(open_page, path):
    tab = open_page(path, scheme="dark", at=0.5)
    assert tab.locator("#more").is_hidden()
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    picture = tab.locator("#arm img.paper")
    assert picture.get_attribute("alt") == "The mechanism at 0.50 s"
    assert picture.get_attribute("src").startswith("data:image/png")
    assert picture.evaluate("e => e.decode().then(() => e.naturalWidth)") > 200
    assert tab.locator("#more").is_visible()
    assert tab.locator("#arm canvas").is_hidden() and tab.locator(".controls").is_hidden()
    assert (
        tab.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--c0')")
        == PALETTE[0]
    )
    cut = tab.evaluate(
        "[...document.querySelectorAll('.wide')].some((e) => e.scrollWidth > e.clientWidth + 1)"
    )
    assert not cut
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.emulate_media(media="screen")
    assert tab.locator("#more").is_hidden() and tab.locator("img").count() == 0
    assert (
        tab.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--c0')")
        == ON_DARK[0]
    )


def test_without_scripts_the_rest_can_be_read(browser, path):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(path.as_uri())
    assert "Scripts are off" in tab.locator("noscript").inner_text()
    assert tab.locator("table tbody tr").count() == 60
    context.close()


# Machado, Oliveira and Fernandes, A physiologically-based model for simulation of color vision
# deficiency, 2009: linear RGB as seen without one kind of cone
SIGHT = {
    "all": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    c = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    x, y, z = np.cbrt(np.clip(XYZ @ rgb / [0.9505, 1.0, 1.089], 0.008856, None))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("colours", "paper"), [(PALETTE, "#ffffff"), (ON_DARK, "#1a2029")])
def test_curves_can_be_told_apart_by_every_reader(colours, paper, sight):
    perceived = [lab(np.clip(np.array(SIGHT[sight]) @ linear(c), 0, 1)) for c in colours]
    # 2.3 is just noticeable; the colours before these came down to 1.5
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(perceived, 2)) > 12
    ground = XYZ[1] @ linear(paper)
    for colour in colours:
        bright, dark = sorted([XYZ[1] @ linear(colour), ground], reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 3.0  # for graphics, WCAG 2.1


def test_data_of_the_page_is_json(path):
    text = path.read_text(encoding="utf-8")
    data = text.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["charts"][1]["series"][2]["y"] == [None] * len(T)
