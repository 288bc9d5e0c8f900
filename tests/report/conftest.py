"""A headless Chromium without network, where one is installed."""

import pytest

import dalembert as dl
from tests.browser import launched


@pytest.fixture(scope="session")
def browser():
    with launched() as opened:
        yield opened


@pytest.fixture(scope="session")
def ur5_page(tmp_path_factory):
    """The live page of the UR5, which takes seconds to write."""
    from tests.report.test_live import written

    return written(dl.load("ur5"), tmp_path_factory.mktemp("ur5"))


@pytest.fixture(scope="session")
def tabs(browser):
    """Tabs for the next tests: opening a page in one that is there costs a quarter of a new one.

    Pages of the library store nothing, so nothing of a test is left once its page is.
    """
    return []


@pytest.fixture
def open_page(browser, tabs):
    """Open a file offline at a width; everything wrong on the page fails the test at its end."""
    used, wrong = [], []
    heard = {
        "console": lambda message: wrong.append(f"{message.type}: {message.text}"),
        "pageerror": lambda error: wrong.append(str(error)),
        "requestfailed": lambda request: wrong.append(f"failed: {request.url}"),
        "request": lambda request: outside(request.url, wrong),
    }

    def open_(path, width=1280, scheme="light", at=None):
        page = tabs.pop() if tabs else browser.new_context(offline=True).new_page()
        used.append(page)
        page.set_viewport_size({"width": width, "height": 850})
        page.emulate_media(media="screen", color_scheme=scheme)
        for event, act in heard.items():
            page.on(event, act)
        page.goto(path.as_uri() + ("" if at is None else f"#t={at}"))
        return page

    yield open_
    for page in used:
        for event, act in heard.items():
            page.remove_listener(event, act)
        page.goto("about:blank")
        page.mouse.move(0, 0)
        page.context.clear_permissions()
    tabs.extend(used)
    # software rendering is slow, and the driver says so
    assert not [message for message in wrong if "GPU stall due to ReadPixels" not in message]


@pytest.fixture
def path(ur5_page):
    """The page that a module's tests look at."""
    return ur5_page


@pytest.fixture
def tab(open_page, path):
    """The live robot of that page."""
    tab = open_page(path, at=0.0)
    tab.locator(".modes button").nth(1).click()
    return tab


def outside(url, wrong):
    if not url.startswith(("file:", "data:", "blob:")):
        wrong.append(f"asked for {url}")
