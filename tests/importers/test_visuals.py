"""How a file's robot looks: kept as data, opened by who draws it, and never from elsewhere."""

import struct

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ImportFileError
from dalembert.importers.meshes import MAX_BYTES, MAX_TEXT, find_mesh, read_mesh
from dalembert.model.notes import SearchPaths, Visual
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import rotation_from_rpy

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
ARM = """<robot name="arm"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"/><link name="arm">{inertial}{visual}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def arm(visual):
    return ARM.format(inertial=INERTIAL, visual=visual)


def stl():
    rows = [struct.pack("<12fH", 0, 0, 0, *CORNERS[face].ravel(), 0) for face in FACES]
    return b"solid, yet binary".ljust(80) + struct.pack("<I", len(FACES)) + b"".join(rows)


def stl_text():
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {} {} {}\n".format(*CORNERS[k]) for k in face)
        + "endloop\nendfacet\n"
        for face in FACES
    )
    return f"solid text\n{facets}endsolid\n".encode()


def obj():
    vertices = "".join("v {} {} {}\n".format(*p) for p in CORNERS)
    faces = "".join(f"f {a + 1}/1/1 {b + 1}//2 {c - 4}\n" for a, b, c in FACES)
    return f"# a tetrahedron\n{vertices}{faces}".encode()


def dae(colour="0 0.5 1 1"):
    """In centimetres, with quadrilaterals of four of the same points, turned by a node."""
    points = " ".join(map(str, (100 * CORNERS).ravel()))
    index = " ".join(f"{a} 0 {b} 0 {c} 0" for a, b, c in FACES)
    return f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
<asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique><phong><diffuse>
<color>{colour}</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="f" count="12">{points}
</float_array><technique_common><accessor source="#f" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist material="s" count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#p" offset="1"/><vcount>3 3 3 3</vcount><p>{index}</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="x"><node><translate>0 0 100</translate>
<rotate>0 0 1 90</rotate><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes></COLLADA>""".encode()


def mesh_visual(folder, name, scale=(1.0, 1.0, 1.0)):
    search_paths = SearchPaths(str(folder), (str(folder),), (str(folder),))
    return Visual("arm", "mesh", scale, file=name, search_paths=search_paths)


def test_shapes_of_a_urdf_have_sizes_poses_and_colours():
    visual = """<visual><origin xyz="1 2 3" rpy="0.3 -0.4 2"/><geometry><box size="1 2 3"/></geometry>
    <material name="red"/></visual><visual><geometry><cylinder radius="0.1" length="2"/></geometry>
    <material name="own"><color rgba="0 1 0 0.5"/></material></visual>
    <visual><geometry><sphere radius="0.2"/></geometry></visual>"""
    box, rod, ball = dl.Robot.from_urdf(arm(visual)).notes.visuals
    assert (box.kind, box.size, box.colour) == ("box", (1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 1.0))
    assert box.pose[:3] == (1.0, 2.0, 3.0)
    turn = matrix_from_quaternion(np.array(box.pose[3:]))
    np.testing.assert_allclose(turn, rotation_from_rpy([0.3, -0.4, 2.0]), atol=1e-15)
    assert (rod.size, rod.colour) == ((0.1, 2.0), (0.0, 1.0, 0.0, 0.5))
    assert (ball.size, ball.colour, ball.link) == ((0.2,), None, "arm")


def test_looks_change_neither_the_model_nor_whether_it_loads():
    plain = dl.Robot.from_urdf(arm(""))
    wrong = """<visual><geometry><box size="a b"/></geometry></visual><visual/>
    <visual><geometry><dodecahedron/></geometry></visual>"""
    odd = dl.Robot.from_urdf(arm(wrong))
    assert odd.model.content == plain.model.content
    assert [one.kind for one in odd.notes.visuals] == ["", "", ""]
    assert (
        "size='a b'" in odd.notes.visuals[0].fault and "dodecahedron" in odd.notes.visuals[2].fault
    )


def test_collisions_are_drawn_where_nothing_else_is():
    shape = "<geometry><sphere radius='1'/></geometry>"
    both = dl.Robot.from_urdf(arm(f"<visual>{shape}</visual><collision>{shape}</collision>"))
    assert len(both.notes.visuals) == 1
    assert len(dl.Robot.from_urdf(arm(f"<collision>{shape}</collision>")).notes.visuals) == 1


def test_looks_stay_on_their_links_when_robots_are_changed():
    robot = dl.Robot.from_urdf(arm("<visual><geometry><sphere radius='1'/></geometry></visual>"))
    two = robot.merge(robot, at="arm", prefix="second_")
    assert [one.link for one in two.notes.visuals] == ["arm", "second_arm"]
    assert [one.link for one in two.subtree("arm").notes.visuals] == ["arm", "second_arm"]
    assert robot.with_payload(1.0).notes.visuals == robot.notes.visuals


@pytest.mark.parametrize(("name", "pieces"), [("a.stl", stl), ("A.STL", stl_text), ("a.obj", obj)])
def test_meshes_of_every_format_are_the_same_tetrahedron(tmp_path, name, pieces):
    (tmp_path / name).write_bytes(pieces())
    (piece,) = read_mesh(mesh_visual(tmp_path, name, (2.0, 2.0, -2.0)))
    corners = piece.points[piece.triangles]
    # the mirror of z turns the triangles over, so that they still look outwards
    expected = (CORNERS * [2, 2, -2])[FACES][:, ::-1]
    np.testing.assert_allclose(corners, expected, atol=1e-6)
    volume = np.einsum("ki,ki->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    assert volume == pytest.approx(8 / 6)


def test_collada_has_units_nodes_and_colours(tmp_path):
    (tmp_path / "a.dae").write_bytes(dae())
    (piece,) = read_mesh(mesh_visual(tmp_path, "a.dae"))
    assert piece.colour == (0.0, 0.5, 1.0, 1.0)
    expected = CORNERS @ np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + [0, 0, 1]
    np.testing.assert_allclose(piece.points[piece.triangles], expected[FACES], atol=1e-12)


def test_colours_of_an_obj_come_from_the_library_beside_it(tmp_path):
    (tmp_path / "a.mtl").write_text("newmtl skin\nKd 1 0.5 0\nmap_Kd ../secret.png\n")
    text = obj().decode().replace("f ", "usemtl skin\nf ", 1)
    (tmp_path / "a.obj").write_text(f"mtllib /etc/a.mtl\n{text}")
    (piece,) = read_mesh(mesh_visual(tmp_path, "a.obj"))
    assert piece.colour == (1.0, 0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.stl", b""),
        ("short.stl", stl()[:100]),
        ("words.stl", b"solid x\nvertex a b c\n"),
        ("bad.obj", b"v 1 2\nf 1 2 3\n"),
        ("nan.obj", b"v nan nan nan\nf 1 1 1\n"),
        ("huge.dae", b"<COLLADA><!DOCTYPE a [<!ENTITY b 'c'>]></COLLADA>"),
        ("bomb.dae", b"<!DOCTYPE a [<!ENTITY b 'c'>]><COLLADA>&b;</COLLADA>"),
        ("none.dae", b"<COLLADA/>"),
        ("counts.dae", dae().replace(b"<vcount>3 3 3 3</vcount>", b"")),
        ("numbers.dae", dae().replace(b"float_array", b"array")),
        ("deep.dae", b"<a>" * 1000),
        ("other.ply", b"ply"),
    ],
)
def test_broken_meshes_are_refused_with_a_reason(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ImportFileError, match=r"\w"):
        read_mesh(mesh_visual(tmp_path, name))


def test_nodes_that_repeat_each_other_do_not_multiply(tmp_path):
    again = "<instance_node url='#n{}'/>"
    nodes = "".join(f"<node id='n{k}'>{2 * again.format(k + 1)}</node>" for k in range(40))
    text = f"<COLLADA><visual_scene><node><instance_node url='#n0'/></node></visual_scene>{nodes}"
    (tmp_path / "a.dae").write_text(f"{text}</COLLADA>")
    with pytest.raises(ImportFileError, match="repeated too often"):
        read_mesh(mesh_visual(tmp_path, "a.dae"))


def test_points_without_triangles_are_a_box_and_wrong_triangles_are_left_out(tmp_path):
    (tmp_path / "points.obj").write_bytes(b"v 0 0 0\nv 1 2 3\nf 1 2 9\n")
    (box,) = read_mesh(mesh_visual(tmp_path, "points.obj"))
    assert len(box.triangles) == 12
    np.testing.assert_array_equal(np.ptp(box.points, axis=0), [1, 2, 3])
    (tmp_path / "some.obj").write_bytes(obj() + b"f 1 2 77\nf 1 2 -90\n")
    assert len(read_mesh(mesh_visual(tmp_path, "some.obj"))[0].triangles) == 4


def test_enormous_meshes_are_refused_before_they_are_read(tmp_path):
    with (tmp_path / "large.stl").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    (tmp_path / "text.stl").write_bytes(b"solid".ljust(MAX_TEXT + 1))
    with pytest.raises(ImportFileError, match="more than a robot needs"):
        read_mesh(mesh_visual(tmp_path, "large.stl"))
    with pytest.raises(ImportFileError, match="too much text"):
        read_mesh(mesh_visual(tmp_path, "text.stl"))


def urdf(folder, mesh, **options):
    path = folder / "arm.urdf"
    path.write_text(arm(f"<visual><geometry><mesh filename='{mesh}'/></geometry></visual>"))
    (one,) = dl.Robot.from_urdf(path, **options).notes.visuals
    return one


def test_meshes_are_found_in_the_package_of_the_file_and_where_it_is_trusted(tmp_path):
    package, other = tmp_path / "arm_description", tmp_path / "elsewhere"
    for folder in (package / "urdf", package / "meshes", other):
        folder.mkdir(parents=True)
    (package / "meshes" / "a.stl").write_bytes(stl())
    (other / "a.stl").write_bytes(stl())
    inside = urdf(package / "urdf", "package://arm_description/meshes/a.stl")
    with pytest.raises(ImportFileError, match=r"trust='\.\.'"):
        find_mesh(inside)
    (package / "package.xml").write_text("<package/>")
    assert find_mesh(inside) == (package / "meshes" / "a.stl").resolve()
    with pytest.raises(ImportFileError, match="trust"):
        find_mesh(urdf(package / "urdf", "../../elsewhere/a.stl"))
    trusted = urdf(package / "urdf", "package://elsewhere/a.stl", trust="../../elsewhere")
    assert find_mesh(trusted) == (other / "a.stl").resolve()


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "file:///etc/passwd", "package://x/../../../etc/passwd", "a\0b", "~"]
)
def test_nothing_outside_is_opened(tmp_path, name):
    with pytest.raises(ImportFileError):
        read_mesh(mesh_visual(tmp_path, name))


def test_a_link_out_of_the_folder_is_followed_before_it_is_judged(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "secret.stl").write_bytes(stl())
    (tmp_path / "robot" / "a.stl").symlink_to(tmp_path / "secret.stl")
    with pytest.raises(ImportFileError, match="outside"):
        find_mesh(mesh_visual(tmp_path / "robot", "a.stl"))


def test_nothing_is_fetched_and_text_has_no_folder(tmp_path):
    with pytest.raises(ImportFileError, match="network"):
        find_mesh(mesh_visual(tmp_path, "https://example.org/a.stl"))
    visual = "<visual><geometry><mesh filename='a.stl'/></geometry></visual>"
    (one,) = dl.Robot.from_urdf(arm(visual)).notes.visuals
    with pytest.raises(ImportFileError, match="text has no folder"):
        find_mesh(one)


MJCF = """<mujoco><compiler angle="radian"/><asset>
<material name="orange" rgba="1 0.5 0 1"/><material name="bad" rgba="1 0"/>
<mesh name="t" file="a.stl" scale="0.1 0.1 0.1" refpos="0.5 0 0"/></asset>
<default><default class="shown"><geom material="orange" contype="0" conaffinity="0" group="2"/>
</default></default><worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><joint axis="0 1 0"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
<geom class="shown" type="mesh" mesh="t" pos="1 2 3" euler="0.1 0.2 0.3"/>
<geom type="box" size="1 1 1"/></body>
<body name="b"><joint axis="1 0 0"/><geom type="capsule" size="0.1 0.5" material="bad"/>
<geom type="ellipsoid" size="1 2 3" group="3"/></body></worldbody></mujoco>"""


def test_geoms_are_where_mujoco_has_them_in_the_colours_of_materials(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "a.xml"
    path.write_text(
        MJCF.replace(' material="bad"', "").replace('name="bad" rgba="1 0"', 'name="bad"')
    )
    (tmp_path / "a.stl").write_bytes(stl())
    mesh, capsule = dl.Robot.from_mjcf(path).notes.visuals
    assert (mesh.link, mesh.colour) == ("a", (1.0, 0.5, 0.0, 1.0))  # and its box is for collisions
    assert (capsule.kind, capsule.size, capsule.colour) == ("capsule", (0.1, 1.0), None)
    (piece,) = read_mesh(mesh)
    turn = matrix_from_quaternion(np.array(mesh.pose[3:]))
    drawn = piece.points @ turn.T + np.array(mesh.pose[:3])
    m = mujoco.MjModel.from_xml_path(str(path))
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, m.geom_quat[1])
    known = m.mesh_vert @ turned.reshape(3, 3).T + m.geom_pos[1]
    for ends in (np.min, np.max):
        np.testing.assert_allclose(ends(drawn, axis=0), ends(known, axis=0), atol=1e-6)


def test_a_material_that_is_wrong_does_not_keep_a_file_from_loading(tmp_path):
    pytest.importorskip("mujoco")
    robot = dl.Robot.from_mjcf(MJCF.replace("a.stl", "nowhere.stl"))
    assert [one.kind for one in robot.notes.visuals] == ["mesh", "capsule"]
    with pytest.raises(ImportFileError):
        read_mesh(robot.notes.visuals[0])
