"""From a method to its kernel: overriding, signatures, variants, and arguments said in words."""

import inspect
import pickle
from types import BuiltinFunctionType

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import DalembertError, ShapeError, UnknownNameError
from tests.systems.examples import pendulum


class Doubled(dl.Robot):
    def mass_matrix(self, q, **more):
        return 2.0 * super().mass_matrix(q, **more)


def test_a_method_overridden_in_a_subclass_is_honoured_always():
    """Also after the first call, when the library's own gets a builtin in front of it."""
    robot = Doubled(dl.load("pendulum").model)
    q = np.array([0.0])
    assert [robot.mass_matrix(q).item() for _ in range(3)] == [2.0, 2.0, 2.0]
    assert type(pickle.loads(pickle.dumps(robot))) is Doubled


def test_a_subclass_method_without_docstring_may_call_any_quantity():
    class Plain(dl.Robot):
        def weight(self, q):
            return self.gravity_torque(q)

        def bias(self, q, qd):
            return super().bias(q, qd)

    robot = Plain(dl.load("pendulum").model)
    q = np.array([np.pi / 2])
    for _ in range(2):
        assert robot.weight(q) == robot.bias(q, np.zeros(1)) == pytest.approx(9.81)


@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics", "kinetic_energy"])
def test_the_signature_and_the_docstring_outlive_the_first_call(name):
    robot = dl.load("pendulum")
    state = [np.zeros(1)] * len(robot.dynamics.quantity(name).inputs)
    before = inspect.signature(getattr(robot, name))
    for _ in range(2):
        getattr(robot, name)(*state)
    after = getattr(robot, name)
    assert list(inspect.signature(after).parameters) == list(before.parameters)
    assert after.__doc__.strip().startswith(getattr(dl.Robot, name).__doc__.strip()[:20])


def test_variants_are_told_apart_by_structure():
    """A frame whose name looks like another choice is an unknown frame, not another kernel."""
    robot = dl.load("planar_2r")
    world = robot.kernel("jacobian", frame="tool", expressed_in="world")
    there = dict(robot.evaluator.variants), dict(robot.evaluator.kernels)
    with pytest.raises(UnknownNameError, match="has no frame 'tool expressed_in=world'"):
        robot.kernel("jacobian", frame="tool expressed_in=world")
    with pytest.raises(UnknownNameError, match=r"has no frame 'tol'.*did you mean 'tool'"):
        robot.pose([0.0, 0.0], frame="tol")
    with pytest.raises(UnknownNameError, match="must be a name"):
        robot.kernel("pose", frame=["tool"])
    assert (robot.evaluator.variants, robot.evaluator.kernels) == there
    assert robot.kernel("jacobian", frame="tool") is not world


def test_an_optional_input_refused_is_not_one_given():
    robot = dl.load("planar_2r")
    with_wrench = robot.kernel("inverse_dynamics", tip_wrench=True)
    assert (with_wrench.nin, robot.kernel("inverse_dynamics", tip_wrench=False).nin) == (4, 3)


STATE = ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.vjp("inverse_dynamics", STATE, np.ones(2)), r"one bare array"),
        (lambda r: r.vjp("inverse_dynamics", STATE, [np.ones(3)]), r"bar_tau has shape \(3,\)"),
        (lambda r: r.jvp("inverse_dynamics", STATE, STATE[:2]), r"3 arrays \(d_q, d_qd, d_qdd\)"),
        (lambda r: r.jvp("bias", STATE, STATE), r"inputs as a list of 2 arrays \(q, qd\), not 3"),
        (lambda r: r.derivative("mass_matrix", ([0.1],)), r"q has shape \(1,\)"),
        (lambda r: r.derivative("mass_matrix", [0.1, 0.2]), r"1 array \(q\), not 2"),
        (lambda r: r.hvp("bias", STATE[:2], [np.ones(2)], [np.ones(2)]), r"not 1"),
    ],
)
def test_wrong_arguments_of_derivatives_are_named(call, message):
    with pytest.raises(ShapeError, match=message):
        call(dl.load("planar_2r"))


def test_what_a_quantity_does_not_depend_on_is_named():
    with pytest.raises(DalembertError, match="does not depend on 'tau'"):
        dl.load("planar_2r").derivative("bias", STATE[:2], wrt="tau")


GENERIC = {
    "lagrangian": lambda: dl.load("spherical_pendulum"),
    "closed chain": lambda: dl.load("four_bar"),
}


@pytest.mark.parametrize("name", GENERIC)
def test_every_system_has_slopes_source_and_functions(name):
    """A call by the name of a quantity works for any catalogue."""
    system = GENERIC[name]()
    rng = np.random.default_rng(0)
    q = system.integrate(system.neutral(), 0.05 * rng.normal(size=system.nv) + 0.3)
    qd, h = rng.normal(size=system.nv), 1e-6
    steps = h * np.eye(system.nv)
    derivative = system.derivative("kinetic_energy", (q, qd))
    ends = [system.kinetic_energy(system.integrate(q, s * steps), qd) for s in (1.0, -1.0)]
    np.testing.assert_allclose(derivative, (ends[0] - ends[1]) / (2 * h), atol=1e-7)
    along = system.jvp("kinetic_energy", (q, qd), (qd, 0.0 * qd))
    np.testing.assert_allclose(along, derivative @ qd, atol=1e-12)
    (by_q, _) = system.vjp("kinetic_energy", (q, qd), [1.0])
    np.testing.assert_allclose(by_q, derivative, atol=1e-12)
    assert "void dalembert_" in system.source("forward_dynamics")
    assert system.operation_count("bias").multiplications > 0
    M = system.equations(["M"], simplify="fast", progress=False).M
    assert M.shape == (system.nv, system.nv)


@pytest.mark.parametrize("name", GENERIC)
def test_every_system_has_casadi_functions(casadi, name):
    system = GENERIC[name]()
    q = system.integrate(system.neutral(), np.full(system.nv, 0.3))
    function = system.casadi_function("mass_matrix")
    np.testing.assert_allclose(np.asarray(function(q)), system.mass_matrix(q), atol=1e-12)


def test_constraints_on_a_constrained_system_add_their_rows():
    """Two rods, one after the other, are the two rods at once."""
    particle = dl.load("pendulum_constrained").system
    rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    line = dl.Pfaffian(
        lambda q: np.stack([1.0 + 0.0 * q[0], 0.0 * q[0]]).reshape(1, 2), name="line"
    )
    at = np.array([0.6, -0.8])
    once = dl.Constrained(particle, [rod, line], guess=at)
    nested = dl.Constrained(dl.Constrained(particle, [rod], guess=at), [line], guess=at)
    assert nested.constraints == once.constraints == ("rod", "line")
    state = at, np.zeros(2), np.zeros(2)
    for result, expected in zip(
        nested.forward_dynamics(*state), once.forward_dynamics(*state), strict=True
    ):
        np.testing.assert_allclose(result, expected, atol=1e-12)


def test_every_error_class_is_in_the_package():
    from dalembert import errors

    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.DalembertError):
            assert getattr(dl, name) is value and name in dl.__all__


def test_compile_has_a_name_that_hides_nothing():
    """`from dalembert import *` leaves Python's own compile alone; the old name still works."""
    assert "compile" not in dl.__all__
    with pytest.warns(DeprecationWarning, match="compile_function"):
        old = dl.compile(lambda x: 2.0 * x, {"x": 2})
    assert old([1.0, 2.0]).tolist() == [2.0, 4.0]


def test_named_parameters_have_one_name_on_every_system():
    from dalembert.zoo.symbolic_models import symbolic_model

    robot = symbolic_model("pendulum")
    assert dict(robot.named_parameters) == dict(robot.model.parameters) != {}
    closed = dl.load("pendulum_constrained")
    assert dict(closed.named_parameters) == dict(closed.dynamics.parameters)
    swing = pendulum(0.3)
    assert dict(swing.named_parameters) == dict(swing.description.parameters) != {}


@pytest.mark.parametrize("name", ["ur5", "spherical_pendulum", "four_bar"])
def test_energies_have_the_same_names_everywhere(name):
    dynamics = dl.load(name).dynamics
    assert list(dynamics.quantity("kinetic_energy").outputs) == ["K"]
    assert list(dynamics.quantity("potential_energy").outputs) == ["U"]


@pytest.mark.parametrize(
    ("quantity", "inputs", "message"),
    [
        ("mass_matrix", (), "takes q; got 0 arrays"),
        ("mass_matrix", ([0.0],), r"q must have shape \(2,\), one state, got \(1,\)"),
        ("mass_matrix", (["a", "b"],), r"q must be numbers of shape \(2,\)"),
    ],
)
def test_wrong_arguments_of_the_plain_formulation_are_named(quantity, inputs, message):
    with pytest.raises(ShapeError, match=message):
        dl.load("planar_2r").reference(quantity, *inputs)


@pytest.mark.parametrize("quantity", ["forward_dynamics", "square_root", "square_root_inverse"])
def test_the_plain_formulation_names_what_has_no_inertia(quantity):
    robot = dl.Robot.from_links([dl.Link("plate", mass=0.0)])
    states = [np.zeros(1)] * len(robot.dynamics.quantity(quantity).inputs)
    with np.errstate(all="ignore"), pytest.raises(dl.DalembertError, match="nothing resists"):
        robot.reference(quantity, *states)


def test_a_formulation_chosen_once_is_not_the_default_of_later_calls():
    """Bit for bit: formulations differ by rounding only."""
    robot, rng = dl.load("elbow_3r"), np.random.default_rng(0)
    default = robot.kernel("inverse_dynamics")
    silver = robot.kernel("inverse_dynamics", "silver")
    states = (rng.normal(size=(3, 3)) for _ in range(100))
    state = next(s for s in states if (default(*s) != silver(*s)).any())
    for _ in range(3):  # before the builtin that stands in for later calls is made, and after
        np.testing.assert_array_equal(
            robot.inverse_dynamics(*state, formulation="silver"), silver(*state)
        )
        assert not isinstance(vars(robot).get("inverse_dynamics"), BuiltinFunctionType)
    for _ in range(3):
        np.testing.assert_array_equal(robot.inverse_dynamics(*state), default(*state))
    np.testing.assert_array_equal(
        robot.inverse_dynamics(*state, formulation="silver"), silver(*state)
    )
    np.testing.assert_array_equal(robot.inverse_dynamics(*state), default(*state))


# calls with keywords: a kernel of their own, by the names and words that were given


def entered(monkeypatch):
    """The quantities whose methods were entered in Python, as they are called."""
    dynamics, evaluate = [], dl.System._evaluate
    monkeypatch.setattr(
        dl.System,
        "_evaluate",
        lambda self, quantity, *more, **kw: (
            dynamics.append(quantity),
            evaluate(self, quantity, *more, **kw),
        )[1],
    )
    return dynamics


Q, QD, QDD, FORCE, TWIST = np.random.default_rng(3).normal(size=(5, 6))
KEYWORDS = [
    ("inverse_dynamics", (Q, QD, QDD), {"tip_wrench": FORCE}),
    ("inverse_dynamics", (Q, QD, QDD), {"formulation": "silver"}),
    ("inverse_dynamics", (Q, QD, QDD), {"tip_wrench": FORCE, "formulation": "silver"}),
    ("inverse_dynamics", (Q, QD, QDD), {"gravity": "potential", "base_twist": TWIST}),
    ("inverse_dynamics", (Q, QD, QDD, FORCE), {}),
    ("inverse_dynamics", (Q, QD), {"qdd": QDD}),
    ("forward_dynamics", (Q, QD, QDD), {"tip_wrench": FORCE}),
    ("jacobian", (Q,), {"frame": "tool"}),
    ("jacobian", (Q,), {"frame": "wrist_3_link", "expressed_in": "world"}),
    ("jacobian", (Q,), {}),
    ("pose", (), {"q": Q}),
    ("mass_matrix", (Q,), {"out_layout": "packed"}),
    ("inverse_dynamics_derivatives", (Q, QD, QDD), {"tip_wrench": FORCE}),
]


@pytest.mark.parametrize(("quantity", "inputs", "options"), KEYWORDS)
def test_calls_with_keywords_become_quick_and_stay_right(quantity, inputs, options, monkeypatch):
    robot, fresh = dl.load("ur5"), dl.load("ur5")
    if "frame" in options:
        options = options | {"frame": robot.frames[-2]}
    expected = getattr(fresh, quantity)(*inputs, **options)
    dynamics = entered(monkeypatch)
    for _ in range(5):
        np.testing.assert_array_equal(getattr(robot, quantity)(*inputs, **options), expected)
    assert len(dynamics) == 3  # twice until a quick call is put in front, once to learn its kernel


def test_quick_calls_of_several_variants_do_not_mix():
    """After any calls, in any order: a variant is never the default of others."""
    robot = dl.load("ur5")
    named = [one for one in KEYWORDS if one[0] == "inverse_dynamics"] + [
        ("inverse_dynamics", (Q, QD, QDD), {}),
        ("inverse_dynamics", (Q, QD, QDD), {"tip_wrench": None}),
        ("inverse_dynamics", (Q, QD, QDD), {"tip_wrench": FORCE.tolist()}),
        ("inverse_dynamics", (Q, QD, QDD), {"formulation": None}),
        ("inverse_dynamics", (Q, QD, QDD), {"formulation": "silver", "tip_wrench": FORCE}),
    ]
    expected = [getattr(dl.load("ur5"), name)(*x, **options) for name, x, options in named]
    order = np.random.default_rng(0).integers(len(named), size=200)
    for k in order:
        name, inputs, options = named[k]
        np.testing.assert_array_equal(getattr(robot, name)(*inputs, **options), expected[k])


def test_frames_are_told_apart_by_quick_calls():
    robot = dl.load("ur5")
    for _ in range(4):
        for frame in robot.frames:
            np.testing.assert_array_equal(
                robot.jacobian(Q, frame=frame), robot.kernel("jacobian", frame=frame)(Q)
            )
    np.testing.assert_array_equal(robot.jacobian(Q), robot.jacobian(Q, frame="tool"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tip_wrong": FORCE}, TypeError, "tip_wrong"),
        ({"tip_wrench": FORCE[:5]}, ShapeError, r"tip_wrench has shape \(5,\)"),
        ({"formulation": "gold"}, DalembertError, "gold"),
        ({"formulation": FORCE}, UnknownNameError, "expected the name of a formulation"),
        ({"tip_wrench": "silver"}, ShapeError, "expected real numbers"),
        ({"tip_wrench": FORCE, "qdd": QDD}, TypeError, "multiple values"),
        ({"t": 0.0}, DalembertError, "takes no 't'"),
        ({"parameters": {"m": 1.0}}, DalembertError, "'m'"),
    ],
)
def test_quick_calls_refuse_as_the_method_does(options, error, message):
    robot = dl.load("ur5")
    for _ in range(4):
        robot.inverse_dynamics(Q, QD, QDD)
        robot.inverse_dynamics(Q, QD, QDD, tip_wrench=FORCE)
        robot.inverse_dynamics(Q, QD, QDD, formulation="silver")
        with pytest.raises(error, match=message):
            robot.inverse_dynamics(Q, QD, QDD, **options)
        with pytest.raises(TypeError):
            robot.inverse_dynamics(Q, QD, tip_wrench=FORCE)


def test_quick_calls_with_keywords_take_batches_precision_and_out():
    robot, rng = dl.load("ur5"), np.random.default_rng(1)
    q, qd, qdd, force = rng.normal(size=(4, 7, 6))
    kernel = robot.kernel("inverse_dynamics", tip_wrench=True)
    for _ in range(4):
        robot.inverse_dynamics(Q, QD, QDD, tip_wrench=FORCE)
        result = robot.inverse_dynamics(q, qd, qdd, tip_wrench=force)
        np.testing.assert_array_equal(result, kernel(q, qd, qdd, force))
        result = robot.inverse_dynamics(q, qd, qdd, tip_wrench=FORCE)  # broadcasts
        np.testing.assert_array_equal(result, kernel(q, qd, qdd, FORCE))
        single = [x.astype(np.float32) for x in (q, qd, qdd, force)]
        result = robot.inverse_dynamics(*single[:3], tip_wrench=single[3])
        assert result.dtype == np.float32
        out = np.empty(6)
        assert robot.inverse_dynamics(Q, QD, QDD, tip_wrench=FORCE, out=out) is out
        np.testing.assert_array_equal(out, kernel(Q, QD, QDD, FORCE))


def test_results_that_a_method_names_keep_their_names():
    """A kernel stands in only for a method that returns what the kernel gives."""
    robot = dl.load("ur5")
    for _ in range(4):
        assert robot.operators(Q).xi.shape == (36, 6)
        assert robot.operational_space(Q, QD, frame="tool").inertia.shape == (6, 6)
        robot.evaluate("operators", Q)


def test_a_quick_call_with_keywords_travels():
    robot = dl.load("ur5")
    for _ in range(4):
        expected = robot.pose(Q, frame="tool")
    for back in (pickle.loads(pickle.dumps(robot)).pose, pickle.loads(pickle.dumps(robot.pose))):
        np.testing.assert_array_equal(back(Q, frame="tool"), expected)
    assert list(inspect.signature(robot.pose).parameters)[:2] == ["q", "frame"]
    assert "pose" not in vars(pickle.loads(pickle.dumps(robot)))


@pytest.mark.parametrize(
    "name", ["Robot", "Lagrangian", "Particles", "ContactBody", "Network", "Touching"]
)
def test_systems_are_composed_of_few_classes(name):
    own = [c for c in getattr(dl, name).__mro__ if c.__module__.startswith("dalembert")]
    assert len(own) <= 4
