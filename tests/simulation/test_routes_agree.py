"""One second of motion by every route and in Kane's variables: the same to 1e-8."""

import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as dl

ROUTES = ("multiplier", "elimination", "projection", "gauge", "kane")
AGREE = 1e-8  # beside the largest entry
OPTIONS = {"duration": 1.0, "dt": 1e-3, "save_every": 100, "rtol": 1e-12, "atol": 1e-14}


def pushed(closed, forces):
    """(q, q̇, τ): the reference posture, a velocity the constraints allow, forces by their joints."""
    rng = np.random.default_rng(0)
    tau = np.zeros(closed.nv)
    for k, name in enumerate(closed.dynamics.velocities):
        tau[k] = next((f for part, f in forces.items() if part in name), 0.0)
    q = closed.neutral()
    return q, closed.project_velocity(q, 0.3 * rng.normal(size=closed.nv)), tau


STATIC_TORQUES = {
    "stewart_platform": {"leg": 40.0},
    "bennett": {},
    "two_arms_with_box": {"lift": -5.0, "elbow": -5.0, "pitch": 10.0},
    "arm_rolling_on_sphere": {"lift": -10.0, "elbow": -5.0},
}


@pytest.mark.parametrize("name", STATIC_TORQUES)
def test_every_route_and_kanes_form_give_one_motion(name):
    closed = dl.load(name)
    q, qd, tau = pushed(closed, STATIC_TORQUES[name])
    runs = [
        dl.simulate(closed, q, qd, tau, formulation=formulation, **OPTIONS)
        for formulation in ROUTES
    ]
    moved = np.abs(runs[0].q.values[-1] - q).max()
    assert moved > 0.1  # or there would be nothing to agree on
    for formulation, run in zip(ROUTES, runs, strict=True):
        assert run.attrs["status"] == "complete", (formulation, run.attrs["message"])
        for field in ("q", "qd", "lambda"):
            size = max(1.0, float(abs(runs[0][field]).max()))
            assert float(abs(run[field] - runs[0][field]).max()) < AGREE * size, (
                formulation,
                field,
            )
        # d'Alembert: the constraints do no work, so K + U − W stays what it was
        assert float(abs(run.balance).max()) < 1e-9, formulation
        assert float(run.residual.max()) < 1e-11 and float(run.velocity_residual.max()) < 1e-10


def test_bennetts_linkage_turns_as_its_closed_form_says():
    """Angles by Bennett's relation, and the time they take by quadrature of the energy in θ₁."""
    a, b, alpha = 0.3, 0.5, np.pi / 6
    closed = dl.load("bennett", a=a, b=b, alpha=alpha)
    beta = np.arcsin(b * np.sin(alpha) / a)
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)

    def posture(first):
        return np.array([first, 2 * np.arctan2(ratio, np.tan(first / 2)), -first])

    def rates(first):
        half = 0.5 * first
        second = -ratio / (np.sin(half) ** 2 + ratio**2 * np.cos(half) ** 2)
        return np.array([1.0, second, -1.0])

    q = closed.neutral()
    run = dl.simulate(closed, q, 12.0 * rates(q[0]), formulation="kane", **OPTIONS)
    first, second, third = run.q.values.T
    assert first[-1] - first[0] > 2 * np.pi
    np.testing.assert_allclose(third, -first, atol=1e-10)
    np.testing.assert_allclose(
        np.tan(first / 2) * np.tan(second / 2), np.full(len(first), ratio), rtol=1e-9
    )
    # ½ I(θ₁) θ̇₁² + U(θ₁) = E: of the open chain on the closed form, no constraint is solved
    tree = closed.system
    energy = float(tree.kinetic_energy(q, 12.0 * rates(q[0])) + tree.potential_energy(q))

    def slowness(angle):
        inertia = rates(angle) @ tree.mass_matrix(posture(angle)) @ rates(angle)
        return np.sqrt(0.5 * inertia / (energy - tree.potential_energy(posture(angle))))

    time = quad(slowness, first[0], first[-1], limit=200, epsabs=1e-12, epsrel=1e-12)[0]
    np.testing.assert_allclose(time, 1.0, atol=1e-8)
