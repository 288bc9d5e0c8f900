"""Closed chains written into files and read again."""

import mujoco
import numpy as np
import pytest

import dalembert as dl
from tests.constraints.mujoco_loops import Peer
from tests.constraints.test_loops_in_files import APART, ROBOTS


def again(tmp_path, text: str, ending: str = "xml"):
    path = tmp_path / f"again.{ending}"
    path.write_text(text)
    return dl.load(path)


def same_motion(first, second, rtol=1e-10):
    """The two move alike from the posture of the first; joints are known again by their names.

    A joint of several bodies is several joints in a file, in the same order.
    """
    q = first.neutral()
    rng = np.random.default_rng(3)
    qd, tau = rng.normal(size=(2, first.nv))
    A = first.reference("jacobian", q)
    qd = qd - np.linalg.lstsq(A, A @ qd, rcond=1e-9)[0]
    order, positions = (
        list(range(len(ours))) if set(ours) != set(theirs) else [theirs.index(x) for x in ours]
        for ours, theirs in (
            (first.dynamics.velocities, second.dynamics.velocities),
            (first.dynamics.coordinates, second.dynamics.coordinates),
        )
    )
    moved = np.zeros(second.nq)
    moved[positions] = q
    velocity, torque = np.zeros(second.nv), np.zeros(second.nv)
    velocity[order], torque[order] = qd, tau
    one = first.reference("forward_dynamics", q, qd, tau)[0]
    other = second.reference("forward_dynamics", moved, velocity, torque)[0][order]
    np.testing.assert_allclose(other, one, rtol=0, atol=rtol * max(1.0, np.abs(one).max()))


NAMES = ("robotiq_2f85", "cassie", "stewart_platform", "two_arms_with_box", "bennett")


@pytest.mark.parametrize("name", NAMES)
def test_mjcf_of_a_closed_chain_reads_back(tmp_path, name):
    closed = dl.load(name)
    read = again(tmp_path, closed.to_mjcf())
    assert read.freedoms == closed.freedoms
    np.testing.assert_allclose(read.reference("residual", read.neutral()), 0.0, atol=1e-12)
    same_motion(closed, read)


@pytest.mark.parametrize("springs", [False, True], ids=["", "springs"])
@pytest.mark.parametrize("name", ["robotiq_2f85", "cassie"])
def test_what_is_written_moves_in_mujoco_as_here(name, springs):
    closed = dl.load(name, springs=springs)
    peer = Peer(closed.to_mjcf())
    rng = np.random.default_rng(0)
    step = 0.05 * rng.normal(size=closed.nv)
    q = closed.assemble(np.asarray(closed.dynamics.integrate(closed.neutral(), step)))
    A, qd = closed.reference("jacobian", q), rng.normal(size=closed.nv)
    qd, tau = qd - np.linalg.lstsq(A, A @ qd, rcond=1e-9)[0], rng.normal(size=closed.nv)
    qdd, force, _ = peer.solve(q, qd, tau)
    result, lam = closed.reference("forward_dynamics", q, qd, tau)
    np.testing.assert_allclose(result, qdd, rtol=0, atol=1e-9 * np.abs(qdd).max())
    np.testing.assert_allclose(-A.T @ lam, force, rtol=0, atol=1e-9 * np.abs(force).max())


def test_the_assembled_posture_goes_with_the_file():
    closed = dl.load("cassie")
    m = mujoco.MjModel.from_xml_string(closed.to_mjcf())
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    np.testing.assert_allclose(d.efc_pos[: d.ne], 0.0, atol=1e-12)


def test_rods_and_polynomials_are_written(tmp_path):
    arm = dl.load("planar_2r")
    names = arm.dynamics.coordinates
    rod = dl.Distance("base", "tool", 1.3, name="rod")
    closed = dl.Constrained(arm, [rod], guess=[0.4, 1.5])
    same_motion(closed, again(tmp_path, closed.to_mjcf()))
    gear = dl.JointCoupling(names[1], names[0], polynomial=(0.1, -0.5, 0.2), name="gear")
    closed = dl.Constrained(arm, [gear], guess=[0.4, 0.0])
    read = again(tmp_path, closed.to_mjcf())
    same_motion(closed, read)
    np.testing.assert_allclose(read.neutral(), closed.neutral(), rtol=0, atol=1e-14)


def test_tendons_that_are_coupled_are_written(tmp_path):
    """Polynomials of lengths, which MuJoCo counts from a posture that is another one in the file."""
    closed = dl.load(ROBOTS / "tendon_hand.xml")
    read = again(tmp_path, closed.to_mjcf())
    assert set(read.constraints) == set(closed.constraints)
    np.testing.assert_allclose(read.reference("residual", closed.neutral()), 0.0, atol=1e-12)
    same_motion(closed, read)
    with pytest.raises(dl.ModelError, match="URDF has no tendons"):
        closed.to_urdf()


@pytest.mark.parametrize("tilt", [1e-8, 1e-5])
def test_a_point_that_was_read_as_held_in_its_plane_is_written_as_a_point(tmp_path, tilt):
    closed = again(tmp_path, APART.format(off="1e-7", tilt=tilt))
    assert closed.rows == 2
    read = again(tmp_path, closed.to_mjcf())
    assert (read.freedoms, read.rows) == (1, 2)
    same_motion(closed, read)
    assert mujoco.MjModel.from_xml_string(closed.to_mjcf()).neq == 1


def test_a_point_that_slides_out_of_the_plane_is_no_connect():
    arm = dl.load("elbow_3r")
    guide = dl.Loop("base", "tool", ("x", "y"), name="slot")
    closed = dl.Constrained(arm, [guide], guess=[0.3, 0.4, 0.5])
    with pytest.raises(dl.ModelError, match="loop 'slot': MuJoCo holds points"):
        closed.to_mjcf()


def test_what_a_file_has_no_words_for_is_named():
    with pytest.raises(dl.ConstraintError, match="has no links"):
        dl.load("pendulum_constrained").to_mjcf()
    with pytest.raises(dl.ConstraintError, match="'contact', PointOnSurface, has no form"):
        dl.load("arm_on_sphere").to_mjcf()
    arm = dl.load("planar_2r")
    slide = dl.Constrained(arm, [dl.Loop("base", "tool", ("y",), name="slot")], guess=[0.5, -1.0])
    with pytest.raises(dl.ModelError, match="loop 'slot': MuJoCo holds points"):
        slide.to_mjcf()


@pytest.mark.parametrize(
    "name", ["robotiq_2f85", "two_arms_with_box", "bennett", "stewart_platform"]
)
def test_urdf_of_a_closed_chain_reads_back(tmp_path, name):
    closed = dl.load(name)
    read = again(tmp_path, closed.to_urdf(), "urdf")
    assert read.freedoms == closed.freedoms
    same_motion(closed, read, 1e-9)


@pytest.mark.parametrize("name", ["robotiq_2f85", "two_arms_with_box", "bennett"])
def test_loops_in_a_file_beside_the_tree_read_back(tmp_path, name):
    closed = dl.load(name)
    (tmp_path / "tree.loops.toml").write_text(closed.to_loops())
    (tmp_path / "tree.urdf").write_text(closed.robot.to_urdf())
    read = dl.load(tmp_path / "tree.urdf")
    assert read.constraints == closed.constraints
    np.testing.assert_allclose(read.neutral(), closed.neutral(), rtol=0, atol=1e-9)
    same_motion(closed, read, 1e-9)


def test_rods_slots_and_polynomials_are_written_in_a_urdf(tmp_path):
    arm = dl.load("planar_2r")
    names = arm.dynamics.coordinates
    for constrained, guess in (
        (dl.Distance("base", "tool", 1.3, name="rod"), [0.4, 1.5]),
        (dl.Loop("base", "tool", ("y",), name="slot"), [0.5, -1.0]),
        (dl.Loop("base", "tool", "pin", pose_a=shifted(1.2, 0.4), name="nail"), [0.5, -1.0]),
        (dl.JointCoupling(names[1], names[0], polynomial=(0.1, -0.5, 0.2), name="g"), [0.4, 0.0]),
        (dl.JointCoupling(names[1], offset=0.7, name="locked"), [0.4, 0.7]),
    ):
        closed = dl.Constrained(arm, [constrained], guess=guess)
        same_motion(closed, again(tmp_path, closed.to_urdf(), "urdf"))
        (tmp_path / "arm.loops.toml").write_text(closed.to_loops())
        (tmp_path / "arm.urdf").write_text(arm.to_urdf())
        same_motion(closed, dl.load(tmp_path / "arm.urdf"))


def shifted(x: float, y: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:2, 3] = x, y
    return pose
