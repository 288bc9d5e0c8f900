"""A constrained system is compiled like everything else: ufuncs, batches, float32, derivatives."""

import subprocess
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert import tracing
from dalembert.errors import UnknownNameError
from tests.constraints.states import load_states


def test_the_kernel_is_a_ufunc_that_broadcasts():
    closed, q, qd, tau = load_states("parallel_3rr", count=6)
    kernel = closed.kernel("forward_dynamics")
    assert isinstance(kernel, np.ufunc)
    qdd, lam = closed.forward_dynamics(q[:, None], qd[:, None], tau[None, :])
    assert qdd.shape == (6, 6, 6) and lam.shape == (6, 6, 4)
    one = closed.forward_dynamics(q[2], qd[2], tau[4])
    np.testing.assert_array_equal(qdd[2, 4], one[0])
    out = np.empty((6, 6)), np.empty((6, 4))
    closed.forward_dynamics(q, qd, tau, out=out)
    np.testing.assert_allclose(out[0], closed.forward_dynamics(q, qd, tau)[0])


def test_single_precision_stays_single():
    closed, q, qd, tau = load_states("four_bar", count=5)
    single = closed.forward_dynamics(*(x.astype(np.float32) for x in (q, qd, tau)))
    assert single[0].dtype == single[1].dtype == np.float32
    np.testing.assert_allclose(
        single[0], closed.forward_dynamics(q, qd, tau)[0], rtol=1e-3, atol=1e-3
    )


def test_derivatives_through_the_solve():
    """∂q̈/∂τ by automatic differentiation is P_T M⁻¹, the mobility the constraints leave."""
    closed, q, qd, tau = load_states("four_bar", count=1)
    formulation = closed.dynamics.quantity("forward_dynamics").formulation("multiplier").function
    u = tracing.symbol("u", 3)
    qdd, _ = formulation(closed.description, q=q[0], qd=qd[0], tau=u)
    (derivative,) = tracing.Function([u], [tracing.jacobian(qdd, u)])(tau[0])
    _, P_T = closed.projectors(q[0])
    expected = P_T @ np.linalg.inv(closed.mass_matrix(q[0]))
    np.testing.assert_allclose(derivative, expected, atol=1e-9)


def test_operations_are_few():
    """The redundant 3×RR in one straight line, λ included."""
    closed = dl.load("parallel_3rr")
    assert closed.operation_count("forward_dynamics").total < 700


def test_names_are_suggested():
    closed = dl.load("four_bar")
    with pytest.raises(UnknownNameError, match="did you mean 'multiplier'"):
        closed.forward_dynamics([0, 0, 0], [0, 0, 0], [0, 0, 0], formulation="multiplyer")
    with pytest.raises(UnknownNameError, match="no velocity 'cranc'"):
        closed.inverse_dynamics([0, 0, 0], [0, 0, 0], [0, 0, 0], actuators=["cranc"])


def test_importing_stays_light():
    code = "import sys, dalembert as dl; dl.load; dl.Constrained; print('casadi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
