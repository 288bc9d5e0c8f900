"""Quantities of systems as WebAssembly beside the library's own numbers."""

import base64
import json
import zlib

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.errors import DalembertError
from dalembert.kernels.wasm.module import description, wasm_module
from dalembert.tracing.interpreter import interpret
from tests.kernels.agreement import (
    CLOSE,
    STATES,
    TIMES,
    error,
    settled,
    spread,
    states,
    variants,
)
from tests.kernels.wasm import Loaded
from tests.simulation.test_controls import ARM

ZOO = (
    *("pendulum", "rp", "elbow_3r", "ur5", "particle", "spherical_pendulum", "four_bar"),
    *("slider_crank", "chaplygin_sleigh", "rolling_disk", "arm_on_sphere"),
)
OF_CONTACT = ("arm_on_sphere",)  # of which only what others do not have


def programs(system):
    """Every quantity of the catalogue."""
    for one, program in variants(system):
        if system.name not in OF_CONTACT or one.name.startswith(("contact", "wrench")):
            yield one.name, program


@pytest.mark.parametrize("name", ZOO)
def test_every_quantity(name):
    """All in one module; `interpret` is what kernels of the CPU are compared with, too.

    Equal to 1e-12 of a result, or to what a rounding of the inputs is multiplied by at that state.
    """
    system = dl.load(name).compiled
    traced = dict(programs(system))
    loaded = Loaded(wasm_module(traced))
    for quantity, program in traced.items():
        # a seed for each quantity, so that a new one leaves the states of the others as they are
        rng = np.random.default_rng(zlib.crc32(quantity.encode()))
        arrays = states(system, program, rng)
        names = [port.name for port in program.outputs]
        last = [x[-1] for x in arrays]
        expected, many, one = (
            settled(dict(zip(names, result, strict=True)))
            for result in (
                interpret(program, *arrays),
                loaded.many(quantity, *arrays),
                loaded.one(quantity, *last),
            )
        )
        for port, y in expected.items():
            pairs = [(many[port][i], y[i], i) for i in range(STATES)] + [(one[port], y[-1], -1)]
            for actual, right, i in pairs:
                difference = error(actual[None], right[None])
                if not difference < CLOSE:  # also where it is no number
                    moved = spread(system, program, [x[i] for x in arrays])[port]
                    assert difference < TIMES * moved, f"{quantity} {port}, state {i}"


def test_beside_the_compiled_kernels():
    robot, rng = dl.load("ur5"), np.random.default_rng(1)
    names = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "pose"]
    loaded = Loaded(robot.wasm(names))
    for name in names:
        arrays = states(robot, robot.program(name), rng)
        (result,), expected = loaded.many(name, *arrays), robot.evaluate(name, *arrays)
        assert np.abs(result - expected).max() < 1e-12 * np.abs(expected).max()


def test_choices_have_names_of_their_own():
    robot = dl.load("ur5")
    loaded = Loaded(
        robot.wasm(
            {
                "hand": {"quantity": "pose", "frame": "wrist_3_link"},
                "holding": {"quantity": "inverse_dynamics", "tip_wrench": True},
                "craig": {"quantity": "inverse_dynamics", "formulation": "craig"},
            }
        )
    )
    q, qd, qdd = robot.random_state(np.random.default_rng(2))
    wrench = np.arange(6.0)
    np.testing.assert_allclose(loaded.one("hand", q)[0], robot.pose(q, "wrist_3_link"), atol=1e-14)
    torque = robot.inverse_dynamics(q, qd, qdd, tip_wrench=wrench)
    np.testing.assert_allclose(loaded.one("holding", q, qd, qdd, wrench)[0], torque, rtol=1e-12)
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(loaded.one("craig", q, qd, qdd)[0], tau, rtol=1e-12)
    assert loaded.description["functions"]["hand"]["choices"] == {"frame": "wrist_3_link"}


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_rollout(method):
    """The steps of `rollout`, with friction."""
    robot = dl.load("puma560")
    content = robot.wasm({"rollout": {"method": method}, "kinetic_energy": {}}, batch=False)
    loaded = Loaded(content)
    q, qd, tau = robot.random_state(np.random.default_rng(3))
    values = {"q": q, "qd": qd, "tau": tau, "width": np.full(6, 0.05)}
    result = loaded.roll("rollout", 50, 1e-3, **values)
    expected = robot.rollout(q, qd, tau, steps=50, dt=1e-3, method=method, smoothing=0.05)
    for x, y in zip(result, expected, strict=True):
        np.testing.assert_allclose(x, y[-1], rtol=1e-11, atol=1e-12)
    # the same places: the energy of where it is now
    energy = loaded.description["functions"]["kinetic_energy"]
    loaded.run("kinetic_energy", *(p["at"] for p in (*energy["inputs"], *energy["outputs"])))
    K = loaded.read(energy["outputs"][0]["at"], ())
    np.testing.assert_allclose(K, robot.kinetic_energy(*result), rtol=1e-12)


def test_rollout_on_a_group():
    """A ball joint: q is a quaternion, and stages start from zero."""
    ball = {"name": "ball", "joint": {"type": "spherical"}, "mass": 1.0, "com": (0.1, 0, -0.4)}
    robot = dl.Robot.from_links([{**ball, "inertia": np.diag([0.6, 0.5, 0.2])}])
    q, qd, tau = robot.random_state(np.random.default_rng(4))
    result = Loaded(robot.wasm(["rollout"])).roll("rollout", 20, 1e-2, q=q, qd=qd, tau=tau)
    for x, y in zip(result, robot.rollout(q, qd, tau, steps=20, dt=1e-2), strict=True):
        np.testing.assert_allclose(x, y[-1], rtol=1e-11, atol=1e-12)


def test_parameters_are_inputs():
    """Also of the rollout: with other values it is the rollout of the robot that has them."""

    def arm(mass, rub):
        joint = {"type": "revolute", "axis": (0, 1, 0), "coulomb": rub, "viscous": 0.1}
        link = {"name": "arm", "joint": joint, "mass": mass, "com": (0.5, 0, 0)}
        return dl.Robot.from_links([{**link, "inertia": 0.1 * np.eye(3)}])

    robot = arm(dl.Parameter("m", 1.0), dl.Parameter("rub", 0.2))
    loaded = Loaded(robot.wasm(["inverse_dynamics", "rollout"]))
    assert loaded.description["parameters"] == {"m": 1.0, "rub": 0.2}
    values, (q, qd, tau) = np.array([2.5, 0.4]), np.array([[0.3], [2.0], [0.7]])
    np.testing.assert_allclose(
        loaded.one("inverse_dynamics", q, qd, tau, values)[0],
        arm(*values).inverse_dynamics(q, qd, tau),
        rtol=1e-13,
    )
    inputs = {"q": q, "qd": qd, "tau": tau, "width": [0.1], "parameters": values}
    result = loaded.roll("rollout", 100, 1e-2, **inputs)
    expected = arm(*values).rollout(q, qd, tau, steps=100, dt=1e-2, smoothing=0.1)
    for x, y in zip(result, expected, strict=True):
        np.testing.assert_allclose(x, y[-1], rtol=1e-11)


def test_a_rollout_stays_on_the_constraints():
    """Newton's steps and the nearest velocity are functions of the module, called after each step."""
    closed = dl.load("four_bar")
    q, still = closed.neutral(), np.zeros(3)
    result = Loaded(closed.wasm(["rollout"])).roll("rollout", 50, 1e-2, q=q, qd=still, tau=still)
    expected = closed.rollout(q, still, still, steps=50, dt=1e-2, every=50)
    for x, y in zip(result, expected, strict=True):
        np.testing.assert_allclose(x, y[-1], atol=1e-11)


def test_actuators_drive_the_rollout():
    """Controls in place of torques, and activations beside q and q̇."""
    arm = dl.Robot.from_mjcf(ARM)
    q, qd, u = np.array([0.3, -0.5, 0.02]), np.array([0.1, 0.2, -0.1]), np.array([0.8, 2.0, 0.1])
    loaded = Loaded(arm.wasm({"rollout": {"controls": True}}))
    assert loaded.description["functions"]["rollout"]["controls"] == ["servo", "motor", "drift"]
    result = loaded.roll("rollout", 50, 2e-3, q=q, qd=qd, w=np.zeros(2), tau=u)
    expected = arm.rollout(q, qd, None, steps=50, dt=2e-3, controls=u)
    for x, y in zip(result, expected, strict=True):
        np.testing.assert_allclose(x, y[-1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("task", "frame"), [("position", "link4"), ("pose", "tool")])
def test_reach(task, frame):
    """Newton's steps toward a pose that there is: eight of them reach it."""
    robot = dl.load("puma560")
    loaded = Loaded(robot.wasm({"reach": {"frame": frame, "task": task}}))
    q = np.array([0.3, -0.4, 0.5, 0.2, 0.7, 0.1])
    target = robot.pose(q, frame)
    gain = loaded.description["functions"]["reach"]["gain"]
    (result,) = loaded.roll("reach", 8, gain, q=q + 0.2, target=target)
    where = np.s_[:3, 3] if task == "position" else np.s_[:]
    np.testing.assert_allclose(robot.pose(result, frame)[where], target[where], rtol=0, atol=1e-9)


def test_the_description_says_what_a_page_needs():
    robot = dl.load("panda")
    contents = description(robot.source("inverse_dynamics", target="wasm"))
    assert contents["name"] == "panda" and contents["format"] == 1
    assert contents["coordinates"] == list(robot.coordinates)
    assert contents["limits"]["upper"] == robot.upper.tolist()
    ports = contents["functions"]["inverse_dynamics"]["inputs"]
    assert [(p["name"], p["shape"]) for p in ports] == [("q", [7]), ("qd", [7]), ("qdd", [7])]
    addresses = [p["at"] for p in (*ports, *contents["functions"]["inverse_dynamics"]["outputs"])]
    assert len({*addresses}) == 4 and max(addresses) + 56 <= contents["heap"]
    # no limit is null: JSON has no infinity
    free = description(dl.load("pendulum").source("bias", target="wasm"))
    assert None in free["limits"]["upper"] and "Infinity" not in json.dumps(free)


def test_hostile_names_are_only_names():
    """They come back as they were, and in a page's base64 nothing of them is left to end a script."""
    name = '</script><img src=x onerror=alert(1)>"é'
    joint = {"type": "revolute", "name": name}
    link = {"name": "arm", "mass": 1.0, "inertia": np.eye(3), "joint": joint}
    robot = dl.Robot.from_links([link])
    content = robot.wasm(["bias"])
    assert description(content)["coordinates"] == [name]
    assert b"<" not in base64.b64encode(content)


def test_the_same_bytes_of_another_robot_object():
    assert dl.load("ur5").wasm(["bias", "pose"]) == dl.load("ur5").wasm(["bias", "pose"])


def test_bad_requests_are_refused():
    robot = dl.load("planar_2r")
    with pytest.raises(dl.UnknownNameError, match="inverse_dynamic"):
        robot.wasm(["inverse_dynamic"])
    with pytest.raises(dl.CompileError, match="float64"):
        robot.source("bias", "wasm", "float32")
    with pytest.raises(DalembertError, match="must be choices"):
        robot.wasm({"pose": "tool"})
    with pytest.raises(dl.UnknownNameError, match="no method"):
        robot.wasm({"rollout": {"method": "rk5"}})
    with pytest.raises(dl.UnknownNameError, match="takes no 'methode'; did you mean 'method'"):
        robot.wasm({"rollout": {"methode": "rk4"}})
    with pytest.raises(dl.UnknownNameError, match="no frame 'tol'; did you mean 'tool'"):
        robot.wasm({"reach": {"frame": "tol"}})
    with pytest.raises(dl.UnknownNameError, match="no task"):
        robot.wasm({"reach": {"task": "speed"}})


def test_command_writes_the_module(tmp_path):
    requests = [
        "export",
        "planar_2r",
        "--quantity",
        "bias",
        "--target",
        "wasm",
        "--out",
        str(tmp_path),
    ]
    assert CliRunner().invoke(app, requests).exit_code == 0
    content = (tmp_path / "planar_2r_bias.wasm").read_bytes()
    assert content == dl.load("planar_2r").source("bias", target="wasm")
