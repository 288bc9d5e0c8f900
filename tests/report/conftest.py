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


@pytest.fixture
def open_page(browser):
    """Open a file offline at a width; everything wrong on the page fails the test at its end."""
    contexts, wrong = [], []

    def open_(path, width=1280, scheme="light", at=None):
        context = browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
        page.on("request", lambda request: outside(request.url, wrong))
        page.goto(path.as_uri() + ("" if at is None else f"#t={at}"))
        return page

    yield open_
    for context in contexts:
        context.close()
    # software rendering is slow, and the driver says so
    assert not [message for message in wrong if "GPU stall due to ReadPixels" not in message]


@pytest.fixture
def path(ur5_page):
    """The page that a module's tests look at."""
    return ur5_page


@pytest.fixture
def shown(open_page, path):
    """The live robot of that page."""
    made = open_page(path, at=0.0)
    made.locator(".modes button").nth(1).click()
    return made


def outside(url, wrong):
    if not url.startswith(("file:", "data:", "blob:")):
        wrong.append(f"asked for {url}")
