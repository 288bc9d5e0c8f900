"""A headless Chromium, where one is installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# no sandbox (tests may run as root), nothing asked of the network, and software rendering, of which
# pages are drawn without the emulated GPU and scenes without smooth edges: half of the processor
# time. With --disable-gpu-compositing it would be less still, but of two views of a widget the
# running one does not stop for a hand in the other
FLAGS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-gpu-rasterization", "--webgl-antialiasing-mode=none"),
)


def executable() -> str:
    """Its path; without one the test is skipped."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no Chromium is installed (looked for {', '.join(NAMES)})")
    return path


@contextmanager
def launched() -> Iterator[Any]:
    """A browser of Playwright; without one the test is skipped."""
    path = executable()
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()
