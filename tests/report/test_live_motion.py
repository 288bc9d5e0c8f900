"""Motion of a live robot: pushes, drives and stops do what the library's simulation does."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.page import stage_page, write_page
from dalembert.report.scene import poses_of
from tests.report.test_live import Q, pose, state
from tests.report.test_page import wait_until

STEP = 1e-3  # s, of the page


@pytest.fixture
def tab(tab):
    """The live robot of a page, in a posture that is no special one."""
    pose(tab)
    return tab


def pushed(robot, link, force):
    """τ of a force (3,) on a link's centre of mass, by the Jacobian of its frame."""
    index = [body.name for body in robot.model.bodies].index(link)
    center = np.asarray(robot.model.bodies[index].center, float)

    def tau(t, q, qd):
        T = poses_of(robot.model, q)[index]
        J = robot.jacobian(q, frame=link, expressed_in="world")
        arm = T[:3, :3] @ center + T[:3, 3] - robot.pose(q, frame=link)[:3, 3]
        return J[:3].T @ force + J[3:].T @ np.cross(arm, force)

    return tau


def test_a_push_is_the_force_that_the_library_simulates(tab):
    """Force constant in the world, its torques renewed every millisecond, Runge–Kutta steps."""
    robot, force = dl.load("ur5"), np.array([20.0, -35.0, 15.0])
    tab.evaluate("(F) => live.push.give(3, F, 0.2)", force.tolist())
    tab.evaluate("live.advance(0.2)")
    controller = pushed(robot, robot.model.bodies[3].name, force)
    settings = {"duration": 0.2, "dt": STEP, "control_dt": STEP, "method": "rk4"}
    run = dl.simulate(robot, Q, None, controller, progress=False, **settings)
    np.testing.assert_allclose(state(tab), run.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(state(tab, "qd"), run.qd[-1], rtol=0, atol=1e-8)
    # it is over, and its work is in the balance
    assert tab.evaluate("live.push.acts") is False
    tab.evaluate("live.advance(0.3)")
    assert abs(tab.evaluate("live.work")) > 1.0
    assert abs(tab.evaluate("live.lost()")) < 1e-6  # J, of Runge–Kutta steps


def test_a_push_typed_in_begins_the_motion(tab):
    tab.get_by_role("tab", name="Motion").click()
    tab.locator(".push summary").click()
    tab.get_by_label("body that is pushed").select_option("forearm_link")
    tab.get_by_label("force along x, N").fill("40")
    before = tab.evaluate("live.count")
    tab.locator(".push button").click()
    wait_until(tab, lambda: tab.evaluate("live.count") > before + 220)
    assert tab.evaluate("live.work") != 0.0
    assert tab.locator(".run button").first.text_content() == "Pause"


def link_at(tab, body):
    """The pixel at which the middle of a body is seen."""
    return tab.evaluate(
        """(body) => {
          const { x, y, z } = view.groups[body].localToWorld(
            new THREE.Vector3(...live.push.middles[body]));
          const arm = document.getElementById("arm"), frame = arm.getBoundingClientRect();
          const at = pixelOf(new THREE.Vector3(x, y, z), arm, new THREE.Vector3());
          return [frame.left + at[0], frame.top + at[1]];
        }""",
        body,
    )


def test_a_link_is_pulled_in_the_picture(tab):
    x, y = link_at(tab, 2)
    camera = tab.evaluate("view.camera.position.toArray()")
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y - 40, steps=4)
    wait_until(tab, lambda: tab.evaluate("live.time") > 0.05)
    label = tab.locator("output.force")
    wait_until(tab, lambda: label.is_visible() and label.text_content().endswith(" N"))
    assert tab.evaluate("live.push.acts")
    # the force of a spring and a damper, at the point that was grasped
    values = tab.evaluate(
        "(() => { live.run(false); const { force, point } = live.kernels.call('push');"
        " const { pointer, push_stiffness: [k] } = live.push.inputs;"
        " return [force, point, pointer].map((x) => Array.from(x)).concat([k]) })()"
    )
    force, point, pointer, k = (np.array(x) for x in values)
    assert np.linalg.norm(force) > 0.0
    assert k == pytest.approx(tab.evaluate("live.push.stiffness"))
    assert np.linalg.norm(force) < 2.0 * k * np.linalg.norm(pointer - point)
    tab.mouse.up()
    wait_until(tab, lambda: not label.is_visible())
    assert tab.evaluate("live.push.acts") is False
    assert tab.evaluate("view.camera.position.toArray()") == camera
    assert abs(tab.evaluate("live.lost()")) < 1e-7


def test_beside_the_robot_a_drag_turns_the_view(tab):
    before = tab.evaluate("view.camera.position.toArray()")
    frame = tab.locator("#arm").bounding_box()
    x, y = frame["x"] + 0.9 * frame["width"], frame["y"] + 0.15 * frame["height"]
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 80, y + 30, steps=4)
    tab.mouse.up()
    wait_until(tab, lambda: tab.evaluate("view.camera.position.toArray()") != before)
    assert tab.evaluate("live.count") == 0


def test_computed_torque_along_way_points_is_the_library_s(tab):
    """Torques renewed every millisecond: the way-points are passed within 1 mrad."""
    robot, points = dl.load("ur5"), np.array([Q, np.add(Q, 0.3), np.subtract(Q, 0.2)])
    for q in points[1:]:
        pose(tab, q)
        tab.get_by_role("button", name="Add as way-point").click()
    pose(tab)
    tab.get_by_role("tab", name="Motion").click()
    for k in (1, 2):
        field = tab.get_by_label(f"seconds before way-point {k}")
        field.fill("0.4")
        field.press("Enter")
    tab.evaluate("live.choose('follow')")
    assert tab.get_by_label("torques", exact=True).input_value() == "follow"
    tab.evaluate("live.advance(0.4)")
    np.testing.assert_allclose(state(tab), points[1], rtol=0, atol=1e-3)
    tab.evaluate("live.advance(0.4)")
    target = dl.control.via_points(points, [0.0, 0.4, 0.8])
    controller = dl.control.ComputedTorque(robot, target, kp=100.0, kd=20.0)
    settings = {"duration": 0.8, "dt": STEP, "control_dt": STEP, "method": "rk4"}
    run = dl.simulate(robot, Q, None, controller, progress=False, **settings)
    np.testing.assert_allclose(state(tab), run.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(state(tab), points[2], rtol=0, atol=1e-3)
    error = np.array(tab.evaluate("Array.from(live.path.error())"))
    np.testing.assert_allclose(error, state(tab) - points[2], rtol=0, atol=1e-12)
    assert abs(tab.evaluate("live.lost()")) < 1e-6
    # from where it is, by the button
    tab.get_by_role("button", name="Follow").click()
    wait_until(tab, lambda: tab.evaluate("live.time") > 0.02)
    power = np.array(tab.evaluate("live.run(false), Array.from(live.power())"))
    np.testing.assert_array_equal(power, state(tab, "tau") * state(tab, "qd"))
    # the way is drawn beside the live robot alone
    visible = "view.world.children.filter((one) => one.visible).length"
    whole = tab.evaluate(visible)
    tab.get_by_role("button", name="Recorded motion").click()
    assert tab.evaluate(visible) < whole
    tab.get_by_role("button", name="Live", exact=True).click()
    assert tab.evaluate(visible) == whole
    tab.get_by_role("button", name="Clear").click()
    assert tab.locator(".points li").count() == 0


def test_a_posture_is_held_against_a_push_as_the_library_holds_it(tab):
    robot, force = dl.load("ur5"), np.array([0.0, 30.0, -20.0])
    tab.get_by_label("torques", exact=True).select_option("hold")
    tab.evaluate("(F) => { live.push.give(2, F, 0.1); live.advance(0.1); }", force.tolist())
    inertia = np.diag(robot.mass_matrix(Q))
    controller = dl.control.PDGravity(robot, Q, kp=100.0 * inertia, kd=20.0 * inertia)
    hand = pushed(robot, robot.model.bodies[2].name, force)

    def both(t, q, qd):
        return controller.command(t, q, qd, np.zeros(0), controller.constants)[0] + hand(t, q, qd)

    settings = {"duration": 0.1, "dt": STEP, "control_dt": STEP, "method": "rk4"}
    run = dl.simulate(robot, Q, None, both, progress=False, **settings)
    np.testing.assert_allclose(state(tab), run.q[-1], rtol=0, atol=1e-9)
    for _ in range(2):
        tab.evaluate("live.advance(1)")
    np.testing.assert_allclose(state(tab), Q, rtol=0, atol=1e-4)  # it has come back


def test_stops_act_as_the_library_s_do(tab):
    """A stop is hit; without restitution it is leant on and left again, its force being renewed
    every millisecond while the library integrates it."""
    robot, q = dl.load("ur5"), np.array([-0.2, 1.8, 3.1, -0.3, 0.5, 2.0])
    go = "([q, e]) => { live.stops.restitution = e; live.pose(q); live.advance(0.2); }"
    for restitution, near in ((0.0, 1e-5), (0.5, 1e-7), (1.0, 1e-7)):
        tab.evaluate(go, [q.tolist(), restitution])
        if restitution == 0.0:
            assert state(tab)[2] == robot.upper[2]
        tab.evaluate("live.advance(0.2)")
        settings = {"duration": 0.4, "dt": 0.1, "restitution": restitution}
        run = dl.simulate(robot, q, None, progress=False, **settings)
        assert "upper_stop" in run.event_kind.values.tolist()
        np.testing.assert_allclose(state(tab), run.q[-1], rtol=0, atol=near)
        assert state(tab)[2] <= robot.upper[2]
        taken = tab.evaluate("live.struck")
        assert taken == pytest.approx(float(run.dissipated[-1]), abs=1e-5)
        assert (taken > 1e-3) == (restitution < 1.0)
        assert abs(tab.evaluate("live.lost()")) < 1e-6
    tab.get_by_role("tab", name="Motion").click()
    tab.locator(".stops summary").click()
    tab.get_by_label("stops at the joints' limits").uncheck()
    tab.evaluate("(q) => { live.pose(q); live.advance(0.2); }", q.tolist())
    assert state(tab)[2] > robot.upper[2]


def test_a_joint_on_its_stop_is_held_by_it_in_all_that_is_shown(tab):
    """q̈ and the wrenches are those of the robot that leans on its stop, not of one beyond it."""
    robot, q = dl.load("ur5"), np.array([-0.2, 1.8, 3.1, -0.3, 0.5, 2.0])
    go = "(q) => { live.stops.restitution = 0; live.pose(q); live.advance(0.15); }"
    tab.evaluate(go, q.tolist())
    at, qd = state(tab), state(tab, "qd")
    assert at[2] == robot.upper[2] and qd[2] == 0.0
    tab.get_by_role("tab", name="Forces").click()
    values = tab.evaluate("loadsOf(live).at(() => {}) ?? Array.from(loadsOf(live).qdd)")
    M, free = robot.mass_matrix(at), robot.forward_dynamics(at, qd, np.zeros(6))
    others = [0, 1, 3, 4, 5]
    expected = np.zeros(6)
    expected[others] = np.linalg.solve(M[np.ix_(others, others)], (M @ free)[others])
    assert free[2] > 1.0
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(state(tab, "acting"), np.zeros(6))


def arm_with_friction(coulomb, load=0.5):
    """Two joints with Coulomb friction; the mass at the end is a parameter."""
    joint = {"type": "revolute", "axis": (0, 1, 0), "coulomb": coulomb}
    body = {"mass": 1.0, "com": (0.3, 0, 0), "inertia": np.diag([0.001, 0.02, 0.02])}
    elbow = np.eye(4)
    elbow[0, 3] = 0.6
    first = {"name": "upper", "joint": {**joint, "limits": (-2.0, 0.8)}, **body}
    second = {"name": "fore", "parent": "upper", "joint": {**joint, "origin": elbow}, **body}
    second["mass"] = dl.Parameter("load", load)
    return dl.Robot.from_links([first, second], tool=elbow, name="rubbing")


@pytest.fixture(scope="module")
def friction_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rubbing")
    write_page(
        stage_page(arm_with_friction(dl.Parameter("friction", 0.4))), folder / "rubbing.html"
    )
    return folder / "rubbing.html"


@pytest.mark.parametrize("values", [{"friction": 0.4, "load": 0.5}, {"friction": 6.0, "load": 0.2}])
def test_coulomb_friction_rises_as_in_the_library_from_there(open_page, friction_page, values):
    """Over widths of the posture where it was let go and of the parameters it has."""
    tab, q = open_page(friction_page), np.array([-1.2, 1.4])
    wait_until(tab, lambda: tab.evaluate("live !== null && live.isShown"))
    robot = arm_with_friction(dl.Parameter("friction", 0.4))
    settings = [values[name] for name in robot.named_parameters]
    tab.evaluate("(p) => live.settings.put(Float64Array.from(p))", settings)
    tab.evaluate(
        "(q) => { live.stops = null; live.pose(q, [2, -3]); live.advance(0.4); }", q.tolist()
    )
    options = {"duration": 0.4, "dt": STEP, "method": "rk4", "friction": "smooth"}
    run = dl.simulate(robot, q, [2.0, -3.0], parameters=values, progress=False, **options)
    np.testing.assert_allclose(state(tab), run.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(state(tab, "qd"), run.qd[-1], rtol=0, atol=1e-8)


def test_each_of_two_settings_has_its_own_stops(open_page, friction_page):
    """One falls onto its stop and rests there; the other has too much friction to come so far."""
    tab, robot = open_page(friction_page), arm_with_friction(dl.Parameter("friction", 0.4))
    wait_until(tab, lambda: tab.evaluate("live !== null && live.isShown"))
    q, stiff = [0.7, 0.2], {"friction": 60.0, "load": 0.5}
    begin = "([q, b]) => { live.pose(q); live.settings.compare(true, b); live.advance(0.6); }"
    tab.evaluate(begin, [q, [stiff[name] for name in robot.named_parameters]])
    assert state(tab)[0] == robot.upper[0]
    assert state(tab, "rests").tolist() == [1, 0]
    assert state(tab, "settings.other.rests").tolist() == [0, 0]
    options = {"duration": 0.6, "dt": STEP, "method": "rk4", "friction": "smooth"}
    run = dl.simulate(robot, q, None, parameters=stiff, progress=False, **options)
    assert run.q[-1][0] < robot.upper[0] - 0.01
    # where both joints creep, the faster of their coupled modes is beyond rk4's bound (3.7 of 2.8): it
    # chatters by 5e-5 rad and carries rounding up to 1e-7 (a start 1e-15 beside it, in the library)
    np.testing.assert_allclose(state(tab, "settings.other.q"), run.q[-1], rtol=0, atol=1e-6)


def test_a_link_of_a_closed_chain_is_pushed(open_page, tmp_path):
    chain, force = dl.load("four_bar"), np.array([3.0, 2.0, 0.0])
    write_page(stage_page(chain), tmp_path / "chain.html")
    tab = open_page(tmp_path / "chain.html")
    wait_until(tab, lambda: tab.evaluate("live !== null && Boolean(live.push)"))
    assert tab.evaluate("live.stops") is None  # the library has none for closed chains either
    assert tab.evaluate("[...live.laws.keys()]") == ["none", "gravity"]
    q = state(tab)
    tab.evaluate("(F) => { live.push.give(1, F, 0.2); live.advance(0.2); }", force.tolist())
    controller = pushed(chain.robot, chain.robot.model.bodies[1].name, force)
    settings = {"duration": 0.2, "dt": STEP, "control_dt": STEP, "method": "rk4"}
    run = dl.simulate(chain, q, None, controller, progress=False, **settings)
    np.testing.assert_allclose(state(tab), run.q[-1], rtol=0, atol=1e-9)
    assert abs(tab.evaluate("live.work")) > 1e-3
    assert abs(tab.evaluate("live.lost()")) < 1e-6
