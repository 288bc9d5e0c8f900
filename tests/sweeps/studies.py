"""Small studies for the tests, and reductions that other processes find by name."""

import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.control import PDGravity

OVER = {"load": [0.0, 1.0, 2.0], "friction": [0.1, 0.5], "kp": [50.0, 80.0]}
REDUCE = ["peak_torque", "last_state"]


def arm():
    """Two links in the vertical plane, with a payload and viscous friction that are open."""
    load, friction = dl.Parameter("load", 1.0), dl.Parameter("friction", 0.1)
    rod = {"inertia": 0.05 * np.eye(3), "viscous": friction}
    rows = [
        {"a": 0.6, "mass": 4.0, "com": (-0.3, 0, 0), **rod},
        {"a": 0.5, "mass": 2.0 + load, "com": (-0.2, 0, 0), **rod},
    ]
    return dl.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0))


def settings(**more):
    controller = PDGravity(dl.load("planar_2r"), [0.4, 0.5], 60.0, 10.0)
    return {
        "q0": [0.0, 0.1],
        "tau": controller,
        "duration": 0.02,
        "dt": 2e-3,
        "save_every": 5,
        **more,
    }


def counted(run):
    """The largest speed; every call leaves its mark in the file that the environment names."""
    speed = abs(run.qd).max("time")
    with open(os.environ["COUNTED"], "a") as stream:
        stream.write(f"{mark(speed.values)}\n")
    return speed


def fastest_of(run, joint):
    """The largest speed of one joint."""
    return abs(run.qd.isel(joint=joint)).max("time")


def mark(rows):
    """By what the results (runs, joints) of a chunk are known among those of others."""
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


def marks():
    """Marks of all chunks that were computed, in the order in which they were."""
    path = Path(os.environ["COUNTED"])
    return path.read_text().splitlines() if path.exists() else []


def calls():
    return len(marks())


def delayed(run):
    """`counted`, but from the thirtieth call on it waits as long as the file HELD is there."""
    speed = counted(run)
    while calls() >= 30 and os.path.exists(os.environ["HELD"]):
        time.sleep(0.01)
    return speed


def failing(run):
    """`counted`, but it raises at the fourth call."""
    speed = counted(run)
    if calls() == 4:
        raise RuntimeError("the power went off")
    return speed


def interrupted(run):
    """`counted`, but Ctrl-C is pressed at the fourth call."""
    speed = counted(run)
    if calls() == 4:
        signal.raise_signal(signal.SIGINT)
    return speed


def dying(run):
    """`counted`, but the fourth call ends its process as `kill -9` does."""
    speed = counted(run)
    if calls() == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return speed


def same(a, b):
    """Whether two results hold the same bits under the same names."""
    assert set(a.data_vars) == set(b.data_vars) and set(a.coords) == set(b.coords)
    for name in [*a.data_vars, *a.coords]:
        x, y = a[name].values, b[name].values
        equal = x.tolist() == y.tolist() if x.dtype == object else x.tobytes() == y.tobytes()
        assert equal, name
    return True
