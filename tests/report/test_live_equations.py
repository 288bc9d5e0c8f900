"""Equations with numbers: what is coloured is what is printed, and it is what the library says."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report import live
from dalembert.report.live_equations import balance_part, equations_part, page_equations
from dalembert.report.motion import free_motion, move
from dalembert.report.page import motion_data, page, robot_page, write_page
from dalembert.tracing.interpreter import interpret
from tests.report.test_live import numbers, pose, state
from tests.report.test_page import wait_until

Q = (0.3, -1.2, 1.1, -0.8, 0.9, 0.2)
HOSTILE = "<img src=x onerror=alert(1)>"
LIBRARY = {
    "M": lambda robot, q, qd, **more: robot.mass_matrix(q, **more),
    "C": lambda robot, q, qd, **more: robot.coriolis_matrix(q, qd, **more),
    "g": lambda robot, q, qd, **more: robot.gravity_torque(q, **more)[:, None],
}


def own_robot():
    """Two joints with hostile names, a named parameter, and friction."""
    load = dl.Parameter("load", 0.7)
    return dl.Robot.from_links(
        [
            {
                "name": "upper",
                "joint": {"name": HOSTILE, "type": "revolute", "axis": (0, 1, 0), "viscous": 0.3},
                **{"mass": 1.5, "com": (0.2, 0.0, 0.05), "inertia": np.diag([0.01, 0.02, 0.02])},
            },
            {
                "name": "lower",
                "parent": "upper",
                "joint": {
                    **{"name": f"2{HOSTILE}", "type": "revolute", "axis": (0, 1, 0)},
                    **{"origin_xyz": (0.4, 0.0, 0.0), "viscous": 0.2},
                },
                **{"mass": load, "com": (0.15, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.02])},
            },
        ],
        name=HOSTILE,
    )


def part_of(robot):
    motion = move(robot)
    equations = page_equations(robot)
    return equations, equations_part(robot, equations, motion.t, motion.tau)


def outputs(program, **inputs):
    """Outputs of a program by name."""
    results = interpret(program, *(np.asarray(inputs[port.name]) for port in program.inputs))
    return dict(zip([port.name for port in program.outputs], results, strict=True))


@pytest.mark.parametrize("name", ["planar_2r", "elbow_3r", "rp", "ur5"])
def test_printed_terms_add_up_to_what_the_library_computes(name):
    robot = dl.load(name)
    equations, part = part_of(robot)
    q, qd = np.random.default_rng(3).normal(size=(2, robot.nv))
    keys = {section.key for section in equations.sections}
    assert keys >= ({"M", "C", "g"} if robot.nv <= 3 else {"M", "g"})
    for k, section in enumerate(equations.sections):
        if not section.ledger.entries:
            assert f"terms_{k}" not in part.kernels
            continue
        values = outputs(part.kernels[f"terms_{k}"], q=q, qd=qd)
        owners = np.array(part.data["equations"]["sections"][k]["owners"], dtype=int)
        several = np.unique(owners)
        sums = np.bincount(owners, values.get("terms"), len(values["entries"]))
        near = {"rtol": 0, "atol": 1e-12}
        np.testing.assert_allclose(sums[several], values["entries"][several], **near)
        if section.key in LIBRARY:
            expected = LIBRARY[section.key](robot, q, qd)
            index = [(*entry.at, 0)[:2] for entry in section.ledger.entries]
            np.testing.assert_allclose(values["entries"], [expected[i] for i in index], **near)


def test_terms_and_symbols_follow_named_parameters():
    robot = own_robot()
    equations, part = part_of(robot)
    q, qd = np.array([0.4, -0.9]), np.array([0.3, 0.5])
    for k, section in enumerate(equations.sections):
        if section.key in LIBRARY:
            computed = outputs(part.kernels[f"terms_{k}"], q=q, qd=qd, parameters=[2.5])
            expected = LIBRARY[section.key](robot, q, qd, parameters={"load": 2.5})
            index = [(*entry.at, 0)[:2] for entry in section.ledger.entries]
            values = [expected[i] for i in index]
            np.testing.assert_allclose(computed["entries"], values, rtol=0, atol=1e-12)
    symbols = [one["text"] for one in part.data["equations"]["symbols"]]
    values = outputs(part.kernels["symbols"], q=q, qd=qd, parameters=[2.5])
    assert values["values"][symbols.index("load")] == 2.5


def test_entries_have_the_units_of_their_joints():
    equations, part = part_of(dl.load("rp"))
    units = {
        section.key: dict(zip([e.at for e in section.ledger.entries], tip["units"], strict=True))
        for section, tip in zip(equations.sections, part.data["equations"]["sections"], strict=True)
    }
    assert (units["M"][0, 0], units["M"][1, 1]) == ("kg m²", "kg")
    assert units["C"][0, 1] == "N s" and units["g"][1, 0] == "N"


def test_formulas_are_marked_once_and_pages_of_equations_not_at_all():
    equations = page_equations(dl.load("elbow_3r"))
    for section in equations.sections:
        assert section.body.count("data-term") == len(section.ledger.terms)
        assert section.body.count("data-entry") == len(section.ledger.entries)
    assert "data-" not in equations.equations.html()


def written(system, t, states, section):
    """A page of the motion and the equations alone: kernels of other features take long to write."""
    equations, (q, qd, tau) = page_equations(system), states
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "PARTS", (balance_part,))
        values, _ = live.live_motion(system, q, qd, [equations_part(system, equations, t, tau)])
    data = {**motion_data(system, t, q, []), **values}
    sections = [("equations", "Equations", equations.html)]
    write_page(page(system.name, "", "A motion.", data, sections), section)
    return equations


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    robot = dl.load("ur5")
    motion, file = move(robot), tmp_path_factory.mktemp("equations") / "page.html"
    written(robot, motion.t, (motion.q, motion.qd, motion.tau), file)
    return file


@pytest.fixture
def tab(open_page, path):
    """The equations of a page with their numbers, of the recorded motion."""
    values = open_page(path, at=0.6)
    values.locator("#numbers").check()
    values.locator("#equations").scroll_into_view_if_needed()
    return values


def matrix(tab):
    """The entries of the mass matrix beside its formulas, in their order."""
    return numbers(tab, '[data-section="0"] mtr[data-entry]')


def balance(tab):
    """The numbers of the equation of motion, once they are there."""
    first = tab.locator(".balance data").first
    wait_until(tab, lambda: first.evaluate("(one) => one.value") != "")
    return numbers(tab, ".balance")


def test_numbers_stand_beside_the_formulas_of_a_posture_typed_in(tab):
    robot = dl.load("ur5")
    tab.locator(".modes button").nth(1).click()
    pose(tab, Q)
    tab.locator('[data-section="0"]').scroll_into_view_if_needed()
    entries = page_equations(robot).sections[0].ledger.entries
    expected = [robot.mass_matrix(Q)[entry.at] for entry in entries]
    wait_until(tab, lambda: matrix(tab).size and np.allclose(matrix(tab), expected, 0, 1e-12))
    message = tab.locator("#equations output").text_content()
    assert message == "of the live robot"


def test_a_recorded_motion_shows_the_numbers_of_its_time(tab):
    robot = dl.load("ur5")
    motion = move(robot)
    q, qdd = ([np.interp(0.6, motion.t, x) for x in y.T] for y in (motion.q, motion.qdd))
    tab.locator(".balance").scroll_into_view_if_needed()
    equations = balance(tab)
    np.testing.assert_allclose(equations[:36], robot.mass_matrix(q).ravel(), atol=2e-4)
    np.testing.assert_allclose(equations[36:42], qdd, atol=0.02)
    # the live robot stays where it is
    np.testing.assert_allclose(state(tab), motion.q[0], atol=1e-6)


def test_larger_terms_have_thicker_bars_and_deeper_colours(tab):
    tab.locator('[data-section="0"]').scroll_into_view_if_needed()
    wait_until(tab, lambda: matrix(tab).size)
    script = """() => {
        const found = [...document.querySelectorAll('[data-section="0"] [data-term]')];
        const terms = equations.atState(live, live.data.equations.recorded,
            () => Array.from(live.kernels.call("terms_0").terms));
        return found.map((one) => ({
            value: terms[one.dataset.term],
            owner: live.data.equations.sections[0].owners[one.dataset.term],
            bar: parseFloat(one.style.getPropertyValue("--bar")),
            tint: parseFloat(one.style.getPropertyValue("--tint")),
            minus: one.classList.contains("minus") }));
    }"""
    terms = tab.evaluate(script)
    assert len(terms) > 40
    for owner in {term["owner"] for term in terms}:
        ordered = sorted((t for t in terms if t["owner"] == owner), key=lambda t: abs(t["value"]))
        for key in ("bar", "tint"):
            assert [t[key] for t in ordered] == sorted(t[key] for t in ordered)
        assert ordered[-1]["bar"] == 4.0
        assert all(t["minus"] == (t["value"] < 0) for t in ordered if t["bar"])


def test_pointing_at_a_symbol_and_a_term_says_their_values(tab):
    tab.locator('[data-section="0"]').scroll_into_view_if_needed()
    wait_until(tab, lambda: matrix(tab).size)
    tab.locator('[data-section="0"] [data-term] msub').first.hover()
    tip = tab.locator("#equations > .tip")
    wait_until(tab, tip.is_visible)
    symbol, term = tip.locator("div").all_text_contents()
    motion = move(dl.load("ur5"))
    angle = np.interp(0.6, motion.t, motion.q[:, 1])
    assert symbol.startswith("c₂ = −")
    assert -float(symbol.removeprefix("c₂ = −")) == pytest.approx(np.cos(angle), abs=1e-3)
    assert term.startswith("term: ") and term.endswith("% of the largest") and "kg m²" in term


def test_folded_formulas_compute_nothing_until_opened(tab):
    section = tab.locator('[data-section="0"]')
    section.scroll_into_view_if_needed()
    wait_until(tab, lambda: matrix(tab).size)
    section.locator("summary").click()
    tab.evaluate("""() => {
        globalThis.calls = [];
        const call = live.kernels.call;
        live.kernels.call = function (name, ...rest) {
            calls.push(name);
            return call.call(this, name, ...rest);
        };
    }""")
    tab.evaluate("clock.seek(1.0)")
    wait_until(tab, lambda: "1.00 s" in tab.locator("#equations output").text_content())
    assert "terms_0" not in tab.evaluate("calls")
    section.locator("summary").click()
    wait_until(tab, lambda: "terms_0" in tab.evaluate("calls"))


def test_numbers_are_off_until_asked_for_and_live_asks_for_them(open_page, path):
    tab = open_page(path, at=0.6)
    tick = tab.locator("#numbers")
    tick.wait_for()
    assert not tick.is_checked() and not tab.locator(".balance").is_visible()
    tab.locator(".modes button").nth(1).click()
    assert tick.is_checked() and tab.locator(".balance").is_visible()
    tick.uncheck()
    tab.locator("#joint1").fill("0.4")
    assert not tick.is_checked() and not tab.locator(".balance").is_visible()


def test_without_webassembly_the_equations_are_there(browser, path):
    context = browser.new_context(offline=True)
    context.add_init_script("delete window.WebAssembly")
    tab = context.new_page()
    tab.goto(path.as_uri())
    tab.get_by_text("WebAssembly is off").wait_for()
    assert tab.locator("#equations math").count() == 3
    assert tab.locator("#numbers").count() == 0
    context.close()


def test_an_own_robot_with_hostile_names_closes_its_balance(open_page, tmp_path):
    """M q̈ + C q̇ + g = τ + ψ, with friction, at a state in motion and another parameter."""
    write_page(robot_page(own_robot(), checks=((), ())), tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html", at=0.0)
    tab.locator(".modes button").nth(1).click()
    tab.locator(".balance").scroll_into_view_if_needed()
    tab.evaluate("live.parameters[0] = 1.9; live.pose([0.4, -0.9], [0.7, -0.3])")
    inertia = own_robot().mass_matrix([0.4, -0.9], parameters={"load": 1.9}).ravel()
    wait_until(tab, lambda: np.allclose(balance(tab)[:4], inertia, 0, 1e-12))
    mass, columns = balance(tab)[:4].reshape(2, 2), balance(tab)[4:].reshape(5, 2)
    qdd, coriolis, gravity, tau, psi = columns
    left = mass @ qdd + coriolis + gravity
    np.testing.assert_allclose(left, tau + psi, rtol=0, atol=1e-12)
    assert np.abs(psi).min() > 0.01
    assert tab.locator("#equations img").count() == 0
    titles = tab.locator(".balance td").evaluate_all("all => all.map((one) => one.title)")
    assert any(HOSTILE in title for title in titles)


def test_a_closed_chain_shows_its_constraints_and_their_forces(open_page, tmp_path):
    """M q̈ + C q̇ + g = τ − Aᵀλ, and the numbers of A beside its symbols."""
    system = dl.load("slider_crank")
    run = free_motion(system)
    states = [run[name].values for name in ("q", "qd", "tau")]
    equations = written(system, run["time"].values, states, tmp_path / "page.html")
    tab = open_page(tmp_path / "page.html", at=0.0)
    tab.locator(".modes button").nth(1).click()
    tab.locator(".balance").scroll_into_view_if_needed()
    numbers_of = balance(tab)
    mass, (qdd, coriolis, gravity, tau, force) = numbers_of[:9], numbers_of[9:].reshape(5, 3)
    left = mass.reshape(3, 3) @ qdd + coriolis + gravity
    np.testing.assert_allclose(left, tau + force, rtol=0, atol=1e-11)
    assert np.abs(force).max() > 0.1
    k = next(k for k, section in enumerate(equations.sections) if section.key == "A")
    section = f'[data-section="{k}"]'
    tab.locator(section).scroll_into_view_if_needed()
    wait_until(tab, lambda: numbers(tab, section).size)
    expected = system.dynamics.bound().at(state(tab)).A.ravel()
    np.testing.assert_allclose(numbers(tab, section), expected, rtol=0, atol=1e-12)


def test_equations_with_numbers_fit_a_narrow_page(open_page, path):
    tab = open_page(path, 400, "dark", at=0.6)
    tab.locator("#numbers").check()
    tab.locator(".balance").scroll_into_view_if_needed()
    assert balance(tab).any()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
