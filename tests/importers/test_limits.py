"""Size, depth, count and type of a file are checked before anybody parses it.

What would hang or exhaust memory is a case here; a defect shows as a test that does not end.
"""

import os
from pathlib import Path

import pytest

import dalembert as dl
from dalembert.cli.simulate import read_study
from dalembert.errors import (
    IdentificationError,
    ImportFileError,
    ParameterError,
    TrajectoryError,
)
from dalembert.mechanisms.file import MAX_PARTS, read_mechanism
from dalembert.report.runs import open_run
from dalembert.sweeps.store import is_study
from dalembert.systems.robot import Robot
from tests.importers.test_bad_files import mass

BODY = '<body><joint/><geom size=".1"/></body>'


def mjcf(world: str = BODY, before: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{world}</worldbody></mujoco>"


@pytest.mark.parametrize("text", ["1" * 40_000 + "x", "1" * 10_000_000, "." * 40_000, "1e" * 9999])
def test_long_numbers_take_no_time(text):
    with pytest.raises(ImportFileError, match="no number needs them"):
        Robot.from_urdf(mass(text))


def test_numbers_of_a_thousand_characters_are_matched_in_one_way_only():
    with pytest.raises(ImportFileError, match="is not a number"):
        Robot.from_urdf(mass("1" * 999 + "x"))
    assert Robot.from_urdf(mass("2." + "0" * 900)).nv == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("ending", ["toml", "nc", "zarr", "xml", "urdf"])
def test_pipes_are_not_waited_for(tmp_path, ending):
    path = tmp_path / f"pipe.{ending}"
    os.mkfifo(path)
    read = {"toml": read_mechanism, "nc": open_run, "zarr": open_run}.get(ending, dl.load)
    with pytest.raises((ImportFileError, ParameterError), match=r"not a file|neither a file"):
        read(path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs devices")
@pytest.mark.parametrize("read", [read_mechanism, open_run, dl.load, Robot.from_mjcf])
def test_devices_are_not_read(read):
    with pytest.raises((ImportFileError, ParameterError), match=r"not a file|neither a file"):
        read(Path("/dev/zero"))


def read_pendulum_log(path):
    return dl.read_log(path, dl.load("pendulum"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "nc", "zarr", "parquet"])
def test_logs_and_fits_that_are_pipes_are_not_waited_for(tmp_path, ending):
    path = tmp_path / f"pipe.{ending}"
    os.mkfifo(path)
    with pytest.raises(TrajectoryError, match="cannot be read: it is not a regular file"):
        read_pendulum_log(path)
    if ending == "npz":
        with pytest.raises(IdentificationError, match="it is not a regular file"):
            dl.refit(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_study_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(ImportFileError, match="not a file"):
        read_study(tmp_path / "study.toml")
    os.mkfifo(tmp_path / ".zattrs")
    assert not is_study(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs devices")
def test_a_log_that_is_a_device_is_not_read():
    with pytest.raises(TrajectoryError, match="cannot be read: it is not a regular file"):
        read_pendulum_log(Path("/dev/zero"))


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs pipes by number")
def test_a_log_may_come_through_a_pipe_of_the_shell():
    reading, writing = os.pipe()
    os.write(writing, b"time,q1,tau1\n" + b"".join(b"%g,0.1,1\n" % (0.01 * k) for k in range(60)))
    os.close(writing)
    try:
        assert read_pendulum_log(f"/dev/fd/{reading}").sizes["time"] == 60
    finally:
        os.close(reading)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_mujoco_is_not_sent_to_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.stl")
    asset, geom = '<asset><mesh name="a" file="a.stl"/></asset>', '<geom type="mesh" mesh="a"/>'
    (tmp_path / "m.xml").write_text(mjcf(BODY.replace("</body>", f"{geom}</body>"), asset))
    with pytest.raises(ImportFileError, match="is no file, or too large"):
        Robot.from_mjcf(tmp_path / "m.xml")


BILLION = "1000000000"
COPIES = (
    mjcf(f'<replicate count="{BILLION}">{BODY}</replicate>'),
    mjcf(f'<replicate count="1e9">{BODY}</replicate>'),
    mjcf('<replicate count="100"><replicate count="100">' + BODY + "</replicate></replicate>"),
    mjcf(f'<replicate count="2000">{BODY * 60}</replicate>'),
    mjcf(f'<flexcomp name="f" type="grid" count="{BILLION} 1 1"/>'),
    mjcf('<flexcomp name="f" type="grid" count="1000 1000 1000"/>'),
    mjcf(f'<composite type="cable" count="{BILLION} 1 1"/>'),
    mjcf(before=f'<asset><hfield name="h" nrow="{BILLION}" ncol="2" size="1 1 1 1"/></asset>'),
    mjcf(before=f'<custom><numeric name="n" size="{BILLION}"/></custom>'),
    mjcf(before=f'<size nuser_geom="{BILLION}"/>'),
    mjcf(before=f'<size nuserdata="{BILLION}"/>'),
    mjcf(before=f'<size memory="{BILLION}"/>'),
)


@pytest.mark.parametrize("text", COPIES)
def test_counts_are_bounded_before_mujoco_sees_them(text):
    with pytest.raises(ImportFileError, match=r"copies|more than a robot needs"):
        Robot.from_mjcf(text)


def test_a_texture_of_any_size_is_left_out():
    picture = f'<asset><texture name="t" builtin="flat" width="{BILLION}" height="9"/></asset>'
    assert "texture (1)" in Robot.from_mjcf(mjcf(before=picture)).notes.ignored


def test_copies_multiply_through_includes(tmp_path):
    (tmp_path / "inner.xml").write_text(
        f'<mujoco><replicate count="100">{BODY}</replicate></mujoco>'
    )
    main = '<replicate count="100"><include file="inner.xml"/></replicate>'
    (tmp_path / "main.xml").write_text(mjcf(main))
    with pytest.raises(ImportFileError, match="makes more than 2000 copies"):
        Robot.from_mjcf(tmp_path / "main.xml")


TOML = {
    "a deep key": (".".join(["a"] * 50_000) + " = 1\n", "a key of more than 64 parts"),
    "a deep header": ("[" + ".".join(["a"] * 50_000) + "]\n", "a key of more than 64 parts"),
    "a deep key inside": ("x = {" + ".".join(["a"] * 50_000) + "=1}\n", "a key of more than 64"),
    "deep arrays": ("a = " + "[" * 5000 + "]" * 5000 + "\n", "nested too deeply"),
    "deep tables": ("a = " + "{b=" * 5000 + "1" + "}" * 5000 + "\n", "nested too deeply"),
    "a long number": ("gravity = " + "1" * 9000 + "\n", "no TOML"),
    "a long text": ("# " + "x" * 2**20 + "\n", "the limit is"),
    "many bodies": ("[[body]]\n" * (MAX_PARTS + 1), "the limit is 5,000"),
}


@pytest.mark.parametrize("name", TOML)
def test_mechanisms_are_bounded_before_they_are_parsed(name):
    text, message = TOML[name]
    with pytest.raises(ImportFileError, match=message):
        read_mechanism(text)


def test_a_large_mechanism_file_is_not_read(tmp_path):
    path = tmp_path / "m.toml"
    with path.open("wb") as stream:
        stream.truncate(100 * 2**20)
    with pytest.raises(ImportFileError, match="the limit is 1 MB"):
        read_mechanism(path)
