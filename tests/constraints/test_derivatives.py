"""∂q̈, ∂τ and ∂λ of constrained systems, against extrapolated differences."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ConstraintError, FormulationError
from tests.constraints.states import load_states
from tests.constraints.test_contact_friction import rod

BALANCED = ("four_bar", "parallel_3rr", "rolling_disk", "chaplygin_sleigh")


def derivatives(function, n, h=2e-4):
    """∂f/∂δ at δ = 0 (n,), one array per output, by central differences extrapolated to h = 0."""
    columns = []
    for step in np.eye(n):
        wide, narrow = (
            [
                (a - b) / (2 * k)
                for a, b in zip(function(k * step), function(-k * step), strict=True)
            ]
            for k in (h, h / 2)
        )
        columns.append([(4 * b - a) / 3 for a, b in zip(wide, narrow, strict=True)])
    return [np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)]


def close(actual, expected, tolerance=1e-9):
    scale = 1.0 + np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, atol=tolerance * scale)


def away(closed, q):
    """A posture off the constraints."""
    return closed.integrate(q, np.linspace(-0.05, 0.05, closed.nv))


@pytest.mark.parametrize("off", (False, True))
@pytest.mark.parametrize("name", BALANCED)
def test_forward_dynamics_on_and_off_the_constraints(name, off):
    closed, q, qd, tau = (x[0] if k else x for k, x in enumerate(load_states(name, count=1)))
    q, qd = (away(closed, q), qd + 0.1) if off else (q, qd)
    result = closed.forward_dynamics_derivatives(q, qd, tau)
    methods = (
        lambda s: closed.forward_dynamics(closed.integrate(q, s), qd, tau),
        lambda s: closed.forward_dynamics(q, qd + s, tau),
        lambda s: closed.forward_dynamics(q, qd, tau + s),
    )
    for k, method in enumerate(methods):
        for own, expected in zip(
            (result[k], result[3 + k]), derivatives(method, closed.nv), strict=True
        ):
            close(own, expected)


@pytest.mark.parametrize("driven", ("all", "independent"))
@pytest.mark.parametrize("name", BALANCED)
def test_inverse_dynamics(name, driven):
    closed, q, qd, tau = (x[0] if k else x for k, x in enumerate(load_states(name, count=1)))
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    who = None if driven == "all" else closed.independent
    result = closed.inverse_dynamics_derivatives(q, qd, qdd, actuators=who)
    methods = (
        lambda s: closed.inverse_dynamics(closed.integrate(q, s), qd, qdd, actuators=who),
        lambda s: closed.inverse_dynamics(q, qd + s, qdd, actuators=who),
        lambda s: closed.inverse_dynamics(q, qd, qdd + s, actuators=who),
    )
    for k, method in enumerate(methods):
        for own, expected in zip(
            (result[k], result[3 + k]), derivatives(method, closed.nv), strict=True
        ):
            close(own, expected)


@pytest.mark.parametrize("name", ("bennett", "arm_rolling_on_sphere"))
def test_redundant_rows_and_rolling_along_the_constraints(name):
    """Along motions on the constraints: dq̈ = ∂q̈/∂q δ + ∂q̈/∂q̇ δ̇, and λ of least norm follows."""
    closed, q, qd, tau = (x[0] if k else x for k, x in enumerate(load_states(name, count=1)))
    N = closed.reduced(q, qd).N

    def moved(s):
        at = closed.assemble(closed.integrate(q, N @ s), fixed=closed.independent)
        v = closed.project_velocity(at, qd)
        qdd, lam = closed.forward_dynamics(at, v, tau)
        return at, v, qdd, lam

    by_qd, by_qdd, by_lam = derivatives(lambda s: moved(s)[1:], closed.freedoms)
    result = closed.forward_dynamics_derivatives(q, qd, tau)
    close(result.dqdd_dq @ N + result.dqdd_dqd @ by_qd, by_qdd)
    close(result.dlam_dq @ N + result.dlam_dqd @ by_qd, by_lam)
    (by_tau, borne) = derivatives(
        lambda s: closed.inverse_dynamics(*moved(s)[:3], actuators=closed.independent),
        closed.freedoms,
    )
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    result = closed.inverse_dynamics_derivatives(q, qd, qdd, actuators=closed.independent)
    close(result.dtau_dq @ N + result.dtau_dqd @ by_qd + result.dtau_dqdd @ by_qdd, by_tau, 1e-8)
    close(result.dlam_dq @ N + result.dlam_dqd @ by_qd + result.dlam_dqdd @ by_qdd, borne, 1e-8)


def test_contacts_that_rub():
    closed = rod(0.5)
    theta = np.arctan(2.0)
    q, qd = np.array([0.0, np.sin(theta), theta]), np.array([-1.0, 0.0, 0.0])
    result = closed.forward_dynamics_derivatives(q, qd, np.zeros(3))
    by_q = derivatives(lambda s: closed.forward_dynamics(q + s, qd, np.zeros(3)), 3)
    by_tau = derivatives(lambda s: closed.forward_dynamics(q, qd, s), 3)
    close(result.dqdd_dq, by_q[0], 1e-8)
    close(result.dlam_dq, by_q[1], 1e-8)
    close(result.dqdd_dtau, by_tau[0], 1e-8)
    close(result.dlam_dtau, by_tau[1], 1e-8)
    with pytest.raises(FormulationError, match="without friction"):
        closed.inverse_dynamics_derivatives(q, qd, np.zeros(3))


def test_a_driver_that_moves():
    particle = dl.load("pendulum_constrained", g=0.0).system
    wire = dl.Driver(lambda q, t: np.stack([q[0] * np.sin(1.3 * t) - q[1] * np.cos(1.3 * t)]))
    closed = dl.Constrained(particle, [wire], guess=[1.0, 0.0])
    q, qd, tau, t = np.array([0.7, 0.4]), np.array([0.2, 0.9]), np.array([0.3, -0.2]), 0.4
    result = closed.forward_dynamics_derivatives(q, qd, tau, t=t)
    by_q = derivatives(lambda s: closed.forward_dynamics(q + s, qd, tau, t=t), 2)
    close(result.dqdd_dq, by_q[0])
    close(result.dlam_dq, by_q[1])


def test_states_without_slopes_are_named_or_flagged():
    closed = dl.load("pendulum_constrained")
    q = np.array([[0.0, -1.0], [0.0, 0.0]])
    with pytest.raises(ConstraintError, match=r"forward_dynamics_derivatives.*singular posture"):
        closed.forward_dynamics_derivatives(q, np.zeros(2), np.zeros(2))
    result = closed.forward_dynamics_derivatives(
        q, np.zeros(2), np.zeros(2), errors="flag", tolerance=10.0
    )
    np.testing.assert_array_equal(result.status, [dl.Status.OK, dl.Status.OFF_POSITION])
    assert np.isfinite(result.dqdd_dq[0]).all() and np.isnan(result.dlam_dq[1]).all()
