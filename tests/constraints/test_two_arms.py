"""Two arms and the box they hold against Pinocchio, and Bennett's linkage against its count."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ModelError
from tests.constraints.pinocchio_loops import closed_twin
from tests.constraints.states import consistent_states


@pytest.fixture(scope="module")
def box():
    """(two arms with a box, three states)."""
    closed = dl.load("two_arms_with_box")
    return closed, *consistent_states(closed, np.random.default_rng(0), 3, spread=0.2)


def test_pinocchio_agrees_on_two_arms_with_a_box(box):
    closed, q, qd, tau = box
    assert (closed.nv, closed.rows, closed.freedoms) == (18, 12, 6)
    np.testing.assert_array_equal(closed.residual(closed.neutral()).round(14), 0.0)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    twin = closed_twin(closed)
    for k in range(3):
        theirs = twin(q[k], qd[k], tau[k])
        np.testing.assert_allclose(theirs, qdd[k], atol=1e-9 * np.abs(qdd[k]).max())


def test_what_the_palms_exert_moves_the_box(box):
    """Newton and Euler for the box alone: m a = ΣF + m g, and its moments about its centre."""
    closed, q, qd, tau = box
    tau = tau * (np.arange(closed.nv) >= 6)  # nothing but the palms acts on the box
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    grasps = closed.reactions(q, lam)
    mass, inertia = 4.0, 4.0 / 12.0 * np.diag([0.08, 0.13, 0.13])
    for k in range(3):
        R, p = (x := closed.system.pose(q[k], frame="box"))[:3, :3], x[:3, 3]
        v, w = qd[k, :3], qd[k, 3:6]  # the body twist
        force, moment = np.zeros(3), np.zeros(3)
        for side in ("left", "right"):
            F, N = (grasps[f"{side}_grasp"][part][k] for part in ("force", "moment"))
            at = closed.system.pose(q[k], frame=f"{side}_face")[:3, 3]
            force, moment = force + F, moment + N + np.cross(at - p, F)
        scale = np.abs(force).max()
        a = R @ (qdd[k, :3] + np.cross(w, v))
        weight = np.array([0.0, 0.0, -9.81 * mass])
        np.testing.assert_allclose(force + weight, mass * a, atol=1e-9 * scale)
        turned = R @ (inertia @ qdd[k, 3:6] + np.cross(w, inertia @ w))
        np.testing.assert_allclose(moment, turned, atol=1e-9 * scale)


def test_bennetts_linkage_moves_against_the_count():
    result = dl.load("bennett").mobility()
    assert (result.gruebler, result.rank, result.freedoms, result.singular) == (-2, 2, 1, False)
    assert result.redundant == ("hinge",)
    for wrong in ({"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 1.0}, {"a": -0.3}):
        with pytest.raises(ModelError, match="bennett: lengths"):
            dl.load("bennett", **wrong)


def test_four_other_rods_do_not_move():
    """Without Bennett's condition sin α/a = sin β/b the loop cannot even be put together."""
    bennett = dl.load("bennett")
    frames = bennett.system.model.frames
    ground = np.eye(4)
    ground[:3, :3] = frames["ground_end"].rotation
    ground[:3, 3] = np.asarray(frames["ground_end"].translation) * 1.1  # one rod longer
    longer = dl.Loop("base", "rocker_end", "revolute", pose_a=ground, name="hinge")
    with pytest.raises(dl.ConstraintError, match="no assembled posture"):
        dl.Constrained(bennett.system, [longer], guess=bennett.neutral())
