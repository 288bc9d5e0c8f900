"""Every route to the motion of a constrained system, in symbols, against SymPy's own derivation.

The programs of the catalogue run on fractions of polynomials over the rationals: sines are reduced
by s² = 1 − c², and a root is a symbol w with w² = what it is taken of. Branches (pivots, thresholds
of rank) are those of one state. A difference that is zero there is zero for all masses, lengths,
positions, permitted velocities and forces around it. What M q̈ + Aᵀλ = f, A q̈ = γ consist of is
differentiated by SymPy alone. A route that is added to the catalogue is compared without a change
here.
"""

from typing import NamedTuple

import numpy as np
import pytest
import sympy
from sympy import cos, sin
from sympy.physics.mechanics import dynamicsymbols
from sympy.polys.domains import QQ
from sympy.polys.fields import FracField

import dalembert as dl
from dalembert import tracing
from dalembert.constraints.catalogue import FORWARD_DYNAMICS
from dalembert.kernels.program.trace import trace
from dalembert.symbolic.operations import affine_forms, exact
from dalembert.tracing.program import Op

CLOCK = dynamicsymbols._t
m, n, l, r, a, I, g = sympy.symbols("m n l r a I g")
X, Y, U, V, TH, PH = dynamicsymbols("x y u v theta phi")
ROOTS = [f"w{k}" for k in range(8)]
POSTURES = {"phi": (QQ(3, 5), QQ(4, 5)), "theta": (QQ(12, 13), QQ(5, 13))}  # cosine and sine


class Case(NamedTuple):
    """Coordinates, energies, and h(q) = 0 or the rows of A(q) q̇ = 0."""

    q: list
    kinetic: sympy.Expr
    potential: sympy.Expr
    h: list
    A: list
    dependent: list  # coordinates whose velocities follow from the others


def squares(*terms):
    return sum(k * v.diff(CLOCK) ** 2 for k, v in terms) / 2


def arm_on_a_line():
    """Two links of length one with masses 3 and 1 at their ends, angles from x, the tip at one height.

    It stands at one rational posture: with angles in symbols some routes take minutes. The masses
    have a rational Cholesky factor: roots of numbers are decimals in the programs.
    """
    ends = [sympy.Matrix([cos(TH), sin(TH)])]
    ends.append(ends[0] + sympy.Matrix([cos(PH), sin(PH)]))
    masses = (3, 1)
    K = sum(k * p.diff(CLOCK).dot(p.diff(CLOCK)) / 2 for k, p in zip(masses, ends, strict=True))
    return Case([TH, PH], sympy.trigsimp(sympy.expand(K)), 0 * a, [ends[1][1] - a], [], [PH])


def sleigh():
    ahead = [
        X.diff(CLOCK) - a * sin(TH) * TH.diff(CLOCK),
        Y.diff(CLOCK) + a * cos(TH) * TH.diff(CLOCK),
    ]
    K = sympy.expand(m * (ahead[0] ** 2 + ahead[1] ** 2) / 2 + I * TH.diff(CLOCK) ** 2 / 2)
    return Case([X, Y, TH], sympy.trigsimp(K), 0 * m, [], [[-sin(TH), cos(TH), 0]], [Y])


CASES = {
    "pendulum": Case(
        [X, Y], squares((m, X), (m, Y)), m * g * Y, [(X**2 + Y**2 - l**2) / 2], [], [Y]
    ),
    "bead on a parabola": Case(
        [X, Y], squares((m, X), (m, Y)), m * g * Y, [Y - a * X**2 / 2], [], [Y]
    ),
    "Atwood's machine": Case(
        [X, Y], squares((m, X), (n, Y)), -g * (m * X + n * Y), [X + Y - l], [], [Y]
    ),
    "sleigh": sleigh(),
    "arm on a line": arm_on_a_line(),
}


def bare(e):
    """A SymPy expression in symbols: x, dx for ẋ."""
    functions = sympy.Matrix([e]).atoms(sympy.Function) - sympy.Matrix([e]).atoms(sin, cos)
    functions = [f for f in functions if f.args == (CLOCK,)]
    rates = {f.diff(CLOCK): sympy.Symbol(f"d{f.func}") for f in functions}
    return e.subs(rates).subs({f: sympy.Symbol(str(f.func)) for f in functions})


class Exact:
    """Runs programs on fractions of polynomials in `names` and in cosines and sines of `angles`.

    Every value is a pair: the fraction, and a number at one state, by which branches are taken.
    Angles of `fixed` stand at the rational point of `POSTURES`.
    """

    def __init__(self, names, angles, fixed):
        trig = [f"{kind}_{name}" for name in angles if name not in fixed for kind in "cs"]
        self.field = FracField([*ROOTS, *trig, *names], QQ, "lex")
        generators = dict(zip([*ROOTS, *trig, *names], self.field.gens, strict=True))
        numbers = np.random.default_rng(4).uniform(0.4, 1.2, len(names))
        self.values = {x: (generators[x], u) for x, u in zip(names, numbers, strict=True)}
        self.trig = {}
        for x in angles:
            pair = [generators.get(f"{kind}_{x}") for kind in "cs"]
            if x in fixed:
                pair = [self.field(k) for k in POSTURES[x]]
                cosine, sine = (float(k.numerator) / float(k.denominator) for k in POSTURES[x])
                self.values[x] = (generators[x], float(np.arctan2(sine, cosine)))
            angle = self.values[x][1]
            self.trig[x] = list(zip(pair, (np.cos(angle), np.sin(angle)), strict=True))
        turning = [pair for x, pair in self.trig.items() if x not in fixed]
        self.squares = [(s, 1 - c**2) for (c, _), (s, _) in turning]
        self.roots = [generators[name] for name in ROOTS]
        self.radicands = []

    def reduced(self, x):
        """With s² = 1 − c², and w² as what the root is taken of."""
        roots = [*zip(self.roots, self.radicands, strict=False)]
        for w, square in [*reversed(roots), *self.squares]:
            (above, up), (below, down) = (_replaced(p, w.numer, square) for p in (x.numer, x.denom))
            x = self.field(above * down) / self.field(below * up)
        return x

    def expression(self, e):
        """A SymPy expression as a pair."""
        if e.is_Rational:
            return self.field(QQ(e.p, e.q)), float(e)
        if e.is_Symbol:
            return self.values[e.name]
        if isinstance(e, sin | cos):
            terms = e.args[0].as_coefficients_dict().items()
            return self.turned({s.name: int(k) for s, k in terms})[isinstance(e, sin)]
        pairs = [self.expression(x) for x in e.args]
        if e.is_Pow:
            return tuple(x ** int(e.args[1]) for x in pairs[0])
        combine = sum if e.is_Add else np.prod
        return self.reduced(combine([x for x, _ in pairs])), combine([u for _, u in pairs])

    def turned(self, coefficients):
        """(cos, sin) of a sum of angles."""
        c, s = (self.field(1), 1.0), (self.field(0), 0.0)
        for name, times in coefficients.items():
            assert abs(times) == 1, name
            (x, u), (y, v) = self.trig[name]
            y, v = times * y, times * v
            c, s = (
                (self.reduced(c[0] * x - s[0] * y), c[1] * u - s[1] * v),
                (self.reduced(s[0] * x + c[0] * y), s[1] * u + c[1] * v),
            )
        return c, s

    def run(self, program, inputs):
        """The outputs of a program, flat; inputs are lists of pairs by the names of its ports."""
        flat = [pair for port in program.inputs for pair in inputs[port.name]]
        names = {id(pair): name for name, pair in self.values.items()}
        affine, done = affine_forms(program), []
        for op, i, j in program.rows:
            if op == Op.INPUT:
                done.append(flat[i])
            elif op == Op.CONST:
                value = float(program.constants[i])
                simple = exact(value) if np.isfinite(value) else exact(1e9)
                done.append((self.field(QQ(simple.numerator, simple.denominator)), value))
            elif op in (Op.SIN, Op.COS):
                terms = {names[id(flat[k])]: int(c) for k, c in enumerate(affine[i][:-1]) if c}
                done.append(self.turned(terms)[op == Op.SIN])
            else:
                done.append(self._step(Op(op), *done[i], *(done[j] if j >= 0 else done[i])))
        return [done[k] for k in program.results.tolist()]

    def _step(self, op, x, u, y, v):
        """One instruction on the pairs (x, u) and (y, v)."""
        number = {Op.NEG: -u, Op.ADD: u + v, Op.SUB: u - v, Op.MUL: u * v, Op.SQ: u * u}.get(op)
        if number is not None:
            fraction = {Op.NEG: -x, Op.ADD: x + y, Op.SUB: x - y}.get(op)
            return self.reduced(x * y) if fraction is None else fraction, number
        if op == Op.DIV:
            return self.reduced(x / y), u / v
        if op == Op.SQRT:
            if x not in self.radicands:
                self.radicands.append(x)
            return self.roots[self.radicands.index(x)], np.sqrt(u)
        # branches, of this state
        if op == Op.ABS:
            return (x, u) if u >= 0 else (-x, -u)
        if op in (Op.MAX, Op.MIN):
            return (x, u) if (u >= v) == (op == Op.MAX) else (y, v)
        if op == Op.SELECT0:
            return (y, v) if u else (self.field(0), 0.0)
        truth = {Op.LT: u < v, Op.LE: u <= v, Op.EQ: u == v, Op.NE: u != v, Op.NOT: not u}
        truth |= {Op.AND: bool(u) and bool(v), Op.OR: bool(u) or bool(v)}
        return self.field(int(truth[op])), float(truth[op])


def _replaced(p, w, square):
    """p with w² replaced, times a power of the denominator of that; and this power."""
    at = p.ring.gens.index(w)
    top = max((monomial[at] // 2 for monomial in p), default=0)
    if not top:
        return p, p.ring.one
    result = p.ring.zero
    for power in range(top + 1):
        part = {(*k[:at], k[at] % 2, *k[at + 1 :]): c for k, c in p.items() if k[at] // 2 == power}
        result += p.new(part) * square.numer**power * square.denom ** (top - power)
    return result, square.denom**top


class Problem:
    """A case as a system of the package, and its equations by SymPy on permitted velocities."""

    def __init__(self, name, fixed):
        case = CASES[name]
        q, rates = case.q, [x.diff(CLOCK) for x in case.q]
        names = [str(x.func) for x in q]
        L = case.kinetic - case.potential
        parameters = sorted((L + sum(case.h)).free_symbols - {CLOCK}, key=str)
        free = dl.Lagrangian(
            q, case.kinetic, case.potential, parameters=dict.fromkeys(parameters, 1.0), name="free"
        )
        rows = [dl.Holonomic(bare(h), name=f"row{k}") for k, h in enumerate(case.h)]
        rows += [dl.Pfaffian(bare(sympy.Matrix(case.A)), name="blade")] if case.A else []
        guess = {"pendulum": [0.6, -0.8], "arm on a line": [0.7, 0.8]}.get(name)
        self.system = dl.Constrained(free, rows, guess=guess)
        self.names = list(self.system.dynamics.parameters)
        # by SymPy: M q̈ = f − Aᵀλ, A q̈ = γ
        tau = sympy.symbols([f"tau_{x}" for x in names])
        A = sympy.Matrix(case.A) if case.A else sympy.Matrix(case.h).jacobian(q)
        lagrange = [L.diff(v).diff(CLOCK) - L.diff(x) for x, v in zip(q, rates, strict=True)]
        at_rest = {v.diff(CLOCK): 0 for v in rates}
        f = [t - e.subs(at_rest) for t, e in zip(tau, lagrange, strict=True)]
        gamma = -A.diff(CLOCK) * sympy.Matrix(rates)
        angles = [x for x in names if x in ("theta", "phi")]
        known = [*names, *(f"d{x}" for x in names), *map(str, tau), *map(str, parameters)]
        self.exact = Exact(known, angles, fixed)
        # the dependent velocity follows: A q̇ = 0
        written = self.matrix(A)
        k = q.index(case.dependent[0])
        rest = [
            written[0][j] * self.exact.values[f"d{x}"][0] for j, x in enumerate(names) if j != k
        ]
        speed = self.exact.reduced(-sum(rest) / written[0][k])
        number = float(
            sum(e * v for e, v in zip(self.numbers(A), self.rates(names, k), strict=True))
        )
        self.exact.values[f"d{names[k]}"] = (speed, -number / self.numbers(A)[k])
        self.M, self.A = self.matrix(sympy.hessian(case.kinetic, rates)), written
        self.f, self.gamma = (self.matrix(sympy.Matrix(x)) for x in (f, gamma))
        own = self.exact.values
        self.inputs = {
            "q": [own[x] for x in names],
            "qd": [own[f"d{x}"] for x in names],
            "tau": [own[f"tau_{x}"] for x in names],
            "parameters": [own[x] for x in self.names],
        }

    def matrix(self, value):
        return [[self.exact.expression(bare(e))[0] for e in row] for row in value.tolist()]

    def numbers(self, A):
        return [self.exact.expression(bare(e))[1] for e in A.row(0)]

    def rates(self, names, k):
        own = self.exact.values
        return [0.0 if j == k else own[f"d{x}"][1] for j, x in enumerate(names)]

    def require_zero(self, values, what):
        for k, x in enumerate(values):
            for _ in range(len(self.exact.radicands) + 1):
                x = self.exact.reduced(x)
            assert not x, f"{what}, row {k + 1}: {x}"


def product(matrix, vector):
    return [sum(x * y for x, y in zip(row, vector, strict=True)) for row in matrix]


def transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


@pytest.fixture(scope="module", params=CASES)
def problem(request):
    return Problem(request.param, list(POSTURES) if request.param == "arm on a line" else [])


ROUTES = [formulation.name for formulation in FORWARD_DYNAMICS.formulations]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_solves_the_equations(problem, route):
    program = problem.system.program("forward_dynamics", route)
    exact = problem.exact
    exact.radicands = []
    pairs = exact.run(program, problem.inputs)
    assert np.isfinite([u for _, u in pairs]).all(), "the route has no value at this state"
    values = [x for x, _ in pairs]
    qdd, lam = values[: problem.system.nv], values[problem.system.nv :]
    pushed = product(transposed(problem.A), lam)
    motion = zip(product(problem.M, qdd), pushed, problem.f, strict=True)
    problem.require_zero([x + y - f[0] for x, y, f in motion], f"{route}: M q̈ + Aᵀλ − f")
    along = zip(product(problem.A, qdd), problem.gamma, strict=True)
    problem.require_zero([x - gamma[0] for x, gamma in along], f"{route}: A q̈ − γ")


@pytest.mark.parametrize("name", CASES)
def test_kanes_equations_are_the_same_motion(name):
    """v_r = Nᵀ M q̇ gives q̇ back, and its rate along the motion is Kane's v̇_r; angles are fixed."""
    problem = Problem(name, list(POSTURES))
    system, exact = problem.system, problem.exact
    program = system.program("forward_dynamics", "elimination")
    qdd = exact.run(program, problem.inputs)[: system.nv]

    def kane(q, qd, qdd, tau, parameters):
        here = system.dynamics.bind(parameters)
        x, v = tracing.symbol("x", here.nq), tracing.symbol("v", here.nv)
        v_r = here.compute("basis", q=x).T @ here.dynamics.mass_matrix(x) @ v
        rate = tracing.directional(v_r, x, v) + tracing.directional(v_r, v, qdd)
        speed, rate = tracing.at([v_r, rate], [x, v], [q, qd])
        q_dot, v_r_dot, _ = here.compute("kane", q=q, v_r=speed, tau=tau)
        return {"q_dot": q_dot - qd, "v_r_dot": v_r_dot - rate}

    shapes = dict.fromkeys(("q", "qd", "qdd", "tau"), (system.nv,))
    program = trace(kane, shapes | {"parameters": (len(problem.inputs["parameters"]),)})
    differences = exact.run(program, problem.inputs | {"qdd": qdd})
    problem.require_zero([x for x, _ in differences], "Kane: q̇ and v̇_r")


def test_a_wrong_route_is_noticed(problem):
    """Half a force of the constraints in place of a whole one leaves M q̈ + Aᵀλ − f."""
    program = problem.system.program("forward_dynamics", "elimination")
    problem.exact.radicands = []
    values = [x for x, _ in problem.exact.run(program, problem.inputs)]
    pushed = product(transposed(problem.A), [x / 2 for x in values[problem.system.nv :]])
    with pytest.raises(AssertionError, match="row 1"):
        problem.require_zero(pushed, "half")
