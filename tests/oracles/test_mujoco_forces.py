"""Accelerations of robots from files are MuJoCo's: springs, tendons, fluids, actuators.

Files of dm_control and gymnasium, with what MuJoCo solves as constraints (contacts, limits,
frictionloss, equalities) switched off, under random controls.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pytest

from dalembert.formulations.parts.elements import fluid_torque
from dalembert.systems.robot import Robot
from tests.importers.test_mjcf import Peer, friction

AGREEMENT = 1e-9
STATES = 6
OFF = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
SUITE = "acrobot cartpole cheetah dog finger hopper humanoid humanoid_CMU manipulator pendulum"
FILES = {
    "dm_control": (
        "suite",
        f"{SUITE} point_mass quadruped reacher stacker walker ball_in_cup fish swimmer",
    ),
    "gymnasium": (
        "envs/mujoco/assets",
        "ant half_cheetah hopper humanoid humanoidstandup inverted_double_pendulum "
        "inverted_pendulum point pusher pusher_v5 reacher swimmer walker2d walker2d_v5",
    ),
}


def path_of(package: str, name: str) -> Path:
    """A file of an installed package, which is not imported."""
    actual = find_spec(package)
    if actual is None or actual.origin is None:
        pytest.skip(f"the package {package} is not installed")
    return Path(actual.origin).parent / FILES[package][0] / f"{name}.xml"


class Filed(Peer):
    """A robot and MuJoCo's model of the same source."""

    def __init__(self, m, robot, off=OFF) -> None:
        m.opt.disableflags |= off
        self.m, self.d, self.robot = m, mujoco.MjData(m), robot

    def acceleration(self, q, qd, tau):
        """q̈ of MuJoCo under applied torques, as ours."""
        T, drift = self.set(q, qd)
        self.d.qfrc_applied[:] = T.T @ tau
        mujoco.mj_forward(self.m, self.d)
        return T @ self.d.qacc + drift

    def drive(self, q, qd, rng):
        """Torques of the actuators under random controls and activations, which MuJoCo gets too."""
        m, robot = self.m, self.robot
        assert len(robot.actuators) == m.nu and len(robot.activations) == m.na
        if not m.nu:
            return np.zeros(robot.nv)
        self.d.ctrl[:], self.d.act[:] = 2.0 * rng.normal(size=m.nu), rng.uniform(-1, 1, m.na)
        state = {"activation": np.array(self.d.act)} if m.na else {}
        return robot.reference("actuator_forces", q, qd, np.array(self.d.ctrl), **state)

    def disagreement(self, seed=0):
        """The largest difference of accelerations at random states, relative to the largest."""
        robot, rng = self.robot, np.random.default_rng(seed)
        worst = 0.0
        for _ in range(STATES):
            q = robot.model.integrate(robot.neutral(), rng.uniform(-1.0, 1.0, robot.nv))
            qd, tau = rng.normal(size=(2, robot.nv))
            driven = self.drive(q, qd, rng)
            theirs = self.acceleration(q, qd, tau)
            ours = robot.reference("forward_dynamics", q, qd, tau + driven + friction(robot, qd))
            worst = max(worst, np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))
        return worst


@cache
def filed(package: str, name: str) -> Filed:
    path = path_of(package, name)
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)  # left alone it would write a log here
    try:
        return Filed(mujoco.MjModel.from_xml_path(str(path)), Robot.from_mjcf(path))
    finally:
        mujoco.set_mju_user_warning(before)


def written(text: str) -> Filed:
    return Filed(mujoco.MjModel.from_xml_string(text), Robot.from_mjcf(text))


@pytest.mark.parametrize(
    ("package", "name"),
    [(package, name) for package, (_, names) in FILES.items() for name in names.split()],
)
def test_forward_dynamics_of_files_is_mujocos(package, name):
    assert filed(package, name).disagreement() < AGREEMENT


FORCES = """
<mujoco>
  <option gravity="0.5 -1 -9"/>
  <default>
    <geom contype="0" conaffinity="0"/>
    <joint stiffness="3 0.4 0.2" damping="0.3 0.2 0.1" armature="0.2"/>
  </default>
  <worldbody>
    <site name="peg" pos=".3 .2 1.2"/>
    <body name="trunk" pos="0 0 1" gravcomp="0.4">
      <joint name="root" type="free"/>
      <geom size=".1 .2 .3" type="box" pos="0.1 0 0"/>
      <geom name="drum" type="cylinder" size=".12 .3" pos=".1 .2 0" euler="20 30 0"/>
      <site name="hook" pos=".1 0 .1"/>
      <body name="arm" pos="0.2 .1 .3">
        <joint name="turn" axis="0 1 0" pos="0 0 .05" ref="20" springref="40"/>
        <joint name="slide" axis="0 1 1" type="slide" springref="0.1"/>
        <geom size=".1"/>
        <site name="eye" pos=".1 .4 .1"/>
        <body name="plate" pos="0.1 0 0" gravcomp="1.5"><geom size=".05" pos=".1 .2 .3"/></body>
        <body name="hand" pos="0 0 .3" gravcomp="1">
          <joint name="wrist" type="ball" armature="0.05"/>
          <geom size=".05 .1 .2" type="box" pos="0 0 .1"/>
          <site name="thumb" pos="0 .2 .1"/>
        </body>
      </body>
    </body>
    <body name="other" pos="1 0 1"><joint stiffness="0 2 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
  <tendon>
    <fixed name="belt" stiffness="2 0.3 0.1" damping="0.2 0.1 0.3" springlength="-0.1 0.1">
      <joint joint="turn" coef="1.5"/><joint joint="slide" coef="-.3"/></fixed>
    <spatial name="string" stiffness="4" springlength="0.4"><site site="peg"/><site site="hook"/>
      <site site="eye"/><pulley divisor="2"/><site site="thumb"/><site site="hook"/></spatial>
    <spatial name="over drum" stiffness="1 2" damping="0.5"><site site="thumb"/>
      <geom geom="drum"/><site site="hook"/></spatial>
  </tendon>
</mujoco>
"""


def test_every_force_a_file_can_state_is_mujocos():
    peer = written(FORCES)
    assert not peer.robot.notes.warnings and not peer.robot.notes.left_out
    assert peer.disagreement() < AGREEMENT


@pytest.mark.parametrize("flag", ["spring", "damper", "gravity"])
def test_forces_that_the_file_switches_off_are_off(flag):
    option = f'<flag {flag}="disable"/>'
    peer = written(FORCES.replace('<option gravity="0.5 -1 -9"/>', f"<option>{option}</option>"))
    assert peer.disagreement() < AGREEMENT


FLUID = """
<mujoco>
  <option density="900" viscosity="1.7" wind="0.5 -1 2"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="trunk"><freejoint/>
      <geom size=".1 .2 .3" type="box" pos="0.1 0 0" euler="10 20 30"/>
      <body name="fin" pos=".2 0 .3" euler="0 40 0"><joint axis="0 1 0"/>
        <geom type="capsule" size=".05 .2" fluidshape="ellipsoid" pos="0 0 .1" euler="30 0 9"/>
        <geom type="ellipsoid" size=".05 .2 .1" fluidshape="ellipsoid" pos="0 0.2 .1"
          fluidcoef="0.4 0.3 1.2 0.8 0.7"/>
        <geom type="sphere" size=".05" pos=".1 0 0"/>
      </body>PLATE
      <body name="tail" pos="-.2 0 0"><joint type="ball"/><geom type="box" size=".1 .02 .2"/></body>
    </body>
  </worldbody>
</mujoco>
"""
PLATE = '<body name="plate"><geom size=".05" pos=".1 .2 .3"/></body>'


@pytest.mark.parametrize("text", [FLUID.replace("PLATE", ""), FLUID.replace("PLATE", PLATE)])
def test_drag_and_lift_of_a_fluid_are_mujocos(text):
    peer = written(text)
    assert not peer.robot.notes.left_out
    assert peer.disagreement() < AGREEMENT


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-6])
def test_drag_and_lift_on_a_small_ellipsoid_are_mujocos(size):
    """Whatever the scale: no force is small for the sake of the geom's size alone."""
    inertial = '<inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/>'
    geom = f'<geom type="ellipsoid" size="{size} {2 * size} {3 * size}" fluidshape="ellipsoid"/>'
    peer = written(
        f"""<mujoco><option density="1000" viscosity="1e-3"/><worldbody>
        <body><freejoint/>{inertial}{geom}</body></worldbody></mujoco>"""
    )
    qd = np.array([0.1, -0.2, 0.7, 0.1, -0.5, 0.3])
    peer.set(peer.robot.neutral(), qd)
    mujoco.mj_forward(peer.m, peer.d)
    ours = fluid_torque(peer.robot.model, peer.robot.neutral(), qd)
    np.testing.assert_allclose(-ours, peer.d.qfrc_fluid, rtol=1e-12)


def test_armature_of_free_and_ball_joints_is_mujocos_without_a_warning():
    text = """
    <mujoco><worldbody><body pos="0 0 1"><joint type="free" armature="0.7"/>
      <geom type="box" size=".1 .2 .3" pos=".1 .2 0"/>
      <body pos="0 0 .4"><joint type="ball" armature="0.3"/><geom type="box" size=".1 .05 .3"/></body>
    </body></worldbody></mujoco>"""
    peer = written(text)
    assert not peer.robot.notes.warnings and not peer.robot.notes.left_out
    assert peer.disagreement() < AGREEMENT
    # forward dynamics by other formulations: articulated bodies know of it too
    q, qd, tau = peer.robot.neutral(), np.linspace(-1, 1, 9), np.ones(9)
    theirs = peer.acceleration(q, qd, tau)
    for formulation in ("articulated_body", "composite_body", "operator"):
        ours = peer.robot.reference("forward_dynamics", q, qd, tau, formulation=formulation)
        np.testing.assert_allclose(ours, theirs, atol=1e-11)
