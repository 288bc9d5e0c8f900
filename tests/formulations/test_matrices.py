"""M, ∂M/∂q, the velocity terms and gravity: laws, and agreement of all routes."""

import numpy as np
import pytest
from hypothesis import given, settings

from dalembert.errors import FormulationError
from dalembert.formulations.derivatives import automatic
from dalembert.formulations.inverse import newton_euler, operator
from dalembert.formulations.kinematics import energy
from dalembert.formulations.mass import christoffel, composite_body, jacobian_mass, screw_sum
from tests.formulations.comparison import ZOO, assert_close, asymmetry, mass_matrix_rate, traced
from tests.formulations.mechanisms import SCREW_KINDS, random_model, random_state, seeds

MASS = {
    "jacobian": jacobian_mass.mass_matrix,
    "jacobian_centers": jacobian_mass.mass_matrix_by_centers,
    "screw_sum": screw_sum.mass_matrix,
    "operator": operator.mass_matrix,
}
GRAVITY = {
    "jacobian": energy.gravity_torque,
    "potential": energy.gravity_torque_by_potential,
    "operator": operator.gravity_torque,
}
SKEW = {
    "christoffel": christoffel.coriolis_matrix,
    "operator": operator.coriolis_matrix,
}
CORIOLIS = {**SKEW, "operator_printed": operator.coriolis_matrix_printed}
BIAS = {"christoffel": christoffel.bias, "operator": operator.bias}
OF_Q = {
    **{f"mass_matrix by {key}": function for key, function in MASS.items()},
    **{f"gravity_torque by {key}": function for key, function in GRAVITY.items()},
    "mass_matrix_derivative": screw_sum.mass_matrix_derivative,
    "mass_matrix_derivative by automatic": automatic.mass_matrix_derivative,
    "christoffel": christoffel.christoffel,
    "coriolis_centrifugal": christoffel.coriolis_centrifugal,
}
OF_MOTION = {
    **{f"coriolis_matrix by {key}": function for key, function in CORIOLIS.items()},
    **{f"bias by {key}": function for key, function in BIAS.items()},
}
COORDINATES = {  # these need joints of one degree
    "mass_matrix_derivative",
    "mass_matrix_derivative by automatic",
    "christoffel",
    "coriolis_centrifugal",
    "coriolis_matrix by christoffel",
    "bias by christoffel",
}
few = settings(max_examples=25)


def mechanism(seed, one_degree=False, **options):
    rng = np.random.default_rng(seed)
    options.setdefault("tree", bool(rng.integers(2)))
    kinds = {"kinds": SCREW_KINDS} if one_degree else {}
    model = random_model(rng, n=4, **kinds, **options)
    return model, *random_state(model, rng)[:2]


# the mass matrix and its derivative


@few
@given(seeds)
def test_mass_matrices_agree(seed):
    model, q, _ = mechanism(seed)
    expected = composite_body.mass_matrix(model, q)
    for mass_matrix in MASS.values():
        assert_close(mass_matrix(model, q), expected)


@pytest.mark.parametrize("robot", ZOO)
def test_zoo(robot):
    model, rng = ZOO[robot], np.random.default_rng(2)
    q, qd, _ = random_state(model, rng)
    M, N, h = (
        composite_body.mass_matrix(model, q),
        newton_euler.gravity_torque(model, q),
        newton_euler.bias(model, q, qd),
    )
    for mass_matrix in MASS.values():
        assert_close(mass_matrix(model, q), M)
    for gravity_torque in GRAVITY.values():
        assert_close(gravity_torque(model, q), N)
    for bias in BIAS.values():
        assert_close(bias(model, q, qd), h)
    for coriolis_matrix in CORIOLIS.values():
        assert_close(coriolis_matrix(model, q, qd) @ qd + N, h)


@pytest.mark.parametrize("mass_matrix", MASS.values(), ids=MASS)
@few
@given(seeds)
def test_mass_matrix_is_symmetric_and_positive(mass_matrix, seed):
    model, q, _ = mechanism(seed)
    M = mass_matrix(model, q)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


@few
@given(seeds)
def test_derivative_in_closed_form(seed):
    """Property 2, with its misprint corrected, against automatic differentiation; also in trees."""
    model, q, _ = mechanism(seed, one_degree=True)
    expected = automatic.mass_matrix_derivative(model, q)
    # derivatives that vanish are sums of terms as large as M, which cancel to rounding of them
    terms = np.abs(composite_body.mass_matrix(model, q)).max()
    assert_close(screw_sum.mass_matrix_derivative(model, q), expected, terms=terms)


def test_slides_alone_have_a_constant_mass_matrix():
    rng = np.random.default_rng(9)
    model = random_model(rng, ("prismatic",), n=3)
    q, qd, _ = random_state(model, rng)
    for derivative in (screw_sum.mass_matrix_derivative, automatic.mass_matrix_derivative):
        assert_close(derivative(model, q), np.zeros((3, 3, 3)))
        assert_close(*traced(derivative, model, q=q), np.zeros((3, 3, 3)))
    assert_close(christoffel.coriolis_matrix(model, q, qd), np.zeros((3, 3)))


@few
@given(seeds)
def test_mass_matrix_of_a_chain_does_not_see_the_joints_before(seed):
    """∂M_ij/∂q_k = 0 for k ≤ min(i, j), exactly; so b_iii = 0, and b_iji = 0 for i > j (003)."""
    model, q, _ = mechanism(seed, one_degree=True, tree=False)
    n = model.nv
    D, Gamma = screw_sum.mass_matrix_derivative(model, q), christoffel.christoffel(model, q)
    i, j, k = np.indices((n, n, n))
    assert not D[k <= np.minimum(i, j)].any()
    assert not Gamma[(i == k) & (j <= i)].any()
    # and in general it does see the joints beyond
    assert D.any() or n < 2 or not mass_matrix_rate(model, q, np.ones(n)).any()


# velocity terms


@few
@given(seeds)
def test_christoffel_symbols_are_symmetric(seed):
    model, q, _ = mechanism(seed, one_degree=True)
    Gamma = christoffel.christoffel(model, q)
    np.testing.assert_array_equal(Gamma, np.transpose(Gamma, (0, 2, 1)))


@few
@given(seeds)
def test_skew_by_christoffel_and_operator(seed):
    model, q, qd = mechanism(seed, one_degree=True)
    for coriolis_matrix in SKEW.values():
        C = coriolis_matrix(model, q, qd)
        if np.abs(C).max() > 1e-6:  # slides alone have no velocity terms
            assert asymmetry(model, C, q, qd) < 1e-11


@few
@given(seeds)
def test_skew_by_operator_with_any_joint(seed):
    """The added term works for twists too: Ṁ along the motion, quaternions included."""
    model, q, qd = mechanism(seed)
    C = operator.coriolis_matrix(model, q, qd)
    if np.abs(C).max() > 1e-6:
        assert asymmetry(model, C, q, qd) < 1e-11


@pytest.mark.parametrize("robot", ["elbow_3r", "puma560", "ur5", "panda"])
def test_printed_operator_form_is_not_skew(robot):
    """000 p.46 as printed: C q̇ is right, Ṁ − 2C is not skew."""
    model = ZOO[robot]
    q, qd, _ = random_state(model, np.random.default_rng(3))
    printed = operator.coriolis_matrix_printed(model, q, qd)
    assert asymmetry(model, printed, q, qd) > 0.01
    assert_close(printed @ qd, operator.coriolis_matrix(model, q, qd) @ qd)


@few
@given(seeds)
def test_velocity_terms_of_any_joint(seed):
    model, q, qd = mechanism(seed)
    N, h = newton_euler.gravity_torque(model, q), newton_euler.bias(model, q, qd)
    assert_close(operator.bias(model, q, qd), h)
    assert_close(operator.coriolis_matrix(model, q, qd) @ qd + N, h)
    assert_close(operator.coriolis_matrix_printed(model, q, qd) @ qd + N, h)


@few
@given(seeds)
def test_velocity_terms_of_coordinates(seed):
    """C q̇ + N = Ṁ q̇ − ½[q̇ᵀ M_q q̇] + N = B[q̇q̇] + C[q̇²] + N = h."""
    model, q, qd = mechanism(seed, one_degree=True)
    N, h = newton_euler.gravity_torque(model, q), newton_euler.bias(model, q, qd)
    assert_close(christoffel.bias(model, q, qd), h)
    assert_close(christoffel.coriolis_matrix(model, q, qd) @ qd + N, h)
    derivatives = screw_sum.mass_matrix_derivative(model, q)
    half = 0.5 * np.einsum("jki,j,k->i", derivatives, qd, qd)
    assert_close(np.einsum("ijk,k,j->i", derivatives, qd, qd) - half + N, h)
    B, C = christoffel.coriolis_centrifugal(model, q)
    j, k = np.triu_indices(model.nv, 1)  # 12, 13, …, (n−1)n
    assert_close(B @ (qd[j] * qd[k]) + C @ (qd * qd) + N, h)


@pytest.mark.parametrize("bias", BIAS.values(), ids=BIAS)
@few
@given(seeds)
def test_bias_on_a_moving_base(bias, seed):
    model, q, qd = mechanism(seed, one_degree=True)
    V_0, V_dot_0 = np.random.default_rng(seed).normal(size=(2, 6))
    assert_close(bias(model, q, qd, V_0, V_dot_0), newton_euler.bias(model, q, qd, V_0, V_dot_0))
    assert_close(bias(model, q, qd, V_0), newton_euler.bias(model, q, qd, V_0))


@few
@given(seeds)
def test_gravity_torques_agree(seed):
    model, q, _ = mechanism(seed)
    expected = newton_euler.gravity_torque(model, q)
    for gravity_torque in GRAVITY.values():
        assert_close(gravity_torque(model, q), expected)


# tracing and errors


def outputs(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("what", [*OF_Q, *OF_MOTION])
def test_traced_equals_plain(what):
    model, q, qd = mechanism(7, one_degree=what in COORDINATES)
    function = OF_Q.get(what) or OF_MOTION[what]
    inputs = {"q": q} if what in OF_Q else {"q": q, "qd": qd}
    plain = outputs(function(model, **inputs))
    for actual, expected in zip(traced(function, model, **inputs), plain, strict=True):
        assert actual.shape == expected.shape
        assert_close(actual, expected, 1e-12)


def test_one_joint_has_no_pairs():
    model, q = ZOO["pendulum"], np.array([0.3])
    B, C = christoffel.coriolis_centrifugal(model, q)
    assert B.shape == (1, 0)
    np.testing.assert_array_equal(C, [[0.0]])
    assert traced(christoffel.coriolis_centrifugal, model, q=q)[0].shape == (1, 0)


@pytest.mark.parametrize("what", sorted(COORDINATES))
def test_joints_without_coordinates_are_named(what):
    rng = np.random.default_rng(8)
    model = random_model(rng, ("spherical",), n=2)
    q, qd, _ = random_state(model, rng)
    function = OF_Q.get(what) or OF_MOTION[what]
    with pytest.raises(FormulationError, match=r"joint 'joint0' is spherical"):
        function(model, q) if what in OF_Q else function(model, q, qd)
