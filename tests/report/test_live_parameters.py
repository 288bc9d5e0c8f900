"""Parameters of a live robot: what a page computes with them is what the library says."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report import live_parameters
from dalembert.report.live_forces import ellipsoids_part
from dalembert.report.live_parameters import nice_number, parameters_part, with_page_parameters
from dalembert.report.scene import numeric_model, poses_of
from dalembert.tracing.interpreter import interpret
from dalembert.zoo.symbolic_models import symbolic_model
from tests.report.test_live import numbers, pose, state, written
from tests.report.test_page import wait_until

Q = (0.3, -1.2, 1.1, -0.8, 0.9, 0.2)
START, NEAR = (0.4, -0.9), {"rtol": 0, "atol": 1e-9}
NAMES = ("b", "m", "l")


def arm(m=1.5, l=0.8, b=0.2):
    """Two joints under gravity: the mass of the forearm, the length before it, friction."""
    load, length = dl.Parameter("m", m), dl.Parameter("l", l)
    body = {"mass": 2.0, "com": (0.3, 0, 0), "inertia": np.diag([0.01, 0.06, 0.06])}
    elbow = [[1, 0, 0, length], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    joint = {"type": "revolute", "axis": (0, 1, 0)}
    upper = {"name": "upper", "joint": {**joint, "viscous": dl.Parameter("b", b)}, **body}
    fore = {"name": "fore", "parent": "upper", "joint": {**joint, "origin": elbow}, **body}
    tool = np.eye(4)
    tool[0, 3] = 0.6
    return dl.Robot.from_links([upper, {**fore, "mass": load}], tool=tool, name="arm")


def at(robot, **values):
    """The values as the page has them, in the order of the robot's parameters."""
    return [values.get(name, default) for name, default in robot.named_parameters.items()]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return written(arm(), tmp_path_factory.mktemp("parameters"))


@pytest.fixture
def tab(tab):
    """The parameters of the live arm, in the posture START."""
    pose(tab, START)
    tab.get_by_role("tab", name="Parameters").click()
    return tab


def give(tab, name, value):
    tab.get_by_label(name, exact=True).fill(str(value))


def compare(tab, **others):
    """Setting B with these values, A as it is; B is the live robot's now."""
    tab.get_by_label("compare two settings").check()
    tab.get_by_role("button", name="B", exact=True).click()
    for name, value in others.items():
        give(tab, name, value)


def test_a_robot_without_parameters_gets_a_payload_at_its_tool():
    ur5 = dl.load("ur5")
    parametric = with_page_parameters(ur5)
    assert dict(parametric.named_parameters) == {"payload": 0.0}
    torque = parametric.gravity_torque(Q, parameters={"payload": 2.5})
    np.testing.assert_allclose(torque, ur5.with_payload(2.5).gravity_torque(Q), atol=1e-12)
    (row,) = parameters_part(parametric).data["parameters"]
    expected = {"name": "payload", "value": 0.0, "low": 0.0, "high": 5.0, "unit": "kg"}
    assert row == {**expected, "least": 0.0}
    assert with_page_parameters(parametric) is parametric


def test_friction_of_a_robot_without_parameters_has_a_factor():
    puma, state = dl.load("puma560"), (np.array(Q), 0.3 * np.array(Q), np.zeros(6))
    parametric = with_page_parameters(puma)
    assert dict(parametric.named_parameters) == {"payload": 0.0, "friction": 1.0}
    torque = parametric.inverse_dynamics(*state)
    np.testing.assert_allclose(torque, puma.inverse_dynamics(*state), atol=1e-12)
    doubled, none = (
        parametric.inverse_dynamics(*state, parameters={"friction": factor})
        for factor in (2.0, 0.0)
    )
    assert np.abs(doubled - torque).min() > 1e-3
    np.testing.assert_allclose(doubled - torque, torque - none, atol=1e-12)
    rows = parameters_part(parametric).data["parameters"]
    assert [(row["name"], row["high"], row["unit"]) for row in rows][1] == ("friction", 2.0, "×")


def test_a_tool_that_does_not_move_gets_no_payload():
    body = {"name": "a", "mass": 1.0, "com": (0.1, 0, 0), "inertia": np.eye(3) * 0.01}
    still = dl.Robot.from_links([{**body, "joint": {"type": "revolute"}}]).with_tool(frame="base")
    assert with_page_parameters(still) is still
    assert not parameters_part(still).data


def test_sliders_have_units_and_ranges_of_what_they_are():
    rows = {row["name"]: row for row in parameters_part(arm(l=-0.8)).data["parameters"]}
    units = {name: row["unit"] for name, row in rows.items()}
    assert units == {"b": "N m s/rad", "m": "kg", "l": "m"}
    bars = {
        r["name"]: r["unit"] for r in parameters_part(symbolic_model("four_bar")).data["parameters"]
    }
    assert bars == {"density": "", **dict.fromkeys(("crank", "coupler", "ground", "rocker"), "m")}
    assert (rows["m"]["low"], rows["m"]["high"]) == (0.0, 3.0)
    assert (rows["l"]["low"], rows["l"]["high"]) == (-1.6, 1.6)
    assert live_parameters.slider_of("k", 0.0)["low"] == -1.0
    assert live_parameters.slider_of("k", None, "kg")["low"] == 0.0
    assert [nice_number(x) for x in (4.6, 0.11, 0.0)] == [5.0, 0.1, 1e-9]


def test_a_parameter_that_takes_mass_away_has_a_slider():
    """At other values than the default its body may be none."""
    link = {"name": "a", "com": (0.1, 0, 0), "inertia": np.eye(3) * 0.01}
    taken = {**link, "mass": 2.5 - dl.Parameter("out", 1.9), "joint": {"type": "revolute"}}
    (row,) = parameters_part(dl.Robot.from_links([taken])).data["parameters"]
    assert (row["unit"], row["high"]) == ("kg", 3.8)


@pytest.mark.parametrize("payload", [0.0, 2.0])
def test_ellipsoids_are_those_of_the_library(payload):
    robot = dl.load("ur5").with_payload(payload)
    rows = interpret(
        ellipsoids_part(with_page_parameters(dl.load("ur5"))).kernels["ellipsoids"],
        np.array(Q),
        np.array([payload]),
    )
    J = robot.jacobian(Q, expressed_in="world")[:3]
    np.testing.assert_allclose(rows[0], J @ J.T, atol=1e-12)
    mobility = J @ np.linalg.solve(robot.mass_matrix(Q), J.T)
    np.testing.assert_allclose(rows[1], mobility, rtol=1e-10)
    radii = robot.velocity_ellipsoid(Q)[0]
    np.testing.assert_allclose(np.sqrt(np.linalg.eigvalsh(rows[0]))[::-1], radii, rtol=1e-9)


def test_a_parameter_typed_in_changes_all_that_is_shown(tab):
    give(tab, "m", 2.25)
    give(tab, "l", 1.1)
    tab.get_by_role("tab", name="Posture").click()
    robot = arm(m=2.25, l=1.1)
    np.testing.assert_allclose(numbers(tab, ".joint"), robot.gravity_torque(START), **NEAR)
    M = robot.mass_matrix(START)
    np.testing.assert_allclose(numbers(tab, ".matrix"), M.ravel(), **NEAR)
    potential = tab.locator("[data-of='potential energy']").evaluate("(one) => Number(one.value)")
    assert potential == pytest.approx(robot.potential_energy(START), abs=1e-9)
    rows = numbers(tab, ".ellipsoid").reshape(2, 3)
    J = robot.jacobian(START, expressed_in="world")[:3]
    # the plane of the arm: the third axis has neither velocity nor mobility
    squares = np.linalg.eigvalsh(J @ J.T)[:0:-1]
    np.testing.assert_allclose(rows[0, :2], np.sqrt(squares), rtol=1e-9)
    mobile = np.linalg.eigvalsh(J @ np.linalg.solve(M, J.T))[:0:-1]
    np.testing.assert_allclose(rows[1, :2], 1.0 / mobile, rtol=1e-9)
    assert rows[:, 2].tolist() == [0.0, np.inf]
    tab.get_by_role("tab", name="Parameters").click()
    tab.get_by_role("button", name="m as it was given").click()
    assert state(tab, "parameters").tolist() == at(arm(), l=1.1)
    tab.locator(".parameters .back").click()
    assert state(tab, "parameters").tolist() == at(arm())


def test_the_picture_follows_a_length_and_leaves_with_the_live_robot(tab):
    """The link before the elbow is as long as the parameter says, and the bodies are there."""
    length = "Math.max(...view.bones.parts.map(({ mesh }) => mesh.geometry.parameters.height ?? 0))"
    give(tab, "l", 1.3)
    assert tab.evaluate(length) == pytest.approx(1.3, abs=1e-4)
    positions = np.array(tab.evaluate("view.groups.map((one) => one.position.toArray())"))
    robot = arm(l=1.3)
    np.testing.assert_allclose(
        positions, poses_of(numeric_model(robot), np.array(START))[:, :3, 3], **NEAR
    )
    tab.locator(".modes button").nth(0).click()
    assert tab.evaluate(length) == pytest.approx(0.8, abs=1e-4)
    assert not tab.evaluate("view.aids.visible")


def test_two_settings_stand_side_by_side_and_are_let_go_together(tab):
    light, loaded = arm(m=1.0), arm(m=2.8, b=0.1)
    give(tab, "m", 1.0)
    compare(tab, m=2.8, b=0.1)
    rows = numbers(tab, ".comparison").reshape(-1, 3)
    torques = np.stack([one.gravity_torque(START) for one in (light, loaded)], axis=1)
    np.testing.assert_allclose(rows[:2, :2], torques, **NEAR)
    diagonals = np.stack([one.mass_matrix(START).diagonal() for one in (light, loaded)], axis=1)
    np.testing.assert_allclose(rows[2:4, :2], diagonals, **NEAR)
    energies = [one.potential_energy(START) for one in (light, loaded)]
    np.testing.assert_allclose(rows[5, :2], energies, **NEAR)
    np.testing.assert_allclose(rows[:, 2], rows[:, 1] - rows[:, 0], atol=1e-12)
    tab.evaluate("live.advance(0.3); live.tell('moved')")
    for name, robot in (("", loaded), ("settings.other.", light)):
        q, qd = robot.rollout(START, np.zeros(2), np.zeros(2), steps=300, dt=1e-3)
        np.testing.assert_allclose(state(tab, f"{name}q"), q[-1], **NEAR)
        np.testing.assert_allclose(state(tab, f"{name}qd"), qd[-1], **NEAR)
    assert tab.evaluate("live.recording.rows") == 301  # of the live robot alone
    ghost = np.array(
        tab.evaluate("live.settings.ghost.groups.map((one) => one.position.toArray())")
    )
    there = np.array(tab.evaluate("Array.from(live.settings.other.q)"))
    np.testing.assert_allclose(ghost, poses_of(numeric_model(light), there)[:, :3, 3], **NEAR)
    tab.get_by_role("button", name="A", exact=True).click()
    np.testing.assert_allclose(state(tab), there, **NEAR)


def test_a_push_and_a_drive_act_on_both(tab):
    """The same kernels with the same parameters: two robots that begin together stay together."""
    compare(tab)
    tab.locator(".run select").nth(1).select_option("gravity")
    tab.evaluate("live.forces.forEach((one) => one.give?.(1, [0, 0, 20], 0.05)); live.advance(0.2)")
    assert np.abs(state(tab, "qd")).max() > 0.01
    np.testing.assert_array_equal(state(tab), state(tab, "settings.other.q"))
    assert tab.evaluate("live.work") == tab.evaluate("live.settings.other.work")


def test_a_change_on_the_way_is_no_loss_of_energy(tab):
    give(tab, "b", 0.0)
    tab.evaluate("live.advance(0.2); live.tell('moved')")
    give(tab, "m", 2.9)
    assert tab.evaluate("live.time") == pytest.approx(0.2)
    tab.evaluate("live.advance(0.2)")
    assert abs(tab.evaluate("live.lost()")) < 1e-7


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("m", -1, "Inertia of 'fore': mass -1 kg is negative. It stays at 1.500 kg."),
        ("b", -0.5, "Joint 'upper': viscous is -0.5; it cannot be negative."),
    ],
)
def test_what_no_body_can_be_is_refused_in_words(tab, name, value, words):
    give(tab, name, value)
    assert words in tab.locator(".refused").text_content()
    assert state(tab, "parameters").tolist() == at(arm())
    give(tab, name, 0.25)
    assert tab.locator(".refused").text_content() == ""


def test_the_address_holds_both_settings(tab, open_page, path):
    give(tab, "l", 1.25)
    compare(tab, m=2.5)
    wait_until(tab, lambda: "&b=" in tab.evaluate("location.hash"))
    again = open_page(path)
    again.goto(path.as_uri() + tab.evaluate("location.hash"))
    again.reload()
    wait_until(again, lambda: again.locator("#live").is_visible())
    np.testing.assert_array_equal(state(again), START)
    values = again.evaluate("live.settings.values.map((one) => Array.from(one))")
    assert values == [at(arm(), l=1.25), at(arm(), l=1.25, m=2.5)]
    assert state(again, "parameters").tolist() == values[0]
    for wrong, words in (
        ("1,2", "p must be 3 numbers"),
        ("1,2,x", "p must be 3 numbers"),
        (",".join(map(str, at(arm(), m=-2.0))), "mass -2 kg is negative"),
    ):

        def is_refused(p=wrong, words=words):
            """Again and again: the page may just be writing its own address."""
            again.evaluate("(p) => { location.hash = `#q=0,0&p=${p}` }", p)
            return again.get_by_text(words).is_visible()

        wait_until(again, is_refused)
        assert state(again, "parameters").tolist() == values[0]
    again.evaluate("location.hash = '#q=0,0'")
    wait_until(again, lambda: state(again, "parameters").tolist() == at(arm()))
    assert not again.evaluate("live.settings.both")


def test_names_of_parameters_are_text(open_page, tmp_path, monkeypatch):
    hostile, slider = "<img src=x onerror=alert(1)>", live_parameters.slider_of
    monkeypatch.setattr(live_parameters, "slider_of", lambda _, *rest: slider(hostile, *rest))
    page = open_page(written(arm(), tmp_path), at=0.0)
    page.locator(".modes button").nth(1).click()
    page.get_by_role("tab", name="Parameters").click()
    assert page.locator(".parameter label").all_text_contents() == [hostile] * 3
    page.locator("#parameter1").fill("-1")
    assert "is negative" in page.locator(".refused").text_content()
    assert page.locator("img").count() == 0


def test_nothing_is_cut_off_on_a_narrow_page(open_page, path):
    page = open_page(path, 400, at=0.0)
    page.locator(".modes button").nth(1).click()
    page.get_by_role("tab", name="Parameters").click()
    page.get_by_label("compare two settings").check()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
