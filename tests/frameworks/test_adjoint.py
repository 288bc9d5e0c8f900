"""Derivatives through equations that are solved: exact, fewer, and of every way to solve them."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.systems.derivatives import quantity_operation
from dalembert.tracing.interpreter import interpret
from dalembert.zoo.constrained_loops import build_four_bar
from tests.constraints.test_contact_friction import slider
from tests.constraints.test_near_singular import ALONG, SYSTEMS, TORQUE
from tests.frameworks.six import system
from tests.kernels.complex_step import directional
from tests.systems.test_time_and_gyroscopic import everything

SOLVED = [
    *(
        ("ur5", "forward_dynamics", formulation)
        for formulation in ("articulated_body", "tree_factor")
    ),
    *(
        ("ur5", "forward_dynamics", formulation)
        for formulation in ("composite_body", "square_root", "operator")
    ),
    *((name, "forward_dynamics", None) for name in ("free", "coupled", "lagrangian")),
    ("lagrangian", "forward_dynamics", "cholesky"),
    *(
        ("four_bar", "forward_dynamics", formulation)
        for formulation in ("multiplier", "elimination", "projection")
    ),
    ("parallel_3rr", "forward_dynamics", "gauge"),
    ("bennett", "forward_dynamics", None),
    *((name, "inverse_dynamics", None) for name in ("four_bar", "parallel_3rr", "bennett")),
    *((name, "project_velocity", None) for name in ("parallel_3rr", "bennett")),
    ("parallel_3rr", "project", None),
]


def of(name, quantity, formulation=None, **choices):
    mechanism = system(name)
    return mechanism, quantity_operation(
        mechanism, mechanism._variant(quantity, formulation, choices)
    )


def inputs_of(mechanism, result, rng):
    """A state on the constraints, and directions along them: off them λ of redundant rows has none."""
    q = (
        mechanism.neutral()
        if mechanism.dynamics.rows
        else mechanism.integrate(mechanism.neutral(), rng.normal(size=mechanism.nv))
    )
    x, d = [], []
    for port in result.inputs:
        x.append(rng.normal(size=port.shape))
        d.append(rng.normal(size=port.shape))
        if port.name == "q":
            x[-1] = q
            if mechanism.dynamics.rows:
                d[-1] = mechanism.project_velocity(q, d[-1][: mechanism.nv])
        if port.name == "qd" and mechanism.dynamics.rows:
            x[-1] = mechanism.project_velocity(q, x[-1])
        if port.name == "parameters":
            x[-1] = mechanism.parameter_array()
        if port.name == "weights":
            x[-1] = 1.0 + x[-1] ** 2
    return x, d


@pytest.mark.parametrize(("name", "quantity", "formulation"), SOLVED)
def test_derivatives_through_the_equations_are_those_of_the_solving(name, quantity, formulation):
    mechanism, result = of(name, quantity, formulation)
    rng = np.random.default_rng(5)
    x, d = inputs_of(mechanism, result, rng)
    derivatives = directional(result.program, x, d)
    every = tuple(range(len(x)))
    pushed = interpret(result.jvp(every).program, *x, *d)
    weights = [rng.normal(size=np.shape(y)) for y in derivatives]
    pulled = interpret(result.vjp(every).program, *x, *weights)
    terms = np.concatenate([a.ravel() * b.ravel() for a, b in zip(pulled, d, strict=True)])
    size = max(np.abs(terms).max(), *(np.abs(y).max() for y in derivatives))
    for a, b in zip(pushed, derivatives, strict=True):
        assert np.abs(a - b).max() < 1e-12 * size
    total = sum((w * y).sum() for w, y in zip(weights, derivatives, strict=True))
    assert abs(terms.sum() - total) < 1e-12 * size


def test_time_wrenches_and_parameters_go_through_the_equations_too():
    """A rod on a plane whose M, a and U change with time; a four-bar with open lengths under load."""
    rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    moving = dl.Constrained(dl.Lagrangian(*everything()), [rod], guess=[1.0, 0.0])
    open_bar = build_four_bar(coupler=dl.Parameter("coupler", 0.9))
    rng = np.random.default_rng(4)
    for mechanism, choices in ((moving, {"t": True}), (open_bar, {"tip_wrench": True})):
        result = quantity_operation(
            mechanism, mechanism._variant("forward_dynamics", None, choices)
        )
        x, d = inputs_of(mechanism, result, rng)
        derivatives = directional(result.program, x, d)
        every = tuple(range(len(x)))
        for a, b in zip(interpret(result.jvp(every).program, *x, *d), derivatives, strict=True):
            assert np.abs(a - b).max() < 1e-12 * np.abs(b).max()
        w = [rng.normal(size=np.shape(y)) for y in derivatives]
        pulled = interpret(result.vjp(every).program, *x, *w)
        total = sum((np.asarray(a) * b).sum() for a, b in zip(pulled, d, strict=True))
        expected = sum((a * b).sum() for a, b in zip(w, derivatives, strict=True))
        assert abs(total - expected) < 1e-12 * max(np.abs(a).max() for a in pulled)


def test_friction_of_contacts_goes_through_the_equations_too():
    """A block on a floor that is tilted under it by its own weight's components."""
    floor = dl.Sliding("to_z", dl.Plane(), mu=0.3, width=1e-3, name="floor")
    mechanism = dl.Constrained(slider(gravity=(1.0, 0.5, -9.81)), [floor])
    result = quantity_operation(mechanism, mechanism._variant("forward_dynamics", None, {}))
    rng = np.random.default_rng(6)
    x, d = inputs_of(mechanism, result, rng)
    derivatives = directional(result.program, x, d)
    for a, b in zip(interpret(result.jvp((0, 1, 2)).program, *x, *d), derivatives, strict=True):
        assert np.abs(a - b).max() < 1e-11 * np.abs(b).max()


def of_the_solving(result):
    """The vjp by differentiating every operation of the solve, as a program."""
    from dalembert.kernels.program.derivatives import vjp
    from dalembert.kernels.program.trace import replay
    from dalembert.systems.evaluator import traced

    program = result.program
    taken = vjp(lambda **x: replay(program, x), [port.name for port in program.inputs])
    weights = [type(port)(f"bar_{port.name}", port.shape) for port in program.outputs]
    return traced(taken, [*program.inputs, *weights], "unrolled")


@pytest.mark.parametrize(
    ("name", "quantity", "saved"),
    [
        ("ur5", "forward_dynamics", 0.05),
        ("panda", "forward_dynamics", 0.10),
        ("four_bar", "forward_dynamics", 0.09),
        ("parallel_3rr", "forward_dynamics", 0.20),
        ("parallel_3rr", "inverse_dynamics", 0.30),
        ("parallel_3rr", "project", 0.25),
        ("stewart_platform", "forward_dynamics", 0.45),
    ],
)
def test_the_equations_have_fewer_operations_to_differentiate_than_the_solving(
    name, quantity, saved
):
    _, result = of(name, quantity)
    adjoint = result.vjp(tuple(range(len(result.inputs)))).program
    assert len(adjoint) <= (1.0 - saved) * len(of_the_solving(result))


def test_redundant_rows_have_the_slopes_of_the_library_off_the_constraints_too():
    mechanism, result = of("bennett", "inverse_dynamics")
    rng = np.random.default_rng(1)
    x = mechanism.random_state(rng)
    w = [rng.normal(size=port.shape) for port in result.outputs]
    derivatives = mechanism.inverse_dynamics_derivatives(*x)
    pulled = interpret(result.vjp((0, 1, 2)).program, *x, *w)
    for k, a in enumerate(pulled):
        b = w[0] @ derivatives[k] + w[1] @ derivatives[k + 3]
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(b).max())


def test_a_state_without_an_answer_has_no_gradient_and_spoils_no_other():
    """A four-bar folded into a line loses a row; the next lanes are as without it."""
    mechanism, result = of("four_bar", "forward_dynamics")
    rng = np.random.default_rng(2)
    q = np.tile(mechanism.neutral(), (3, 1))
    qd, tau, w = rng.normal(size=(3, 3, 3))
    lam = rng.normal(size=(3, 2))
    good = result.vjp((0, 1, 2)).kernel.ufunc(q, qd, tau, w, lam)
    q[1] = np.nan
    lost = result.vjp((0, 1, 2)).kernel.ufunc(q, qd, tau, w, lam)
    for a, b in zip(good, lost, strict=True):
        assert np.isnan(b[1]).all()
        np.testing.assert_array_equal(np.delete(a, 1, 0), np.delete(b, 1, 0))


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_near_a_singular_posture_as_many_digits_are_left_as_of_the_solving(name):
    """On its branch the gradient of the flat crank is known: θ̈ = (1, −1, 1)·τ / I + …"""
    mechanism = SYSTEMS[name]()
    result = quantity_operation(mechanism, mechanism._variant("forward_dynamics", None, {}))
    adjoint, unrolled = result.vjp((0, 1, 2)).program, of_the_solving(result)
    assert len(adjoint) <= 1.01 * len(unrolled)  # the reverse of two rows is hardly longer
    first, coupler, last = mechanism.system.model.bodies
    inertia = first.inertia[2, 2] + coupler.mass + last.inertia[2, 2]
    weights = (np.array([0.3, -0.5, 0.9]), np.zeros(mechanism.dynamics.rows))
    expected = (weights[0] @ ALONG) * ALONG / inertia
    for angle in 10.0 ** -np.arange(1.0, 9.0):
        x = (angle * ALONG, 0.7 * ALONG, TORQUE)
        by = [interpret(program, *x, *weights) for program in (adjoint, unrolled)]
        missed = [np.abs(tau - expected).max() for _, _, tau in by]
        assert missed[0] <= 2 * missed[1] + 1e-15
        # by q it is the same as long as the solving itself keeps digits: conditions grow like 1/angle²
        along = [q @ ALONG for q, _, _ in by]
        assert abs(along[0] - along[1]) < 1e-14 / angle**2
