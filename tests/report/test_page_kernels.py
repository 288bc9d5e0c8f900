"""A page's kernels in Node and in Chromium, through the loader that pages carry."""

import base64
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.frameworks.rollout import step_operation
from dalembert.kernels.wasm.module import description
from dalembert.report.live_kernels import page_kernels
from tests.kernels.agreement import EVALUATE, case, in_browser, in_node


def text_of(system, tool=None):
    return base64.b64encode(page_kernels(system, tool)).decode("ascii")


@cache
def cases():
    """All quantities of small systems; `python -m tests.kernels.agreement` has larger ones."""
    return [case(name) for name in ("rp", "spherical_pendulum", "cartesian_pendulum")]


def require_same(results):
    for case_, outputs in zip(cases(), results, strict=True):
        worst = case_.worst(outputs)
        assert worst.holds, f"{case_.name} {worst}"


def test_every_quantity_in_node():
    require_same(in_node(EVALUATE, [case_.task for case_ in cases()]))


def test_every_quantity_in_a_browser(browser):
    require_same(in_browser(browser, EVALUATE, [case_.task for case_ in cases()]))


LET_GO = """async ([text, q, seconds]) => {
  const kernels = await Kernels.fromBase64(text), motion = new Motion(kernels, 1e-3);
  motion.state.q.set(q);
  const start = motion.energy();
  let drift = 0;
  for (let frame = 0; frame < 60 * seconds; frame++) {
    motion.advance(1 / 60);
    drift = Math.max(drift, Math.abs(motion.energy() - start));
  }
  return [motion.time, drift, Array.from(motion.state.q)]; // s, J, rad or m
}"""


def test_let_go_keeps_its_energy():
    """Ten seconds of a frictionless UR5 at 60 frames a second: relative drift below 1e-6."""
    robot = dl.load("ur5")
    q = np.array([0.3, -0.4, 0.5, 0.2, 0.7, 0.1])
    time, drift, end = in_node(LET_GO, [text_of(robot), q.tolist(), 10])
    assert abs(time - 10.0) < 1.001e-3
    assert drift < 1e-6 * abs(robot.potential_energy(q))
    expected, _ = robot.rollout(q, np.zeros(6), np.zeros(6), steps=round(time / 1e-3), dt=1e-3)
    # half a dozen turns of a chaotic motion multiply the rounding of each step
    np.testing.assert_allclose(end, expected[-1], rtol=0, atol=1e-6)


def test_let_go_rubs_as_the_library_does():
    """Coulomb friction rises over the velocity that `rollout` takes at the neutral posture."""
    robot = dl.load("puma560")
    q = robot.neutral()
    _, _, end = in_node(LET_GO, [text_of(robot), q.tolist(), 0.2])
    expected, _ = robot.rollout(q, np.zeros(6), np.zeros(6), steps=200, dt=1e-3)
    np.testing.assert_allclose(end, expected[-1], rtol=0, atol=1e-10)


def test_a_closed_chain_steps_as_simulated():
    system = dl.load("four_bar")
    q = np.asarray(system.neutral())
    time, drift, end = in_node(LET_GO, [text_of(system), q.tolist(), 0.5])
    step = step_operation(system, "rk4", smooth=False).kernel.ufunc
    state = q, np.zeros(3)
    for _ in range(round(time / 1e-3)):
        state = step(*state, np.zeros(3), 1e-3)
    np.testing.assert_allclose(end, state[0], rtol=0, atol=1e-10)
    assert drift < 1e-6


def test_a_closed_chain_carries_one_stage_and_a_projection():
    """Less than a step with its stages written out: 412 kB of a Stewart platform, where it was 677."""
    system = dl.load("four_bar")
    step = system.wasm({"step": step_operation(system, "rk4", smooth=False).program}, batch=False)
    parts = {"rollout": {"friction": "plain", "projected": False}, "project": {}}
    assert len(system.wasm(parts, batch=False)) < 0.75 * len(step)  # names and units too
    assert "step" not in description(page_kernels(system))["functions"]


@pytest.mark.parametrize(
    ("name", "q"), [("cartesian_pendulum", [-1, 0, 0]), ("spherical_pendulum", [1, 2])]
)
def test_mechanisms_and_energies_are_let_go(name, q):
    """Bodies in absolute coordinates, and a system given by its energies."""
    _, drift, end = in_node(LET_GO, [text_of(dl.load(name)), q, 1])
    assert drift < 1e-6 and abs(np.subtract(end, q)).max() > 0.1


def test_a_sparse_network_is_refused():
    with pytest.raises(dl.FormulationError, match="sparsely"):
        page_kernels(dl.load("n_four_bar"))


def test_a_dragged_tool_arrives():
    """One millimetre, in the frames of a tenth of a second; the posture is the page's own."""
    robot = dl.load("ur5")
    drag = """async ([text, q, target]) => {
      const kernels = await Kernels.fromBase64(text), { about, inputs } = kernels.find("reach");
      inputs.q.set(q);
      for (let frame = 0; frame < 6; frame++) kernels.roll("reach", 3, about.gain, { target });
      return Array.from(kernels.find("poses").inputs.q);
    }"""
    q = np.array([0.3, -0.9, 1.2, 0.2, 0.7, 0.1])
    target = robot.pose(q, "tool")
    target[:3, 3] += [0.05, -0.08, 0.1]
    results = in_node(drag, [text_of(robot, "tool"), q.tolist(), target.ravel().tolist()])
    assert np.abs(robot.pose(results, "tool") - target)[:3, 3].max() < 1e-6


def test_what_is_wrong_is_said():
    refused = """async ([text, calls]) => {
      const kernels = await Kernels.fromBase64(text), empty = btoa("\\0asm\\x01\\0\\0\\0");
      const asked = calls.map(([name, given]) => async () => kernels.call(name, given));
      const said = (ask) => ask().then(() => "", (error) => error.message);
      return Promise.all([...asked, () => Kernels.fromBase64(empty)].map(said));
    }"""
    calls = [["bia", {}], ["bias", {"Q": [0.0]}], ["bias", {"q": [0.0, 1.0]}]]
    messages = in_node(refused, [text_of(dl.load("pendulum")), calls])
    expected = (
        "no function 'bia'",
        "no input 'Q'",
        "'q' has 1 numbers, not 2",
        "none of dalembert's",
    )
    assert [part in message for part, message in zip(expected, messages, strict=True)] == [True] * 4


def test_outputs_are_the_same_arrays_every_time():
    """Nothing is allocated by a call; parameters start at their defaults."""
    joint = {"type": "revolute", "axis": (0, 1, 0)}
    link = {"name": "arm", "joint": joint, "mass": dl.Parameter("m", 2.0), "com": (0.5, 0, 0)}
    robot = dl.Robot.from_links([{**link, "inertia": 0.1 * np.eye(3)}])
    two_payloads = """async ([text]) => {
      const kernels = await Kernels.fromBase64(text);
      const first = Object.values(kernels.call("gravity_torque", { q: [0.1] }))[0], before = first[0];
      const again = Object.values(kernels.call("gravity_torque", { parameters: [4.0] }))[0];
      return [first === again, before, again[0]];
    }"""
    same, bare, loaded = in_node(two_payloads, [text_of(robot)])
    assert same
    np.testing.assert_allclose(bare, robot.gravity_torque([0.1])[0], rtol=1e-14)
    np.testing.assert_allclose(loaded, 2.0 * bare, rtol=1e-14)
