"""Lengths and slopes of tendons are MuJoCo's, through sites, pulleys and over geoms."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from dalembert import formulations
from dalembert.systems.robot import Robot
from tests.importers.test_mjcf import Peer, close

SCENE = """
<mujoco>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="peg" pos=".3 .2 1.2"/>
    <geom name="bollard" type="sphere" size=".1" pos=".2 .1 .9"/>
    <body name="trunk" pos="0 0 1">
      <freejoint/>
      <geom size=".1 .2 .3" type="box"/>
      <geom name="drum" type="cylinder" size=".12 .3" pos=".1 .2 0" euler="20 30 0"/>
      <site name="hook" pos=".1 0 .1"/>
      <site name="beside" pos=".1 .5 0"/>
      <body name="arm" pos="0.2 .1 .3">
        <joint name="turn" axis="0 1 0" pos="0 0 .05"/>
        <joint name="slide" axis="0 1 1" type="slide"/>
        <geom size=".1"/>
        <site name="eye" pos=".1 .4 .1"/>
        <body name="hand" pos="0 0 .3">
          <joint name="wrist" type="ball"/>
          <geom size=".05" pos="0 0 .1"/>
          <site name="thumb" pos="0 .2 .1"/>
          <site name="finger" pos=".3 .2 -.4"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="belt"><joint joint="turn" coef="1.5"/><joint joint="slide" coef="-.3"/></fixed>
    <spatial name="tackle"><site site="peg"/><site site="hook"/><site site="eye"/>
      <pulley divisor="2"/><site site="thumb"/><site site="hook"/></spatial>
    <spatial name="over sphere"><site site="peg"/><geom geom="bollard"/><site site="finger"/></spatial>
    <spatial name="over drum"><site site="thumb"/><geom geom="drum"/><site site="hook"/></spatial>
    <spatial><site site="thumb"/><geom geom="drum"/><site site="peg"/><geom geom="bollard"/>
      <site site="hook"/></spatial>
  </tendon>
</mujoco>
"""


@pytest.fixture(scope="module")
def robot():
    return Robot.from_mjcf(SCENE)


def postures(robot, count):
    rng = np.random.default_rng(7)
    steps = rng.uniform(-1.4, 1.4, (count, robot.nv))
    return np.stack([robot.model.integrate(robot.neutral(), step) for step in steps])


def test_lengths_and_jacobians_of_tendons_are_mujocos(robot):
    peer, q = Peer(SCENE), postures(robot, 100)
    lengths, jacobians = robot.tendon_length(q), robot.tendon_jacobian(q)
    wrapped = 0
    for k, posture in enumerate(q):
        T, _ = peer.set(posture, np.zeros(robot.nv))
        mujoco.mj_forward(peer.m, peer.d)
        wrapped += peer.d.ten_wrapnum[2:].sum() - 7
        close(lengths[k], peer.d.ten_length)
        # the rows of the Jacobian by what they make of velocities
        for step in np.eye(robot.nv):
            peer.d.qvel[:] = np.linalg.solve(T, step)
            mujoco.mj_fwdVelocity(peer.m, peer.d)
            close(jacobians[k] @ step, peer.d.ten_velocity)
    assert wrapped > 50  # points on spheres and cylinders were met


def test_the_jacobian_is_the_slope_of_the_length(robot):
    model, h = robot.model, 1e-6
    for q in postures(robot, 5):
        J = robot.reference("tendon_jacobian", q)
        for k, step in enumerate(np.eye(robot.nv)):
            ahead, behind = (
                robot.reference("tendon_length", model.integrate(q, s * h * step)) for s in (1, -1)
            )
            np.testing.assert_allclose((ahead - behind) / (2 * h), J[:, k], atol=1e-8)


def test_ends_that_meet_beside_a_geom_do_not_pull_at_it():
    """A line of no length has no direction; rounding must not give it one."""
    text = """<mujoco><worldbody><body><joint/><geom name="g" type="cylinder"
      size=".1 1" pos="3 1 2" euler="20 40 70"/><body pos=".3 .7 .1">
      <joint type="ball"/><geom size=".1" pos="1 0 0"/><site name="a" pos=".3 .2 .7"/>
      <site name="b" pos=".3 .2 .7"/></body></body>
      </worldbody><tendon><spatial><site site="a"/><geom geom="g"/><site site="b"/></spatial></tendon>
      </mujoco>"""
    robot = Robot.from_mjcf(text)
    for q in postures(robot, 20):
        np.testing.assert_allclose(robot.reference("tendon_jacobian", q), 0.0, atol=1e-15)


def test_tendons_have_names_and_kinds(robot):
    assert [(t.name, t.kind) for t in robot.model.tendons] == [
        ("belt", "fixed"),
        ("tackle", "spatial"),
        ("over sphere", "spatial"),
        ("over drum", "spatial"),
        ("tendon4", "spatial"),
    ]


SIDES = SCENE.replace("</worldbody>", '<site name="high" pos=".2 .1 2"/></worldbody>')
SIDES = SIDES.replace('geom="drum"/', 'geom="drum" sidesite="beside"/')
SIDES = SIDES.replace('geom="bollard"/', 'geom="bollard" sidesite="high"/')


SIDES_WITHIN = SIDES.replace('name="beside" pos=".1 .5 0"', 'name="beside" pos=".1 .21 0"')
SIDES_ELSEWHERE = SIDES.replace('geom="drum" sidesite="beside"', 'geom="drum" sidesite="high"')


@pytest.mark.parametrize("text", [SIDES, SIDES_WITHIN, SIDES_ELSEWHERE])
@pytest.mark.parametrize("written", [False, True], ids=["read", "written and read"])
def test_side_sites_choose_the_side_of_a_surface(written, text):
    """Outside of it, on another body, or within, where the tendon touches it from within."""
    robot, peer = Robot.from_mjcf(text), Peer(text)
    loose = 1e-7 if text is SIDES_WITHIN else 1e-9
    free = Robot.from_mjcf(SCENE)
    robot = Robot.from_mjcf(robot.to_mjcf()) if written else robot
    assert not robot.notes.left_out
    pulled, many = 0, postures(robot, 60)
    close(robot.tendon_length(many[:5]), [robot.reference("tendon_length", q) for q in many[:5]])
    for q in many:
        T, _ = peer.set(q, np.zeros(robot.nv))
        mujoco.mj_forward(peer.m, peer.d)
        lengths, J = robot.reference("tendon_length", q), robot.reference("tendon_jacobian", q)
        # MuJoCo iterates to 1e-6 where a tendon touches from within, and its path is then longer
        np.testing.assert_allclose(lengths, peer.d.ten_length, rtol=0, atol=loose)
        pulled += int(np.sum(lengths - free.reference("tendon_length", q) > 1e-3))
        step = np.linspace(-1.0, 1.0, robot.nv)
        peer.d.qvel[:] = np.linalg.solve(T, step)
        mujoco.mj_fwdVelocity(peer.m, peer.d)
        np.testing.assert_allclose(J @ step, peer.d.ten_velocity, rtol=0, atol=100 * loose)
    assert pulled > 10


def test_what_tendons_have_beyond_the_model_is_left_out_with_its_effect():
    text = SCENE.replace('<fixed name="belt"', '<fixed name="belt" frictionloss="1" range="0 1"')
    notes = Robot.from_mjcf(text).notes
    assert [(row.what, row.name) for row in notes.left_out] == [
        ("tendon friction", "belt"),
        ("tendon limit", "belt"),
    ]
    assert notes.left_out_table().splitlines()[1].startswith("tendon friction")


ARMATURE = """<mujoco><option gravity="1 2 -9"/><worldbody><site name="post" pos=".3 .4 .1"/>
  <body><freejoint name="base"/><geom size=".1" mass="2" pos=".1 0 0"/><site name="hook" pos="0 .3 0"/>
    <body pos=".2 0 0"><joint name="a" axis="0 0 1"/><geom size=".1" mass="1" pos=".5 0 0"/>
      <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" mass="1" pos=".5 0 0"/>
        <site name="tip" pos=".5 .1 .2"/></body></body></body></worldbody>
  <tendon><fixed name="belt" armature=".5"><joint joint="a" coef="2"/><joint joint="b" coef="3"/>
    </fixed><spatial name="cable" armature="1.5"><site site="post"/><site site="tip"/>
      <pulley divisor="2"/><site site="hook"/><site site="tip"/></spatial></tendon>
  <actuator><motor name="m" tendon="belt" armature=".2" damping=".3" gear="2"/></actuator></mujoco>"""


@pytest.mark.parametrize("written", [False, True], ids=["read", "written and read"])
def test_armature_of_tendons_and_of_their_actuators_is_inertia(written):
    """M has a Jᵀ J, and C q̇ has a Jᵀ J̇ q̇, as in MuJoCo."""
    robot, peer = Robot.from_mjcf(ARMATURE), Peer(ARMATURE)
    assert not robot.notes.left_out
    assert [t.armature[0] for t in robot.model.tendons] == pytest.approx([0.5 + 4 * 0.2, 1.5])
    robot = Robot.from_mjcf(robot.to_mjcf()) if written else robot
    rng = np.random.default_rng(2)
    for q in postures(robot, 5):
        qd, qdd, tau = rng.normal(size=(3, robot.nv))
        M, inverse, forward = peer.dynamics(q, qd, qdd, tau)
        close(robot.reference("mass_matrix", q), M)
        close(robot.reference("inverse_dynamics", q, qd, qdd), inverse)
        for formulation in formulations("forward_dynamics"):
            qdd = robot.reference("forward_dynamics", q, qd, tau, formulation=formulation)
            close(qdd, forward)


def test_armature_between_branches_couples_them():
    """T = ½ a (c·q̇)² has the cross terms that MuJoCo's M has no place for: named as a difference."""
    text = """<mujoco><worldbody>
      <body><joint name="a"/><geom size=".1" mass="1"/></body>
      <body><joint name="b"/><geom size=".1" mass="1"/></body></worldbody>
      <tendon><fixed name="belt" armature="2"><joint joint="a" coef="1"/><joint joint="b" coef="3"/>
      </fixed></tendon></mujoco>"""
    robot = Robot.from_mjcf(text)
    (row,) = robot.notes.left_out
    assert (row.what, row.name) == ("zeros of M beside a tendon's armature", "belt")
    M = robot.mass_matrix(np.zeros(2))
    inertia = 0.4 * 0.1**2  # of the balls
    np.testing.assert_allclose(M, inertia * np.eye(2) + 2.0 * np.outer([1, 3], [1, 3]), atol=1e-15)
    close(robot.forward_dynamics(np.zeros(2), np.zeros(2), [1.0, 2.0]), np.linalg.solve(M, [1, 2]))


def test_armature_of_a_tendon_may_be_all_the_inertia_of_a_joint():
    text = """<mujoco><worldbody><body><joint name="a" type="slide"/><geom size=".1" mass="1"/>
      <body><joint name="b"/><geom size=".1" mass="1"/></body></body></worldbody>
      <tendon><fixed name="belt" armature="2"><joint joint="b" coef="3"/></fixed></tendon></mujoco>"""
    robot = Robot.from_mjcf(text)
    massless = [replace(b, inertia=0.0 * b.inertia) for b in robot.model.bodies]
    robot = Robot(robot.model.with_bodies(tuple(massless)))
    close(robot.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 36.0]), [-9.81, 2.0])
