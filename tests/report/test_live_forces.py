"""The Forces leaf of a live page says what the library does: wrenches, λ, and every formulation."""

import base64
import json

import numpy as np
import pytest

import dalembert as dl
from dalembert.report import comparison
from dalembert.report.live import live_data
from dalembert.report.live_forces import forces_part, loads_part
from dalembert.report.live_kernels import page_kernels
from dalembert.report.motion import free_motion
from dalembert.report.page import motion_data, page, write_page
from dalembert.report.scene import numeric_model, poses_of
from tests.kernels.agreement import EVALUATE, in_node
from tests.report.test_live import Q, pose, state

NEAR = {"rtol": 0, "atol": 1e-9}
SUMS, PARTS, CHOSEN, APART = (f".forces .loads >> nth={k} >> data" for k in range(4))


def turn(tab, name="Forces"):
    tab.get_by_role("tab", name=name).click()


def cells(tab, selector, columns):
    """All digits of a table's numbers, by rows."""
    values = tab.locator(selector).evaluate_all("all => all.map((one) => Number(one.value))")
    return np.array(values).reshape(-1, columns)


def require_wrenches(tab, q, qd, qdd):
    """The tables say what the library does."""
    robot = dl.load("ur5")
    expected = robot.joint_wrenches(q, qd, qdd)
    np.testing.assert_allclose(cells(tab, PARTS, 6), expected, **NEAR)
    sums = cells(tab, SUMS, 5)
    force, moment = (np.linalg.norm(expected[:, part], axis=1) for part in (slice(3), slice(3, 6)))
    np.testing.assert_allclose(sums[:, :2], np.stack([force, moment]).T, **NEAR)
    # the UR5 has no friction: along the axes go the torques, all else is for the bearings
    torque = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(sums[:, 2], torque, **NEAR)
    np.testing.assert_allclose(sums[:, 3], force, **NEAR)
    across = np.sqrt(np.maximum(moment**2 - torque**2, 0.0))
    np.testing.assert_allclose(sums[:, 4], across, rtol=0, atol=1e-6)


def test_wrenches_of_a_posture_typed_in_are_those_that_hold_it(tab):
    pose(tab)
    turn(tab)
    require_wrenches(tab, Q, np.zeros(6), np.zeros(6))
    assert "Held at rest" in tab.locator(".forces p").nth(1).text_content()


def test_wrenches_in_motion_are_those_of_its_acceleration(tab):
    pose(tab)
    turn(tab)
    tab.evaluate("live.advance(0.2); live.tell('paused')")
    q, qd = state(tab), state(tab, "qd")
    qdd = dl.load("ur5").forward_dynamics(q, qd, np.zeros(6))
    require_wrenches(tab, q, qd, qdd)
    assert "In motion" in tab.locator(".forces p").nth(1).text_content()
    tab.get_by_label("state", exact=True).select_option("rest")
    require_wrenches(tab, q, np.zeros(6), np.zeros(6))
    np.testing.assert_array_equal(state(tab, "qd"), qd)  # looking at it does not stop it


ENDS = """live.forceArrows.map(({ arrows, scale }) => ({ scale, arrows: arrows.map((arrow) => {
  const tip = arrow.heads[0].position.clone();
  tip.y += arrow.tall / 2;
  arrow.group.updateMatrixWorld();
  return [arrow.group.visible, arrow.group.position.toArray(), arrow.group.localToWorld(tip).toArray()];
}) }))"""


def test_arrows_stand_at_the_joints_and_end_where_the_scale_says(tab):
    pose(tab)
    turn(tab)
    robot, poses = dl.load("ur5"), poses_of(numeric_model(dl.load("ur5")), np.array(Q))
    wrenches = robot.joint_wrenches(Q, np.zeros(6), np.zeros(6))
    for kind, part in zip(tab.evaluate(ENDS), (slice(3), slice(3, 6)), strict=True):
        assert any(visible for visible, *_ in kind["arrows"])
        for k, (visible, start, tip) in enumerate(kind["arrows"]):
            if not visible:
                continue
            R = robot.pose(Q, frame=robot.joints[k].link)[:3, :3]
            np.testing.assert_allclose(start, poses[k, :3, 3], **NEAR)
            end = poses[k, :3, 3] + R @ wrenches[k, part] / kind["scale"]
            np.testing.assert_allclose(tip, end, rtol=0, atol=1e-6)


def test_arrows_leave_with_the_leaf_unless_they_are_asked_to_stay(tab):
    visible = "live.forceArrows.map(({ arrows }) => arrows.filter((a) => a.group.visible).length)"
    pose(tab)
    assert tab.evaluate(visible) == [0, 0]
    turn(tab)
    assert min(tab.evaluate(visible)) > 1
    tab.get_by_label("moments").uncheck()
    assert tab.evaluate(visible)[1] == 0
    turn(tab, "Motion")
    assert tab.evaluate(visible) == [0, 0]
    turn(tab)
    tab.get_by_label("on every tab").check()
    turn(tab, "Motion")
    assert tab.evaluate(visible)[0] > 1


def test_every_formulation_in_the_page_says_what_it_says_in_the_library(tab):
    pose(tab)
    turn(tab)
    tab.evaluate("live.advance(0.1); live.tau.fill(0.7); live.tell('paused')")
    robot, (q, qd) = dl.load("ur5"), (state(tab), state(tab, "qd"))
    tau = np.full(6, 0.7)
    qdd = robot.forward_dynamics(q, qd, tau)
    entries = json.loads(tab.evaluate("JSON.stringify(live.data.formulations.entries)"))
    select = tab.get_by_label("formulation", exact=True)
    for entry in (one for one in entries if one["quantity"] != "mass_matrix"):
        select.select_option(entry["kernel"])
        inputs = (q, qd, qdd if entry["quantity"] == "inverse_dynamics" else tau)
        expected = robot.kernel(entry["quantity"], entry["name"])(*inputs)
        values = cells(tab, CHOSEN, 2)[:, 0]
        np.testing.assert_allclose(
            values, expected, rtol=0, atol=1e-9 * max(1, np.abs(expected).max())
        )
        assert entry["citation"] in tab.locator(".source").text_content()
    table = cells(tab, APART, 5)
    assert len(entries) == len(table) >= 12
    assert (table[:, 1] < 1e-12).all() and (table[:, 1] > 0).any()
    counts = [robot.operation_count(entry["quantity"], entry["name"]) for entry in entries]
    # a robot with a payload of its own to be set has more to compute
    assert (table[:, 2] >= [count.multiplications for count in counts]).all()
    assert (table[:, 4] > 0).all()


def test_formulations_that_are_too_large_are_named_and_not_carried(monkeypatch):
    robot = dl.load("planar_2r")
    monkeypatch.setattr(comparison, "EACH", 30)
    data = comparison.formulations_part(robot).data["formulations"]
    included = {
        entry["name"] for entry in data["entries"] if entry["quantity"] == "inverse_dynamics"
    }
    assert "newton_euler" in included  # the page's own
    assert any("uicker_kahn" in text for text in data["left_out"])
    assert "uicker_kahn" not in included


def test_a_push_does_not_go_through_the_joints_that_carry_the_link(tab):
    """Without torques and friction nothing goes along any joint, whoever pushes."""
    pose(tab)
    turn(tab)
    tab.evaluate("live.push.give(3, [30, -20, 10], 5); live.advance(0.1); live.tell('paused')")
    sums = cells(tab, SUMS, 5)
    assert sums[:, 0].max() > 10
    np.testing.assert_allclose(sums[:, 2], 0.0, rtol=0, atol=1e-9)
    robot, q, qd = dl.load("ur5"), state(tab), state(tab, "qd")
    acting = np.array(tab.evaluate("Array.from(live.kernels.call('push').tau)"))
    qdd = robot.forward_dynamics(q, qd, acting)
    wrench = robot.joint_wrenches(q, qd, qdd)[0, :3]  # the first joint: less the whole push
    R = robot.pose(q, frame=robot.joints[0].link)[:3, :3]
    expected = R @ wrench - [30, -20, 10]
    np.testing.assert_allclose(R @ cells(tab, PARTS, 6)[0, :3], expected, **NEAR)


@pytest.fixture(scope="module")
def chain_path(tmp_path_factory):
    file = tmp_path_factory.mktemp("chain") / "page.html"
    system = dl.load("four_bar")
    run = free_motion(system)
    t, q = run["time"].values, run["q"].values
    data = {**motion_data(system.robot, t, q, []), "live": live_data(system, q[0])[0]}
    write_page(page(system.name, "", "A motion.", data, []), file)
    return file


def test_the_page_of_a_closed_chain_shows_its_constraint_force(open_page, chain_path):
    tab = open_page(chain_path, at=0.0)
    tab.locator(".modes button").nth(1).click()
    turn(tab)
    chain = dl.load("four_bar")
    tab.evaluate("live.advance(0.3); live.tell('paused')")
    q, qd = state(tab), state(tab, "qd")
    qdd, lam = chain.forward_dynamics(q, qd, np.zeros(3))
    np.testing.assert_allclose(cells(tab, PARTS, 6), chain.joint_wrenches(q, qd, qdd, lam), **NEAR)
    rows, points = (f".forces .loads >> nth={k}" for k in (2, 3))
    np.testing.assert_allclose(cells(tab, f"{rows} >> data", 2)[:, 0], lam, **NEAR)
    assert tab.locator(f"{rows} >> tbody tr").all_text_contents()[0].startswith("pin[0]")
    force = chain.reactions(q, lam)["pin"]["force"]
    np.testing.assert_allclose(cells(tab, f"{points} >> data", 5)[0, 1:4], force, **NEAR)
    tab.get_by_label("state", exact=True).select_option("rest")
    _, multipliers = chain.inverse_dynamics(q, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(cells(tab, f"{rows} >> data", 2)[:, 0], multipliers, **NEAR)
    start = tab.evaluate("live.forceArrows[0].others[0].group.position.toArray()")
    np.testing.assert_allclose(start, chain.robot.pose(q, frame="rocker_tip")[:3, 3], **NEAR)


def test_constraint_forces_and_joints_in_node():
    chain = dl.load("slider_crank")
    part, loaded = forces_part(chain), loads_part(chain)
    module = page_kernels(chain, None, {**part.kernels, **loaded.kernels})
    text = base64.b64encode(module).decode("ascii")
    q, qd, _ = chain.random_state(np.random.default_rng(3))
    tau = np.array([2.0, 0.5, -0.3])
    qdd, lam = chain.forward_dynamics(q, qd, tau)
    inputs = {"q": q.tolist(), "qd": qd.tolist()}
    loads = {**inputs, "qdd": qdd.tolist(), "lam": lam.tolist(), "pushed": [0, 0, 0]}
    calls = [["forward_dynamics", {**inputs, "tau": tau.tolist()}], ["loads", loads]]
    ((_, multipliers), outputs) = (
        [np.array(x, dtype=float) for x in one] for one in in_node(EVALUATE, [[text, calls]])[0]
    )
    local, _, _, drive, _, reaction, spot = outputs
    np.testing.assert_allclose(multipliers, lam, **NEAR)
    np.testing.assert_allclose(local, chain.joint_wrenches(q, qd, qdd, lam).ravel(), **NEAR)
    np.testing.assert_allclose(drive, tau, **NEAR)
    force = chain.reactions(q, lam)["pin"]["force"]
    np.testing.assert_allclose(reaction, [*force, 0, 0, 0], **NEAR)
    tip = chain.robot.pose(q, frame=chain.dynamics.constraint_set[0].frame_b)[:3, 3]
    np.testing.assert_allclose(spot, tip, **NEAR)
    assert part.data["forces"]["rows"] == [["pin[0]", "N"], ["pin[1]", "N"]]
    assert loaded.data["loads"]["acting"] == ["pin"]


def test_a_page_offers_rest_only_where_every_configuration_allows_it():
    """q̇₂ = q₁ is at rest at the neutral configuration alone, a driver from rest only at t = 0."""
    arm, row = dl.load("planar_2r"), lambda q: np.array([[0.0, 1.0]])
    moving = dl.Pfaffian(row, b=lambda q, t: q[:1], name="carried")
    started = dl.Driver(lambda q, t: q[:1] - t * t, name="started")
    rests = [
        forces_part(system).data["forces"]["rests"]
        for system in (
            *(dl.Constrained(arm, [kind]) for kind in (moving, started)),
            dl.Constrained(arm, [dl.Pfaffian(row, name="held")]),
            arm,
        )
    ]
    assert rests == [False, False, True, True]
