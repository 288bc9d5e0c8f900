"""What is refused on JAX arrays, in words that name the argument; and NaN in its own lane."""

import numpy as np
import pytest

import dalembert as dl
from tests.frameworks.jax_here import jax
from tests.frameworks.six import system

jnp = jax.numpy
DT = 1e-2
X, WHOLE, SHORT = np.zeros(2), np.zeros(2, int), jnp.zeros(2, jnp.float32)


@pytest.fixture(scope="module")
def arm():
    return dl.jax(dl.load("planar_2r"))


@pytest.fixture(scope="module")
def bar():
    return dl.jax(system("four_bar"))


def pressed(bar, **wrenches):
    q = bar.system.neutral()
    return bar.forward_dynamics(q, np.zeros(3), np.zeros(3), wrenches=wrenches)


ARGUMENTS = {
    "lists of several lengths": (
        lambda arm, bar: arm.bias([[1.0], [1.0, 2.0]], X),
        "planar_2r.bias: q is no array",
    ),
    "nothing": (lambda arm, bar: arm.bias(None, X), "q holds object"),
    "truths": (lambda arm, bar: arm.bias(X.astype(bool), X), "q holds bool"),
    "complex": (lambda arm, bar: arm.bias(X.astype(complex), X), "q holds complex128"),
    "brain floats": (lambda arm, bar: arm.bias(SHORT.astype(jnp.bfloat16), X), "holds bfloat16"),
    "a wrench": (
        lambda arm, bar: pressed(bar, coupler_tip=np.zeros(5)),
        r"the wrench of 'coupler_tip' has shape \(5,\), expected \(..., 6\)",
    ),
    "wrenches of two types": (
        lambda arm, bar: pressed(bar, coupler_tip=jnp.zeros(6, jnp.float32), tool=jnp.zeros(6)),
        "'coupler_tip' is float32 and the wrench of 'tool' is float64",
    ),
    "a whole step": (lambda arm, bar: arm.rollout(X, X, X, 3, 1), "rollout: dt holds int64"),
    "torques of steps": (
        lambda arm, bar: arm.rollout(X, X, np.zeros((3, 2), int), 3, DT),
        "rollout: tau holds int64",
    ),
    "torques of another type": (
        lambda arm, bar: arm.rollout(X, X, jnp.zeros((3, 2), jnp.float32), 3, DT),
        "q is float64 and tau is float32",
    ),
    "no answer": (
        lambda arm, bar: arm.rollout(X, X, lambda t, q, qd: None, 3, DT),
        "what the function tau returned holds object",
    ),
    "too many answers": (
        lambda arm, bar: arm.rollout(X, X, lambda t, q, qd: jnp.zeros((4, 2)), 3, DT),
        r"what the function tau returned has shape \(4, 2\), the states \(\)",
    ),
}
SETTINGS = {
    "steps": (lambda arm: arm.rollout(X, X, X, 3.0, DT), "steps=3.0 .* must be whole numbers"),
    "every": (lambda arm: arm.rollout(X, X, X, 3, DT, every="2"), "every='2' must be whole"),
    "traced": (
        lambda arm: jax.jit(lambda n: arm.rollout(X, X, X, n, DT))(3),
        "known before anything is compiled",
    ),
    "samples": (
        lambda arm: arm.rollout(X, X, dl.Samples([0, 1], np.zeros((2, 2))), 3, DT),
        r"give the torques of the steps, \(steps, ..., nv\)",
    ),
    "arguments": (
        lambda arm: arm.rollout(X, X, lambda q, qd: q, 3, DT),
        r"the function tau must take \(t, q, qd\), not \(q, qd\)",
    ),
    "gains": (
        lambda arm: arm.rollout(
            X, X, dl.control.PDGravity(arm.system, X, kp=1.0, kd=1.0), 3, DT, gains=[1.0]
        ),
        "gains= is a dictionary by name",
    ),
    "smoothing": (
        lambda arm: arm.rollout(X, X, X, 3, DT, smoothing=-1.0),
        "smoothing must be a positive velocity, not -1.0",
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arrays_that_are_none_are_named(arm, bar, case):
    wrong, match = ARGUMENTS[case]
    with pytest.raises(dl.ShapeError, match=match):
        wrong(arm, bar)


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_are_none_are_named(arm, case):
    wrong, match = SETTINGS[case]
    with pytest.raises(dl.SettingError, match=match):
        wrong(arm)


def test_every_method_of_a_closed_chain_is_there(bar):
    """Those too that refuse in words, or flag, on numbers."""
    mechanism, q, v = bar.system, bar.system.neutral(), np.ones(3)
    for name, extra in (
        ("forward_dynamics_derivatives", (v,)),
        ("inverse_dynamics_derivatives", (v,)),
        ("reduced", ()),
        ("reduced_regressor", (v,)),
        ("project_velocity", ()),
    ):
        result = jax.jit(getattr(bar, name))(q, v, *extra)
        for a, b in zip(
            jax.tree.leaves(result), _leaves(getattr(mechanism, name)(q, v, *extra)), strict=True
        ):
            np.testing.assert_array_equal(a, b)
    along = jax.jit(lambda q: bar.frame_jacobian(q, "coupler_tip", ["crank"]))(q)
    np.testing.assert_array_equal(along, mechanism.frame_jacobian(q, "coupler_tip", ["crank"]))
    flagged = jax.jit(lambda q: tuple(bar.forward_dynamics(q, v, v, errors="flag")))
    states = np.stack([q, np.full(3, np.nan)])
    np.testing.assert_array_equal(
        flagged(states)[-1], mechanism.forward_dynamics(states, v, v, errors="flag").status
    )


def _leaves(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", ["planar_2r", "four_bar"])
def test_nan_stays_in_its_lane_of_the_gradient_of_a_motion(name):
    mechanism = dl.load(name)
    there, rng = dl.jax(mechanism), np.random.default_rng(1)
    q = np.tile(mechanism.neutral(), (5, 1))
    tau = rng.normal(size=(5, mechanism.nv))

    def loss(q, tau):
        return (there.rollout(q, np.zeros(mechanism.nv), tau, 6, DT, every=3)[0] ** 2).sum()

    derivatives = jax.jit(jax.grad(loss, (0, 1)))
    clean = derivatives(q, tau)
    q[2] = np.nan
    for result, other in zip(derivatives(q, tau), clean, strict=True):
        assert np.isnan(result[2]).all()
        np.testing.assert_array_equal(np.delete(result, 2, 0), np.delete(other, 2, 0))
