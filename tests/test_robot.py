"""How a robot answers a user: batches, types, mistakes, and what it imports."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dalembert as dl

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def ur5() -> dl.Robot:
    return dl.load("ur5")


def states(*shape: int) -> list[np.ndarray]:
    return [RNG.normal(size=(*shape, 6)) for _ in range(3)]


def test_kernel_is_a_ufunc_and_broadcasts(ur5):
    kernel = ur5.kernel("inverse_dynamics")
    assert isinstance(kernel, np.ufunc)
    q, qd = RNG.normal(size=(100, 1, 6)), RNG.normal(size=(1, 50, 6))
    tau = ur5.inverse_dynamics(q, qd, np.zeros(6))
    assert tau.shape == (100, 50, 6)
    np.testing.assert_allclose(
        tau[7, 9], ur5.inverse_dynamics(q[7, 0], qd[0, 9], np.zeros(6)), rtol=1e-13
    )


def test_float32_stays_float32(ur5):
    state = states(33)
    single = ur5.inverse_dynamics(*(x.astype(np.float32) for x in state))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, ur5.inverse_dynamics(*state), rtol=2e-4, atol=2e-4)


def test_out_and_any_strides(ur5):
    state = states(21)
    expected = ur5.inverse_dynamics(*state)
    out = np.full((21, 12), np.nan)[:, ::2]
    assert ur5.inverse_dynamics(*state, out=out) is out
    np.testing.assert_array_equal(out, expected)
    backwards = [np.asfortranarray(x)[::-1] for x in state]
    np.testing.assert_allclose(ur5.inverse_dynamics(*backwards)[::-1], expected, rtol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics"])
def test_bad_numbers_stay_in_their_state(ur5, bad, quantity):
    """One NaN in a register must not disturb its neighbours, wherever it sits."""
    clean = states(37)
    expected = getattr(ur5, quantity)(*clean)
    for which in range(3):
        dirty = [x.copy() for x in clean]
        dirty[which][17, 2] = bad
        got = getattr(ur5, quantity)(*dirty)
        others = np.arange(37) != 17
        np.testing.assert_array_equal(got[others], expected[others])
        if not np.isfinite(bad):
            assert not np.isfinite(got[17]).all()


def test_large_angles(ur5):
    """Angles far outside the circle: both sides reduce the same double, to its last bit."""
    q = np.array([1e3, -1e6, 1e9, 1e11, -1e15, 1e22])
    got = ur5.inverse_dynamics(q, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(
        got, ur5.reference("inverse_dynamics", q, np.zeros(6), np.zeros(6)), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(5), np.zeros(6), np.zeros(6)), r"ur5.inverse_dynamics: q has shape \(5,\)"),
        ((np.zeros(6), np.zeros((4, 7)), np.zeros(6)), r"qd has shape \(4, 7\)"),
        ((np.zeros((3, 6)), np.zeros((4, 6)), np.zeros(6)), "do not broadcast"),
        ((np.zeros(6), np.zeros(6), "hello"), "qdd"),
        ((np.zeros(6), np.zeros(6), None), "qdd"),
        ((np.zeros(6), np.zeros(6), np.zeros(6) * 1j), "qdd"),
        ((0.0, np.zeros(6), np.zeros(6)), "q has shape"),
    ],
)
def test_wrong_arguments_are_named(ur5, arguments, message):
    with pytest.raises(dl.ShapeError, match=message):
        ur5.inverse_dynamics(*arguments)


def test_wrong_arguments_are_named_on_the_short_path_too(ur5):
    good = np.zeros(6)
    ur5.inverse_dynamics(good, good, good)
    with pytest.raises(dl.ShapeError, match="qd has shape"):
        ur5.inverse_dynamics(good, np.zeros(5), good)
    with pytest.raises(TypeError, match="qdd"):
        ur5.inverse_dynamics(good, good)


def test_unknown_names_suggest_the_nearest(ur5):
    with pytest.raises(dl.UnknownNameError, match="did you mean 'newton_euler'"):
        ur5.inverse_dynamics(*states(), formulation="newton_euller")
    for value in (np.ones(6), np.ones(1), 3, {"m": 1.0}):
        with pytest.raises(
            dl.DalembertError, match=r"gravity_torque: expected the name of a formulation \(.*, got"
        ):
            ur5.gravity_torque(np.zeros(6), value)
    with pytest.raises(dl.UnknownNameError, match="did you mean 'mass_matrix'"):
        ur5.kernel("mass_matrx")
    with pytest.raises(dl.UnknownNameError, match="no frame 'tol'"):
        ur5.pose(np.zeros(6), frame="tol")
    with pytest.raises(dl.UnknownNameError, match="expressed_in"):
        ur5.jacobian(np.zeros(6), expressed_in="hand")
    with pytest.raises(dl.DalembertError, match="takes no 'frame'"):
        ur5.kernel("mass_matrix", frame="tool")


def test_tip_wrench_and_base_motion_are_terms_of_the_equation(ur5):
    q, qd, qdd = states()
    F = RNG.normal(size=6)
    difference = ur5.inverse_dynamics(q, qd, qdd, tip_wrench=F) - ur5.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(difference, ur5.jacobian(q).T @ F, rtol=1e-10, atol=1e-12)
    op = ur5.operators(q)
    np.testing.assert_allclose(difference, (op.P_t @ op.G @ op.xi).T @ F, rtol=1e-10, atol=1e-12)
    twist, acceleration = RNG.normal(size=(2, 6))
    moving = {"base_twist": twist, "base_acceleration": acceleration, "tip_wrench": F}
    tau = ur5.inverse_dynamics(q, qd, qdd, **moving)
    np.testing.assert_allclose(ur5.forward_dynamics(q, qd, tau, **moving), qdd, rtol=1e-9)


def test_a_base_in_free_fall_feels_no_gravity(ur5):
    q = RNG.normal(size=6)
    falling = np.concatenate([ur5.model.gravity, np.zeros(3)])
    tau = ur5.inverse_dynamics(q, np.zeros(6), np.zeros(6), base_acceleration=falling)
    np.testing.assert_allclose(tau, 0.0, atol=1e-14)


def test_wrenches_project_to_torques(ur5):
    """Along the joint axis, the moment a joint transmits is its torque."""
    q, qd, qdd = states(5)
    wrenches = ur5.joint_wrenches(q, qd, qdd)
    assert wrenches.shape == (5, 6, 6)
    for k, joint in enumerate(ur5.joints):
        body = ur5.model.bodies[joint.bodies[-1]]
        axis = ur5.model.frames[joint.link].rotation.T @ np.array([0.0, 0.0, 1.0])
        np.testing.assert_allclose(
            wrenches[:, k, 3:] @ axis, ur5.inverse_dynamics(q, qd, qdd)[:, k], rtol=1e-9, atol=1e-10
        )
        assert body.chart.nv == 1


def test_many_threads_compile_once_and_agree():
    robot = dl.load("scara")
    q, qd, qdd = RNG.normal(size=(3, robot.nv))
    results: list[np.ndarray] = []
    workers = [
        threading.Thread(target=lambda: results.append(robot.inverse_dynamics(q, qd, qdd)))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 8
    assert all(np.array_equal(result, results[0]) for result in results)


def test_import_is_light():
    """Importing must not drag in the heavy libraries, nor must a warm start need CasADi."""
    packages = "'casadi', 'sympy', 'scipy', 'llvmlite'"
    code = f"import sys, dalembert; print([m for m in ({packages}) if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


UNNEEDED = (
    *("casadi", "concurrent", "decimal", "difflib", "html", "json", "rich", "scipy", "secrets"),
    *("sympy", "xarray", "xml"),
    *("dalembert.constraints", "dalembert.control", "dalembert.simulation", "dalembert.symbolic"),
    *("dalembert.formulations.derivatives", "dalembert.formulations.forward"),
    *("dalembert.formulations.coupled", "dalembert.formulations.inverse.craig"),
    *(
        "dalembert.importers.file_access",
        "dalembert.importers.safe_parsing",
    ),
    *("dalembert.kernels.c_source", "dalembert.kernels.cuda", "dalembert.kernels.wasm"),
    "dalembert.kernels.call.check",
    *("dalembert.kernels.call.array_backends", "dalembert.kernels.llvm.iterations"),
    *(
        "dalembert.systems.counting",
        "dalembert.systems.ik.solver",
        "dalembert.systems.rollout_kernels",
    ),
)


def test_a_first_inverse_dynamics_imports_what_it_needs_and_no_more():
    code = (
        "import sys, dalembert as dl\n"
        "arm = dl.load('planar_2r')\n"
        "arm.inverse_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])\n"
        f"unneeded = {UNNEEDED}\n"
        "print(sorted(m for m in unneeded if m in sys.modules))\n"
    )
    environment = {**os.environ, "DALEMBERT_CACHE": "off"}
    environment.pop("DALEMBERT_CHECK", None)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_forked_child_computes(ur5):
    """Compiled kernels and the compiler itself survive a fork."""
    code = (
        "import os, numpy as np, dalembert as dl\n"
        "r = dl.load('rp'); z = np.zeros(2); a = r.inverse_dynamics(z, z, z)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    same = np.array_equal(r.inverse_dynamics(z, z, z), a)\n"
        "    M = r.mass_matrix(z)\n"
        "    os._exit(0 if same and np.isfinite(M).all() else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
