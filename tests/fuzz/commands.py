"""Fuzz target of the command line: any words end in an answer or in one line that says why not."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import chdir
from functools import cache
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from tests.fuzz.mechanisms import PLANAR
from tests.fuzz.names import name as hostile_name

SYSTEMS = (
    *("pendulum", "planar_2r", "rp", "pendulum", "planar_2r", "rp", "arm.urdf", "follow.urdf"),
    *("particle", "four_bar", "pendulum_constrained", "two_bars", "spherical_pendulum"),
    "straight_line",
    *("nobody", "", "../x", "/etc/passwd", "broken.urdf", "m.toml", "run.nc", ".", "/dev/null"),
)
NUMBERS = ("0", "1", "0.1,0.2", "0.1 0.2", "nan", "inf", "x", "", "1e400", "--", "1,,2", "-1")
PATHS = ("new/a.html", "a.html", ".", "", "/proc/x/y", "run.nc", "b.nc", "b.zarr", "a/b/c.png")
WORDS = ("inverse_dynamics", "mass_matrix", "bias", "pose", "nothing", "", "tool", "M", "g", "C")
OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "zoo": {"--json": ()},
    "info": {"--json": (), "--strict": ()},
    "inverse": {
        **dict.fromkeys(("--q", "--qd", "--qdd", "--tip-wrench"), NUMBERS),
        **{"--formulation": ("newton_euler", "screw", "x"), "--deg": (), "--json": ()},
    },
    "forward": {
        **dict.fromkeys(("--q", "--qd", "--tau", "--tip-wrench"), NUMBERS),
        **{"--formulation": ("articulated_body", "solve", "x"), "--deg": (), "--json": ()},
    },
    "ik": {
        "--target": (*NUMBERS, "1e308,0,0"),
        **{"--frame": (*WORDS, "base"), "--q": NUMBERS, "--out": (*PATHS, "q.csv")},
        **{
            "--csv": ("poses.csv", "arm.urdf", "nowhere.csv", "."),
            "--restarts": ("3", "0", "-1", "x"),
        },
        **{"--tolerance": ("1e-9", "0", "nan", "inf"), "--seed": ("1", "-1", "x")},
        **dict.fromkeys(
            ("--position-only", "--all", "--path", "--no-limits", "--deg", "--json"), ()
        ),
    },
    "matrices": {"--q": NUMBERS, "--frame": (*WORDS, "base"), "--deg": (), "--json": ()},
    "count": {"--quantity": WORDS[1:], "--json": ()},
    "simulate": {
        **dict.fromkeys(("--q", "--qd", "--tau", "--target"), NUMBERS),
        "--controller": ("none", "pd_gravity", "computed_torque", "x"),
        "--method": ("rk4", "DOP853", "variational", "x", ""),
        "--dt": ("0.01", "0", "-1", "nan", "1e-300", "x", "inf"),
        "--save-every": ("1", "0", "1000000"),
        "--restitution": ("0.5", "2", "nan"),
        "--out": PATHS,
        "--checkpoint": ("point", "arm.urdf", ""),
        **{"--deg": (), "--json": (), "--kp": ("nan", "1"), "--kd": ("inf", "1")},
    },
    "mechanism": {
        "--simulate": ("0.02", "0", "-1", "nan", "inf", "x"),
        "--dt": ("0.01", "0", "-1", "nan", "1e-300"),
        "--method": ("rk4", "dop853", "baumgarte", "x"),
        **dict.fromkeys(("--lengths", "--masses", "--phi-start", "--phi-end"), NUMBERS),
        "--delta-t": ("0.02", "0", "-1", "nan", "inf", "x"),
        "--set": ("g=1.6", "g", "=", "g=x", "tool_start=1,0.2", "delta=1e308", "crank=0.2"),
        **{"--json": (), "--equations": ()},
    },
    "equations": {
        "--quantity": WORDS,
        "--simplify": ("fast", "fast", "x"),
        "--timeout": ("1", "0", "-1", "nan"),
        "--out": PATHS,
        **{"--latex": (), "--html": (), "--pdf-ready": ()},
    },
    "export": {
        "--quantity": WORDS,
        "--target": ("c", "cuda", "casadi", "x", ""),
        "--out": PATHS,
        "--dtype": ("float64", "float32", "int8", "x", ""),
        "--layout": ("row", "column", "x"),
        "--formulation": ("newton_euler", "x"),
    },
    "report": {"--out": PATHS, "--robot": ("pendulum", "ur5", "nobody", "four_bar")},
}
EARLY = re.compile(r'^(stalled|diverged): |"status": "(stalled|diverged)"', re.MULTILINE)


def case(rng: np.random.Generator) -> list[str]:
    """The words of one line."""
    command = list(OPTIONS)[int(rng.integers(len(OPTIONS)))]
    words = [command]
    if command != "zoo" or rng.random() < 0.1:
        subject = _pick(SYSTEMS, rng) if rng.random() < 0.95 else hostile_name(rng)
        # a page of a robot compares all formulations, which is for other tests
        words.append("run.nc" if command == "report" and rng.random() < 0.8 else subject)
    if command == "simulate" and rng.random() < 0.95:
        words += ["--duration", _pick(("0.02",) * 6 + ("0", "-1", "nan", "inf", "x"), rng)]
    if command == "ik" and rng.random() < 0.8:
        words += ["--target", _pick(("0.3,0.2,0", "0.3 0.2 0.1 0 0 1", "9,9,9"), rng)]
    if command == "equations":
        words += ["--simplify", "fast", "--timeout", "1"]
    for option, values in OPTIONS[command].items():
        if rng.random() < 0.25:
            words += [option, _pick(values, rng)] if values else [option]
    return words


def outcome(words: list[str]) -> str:
    """ "accepted" for exit code 0, "refused" for a line on stderr and 1 or 2."""
    if words[:1] == ["report"] and words[1:2] and words[1] in ("pendulum", "planar_2r", "rp"):
        words = ["info", words[1]]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        _furnish(Path(folder))
        result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 0:
        return "accepted"
    message = result.stderr.strip()
    if result.exit_code == 1 and not message and EARLY.search(result.stdout):
        return "accepted"  # a run that ended early, which its result says
    if result.exit_code not in (1, 2) or not message or "Traceback" in message:
        return f"exit code {result.exit_code}: {message[-200:]!r}"
    return "refused"


def _pick(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


@cache
def _files() -> dict[str, bytes]:
    """The files in the folder of every case."""
    with tempfile.TemporaryDirectory() as folder:
        run = dl.simulate(dl.load("pendulum"), [0.3], [0.0], duration=0.1, dt=0.02, method="rk4")
        path = Path(folder) / "run.nc"
        run.to_netcdf(path, engine="scipy")
        stored = path.read_bytes()
    arm = dl.load("planar_2r").to_urdf()
    name = dl.load("planar_2r").joints[0].name
    second = dl.load("planar_2r").joints[1].name
    start = arm.index(f'<joint name="{second}"')
    end = arm.index("</joint>", start)
    follow = f'{arm[:end]}<mimic joint="{name}"/>{arm[end:]}'
    return {
        "arm.urdf": arm.encode(),
        "follow.urdf": follow.encode(),
        "broken.urdf": b"<robot name='x'><link",
        "m.toml": PLANAR.encode(),
        "run.nc": stored,
        "poses.csv": b"x,y,z\n0.3,0.2,0\n0.2,0.1,0\n",
    }


def _furnish(folder: Path) -> None:
    for name, data in _files().items():
        (folder / name).write_bytes(data)
    os.environ.setdefault("COLUMNS", "160")
