"""The closed forms of the worked examples, misprints corrected, at random parameters."""

import numpy as np
from hypothesis import given, settings

from dalembert.formulations.derivatives import automatic
from dalembert.formulations.inverse import operator
from dalembert.formulations.kinematics import energy
from dalembert.formulations.kinematics import frames as kinematics
from dalembert.formulations.mass import christoffel, jacobian_mass, screw_sum
from dalembert.spatial import se3
from dalembert.zoo import textbook
from tests.formulations.comparison import assert_close, mass_matrix_rate
from tests.formulations.mechanisms import seeds

few = settings(max_examples=25)
MASS = (
    jacobian_mass.mass_matrix,
    jacobian_mass.mass_matrix_by_centers,
    screw_sum.mass_matrix,
    operator.mass_matrix,
)


def uniform(rng, *names):
    return {name: float(rng.uniform(0.2, 1.5)) for name in names}


def principal(rng, link):
    """Principal moments of a solid: each less than the sum of the others."""
    x, y, z = rng.uniform(0.1, 1.0, 3)
    return {f"Ix{link}": y + z, f"Iy{link}": x + z, f"Iz{link}": x + y}


@few
@given(seeds)
def test_planar_2r(seed):
    """000 p.19 and p.25–26."""
    rng = np.random.default_rng(seed)
    p = uniform(rng, "m1", "m2", "l1", "l2", "r1", "r2", "Iz1", "Iz2")
    model = textbook.planar_2r(**p).model
    q, (w1, w2) = rng.normal(size=2), rng.normal(size=2)
    alpha = p["Iz1"] + p["Iz2"] + p["m1"] * p["r1"] ** 2 + p["m2"] * (p["l1"] ** 2 + p["r2"] ** 2)
    beta, delta = p["m2"] * p["l1"] * p["r2"], p["Iz2"] + p["m2"] * p["r2"] ** 2
    c, s = np.cos(q[1]), np.sin(q[1])
    M = [[alpha + 2 * beta * c, delta + beta * c], [delta + beta * c, delta]]
    for mass_matrix in MASS:
        assert_close(mass_matrix(model, q), M)
    # Γ_112 = Γ_121 = Γ_122 = −β s₂, Γ_211 = β s₂, the others zero
    symbols = beta * s * np.array([[[0, -1], [-1, -1]], [[1, 0], [0, 0]]])
    assert_close(christoffel.christoffel(model, q), symbols)
    C = beta * s * np.array([[-w2, -(w1 + w2)], [w1, 0.0]])
    qd = np.array([w1, w2])
    assert_close(christoffel.coriolis_matrix(model, q, qd), C)
    skew = beta * s * (2 * w1 + w2) * np.array([[0.0, 1.0], [-1.0, 0.0]])
    assert_close(mass_matrix_rate(model, q, qd) - 2 * C, skew)


def elbow(rng):
    lengths = uniform(rng, "l0", "l1", "l2", "r0", "r1", "r2", "m1", "m2", "m3", "g")
    p = lengths | principal(rng, 1) | principal(rng, 2) | principal(rng, 3)
    return p, textbook.elbow_3r(**p).model, rng.normal(size=3)


@few
@given(seeds)
def test_elbow_3r_mass_and_gravity(seed):
    """000 p.29–30."""
    p, model, q = elbow(np.random.default_rng(seed))
    c2, s2, c3 = np.cos(q[1]), np.sin(q[1]), np.cos(q[2])
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    l1, r1, r2, m2, m3, g = (p[name] for name in ("l1", "r1", "r2", "m2", "m3", "g"))
    rotated = p["Iy2"] * s2**2 + p["Iy3"] * s23**2 + p["Iz2"] * c2**2 + p["Iz3"] * c23**2
    M11 = p["Iz1"] + rotated + m2 * r1**2 * c2**2 + m3 * (l1 * c2 + r2 * c23) ** 2
    M33 = p["Ix3"] + m3 * r2**2
    M23 = M33 + m3 * l1 * r2 * c3
    M22 = p["Ix2"] + M33 + m3 * l1**2 + m2 * r1**2 + 2 * m3 * l1 * r2 * c3
    for mass_matrix in MASS:
        assert_close(mass_matrix(model, q), [[M11, 0, 0], [0, M22, M23], [0, M23, M33]])
    # V = m₁g r₀ + m₂g (l₀ − r₁s₂) + m₃g (l₀ − l₁s₂ − r₂s₂₃)
    third = -m3 * g * r2 * c23
    N = [0.0, -(m2 * r1 + m3 * l1) * g * c2 + third, third]
    assert_close(energy.gravity_torque(model, q), N)
    assert_close(energy.gravity_torque_by_potential(model, q), N)


@few
@given(seeds)
def test_elbow_3r_christoffel_symbols(seed):
    """000 p.28; all 27, those not printed being zero."""
    p, model, q = elbow(np.random.default_rng(seed))
    c2, s2, s3 = np.cos(q[1]), np.sin(q[1]), np.sin(q[2])
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    l1, r1, r2, m2, m3 = (p[name] for name in ("l1", "r1", "r2", "m2", "m3"))
    t = m3 * (l1 * c2 + r2 * c23)
    third = (p["Iy3"] - p["Iz3"]) * c23 * s23
    symbols = np.zeros((3, 3, 3))
    second = (p["Iy2"] - p["Iz2"] - m2 * r1**2) * c2 * s2
    symbols[0, 0, 1] = symbols[0, 1, 0] = second + third - t * (l1 * s2 + r2 * s23)
    symbols[0, 0, 2] = symbols[0, 2, 0] = third - t * r2 * s23
    symbols[1, 0, 0], symbols[2, 0, 0] = -symbols[0, 0, 1], -symbols[0, 0, 2]
    symbols[1, 1, 2] = symbols[1, 2, 1] = symbols[1, 2, 2] = -l1 * m3 * r2 * s3
    symbols[2, 1, 1] = l1 * m3 * r2 * s3
    assert_close(christoffel.christoffel(model, q), symbols)


@few
@given(seeds)
def test_elbow_3r_body_jacobians(seed):
    """J₂ and J₃ of 000 p.29, in link frames at the mass centres."""
    p, model, q = elbow(np.random.default_rng(seed))
    c2, s2, c3, s3 = np.cos(q[1]), np.sin(q[1]), np.cos(q[2]), np.sin(q[2])
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    l1, r1, r2 = p["l1"], p["r1"], p["r2"]
    J2 = [[-r1 * c2, 0, 0], [0, 0, 0], [0, -r1, 0], [0, -1, 0], [-s2, 0, 0], [c2, 0, 0]]
    J3 = [
        [-l1 * c2 - r2 * c23, 0, 0],
        [0, l1 * s3, 0],
        [0, -r2 - l1 * c3, -r2],
        [0, -1, -1],
        [-s23, 0, 0],
        [c23, 0, 0],
    ]
    second, third = (joint.link for joint in model.joints[1:])
    assert_close(kinematics.jacobian(model, q, frame=second), J2)
    assert_close(kinematics.jacobian(model, q, frame=third), J3)
    # the same Jacobians along the axes of the bodies' own frames
    for link, J in ((second, J2), (third, J3)):
        frame = model.frames[link]
        own = jacobian_mass.body_jacobians(model, q)[frame.body]
        rotated = np.concatenate([frame.rotation.T @ own[0:3], frame.rotation.T @ own[3:6]])
        assert_close(rotated, J)


@few
@given(seeds)
def test_rp_arm(seed):
    """003: M, B, C and G."""
    rng = np.random.default_rng(seed)
    p = uniform(rng, "m1", "m2", "l1", "Izz1", "Izz2", "g")
    model = textbook.rp(**p).model
    q = rng.normal(size=2)
    (c1, s1), d2 = (np.cos(q[0]), np.sin(q[0])), q[1]
    m1, m2, l1, g = p["m1"], p["m2"], p["l1"], p["g"]
    M = np.diag([m1 * l1**2 + p["Izz1"] + m2 * d2**2 + p["Izz2"], m2])
    for mass_matrix in MASS:
        assert_close(mass_matrix(model, q), M)
    B, C = christoffel.coriolis_centrifugal(model, q)
    assert_close(B, [[2 * m2 * d2], [0.0]])
    assert_close(C, [[0.0, 0.0], [-m2 * d2, 0.0]])
    G = [(m1 * l1 + m2 * d2) * g * c1, m2 * g * s1]
    assert_close(energy.gravity_torque(model, q), G)
    # only m_112 = ∂M_11/∂d_2 is not zero
    derivatives = np.zeros((2, 2, 2))
    derivatives[0, 0, 1] = 2 * m2 * d2
    for derivative in (screw_sum.mass_matrix_derivative, automatic.mass_matrix_derivative):
        assert_close(derivative(model, q), derivatives)


def test_misprint_of_property_2():
    """With A_{k−1,i} in the brackets, as p.31 prints it, ∂M/∂θ_3 is wrong; with A_ki right."""
    model, q, k = textbook.elbow_3r().model, np.array([0.3, 0.7, -0.4]), 2
    xi, A, inertia, J = screw_sum.screws(model, q)
    expected = automatic.mass_matrix_derivative(model, q)[:, :, k]

    def derivative(row):
        brackets = [se3.bracket((A[row, i] @ xi[i])[:, 0], xi[k][:, 0]) for i in range(k)]
        # the only link beyond joint 3 is link 3, and A_33 = 1
        half = np.stack([*brackets, np.zeros(6)]) @ inertia[k] @ J[k]
        return half + half.T

    assert_close(derivative(k), expected)
    assert np.abs(derivative(k - 1) - expected).max() > 0.01 * np.abs(expected).max()
