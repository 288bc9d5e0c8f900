"""The demo: its checks, its motion and its picture."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.report import comparison
from dalembert.report.figures import ball, tube
from dalembert.report.motion import POSTURES, move, postures
from dalembert.report.scene import between_axes, numeric_model, poses_of, posture_parts


def run(*args):
    return CliRunner().invoke(app, ["demo", *args])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("dalembert.cli.performance.SECONDS", 0.01)


@pytest.fixture(scope="module")
def ball_and_slide():
    solid = {"mass": 1.0, "com": (0.0, 0.1, 0.2), "inertia": np.eye(3)}
    links = [
        {"name": "ball", "joint": {"type": "spherical"}, **solid},
        {"name": "arm", "parent": "ball", "joint": {"type": "cylindrical"}, **solid},
    ]
    return dl.Robot.from_links(links, name="ball_and_slide")


@pytest.mark.parametrize("name", ["ur5", "rp"])
def test_demo_writes_the_page_it_names(tmp_path, name):
    result = run("--out", str(tmp_path / "new" / "folder"), "--robot", name, "--states", "5000")
    assert result.exit_code == 0, result.output
    path = tmp_path / "new" / "folder" / "demo.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert 50_000 < path.stat().st_size < 300_000
    page = path.with_suffix(".html")
    assert 500_000 < page.stat().st_size < 3_000_000
    assert result.stdout.rstrip().endswith(f"Now open {page}")
    assert "5,000 states" in result.stdout
    assert "forward ∘ inverse = identity" in result.stdout
    assert "✗" not in result.stdout


def test_demo_fails_when_a_check_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "TOLERANCE", 0.0)
    result = run("--out", str(tmp_path), "--robot", "planar_2r", "--states", "100")
    assert result.exit_code == 1
    assert "✗" in result.stdout
    assert "checks exceed" in result.stderr


def test_demo_without_matplotlib_names_the_package(tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    result = run("--out", str(tmp_path), "--robot", "pendulum", "--states", "100")
    assert result.exit_code == 1
    assert "pip install matplotlib" in result.stderr


def test_demo_says_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("--out", str(tmp_path / "file"), "--robot", "pendulum", "--states", "100")
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_every_formulation_is_checked():
    robot = dl.load("planar_2r")
    rows = list(comparison.formulations(robot))
    expected = [
        (quantity.replace("_", " "), name)
        for quantity in comparison.COMPARED
        for name in dl.formulations(quantity)
    ]
    assert [(row.quantity, row.formulation) for row in rows] == expected
    assert all(row.holds for row in rows)
    identities = list(comparison.identities(robot))
    assert len(identities) == 4
    assert all(identity.holds for identity in identities)


def test_formulations_that_cannot_treat_the_joints_are_left_out(ball_and_slide):
    rows = list(comparison.formulations(ball_and_slide))
    names = {row.formulation for row in rows if row.quantity == "inverse dynamics"}
    assert "newton_euler" in names
    assert "lagrange" not in names
    assert all(row.holds for row in rows)


def test_formulations_that_differ_are_found(monkeypatch):
    """A second mass matrix with one entry changed is seen, and so is the honest one beside it."""
    quantity = dl.formulations.quantity("mass_matrix")
    good = quantity.formulations[0]
    bump = np.diag([1e-9, 0.0])
    bad = replace(good, name="bad", implementation=lambda model, q: good.function(model, q) + bump)
    both = replace(quantity, formulations=(good, bad))
    monkeypatch.setitem(dl.formulations.QUANTITIES, "mass_matrix", both)
    rows = [r for r in comparison.formulations(dl.load("planar_2r")) if r.quantity == "mass matrix"]
    assert [row.holds for row in rows] == [False, False]
    assert rows[1].apart == pytest.approx(1e-9, rel=1.0)
    assert rows[1].compiled < 1e-12


def test_nan_is_a_failure():
    assert not comparison.Identity("claim", "a", "b", float("nan")).holds
    assert not comparison.Agreement("q", "f", "c", float("nan"), 0.0).holds


def test_relative_error_is_per_state():
    a, b = np.array([[1e9, 0.0], [1.0, 0.0]]), np.array([[1e9, 0.0], [1.0, 1e-3]])
    assert comparison.relative_error(a, b) == pytest.approx(1e-3)
    assert comparison.relative_error(np.zeros((2, 3)), np.zeros((2, 3))) == 0.0


@pytest.mark.parametrize("name", ["ur5", "puma560", "rp"])
def test_energy_balance_closes(name):
    robot = dl.load(name)
    motion = move(robot)
    # Simpson's rule with 1 ms steps on a smooth motion of some 100 J
    assert motion.residual < 1e-8
    assert motion.has_friction == (name == "puma560")
    assert np.abs(motion.qd[[0, -1]]).max() < 1e-12
    assert np.abs(motion.work).max() > 1.0


def test_velocity_of_a_quaternion_motion_is_its_derivative(ball_and_slide):
    assert move(ball_and_slide).residual < 1e-8


@pytest.mark.parametrize("name", POSTURES)
def test_postures_are_within_the_limits(name):
    robot = dl.load(name)
    for posture in postures(robot):
        for joint in robot.joints:
            assert joint.lower <= tuple(posture[joint.q]) <= joint.upper


def test_links_end_at_joints_that_turn_about_their_axes():
    robot = dl.load("puma560")
    q = np.array(POSTURES["puma560"][0])
    model = numeric_model(robot)
    (parts,) = posture_parts(robot, q[None])
    np.testing.assert_allclose(parts[-1].a, robot.pose(q)[:3, 3], atol=5e-5)
    # turning a joint moves neither its origin nor its axis
    for i, frame in enumerate(poses_of(model, q)):
        turned = poses_of(model, q + 0.3 * np.eye(robot.nv)[i])
        np.testing.assert_allclose(turned[i, :3, 2:], frame[:3, 2:], atol=1e-12)


def test_parts_of_compound_joints(ball_and_slide):
    (parts,) = posture_parts(ball_and_slide, ball_and_slide.neutral()[None])
    kinds = {part.body: part.kind for part in parts if part.kind in ("ball", "rail", "drum")}
    assert [kinds[body] for body in (0, 1, 2)] == ["ball", "rail", "drum"]


def test_links_follow_common_normals():
    x, _, z = np.eye(3)
    path = between_axes(np.zeros(3), z, np.array([0.4, 0.0, 0.1]), z)
    np.testing.assert_allclose(path, [[0, 0, 0], [0.4, 0, 0], [0.4, 0, 0.1]], atol=1e-15)
    path = between_axes(np.zeros(3), z, np.array([3.0, 2.0, 1.0]), x)
    np.testing.assert_allclose(path, [[0, 0, 0], [0, 0, 1], [0, 2, 1], [3, 2, 1]], atol=1e-15)


def test_solids_point_outward():
    centre = np.array([1.0, 2.0, 3.0])
    up = np.array([0.0, 0.0, 1.0])
    faces = np.concatenate([ball(centre, 0.5), tube(centre - up, centre + up, 0.2, capped=True)])
    normal = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    outward = faces.mean(axis=1) - centre
    assert (np.einsum("ij,ij->i", normal, outward) > 0).all()
