"""The robot as it looks on a page: meshes within a budget, names that are only text, and notes."""

import base64
import json

import numpy as np
import pytest

import dalembert as dl
from dalembert.importers.meshes import Piece
from dalembert.report.page import motion_data, page, write_page
from dalembert.report.visuals import packed, visuals_of, weld, within_budget
from tests.importers.test_visuals import arm, obj, stl

MESH = "<visual><geometry><mesh filename='{}'/></geometry></visual>"
HOSTILE = "</script><img src=x onerror='alert(1)'>\"&amp;"


def ball(n):
    """A sphere of 2 n² triangles, every corner of them a point of its own."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, n + 1), np.linspace(0, np.pi, n + 1))
    grid = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    corners = np.concatenate([np.stack([a, b, c], 2), np.stack([a, c, d], 2)]).reshape(-1, 3)
    return Piece(corners, np.arange(len(corners)).reshape(-1, 3))


def test_meshes_stay_within_their_budget_and_keep_their_shape():
    small = Piece(0.01 * ball(10).points + 3.0, ball(10).triangles)
    simplified = within_budget([ball(120), ball(60), small], 2_000)
    assert 1_000 < sum(len(piece.triangles) for piece in simplified) <= 2_000
    for piece in simplified[:2]:
        assert np.abs(np.linalg.norm(piece.points, axis=1) - 1.0).max() < 0.02
        corners = piece.points[piece.triangles]
        volume = np.einsum("ki,ki->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
        assert volume == pytest.approx(4 / 3 * np.pi, rel=0.06)
    assert np.linalg.norm(simplified[2].points.mean(axis=0) - 3.0) < 0.05


def test_a_box_keeps_its_edges():
    side = np.stack(np.meshgrid(*2 * [np.linspace(0, 1, 40)]), axis=-1).reshape(-1, 2)
    cell = np.array([[0, 1, 41], [0, 41, 40]])
    faces = (np.arange(39)[:, None] * 40 + np.arange(39)).reshape(-1, 1, 1) + cell
    points, triangles = [], []
    for k in range(3):
        for height in (0.0, 1.0):
            triangles.append(faces.reshape(-1, 3) + 1600 * len(points))
            points.append(np.insert(side, k, height, axis=1))
    simplified = within_budget([Piece(np.concatenate(points), np.concatenate(triangles))], 500)[0]
    away = np.minimum(np.abs(simplified.points), np.abs(simplified.points - 1)).min(axis=1)
    assert away.max() < 1e-6  # every point on a face
    for corner in np.ndindex(2, 2, 2):
        assert np.linalg.norm(simplified.points - corner, axis=1).min() < 0.1


def test_points_of_a_mesh_are_stored_once():
    assert len(weld(ball(20)).points) == 19 * 20 + 2


def test_packed_positions_are_as_fine_as_sixteen_bits():
    piece = weld(ball(20))
    simplified = packed(piece)
    steps = np.frombuffer(base64.b64decode(simplified["points"]), "<u2").reshape(-1, 3)
    back = np.array(simplified["low"]) + steps * np.array(simplified["span"]) / 65535
    assert np.abs(back - piece.points).max() < 2 / 65535
    index = np.frombuffer(base64.b64decode(simplified["triangles"]), "<u2").reshape(-1, 3)
    np.testing.assert_array_equal(index, piece.triangles)


def robot_of(folder, *names):
    path = folder / "arm.urdf"
    path.write_text(arm("".join(MESH.format(name) for name in names)))
    return dl.Robot.from_urdf(path)


def page_of(robot, title="arm"):
    t = np.array([0.0, 1.0])
    return page(title, "", "", motion_data(robot, t, np.zeros((2, robot.nq)), []), [])


def test_missing_and_broken_meshes_leave_the_skeleton_and_a_note(tmp_path):
    (tmp_path / "broken.stl").write_bytes(b"solid but not much")
    (tmp_path / "good.stl").write_bytes(stl())
    visuals = visuals_of(robot_of(tmp_path, "broken.stl", "nowhere.obj", "good.stl").model)
    assert len(visuals.shapes) == 1 and visuals.bare == [0]
    assert any("broken.stl" in note for note in visuals.notes)
    assert any("'nowhere.obj' is not there" in note for note in visuals.notes)
    path = tmp_path / "two.urdf"
    second = arm(MESH.format("good.stl")).replace("</robot>", "") + (
        "<link name='hand'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
        f"{MESH.format('nowhere.dae')}</link><joint name='k' type='continuous'>"
        "<parent link='arm'/><child link='hand'/></joint></robot>"
    )
    path.write_text(second)
    assert visuals_of(dl.Robot.from_urdf(path).model).bare == [1]


def test_many_failures_are_counted(tmp_path):
    names = ["good.stl", *(f"{k}.stl" for k in range(40))]
    (tmp_path / "good.stl").write_bytes(stl())
    notes = visuals_of(robot_of(tmp_path, *names).model).plain()["notes"]
    assert len(notes) < 15 and notes[-1] == "And 28 more."


def test_robots_without_shapes_have_their_skeleton():
    assert visuals_of(dl.load("ur5").model) is None
    nowhere = dl.Robot.from_urdf(arm(MESH.format("a.stl")))
    assert visuals_of(nowhere.model) is None


def hostile(tmp_path):
    """A robot whose names, material and mesh would be script, if they were not text."""
    from xml.sax.saxutils import quoteattr

    name, good = quoteattr(HOSTILE), quoteattr(f"good{HOSTILE[9:]}.obj")
    text = arm(
        f"<visual><geometry><mesh filename={name}/></geometry><material name={name}/></visual>"
        "<visual><geometry><box size='0.1 0.1 1'/></geometry></visual>"
        f"<visual><geometry><mesh filename={good}/></geometry></visual>"
    )
    text = text.replace('name="arm"', f"name={name}").replace('name="red"', f"name={name}")
    text = text.replace('link="arm"', f"link={name}").replace('name="j"', f"name={name}")
    (tmp_path / f"good{HOSTILE[9:]}.obj").write_bytes(obj())
    path = tmp_path / "hostile.urdf"
    path.write_text(text.replace('child link="arm"', f"child link={name}"))
    return dl.Robot.from_urdf(path)


def test_hostile_names_are_text_on_the_page(tmp_path, open_page):
    robot = hostile(tmp_path)
    text = page_of(robot, robot.name)
    assert "<img" not in text and text.count("</script>") == text.count("<script")
    path = tmp_path / "page.html"
    write_page(text, path)
    tab = open_page(path, at=0.0)
    assert "onerror" in tab.locator(".notes").inner_text()
    assert tab.locator("img").count() == 0
    assert tab.locator("h1").inner_text() == HOSTILE


def test_meshes_and_shapes_are_drawn_in_their_colours(tmp_path, open_page):
    visual = """<visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual>
    <visual><origin xyz="0 0 1.5"/><geometry><mesh filename="a.obj"/></geometry>
    <material name="blue"><color rgba="0 0 1 1"/></material></visual>"""
    (tmp_path / "a.obj").write_bytes(obj())
    (tmp_path / "arm.urdf").write_text(arm(visual))
    write_page(page_of(dl.Robot.from_urdf(tmp_path / "arm.urdf")), tmp_path / "page.html")
    from tests.report.test_page import pixels

    tab = open_page(tmp_path / "page.html", at=0.0)
    red, green, blue = np.moveaxis(pixels(tab), -1, 0)
    solid = (
        ((red > 2 * green) & (red > 2 * blue)).mean(),
        ((blue > 2 * red) & (blue > 2 * green)).mean(),
    )
    assert min(solid) > 0.005
    tab.locator("#skeleton").check()
    red, green, blue = np.moveaxis(pixels(tab), -1, 0)
    assert ((red > 2 * green) & (red > 2 * blue)).mean() < 0.5 * solid[0]


def test_a_page_says_what_it_carries(tmp_path):
    data = motion_data(robot_of(tmp_path, "a.stl"), np.zeros(1), np.zeros((1, 1)), [])
    assert data["visuals"] is None
    json.dumps(data, allow_nan=False)
