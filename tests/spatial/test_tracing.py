"""Every function of the layer runs on arrays of symbols and gives what it gives on floats."""

import numpy as np
import pytest

from dalembert import spatial, tracing
from dalembert.spatial import rotations
from dalembert.tracing.program import Op


def traced(function, arguments):
    """Values of the function of symbols, and its derivatives by each argument as matrices."""
    values = [np.asarray(a, dtype=float) for a in arguments]
    symbols = [tracing.symbol(f"x{i}", *v.shape) for i, v in enumerate(values)]
    result = function(*symbols)
    outputs = result if isinstance(result, tuple) else (result,)
    derivatives = [tracing.jacobian(y, x) for y in outputs for x in symbols]
    numbers = tracing.Function(symbols, [*outputs, *derivatives])(*values)
    sizes = [(y.size, x.size) for y in map(tracing.symbols, outputs) for x in symbols]
    shaped = [n.reshape(size) for n, size in zip(numbers[len(outputs) :], sizes, strict=True)]
    return list(numbers[: len(outputs)]), shaped


RNG = np.random.default_rng(7)
W = np.array([0.4, -0.7, 1.1])
XI = np.array([0.3, -0.2, 0.5, 0.7, 0.1, -0.4])
ETA = np.array([-0.6, 0.9, 0.2, -0.3, 1.2, 0.8])
R, G = spatial.exp_so3(W), spatial.exp_se3(XI)
HALF = spatial.exp_so3((np.pi - 1e-9) * W / np.linalg.norm(W))
Q = spatial.exp_quaternion(W)
MASS, COM = 2.5, np.array([0.1, -0.2, 0.3])
TENSOR = spatial.rotate_tensor(spatial.box_inertia(MASS, [0.3, 0.5, 0.8]), R)
M = spatial.spatial_inertia(MASS, COM, TENSOR)
AXIS = W / np.linalg.norm(W)
CLOUD = RNG.normal(size=(5, 3))

CASES = {
    "hat": [W],
    "vee": [spatial.hat(W)],
    "rotation_x": [0.7],
    "rotation_y": [0.7],
    "rotation_z": [0.7],
    "axis_angle": [AXIS, 0.7],
    "snap": [R],
    "exp_so3": [W],
    "log_so3": [R],
    "left_jacobian_so3": [W],
    "left_jacobian_inverse_so3": [W],
    "rotation_from_rpy": [W],
    "rpy_from_rotation": [R],
    "rotation_rate": [W, R],
    "angular_velocity": [R, spatial.rotation_rate(COM, R)],
    "matrix_from_quaternion": [3.0 * Q],
    "quaternion_from_matrix": [R],
    "product": [Q, Q[::-1]],
    "conjugate": [Q],
    "normalise": [2.0 * Q],
    "exp_quaternion": [W],
    "log_quaternion": [Q],
    "integrate": [Q, COM],
    "difference": [Q, spatial.integrate(Q, COM)],
    "rate_map": [Q],
    "pose": [R, COM],
    "rotation": [G],
    "translation": [G],
    "inverse": [G],
    "compose": [G, spatial.inverse(G) @ G, G],
    "apply": [G, COM],
    "hat_se3": [XI],
    "vee_se3": [spatial.hat_se3(XI)],
    "exp_se3": [XI, 0.6],
    "log_se3": [G],
    "Ad": [G],
    "Ad_inv": [G],
    "ad": [XI],
    "bracket": [XI, ETA],
    "parallel_axis": [TENSOR, MASS, COM],
    "rotate_tensor": [TENSOR, R],
    "spatial_inertia": [MASS, COM, TENSOR],
    "from_spatial_inertia": [M],
    "change_frame": [M, G],
    "silver_tensor": [TENSOR],
    "from_silver_tensor": [TENSOR],
    "pseudo_inertia": [MASS, COM, TENSOR],
    "from_pseudo_inertia": [spatial.pseudo_inertia(MASS, COM, TENSOR)],
    "inertia_tensor": [3.0, 4.0, 5.0],
    "box_inertia": [MASS, [0.1, 0.2, 0.3]],
    "cylinder_inertia": [MASS, 0.2, 0.7],
    "capsule_inertia": [MASS, 0.2, 0.7],
    "sphere_inertia": [MASS, 0.2],
    "ellipsoid_inertia": [MASS, [0.1, 0.2, 0.3]],
    "rod_inertia": [MASS, 0.7],
    "point_masses": [[1.0, 2.0, 3.0, 4.0, 5.0], CLOUD],
    "newton_euler_spatial": [MASS, TENSOR, R, W, COM, AXIS],
    "newton_euler_body": [M, XI, ETA],
    "body_acceleration": [M, XI, ETA],
    "body_momentum": [M, XI],
    "spatial_momentum": [M, XI, G],
    "kinetic_energy": [M, XI],
    "rotational_energy": [spatial.rotation_rate(COM, R), spatial.silver_tensor(TENSOR)],
}
# these take numbers only: samples, checks of given data, and a constant
NUMERIC = {"sampled_density", "check_inertia", "inertia_faults", "identity_quaternion"}


def test_every_public_function_is_covered():
    assert set(CASES) | NUMERIC == set(spatial.__all__)


def agree(function, arguments, atol=2e-15):
    expected = function(*[np.asarray(a, dtype=float) for a in arguments])
    expected = expected if isinstance(expected, tuple) else (expected,)
    values, derivatives = traced(function, arguments)
    for value, number in zip(values, expected, strict=True):
        assert value.shape == np.shape(number)
        # same operations in the same order, up to a few contractions and simplifications
        np.testing.assert_allclose(value, number, rtol=2e-15, atol=atol)
    assert all(np.isfinite(derivative).all() for derivative in derivatives)


@pytest.mark.parametrize("name", CASES)
def test_trace_equals_floats(name):
    # a 6×6 elimination is conditioned by M (about 60 here); the rest is at rounding
    agree(getattr(spatial, name), CASES[name], atol=1e-12 if name == "body_acceleration" else 1e-14)


SINGULAR = {
    "exp_so3 at 0": (spatial.exp_so3, [np.zeros(3)]),
    "exp_so3 near 0": (spatial.exp_so3, [1e-200 * W]),
    "exp_se3 at 0": (spatial.exp_se3, [np.zeros(6), 1.0]),
    "log_so3 at 0": (spatial.log_so3, [np.eye(3)]),
    "log_so3 near π": (spatial.log_so3, [HALF]),
    "log_so3 at π": (spatial.log_so3, [np.diag([-1.0, -1.0, 1.0])]),
    "log_se3 at 0": (spatial.log_se3, [np.eye(4)]),
    "left Jacobian at 0": (spatial.left_jacobian_so3, [np.zeros(3)]),
    "inverse left Jacobian at 0": (spatial.left_jacobian_inverse_so3, [np.zeros(3)]),
    "quaternion exp at 0": (spatial.exp_quaternion, [np.zeros(3)]),
    "quaternion log at 0": (spatial.log_quaternion, [np.array([0.0, 0.0, 0.0, 1.0])]),
    "rpy at a pole": (
        spatial.rpy_from_rotation,
        [spatial.snap(spatial.rotation_y(np.pi / 2) @ spatial.rotation_x(0.3))],
    ),
    "no mass": (spatial.from_spatial_inertia, [np.zeros((6, 6))]),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_trace_and_derivative_are_finite_where_closed_forms_are_not(name):
    agree(*SINGULAR[name])


@pytest.mark.parametrize("largest", range(4))
def test_every_branch_of_quaternion_from_matrix(largest):
    q = np.full(4, 0.3)
    q[largest] = -0.9
    agree(spatial.quaternion_from_matrix, [spatial.matrix_from_quaternion(q)])


@pytest.mark.parametrize("axis", range(3))
def test_joint_about_an_axis_traces_to_sine_and_cosine_alone(axis):
    theta = tracing.symbol("theta")
    turn = [spatial.rotation_x, spatial.rotation_y, spatial.rotation_z][axis](theta)
    xi = np.concatenate([np.zeros(3), np.eye(3)[axis]])
    traced_pose = spatial.exp_se3(xi, theta)
    assert tracing.is_zero(traced_pose[:3, :3] - turn)
    assert tracing.is_zero(traced_pose[:3, 3])


def test_revolute_joint_about_a_skew_line_uses_sine_and_cosine_alone():
    theta = tracing.symbol("theta")
    axis = np.ones(3) / np.sqrt(3.0)  # of length 1, and at a right angle, only up to rounding
    xi = np.concatenate([np.cross([0.3, 0.1, -0.7], axis), axis])
    program = tracing.program_of("pose", [theta], {"T": spatial.exp_se3(xi, theta)})
    angle = int(np.flatnonzero(program.op == Op.INPUT)[0])
    used = (program.a == angle) | (program.b == angle)
    used &= ~np.isin(program.op, [Op.CONST, Op.INPUT])
    assert set(program.op[used]) == {Op.SIN, Op.COS}


@pytest.mark.parametrize(
    "xi", [XI, np.append(XI[:3], np.zeros(3)), np.append(np.zeros(3), AXIS), 3.0 * ETA]
)
@pytest.mark.parametrize("theta", [0.0, 1e-9, 0.8, -2.5])
def test_constant_twist_with_symbolic_angle(xi, theta):
    values, _ = traced(lambda angle: spatial.exp_se3(xi, angle), [theta])
    np.testing.assert_allclose(values[0], spatial.exp_se3(xi, theta), atol=2e-15)


def test_lists_may_mix_numbers_and_symbols():
    length = tracing.symbol("l")
    S = rotations.hat([0.0, length, 1.0])
    (values,) = tracing.Function([length], [S])(2.0)
    np.testing.assert_array_equal(values, spatial.hat([0.0, 2.0, 1.0]))
