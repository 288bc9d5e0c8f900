"""Files that are wrong or hostile: a typed error that says where, in bounded time and memory."""

import os
import sys
import time
import tracemalloc

import pytest

from dalembert.errors import DalembertError, ImportFileError
from dalembert.importers.safe_parsing import MAX_BYTES
from dalembert.systems.robot import Robot
from tests.importers.test_urdf import INERTIAL, joint, link

BASE = '<link name="base"/>\n'
BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE robot [\n<!ENTITY a "aaaaaaaaaa">\n'
    '<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">\n]>\n<robot name="&b;"/>'
)


def wrapped(*parts: str) -> str:
    return '<robot name="r">\n' + "".join(parts) + "</robot>"


def mass(value: str) -> str:
    return wrapped(BASE, link("a", INERTIAL.replace('"2"', f'"{value}"')), joint("j", "base", "a"))


BAD = {
    "empty": ("   \n", "empty"),
    "not closed": ('<robot name="r">\n<link name="a">', "line 2.*not valid XML"),
    "two roots of XML": ("<robot/>\n<robot/>", "line 2"),
    "prose": ("Dear robot,\nplease move", "line 1.*not valid XML"),
    "entity bomb": (BOMB, "line 3: entity declarations"),
    "external entity": (
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        "entity",
    ),
    "external DTD": ('<!DOCTYPE robot SYSTEM "http://x.org/a.dtd"><robot/>', "another file"),
    "parameter entity": (
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "http://x.org/p"> %p;]><robot/>',
        "entity",
    ),
    "web page": ("<!DOCTYPE html>\n<html><body><br></body></html>", "web page"),
    "web page, closed": ("<html><body/></html>", "web page"),
    "web page, sloppy": ("<html>\n<body><p>hi<br></body></html>", "web page"),
    "other XML": ("<sdf version='1'/>", "this is SDF"),
    "MJCF": ("<mujoco/>", "use from_mjcf"),
    "deep nesting": ("<robot>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>", "nested more than 256"),
    "many elements": ("<robot>" + "<a/>" * 250_000 + "</robot>", "more than 200000 elements"),
    "xacro": (
        '<robot xmlns:xacro="x">\n<xacro:property name="a" value="1"/></robot>',
        "line 2: .*xacro robot\\.urdf\\.xacro > robot\\.urdf ",
    ),
    "xacro number": (mass("${m}"), "expand the file with xacro"),
    "no links": ("<robot name='r'/>", "no <link>"),
    "no name": (wrapped("<link/>"), "line 2: a link: <link> needs the attribute 'name'"),
    "two roots": (wrapped(BASE, link("a"), link("b")), "3 links hang on no joint"),
    "cycle": (
        wrapped(BASE, link("a"), link("b"), joint("j", "a", "b"), "\n", joint("k", "b", "a")),
        "cycle that never reaches the root",
    ),
    "cycle of all": (
        wrapped(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
        "no link is the root",
    ),
    "unknown parent": (wrapped(BASE, link("a"), joint("j", "bse", "a")), "parent 'bse' is no link"),
    "two parents": (
        wrapped(BASE, link("a"), joint("j", "base", "a"), joint("k", "base", "a")),
        "hangs on two joints",
    ),
    "duplicate links": (wrapped(BASE, BASE), "line 3: two links are called 'base'"),
    "duplicate joints": (
        wrapped(BASE, link("a"), link("b"), joint("j", "base", "a"), joint("j", "base", "b")),
        "two joints are called 'j'",
    ),
    "unknown kind": (wrapped(BASE, link("a"), joint("j", "base", "a", "hinge")), "URDF has revol"),
    "no parent": (
        wrapped(BASE, '<joint name="j" type="fixed"><child link="base"/></joint>'),
        "needs a <parent",
    ),
    "zero axis": (
        wrapped(BASE, link("a"), joint("j", "base", "a", inside='<axis xyz="0 0 0"/>')),
        "the axis is zero",
    ),
    "two numbers": (
        wrapped(BASE, link("a"), joint("j", "base", "a", inside='<axis xyz="0 1"/>')),
        "must be 3 numbers",
    ),
    "self mimic": (
        wrapped(BASE, link("a"), joint("j", "base", "a", inside='<mimic joint="j"/>')),
        "mimics itself",
    ),
    "mimic of a floating joint": (
        wrapped(
            BASE,
            link("a"),
            link("b"),
            joint("j", "base", "a", "floating"),
            joint("k", "a", "b", inside='<mimic joint="j"/>'),
        ),
        "several degrees",
    ),
    "negative damping": (
        wrapped(BASE, link("a"), joint("j", "base", "a", inside='<dynamics damping="-1"/>')),
        "damping -1 is negative",
    ),
    "negative mass": (mass("-1"), "mass -1 kg is negative"),
    "not a number": (mass("nan"), "'nan' is not a number"),
    "infinite": (mass("inf"), "'inf' is not a number"),
    "overflowing": (mass("1e999"), "too large for a number"),
    "absurd": (mass("1e300"), "larger than 1e12"),
    "hexadecimal": (mass("0x10"), "not a number"),
    "underscore": (mass("1_000"), "not a number"),
    "other digits": (mass("١٢"), "not a number"),
    "text": (mass("heavy"), "'heavy' is not a number"),
    "long chain": (
        wrapped(
            *(link(f"l{i}", "") for i in range(5000)),
            *(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(4999)),
        ),
        "5000 links; the limit is 2000",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_text_is_a_typed_error_in_time(name):
    text, message = BAD[name]
    start = time.process_time()
    with pytest.raises(ImportFileError, match=message) as caught:
        Robot.from_urdf(text)
    assert time.process_time() - start < 3.0
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["not closed", "unknown parent", "negative mass", "deep nesting"])
def test_the_error_knows_file_and_line(tmp_path, name):
    path = tmp_path / "arm.urdf"
    path.write_text(BAD[name][0])
    with pytest.raises(ImportFileError, match=r"^arm\.urdf, line \d+: ") as caught:
        Robot.from_urdf(path)
    assert caught.value.file == "arm.urdf" and caught.value.line >= 1
    assert isinstance(caught.value, DalembertError) and isinstance(caught.value, ValueError)


def test_invalid_utf8(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_bytes(b'<robot name="\xff\xfe\xfd"/>')
    with pytest.raises(ImportFileError, match="not valid XML"):
        Robot.from_urdf(path)
    with pytest.raises(ImportFileError, match="not valid XML"):
        Robot.from_urdf('<robot name="\udc80"/>')


def test_unknown_encoding():
    with pytest.raises(ImportFileError, match=r"not valid XML|encoding"):
        Robot.from_urdf(b'<?xml version="1.0" encoding="klingon"?><robot/>')


def test_a_hundred_megabytes_are_not_read(tmp_path):
    path = tmp_path / "huge.urdf"
    with path.open("wb") as stream:
        stream.write(b"<robot>")
        stream.truncate(100 * 2**20)  # a hole: no such disk is needed
    tracemalloc.start()
    try:
        with pytest.raises(ImportFileError, match="100 MB is more than a robot needs"):
            Robot.from_urdf(path)
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_BYTES
    finally:
        tracemalloc.stop()
    with pytest.raises(ImportFileError, match="the limit is 16 MB"):
        Robot.from_urdf("<robot>" + " " * MAX_BYTES + "</robot>")


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(ImportFileError, match="cannot be read"):
        Robot.from_urdf(tmp_path / "missing.urdf")
    with pytest.raises(ImportFileError, match="not a file"):
        Robot.from_urdf(tmp_path)
    with pytest.raises(ImportFileError, match="cannot be read"):
        Robot.from_urdf("a\0b.urdf")
    with pytest.raises(ImportFileError, match="give a path or XML text, not int"):
        Robot.from_urdf(3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(ImportFileError, match="not a file"):
        Robot.from_urdf(tmp_path / "pipe.urdf")


def test_no_other_file_is_opened(tmp_path):
    """Reading a robot opens its file once, and nothing else."""
    path = tmp_path / "arm.urdf"
    mesh = '<visual><geometry><mesh filename="meshes/a.stl"/></geometry></visual>'
    path.write_text(wrapped(link("base", mesh), link("a"), joint("j", "base", "a")))
    Robot.from_urdf(path)
    opened, watching = [], [True]  # a hook stays for the life of the process: it must be idle later

    def hook(event, args):
        if watching and event in ("open", "socket.connect", "subprocess.Popen"):
            opened.append(str(args[0]))

    sys.addaudithook(hook)
    Robot.from_urdf(path)
    watching.clear()
    assert opened == [str(path)]
