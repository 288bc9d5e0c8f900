"""A simulation as a page to open
==============================

A simulated swing as a page to open: 3-D view, time slider and linked plots in one file.
"""

import tempfile
from pathlib import Path

import dalembert as dl

robot = dl.load("elbow_3r")
run = dl.simulate(robot, [0.3, 0.8, -0.5], [1.0, 0.0, 0.0], duration=2.0, dt=0.01, progress=False)
page = run.dl.report(Path(tempfile.mkdtemp()) / "swing.html")
print(f"{page.stat().st_size / 1e6:.1f} MB; now open {page}")
assert page.stat().st_size < 3_000_000

figure = run.dl.plot(["q", "energy"])
