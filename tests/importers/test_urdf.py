"""Elements of URDF, one at a time, against their meaning."""

import numpy as np
import pytest

from dalembert.errors import (
    DalembertError,
    ImportFileError,
    ModelError,
    ShapeError,
    UnknownNameError,
)
from dalembert.importers.urdf_links_and_joints import quarter_turn
from dalembert.spatial.rotations import rotation_from_rpy
from dalembert.systems.robot import Robot
from dalembert.zoo import load

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>'
)


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "continuous", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def robot(*parts: str, **options) -> Robot:
    return Robot.from_urdf(f'<robot name="r">{"".join(parts)}</robot>', **options)


def chain(kind: str = "continuous", inside: str = "", **options) -> Robot:
    """One moving link on a base."""
    return robot(link("base", ""), link("a"), joint("j", "base", "a", kind, inside), **options)


def test_the_inertial_frame_may_be_turned():
    """The tensor is along the axes of the inertial origin: R I Rᵀ in the link."""
    turned = INERTIAL.replace('xyz="0.1 0 0"', 'xyz="0.1 0.2 0" rpy="0.3 -0.4 0.5"')
    loaded = robot(
        link("base", ""), link("a", turned), joint("j", "base", "a", "floating")
    ).model.bodies[0]
    R = rotation_from_rpy([0.3, -0.4, 0.5])
    I = np.array([[0.1, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.25]])
    # the model holds moments about the link's origin: centre and tensor come back to rounding
    np.testing.assert_allclose(loaded.inertia_about_center, R @ I @ R.T, rtol=0, atol=1e-16)
    np.testing.assert_allclose(loaded.center, [0.1, 0.2, 0], rtol=1e-15)


@pytest.mark.parametrize(
    ("kind", "ours", "nq"),
    [
        ("revolute", "revolute", 1),
        ("continuous", "continuous", 1),
        ("prismatic", "prismatic", 1),
        ("planar", "planar", 3),
        ("floating", "free", 7),
    ],
)
def test_every_joint_kind(kind, ours, nq):
    loaded = chain(kind, '<limit lower="-1" upper="2" effort="3" velocity="4"/>')
    assert [j.kind for j in loaded.joints] == [ours] and loaded.nq == nq
    info = loaded.joints[0]
    assert info.effort_limit == 3 and info.velocity_limit == 4
    assert info.upper[0] == (2 if kind in ("revolute", "prismatic") else np.inf)


def test_planar_joint_slides_across_its_axis_and_turns_about_it():
    loaded = chain("planar", '<axis xyz="0 1 0"/>')
    moved = loaded.reference("pose", [0.3, 0.4, 0.5])
    assert moved[1, 3] == 0.0 and np.isclose(np.hypot(moved[0, 3], moved[2, 3]), 0.5)
    np.testing.assert_allclose(moved[:3, :3], rotation_from_rpy([0, 0.5, 0]), atol=1e-15)


def test_the_default_axis_is_x():
    q = 0.7
    np.testing.assert_allclose(
        chain().reference("pose", [q])[:3, :3], rotation_from_rpy([q, 0, 0]), atol=1e-15
    )


def test_an_axis_without_a_direction_is_said():
    """Others read it as zero."""
    loaded = chain("continuous", "<axis/>")
    assert any("<axis> has no xyz" in text for text in loaded.notes.warnings)
    assert not chain().notes.warnings


def test_dynamics_and_rotor_of_a_transmission():
    loaded = robot(
        link("base", ""),
        link("a"),
        joint("j", "base", "a", inside='<dynamics damping="0.5" friction="0.25"/>'),
        '<transmission name="t"><joint name="j"/><actuator name="m">'
        "<mechanicalReduction>100</mechanicalReduction><motorInertia>1e-4</motorInertia>"
        "</actuator></transmission>",
    )
    drive = loaded.model.drive
    assert drive.viscous == [0.5] and drive.coulomb_positive == [0.25] == -drive.coulomb_negative
    np.testing.assert_allclose(drive.rotor, [1.0])


def test_fixed_links_are_merged_and_stay_frames():
    """A load on a fixed joint counts as if it were part of the link that carries it."""
    zero = " ".join(f'{key}="0"' for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    lone = f'<inertial><mass value="1"/><inertia {zero}/></inertial>'
    loaded = robot(
        link("base", ""),
        link("a", ""),
        link("load", lone),
        joint("j", "base", "a"),
        joint("f", "a", "load", "fixed", '<origin xyz="0 0 2"/>'),
    )
    assert loaded.reference("mass_matrix", [0.4]) == pytest.approx(4.0)
    assert loaded.notes.merged == ("load into a",)
    assert loaded.notes.warnings == ()
    np.testing.assert_allclose(loaded.reference("pose", [0.0], frame="load")[:3, 3], [0, 0, 2])


def test_coordinates_come_depth_first_in_document_order():
    loaded = robot(
        *(link(name) for name in ("base", "z1", "z2", "a1")),
        joint("to_z1", "base", "z1"),
        joint("to_a1", "base", "a1"),
        joint("to_z2", "z1", "z2"),
    )
    assert [j.name for j in loaded.joints] == ["to_z1", "to_z2", "to_a1"]


def test_base_free_adds_a_body_twist():
    loaded = chain(base="free")
    assert [j.kind for j in loaded.joints] == ["free", "continuous"] and loaded.nv == 7
    with pytest.raises(ModelError, match="'fixed' or 'free'"):
        chain(base="loose")


def test_held_joints_and_the_posture_they_are_held_at():
    parts = (
        *(link(name) for name in ("base", "a", "b", "c")),
        joint("j1", "base", "a"),
        joint("j2", "a", "b", inside='<origin xyz="0 0 1"/><axis xyz="0 1 0"/>'),
        joint("j3", "b", "c", "prismatic", '<limit lower="0" upper="1"/>'),
    )
    whole = robot(*parts)
    part = robot(*parts, joints=["j2"], posture={"j1": 0.3, "j3": 0.2})
    assert part.nv == 1 and part.notes.locked == ("j1", "j3")
    q = np.array([0.3, -0.8, 0.2])
    M = whole.reference("mass_matrix", q)
    np.testing.assert_allclose(part.reference("mass_matrix", q[1:2]), M[1:2, 1:2], rtol=1e-13)
    np.testing.assert_allclose(
        part.reference("pose", q[1:2], frame="c"), whole.reference("pose", q, frame="c"), atol=1e-15
    )
    with pytest.raises(UnknownNameError, match="no moving joint 'j9'"):
        robot(*parts, joints=["j9"])
    with pytest.raises(ShapeError, match="posture of joint 'j1'"):
        robot(*parts, joints=["j2"], posture={"j1": [1.0, 2.0]})
    with pytest.raises(UnknownNameError, match=r"posture of 'j1'.*name those that move"):
        robot(*parts, posture={"j1": 0.3})


def test_the_tip_is_the_tool():
    parts = (*(link(name) for name in ("base", "a", "b")), joint("j1", "base", "a"))
    parts += (joint("j2", "base", "b", inside='<origin xyz="0 1 0"/>'),)
    assert robot(*parts, tip="b").reference("pose", [0.0, 0.0])[1, 3] == 1.0
    assert robot(*parts, tip="a").reference("pose", [0.0, 0.0])[1, 3] == 0.0
    with pytest.raises(UnknownNameError, match="no link 'c'; there are: base, a, b"):
        robot(*parts, tip="c")


def test_a_frame_on_the_base_that_a_file_ends_with_is_not_the_tool():
    parts = [link("base"), link("a"), link("b"), joint("1", "base", "a"), joint("2", "a", "b")]
    parts += [link("mark", ""), joint("3", "base", "mark", "fixed")]
    loaded = robot(*parts)
    assert loaded.model.frames["tool"].body == 1
    assert np.any(loaded.jacobian([0.1, 0.2]))


def test_printed_quarter_turns_are_exact():
    """Eleven digits of π/2 are meant to be it; four are not."""
    for angle, turns in ((1.57079632679, 1), (-3.14159265359, -2), (4.71238898038, 3), (0.0, 0)):
        c, s = np.cos(quarter_turn(angle)), np.sin(quarter_turn(angle))
        expected = np.exp(0.5j * np.pi * turns)
        np.testing.assert_allclose([c, s], [expected.real, expected.imag], atol=3e-16)
    assert quarter_turn(1.5708) == 1.5708 and quarter_turn(1.570796327) == 1.570796327


@pytest.mark.parametrize(
    ("parts", "warning"),
    [
        ((link("a", ""), joint("j", "base", "a")), "moves but has no mass, nor"),
        ((link("a"), joint("j", "base", "a", "revolute")), "needs <limit>"),
        (
            (link("a"), joint("j", "base", "a", "revolute", '<limit lower="2" upper="1"/>')),
            "reversed",
        ),
        ((link("a"), joint("j", "base", "a", "revolute", "<limit/>")), "no room to move"),
        (
            (link("a", INERTIAL.replace('izz="0.25"', 'izz="0.5"')), joint("j", "base", "a")),
            "triangle inequality",
        ),
        ((link("a", INERTIAL + "<inertail/>"), joint("j", "base", "a")), "meant to be 'inertial'"),
        (
            (link("a"), joint("j", "base", "a", inside='<origin xzy="1 2 3"/>')),
            "meant to be 'xyz'",
        ),
        (
            (link("a"), joint("j", "base", "a", inside='<mimic joint="gone"/>')),
            "'gone', which does not exist",
        ),
    ],
)
def test_doubtful_things_are_warnings_and_strict_errors(parts, warning):
    loaded = robot(link("base", ""), *parts)
    assert len(loaded.notes.warnings) == 1 and warning in loaded.notes.warnings[0]
    with pytest.raises(ImportFileError, match=warning):
        robot(link("base", ""), *parts, strict=True)


def test_what_is_ignored_is_counted():
    loaded = robot(
        link("base", "<visual/><collision/><visual/>"),
        link("a"),
        joint("j", "base", "a"),
        "<gazebo/>",
    )
    assert loaded.notes.ignored == ("visual (2)", "collision (1)", "gazebo (1)")


def test_meshes_are_named_but_not_opened():
    mesh = '<visual><geometry><mesh filename="package://arm/meshes/a.stl"/></geometry></visual>'
    loaded = robot(link("base", mesh), link("a"), joint("j", "base", "a"))
    assert [(m.link, m.filename) for m in loaded.notes.meshes] == [
        ("base", "package://arm/meshes/a.stl")
    ]


def test_load_takes_names_first_and_then_paths(tmp_path, monkeypatch):
    path = tmp_path / "ur5.urdf"
    path.write_text(load("ur5").to_urdf())
    assert load(path).name == load(str(path)).name == "ur5"
    (tmp_path / "arm.xml").write_text(load("planar_2r").to_mjcf())
    assert load(tmp_path / "arm.xml").nv == 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ur5").write_text("not a robot")
    assert load("ur5").notes.source == ""
    with pytest.raises(ImportFileError, match="No such file"):
        load("missing.urdf")
    with pytest.raises(UnknownNameError, match="did you mean"):
        load("ur6")


def test_missing_products_of_inertia_are_noted():
    bare = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixz="0"/></inertial>'
    loaded = robot(link("base", ""), link("a", bare), joint("j", "base", "a"))
    assert any("<inertia> has no ixy, iyz; taken as 0" in text for text in loaded.notes.warnings)


@pytest.mark.parametrize(
    "part", ['<other_loop name="l"/>', "<drake:ball_constraint/>", "<force_element/>", "<jiont/>"]
)
def test_parts_that_may_change_the_dynamics_are_doubtful(part):
    parts = (link("base", ""), link("a"), joint("j", "base", "a"), part)
    assert any("is ignored" in text for text in robot(*parts).notes.warnings)
    with pytest.raises(ImportFileError, match="is ignored"):
        robot(*parts, strict=True)


@pytest.mark.parametrize(
    "options",
    [
        {"joints": 3},
        {"joints": "j"},
        {"joints": [], "posture": [0.1]},
        {"joints": [], "posture": {"j": "x"}},
        {"joints": [], "posture": {"j": [1.0, 2.0]}},
        {"joints": [], "posture": {"j": float("nan")}},
        {"gravity": "down"},
        {"gravity": (0.0, 0.0, float("nan"))},
    ],
)
def test_options_of_another_type_are_refused(options):
    with pytest.raises(DalembertError):
        chain(**options)
