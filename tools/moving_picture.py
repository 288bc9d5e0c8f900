"""Write the moving picture of the README: a controlled UR5 and the plots beside it, as a GIF.

    python tools/moving_picture.py [docs/images/motion.gif]

It is the page that `run.dl.report` writes, opened in a headless Chromium by playwright and shown at
equal times, so that the picture does not depend on the speed of the machine. The middle of the motion
is written beside it as PNG, for those who prefer a picture that stands still.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import dalembert as dl

FILE = Path(__file__).parents[1] / "docs" / "images" / "motion.gif"
POSTURES = (
    (-0.9, -1.6, 1.9, -1.9, -1.6, 0.0),
    (0.2, -2.0, 1.4, -1.0, -1.6, 0.8),
    (1.4, -1.3, 1.7, -2.0, -1.6, 0.0),
    (0.4, -0.8, 1.2, -2.0, -1.6, -0.8),
    (-0.9, -1.6, 1.9, -1.9, -1.6, 0.0),
)
TIMES = (0.0, 1.0, 2.0, 3.0, 4.0)  # s
WIDTH, HEIGHT = 1080, 640  # of the window, pixels
INTERVAL = 0.05  # s between frames
COLOURS = 64
BROWSER = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def write_page(path: Path) -> None:
    """The page of a UR5 that follows way-points under computed torque."""
    robot = dl.load("ur5")
    target = dl.control.via_points(POSTURES, TIMES)
    controller = dl.control.ComputedTorque(robot, target=target, kp=100.0, kd=20.0)
    start = np.add(POSTURES[0], 0.05)
    run = dl.simulate(robot, start, np.zeros(6), tau=controller, duration=TIMES[-1], dt=0.01)
    run.dl.report(path)


def pictures(page: Path) -> list[Image.Image]:
    """Pictures of the page at equal times."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=BROWSER)
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        tab.goto(f"{page.as_uri()}#t=0")
        tab.locator("#arm").scroll_into_view_if_needed()
        tab.evaluate("document.querySelector('#arm').parentElement.scrollIntoView()")
        frames = []
        for t in np.arange(0.0, TIMES[-1], INTERVAL):
            tab.evaluate(f"clock.seek({t}); {DRAWN}")
            frames.append(Image.open(io.BytesIO(tab.screenshot())).convert("RGB"))
        browser.close()
    return frames


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        write_page(page)
        frames = pictures(page)
    middle = frames[len(frames) // 2]
    middle.quantize(256).save(path.with_suffix(".png"), optimize=True)
    palette = middle.quantize(COLOURS, dither=Image.Dither.NONE)
    images = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in frames]
    settings = {"append_images": images[1:], "duration": round(1000 * INTERVAL), "loop": 0}
    images[0].save(path, save_all=True, optimize=True, **settings)
    print(f"{path}: {len(images)} frames, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)
