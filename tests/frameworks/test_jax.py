"""Systems on JAX arrays: the same numbers to the bit, and what goes wrong said in words."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import dalembert as dl
from tests.frameworks.jax_here import jax, single_precision
from tests.frameworks.six import operations, state, system

jnp = jax.numpy
RNG = np.random.default_rng(5)
BATCHES = [((), (), ()), ((5,), (5,), (5,)), ((0,), (1,), ()), ((3, 1, 2), (1, 7, 1), (2,))]


@pytest.fixture(scope="module")
def arm():
    return dl.jax(dl.load("elbow_3r"))


def same(result, expected):
    result = result if isinstance(result, tuple | list) else (result,)
    expected = expected if isinstance(expected, tuple | list) else (expected,)
    for x, y in zip(result, expected, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(np.asarray(x), y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_results_are_those_of_the_ufunc_to_the_bit(arm, batch, dtype):
    q, qd, tau = (RNG.normal(size=(*lead, 3)).astype(dtype) for lead in batch)
    expected = arm.system.forward_dynamics(q, qd, tau)
    same(arm.forward_dynamics(*map(jnp.asarray, (q, qd, tau))), expected)
    same(jax.jit(arm.forward_dynamics)(q, qd, tau), expected)
    same(arm.kinetic_energy(jnp.asarray(q), qd), arm.system.kinetic_energy(q, qd))
    several = arm.system.inverse_dynamics_derivatives(q, qd, tau)
    same(jax.jit(arm.inverse_dynamics_derivatives)(q, qd, tau), several)


def test_every_quantity_of_a_catalogue():
    mechanism, rng = system("lagrangian"), np.random.default_rng(2)
    there = dl.jax(mechanism)
    for name, f in operations("lagrangian"):
        x = state("lagrangian", f, rng, (9,))
        arguments = dict(zip([port.name for port in f.inputs], x, strict=True))
        numbers = arguments.pop("parameters")
        inputs = [arguments.pop(key) for key in f.root.variant.quantity.inputs]
        result = there.evaluate(name, *inputs, parameters=numbers, **arguments)
        same(result, mechanism.evaluate(name, *inputs, parameters=numbers, **arguments))


def test_closed_chains_and_their_wrenches():
    mechanism = system("four_bar")
    there, q = dl.jax(mechanism), mechanism.neutral()
    qd, tau, F = mechanism.project_velocity(q, RNG.normal(size=3)), RNG.normal(size=3), np.ones(6)
    same(there.forward_dynamics(q, qd, tau), mechanism.forward_dynamics(q, qd, tau))
    loads = {"wrenches": {"coupler_tip": F}}
    result = there.forward_dynamics(q, qd, tau, **loads)
    same(result, mechanism.forward_dynamics(q, qd, tau, **loads))
    first = [mechanism.dynamics.velocities[0]]
    expected = mechanism.inverse_dynamics(q, qd, result[0], actuators=first)
    same(there.inverse_dynamics(q, qd, result[0], actuators=first), expected)


def test_contacts_by_the_methods_of_the_system():
    arm = dl.load("arm_on_sphere")
    there, q, qd = dl.jax(arm), arm.neutral(), RNG.normal(size=arm.nv)
    lam = np.ones(arm.rows)
    same(there.contact_coordinates(jnp.asarray(q)), arm.contact_coordinates(q))
    same(there.contact_jacobian(jnp.asarray(q)), arm.contact_jacobian(q))
    same(there.contact_rates(jnp.asarray(q), qd), arm.contact_rates(q, qd))
    same(there.contact_twist(jnp.asarray(q), qd), arm.contact_twist(q, qd))
    with pytest.raises(dl.DalembertError, match="no contact with friction"):
        there.contact_friction(jnp.asarray(q), qd, lam)


@pytest.mark.parametrize("out", [0, 1])
def test_nested_vmap_is_a_batch(arm, out):
    q, qd = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 6))
    nested = jax.vmap(jax.vmap(arm.bias, (0, None)), (None, 1), out_axes=out)
    expected = np.moveaxis(arm.system.bias(q, qd.T[:, None]), 0, out)
    same(nested(q, qd), expected)
    same(jax.jit(nested)(q, qd), expected)


def test_plain_numbers_take_the_type_of_the_arrays(arm):
    q = np.ones(3, np.float32)
    assert arm.bias(jnp.asarray(q), [0.0, 0.0, 0.0]).dtype == "float32"
    same(arm.bias(jnp.asarray(q), [0.0, 0.0, 0.0]), arm.system.bias(q, np.zeros(3, np.float32)))
    assert arm.bias([0.0] * 3, [0.0] * 3).dtype == "float64"
    with single_precision():
        assert arm.bias(np.ones(3), [0.0] * 3).dtype == "float32"


def test_denormal_numbers_are_not_lost():
    """XLA sets them to zero in its own code; a kernel computes as under NumPy."""
    arm = dl.jax(dl.load("planar_2r"))
    q, qd = np.zeros((20000, 2)), np.full((20000, 2), 1e-160)
    q[:, 1] = 1e-3
    expected = arm.system.kinetic_energy(q, qd)
    assert 0 < expected.max() < np.finfo(float).tiny
    same(jax.jit(arm.kinetic_energy)(q, qd), expected)


def test_nan_stays_in_its_lane(arm):
    q = RNG.normal(size=(11, 3))
    clean = jax.vmap(jax.grad(arm.potential_energy))(q)
    q[4, 1] = np.nan
    result = np.asarray(jax.vmap(jax.grad(arm.potential_energy))(q))
    assert np.isnan(result[4]).any()
    np.testing.assert_array_equal(np.delete(result, 4, 0), np.delete(clean, 4, 0))


ONES = np.ones(3)
WRONG = {
    "integers": (lambda arm: arm.bias(jnp.ones(3, int), ONES), "q holds int64"),
    "whole numbers": (lambda arm: arm.bias(ONES, [0, 1, 2]), "qd holds int64"),
    "half precision": (lambda arm: arm.bias(jnp.ones(3, "float16"), ONES), "q holds float16"),
    "two types": (lambda arm: arm.bias(jnp.ones(3, "float32"), ONES), "q is float32 and qd is"),
    "shape": (lambda arm: arm.bias(ONES, np.ones(4)), r"qd has shape \(4,\), expected \(..., 3\)"),
    "scalar": (lambda arm: arm.bias(1.0, ONES), r"q has shape \(\), expected \(..., 3\)"),
    "batches": (lambda arm: arm.bias(np.ones((2, 3)), np.ones((5, 3))), r"q \(2,\), qd \(5,\)"),
    "missing": (lambda arm: arm.evaluate("bias", ONES), r"takes 2 arrays \(q, qd\), not 1"),
    "out": (lambda arm: arm.bias(ONES, ONES, out=np.ones(3)), "out= has no meaning"),
    "words": (lambda arm: arm.bias("a", ONES), "q holds str"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named(arm, case):
    wrong, match = WRONG[case]
    with pytest.raises(dl.ShapeError, match=match) as error:
        wrong(arm)
    assert str(error.value).startswith("elbow_3r.bias: ")
    with pytest.raises(dl.ShapeError, match=match):
        jax.jit(lambda: wrong(arm))()


def test_named_parameters_are_checked():
    there = dl.jax(system("lagrangian"))
    x = np.array([0.4, 0.5])
    with pytest.raises(dl.ParameterError, match="'mass'"):
        there.forward_dynamics(x, x, x, parameters={"mass": 1.0})
    with pytest.raises(dl.ShapeError, match="parameter 'm' holds int64"):
        there.forward_dynamics(x, x, x, parameters={"m": 1})
    with pytest.raises(dl.ShapeError, match=r"parameters has shape \(2,\), expected \(..., 3\)"):
        there.forward_dynamics(x, x, x, parameters=x)


def test_what_is_no_quantity_says_where_it_is(arm):
    with pytest.raises(AttributeError, match=r"call elbow_3r\.random_state itself"):
        arm.random_state(RNG)
    with pytest.raises(AttributeError, match="nonsense"):
        arm.nonsense  # noqa: B018
    assert arm.nv == 3 and arm.frames == arm.system.frames
    assert {"mass_matrix", "nq"} <= set(dir(arm)) and "simulate" not in dir(arm)


def test_only_systems_are_taken():
    with pytest.raises(dl.DalembertError, match="give it a system"):
        dl.jax("ur5")


def test_a_mechanism_of_bodies_says_what_to_give_instead():
    mechanism = dl.load("cartesian_pendulum")
    with pytest.raises(dl.FormulationError, match=r"give mechanism\.constrained\(\)"):
        dl.jax(mechanism)
    closed, still = mechanism.constrained(), np.zeros(mechanism.nv)
    q = closed.neutral()
    result = dl.jax(closed).forward_dynamics(q, still, still)
    same(result, closed.forward_dynamics(q, still, still))
    with pytest.raises(dl.FormulationError, match="unit by unit"):
        dl.jax(dl.load("n_four_bar"))


def test_a_missing_framework_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(dl.DalembertError, match=r"pip install jax \(the extra \[jax\]\)"):
        dl.jax(dl.load("pendulum"))


def test_the_package_does_not_import_it():
    code = "import sys, dalembert as dl, dalembert.frameworks; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pickled_and_compared(arm):
    again = pickle.loads(pickle.dumps(arm))
    assert again == arm and hash(again) == hash(arm) and again != dl.jax(dl.load("planar_2r"))
    same(again.gravity_torque(ONES), arm.system.gravity_torque(ONES))


def test_threads(arm):
    """As many of the user's as there are, and the kernel's own."""
    q = RNG.normal(size=(50000, 3))
    expected, result = arm.system.gravity_torque(q), {}
    evaluate = jax.jit(arm.gravity_torque)

    def work(i):
        result[i] = np.asarray(evaluate(q))

    before = dl.get_num_threads()
    try:
        dl.set_num_threads(3)
        workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        dl.set_num_threads(before)
    for i in range(4):
        same(result[i], expected)
