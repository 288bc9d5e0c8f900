"""DALEMBERT_CHECK=1: no number that the program and plain NumPy do not confirm."""

import gc
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError
from dalembert.kernels import Port, build, fast_call
from dalembert.kernels.call.check import Confirmation
from dalembert.kernels.call.iterations import RolloutLoop
from dalembert.kernels.call.kernel import Kernel
from dalembert.kernels.llvm import iterations
from dalembert.kernels.program.trace import trace
from dalembert.systems.rollout_kernels import adaptive_iteration, iteration
from dalembert.tracing.interpreter import interpret

INPUTS = (Port("q", (3,)), Port("s", ()))
OUTPUTS = (Port("y", (3,)), Port("A", (3, 3)))
Q, S = np.array([0.1, 0.2, 0.3]), np.array(2.0)


@pytest.fixture(autouse=True)
def checked(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DALEMBERT_CHECK", "1")


def kernel(key: str, factor: float = 1.0, reference=None) -> Kernel:
    def function(q, s):
        return {"y": factor * np.sin(q) * s, "A": np.outer(q, q)}

    def program():
        return trace(function, {"q": (3,), "s": ()})

    return build(key, program, INPUTS, OUTPUTS, "f", reference=reference)


def load_mistaken(patch, mistaken) -> None:
    """Loops are loaded with the code of another iteration."""
    loaded = iterations.load_loop
    patch.setattr(
        iterations,
        "load_loop",
        lambda kind, _, *saved, **how: loaded(kind, mistaken, *saved, **how),
    )


def poisoned(monkeypatch, key: str) -> Kernel:
    """A kernel whose entry on disk was made under its key from something else."""
    monkeypatch.delenv("DALEMBERT_CHECK")
    kernel(key, 1.5).ufunc(Q.astype("f"), S.astype("f"))
    gc.collect()
    assert np.allclose(kernel(key, 1.0).ufunc(Q, S)[0], 1.5 * np.sin(Q) * S)  # nobody notices
    gc.collect()
    monkeypatch.setenv("DALEMBERT_CHECK", "1")
    return kernel(key, 1.0)


def test_a_poisoned_entry_raises_with_both_numbers_every_time(monkeypatch):
    f = poisoned(monkeypatch, "poisoned").ufunc
    wrong, right = 1.5 * np.sin(0.1) * 2.0, np.sin(0.1) * 2.0
    for state in ((Q, S), (np.tile(Q, (40, 1)), S)):
        with pytest.raises(CompileError, match="DALEMBERT_CHECK: f: the compiled") as raised:
            f(*state)
        words = str(raised.value)
        assert str(wrong)[:12] in words and str(right)[:12] in words
        assert "y[0]" in words and "q = [0.1, 0.2, 0.3]" in words
    with pytest.raises(CompileError, match="the program"):
        f(Q.astype("f"), S.astype("f"))


def test_a_short_call_is_checked_too(monkeypatch):
    poison = poisoned(monkeypatch, "poisoned for one state")
    with pytest.raises(CompileError, match="DALEMBERT_CHECK"):
        fast_call(poison, poison.ufunc, "f", "")


def test_the_plain_function_is_asked_as_well():
    """A program and its code may agree with each other and not with what they stand for."""

    def other(q, s):
        return {"y": np.sin(q) * s, "A": np.outer(q, q) + 1.0}

    f = kernel("plain", reference=other).ufunc
    with pytest.raises(CompileError, match=r"A\[0, 0\].*plain NumPy"):
        f(Q, S)
    f = kernel("plain, and right", reference=lambda q, s: {"y": np.sin(q) * s, "A": np.outer(q, q)})
    np.testing.assert_allclose(f.ufunc(Q, S)[0], 2 * np.sin(Q), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_what_is_right_passes_however_arrays_lie(dtype):
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((9, 50, 6)).astype(dtype)
    for k, q in enumerate(
        (wide[3, 7, ::2], wide[0, ::-3, ::-2], wide[:, 2:4, 3:], wide[:, :0, :3])
    ):
        f = kernel(f"strides {dtype} {k}").ufunc
        s = np.full(q.shape[:-1], 0.5, dtype)
        y, A = f(q, s)
        np.testing.assert_allclose(y, 0.5 * np.sin(q), rtol=1e-6, atol=1e-12)
        assert A.shape == (*q.shape, 3)


def test_what_is_zero_but_for_rounding_passes():
    """A loop that is closed: residuals of 1e-16 and of 0 are the same."""
    closed = dl.load("four_bar")
    q, qd, _ = closed.random_state(np.random.default_rng(0), 9)
    assert np.abs(closed.residual(q)).max() < 1e-15
    assert closed.rollout(q, qd, np.zeros(3), steps=2, dt=1e-3)[0].shape == (2, 9, 3)


def test_not_a_number_is_confirmed_as_such():
    f = kernel("nan").ufunc
    y, _ = f([np.nan, np.inf, 1.0], 2.0)
    np.testing.assert_allclose(y, [np.nan, np.nan, 2 * np.sin(1.0)])


def test_results_may_be_written_over_inputs():
    q = np.tile(Q, (5, 1))
    f = kernel("over").ufunc
    f(q, S, out=(q, None))
    np.testing.assert_allclose(q, np.tile(2 * np.sin(Q), (5, 1)), rtol=1e-14)


@pytest.mark.parametrize("name", ["planar_2r", "ur5"])
def test_robots_pass(name):
    robot = dl.load(name)
    state = robot.random_state(np.random.default_rng(0), 5)
    for quantity, inputs in {
        "inverse_dynamics": 3,
        "forward_dynamics": 3,
        "mass_matrix": 1,
    }.items():
        call = getattr(robot, quantity)
        call(*state[:inputs])
        call(*(x[0] for x in state[:inputs]))
        call(*(x.astype(np.float32) for x in state[:inputs]))


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("moving", [False, True])
def test_a_rollout_is_checked_too(monkeypatch, dtype, moving):
    """Code of another robot under its key, and its own; where torques change from step to step, too."""
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    q, qd, tau = np.random.default_rng(0).standard_normal((3, 20, 2)).astype(dtype)
    inputs = (q, qd, np.stack([tau * k for k in range(5)]) if moving else tau)
    mistaken = iteration(other.dynamics.bound(), "rk4")
    with monkeypatch.context() as patch:
        load_mistaken(patch, mistaken)
        for _ in range(2):
            with pytest.raises(CompileError, match=r"rk4_stage and .* kernel gives q.*program"):
                robot.rollout(*inputs, steps=5, dt=0.01)
    result = robot.rollout(*inputs, steps=5, dt=0.01)
    monkeypatch.delenv("DALEMBERT_CHECK")
    expected = dl.load("planar_2r").rollout(*inputs, steps=5, dt=0.01)
    for a, b in zip(result, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_adaptive_rollout_is_checked_too(monkeypatch):
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    inputs = np.random.default_rng(0).standard_normal((3, 20, 2))
    inputs[0, 3] = np.nan  # ends at once, and is not waited for
    mistaken = adaptive_iteration(other.dynamics.bound(), "RK45")
    options = {"steps": 5, "dt": 0.01, "method": "RK45", "errors": "flag"}
    with monkeypatch.context() as patch:
        load_mistaken(patch, mistaken)
        for _ in range(2):
            with pytest.raises(CompileError, match=r"RK45_stage: .* kernel gives q.*program"):
                robot.rollout(*inputs, **options)
    assert (robot.rollout(*inputs, **options).status == 0).sum() == 19


def test_states_saved_within_a_step_are_checked_too(monkeypatch):
    """The steps are right, and what is told of the times between them is not."""
    robot = dl.load("planar_2r")
    inputs = np.random.default_rng(0).standard_normal((3, 20, 2))
    right = adaptive_iteration(robot.dynamics.bound(), "RK45")
    constants = np.where(right.between.constants == 1.0, 1.0, 1.001 * right.between.constants)
    mistaken = replace(right, between=replace(right.between, constants=constants))
    options = {"steps": 5, "dt": 0.01, "method": "RK45", "errors": "flag"}
    with monkeypatch.context() as patch:
        load_mistaken(patch, mistaken)
        with pytest.raises(CompileError, match=r"RK45_stage, between two steps: .*gives q"):
            robot.rollout(*inputs, **options)
    assert (robot.rollout(*inputs, **options).status == 0).all()


def test_the_plain_functions_of_a_rollout_are_asked_as_well(monkeypatch):
    """A program traced from another robot, and compiled as it is."""
    robot, other = dl.load("planar_2r"), dl.load("planar_2r", l1=1.5)
    stepped = iteration(robot.dynamics.bound(), "rk4")
    mistaken = replace(stepped, plain=iteration(other.dynamics.bound(), "rk4").plain)
    q, qd, tau = np.random.default_rng(0).standard_normal((3, 20, 2))
    with pytest.raises(CompileError, match=r"kernel gives q.*plain NumPy"):
        RolloutLoop(mistaken)((q, qd), (tau,), 3, 1, 0.01)
    assert len(RolloutLoop(stepped)((q, qd), (tau,), 3, 1, 0.01)) == 2


def test_rollouts_that_are_right_pass(monkeypatch):
    robot = dl.load("puma560")
    q, qd, tau = robot.random_state(np.random.default_rng(0), 3)
    for method in ("rk4", "heun", "semi_implicit"):
        assert robot.rollout(q, qd, tau, steps=2, dt=1e-3, method=method)[0].shape == (2, 3, 6)
        assert robot.rollout(q[:0], qd[:0], tau[0], steps=2, dt=1e-3)[0].shape == (2, 0, 6)


# A robot whose numbers are changed by force after its key was made: what the freezing prevents.
MUTATED = """
import dalembert as dl
robot = dl.load("pendulum")
robot.dynamics.content
gravity = robot.model.gravity
gravity.setflags(write=True)
gravity *= 3.0
print(robot.inverse_dynamics([0.3], [0.2], [0.1])[0])
"""
HONEST = """
import dalembert as dl
robot = dl.load("pendulum")
try:
    print(robot.inverse_dynamics([0.3], [0.2], [0.1])[0])
except dl.CompileError as error:
    print(error)
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


def test_a_cache_shared_with_a_process_of_mutated_arrays_serves_nothing_unconfirmed():
    right = dl.load("pendulum").reference("inverse_dynamics", [0.3], [0.2], [0.1])[0]
    wrong = float(run(MUTATED, DALEMBERT_CHECK="0"))
    assert wrong != pytest.approx(right)
    answer = run(HONEST)
    confirmed = not answer.startswith("DALEMBERT_CHECK") and float(answer) == pytest.approx(right)
    refused = answer.startswith("DALEMBERT_CHECK") and str(wrong)[:10] in answer
    assert confirmed or refused, answer


def test_how_long_a_run_may_last_does_not_hide_what_is_wrong():
    """The end of a run was taken for a large input: rounding beside it hid a speed of 1e-9."""
    inputs, outputs = (Port("qd", (1,)), Port("end", ())), (Port("qd", (1,)),)
    states, right = [np.full((1, 1), 1e-3), np.full(1, 1e6)], [np.full((1, 1), 1e-9)]
    confirmation = Confirmation("run", inputs, outputs, states, [-right[0]])
    with pytest.raises(CompileError, match="the program"):
        confirmation.by_results("the program", right, right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_small_is_judged_by_its_own_size(dtype):
    """A mass matrix of a link of 1 mg, 1e-12 kg m², with the other sign passed in single precision."""
    program = trace(lambda q: {"M": 1e-12 * (2.0 + np.cos(q))}, {"q": (2,)}, name="M")
    q = np.array([[0.3, -0.2], [1.0, 2.0]], dtype)
    (right,) = interpret(program, q)
    Confirmation("M", program.inputs, program.outputs, [q], [right]).by_program(program)
    with pytest.raises(CompileError, match="the program"):
        Confirmation("M", program.inputs, program.outputs, [q], [-right]).by_program(program)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_equation_that_is_met_but_for_rounding_passes(dtype):
    """Judged by what last digits of q and of lengths make of it: a stretched linkage at q = 0, too."""

    def residual(q):
        return {"h": np.stack([1.3 * np.cos(q[0]) + 0.7 * np.cos(q[1]) - 2.0])}

    program = trace(residual, {"q": (2,)}, name="h")
    for angle in (0.0, 1e-9):
        q = np.full((1, 2), angle, dtype)
        (result,) = interpret(program, q)
        shifted = result + 2 * np.finfo(dtype).eps
        Confirmation("h", program.inputs, program.outputs, [q], [shifted]).by_program(program)
        wrong = result + np.array(1e-4 if dtype == "float32" else 1e-12, dtype)
        with pytest.raises(CompileError, match="the program"):
            Confirmation("h", program.inputs, program.outputs, [q], [wrong]).by_program(program)
