"""Every function of NumPy and every method of its arrays, called in all ways that NumPy takes."""

import inspect
import math
import warnings
from functools import cache
from itertools import islice

import numpy as np

# states (x (3,), A (3, 3), s ()): usual ones, halves and whole numbers, zeros of both signs
RNG = np.random.default_rng(7)
STATES = [
    (RNG.normal(size=3), RNG.normal(size=(3, 3)) + 2.0 * np.eye(3), np.float64(0.3)),
    (np.array([0.5, -2.5, 3.5]), np.diag([1.5, 2.5, 2.0]) - 0.5, np.float64(-1.5)),
    (
        np.array([-2.0, 0.0, 1.0]),
        np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 2]]),
        np.float64(2.0),
    ),
    (np.array([0.25, 0.5, 0.75]), RNG.uniform(0.1, 0.9, (3, 3)) + np.eye(3), np.float64(0.5)),
]
ODD = [np.array([np.nan, np.inf, -np.inf]), np.array([-0.0, 0.0, np.nan])]


def _listed(text):
    """What stands between semicolons."""
    return [x.strip() for x in text.split(";") if x.strip()]


ARGUMENTS = _listed(
    """
    x; A; s; x, x; A, A; A, x; x, A; x, s; s, x; x, 2; 2, x; A, 2; x, -1.5; [x, x];
    [x, 2 * x]; [A, A]; x, 1; A, 0; A, 1; x, [0, 2]; A, (0, 1); x, 3; x, x[::-1], x; x, 0, 1;
    x, -1, 1; A, 0, 1; x > 0; x > 0, x; x > 0, x < 1; A > 0; x > 0, x, A; A, [1, 0, 2];
    x, (2, 3); A, (9,); A, 3, 0; [0, 2, 1], x; x, [0, 1], [1.0, 2.0]; A, A[0], A[1]; x, A, x;
    'ij,j->i', A, x; 'ii', A; 'ij,jk->ik', A, A; x, 2, 0.5; [x > 0, x < -1], [x, 2 * x];
    [x > 0, x < -1], [x, 2 * x], 5.0; [0, 1, 0], [x, 2 * x]; x, 0, 2; A, 2, 0; x, [1, 2, 1];
    A, 1, 5.0; x, x, 0.1; x, [1], 7.0; x, (1, 2), 'edge';
    """
)
KEYWORDS = _listed(
    """
    axis=0; axis=1; axis=-1; keepdims=True; axis=0, keepdims=True; axis=(0, 1); initial=3.0;
    where=MASK; where=MASK, initial=3.0; axis=1, where=MASK, initial=0.5; ddof=1; decimals=1;
    k=1; k=-1; n=2; order='F'; dtype=int; dtype=float; mode='wrap'; mode='edge'; mode='same';
    bias=True; rowvar=False; dtype=np.float32; a_min=None, a_max=0.5; a_min=-0.5, a_max=None;
    constant_values=4.0; posinf=1.0, nan=2.0; right=9.0; left=-9.0; weights=[1.0, 2.0, 3.0];
    ord=1; ord=np.inf; ord=3; offset=1; axis=0, ord=1; axis=1, ord=2; prepend=0; default=2.0;
    where=x > 0; where=A > 0, initial=2.0;
    """
)
MASK = np.array([True, False, True])


def functions():
    """Names of everything of NumPy that is called and asks its arguments what to do."""
    result = {}
    for position, module in (("np", np), ("np.linalg", np.linalg)):
        for name in sorted(dir(module)):
            built = getattr(module, name)
            if isinstance(built, np.ufunc) or type(built).__name__ == "_ArrayFunctionDispatcher":
                result[f"{position}.{name}"] = built
    return result


def texts(forms):
    """Calls as text, in x, A and s: of each function the first `forms` of each kind it takes."""
    for name, function in functions().items():
        if name not in SKIPPED:
            for many in _forms(name, function):
                yield from islice((text for text in many if numbers(text) is not None), forms)
    for name in sorted(set(dir(np.ndarray)) - set(UNASKED)):
        if not name.startswith("_"):
            calls = [f"{of}.{name}{more}" for more in ("", *METHOD_ARGUMENTS) for of in "xA"]
            yield from islice((text for text in calls if numbers(text) is not None), forms)
    yield from OPERATORS


def _forms(name, function):
    """Texts of a function by kind: with arguments in order, and with keywords or methods."""
    yield [f"{name}({arguments})" for arguments in ARGUMENTS]
    if isinstance(function, np.ufunc):
        yield [f"{name}({'x, ' * function.nin}{more})" for more in INTO]
        yield [f"{name}.{call}" for call in UFUNC_METHODS if function.nin == 2]
    else:
        taken_here = [more for more in KEYWORDS if taken(function, more)]
        yield [f"{name}({x}, {more})" for more in taken_here for x in ("A", "x", "x, x", "x, 1")]


def taken(function, keywords):
    """Whether a function has these keywords."""
    try:
        known = inspect.signature(function).parameters
    except ValueError:
        return True
    names = [part.split("=")[0].strip() for part in keywords.split(", ") if "=" in part]
    return all(name in known for name in names)


SKIPPED = {"np.savez", "np.savez_compressed", "np.save", "np.savetxt", "np.fromfunction"}
UNASKED = _listed(
    """
    tofile; dump; dumps; tobytes; data; ctypes; base; device; view; itemset; flags; strides;
    itemsize; nbytes; dtype; byteswap; setflags; resize; tostring; newbyteorder; to_device;
    getfield; setfield;
    """
)
UFUNC_METHODS = _listed(
    """
    reduce(x); reduce(A, axis=1); reduce(x, initial=2.0); accumulate(x);
    reduce(A, axis=0, where=MASK, initial=1.5); accumulate(A, axis=1); outer(x, x);
    reduceat(x, [0, 2]); reduce(x > 0); reduce(A, axis=None); reduce(x[:1]);
    """
)
INTO = _listed(
    """
    out=0 * x; out=0 * x, where=MASK; where=x > 0, out=1 + 0 * x;
    """
)
METHOD_ARGUMENTS = _listed(
    """
    (); (axis=0); (where=MASK); (where=MASK, initial=3.0); (0); (1); (axis=1); (2); (x);
    ([0, 2]); (-1, 1); (None, 0.5); (float); (axis=0, keepdims=True); (decimals=1); (ddof=1);
    (order='F'); (3, 3); ([0, 1], axis=0); (1, 9); (axis=1, ddof=1); (int);
    """
)
OPERATORS = _listed(
    """
    x + 1; 1 - x; x * A; x / A; 2 / (x + 9); x // 2; x % 2; -x % 1.5; 5 % (x + 9); x ** 2;
    x ** 3; x ** -1; x ** -2; (x + 9) ** 0.5; x ** 7; 2.0 ** x; abs(x); -x; x @ A; A @ x;
    A @ A; x @ x; divmod(x, 2); x > 0; x >= x[0]; x == x; x != 0.5; (x > 0) & (x < 1);
    (x > 0) | (x < -1); ~(x > 0); (x > 0) ^ (x < 1); (x > 0) + (x < 1); (x > 0) * (x < 1);
    (x > 0) * x; 1.0 * (x > 0) + (x < 1); (x > 0).sum(); np.sum(x > 0); (x > 0).mean();
    (x > 0).astype(float); (x > 0).astype(int) * 2; (x > 0) - (x < 1); -(x > 0); x[1];
    x[::-1]; x[[2, 0]]; x[MASK]; A[1]; A[:, 1]; A[1, ::2]; A[[0, 2], [1, 1]]; A[MASK];
    A[:, MASK]; x[None]; x[:, None] * x; A[..., 0]; A[-1, -1]; A[np.array([[0, 1]])]; x[-2:];
    A.T; A.T[0]; x[0] * A[0]; A[0][1]; A[1:, :2]; list(x)[1]; [a for a in A][2];
    np.array([x[0], 2 * x[1]]); np.sin(np.array([x[0], x[1]])); np.array([x, A[0]]) @ x;
    round(s, 1); np.array([[s, 0.0], [0.0, s]]); np.asarray(x) * 2; np.array([s, x[0]]).sum();
    x[x > 0]; sum(x); max(x); s if s > 0 else -s; float(s); int(s); bool(s); x.any();
    x[:1].any(); x[:1].all(); (x[:1] > 0).any(); x.max() + x.min();
    np.maximum(x, 0).sum(axis=0); s * x + s; np.where(x > 0, x, 0);
    np.where(x > 0, np.log(abs(x) + 1), x); np.where(s > 0, x, -x); np.where(x > 0);
    np.where((x > 0) & (x < 1), x > 0.5, x < -1); np.where(x, 1.0, 2.0); np.exp(1j * x).real;
    x + 1j; math.sin(s); np.einsum('i,i', x, x); np.einsum('ij->ji', A);
    np.einsum('i,i', x > 0, x < 1); np.einsum('i->', x > 0); np.einsum('i,i', x > 0, x);
    np.einsum(x > 0, [0], x < 1, [0]); np.einsum(x > 0, [0], A > 1, [1, 0], [1]);
    np.array([1.0, 2.0, 3.0]) + x; np.float64(2.0) * x; np.array([1, 2, 3]) * x;
    [1, 2, 3] * x; x.sum() / x.size; len(x) * x; x.shape[0] * x; x.ndim * x; A.flatten();
    A.flat[4]; A.ravel();
    """
)


def value(text, x, A, s):
    """What a call gives."""
    names = {"np": np, "x": x, "A": A, "s": s, "MASK": MASK, "math": math}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, names)  # texts of this file


def leaves(result):
    """The arrays in tuples and lists."""
    return [y for x in result for y in leaves(x)] if isinstance(result, tuple | list) else [result]


@cache
def numbers(text):
    """Real arrays at all states, None where NumPy has none, "varies" where their shapes differ."""
    result = []
    for x, A, s in STATES:
        try:
            arrays = [np.asarray(y) for y in leaves(value(text, x.copy(), A.copy(), s))]
        except Exception:  # whatever NumPy raises
            return None
        if any(y.dtype.kind not in "bifuc" for y in arrays):
            return None
        result.append(arrays)
    shapes = {tuple(y.shape for y in arrays) for arrays in result}
    return result if len(shapes) == 1 else "varies"
