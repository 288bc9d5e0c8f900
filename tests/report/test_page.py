"""The page in a browser: it moves, follows its slider, and needs nothing but itself."""

import re

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.page import robot_page, write_page


@pytest.fixture(scope="module")
def puma(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "puma560.html"
    write_page(robot_page(dl.load("puma560")), path)
    return path


def pixels(page, selector="#arm"):
    """(height, width, 3) of an element as it is shown."""
    from io import BytesIO

    from PIL import Image

    page.wait_for_timeout(250)
    shot = page.locator(selector).screenshot()
    return np.asarray(Image.open(BytesIO(shot)).convert("RGB")).astype(int)


def changed(a, b):
    """Share of the pixels that differ visibly."""
    return float((np.abs(a - b).max(axis=-1) > 24).mean())


def wait_until(page, holds):
    """Until it holds; a busy machine may take long to draw, so a minute means never."""
    for _ in range(1200):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen within a minute")


def slide(page, value):
    page.locator("#time").fill(str(value))


def test_slider_moves_the_arm_and_the_cursors(open_page, puma):
    page = open_page(puma, at=0.0)
    first, cursor = pixels(page), page.locator(".cursor").first.get_attribute("x1")
    slide(page, 1.2)
    second = pixels(page)
    assert changed(first, second) > 0.01
    assert page.locator("#now").text_content() == "1.20 s"
    assert page.locator(".cursor").first.get_attribute("x1") != cursor
    slide(page, 0.0)
    assert changed(first, pixels(page)) < 1e-3


def test_play_moves_and_pause_holds(open_page, puma):
    page = open_page(puma, at=0.4)
    assert page.locator("#play").text_content() == "Play"
    page.locator("#play").click()
    wait_until(page, lambda: page.locator("#now").text_content() > "0.45")
    page.locator("#play").click()
    instant = page.locator("#now").text_content()
    page.wait_for_timeout(200)
    assert page.locator("#now").text_content() == instant


def test_it_plays_by_itself_unless_calm_is_asked_for(open_page, puma):
    page = open_page(puma)
    wait_until(page, lambda: page.locator("#play").text_content() == "Pause")


def test_clicking_a_plot_seeks(open_page, puma):
    page = open_page(puma, at=0.0)
    box = page.locator(".chart svg").first.bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 40)
    instant = float(page.locator("#now").text_content().removesuffix(" s"))
    assert 1.4 < instant < 2.0


def test_inertia_ellipsoids_are_drawn_when_asked_for(open_page, puma):
    page = open_page(puma, at=0.3)
    bare = pixels(page)
    page.locator("#inertia").check()
    assert changed(bare, pixels(page)) > 0.01


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off(open_page, puma, width, scheme):
    page = open_page(puma, width, scheme, at=1.0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # every visible box lies within the page; wide tables and formulas scroll inside theirs
    beyond = page.evaluate(
        """[...document.querySelectorAll('.box, h1, h2, p, nav, svg, .controls > *')]
        .filter((e) => !e.parentElement.closest('.wide'))
        .map((e) => [e.tagName, e.getBoundingClientRect()])
        .filter(([_, r]) => r.width && (r.left < -0.5 || r.right > innerWidth + 0.5))
        .map(([name]) => name)"""
    )
    assert beyond == []
    arm = pixels(page)
    background = arm[2, 2]
    assert (np.abs(arm - background).max(axis=-1) > 40).mean() > 0.01  # there is an arm


def test_plots_have_units_and_legends(open_page, puma):
    page = open_page(puma, at=0.0)
    for chart in page.locator("#charts .chart").all():
        labels = chart.locator("svg text").all_text_contents()
        assert "time / s" in labels
        assert any(re.fullmatch(r".+ / (N m|rad|J)", label) for label in labels)
        assert chart.locator(".legend li").count() == chart.locator("path").count() > 1


def test_mathematics_is_drawn(open_page, puma):
    page = open_page(puma, at=0.0)
    formulas = page.locator("#equations math")
    assert formulas.count() >= 2
    box = formulas.first.bounding_box()
    assert box["width"] > 200
    assert box["height"] > 20


def test_all_formulations_are_listed_and_agree(open_page, puma):
    page = open_page(puma, at=0.0)
    text = page.locator("#agreement").inner_text()
    assert all(name in text for name in dl.formulations("inverse_dynamics"))
    assert page.locator(".no").count() == 0
    assert page.locator(".ok").count() > 20


def test_page_is_small_and_draws_the_arm(open_page, puma):
    assert puma.stat().st_size < 2_000_000
    open_page(puma, at=0.0).locator("#arm canvas").wait_for()


def test_page_says_what_it_cannot_draw(browser, puma):
    page = browser.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(puma.as_uri() + "#t=0.5")
    assert "WebGL" in page.locator("#arm").inner_text()
    assert page.locator(".chart path").count() > 5
    assert not errors
    page.close()


def test_page_of_any_robot():
    """Compound and quaternion joints, several branches, parameters: everything has a page."""
    solid = {"mass": 1.0, "com": (0.0, 0.1, 0.2), "inertia": np.eye(3)}
    links = [
        {"name": "torso", "joint": {"type": "free"}, **solid},
        {"name": "left", "parent": "torso", "joint": {"type": "spherical"}, **solid},
        {"name": "right", "parent": "torso", "joint": {"type": "universal"}, **solid},
    ]
    text = robot_page(dl.Robot.from_links(links, name="<b>&odd</b>"))
    assert "<title>&lt;b&gt;&amp;odd&lt;/b&gt; – dalembert</title>" in text
    assert "<b>&odd</b>" not in text


def test_a_system_writes_its_own_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = dl.load("pendulum").report()
    assert written.name == "pendulum.html" and "<!doctype html>" in written.read_text()[:20]
    there = dl.load("pendulum").report(tmp_path / "deep" / "page.html")
    assert there == tmp_path / "deep" / "page.html"
    assert there.read_text() == written.read_text()
