"""What is written through a view, a second name or a function is written, or refused; never lost."""

import numpy as np
import pytest

import dalembert as dl
from dalembert import tracing
from dalembert.errors import CompileError
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret

X = np.array([0.3, -1.2, 2.5])
A = np.arange(9.0).reshape(3, 3) ** 1.5 - 4.0
CHANGES = """
z = y; z += 1.0
z = y; z *= B[0]
z = y; z -= x; z /= 2.0; z **= 2
z = y; z //= 0.5; z %= 3.0
z = B; z @= B.copy()
y[:1] -= x[1:2]; first = y[:1]; first *= 5.0
first = y[1:]; y[2] = 7.0; y[0] = first.sum()
for row in B: row /= np.sqrt(row @ row)
for row in B: row[0] = x[1]
B[0][1:][0] = x[2]; B[1:, 1:] *= 2.0; B[:, 0] -= x
B.T[0] = x; B.T.T[1] = 2.0
np.transpose(B)[0] = x; np.swapaxes(B, 0, 1)[1] *= x
a, b, c = np.split(B, 3); a *= x; c[...] = b
B.fill(2.0); B[0].fill(x[0])
np.fill_diagonal(B, x)
np.copyto(B[0], x); np.copyto(B[1], B[0])
np.put(y, [0, 2], [x[1], 2 * x[1]])
y.put([0], x[1:2])
np.put_along_axis(B, np.array([[0], [1], [2]]), 7.0, 1)
np.putmask(y, [True, False, True], x[::-1])
np.place(y, [True, False, True], [9.0, 8.0])
np.add.at(y, [0, 0], x[2]); np.subtract.at(B, (0, 1), x[0])
np.einsum("ii->i", B)[:] = x
np.multiply(B[0], 2.0, out=B[0]); np.add(y, 1.0, out=y)
np.clip(y, -0.1, 0.1, out=y)
np.nan_to_num(y, copy=False)
B.flat[4] = 5.0; B.flat[:2] = x[:2]
B[np.diag_indices(3)] = x; B[[0, 1]] = B[[1, 0]]
B[np.array([True, False, True])] = x; y[[0, 1, 2]] = y[[2, 0, 1]]
y[::-1][0] = 9.0; y[-1] += y[0]
y.reshape(3, 1)[0, 0] = 5.0; y.reshape(1, 3)[:] *= 2.0
z = +y; z += 1.0; y[0] = z[1]
z = y.copy(); z += 1.0; y[0] = z[1]
s = y[0]; t = s; s += 1.0; y[1] = t
np.broadcast_to(y, (2, 3)); w = np.flip(y); w[0] = 4.0; np.expand_dims(y, 0)[0, 1] = 3.0
v = np.moveaxis(B, 0, 1); v[0] = x; np.squeeze(B[:1])[2] = 8.0
x += 1.0; y += x
y[:] = [x[0], 1.0, 2.0]; y[...] = x[None, :] * 2.0
B.ravel()[0] = 5.0
B.reshape(9)[0] = 5.0
v = B.ravel(); B[0, 0] = 5.0; y[0] = v[0]
np.reshape(B, (9,), order="F")[1] = 5.0
np.asarray(y)[0] = 5.0
B.ravel()[:3][0] = 5.0
"""
REFUSED = """
np.diagonal(B)[0] = 5.0
np.broadcast_to(y, (2, 3))[0] = 1.0
y.sort()
np.zeros(3)[:] = y
y += B
"""


def listed(text):
    return text.strip().split("\n")


def written(text):
    """A function of (x, A) that runs the text on copies y = 1·x, B = 1·A and returns both."""

    def function(x, A):
        names = {"np": np, "x": x, "y": x * 1.0, "B": A * 1.0}
        exec(text, names)  # texts of this file
        return names["y"], names["B"]

    return function


def same(program, text):
    for got, desired in zip(interpret(program, X, A), written(text)(X.copy(), A), strict=True):
        np.testing.assert_allclose(got, desired, rtol=1e-13, err_msg=text)


@pytest.mark.parametrize("text", listed(CHANGES))
def test_changes_arrive_where_numpy_has_them(text):
    same(trace(written(text), {"x": (3,), "A": (3, 3)}), text)


@pytest.mark.parametrize("text", listed(REFUSED))
def test_what_numpy_refuses_or_nobody_knows_is_refused(text):
    with pytest.raises((CompileError, ValueError)):
        trace(written(text), {"x": (3,), "A": (3, 3)}, "f")


class InPlace:
    """A law that takes the damping off through a view and a second name."""

    initial, constants, structure = np.zeros(0), {"k": np.array(3.0)}, "in place"

    def command(self, t, q, qd, z, constants):
        tau = -constants["k"] * q
        first, other = tau[:1], tau
        first -= 5.0 * qd[:1]
        other[1:] -= np.concatenate([qd, [t]])[1:2]
        return tau, z


class Plain(InPlace):
    """The same without."""

    structure = "plain"

    def command(self, t, q, qd, z, constants):
        return -constants["k"] * q - np.stack([5.0 * qd[0], qd[1]]), z


def test_a_law_in_a_rollout_changes_its_torque_in_place():
    robot, q, qd = dl.load("planar_2r"), np.array([0.3, 0.5]), np.array([0.1, -0.2])
    got, desired = (robot.rollout(q, qd, x(), steps=5, dt=0.01)[0] for x in (InPlace, Plain))
    np.testing.assert_allclose(got, desired, rtol=1e-12)


def test_a_constraint_written_in_place_is_the_one_that_holds():
    def height(q):
        p = q * 1.0
        first = p[:1]
        first += 1.0
        M = p[:, None] * np.concatenate([p[:1], [q[1]]])
        np.fill_diagonal(M, 0.0)
        return np.stack([M.sum() - 0.5])

    robot, q = dl.load("planar_2r"), np.array([0.3, 0.5])
    inputs = dl.Holonomic(lambda q: np.stack([2.0 * (q[0] + 1.0) * q[1] - 0.5]), name="c")
    desired = dl.Constrained(robot, [inputs]).residual(q)
    got = dl.Constrained(robot, [dl.Holonomic(height, name="c")]).residual(q)
    np.testing.assert_allclose(got, desired, rtol=1e-12)


def test_symbols_that_are_given_are_not_written_into():
    q = tracing.symbol("q", 3)
    with pytest.raises(ValueError, match="read-only"):
        q -= 1.0
    with pytest.raises(ValueError, match="read-only"):
        q[1:][0] = 1.0


def test_parts_of_what_was_reshaped_are_read():
    def function(x, A):
        v = (A * 1.0).reshape(3, 3)
        return np.cross(v[:, 0], v[:, 1]) + np.swapaxes(v.T[1:], 0, 1) @ v[0][:2] + v.ravel()[::4]

    built = trace(function, {"x": (3,), "A": (3, 3)}, "f")
    np.testing.assert_allclose(interpret(built, X, A)[0], function(X, A), rtol=1e-13)
