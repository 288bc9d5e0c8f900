"""Slips of files in use: read as the readers of others take them, with a warning that says so."""

import shlex

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ImportFileError
from dalembert.systems.robot import Robot
from tests.importers.test_urdf import INERTIAL, chain, joint, link, robot

CLIMBING = (
    "../../../etc/x.stl",
    "package://a/../../../etc/x.stl",
    "..%2F..\\..%2Fetc/x",
    "file:///etc/passwd",
    "http://example.org/a.stl",
    "$(find arm)/a.stl",
)


def test_a_mesh_that_is_never_opened_may_point_anywhere():
    meshes = "".join(
        f'<visual><geometry><mesh filename="{x}"/></geometry></visual>' for x in CLIMBING
    )
    loaded = robot(link("base", meshes), link("a"), joint("j", "base", "a"))
    assert tuple(mesh.filename for mesh in loaded.notes.meshes) == CLIMBING
    assert loaded.notes.warnings == ()


def test_an_undeclared_world_is_implied():
    loaded = robot(link("a"), joint("j", "world", "a"))
    declared = robot(link("world", ""), link("a"), joint("j", "world", "a"))
    assert loaded.frames == declared.frames and "world" in loaded.frames
    np.testing.assert_array_equal(loaded.mass_matrix([0.3]), declared.mass_matrix([0.3]))
    assert loaded.notes.warnings == ("line 1: joint 'j': its parent 'world' is implied",)
    with pytest.raises(ImportFileError, match="parent 'earth' is no link"):
        robot(link("a"), joint("j", "earth", "a"))


@pytest.mark.parametrize(
    ("inertial", "lacks", "mass"),
    [
        (INERTIAL.replace('<mass value="2"/>', ""), "<mass value=…>", 0.0),
        (INERTIAL.replace(' value="2"', ""), "<mass value=…>", 0.0),
        ('<inertial><mass value="2"/></inertial>', "<inertia ixx=… …>", 2.0),
        ('<inertial><mass value="2"/><inertia ixx="1" iyy="1"/></inertial>', "ixy, ixz", 2.0),
    ],
)
def test_a_missing_mass_or_tensor_is_zero_and_said(inertial, lacks, mass):
    loaded = robot(link("base", ""), link("a", inertial), joint("j", "base", "a"))
    assert loaded.model.bodies[0].mass == mass
    assert any(f"has no {lacks}" in text and "taken as 0" in text for text in loaded.notes.warnings)


@pytest.mark.parametrize("tag", ["axis", "origin"])
def test_of_two_parts_the_first_counts(tag):
    first, second = f'<{tag} xyz="0 1 0"/>', f'<{tag} xyz="0 0 1"/>'
    loaded, alone = chain("continuous", first + second), chain("continuous", first)
    np.testing.assert_array_equal(loaded.pose([0.4]), alone.pose([0.4]))
    warning = f"line 1: joint 'j': a second <{tag}> is ignored; the first counts"
    assert loaded.notes.warnings == (warning,)


def test_infinite_limits_are_none():
    limit = '<limit lower="-inf" upper="Infinity" effort="inf" velocity="+inf"/>'
    loaded = chain("revolute", limit, strict=True).joints[0]
    assert loaded.upper[0] == np.inf and loaded.lower[0] == -np.inf
    assert not np.isfinite(loaded.effort_limit or np.inf)


@pytest.mark.parametrize("word", ["-1.57.", "", "nan", "1e999"])
def test_a_limit_that_is_no_number_is_none_and_said(word):
    loaded = chain("revolute", f'<limit lower="-1" upper="{word}" effort="{word}" velocity="2"/>')
    assert loaded.joints[0].upper[0] == np.inf and loaded.joints[0].lower[0] == -1.0
    assert sum("taken as unlimited" in text for text in loaded.notes.warnings) == 2


@pytest.mark.parametrize("kind", ["spherical", "ball"])
def test_a_ball_joint_of_other_readers(kind):
    assert [j.kind for j in chain(kind, '<axis xyz="0 0 0"/>').joints] == ["spherical"]


def test_dashes_in_comments_and_space_before_the_declaration():
    parts = link("base", ""), link("a"), joint("j", "base", "a")
    text = (
        f'\n\n<?xml version="1.0"?>\n<!-- -- a\n--- -->\n<robot name="r">{"".join(parts)}</robot>'
    )
    assert Robot.from_urdf(text, strict=True).nv == 1
    assert Robot.from_urdf(text + "\r\n\0", strict=True).nv == 1
    with pytest.raises(ImportFileError, match="line 6: two links"):
        Robot.from_urdf(text.replace('"a"', '"base"'))


def test_a_macro_among_three_numbers_is_told_from_a_mistake():
    with pytest.raises(ImportFileError, match="must be 3 numbers; expand the file with xacro"):
        chain(inside='<origin xyz="$(optenv IMU_XYZ 0.19 0 0.149)"/>')


def test_many_open_comments_take_linear_time():
    with pytest.raises(ImportFileError, match="not valid XML"):
        Robot.from_urdf("<robot>" + "<!-- -- " * 1_000_000)


@pytest.mark.parametrize(
    ("file", "expanded"),
    [
        ("arm.urdf", "arm_expanded.urdf"),
        ("arm.urdf.xacro", "arm.urdf"),
        ("arm.xacro", "arm_expanded.urdf"),
        ("arm.xacro.urdf", "arm.xacro_expanded.urdf"),
        ("an arm.urdf", "an arm_expanded.urdf"),
    ],
)
def test_expanding_macros_never_empties_the_file(tmp_path, file, expanded):
    path = tmp_path / file
    path.write_text('<robot xmlns:xacro="x"><xacro:property name="a" value="1"/></robot>')
    with pytest.raises(ImportFileError) as caught:
        dl.load(path)
    command = str(caught.value).partition("first: ")[2].partition(" (pip")[0]
    assert shlex.split(command) == ["xacro", file, ">", expanded]
