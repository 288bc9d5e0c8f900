"""From a method to its kernel: overriding, signatures, variants, and arguments said in words."""

import inspect
import pickle

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
    there = dict(robot._variants), dict(robot._kernels)
    with pytest.raises(UnknownNameError, match="has no frame 'tool expressed_in=world'"):
        robot.kernel("jacobian", frame="tool expressed_in=world")
    with pytest.raises(UnknownNameError, match=r"has no frame 'tol'.*did you mean 'tool'"):
        robot.pose([0.0, 0.0], frame="tol")
    with pytest.raises(UnknownNameError, match="must be a name"):
        robot.kernel("pose", frame=["tool"])
    assert (robot._variants, robot._kernels) == there
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
    """What is asked for by the name of a quantity works for any catalogue."""
    system = GENERIC[name]()
    rng = np.random.default_rng(0)
    q = system.integrate(system.neutral(), 0.05 * rng.normal(size=system.nv) + 0.3)
    qd, h = rng.normal(size=system.nv), 1e-6
    steps = h * np.eye(system.nv)
    slope = system.derivative("kinetic_energy", (q, qd))
    ends = [system.kinetic_energy(system.integrate(q, s * steps), qd) for s in (1.0, -1.0)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), atol=1e-7)
    along = system.jvp("kinetic_energy", (q, qd), (qd, 0.0 * qd))
    np.testing.assert_allclose(along, slope @ qd, atol=1e-12)
    (by_q, _) = system.vjp("kinetic_energy", (q, qd), [1.0])
    np.testing.assert_allclose(by_q, slope, atol=1e-12)
    assert "void dalembert_" in system.source("forward_dynamics")
    function = system.casadi_function("mass_matrix")
    np.testing.assert_allclose(np.asarray(function(q)), system.mass_matrix(q), atol=1e-12)
    assert system.operation_count("bias").multiplications > 0
    M = system.equations(["M"], simplify="fast", progress=False).M
    assert M.shape == (system.nv, system.nv)


def test_constraints_on_a_constrained_system_add_their_rows():
    """Two rods, one after the other, are the two rods at once."""
    particle = dl.load("pendulum_constrained").system
    rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    line = dl.Pfaffian(
        lambda q: np.stack([1.0 + 0.0 * q[0], 0.0 * q[0]]).reshape(1, 2), name="line"
    )
    at = np.array([0.6, -0.8])
    once = dl.Constrained(particle, [rod, line], guess=at)
    twice = dl.Constrained(dl.Constrained(particle, [rod], guess=at), [line], guess=at)
    assert twice.constraints == once.constraints == ("rod", "line")
    state = at, np.zeros(2), np.zeros(2)
    for found, expected in zip(
        twice.forward_dynamics(*state), once.forward_dynamics(*state), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


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
    from dalembert.zoo.letters import symbolic_model

    robot = symbolic_model("pendulum")
    assert dict(robot.named_parameters) == dict(robot.model.parameters) != {}
    closed = dl.load("pendulum_constrained")
    assert dict(closed.named_parameters) == dict(closed.dynamics.parameters)
    swing = pendulum(0.3)
    assert dict(swing.named_parameters) == dict(swing.description.parameters) != {}


@pytest.mark.parametrize("name", ["ur5", "spherical_pendulum", "four_bar"])
def test_energies_have_the_same_letters_everywhere(name):
    seen = dl.load(name).dynamics
    assert list(seen.quantity("kinetic_energy").outputs) == ["K"]
    assert list(seen.quantity("potential_energy").outputs) == ["U"]
