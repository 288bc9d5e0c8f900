"""JAX programs for a card that is not there: what is lowered, what would be launched, and refused."""

import ctypes
import shutil

import numpy as np
import pytest

import dalembert as dl
from dalembert.frameworks import jax_primitive
from dalembert.frameworks.facade import spread
from dalembert.systems.derivatives import quantity_operation
from tests.frameworks.jax_here import jax
from tests.kernels.card import near, stand_in
from tests.kernels.frame import Frame

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler here")


@pytest.fixture
def card(monkeypatch, tmp_path):
    registered = []
    monkeypatch.setattr(jax_primitive, "_registered", {})
    keep = lambda name, capsule, platform: registered.append((name, platform))  # noqa: E731
    monkeypatch.setattr(jax.ffi, "register_ffi_target", keep)
    with stand_in(monkeypatch, tmp_path) as mechanism:
        mechanism.registered = registered
        yield mechanism


def test_a_gradient_for_a_card_calls_a_handler_for_it(card):
    arm = dl.jax(dl.load("planar_2r"))
    derivative = jax.jit(jax.vmap(jax.grad(arm.potential_energy)))
    text = derivative.trace(np.zeros((9, 2))).lower(lowering_platforms=("cuda",)).as_text()
    (target,) = [name for name, platform in card.registered if platform == "CUDA"]
    assert f"custom_call @{target}(" in text
    text = (
        derivative.trace(np.zeros((9, 2), "float32")).lower(lowering_platforms=("cuda",)).as_text()
    )
    assert f"@{target}(" not in text


def test_the_handler_of_a_derivative_computes_it(card):
    system = dl.load("planar_2r")
    energy = quantity_operation(system, system._variant("potential_energy", None, {}))
    address, _owner = spread(energy.vjp((0,))).handler("float64")
    q, weight = np.random.default_rng(1).normal(size=(9, 2)), np.ones(1)
    out = np.full((9, 2), np.nan)
    assert Frame([q, weight], [out]).call(address) is None
    near(out, system.gravity_torque(q), "float64")


def test_without_a_gpu_xla_says_that_it_has_no_stream(monkeypatch, tmp_path):
    """The handler hands on what XLA itself says, here on a CPU."""
    with stand_in(monkeypatch, tmp_path):
        system = dl.load("planar_2r")
        mechanism = quantity_operation(system, system._variant("gravity_torque", None, {}))
        address, owner = spread(mechanism).handler("float64")
        jax_primitive._registered["no_stream"] = owner
        capsule = jax.ffi.pycapsule(ctypes.c_void_p(address))
        jax.ffi.register_ffi_target("no_stream", capsule, platform="cpu")
        q = np.zeros((4, 2))
        with pytest.raises(Exception, match=r"context is not available|[Ss]tream|GPU"):
            jax.ffi.ffi_call("no_stream", jax.ShapeDtypeStruct(q.shape, q.dtype))(
                q
            ).block_until_ready()


def test_other_platforms_are_named():
    arm = dl.jax(dl.load("planar_2r"))
    with pytest.raises(dl.FormulationError, match="runs on CPUs and on CUDA"):
        jax.jit(arm.gravity_torque).trace(np.zeros(2)).lower(lowering_platforms=("tpu",))
