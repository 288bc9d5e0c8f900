"""Live pages in a headless Chromium, from disk and without network: bytes, start, script per frame.

    python -m benchmarks.page [SYSTEM or FILE …]

"ready" is the time from the start of navigation until the live robot can be moved, each time in a new
context of the browser. Script per frame is what a frame of the running simulation takes (physics,
plots, tables; not the picture, which a headless browser draws in software), each leaf in turn. Frames
follow each other as fast as they can, each a sixtieth of a second of the motion.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.report.page import system_page
from tests.browser import launched

SYSTEMS = ("ur5", "panda", "four_bar", "stewart_platform")
MESHES = ("ur5_robot.urdf", "panda.urdf")  # of the package example-robot-data
FRAMES, STARTS = 600, 7
PATIENCE = 300_000  # ms
HEAD = f"{'page':24}{'kB':>6}{'ready':>8}{'median':>8}   script of a frame, ms: median, 99 %, worst"
# all callbacks of a frame see one time, a sixtieth of a second after the last
EVEN_TIME = """(() => {
  const ask = requestAnimationFrame.bind(window);
  let stamp = 0, asked = false;
  const next = () => { asked = false; stamp += 1000 / 60; };
  window.requestAnimationFrame = (act) => {
    if (!asked) { asked = true; ask(next); }
    return ask(() => act(stamp));
  };
})();"""
MEASURE = """([tab, frames]) => new Promise((done) => {
  const cost = [], run = document.querySelector(".run button");
  run.click();
  document.getElementById(tab).click(); // who lets go is shown another leaf
  function look() {
    if (live.cost !== undefined) cost.push(live.cost);
    if (cost.length < frames) requestAnimationFrame(look);
    else { run.click(); done(cost); }
  }
  live.cost = undefined;
  requestAnimationFrame(look);
})"""
# relative to the largest kinetic energy on the way
DRIFT = """() => {
  let size = 0, worst = 0;
  live.pose(live.home);
  for (let k = 0; k < 600; k++) {
    live.advance(1 / 60);
    size = Math.max(size, live.value("kinetic_energy")[0]);
    worst = Math.max(worst, Math.abs(live.lost()));
  }
  live.pose(live.home);
  return worst / size;
}"""
RENDERER = """() => {
  const gl = document.createElement("canvas").getContext("webgl2");
  const told = gl && gl.getExtension("WEBGL_debug_renderer_info");
  return told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : "no WebGL";
}"""


def opened(browser: Any, path: Path) -> tuple[Any, Any]:
    """(A new context, the page in it) without network."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 850})
    context.add_init_script(EVEN_TIME)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(path.as_uri())
    return context, page


def start(browser: Any, path: Path) -> float | None:
    """ms until the live robot is ready; None where a page has none."""
    context, page = opened(browser, path)
    there = page.evaluate("Boolean(data.live)")
    if there:
        page.wait_for_function("performance.getEntriesByName('live').length", timeout=PATIENCE)
        there = page.evaluate("performance.getEntriesByName('live')[0].startTime")
    context.close()
    return there or None


def frames(browser: Any, path: Path, count: int) -> Iterator[tuple[str, np.ndarray]]:
    """(Leaf, ms of script of every frame while it is seen)."""
    context, page = opened(browser, path)
    page.locator(".modes button").nth(1).click()
    for leaf in page.locator(".leaves button").all():
        page.evaluate("live.pose(live.home)")
        measured = page.evaluate(MEASURE, [leaf.get_attribute("id"), count])
        yield leaf.text_content(), np.array(measured)
    context.close()


def drift(browser: Any, path: Path) -> str:
    """Of the energy of a robot let go for ten seconds, in words."""
    context, page = opened(browser, path)
    page.locator(".modes button").nth(1).click()
    friction = page.evaluate("Boolean(live.data.friction)")
    drift = "friction" if friction else f"{page.evaluate(DRIFT):.0e}"
    context.close()
    return drift


def meshed() -> list[Path]:
    """Robots with meshes, where example-robot-data is installed."""
    try:
        there = files("example-robot-data") or ()
    except ModuleNotFoundError:
        return []
    return [Path(str(f.locate())) for name in MESHES for f in there if f.name == name]


def main() -> None:
    """Write the pages, open them, and print what they take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="*", help="names of the zoo, or robot files")
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--starts", type=int, default=STARTS)
    options = parser.parse_args()
    names = options.systems or [*SYSTEMS, *meshed()]
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        print(f"Chromium {browser.version}, {browser.new_page().evaluate(RENDERER)}")
        print(HEAD)
        for k, one in enumerate(names):
            system = dl.load(str(one))
            path = Path(folder) / f"{k}.html"
            path.write_text(system_page(system), encoding="utf-8")
            _rows(browser, path, f"{system.name}{', meshes' * isinstance(one, Path)}", options)


def _rows(browser: Any, path: Path, name: str, options: Any) -> None:
    """Print a row for each leaf, as soon as there is one."""
    line = f"{name:24}{path.stat().st_size / 1000:6.0f}"
    ready = [ms for _ in range(options.starts) if (ms := start(browser, path)) is not None]
    if not ready:
        print(line, " not live", flush=True)
        return
    line += f"{min(ready):8.0f}{np.median(ready):8.0f}"
    print(f"{line}   drift {drift(browser, path)}", flush=True)
    for leaf, ms in frames(browser, path, options.frames):
        quantiles = (np.median(ms), np.quantile(ms, 0.99), ms.max())
        print(f"{'':46}   {leaf:12}", *(f"{x:8.1f}" for x in quantiles), flush=True)


if __name__ == "__main__":
    main()
