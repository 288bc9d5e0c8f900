"""Recursions as tables: against SymPy's derivatives, a printed example, and the torques they give."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.errors import EquationError, FormulationError, ShapeError, UnknownNameError
from dalembert.formulations import QUANTITIES
from dalembert.formulations.parts.recursion_table import TERMS
from dalembert.zoo.symbolic_models import symbolic_model
from tests.formulations.mechanisms import random_model, random_motion

FORMULATIONS = [f.name for f in QUANTITIES["inverse_dynamics"].formulations if f.name in TERMS]
STATE = ([0.3, -0.7], [1.1, 0.4], [-0.5, 0.9])


def rotation(angle):
    c, s = sympy.cos(angle), sympy.sin(angle)
    return sympy.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def derived(placement, time):
    """The second derivative of a place, by SymPy."""
    return placement.diff(time, 2)


def assert_same(ours, theirs):
    """Equal expressions, entry by entry, at random numbers for their symbols."""
    rng = np.random.default_rng(0)
    for a, b in zip(np.ravel(ours), np.ravel(np.array(theirs, dtype=object)), strict=True):
        for _ in range(3):
            numbers = {s: rng.uniform(0.5, 1.5) for s in sorted((a - b).free_symbols, key=str)}
            assert abs(sympy.N((a - b).subs(numbers))) < 1e-12


class Symbols:
    """Symbols of a table beside functions of time for SymPy's own derivatives."""

    def __init__(self, table):
        self.t = sympy.Symbol("t")
        acceleration_of = {rate: s for s, rate in table.rates.items()}
        self.q = [s for s in acceleration_of if s not in table.rates]
        self.functions = [sympy.Function(s.name)(self.t) for s in self.q]
        rates = [acceleration_of[s] for s in self.q]
        self.back = {}
        for f, s, rate in zip(self.functions, self.q, rates, strict=True):
            self.back |= {f.diff(self.t, 2): acceleration_of[rate], f.diff(self.t): rate, f: s}

    def written(self, e):
        """Functions of time and their derivatives as the table's symbols."""
        return sympy.Matrix(e).subs(self.back)


def test_a_symbolic_planar_arm_is_what_sympy_differentiates():
    """v̇_C = Rᵀ d²r/dt² and N = Rᵀ d(I ω)/dt of both links, from places alone."""
    table = symbolic_model("planar_2r").recursion(formulation="craig", gravity="potential")
    symbols = Symbols(table)
    one, two = symbols.functions
    l1, r1, r2, m1, m2 = sympy.symbols("l1 r1 r2 m1 m2")
    R1, R2 = rotation(one), rotation(one + two)
    x, z = sympy.Matrix([1, 0, 0]), sympy.Matrix([0, 0, 1])
    placements = (R1 * x * r1, R1 * x * l1 + R2 * x * r2)
    for k, (R, placement, m) in enumerate(zip((R1, R2), placements, (m1, m2), strict=True)):
        felt = symbols.written(R.T * derived(placement, symbols.t))
        assert_same(table["v_dot_C"][k], felt)
        assert_same(table["F"][k], m * felt)
    rotated = symbols.written((one + two).diff(symbols.t, 2) * z * sympy.Symbol("Iz2"))
    assert_same(table["N"][1], rotated)
    assert_same(table["omega"][1], symbols.written(z * (one + two).diff(symbols.t)))


def test_a_symbolic_sliding_joint_is_what_sympy_differentiates():
    """The RP arm: 2 ω × ḋ Z + d̈ Z in v̇ of the sliding link."""
    table = symbolic_model("rp").recursion(formulation="craig", gravity="potential")
    symbols = Symbols(table)
    theta, d = symbols.functions
    placement = rotation(theta) * sympy.Matrix([d, 0, 0])
    assert_same(table["R"][1], sympy.eye(3))
    assert_same(
        table["v_dot"][1], symbols.written(rotation(theta).T * derived(placement, symbols.t))
    )


def test_the_printed_example_of_two_links():
    """Craig 1986, §6.7: point masses at the ends of two links, gravity along −y, all in symbols."""
    m1, m2, l1, l2, g = (dl.Parameter(name) for name in ("m1", "m2", "l1", "l2", "g"))
    rows = [
        {"a": 0.0, "mass": m1, "com": [l1, 0.0, 0.0], "inertia": np.zeros((3, 3))},
        {"a": l1, "mass": m2, "com": [l2, 0.0, 0.0], "inertia": np.zeros((3, 3))},
    ]
    rows = [{"alpha": 0.0, "d": 0.0, "theta": 0.0, "joint": "revolute", **row} for row in rows]
    arm = dl.Robot.from_dh(rows, convention="modified", gravity=[0.0, -1.0 * g, 0.0])
    table = arm.recursion(formulation="craig")
    m1, m2, l1, l2, g = sympy.symbols("m1 m2 l1 l2 g")
    (t1, t2), (w1, w2), (a1, a2) = (
        sympy.symbols(names) for names in ("theta1 theta2", "dtheta1 dtheta2", "ddtheta1 ddtheta2")
    )
    s1, c1, s2, c2 = sympy.sin(t1), sympy.cos(t1), sympy.sin(t2), sympy.cos(t2)
    s12, c12 = sympy.sin(t1 + t2), sympy.cos(t1 + t2)
    assert_same(table["v_dot"][0], [g * s1, g * c1, 0])
    assert_same(table["v_dot_C"][0], [-l1 * w1**2 + g * s1, l1 * a1 + g * c1, 0])
    v_dot = [l1 * a1 * s2 - l1 * w1**2 * c2 + g * s12, l1 * a1 * c2 + l1 * w1**2 * s2 + g * c12, 0]
    assert_same(table["v_dot"][1], v_dot)
    v_C = [v_dot[0] - l2 * (w1 + w2) ** 2, v_dot[1] + l2 * (a1 + a2), 0]
    assert_same(table["v_dot_C"][1], v_C)
    assert_same(table["f"][1], [m2 * v_C[0], m2 * v_C[1], 0])
    n2 = m2 * l2 * v_C[1]
    assert_same(table["n"][1], [0, 0, n2])
    tau1 = (
        m2 * l2**2 * (a1 + a2)
        + m2 * l1 * l2 * c2 * (2 * a1 + a2)
        + (m1 + m2) * l1**2 * a1
        - m2 * l1 * l2 * s2 * w2**2
        - 2 * m2 * l1 * l2 * s2 * w1 * w2
        + m2 * l2 * g * c12
        + (m1 + m2) * l1 * g * c1
    )
    assert_same(table["tau"], [tau1, n2])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_table_ends_in_the_torques_of_its_formulation(formulation):
    """All terms are there and finite, for every kind of joint, with tool, base and drives."""
    rng = np.random.default_rng(3)
    kinds = ("revolute", "prismatic", "helical") if formulation == "craig" else None
    robot = dl.Robot(random_model(rng, *([kinds] if kinds else []), n=4))
    state, shifted = robot.random_state(rng), random_motion(rng)
    table = robot.recursion(*state, **shifted, formulation=formulation)
    tau = robot.reference("inverse_dynamics", *state, formulation=formulation, **shifted)
    np.testing.assert_allclose(table["tau"], tau, rtol=0, atol=1e-11 * np.abs(tau).max())
    for term in table.terms:
        assert table[term.name].shape == (len(robot.model.bodies), *term.shape)
        assert np.isfinite(table[term.name]).all()


@pytest.mark.parametrize("formulation", ["craig", "hollerbach_3x3", "hollerbach_4x4"])
def test_terms_are_listed_for_both_kinds_of_gravity(formulation):
    robot = dl.load("planar_2r")
    for gravity in ("base", "potential"):
        table = robot.recursion(*STATE, formulation=formulation, gravity=gravity)
        assert set(table.values) == {*(term.name for term in table.terms), "tau"}


def test_recording_costs_a_formulation_nothing():
    """Counted as written, a run with a recorder does the same arithmetic as one without."""
    from dalembert.formulations.parts.recursion_table import Recorder
    from dalembert.kernels.program.count import tally
    from dalembert.systems.counting import general_chain

    chain = general_chain(3)
    for formulation in FORMULATIONS:
        if formulation == "uicker_kahn":
            continue  # it never forms Ẇ and Ẅ unless they are asked for
        function = QUANTITIES["inverse_dynamics"].formulation(formulation).function
        counts = [
            tally(
                lambda f=function, remaining=remaining, **x: f(chain, **x, **remaining),
                dict.fromkeys(_IN, (3,)),
            )
            for remaining in ({}, {"record": Recorder()})
        ]
        assert counts[0] == counts[1], formulation


_IN = ("q", "qd", "qdd")


def test_a_batch_is_one_call_and_every_state_of_it_the_same():
    robot = dl.load("puma560")
    states = robot.random_state(np.random.default_rng(1), 4)
    table = robot.recursion(*states)
    assert table["omega"].shape == (4, 6, 3) and table.batch == (4,)
    one = robot.recursion(*(x[2] for x in states))
    for name, value in table.at(2).values.items():
        np.testing.assert_allclose(value, one[name], rtol=0, atol=1e-12 * np.abs(value).max())
    np.testing.assert_array_equal(table.link("link3")["f"], table["f"][:, 2])
    with pytest.raises(ShapeError, match=r"table.at\(0\)"):
        table.text()


def test_a_dataset_has_links_axes_units_and_sources():
    actual = dl.load("planar_2r").recursion(*STATE, formulation="craig").to_xarray()
    assert actual["n"].dims == ("link", "axis") and actual["R"].dims == ("link", "row", "column")
    assert (
        actual["n"].attrs["units"] == "N m" and "centre of mass" in actual["N"].attrs["long_name"]
    )
    assert float(actual["omega"].sel(link="link2", axis="z")) == pytest.approx(1.5)
    assert actual.attrs["formulation"] == "craig" and "RBE 3005" in actual.attrs["source"]
    twists = dl.load("planar_2r").recursion(*STATE, formulation="screw").to_xarray()
    assert float(twists["V"].sel(link="link2", component="angular z")) == pytest.approx(1.5)


def test_tables_are_printed_in_numbers_and_in_symbols():
    robot = dl.load("planar_2r")
    numbers, symbols = robot.recursion(*STATE), symbolic_model("planar_2r").recursion()
    text = str(numbers)
    assert "ω  angular velocity, in the link's axes, rad/s\n  link1" in text
    assert f"{numbers['omega'][1, 2]:.6g}" in text and "τ  torque" in text
    assert "ω₂ = (0, 0, θ̇₁ + θ̇₂)" in str(symbols) and "ω̇₁ = (0, 0, θ̈₁)" in str(symbols)
    assert r"\omega_{2} &= \begin{bmatrix} 0 \\ 0 \\ \dot{\theta}_{1}" in symbols.latex("omega")
    assert r"\ddot{\theta}_{1}" in symbols._repr_latex_() and symbols._repr_html_() is None
    assert numbers._repr_html_().count("<table>") == len(numbers.terms)
    assert numbers._repr_latex_() is None
    assert r"\omega_{2} &= \begin{bmatrix} 0" in numbers.latex("omega")


def test_expressions_of_ones_own_replace_the_symbols():
    a, b = sympy.symbols("a b")
    table = symbolic_model("planar_2r").recursion([a, b], [0, 0], [1, 0], formulation="craig")
    l1, r2 = sympy.symbols("l1 r2")  # the link frames of p.19 are at the centres of mass
    assert list(table["v_dot"][1]) == [l1 * sympy.sin(b), l1 * sympy.cos(b) + r2, 0]


def test_symbols_of_casadi_give_expressions(casadi):
    """A bearing force inside somebody's own function, differentiated there."""
    robot, x = dl.load("planar_2r"), casadi.SX.sym("x", 6)
    table = robot.recursion(x[:2], x[2:4], x[4:])
    force = casadi.Function("force", [x], [casadi.SX(table["f"].ravel())])
    expected = robot.recursion(*STATE)["f"]
    actual = np.array(force(np.concatenate(STATE))).reshape(2, 3)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)
    assert "CasADi" not in str(table) and table._repr_html_() is None
    with pytest.raises(EquationError, match="a table of CasADi symbols is not printed"):
        table.text()


def test_symbols_evaluate_to_the_numbers():
    """An arm of numbers with sliding joints and drives: symbols, then numbers for them."""
    robot = dl.load("scara")
    rng = np.random.default_rng(2)
    q, qd, qdd = robot.random_state(rng)
    written, numbers = robot.recursion(formulation="silver"), robot.recursion(q, qd, qdd)
    acceleration_of = {rate: s for s, rate in written.rates.items()}
    symbols = [s for s in acceleration_of if s not in written.rates]
    rates = [acceleration_of[s] for s in symbols]
    values = dict(zip(symbols, q, strict=True)) | dict(zip(rates, qd, strict=True))
    values |= dict(zip((acceleration_of[s] for s in rates), qdd, strict=True))
    for name, term in (("P", "f"), ("L", "n"), ("omega", "omega")):
        actual = [float(e.xreplace(values)) for e in np.ravel(written[name])]
        expected = np.ravel(numbers[term])
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_open_parameters_and_joints_that_follow_others():
    arm = symbolic_model("planar_2r")
    changed = arm.recursion(*STATE, parameters={"m1": 2.0}, formulation="craig")
    light = arm.recursion(*STATE, parameters={"m1": 1.0}, formulation="craig")
    np.testing.assert_allclose(changed["F"][0], 2.0 * light["F"][0])
    gripper = dl.Robot.from_urdf(_GRIPPER)
    table = gripper.recursion([0.2], [1.0], [0.0])
    assert table.links == ("a", "b") and table["tau"].shape == (1,)
    np.testing.assert_allclose(table["omega"][:, 2], [1.0, -2.0])


_GRIPPER = """<robot name="gripper"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="jb" type="continuous"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
<mimic joint="ja" multiplier="-2"/></joint></robot>"""


def test_mistakes_are_named():
    robot = dl.load("planar_2r")
    with pytest.raises(FormulationError, match=r"lagrange has no recursion .* newton_euler, craig"):
        robot.recursion(*STATE, formulation="lagrange")
    with pytest.raises(UnknownNameError, match="did you mean 'omega'"):
        robot.recursion(*STATE)["omga"]
    with pytest.raises(UnknownNameError, match="no link 'link9'"):
        robot.recursion(*STATE).link("link9")
    with pytest.raises(ShapeError, match="q, qd and qdd, or none of them"):
        robot.recursion(STATE[0])
    with pytest.raises(ShapeError, match="qd has 1 entries, not 2"):
        robot.recursion(sympy.symbols("a b"), [sympy.Symbol("c")], [0, 0])
    with pytest.raises(ShapeError, match="recursion"):
        robot.recursion([0.0], [0.0], [0.0])
