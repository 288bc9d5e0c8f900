"""Chains of envelopes: the compiled loops against the same loops in Python."""

import numpy as np
import pytest

from dalembert.kernels.llvm.envelope import backward, forward, pad_lines


@pytest.mark.parametrize("lines", [1, 7, 8, 29])
def test_backward_is_the_loop_in_python(lines: int) -> None:
    rng = np.random.default_rng(lines)
    n = 40
    us, ls = rng.normal(size=(2, n, lines))
    u, low_at = rng.uniform(1.0, 3.0, (n, lines)), rng.uniform(-3.0, -1.0, (n, lines))
    first, last = rng.uniform(-2.0, -1.0, n), rng.uniform(1.0, 2.0, n)
    top, bottom = rng.normal(size=(2, n))
    low, high = np.zeros(n + 1), np.zeros(n + 1)
    filled = (pad_lines(us, 0.0), pad_lines(u, 1e30), pad_lines(ls, 0.0), pad_lines(low_at, -1e30))
    backward(filled, (first, last, top, bottom), low, high)
    below = above = 0.0
    for i in range(n - 1, -1, -1):
        begin, stop = max(below, first[i]), min(above, last[i])
        y, z = (min(max(at[i], begin), stop) for at in (top, bottom))
        above = (us[i] * y + u[i]).min()
        below = min((ls[i] * z + low_at[i]).max(), above)
        assert high[i] == pytest.approx(above, rel=1e-14)
        assert low[i] == pytest.approx(below, rel=1e-14)


@pytest.mark.parametrize("lines", [1, 7, 8, 29])
def test_forward_is_the_loop_in_python(lines: int) -> None:
    rng = np.random.default_rng(lines)
    n = 40
    factors, at = rng.normal(size=(2, n, lines))
    low, high = rng.uniform(-2.0, 0.0, n + 1), rng.uniform(0.0, 2.0, n + 1)
    x = np.full(n + 1, 0.5)
    forward(pad_lines(factors, 0.0), pad_lines(at, 1e30), low, high, x)
    now = 0.5
    for i in range(n):
        now = max(min((factors[i] * now + at[i]).min(), high[i + 1]), low[i + 1])
        assert x[i + 1] == pytest.approx(now, rel=1e-14, abs=1e-14)
