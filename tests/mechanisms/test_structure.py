"""Large mechanisms, redundant ones, drivers of every kind, and starts that have to be found."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import sympy

from dalembert import PlanarMechanism, SpatialMechanism, load
from dalembert.constraints.sparse_rows import targets
from dalembert.constraints.sparse_solver import Banded, Dense, Scale, solver
from dalembert.errors import ModelError, ShapeError
from dalembert.mechanisms.motions import (
    ConstantAcceleration,
    ConstantSpeed,
    Quintic,
    Sine,
    Trapezoid,
)
from dalembert.zoo.absolute import four_bar, hanging_chain, two_bars


def test_a_mechanism_gives_quantities_of_its_own_by_quick_calls() -> None:
    """What is put in front of a method asks for kernels that the closed system has."""
    linkage = load("four_bar_linkage")
    q, step = linkage.neutral(), np.linspace(0.0, 0.1, linkage.nv)
    for _ in range(2):
        np.testing.assert_array_equal(linkage.integrate(q, step), q + step)


def test_long_chains_are_banded_and_agree_with_dense() -> None:
    for size in (40, 80):
        mechanism = hanging_chain(size)
        state = mechanism.forward_dynamics()
        linear = mechanism._solver.linear
        assert isinstance(linear, Banded) and linear.band <= 5
        rows = mechanism._solver.rows
        dense = Dense(mechanism.nv, rows.at, Scale(rows.starts))
        terms = rows.terms(0.0, state.q, state.v)
        dense.fill(terms.data)
        f = mechanism._solver.units.force(0.0, state.q, state.v, np.zeros(mechanism.nv))
        expected = dense.solve(dense.times(f) - terms.gamma)
        np.testing.assert_allclose(state.multipliers, expected, atol=1e-9)


def test_chain_of_200_bodies_moves() -> None:
    run = hanging_chain(200).simulate(0.02, 1e-3, method="rk4", every=5)
    assert float(run.residual.max()) < 1e-12
    assert np.ptp((run.kinetic + run.potential).values) < 1e-6
    # let go from rest, the free end falls as fast as g at first
    np.testing.assert_allclose(run.q.values[-1, -2], -0.5 * 9.81 * 0.02**2, rtol=1e-2)


def test_banded_solver_with_redundant_rows() -> None:
    rng = np.random.default_rng(0)
    rows, columns = 70, 90
    i, j = np.divmod(np.arange(rows * 3), 3)
    at = (i, np.minimum(i + j, columns - 1))
    data = rng.normal(size=len(i))
    data[3:6] = 0.0
    at[1][3:6] = at[1][0:3]
    data[3:6] = 2.0 * data[0:3]  # row 1 is twice row 0
    linear = solver(columns, at, np.arange(rows + 1))
    linear.fill(data)
    x = rng.normal(size=columns)
    r = linear.times(x)
    x = linear.transposed(linear.solve(r))
    np.testing.assert_allclose(linear.times(x), r, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        partial(ConstantSpeed, 0.1, 0.9, 2.0),
        partial(ConstantAcceleration, 0.1, 0.2, 0.3),
        partial(Trapezoid, 0.1, 0.9, 2.0, ramp=0.2),
        partial(Quintic, 0.1, 0.9, 2.0),
        partial(Sine, 0.1, 0.4, 0.7, 0.2),
        lambda: lambda t: 0.1 * np.exp(0.3 * t) + 0.2 * t,
    ],
    ids=lambda make: getattr(make, "func", make).__name__,
)
def test_motions_and_their_rates(make: Callable[[], object]) -> None:
    kernel = targets([("D", make(), 1)])  # a function of time in NumPy
    assert kernel is not None
    h = 1e-4
    for t in (0.3, 0.9, 1.7):
        s, speed, acceleration = (x[0] for x in kernel.ufunc(t))
        ahead, behind = kernel.ufunc(t + h)[0][0], kernel.ufunc(t - h)[0][0]
        assert abs(speed - (ahead - behind) / (2 * h)) < 1e-6
        assert abs(acceleration - (ahead - 2 * s + behind) / h**2) < 1e-5


def test_profiles_start_and_end_where_told() -> None:
    for motion in (Trapezoid(0.2, 1.4, 3.0), Quintic(0.2, 1.4, 3.0), ConstantSpeed(0.2, 1.4, 3.0)):
        # the powers of the duration in a polynomial's coefficients are rounded
        assert abs(motion(0.0) - 0.2) < 1e-15 and abs(motion(3.0) - 1.4) < 4e-15
    assert abs(Trapezoid(0.0, 1.0, 1.0)(5.0) - 1.0) < 1e-15


@pytest.mark.parametrize("on", ["A", "bar2.phi", "bar2.x", "bar2.B.y"])
def test_drivers_on_joints_coordinates_and_points(on: str) -> None:
    arm = two_bars().assemble([0.3, 0.4, 0.9, 0.8, 1.0, 1.2])
    from dalembert.mechanisms.description import measure

    state = arm.forward_dynamics()
    start = float(state.measured(measure(arm.description, "m", on))[0][0])
    arm.drive("D", on, lambda t: start + 0.2 * np.sin(3.0 * t))
    driven = arm.forward_dynamics(t=0.0)
    value, J, drift = driven.measured(arm.description.element("D"))
    v = np.concatenate([np.zeros(3), driven.v]).reshape(-1, 3)[
        list(arm.description.element("D").bodies)
    ]
    assert abs(value[0] - start) < 1e-12
    assert abs((J[0] * v).sum() - 0.6) < 1e-12
    assert np.isfinite(drift).all() and abs(driven.torque("D")) > 1e-3


def test_distance_driver_and_actuator_lift_a_bar() -> None:
    """A hydraulic cylinder between the ground and a bar: statics by moments."""
    mechanism = (
        PlanarMechanism("crane")
        .ground(base=(0.4, -0.5))
        .body("boom", 10.0, 3.0, at=(1.0, 0.0), points={"O": (-1.0, 0.0), "rod": (-0.4, 0.0)})
        .revolute("O", "ground", "boom.O")
        .drive(
            "cylinder",
            between=("ground.base", "boom.rod"),
            motion=lambda t: 0.53851648071345 + 0 * t,
        )
    )
    state = mechanism.inverse_dynamics(0.0)
    d = np.array([0.2, 0.5]) / np.hypot(0.2, 0.5)
    # about O: F (0.6 × d_y) = m g · 1
    assert abs(state.torque("cylinder") - 10 * 9.81 / (0.6 * d[1])) < 1e-8


def test_assembly_from_a_rough_start() -> None:
    mechanism = four_bar(start=0.7)
    q, _ = mechanism.start()
    rough = q + 0.1 * np.random.default_rng(1).normal(size=9)
    closed = mechanism._solver.position(0.0, rough)
    assert np.abs(mechanism._solver.terms(0.0, closed, np.zeros(9)).phi).max() < 1e-13


def test_kinematics_is_followed_over_turns_in_any_order() -> None:
    mechanism = four_bar(start=0.0).drive("motor", "A", ConstantSpeed(0.0, 2 * np.pi, 1.0))
    late = mechanism.kinematics(3.25)
    early = mechanism.kinematics(0.25)
    np.testing.assert_allclose(late.body("coupler"), early.body("coupler"), atol=1e-11)
    np.testing.assert_allclose(
        late.body("crank")[2] - early.body("crank")[2], 6 * np.pi, atol=1e-11
    )
    np.testing.assert_allclose(late.a, early.a, atol=1e-8)


def test_custom_constraint() -> None:
    """A bead on a parabola y = x², differentiated automatically."""
    mechanism = PlanarMechanism("bead").body("bead", 1.0, 1.0, at=(0.5, 0.25))
    mechanism.constrain("wire", ["bead"], lambda q: np.stack([q[0, 1] - q[0, 0] ** 2]))
    run = mechanism.simulate(1.0, 0.1, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run.q.values[:, 1], run.q.values[:, 0] ** 2, atol=1e-12)
    assert np.ptp((run.kinetic + run.potential).values) < 1e-8


def test_kinematics_and_forces_over_an_array_of_times() -> None:
    mechanism = four_bar(start=0.0).drive("motor", "A", ConstantSpeed(0.0, 2 * np.pi, 1.0))
    times = np.array([0.1, 0.2, 0.3])
    for many, one in zip(mechanism.inverse_dynamics(times), times, strict=True):
        np.testing.assert_allclose(many.multipliers, mechanism.inverse_dynamics(one).multipliers)
    assert [state.t for state in mechanism.kinematics(times)] == list(times)


def test_a_mechanism_answers_as_every_system_does() -> None:
    mechanism = four_bar(start=0.5)
    q, v = mechanism.start()
    state = mechanism.forward_dynamics()
    a, lam = mechanism.forward_dynamics(q, v, np.zeros(9))
    np.testing.assert_allclose(a, state.a, atol=1e-12)
    np.testing.assert_allclose(lam, state.multipliers, atol=1e-12)
    assert (
        mechanism.mass_matrix(q).shape == (9, 9) and mechanism.kernel("forward_dynamics").nout == 2
    )
    mechanism.body("more", 1.0, 1.0)  # what was derived before is forgotten
    assert mechanism.nq == 12 and mechanism.mass_matrix(mechanism.neutral()).shape == (12, 12)


def test_symbolic_bodies_have_a_constant_mass_and_gyroscopic_moments() -> None:
    top = SpatialMechanism("top").body("b", 1.0, (1.0, 2.0, 2.5)).spherical("s", "ground", "b")
    bodies, v = top.system.dynamics, np.arange(1.0, 7.0)
    C = bodies.coriolis_matrix(top.neutral(), v)
    bias = bodies.bias(top.neutral(), v)
    np.testing.assert_allclose((C @ v)[3:], bias[3:])
    np.testing.assert_array_equal(C, -C.T)
    assert two_bars().equations(["M"]).M[2, 2] == sympy.Rational(1, 6)


def test_a_mechanism_that_was_used_can_be_pickled() -> None:
    mechanism = four_bar(start=0.4)
    expected = mechanism.forward_dynamics().multipliers
    again = pickle.loads(pickle.dumps(mechanism))
    np.testing.assert_array_equal(again.forward_dynamics().multipliers, expected)


@pytest.mark.parametrize("kind", ["prismatic", "point_on_line", "rack"])
def test_a_direction_is_an_angle_or_a_vector(kind: str) -> None:
    def built(direction: object) -> PlanarMechanism:
        bare = PlanarMechanism().body("slider", mass=1.0, inertia=0.1, at=(0.3, 0.4))
        more = {"radius": 0.2} if kind == "rack" else {}
        return getattr(bare, kind)("rail", "ground", "slider", direction=direction, **more)

    by_angle, by_vector = built(np.arctan2(4.0, 3.0)), built((3.0, 4.0))
    q = np.array([0.1, 0.9, 0.4])
    np.testing.assert_allclose(by_vector.phi(q), by_angle.phi(q), atol=1e-15)
    for wrong in ((0.0, 0.0), (1.0, 0.0, 0.0), "x", np.nan, None):
        with pytest.raises(ModelError, match="'rail': direction must be an angle in rad or a vec"):
            built(wrong)


def test_a_number_of_a_joint_is_one_number() -> None:
    bare = PlanarMechanism().body("slider", mass=1.0, inertia=0.1)
    with pytest.raises(ModelError, match=r"'rail': turn must be one finite number, got \(1, 2\)"):
        bare.joint("prismatic", "rail", "ground", "slider", direction=0.0, turn=(1, 2))


def test_forward_dynamics_is_called_as_that_of_every_system() -> None:
    mechanism = four_bar(start=0.0).drive("motor", "A", ConstantSpeed(0.0, 2 * np.pi, 1.0))
    at, tau = mechanism.kinematics(0.7), np.arange(9.0)
    inputs = {"q": at.q, "qd": at.v, "tau": tau}
    for result in (
        mechanism.forward_dynamics(at.q, at.v, tau, t=0.7),
        mechanism.forward_dynamics(**inputs, t=0.7),
    ):
        for x, y in zip(
            result, mechanism.constrained().forward_dynamics(**inputs, t=0.7), strict=True
        ):
            np.testing.assert_array_equal(x, y)
    state = mechanism.forward_dynamics(at.q, at.v, t=0.7)
    np.testing.assert_allclose(state.a, at.a, atol=1e-9)
    with pytest.raises(ShapeError, match="q must have the shape"):
        mechanism.forward_dynamics(0.7)
