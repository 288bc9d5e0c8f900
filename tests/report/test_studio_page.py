"""The studio in a browser: a robot is chosen, its text edited, its live page follows."""

import re
from pathlib import Path

import pytest

from tests.report.studio import running
from tests.report.test_page import wait_until
from tests.report.test_studio import STL, WITH_MESH

ROBOTS = Path(__file__).parents[1] / "robots"


@pytest.fixture(scope="module")
def server():
    with running() as server:
        server.pool.warm()
        yield server


@pytest.fixture
def studio(browser, server):
    """Open the studio at a width; everything wrong on the page fails the test at its end."""
    contexts, wrong = [], []

    def open_(width=1280, scheme="light", address=server.address):
        context = browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        home = address.partition("?")[0]
        page.on(
            "request",
            lambda request: request.url.startswith((home, "blob:")) or wrong.append(request.url),
        )
        page.goto(address)
        return page

    open_.expected = ["GPU stall due to ReadPixels"]  # software rendering is slow
    yield open_
    for context in contexts:
        context.close()
    assert not [one for one in wrong if not any(words in one for words in open_.expected)]


def live(page):
    """The live page, once it computes."""
    frame = page.frame_locator("#stage iframe:not(.next)")
    frame.locator("#live").wait_for()
    return frame


def test_choose_break_and_mend(studio):
    page = studio()
    page.get_by_role("button", name="pendulum", exact=True).click()
    frame = live(page)
    assert "link1" in frame.locator(".joint label").first.text_content()
    text = page.locator("#text").input_value()
    assert text.startswith('<robot name="pendulum"')
    broken = text.replace('type="continuous"', 'type="continual"')
    page.locator("#text").fill(broken)
    page.locator("#said .wrong").wait_for()
    line = next(k for k, row in enumerate(broken.splitlines(), 1) if "continual" in row)
    assert page.locator(".gutter b").text_content() == str(line)
    assert page.locator("#step").text_content() == "This is the last text without a fault."
    assert frame.locator("#live").is_visible()  # it stays
    page.locator("#said button").click()
    chosen = "(field) => field.value.slice(field.selectionStart, field.selectionEnd)"
    assert "continual" in page.locator("#text").evaluate(chosen)
    page.locator("#text").fill(text.replace("link1_joint", "knee"))
    page.locator("#said .wrong").wait_for(state="detached")
    live(page).locator(".joint label", has_text="knee").wait_for()
    live(page).locator("#joint0").fill("0.7")
    page.locator("#text").fill(text.replace("link1_joint", "knee").replace('"tool"', '"hand"'))
    page.locator("#stage.old").wait_for()
    page.locator("#stage:not(.old)").wait_for()
    field = live(page).locator("#joint0")
    wait_until(page, lambda: field.input_value().startswith("0.7"))  # it stands where it stood
    page.locator("#tab-report:enabled").click()
    page.frame_locator("#report iframe:not(.next)").locator("#agreement").wait_for()
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert saved.value.suggested_filename == "pendulum.urdf"
    assert "knee" in saved.value.path().read_text()


def test_names_in_a_text_are_text(studio, tmp_path):
    """Dropped with its mesh; neither page runs what a name says."""
    hostile = "<img src=x onerror=alert(1)>"
    name = hostile.replace("<", "&lt;").replace(">", "&gt;")
    text = WITH_MESH.replace("FILE", "a.stl").replace('"turn"', f'"{name}"')
    (tmp_path / "a.stl").write_bytes(STL)
    (tmp_path / "arm.urdf").write_text(text)
    page = studio()
    page.locator("#files").set_input_files([tmp_path / "a.stl", tmp_path / "arm.urdf"])
    assert hostile in live(page).locator(".joint label").first.text_content()
    assert live(page).locator("img[src=x]").count() == 0
    page.locator("#text").fill(text.replace('type="continuous"', 'type="x"'))
    page.locator("#said .wrong", has_text="<img").wait_for()
    assert page.locator("img").count() == 0


def test_the_page_cannot_reach_the_studio(studio, server):
    studio.expected.append("Content Security Policy")
    page = studio()
    page.get_by_role("button", name="pendulum", exact=True).click()
    live(page)
    frame = next(one for one in page.frames if "/page/" in one.url)
    script = """async () => {
      const tried = [];
      try { tried.push(parent.document.title); } catch (error) { tried.push(error.name); }
      try { await fetch("/"); tried.push("fetched"); } catch (error) { tried.push(error.name); }
      tried.push(self.origin, document.documentElement.outerHTML.includes(%r));
      return tried; }"""
    assert frame.evaluate(script % server.token) == ["SecurityError", "TypeError", "null", False]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_nothing_is_cut_off(studio, width, scheme):
    page = studio(width, scheme)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    heading = page.get_by_role("heading", name="Drop a URDF, MJCF or TOML here, or choose:")
    assert heading.is_visible()
    bar = page.locator("header").bounding_box()
    assert bar["y"] + bar["height"] <= page.locator(".editor").bounding_box()["y"]
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "open"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_number_is_edited_and_nothing_else_of_the_file(studio, tmp_path, ends):
    file = tmp_path / "palletiser.urdf"
    before = (ROBOTS / "palletiser.urdf").read_bytes().replace(b"\n", ends.encode())
    file.write_bytes(before)
    with running(file) as server:
        page = studio(address=server.address)
        text = page.locator("#text").input_value()
        assert text.encode() == before.replace(b"\r\n", b"\n")
        live(page)
        restore = page.get_by_role("button", name="Restore palletiser.urdf")
        assert not restore.is_visible()
        page.locator("#text").fill(text.replace('value="9"', 'value="9.5"'))
        page.get_by_role("button", name="Write to palletiser.urdf").click()
        # "Written to …" may be followed at once by what the page says of the new text
        assert before.count(b'value="9"') == 1
        wait_until(page, lambda: file.read_bytes() != before)
        assert file.read_bytes() == before.replace(b'value="9"', b'value="9.5"')
        restore.click()
        wait_until(page, lambda: page.locator("#text").input_value() == text)
        assert file.read_bytes() == before
        assert page.locator("#write").is_disabled()
        page.close(run_before_unload=False)  # its last request would outlive the server


def test_the_file_of_the_command_line_is_written_by_its_button_only(studio, tmp_path):
    studio.expected.append("409 (Conflict)")
    file = tmp_path / "arm.urdf"
    file.write_text(WITH_MESH.replace("FILE", "none.stl"))
    with running(file) as server:
        page = studio(address=server.address)
        live(page)
        text = page.locator("#text").input_value()
        assert page.locator("#write").is_disabled()
        page.locator("#text").fill(re.sub('"meshed"', '"changed"', text))
        assert "meshed" in file.read_text()
        page.get_by_role("button", name="Write to arm.urdf").click()
        wait_until(page, lambda: "changed" in file.read_text())
        wait_until(page, lambda: page.locator("#write").is_disabled())
        file.write_text("<robot/>")
        page.locator("#text").fill(text)
        page.locator("#write").click()
        page.locator("#said", has_text="changed on disk").wait_for()
        page.close(run_before_unload=False)
        assert file.read_text() == "<robot/>"
