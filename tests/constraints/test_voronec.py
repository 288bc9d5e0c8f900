"""Voronec's and Chaplygin's equations: where they hold, what they lose, and where their chart ends."""

import numpy as np
import pytest

import dalembert as dl
from dalembert import tracing
from dalembert.constraints import voronec
from dalembert.errors import ConstraintError
from tests.constraints.states import load_states

FORMS = ("voronec", "chaplygin")
HEADING = ("theta", "psi", "phi_b", "phi_f")  # of the snakeboard, on which its wheels depend
CHARTS = [
    ("chaplygin_sleigh", ("x", "theta"), FORMS),
    ("chaplygin_sleigh", ("y", "theta"), FORMS),
    ("knife_edge", ("x", "phi"), FORMS),
    ("rolling_disk", ("theta", "phi"), FORMS),
    ("snakeboard", HEADING, FORMS),
    ("snakeboard", ("x", "psi", "phi_b", "phi_f"), ("voronec",)),
    ("four_bar", ("crank",), ("voronec",)),
    ("parallel_3rr", ("theta1", "theta3"), ("voronec",)),
]


@pytest.mark.parametrize(("name", "independent", "forms"), CHARTS)
def test_the_motion_is_that_of_lagrange_and_dalembert(name, independent, forms):
    closed, q, qd, tau = load_states(name, count=6)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    own = [closed.dynamics.velocities.index(x) for x in independent]
    for form in forms:
        M, h, N, n = closed.reduced(q, qd, independent, formulation=form)
        forces = (np.swapaxes(N, 1, 2) @ tau[..., None])[..., 0]
        # no bias, γ or drift of the system enters: the Lagrangian is differentiated
        balance = (M @ qdd[:, own, None])[..., 0] + h - forces
        size = np.abs(M).max() * np.abs(qdd).max() * np.abs(N).max()
        np.testing.assert_allclose(balance, 0.0, atol=1e-12 * size)
        np.testing.assert_allclose(
            (N @ qd[:, own, None])[..., 0], qd, atol=1e-11 * np.abs(qd).max()
        )
        assert not n.any()


def test_the_leaning_disk_in_r_alone():
    """Chaplygin's own example of a body that rolls: x and y do not enter (Neimark and Fufaev 1972)."""
    disk = dl.load("rolling_disk", leaning=True)
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.6, 0.6, (6, 5))
    qd = disk.project_velocity(q, rng.normal(size=(6, 5)))
    expected = disk.reduced(q, qd)
    for form in FORMS:
        for actual, x in zip(disk.reduced(q, qd, formulation=form), expected, strict=True):
            np.testing.assert_allclose(actual, x, atol=1e-12)


@pytest.mark.parametrize("form", [None, *FORMS])
@pytest.mark.parametrize(
    ("name", "q", "independent"),
    [
        ("chaplygin_sleigh", [0.0, 0.0, np.pi / 2], ("x", "theta")),  # cos θ = 0: ẏ is free
        ("chaplygin_sleigh", [0.0, 0.0, 0.0], ("y", "theta")),
        ("snakeboard", [0.0, 0.0, 0.3, 0.1, 0.0, 0.0], HEADING),  # straight wheels: θ̇ = 0
        ("snakeboard", [0.0, 0.0, 0.3, 0.1, 0.4, 0.4], HEADING),
    ],
)
def test_the_chart_ends_where_the_dependent_block_is_singular(name, q, independent, form):
    closed = dl.load(name)
    names = ", ".join(independent)
    with pytest.raises(ConstraintError, match=rf"\({names}\) do not determine the motion at q"):
        closed.reduced(q, np.zeros(closed.nv), independent, formulation=form)
    states = np.array([q, q]) + np.array([[0.0], [0.1]]) * np.arange(1.0, closed.nq + 1)
    result = closed.reduced(
        states, np.ones(closed.nv), independent, formulation=form, errors="flag"
    )
    np.testing.assert_array_equal(result.status, [dl.Status.NOT_DRIVEN, dl.Status.OK])


def system(T=0.0, V=0.0, forces=None, b=0.0, row=None):
    """Three coordinates, ż = row ẋ, and terms that are added to T and V."""
    q = [tracing.symbol(x) for x in "xyz"]
    qd = [tracing.symbol(f"{x}_dot") for x in "xyz"]
    plain = 0.5 * sum(v * v for v in qd)
    free = dl.Lagrangian(
        q,
        plain + (T(q, qd) if T else 0.0),
        V(q) if V else 0.0,
        forces(q, qd) if forces else None,
        qd=qd,
        name="three",
    )
    along = row or (lambda q: q[1])
    constraint = dl.Pfaffian(lambda q: np.stack([np.stack([-along(q), 0.0, 1.0])]), b=b, name="row")
    return dl.Constrained(free, [constraint], independent=("x", "y"))


@pytest.mark.parametrize(
    ("what", "terms"),
    [
        ("T that depends on 'z'", {"T": lambda q, v: 0.2 * np.cos(q[2]) * v[0] * v[0]}),
        ("V that depends on 'z'", {"V": lambda q: 9.81 * q[2]}),
        ("Q that depends on 'z'", {"forces": lambda q, v: [0.0, -0.3 * q[2] * v[1], 0.0]}),
        ("B that depends on 'z'", {"row": lambda q: q[1] + q[2] * q[2]}),
    ],
)
def test_chaplygins_conditions_are_named(what, terms):
    closed = system(**terms)
    q, qd = np.array([0.3, 0.4, 0.5]), np.array([0.7, -0.2, 0.0])
    with pytest.raises(ConstraintError, match=rf"{what} with \(x, y\) independent; take"):
        closed.reduced(q, qd, formulation="chaplygin")
    expected = closed.reduced(q, qd)
    for actual, x in zip(closed.reduced(q, qd, formulation="voronec"), expected, strict=True):
        np.testing.assert_allclose(actual, x, atol=1e-13)


def test_a_dependence_that_cancels_is_none():
    """ż = y (1 + z²)/(1 + z²) ẋ: z stands in B, and ∂B/∂z is zero."""
    closed = system(row=lambda q: q[1] * (1.0 + q[2] * q[2]) / (1.0 + q[2] ** 2))
    q, qd = np.array([0.3, 0.4, 0.5]), np.array([0.7, -0.2, 0.0])
    expected = closed.reduced(q, qd)
    np.testing.assert_allclose(closed.reduced(q, qd, formulation="chaplygin").h_r, expected.h_r)


@pytest.mark.parametrize("form", FORMS)
def test_time_and_other_velocities_are_left_to_boltzmann_and_hamel(form):
    moving = system(b=lambda q, t: np.stack([np.sin(t)]))
    ball = {"name": "b", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
    turned = dl.Constrained(
        dl.Robot.from_links([ball]), [dl.Pfaffian([[1.0, 0.2, 0.3]], name="row")]
    )
    for closed in (moving, turned):
        with pytest.raises(
            ConstraintError, match=r"b = 0.*take the equations of Boltzmann and Hamel"
        ):
            closed.reduced(closed.neutral(), np.zeros(3), formulation=form)


def test_the_parts_are_the_constrained_lagrangian_and_what_it_lacks():
    """Snakeboard: θ (Ḃ − D B ṙ) is not zero, so L_c alone would move it elsewhere."""
    closed = dl.load("snakeboard")
    free = [2, 3, 4, 5]
    q, qd = np.array([0.1, 0.2, 0.3, 0.1, 0.4, -0.3]), np.array([0.5, 0.3, 0.2, -0.6])
    parts = voronec.equations(closed.dynamics, q, qd, free)
    assert np.abs(parts.difference).max() > 0.01
    whole = parts.constrained + parts.difference
    state = np.concatenate([parts.B @ qd, qd])
    expected = closed.reduced(q, state, HEADING).h_r
    np.testing.assert_allclose(whole, expected, atol=1e-12)
