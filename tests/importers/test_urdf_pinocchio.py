"""Every robot of example-robot-data against Pinocchio; the whole table is benchmarks/urdf_table.py."""

import sys
import time
from collections.abc import Iterable

import numpy as np
import pytest

from dalembert.errors import ImportFileError
from dalembert.systems.robot import Robot

if sys.platform == "win32":
    pytest.skip("Pinocchio has no wheel for Windows", allow_module_level=True)

import pinocchio as pin

from tests.oracles.pinocchio_urdf import Peer, compare, described
from tests.systems.scenes import arms

AGREEMENT = 1e-9
# what releases of the package ship broken, in both programs: a missing link, an empty robot
BROKEN = {"falcon/falcon": "is no link of the file", "ur/ur3": "has no <link>"}
STILL = ("bluevolta/bluevolta", "hector/quadrotor_base", "iris/iris_simple")
# twins of others, and one of a hundred joints: left to the table
LONG = ("tiago/tiago_dual", "talos_data/talos_full_v2_box", "talos_data/talos_reduced_box")
NAMES = [name for name in described() if name not in (*BROKEN, *LONG)]


def shipped(names: Iterable[str]) -> list[str]:
    """Those the installed release has; releases add and drop robots."""
    return [name for name in names if name in described()]


def test_the_package_is_large():
    assert len(NAMES) > 50


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_pinocchio(name, base):
    if name in STILL and base == "fixed":
        pytest.skip("nothing moves")
    robot = Robot.from_urdf(described()[name], base=base)
    peer = Peer(described()[name], robot, base)
    errors = compare(robot, peer, states=2, rng=np.random.default_rng(3), frames=4)
    assert errors.worst() < AGREEMENT, vars(errors)


@pytest.mark.parametrize("name", shipped(BROKEN))
def test_broken_ones_say_why(name):
    with pytest.raises(ImportFileError, match=BROKEN[name]):
        Robot.from_urdf(described()[name])


@pytest.mark.parametrize("name", shipped(STILL))
def test_a_robot_without_joints_needs_a_free_base(name):
    with pytest.raises(ImportFileError, match="base='free'"):
        Robot.from_urdf(described()[name])


@pytest.mark.parametrize("name", ["panda/panda", "pr2/pr2", "baxter/baxter", "tiago_pro/tiago_pro"])
def test_mimic_is_pinocchios_own(name):
    """Pinocchio has mimic joints too, where a leader comes before its follower."""
    path = described()[name]
    robot = Robot.from_urdf(path)
    peer = pin.buildModelFromUrdf(str(path), mimic=True)
    data = peer.createData()
    assert robot.nv == peer.nv
    leads = {
        n: j for n, j in zip(peer.names, peer.joints, strict=True) if "Mimic" not in j.shortname()
    }
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, robot.nv))
    p = pin.neutral(peer)
    order = np.zeros(robot.nv, dtype=int)
    for joint in robot.joints:
        there = leads[joint.name]
        order[joint.v] = there.idx_v
        angle = q[joint.q][0]
        value = [np.cos(angle), np.sin(angle)] if there.nq == 2 else [angle]
        p[there.idx_q : there.idx_q + there.nq] = value
    v, a = np.zeros((2, peer.nv))
    v[order], a[order] = qd, qdd
    friction = robot.reference("inverse_dynamics", q, qd, qdd) - (
        robot.reference("mass_matrix", q) @ qdd + robot.reference("bias", q, qd)
    )
    tau = pin.rnea(peer, data, p, v, a)[order] + friction
    ours = robot.reference("inverse_dynamics", q, qd, qdd)
    np.testing.assert_allclose(ours, tau, rtol=0, atol=AGREEMENT * np.abs(tau).max())
    upper = np.triu(pin.crba(peer, data, p))
    M = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
    ours = robot.reference("mass_matrix", q)
    np.testing.assert_allclose(ours, M, rtol=0, atol=AGREEMENT * np.abs(M).max())


@pytest.mark.parametrize(
    ("name", "limit"), [("ur/ur5_robot", 0.05), ("g1/g1_29dof_with_hand_rev_1_0", 0.3)]
)
def test_loading_is_quick(name, limit):
    """UR5 in 50 ms and a humanoid of 43 joints in 300 ms: time of this process, so that others
    on the machine do not count."""
    Robot.from_urdf(described()[name])
    start = time.process_time()
    Robot.from_urdf(described()[name])
    assert time.process_time() - start < limit


def test_compiled_kernels_are_the_reference():
    """A robot with a follower: the kernels are traced through the coupling."""
    robot = Robot.from_urdf(described()["panda/panda"])
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, robot.nv))
    for quantity, inputs in {
        "inverse_dynamics": (q, qd, qdd),
        "forward_dynamics": (q, qd, qdd),
        "mass_matrix": (q,),
    }.items():
        ours = getattr(robot, quantity)(*inputs)
        theirs = robot.reference(quantity, *inputs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_many_trees_with_followers(tmp_path):
    """From 48 freedoms on kernels are traced tree by tree, those of followers too."""
    path = tmp_path / "arms.urdf"
    path.write_text(arms(17, 3, mimic=(0, 3), across=(5,)))
    robot = Robot.from_urdf(path)
    assert robot.nv == 48
    peer = Peer(path, robot, "fixed")
    q, qd, *_ = robot.random_state(np.random.default_rng(0))
    np.testing.assert_allclose(robot.integrate(q, qd), q + qd, rtol=0, atol=1e-14)
    M, tau, qdd = peer.dynamics(q, qd, qd)
    for ours, theirs in (
        (robot.mass_matrix(q), M),
        (robot.inverse_dynamics(q, qd, qd), tau),
        (robot.forward_dynamics(q, qd, qd), qdd),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * np.abs(theirs).max())
