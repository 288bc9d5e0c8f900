"""JAX with double precision and two devices on the CPU, told before anything of it runs."""

from contextlib import contextmanager

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install jax")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_num_cpu_devices", 2)


@contextmanager
def single_precision():
    """As JAX is by default; the context managers for it have moved between versions."""
    jax.config.update("jax_enable_x64", False)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", True)
