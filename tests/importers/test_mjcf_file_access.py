"""Which files an MJCF opens: no refusal without need, and nothing outside the roots one trusts."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ImportFileError, SettingError
from dalembert.model.notes import LeftOut
from dalembert.systems.robot import Robot

mujoco = pytest.importorskip("mujoco")

PENDULUM = """<worldbody><body name="arm"><joint name="j" axis="0 1 0"/>
  <geom size=".1" pos="1 0 0"/></body></worldbody>"""
INERTIAL = '<inertial pos=".1 0 0" mass="2" diaginertia=".1 .2 .25"/>'


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def block(path: Path) -> None:
    """A box of 0.2 × 0.4 × 0.6 m with a corner cut off, as STL."""
    corners = [(x, y, z) for x in (0, 0.2) for y in (0, 0.4) for z in (0, 0.6)]
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 5), (0, 4, 5), (0, 5, 1), (2, 3, 6), (0, 2, 6)]
    faces += [(0, 6, 4), (1, 5, 3), (3, 5, 6)]
    data = [bytes(80), struct.pack("<I", len(faces))]
    for face in faces:
        numbers = [x for k in face for x in corners[k]]
        data.append(struct.pack("<12fH", 0, 0, 0, *numbers, 0))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(data))


@pytest.fixture(autouse=True)
def quiet():
    """MuJoCo, asked directly, would write its warnings into a file beside us."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    yield
    mujoco.set_mju_user_warning(before)


def mass_matrix(model, q) -> np.ndarray:
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    return M


def test_the_message_has_the_argument_that_opens_the_file(tmp_path):
    main = write(tmp_path / "a/b/robot.xml", '<mujoco><include file="../parts/arm.xml"/></mujoco>')
    write(tmp_path / "a/parts/arm.xml", f"<mujoco>{PENDULUM}</mujoco>")
    with pytest.raises(ImportFileError, match=r"line 1: .* outside .* say trust='\.\.'"):
        dl.load(main)
    for trust in ("..", tmp_path / "a", ["../parts"], "../parts/arm.xml"):
        assert dl.load(main, trust=trust).nv == 1
    with pytest.raises(ImportFileError, match="outside"):
        dl.load(main, trust="../b")


def test_a_far_file_is_named_by_its_own_folder(tmp_path):
    main = write(tmp_path / "robot.xml", '<mujoco><include file="/etc/passwd"/></mujoco>')
    with pytest.raises(ImportFileError, match="say trust='/etc'"):
        Robot.from_mjcf(main)


def test_text_opens_files_below_trusted_roots_only(tmp_path):
    part = write(tmp_path / "arm.xml", f"<mujoco>{PENDULUM}</mujoco>")
    text = f'<mujoco><include file="{part}"/></mujoco>'
    with pytest.raises(ImportFileError, match=r"has no folder to find files in; .* say trust="):
        Robot.from_mjcf(text)
    assert Robot.from_mjcf(text, trust=tmp_path).nv == 1


@pytest.mark.parametrize("trust", [3, True, [3], "no/such/folder"])
def test_trust_must_name_folders(tmp_path, trust):
    main = write(tmp_path / "robot.xml", f"<mujoco>{PENDULUM}</mujoco>")
    with pytest.raises(SettingError, match="trust"):
        Robot.from_mjcf(main, trust=trust)


def test_a_trusted_root_does_not_open_where_links_lead(tmp_path):
    write(tmp_path / "secret.xml", f"<mujoco>{PENDULUM}</mujoco>")
    main = write(tmp_path / "a/b/robot.xml", '<mujoco><include file="../inner.xml"/></mujoco>')
    (tmp_path / "a/inner.xml").symlink_to(tmp_path / "secret.xml")
    with pytest.raises(ImportFileError, match="outside"):
        Robot.from_mjcf(main, trust="..")


def test_a_nested_include_is_looked_for_as_mujoco_does(tmp_path):
    """In the folder of the main file first, then beside the file that includes."""
    main = write(tmp_path / "robot.xml", '<mujoco><include file="sub/part.xml"/></mujoco>')
    write(tmp_path / "sub/part.xml", '<mujoco><include file="deep/arm.xml"/></mujoco>')
    write(tmp_path / "sub/deep/arm.xml", f"<mujoco>{PENDULUM}</mujoco>")
    for name in ("arm", "other"):
        model = mujoco.MjModel.from_xml_path(str(main))
        assert Robot.from_mjcf(main).model.bodies[0].name == model.body(1).name == name
        write(tmp_path / "deep/arm.xml", f"<mujoco>{PENDULUM}</mujoco>".replace("arm", "other"))


def test_an_error_of_mujoco_points_into_the_included_file(tmp_path):
    main = write(tmp_path / "robot.xml", '<mujoco>\n\n<include file="part.xml"/></mujoco>')
    write(tmp_path / "part.xml", "<mujoco>\n<worldbody>\n\n<bdy/></worldbody></mujoco>")
    with pytest.raises(ImportFileError, match=r"^part\.xml, line 4: MuJoCo .* line 4"):
        Robot.from_mjcf(main)


MESH = '<geom type="mesh" mesh="block" {}/>'
NEEDED = {
    "by its density": (MESH, ""),
    "by its mass": (MESH.format('mass="3"'), ""),
    "fitted": (MESH.replace("mesh", "box", 1), ""),
    "overruling the inertial": (MESH + INERTIAL, '<compiler inertiafromgeom="true"/>'),
    "in the group": (MESH.format('group="2"'), '<compiler inertiagrouprange="2 3"/>'),
    "on a child that moves along": (f'<body name="hand">{MESH}</body>', ""),
}
NOT_NEEDED = {
    "inertial": (MESH + INERTIAL, ""),
    "no mass": (MESH.format('mass="0"') + '<geom size=".1"/>', ""),
    "no density": (MESH.format('density="0"') + '<geom size=".1"/>', ""),
    "no mass by its class": (
        MESH.format('class="shown"') + '<geom size=".1"/>',
        '<default><default class="shown"><geom mass="0"/></default></default>',
    ),
    "another group": (
        MESH.format('group="2"') + '<geom size=".1"/>',
        '<compiler inertiagrouprange="0 1"/>',
    ),
}


def meshed(tmp_path: Path, inside: str, beside: str, world: str = "") -> Path:
    """A hinge with a mesh that MuJoCo can open and that lies outside the robot's folder."""
    block(tmp_path / "meshes/block.stl")
    text = f"""<mujoco>{beside}<asset><mesh file="../meshes/block.stl"/></asset><worldbody>
      {world}<body name="arm"><joint name="j" axis="1 2 3"/>{inside.format("")}</body>
      </worldbody></mujoco>"""
    return write(tmp_path / "robot/robot.xml", text)


@pytest.mark.parametrize("case", NEEDED)
def test_a_mesh_that_inertia_comes_from_is_opened_from_trusted_roots(tmp_path, case):
    main = meshed(tmp_path, *NEEDED[case])
    with pytest.raises(
        ImportFileError, match=r"line 1: .*block\.stl' is not opened: .* trust='\.\.'"
    ):
        Robot.from_mjcf(main)
    robot = Robot.from_mjcf(main, trust="..")
    M = mass_matrix(mujoco.MjModel.from_xml_path(str(main)), [0.3])
    np.testing.assert_allclose(robot.mass_matrix([0.3]), M, rtol=1e-12)
    assert not any("mesh" in message for message in robot.notes.ignored)


@pytest.mark.parametrize("case", NOT_NEEDED)
def test_a_mesh_that_no_inertia_comes_from_is_not_opened(tmp_path, case):
    main = meshed(tmp_path, *NOT_NEEDED[case])
    M = mass_matrix(mujoco.MjModel.from_xml_path(str(main)), [0.3])
    (tmp_path / "meshes/block.stl").unlink()
    robot = Robot.from_mjcf(main, strict=True)
    np.testing.assert_allclose(robot.mass_matrix([0.3]), M, rtol=1e-12)
    assert "mesh not opened (1)" in robot.notes.ignored
    (mesh,) = robot.notes.meshes
    assert (mesh.link, mesh.filename, mesh.line) == ("arm", "../meshes/block.stl", 1)


def test_a_body_that_never_moves_needs_no_mesh_unless_masses_are_shared_out(tmp_path):
    table = f'<body name="table">{MESH.format("")}</body>'
    main = meshed(tmp_path, '<geom size=".1" pos="1 0 0"/>', "", table)
    assert "mesh not opened (1)" in Robot.from_mjcf(main).notes.ignored
    main = meshed(tmp_path, '<geom size=".1" pos="1 0 0"/>', '<compiler settotalmass="5"/>', table)
    M = mass_matrix(mujoco.MjModel.from_xml_path(str(main)), [0.3])
    np.testing.assert_allclose(Robot.from_mjcf(main, trust="..").mass_matrix([0.3]), M, rtol=1e-12)


def test_a_capsule_fitted_to_a_mesh_that_is_not_opened_still_compiles(tmp_path):
    capsule = MESH.replace("mesh", "capsule", 1).format('mass="0"') + '<geom size=".1"/>'
    main = meshed(tmp_path, capsule, '<compiler fitaabb="true"/>')
    assert "mesh not opened (1)" in Robot.from_mjcf(main, strict=True).notes.ignored


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
def test_a_mesh_that_a_tendon_runs_over_is_opened(tmp_path, kind):
    """Also on a body that never moves: radius and place of the fitted geom come from the mesh."""
    geom = MESH.replace("mesh", kind, 1).format('name="pulley" mass="0"')
    world = f'{geom}<site name="a" pos="-1 .1 .2"/>'
    main = meshed(
        tmp_path, '<geom size=".1" pos="1 .3 .2"/><site name="b" pos="1 .3 .4"/>', "", world
    )
    tendon = """<tendon><spatial name="t" stiffness="50" springlength="0"><site site="a"/>
      <geom geom="pulley"/><site site="b"/></spatial></tendon>"""
    main.write_text(main.read_text().replace("</worldbody>", f"</worldbody>{tendon}"))
    with pytest.raises(ImportFileError, match="outside"):
        Robot.from_mjcf(main)
    m = mujoco.MjModel.from_xml_path(str(main))
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    assert data.ten_wrapnum[0] == 4  # it touches the geom
    robot = Robot.from_mjcf(main, trust="..")
    np.testing.assert_allclose(
        robot.reference("tendon_length", np.zeros(1)), data.ten_length, rtol=1e-12
    )


def test_a_mesh_in_a_fluid_is_opened(tmp_path):
    main = meshed(tmp_path, MESH.format('fluidshape="ellipsoid"') + INERTIAL, "")
    with pytest.raises(ImportFileError, match="outside"):
        Robot.from_mjcf(main)


def test_what_names_a_dropped_mesh_still_compiles(tmp_path):
    """Pairs, sensors, other geoms, tuples, skins: every name still means something."""
    text = f"""<mujoco><compiler meshdir="m" texturedir="t" assetdir="x"/><visual><map znear="1"/>
      </visual><default><material shininess="0"/></default><asset>
      <texture name="t" type="2d" file="100%n.png"/><material name="m" texture="t"/>
      <mesh file="a.b.obj" material="m"/><hfield name="h" file="hills.png" size="1 1 1 1"/>
      <skin file="x.skn"/></asset><worldbody><light texture="t"/><geom type="hfield" hfield="h"/>
      <body name="arm"><joint name="j"/>{INERTIAL}
      <geom name="g" type="mesh" mesh="a.b" material="m"/><site name="s" pos="1 0 0" material="m"/>
      <site name="s2"/></body><body name="far" pos="2 0 0"/></worldbody>
      <custom><tuple name="u"><element objtype="material" objname="m"/></tuple></custom>
      <tendon><spatial width="0.003" material="m"><site site="s"/><site site="s2"/></spatial>
      </tendon>
      <contact><exclude body1="arm" body2="far"/></contact>
      <sensor><framepos objtype="geom" objname="g"/></sensor></mujoco>"""
    notes = Robot.from_mjcf(text).notes
    gone = {"mesh not opened (1)", "hfield not opened (1)", "texture (1)", "skin (1)"}
    assert gone <= set(notes.ignored)
    assert [mesh.filename for mesh in notes.meshes] == ["m/a.b.obj"]


def test_sensors_and_contacts_may_name_what_is_not_there():
    """Parts of larger scenes do; neither says anything of the dynamics."""
    text = f"""<mujoco>{PENDULUM}<sensor><touch site="none"/></sensor><contact>
      <pair geom1="none" geom2="none"/><exclude body1="a" body2="b"/></contact></mujoco>"""
    notes = Robot.from_mjcf(text, strict=True).notes
    assert {"sensor (1)", "contact (2)"} <= set(notes.ignored)


def test_a_mesh_may_lie_beside_the_file_that_includes_it(tmp_path):
    block(tmp_path / "sub/block.stl")
    part = f"""<mujoco><asset><mesh file="block.stl"/></asset><worldbody>
      <body><joint axis="1 2 3"/>{MESH.format("")}</body></worldbody></mujoco>"""
    write(tmp_path / "sub/part.xml", part)
    main = write(tmp_path / "robot.xml", '<mujoco><include file="sub/part.xml"/></mujoco>')
    M = mass_matrix(mujoco.MjModel.from_xml_path(str(main)), [0.3])
    np.testing.assert_allclose(Robot.from_mjcf(main).mass_matrix([0.3]), M, rtol=1e-12)


def test_an_attached_model_has_folders_of_its_own(tmp_path):
    block(tmp_path / "hand/meshes/block.stl")
    hand = f"""<mujoco model="hand"><compiler meshdir="meshes"/><asset><mesh file="block.stl"/>
      <texture name="t" type="2d" file="no.png"/></asset><worldbody><body name="palm">
      <joint axis="1 2 3"/>{MESH.format("")}</body></worldbody></mujoco>"""
    write(tmp_path / "hand/hand.xml", hand)
    text = """<mujoco><asset><model file="hand/hand.xml"/></asset><worldbody><body name="arm">
      <joint axis="0 1 0"/><geom size=".1"/><attach model="hand" body="palm" prefix="left_"/>
      </body></worldbody></mujoco>"""
    main = write(tmp_path / "robot.xml", text)
    robot = Robot.from_mjcf(main)
    assert [body.name for body in robot.model.bodies] == ["arm", "left_palm"]
    write(
        tmp_path / "hand/hand.xml", hand.replace('<texture name="t" type="2d" file="no.png"/>', "")
    )
    M = mass_matrix(mujoco.MjModel.from_xml_path(str(main)), [0.3, 0.4])
    np.testing.assert_allclose(robot.mass_matrix([0.3, 0.4]), M, rtol=1e-12)
    assert [mesh.filename for mesh in robot.notes.meshes] == ["meshes/block.stl"]


def test_an_attached_model_is_looked_for_beside_the_file_that_names_it(tmp_path):
    part = '<mujoco><asset><model name="k" file="k.xml"/></asset></mujoco>'
    write(tmp_path / "sub/part.xml", part)
    attach = '<worldbody><attach model="k" body="arm" prefix="p_"/></worldbody>'
    main = write(tmp_path / "m.xml", f'<mujoco><include file="sub/part.xml"/>{attach}</mujoco>')
    write(tmp_path / "k.xml", f"<mujoco>{PENDULUM}</mujoco>".replace('"j"', '"far"'))
    write(tmp_path / "sub/k.xml", f"<mujoco>{PENDULUM}</mujoco>")
    joints = [joint.name for joint in Robot.from_mjcf(main).joints]
    assert joints == [mujoco.MjModel.from_xml_path(str(main)).joint(0).name] == ["p_j"]
    write(tmp_path / "sub/k.xml", '<robot name="r"><link name="arm"/></robot>')
    with pytest.raises(ImportFileError, match="must be MJCF; this one is <robot>"):
        Robot.from_mjcf(main)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_mesh_that_is_a_pipe_is_not_waited_for(tmp_path):
    main = meshed(tmp_path, *NEEDED["by its density"])
    (tmp_path / "meshes/block.stl").unlink()
    os.mkfifo(tmp_path / "meshes/block.stl")
    with pytest.raises(ImportFileError, match="is no file"):
        Robot.from_mjcf(main, trust="..")
    (tmp_path / "meshes/block.stl").unlink()
    with pytest.raises(ImportFileError, match="not there, and the dynamics needs it"):
        Robot.from_mjcf(main, trust="..")


def plugged(name: str) -> str:
    return f"""<mujoco><extension><plugin plugin="{name}"><instance name="p">
      <config key="kp" value="4"/></instance></plugin></extension>
      {PENDULUM}<actuator><plugin joint="j" plugin="{name}" instance="p"/>
      <motor name="m" joint="j"/></actuator><keyframe><key ctrl="0 0"/></keyframe></mujoco>"""


def test_plugins_that_mujoco_has_are_allowed_and_their_forces_said_to_be_missing():
    robot = Robot.from_mjcf(plugged("mujoco.pid"))
    assert [row.what for row in robot.notes.left_out] == ["actuator"]
    assert not any("registered" in message for message in robot.notes.ignored)


def test_a_plugin_that_pushes_a_body_is_left_out_and_said():
    text = PENDULUM.replace("<geom", '<plugin plugin="some.cable"/><geom')
    notes = Robot.from_mjcf(f"<mujoco>{text}</mujoco>").notes
    assert notes.left_out == (LeftOut("plugin", "some.cable", "its forces are not computed"),)


def test_plugins_that_mujoco_lacks_are_taken_out_never_loaded():
    robot = Robot.from_mjcf(plugged("evil.plugin"))
    assert LeftOut("plugin", "evil.plugin", "its forces are not computed") in robot.notes.left_out
    assert "plugin that is not registered (2)" in robot.notes.ignored
    assert robot.nv == 1


def test_warnings_of_mujoco_are_notes_not_warnings_of_python():
    text = f'<mujoco><compiler settotalmass="3"/>{PENDULUM}</mujoco>'
    assert Robot.from_mjcf(text).model.bodies[0].mass == pytest.approx(3.0)


def test_a_part_of_a_file_is_told_from_a_robot(tmp_path):
    with pytest.raises(ImportFileError, match="load the file that includes it"):
        dl.load(write(tmp_path / "part.xml", "<mujocoinclude/>"))


def test_very_many_plugins_or_meshes_take_no_time():
    named = "".join(f'<plugin plugin="p{k}"/>' for k in range(20_000))
    with pytest.raises(ImportFileError, match="more than 64 plugins"):
        Robot.from_mjcf(f"<mujoco><extension>{named}</extension>{PENDULUM}</mujoco>")
    meshes = "".join(f'<mesh file="m{k}.stl"/>' for k in range(5_000))
    robot = Robot.from_mjcf(f"<mujoco><asset>{meshes}</asset>{PENDULUM}</mujoco>")
    assert "mesh not opened (5000)" in robot.notes.ignored


def test_a_soft_body_from_a_file_is_looked_for_in_meshdir(tmp_path):
    block(tmp_path / "meshes/block.stl")
    flex = '<flexcomp name="f" type="mesh" dim="2" file="block.stl" mass="1" radius="0.01"/>'
    text = f"""<mujoco><compiler meshdir="meshes"/><worldbody>{flex}</worldbody></mujoco>"""
    main = write(tmp_path / "robot.xml", text)
    assert Robot.from_mjcf(main).nv == mujoco.MjModel.from_xml_path(str(main)).nv
