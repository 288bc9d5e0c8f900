"""Large constrained systems: right, and by programs that do not grow with the cube of their size."""

import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import dynamics
from dalembert.linalg import factorisations
from dalembert.linalg.factorisations import ldl
from dalembert.linalg.row_space import DenseRowSpace, row_space
from tests.constraints.soft_foot import soft_foot


@pytest.fixture(scope="module")
def foot(tmp_path_factory):
    path = tmp_path_factory.mktemp("foot") / "foot.xml"
    path.write_text(soft_foot())
    return dl.load(str(path))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("foot") / "small.xml"
    path.write_text(soft_foot(strips=1, links=4, ties=1, toes=0))
    return dl.load(str(path))


def state(system, rng, size=0.02):
    q = system.assemble(system.integrate(system.neutral(), size * rng.normal(size=system.nv)))
    qd = system.project_velocity(q, 0.1 * rng.normal(size=system.nv))
    return q, qd, 0.1 * rng.normal(size=system.nv)


def mujocos(q, qd, tau):
    """(q̈, Aᵀλ) from MuJoCo's M, bias, Jacobians of points and their rates, in our coordinates."""
    m = mujoco.MjModel.from_xml_string(soft_foot())
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = q, qd
    d.qpos[3:7] = np.roll(q[3:7], 1)
    mujoco.mj_kinematics(m, d)
    R = d.xmat[1].reshape(3, 3)
    T = np.eye(m.nv)
    T[:3, :3] = R
    d.qvel[:] = T @ qd
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    rows, drift = [], []
    for k in range(m.neq):
        ends = []
        for body, anchor in ((m.eq_obj1id[k], slice(0, 3)), (m.eq_obj2id[k], slice(3, 6))):
            p = d.xpos[body] + d.xmat[body].reshape(3, 3) @ m.eq_data[k, anchor]
            J, J_dot = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            mujoco.mj_jac(m, d, J, None, p, body)
            mujoco.mj_jacDot(m, d, J_dot, None, p, body)
            ends.append((J, J_dot @ d.qvel))
        rows.append(ends[0][0] - ends[1][0])
        drift.append(ends[1][1] - ends[0][1])
    A, gamma = np.concatenate(rows), np.concatenate(drift)
    f = np.linalg.solve(T.T, tau) - d.qfrc_bias
    C = np.linalg.cholesky(M)
    B, z = np.linalg.solve(C, A.T).T, np.linalg.solve(C, f)
    U, s, Vt = np.linalg.svd(B)
    r = int((s > 1e-9 * s[0]).sum())
    y = (U[:, :r].T @ (B @ z - gamma)) / s[:r]
    qacc, force = np.linalg.solve(C.T, z - Vt[:r].T @ y), A.T @ (U[:, :r] @ (y / s[:r]))
    # v = Rᵀ v_w, so v̇ = Rᵀ v̇_w − ω × v
    turning = np.concatenate([np.cross(qd[3:6], qd[:3]), np.zeros(m.nv - 3)])
    return T.T @ qacc - turning, T.T @ force


def test_soft_foot_is_mujocos(foot):
    assert (foot.nv, foot.rows, foot.freedoms) == (92, 60, 52)
    assert foot.dynamics.large
    q, qd, tau = state(foot, np.random.default_rng(0))
    qdd, lam = foot.forward_dynamics(q, qd, tau)
    expected, force = mujocos(q, qd, tau)
    assert np.abs(qdd - expected).max() <= 1e-9 * np.abs(expected).max()
    assert np.abs(foot.dynamics.at(q).A.T @ lam - force).max() <= 1e-9 * np.abs(force).max()


def test_nothing_dense_of_a_large_system_is_compiled(foot, monkeypatch):
    """Its routes run on numbers, so no program has the products of a dense solution."""
    q, qd, tau = state(foot, np.random.default_rng(1))
    built = []
    monkeypatch.setattr(
        type(foot.evaluator), "build", lambda self, key, *rest, **more: built.append(key)
    )
    qdd, _ = foot.forward_dynamics(q, qd, tau)
    foot.inverse_dynamics(q, qd, qdd)
    foot.project_velocity(q, qd)
    assert not built
    rows = foot.program("drift")
    assert len(rows) < 400 * foot.nv


def test_batches_flags_precision_and_out_of_a_large_system(foot):
    rng = np.random.default_rng(2)
    q, qd, tau = state(foot, rng)
    qdd, lam = foot.forward_dynamics(q, qd, tau)
    states = np.stack([q, q + 0.1, q * np.nan])
    result = foot.forward_dynamics(states, qd, tau, errors="flag")
    assert [dl.Status(x).name for x in result.status] == ["OK", "OFF_POSITION", "NOT_FINITE"]
    np.testing.assert_array_equal(result.qdd[0], qdd)
    assert np.isnan(result.qdd[1:]).all()
    single = foot.forward_dynamics(*(x.astype(np.float32) for x in (q, qd, tau)))
    assert single[0].dtype == np.float32
    out = np.zeros((2, foot.nv)), np.zeros((2, foot.rows))
    same = foot.forward_dynamics(np.stack([q, q]), qd, tau, out=out)
    assert same[0] is out[0]
    np.testing.assert_array_equal(out[1], [lam, lam])
    with pytest.raises(dl.errors.ShapeError, match=r"qd has shape \(3,\)"):
        foot.forward_dynamics(q, np.zeros(3), tau)


def test_inverse_dynamics_of_a_large_system_gives_its_motion(foot):
    q, qd, tau = state(foot, np.random.default_rng(3))
    qdd, _ = foot.forward_dynamics(q, qd, tau)
    u, _ = foot.inverse_dynamics(q, qd, qdd)
    assert np.linalg.norm(u) <= np.linalg.norm(tau)
    again, _ = foot.forward_dynamics(q, qd, u)
    assert np.abs(again - qdd).max() <= 1e-9 * np.abs(qdd).max()


def test_a_large_system_is_simulated(foot):
    run = dl.simulate(
        foot, foot.neutral(), np.zeros(foot.nv), duration=0.004, dt=1e-3, method="rk4"
    )
    assert np.abs(run.residual).max() < 1e-10
    assert np.abs(run.balance).max() < 1e-9


def test_a_small_system_on_numbers_is_its_kernel(small, monkeypatch):
    """The same routes, once compiled whole and once state by state with LAPACK."""
    assert not small.dynamics.large
    q, qd, tau = state(small, np.random.default_rng(4))
    qdd, lam = small.forward_dynamics(q, qd, tau)
    torques = small.inverse_dynamics(q, qd, qdd)
    monkeypatch.setattr(dynamics, "MOST", 0)
    monkeypatch.setattr(factorisations, "LARGE", 2)
    looped = dl.Constrained(small.system, list(small.dynamics.constraint_set))
    assert looped.dynamics.large
    scale = np.abs(qdd).max()
    for result, expected in zip(looped.forward_dynamics(q, qd, tau), (qdd, lam), strict=True):
        assert np.abs(result - expected).max() <= 1e-10 * scale
    for result, expected in zip(looped.inverse_dynamics(q, qd, qdd), torques, strict=True):
        assert np.abs(result - expected).max() <= 1e-10 * scale
    wish = np.random.default_rng(5).normal(size=small.nv)
    near, exact = looped.project_velocity(q, wish), small.project_velocity(q, wish)
    np.testing.assert_allclose(near, exact, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("redundant", [False, True])
def test_lapack_keeps_the_rows_that_the_fixed_order_keeps(redundant, monkeypatch):
    rng = np.random.default_rng(6)
    B, weights = rng.normal(size=(6, 9)), rng.uniform(0.5, 2.0, 9)
    if redundant:
        B[4], B[5] = B[0] + B[1], 2.0 * B[2]
    r = B @ (weights * rng.normal(size=9))
    plain = row_space(B, 4 if redundant else 6, weights)
    monkeypatch.setattr(factorisations, "LARGE", 2)
    quick = row_space(B, 4 if redundant else 6, weights)
    assert isinstance(quick, DenseRowSpace)
    assert quick.lost == float(plain.lost) == 0.0
    for result, expected in zip(quick.solve(r), plain.solve(r), strict=True):
        np.testing.assert_allclose(result, expected, rtol=0.0, atol=1e-12)
    u = rng.normal(size=9)
    np.testing.assert_allclose(quick.across(u), plain.across(u), rtol=0.0, atol=1e-12)
    back = [space.back(space.coordinates(r)[0]) for space in (quick, plain)]
    np.testing.assert_allclose(*back, rtol=0.0, atol=1e-12)
    fewer = row_space(B, 5 if redundant else 7, weights)
    assert fewer.lost == 1.0


def test_lapack_factors_solve_and_leave_what_is_indefinite(monkeypatch):
    monkeypatch.setattr(factorisations, "LARGE", 2)
    rng = np.random.default_rng(7)
    A = rng.normal(size=(8, 8))
    M, b = A @ A.T + np.eye(8), rng.normal(size=(8, 3))
    np.testing.assert_allclose(ldl(M).solve(b), np.linalg.solve(M, b), rtol=0.0, atol=1e-12)
    indefinite = M - 4.0 * np.eye(8)
    result = ldl(indefinite).solve(b)
    np.testing.assert_allclose(result, np.linalg.solve(indefinite, b), rtol=0.0, atol=1e-9)
