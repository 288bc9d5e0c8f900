"""Runs that are cut short: killed and gone on with, interrupted, out of disk, of another version."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import dalembert as dl
from dalembert.simulation.fixed_step import FixedRun

RUN = """
import sys
import numpy as np
import dalembert as dl

folder, method, out = sys.argv[1:4]
robot = dl.load("puma560")
run = dl.simulate(
    robot, [0.0, 0.3, 0.2, 0.1, 0.4, 0.5], np.full(6, 0.3), [5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    duration=float(sys.argv[4]), dt=1e-3, save_every=10, method=method, checkpoint=folder,
)
np.savez(out, t=run.time, q=run.q, qd=run.qd, work=run.work, dissipated=run.dissipated)
"""


def start(tmp_path: Path, folder: str, method: str, out: str, seconds: float) -> subprocess.Popen:
    source = Path(dl.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", RUN, folder, method, out, str(seconds)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        stderr=subprocess.PIPE,
    )


def wait_for(condition, process: subprocess.Popen) -> None:
    """However long the process takes, as long as it runs."""
    while not condition():
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("method", "seconds"), [("rk4", 60.0), ("variational", 60.0), ("DOP853", 20.0)]
)
def test_kill_and_resume_gives_the_same_bits(tmp_path: Path, method: str, seconds: float) -> None:
    process = start(tmp_path, "cut", method, "never.npz", seconds)
    wait_for(lambda: len(list((tmp_path / "cut").glob("*.npz"))) >= 3, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    chunks = len(list((tmp_path / "cut").glob("*.npz")))
    assert chunks < 20 and not (tmp_path / "never.npz").exists()
    for folder, out in (("cut", "resumed.npz"), ("whole", "straight.npz")):
        finished = start(tmp_path, folder, method, out, seconds)
        _, error = finished.communicate(timeout=300)
        assert finished.returncode == 0, error.decode()
    with np.load(tmp_path / "resumed.npz") as resumed, np.load(tmp_path / "straight.npz") as whole:
        for name in whole.files:
            np.testing.assert_array_equal(resumed[name], whole[name], err_msg=name)


def test_ctrl_c_keeps_what_was_computed(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from dalembert.cli import main; main()",
        "simulate",
        "puma560",
    ]
    command += ["--duration", "5000", "--method", "rk4", "--q", "0 0.3 0.2 0.1 0.4 0.5"]
    command += ["--save-every", "100", "--out", "run.nc", "--checkpoint", "chunks", "--json"]
    source = Path(dl.__file__).parents[1]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a job in the background inherits that it ignores Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for((tmp_path / "chunks" / "000000.npz").exists, process)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 130, error.decode()
    facts = json.loads(out)
    assert facts["status"] == "interrupted"
    assert "SimulationWarning" not in error.decode()  # how it ended is said once, in words
    with xarray.open_dataset(tmp_path / "run.nc") as run:
        assert run.attrs["status"] == "interrupted"
        assert run.sizes["time"] > 1
        assert float(run.time[-1]) == pytest.approx(facts["seconds"])
        assert np.isfinite(run.q).all()


class Presses:
    """Presses Ctrl-C while it is destroyed, where Python cannot raise."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_loses_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    advance, before = FixedRun.advance, signal.getsignal(signal.SIGINT)

    def pressed(self, state, index):
        if index == 3:
            Presses()
        return advance(self, state, index)

    monkeypatch.setattr(FixedRun, "advance", pressed)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(dl.SimulationWarning, match="interrupted after t = 0.04 s"):
            run = dl.simulate(
                dl.load("pendulum"), [0.1], [0.0], duration=0.1, dt=0.01, method="rk4"
            )
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.attrs["status"] == "interrupted"
    assert run.sizes["time"] == len(run.q) == 5


def test_a_batch_resumes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = dl.load("planar_2r")
    q0 = np.random.default_rng(0).normal(size=(1100, 2))
    options = {"duration": 0.4, "dt": 1e-3, "save_every": 10}
    whole = dl.simulate(robot, q0, np.ones(2), np.array([0.1, 0.2]), **options)
    calls = 0
    advance = FixedRun.advance

    def interrupted(self, state, index):
        nonlocal calls
        calls += 1
        if calls == 18:
            raise KeyboardInterrupt
        return advance(self, state, index)

    monkeypatch.setattr(FixedRun, "advance", interrupted)
    with pytest.warns(dl.SimulationWarning, match="interrupted after t = 0.17"):
        part = dl.simulate(
            robot, q0, np.ones(2), np.array([0.1, 0.2]), checkpoint=tmp_path / "c", **options
        )
    assert part.sizes["time"] == 18 and part.attrs["status"] == "interrupted"
    monkeypatch.undo()
    rest = dl.simulate(
        robot, q0, np.ones(2), np.array([0.1, 0.2]), checkpoint=tmp_path / "c", **options
    )
    np.testing.assert_array_equal(rest.q, whole.q)
    np.testing.assert_array_equal(rest.work, whole.work)


def test_checkpoints_of_another_run_are_refused(tmp_path: Path) -> None:
    robot = dl.load("pendulum")
    dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01, checkpoint=tmp_path)
    with pytest.raises(dl.SimulationError, match="another run: method was 'DOP853', now 'rk4'"):
        dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01, method="rk4", checkpoint=tmp_path)
    with pytest.raises(dl.SimulationError, match="another run: start"):
        dl.simulate(robot, [0.2], [0.0], duration=0.2, dt=0.01, checkpoint=tmp_path)
    with pytest.raises(dl.SimulationError, match="another run: torques"):
        dl.simulate(robot, [0.1], [0.0], [1.0], duration=0.2, dt=0.01, checkpoint=tmp_path)


def test_checkpoints_of_another_version_are_refused(tmp_path: Path) -> None:
    robot = dl.load("pendulum")
    dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01, checkpoint=tmp_path)
    header = tmp_path / "run.json"
    stored = json.loads(header.read_text())
    header.write_text(json.dumps({**stored, "dalembert_version": "0.0.1"}))
    with pytest.raises(dl.SimulationError, match=r"dalembert_version was '0\.0\.1'"):
        dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01, checkpoint=tmp_path)
    header.write_text("not json")
    with pytest.raises(dl.SimulationError, match="not a checkpoint"):
        dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01, checkpoint=tmp_path)


def test_a_checkpoint_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(dl.SimulationError, match="cannot be used"):
        dl.simulate(dl.load("pendulum"), [0.1], duration=0.2, checkpoint=tmp_path / "file" / "c")


def test_a_full_disk_loses_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = dl.load("pendulum")
    whole = dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01)

    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(dl.SimulationWarning, match="No space left"):
        run = dl.simulate(robot, [0.1], [0.0], duration=0.2, dt=0.01, checkpoint=tmp_path)
    np.testing.assert_array_equal(run.q, whole.q)
    assert not list(tmp_path.glob("*.part"))


# what shapes the numbers is what a checkpoint is known by


def resumed(folder: Path, system: object, *start: object, **options: object) -> None:
    dl.simulate(system, *start, **{"duration": 0.2, "dt": 0.01, "checkpoint": folder, **options})


def test_another_model_inside_the_controller_is_refused(tmp_path: Path) -> None:
    robot, loaded = dl.load("pendulum"), dl.load("pendulum", m=2.0)
    first, second = (dl.control.PDGravity(x, [1.0], kp=10.0, kd=2.0) for x in (robot, loaded))
    resumed(tmp_path, robot, [0.1], [0.0], first)
    resumed(tmp_path, robot, [0.1], [0.0], first)
    with pytest.raises(dl.SimulationError, match="another run: law"):
        resumed(tmp_path, robot, [0.1], [0.0], second)


def test_another_until_is_refused(tmp_path: Path) -> None:
    robot = dl.load("pendulum")
    resumed(tmp_path, robot, [0.1], [0.0], until=lambda t, q, qd: q[0] + 5.0)
    resumed(tmp_path, robot, [0.1], [0.0], until=lambda t, q, qd: q[0] + 5.0)
    with pytest.raises(dl.SimulationError, match="another run: until"):
        resumed(tmp_path, robot, [0.1], [0.0], until=lambda t, q, qd: q[0] + 6.0)


def test_another_torque_function_is_refused(tmp_path: Path) -> None:
    def spring(k: float):
        return lambda t, q, qd: -k * q

    robot = dl.load("pendulum")
    resumed(tmp_path, robot, [0.1], [0.0], spring(1.0))
    resumed(tmp_path, robot, [0.1], [0.0], spring(1.0))
    with pytest.raises(dl.SimulationError, match="another run: torques"):
        resumed(tmp_path, robot, [0.1], [0.0], spring(2.0))


def test_exchanged_and_altered_chunks_are_refused(tmp_path: Path) -> None:
    robot = dl.load("pendulum")
    resumed(tmp_path, robot, [0.1], [0.0], method="rk4")
    first, second = tmp_path / "000000.npz", tmp_path / "000001.npz"
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    with pytest.raises(dl.SimulationError, match=r"000000\.npz is not what this run has written"):
        resumed(tmp_path, robot, [0.1], [0.0], method="rk4")
    first.write_bytes(contents[0])
    with np.load(first) as stored:
        arrays = dict(stored)
    arrays["x"] = arrays["x"] * (1.0 + 1e-15)
    np.savez(second, **arrays)
    with pytest.raises(dl.SimulationError, match=r"000001\.npz is not what this run has written"):
        resumed(tmp_path, robot, [0.1], [0.0], method="rk4")


DAMAGES = ["truncated", "zeroed", "empty", "text", "packed in another way", "locked", "unsealed"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_chunks_are_named(tmp_path: Path, damage: str) -> None:
    robot = dl.load("pendulum")
    resumed(tmp_path, robot, [0.1], [0.0])
    chunk = tmp_path / "000003.npz"
    whole = chunk.read_bytes()
    damaged = {"truncated": whole[: len(whole) // 2], "zeroed": bytes(len(whole)), "empty": b""}
    damaged |= {"text": b"not a chunk"}
    # in the list of entries at the end of the archive: flags and method of the first one
    at = whole.index(b"PK\x01\x02")
    damaged["locked"] = whole[: at + 8] + b"\x01" + whole[at + 9 :]
    damaged["packed in another way"] = whole[: at + 10] + b"\x63" + whole[at + 11 :]
    if damage == "unsealed":
        np.savez(chunk, x=np.zeros(3))
    else:
        chunk.write_bytes(damaged[damage])
    with pytest.raises(dl.SimulationError, match=r"000003\.npz"):
        resumed(tmp_path, robot, [0.1], [0.0])


@pytest.mark.parametrize("text", [b"[]", b"3", b"\xff\xfe", b"", b"{}"])
def test_damaged_headers_are_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(dl.SimulationError, match="checkpoint"):
        resumed(tmp_path, dl.load("pendulum"), [0.1], [0.0])
