"""Files that close chains against MuJoCo's own matrices, solved exactly, and against Pinocchio."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, JointCoupling, Loop, TendonCoupling
from tests.constraints.mujoco_loops import Peer
from tests.constraints.pinocchio_loops import closed_twin

ROBOTS = Path(__file__).parents[1] / "robots"
FILES = ("gripper", "digit_leg", "kangaroo_leg", "tidybot", "tendon_hand")
COUPLINGS = (JointCoupling, TendonCoupling)
AGREEMENT = 1e-9


@cache
def closed(name: str) -> Constrained:
    return dl.load(ROBOTS / f"{name}.xml")


def states(system: Constrained, count: int = 4):
    """(q, q̇, τ) on the constraints, around the reference posture."""
    rng = np.random.default_rng(1)
    for _ in range(count):
        step = rng.uniform(-0.2, 0.2, system.nv)
        q = system.assemble(np.asarray(system.dynamics.integrate(system.neutral(), step)))
        A, qd = system.reference("jacobian", q), rng.normal(size=system.nv)
        qd = qd - np.linalg.lstsq(A, A @ qd, rcond=1e-9)[0]
        yield q, qd, rng.normal(size=system.nv)


def close(ours, theirs):
    scale = max(1.0, np.abs(theirs).max())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * scale)


def signed(system: Constrained) -> np.ndarray:
    """±1 (rows,): ours are b − a where MuJoCo has first − second, but for joints."""
    return np.concatenate(
        [
            np.full(rows.stop - rows.start, 1.0 if isinstance(kind, COUPLINGS) else -1.0)
            for kind, rows in zip(
                system.description.constraints.values(),
                system.description.slices.values(),
                strict=True,
            )
        ]
    )


@pytest.mark.parametrize("name", FILES)
def test_closed_files_move_as_mujocos_matrices_say(name):
    moves_as_in_mujoco(closed(name), (ROBOTS / f"{name}.xml").read_text())


def moves_as_in_mujoco(system: Constrained, text: str) -> None:
    """M, h, A, q̈, Aᵀλ at four states; λ itself where it is unique and its rows are the same."""
    peer = Peer(text)
    assert isinstance(system, Constrained)
    welded = any(getattr(c, "directions", "") == "weld" for c in system.dynamics.constraint_set)
    for q, qd, tau in states(system):
        M, h, J, _ = peer.matrices(q, qd)
        qdd, force, f = peer.solve(q, qd, tau)
        A = system.reference("jacobian", q)
        result, lam = system.reference("forward_dynamics", q, qd, tau)
        close(system.reference("mass_matrix", q), M)
        # ours has no friction in it, theirs no constant friction
        close(system.reference("bias", q, qd) + system.robot.model.drive.viscous * qd, h)
        close(result, qdd)
        close(-A.T @ lam, force)
        if welded:  # its rows are turned and scaled: the same velocities are left
            assert np.linalg.matrix_rank(np.concatenate([A, J]), 1e-9) == system.description.rank
            continue
        close(signed(system)[:, None] * A, J)
        if system.dynamics.balanced:
            close(-signed(system) * lam, f)


WELDS = {
    "as it stands": '<weld name="w" body1="target" body2="hand"/>',
    "by numbers": """<weld name="w" body1="target" body2="hand" anchor="0.01 0.02 0.03"
        relpose="0.1 0.05 -0.02 0.99 0.1 0.05 -0.05" torquescale="2"/>""",
    "to the world": '<weld name="w" body1="hand"/>',
    "redundant": '<weld name="w" body1="hand"/><connect name="c" body1="hand" anchor="0 0 0.1"/>',
}


@pytest.mark.parametrize("weld", WELDS)
def test_welds_to_the_world_and_to_mocap_bodies_hold_the_hand(tmp_path, weld):
    """A mocap body stands where the file puts it; anchor and relpose are those of MuJoCo."""
    text = (ROBOTS / "tidybot.xml").read_text()
    text = text.replace("</equality>", f"{WELDS[weld]}</equality>")
    path = tmp_path / "held.xml"
    path.write_text(text)
    constrained = dl.load(path)
    assert constrained.freedoms == closed("tidybot").freedoms - 6
    assert constrained.dynamics.balanced == (weld != "redundant")
    moves_as_in_mujoco(constrained, text)


@pytest.mark.parametrize("name", ["digit_leg", "kangaroo_leg", "cassie", "robotiq_2f85"])
def test_pinocchio_moves_the_same_loops_alike(name):
    inputs = dl.load(name) if dl.zoo.is_known(name) else closed(name)
    loops = [c for c in inputs.dynamics.constraint_set if isinstance(c, Loop)]
    system = Constrained(inputs.system, loops, guess=inputs.neutral())
    twin = closed_twin(system)
    for q, qd, tau in states(system, 2):
        qdd, _ = system.reference("forward_dynamics", q, qd, tau)
        close(twin(q, qd, tau), qdd)


def test_a_mechanism_is_put_together_from_its_keyframe():
    """The first one of the file by default, where the knee is bent; or the one that is asked for."""
    leg = closed("kangaroo_leg")
    knee = leg.dynamics.coordinates.index("knee")
    straight = dl.load(ROBOTS / "kangaroo_leg.xml", keyframe="reference")
    assert (
        abs(leg.neutral()[knee] - 0.9) < 0.2 < abs(leg.neutral()[knee] - straight.neutral()[knee])
    )
    np.testing.assert_allclose(leg.reference("residual", leg.neutral()), 0.0, atol=1e-12)
    with pytest.raises(dl.UnknownNameError, match="no keyframe 'bend'; did you mean 'bent'"):
        dl.load(ROBOTS / "kangaroo_leg.xml", keyframe="bend")


def test_a_tree_alone_is_what_is_asked_for_by_name():
    tree = dl.load(ROBOTS / "gripper.xml", loops="ignore")
    assert isinstance(tree, dl.Robot) and len(tree.notes.equalities) == 5
    assert any("not enforced" in warning for warning in tree.notes.warnings)
    assert not any("not enforced" in w for w in closed("gripper").robot.notes.warnings)
    assert tree.nv == closed("gripper").nv


def test_what_holds_nothing_is_left_out_and_said():
    gripper, tidy = closed("gripper"), closed("tidybot")
    (left,) = gripper.robot.notes.left_out
    assert (left.what, left.name) == ("weld constraint", "idle")
    assert left.effect == "nothing: 'base' and the world do not move against each other"
    assert set(gripper.constraints) == {"right_pin", "left_pin", "gear"}
    assert [e.name for e in gripper.robot.notes.equalities if not e.active] == ["off"]
    assert [left.name for left in tidy.robot.notes.left_out] == ["target"]


def test_a_polynomial_of_joints_is_about_their_references():
    """q₁ − q₁₀ = p(q₂ − q₂₀), as MuJoCo has it; a joint without a leader stays where p(0) puts it."""
    gripper, tidy = closed("gripper"), closed("tidybot")
    q = gripper.assemble(gripper.neutral() + 0.3)
    right, left = (gripper.dynamics.coordinates.index(f"{s}_driver") for s in ("right", "left"))
    x = q[left] - 0.1
    assert q[right] == pytest.approx(x + 0.3 * x**2 - 0.2 * x**3 + 0.1 * x**4, abs=1e-12)
    latch = tidy.dynamics.coordinates.index("latch")
    assert tidy.neutral()[latch] == pytest.approx(0.15 + 0.05, abs=1e-12)


APART = """<mujoco model="apart"><compiler angle="radian"/><default><joint axis="0 1 0"/></default>
  <worldbody>
    <body name="crank"><joint name="crank"/>
      <inertial mass="1" pos="0 0 0.15" diaginertia="0.01 0.01 0.01"/>
      <body name="coupler" pos="0 0 0.3"><joint name="coupler" axis="{tilt} 1 0"/>
        <inertial mass="1" pos="0.4 0 0.15" diaginertia="0.05 0.05 0.05"/>
        <site name="end" pos="0.8 0 0.3"/></body></body>
    <body name="rocker" pos="0.7 {off} 0"><joint name="rocker"/>
      <inertial mass="1" pos="0 0 0.3" diaginertia="0.03 0.03 0.03"/>
      <site name="pin" pos="0.1001 0 0.6"/></body>
  </worldbody>
  <equality><connect name="pin" site1="end" site2="pin"/></equality></mujoco>"""


def test_loops_that_close_to_the_digits_of_their_file_only_are_assembled_to_rounding(tmp_path):
    """Out of its plane the pin is apart by 1.4e-8 m, and no motion changes that."""
    path = tmp_path / "apart.xml"
    path.write_text(APART.format(off="1.4e-8", tilt=0))
    loose = dl.load(path)
    path.write_text(APART.format(off=0, tilt=0))
    exact = dl.load(path)
    np.testing.assert_allclose(loose.reference("residual", loose.neutral()), 0.0, atol=1e-15)
    np.testing.assert_allclose(loose.neutral(), exact.neutral(), rtol=0, atol=1e-15)
    q = loose.assemble(loose.neutral() + 0.1)
    np.testing.assert_allclose(loose.reference("residual", q), 0.0, atol=1e-15)
    motion = [s.reference("forward_dynamics", q, np.zeros(3), np.ones(3)) for s in (loose, exact)]
    np.testing.assert_allclose(motion[0][0], motion[1][0], rtol=1e-12)
    assert loose.freedoms == 1 and loose.dynamics.content != exact.dynamics.content


@pytest.mark.parametrize("tilt", [1e-9, 1e-8, 1e-6, 1e-5])
def test_axes_that_are_parallel_to_the_digits_of_a_file_do_not_lock_a_planar_loop(tmp_path, tilt):
    """Taken at its word, the row out of the plane leaves no motion; it is left away, and said."""
    path = tmp_path / "tilted.xml"
    path.write_text(APART.format(off="1e-7", tilt=tilt))
    tilted = dl.load(path)
    path.write_text(APART.format(off=0, tilt=0))
    exact = dl.load(path)
    assert (tilted.freedoms, tilted.rows, exact.rows) == (1, 2, 3)
    np.testing.assert_allclose(tilted.neutral(), exact.neutral(), rtol=0, atol=tilt)
    motion = [
        s.reference("forward_dynamics", s.neutral(), np.zeros(3), np.ones(3))[0]
        for s in (tilted, exact)
    ]
    np.testing.assert_allclose(*motion, rtol=10 * tilt)
    (message,) = tilted.robot.notes.left_out
    assert (message.what, message.name) == ("direction of a connect", "pin")
    assert not exact.robot.notes.left_out


def test_loops_that_do_not_close_are_refused_with_the_way_out(tmp_path):
    path = tmp_path / "apart.xml"
    path.write_text(APART.format(off="1e-3", tilt=0))
    with pytest.raises(
        dl.ConstraintError, match=r"'pin' is left open by 0.001 .* loops=\"ignore\""
    ):
        dl.load(path)
