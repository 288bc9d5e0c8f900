"""Live pages of closed chains, of systems given by energies, and of mechanisms."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import dynamics
from dalembert.errors import CompileError
from dalembert.frameworks.rollout import step_operation
from dalembert.kernels.wasm.module import description
from dalembert.report import live
from dalembert.report.page import stage_page, system_page, write_page
from dalembert.report.runs import run_page
from dalembert.systems.wasm import wasm_within
from tests.report.test_live import numbers, state
from tests.report.test_page import changed, pixels

DERIVATIVES = "forward_dynamics_derivatives"


def test_parts_that_do_not_fit_are_left_out_and_said(monkeypatch):
    """The more important ones stay, also behind one that is too large; its data go with it."""
    monkeypatch.setattr(live, "PARTS", ())
    robot = live.with_page_parameters(dl.load("planar_2r"))
    whole = len(live.fitting_module(robot)[0])
    parts = (
        lambda system: live.Part({"slopes": {"quantity": DERIVATIVES}}, {"slopes": 1}, "slopes"),
        lambda system: live.Part(
            {"weight": {"quantity": "gravity_torque"}}, {"weight": 2}, "weight"
        ),
        lambda system: live.Part(data={"words": 3}),
    )
    monkeypatch.setattr(live, "PARTS", parts)
    monkeypatch.setattr(live, "MOST_BYTES", whole + 700)
    data, reason = live.live_data(robot, robot.neutral())
    assert "slopes" not in data and data["weight"] == 2 and data["words"] == 3
    assert reason == data["left"] == "Its page has no slopes: the kernels are too large."


def test_what_is_left_out_is_said_beside_the_live_robot_too(open_page, tmp_path, monkeypatch):
    derivatives = live.Part({"slopes": {"quantity": DERIVATIVES}}, {}, "slopes")
    monkeypatch.setattr("dalembert.report.page.QUICK", (lambda system: derivatives,))
    robot = dl.load("planar_2r")
    whole = len(live.fitting_module(live.with_page_parameters(robot), features=())[0])
    monkeypatch.setattr(live, "MOST_BYTES", whole + 700)
    write_page(stage_page(robot), tmp_path / "page.html")
    open_page(tmp_path / "page.html").get_by_text("Its page has no slopes").wait_for()


@pytest.mark.parametrize(
    ("name", "tool"),
    [("ur5", "tool"), ("four_bar", None), ("stewart_platform", "tool"), ("arm_on_sphere", "tool")],
)
def test_a_tool_that_stands_still_is_not_offered_to_be_dragged(name, tool):
    """The last pin of a linkage is on the ground; a platform, and a tool on a sphere, move."""
    assert live._moving_tool(dl.load(name)) == tool


def test_a_function_that_two_groups_name_is_there_once():
    groups = [{"bias": {}}, {"bias": {}, "mass_matrix": {}}]
    module, is_included = wasm_within(dl.load("pendulum"), groups, most=10**6)
    assert is_included == [True, True] and list(description(module)["functions"]) == [
        "bias",
        "mass_matrix",
    ]


@pytest.fixture(scope="module")
def linkage():
    return dl.load("four_bar")


@pytest.fixture(scope="module")
def path(linkage, tmp_path_factory):
    """The page of a run of a four-bar linkage."""
    start = np.asarray(linkage.neutral())
    run = dl.simulate(linkage, start, np.zeros(3), duration=0.4, dt=0.01, progress=False)
    file = tmp_path_factory.mktemp("systems") / "run.html"
    write_page(run_page(run), file)
    return file


def lead(tab, k, value):
    """Type in a coordinate, and the posture that follows."""
    tab.locator(f"#joint{k}").fill(str(value))
    return state(tab)


def test_a_coordinate_typed_in_leads_the_others(tab, linkage):
    """The posture is the library's assembled one, and the numbers shown are those of it."""
    q = lead(tab, 0, 1.9)
    expected = linkage.assemble(linkage.neutral(), fixed=["crank"])  # where it was
    for value in np.linspace(expected[0], 1.9, 20):
        expected[0] = value
        expected = linkage.assemble(expected, fixed=["crank"])
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-9)
    near = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(numbers(tab, ".joint"), linkage.gravity_torque(q), **near)
    energies = [0.0, linkage.potential_energy(q), 0.0, 0.0]  # and errors of the constraints
    np.testing.assert_allclose(numbers(tab, ".values dl"), energies, **near)
    names = [[joint.text_content() for joint in tab.locator(".joint label").all()]]
    assert names == [["crank", "coupler", "rocker"]]


def test_what_follows_can_lead_until_the_chain_does_not_close(tab, linkage):
    q = lead(tab, 2, 1.75)
    expected = linkage.assemble(q, fixed=["rocker"])
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-9)
    q = lead(tab, 2, 20.0)
    message = tab.locator(".posture .notes").text_content()
    assert "rocker goes no further than" in message and "would not close" in message
    assert np.abs(linkage.residual(q)).max() < 1e-12 and q[2] < 4.0
    lead(tab, 2, 1.75)
    assert tab.locator(".posture .notes").text_content() == ""


def test_an_address_where_the_loops_do_not_close_is_refused(tab):
    before = state(tab)
    tab.evaluate("location.hash = '#q=1e300,0,0'")
    tab.get_by_text("its loops do not close near this posture").wait_for()
    np.testing.assert_array_equal(state(tab), before)
    assert tab.evaluate("live.value('residual').every((h) => Math.abs(h) < 1e-10)")


def test_multipliers_and_steps_are_the_librarys(tab, linkage):
    q = lead(tab, 0, 1.5)
    torques = [0.4, -0.3, 0.2]
    values = tab.evaluate(
        "(tau) => Array.from(live.kernels.call('forward_dynamics', { tau }).lam)", torques
    )
    expected = linkage.forward_dynamics(q, np.zeros(3), np.array(torques))[1]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)
    tab.evaluate("live.advance(0.05)")
    step = step_operation(linkage, "rk4", smooth=False).kernel.ufunc
    moved = q, np.zeros(3)
    for _ in range(50):
        moved = step(*moved, np.zeros(3), 1e-3)
    np.testing.assert_allclose(state(tab), moved[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(state(tab, "qd"), moved[1], rtol=0, atol=1e-9)


def test_a_closed_chain_keeps_its_energy(tab, linkage):
    """Ten seconds, sixty frames in each: relative drift below 1e-6."""
    q = lead(tab, 0, 1.5)
    tab.evaluate("for (let k = 0; k < 600; k++) live.advance(1 / 60)")
    assert abs(tab.evaluate("live.lost()")) < 1e-6 * abs(linkage.potential_energy(q))
    assert np.abs(linkage.residual(state(tab))).max() < 1e-12


def test_it_is_live_from_the_recorded_instant_that_is_shown(open_page, path):
    tab = open_page(path, at=0.3)
    tab.get_by_role("button", name="From this instant").click()
    assert tab.locator("#live").is_visible() and tab.evaluate("live.time") == 0.3
    recorded = tab.evaluate("[data.states.q[30], data.states.qd[30]]")
    np.testing.assert_allclose(state(tab), recorded[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(state(tab, "qd"), recorded[1], rtol=0, atol=1e-5)
    tab.locator(".run button").nth(1).click()
    tab.locator(".run button").nth(2).click()  # back to where it was let go
    assert tab.evaluate("live.time") == 0.3
    np.testing.assert_allclose(state(tab), recorded[0], rtol=0, atol=1e-6)


def opened(open_page, system, folder):
    write_page(stage_page(system), folder / "page.html")
    tab = open_page(folder / "page.html")
    tab.locator("#live").wait_for()
    return tab


def test_a_system_given_by_its_energies_has_a_phase_portrait(open_page, tmp_path):
    system = dl.load("spherical_pendulum")
    tab = opened(open_page, system, tmp_path)
    assert tab.locator("#arm").count() == 0
    for k, value in enumerate((0.8, 0.3)):
        lead(tab, k, value)
    tab.evaluate("live.pose([0.8, 0.3], [0.5, 2.0]); live.advance(0.2); live.tell('moved')")
    q, _ = system.rollout([0.8, 0.3], [0.5, 2.0], np.zeros(2), steps=200, dt=1e-3)
    np.testing.assert_allclose(state(tab), q[-1], rtol=0, atol=1e-11)
    tab.get_by_role("tab", name="Motion").click()
    assert tab.evaluate("document.querySelector('.phase canvas').width") > 100
    tab.locator(".phase select").select_option("phi")


def test_a_mechanism_is_led_and_drawn_by_its_own_shapes(open_page, tmp_path):
    mechanism = dl.load("four_bar_linkage")
    tab = opened(open_page, mechanism, tmp_path)
    before = pixels(tab)
    q = lead(tab, 2, 0.9)
    closed = mechanism.compiled
    assert np.abs(closed.residual(q)).max() < 1e-12 and q[2] == pytest.approx(0.9, abs=1e-12)
    poses = mechanism.dynamics.free.poses(q)
    expected = np.stack([poses[name] for name in mechanism.bodies])
    on_page = np.array(tab.evaluate("Array.from(live.value('bodies'))")).reshape(-1, 4, 4)
    np.testing.assert_allclose(on_page, expected, rtol=0, atol=1e-12)
    assert changed(before, pixels(tab)) > 0.01


def test_what_is_driven_follows_its_motion(open_page, tmp_path):
    """Time enters: the state begins with the velocity of the driver, and goes with it."""
    turned = dl.Driver(lambda q, t: q[0] - 0.4 - 0.5 * np.sin(2.0 * t), name="motor")
    arm = dl.Constrained(dl.load("planar_2r"), [turned])
    tab = opened(open_page, arm, tmp_path)
    assert state(tab, "qd")[0] == pytest.approx(1.0, abs=1e-12)
    tab.evaluate("live.advance(0.5)")
    assert state(tab)[0] == pytest.approx(0.4 + 0.5 * np.sin(1.0), abs=1e-12)
    assert state(tab, "qd")[0] == pytest.approx(np.cos(1.0), abs=1e-12)
    assert "drivers" in tab.evaluate("live.data.friction")


def test_names_of_bodies_are_text(open_page, tmp_path):
    name = "<img src=x onerror=alert(1)>"
    mechanism = dl.PlanarMechanism(name).body(name, mass=1.0, inertia=0.1, at=(0.5, 0.0))
    tab = opened(open_page, mechanism.revolute(name, "ground", name, at=(0.0, 0.0)), tmp_path)
    assert any(name in text for text in tab.locator(".joint label").all_text_contents())
    assert tab.locator("img").count() == 0


@pytest.mark.parametrize(
    ("name", "reason"), [("n_four_bar", "81 velocities"), ("hanging_chain", "600")]
)
def test_a_system_that_is_too_large_says_why(name, reason):
    system = dl.load(name)
    data, message = live.live_data(system, system.neutral())
    assert data is None and reason in message


def test_the_report_of_a_mechanism_draws_it_and_computes():
    text = system_page(dl.load("cartesian_pendulum"))
    assert '"scene":{' in text and '"module":"' in text


def test_a_mechanism_too_large_for_one_program_has_a_page_of_its_motion(
    open_page, tmp_path, monkeypatch
):
    monkeypatch.setattr("dalembert.mechanisms.mechanism.MOST_COMPILED", 2)
    monkeypatch.setattr("dalembert.report.facts.MOST_COUNTED", 5)
    write_page(system_page(dl.load("two_bars")), tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html")
    assert "too many for one program" in tab.locator("#motion > p").first.text_content()
    assert tab.locator("#charts svg, #charts canvas").count() and tab.locator("#model").count()


def test_a_closed_chain_too_large_for_one_program_has_a_page_of_its_motion(monkeypatch):
    """Its routes are solved on numbers; as kernels they would take minutes, or could not be traced."""

    def refuse(self, quantity, formulation=None, **choices):
        raise CompileError(f"{formulation} cannot be traced")

    monkeypatch.setattr(dynamics, "MOST", 0)
    closed = dl.load("four_bar")
    assert closed.dynamics.large
    monkeypatch.setattr(type(closed), "kernel", refuse)
    text = system_page(closed)
    assert "3 velocities and 2 constraints" in text and "solved on numbers" in text
    assert 'id="model"' in text and 'id="agreement"' not in text and '"scene":{' in text
