"""Formulations compared: agreement of their numbers, their operation counts, and kernels of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalembert.errors import CompileError, DalembertError, FormulationError
from dalembert.kernels.program.count import Count
from dalembert.report.live_kernels import Part, time_choice
from dalembert.systems.system import System

COMPARED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
STATES = 1000
REFERENCE_STATES = 5  # plain NumPy takes one state at a time
# Rounding is near 1e-15; M(q) of an arm may be conditioned to 1e5 where its joints align.
TOLERANCE = 1e-10
SEED = 7
LARGE = 12  # degrees of freedom
# more than O(n²) instructions, or full matrices of all links
GROWING = (
    *("uicker_kahn", "lagrange", "operator", "screw_sum", "symmetric_root", "square_root"),
    "udwadia_kalaba",
)


@dataclass(frozen=True)
class Agreement:
    """One formulation: its distance from the others, and of its kernel from plain NumPy."""

    quantity: str
    formulation: str
    citation: str
    apart: float | None  # largest relative difference from any other; None where there is no other
    compiled: float

    @property
    def holds(self) -> bool:
        return small(self.compiled) and (self.apart is None or small(self.apart))


@dataclass(frozen=True)
class Identity:
    """An equation between quantities, and the largest relative difference of its sides."""

    claim: str
    left: str
    right: str
    error: float

    @property
    def holds(self) -> bool:
        return small(self.error)


def small(error: float) -> bool:
    """Whether a relative error is within the tolerance; NaN is not."""
    return bool(error <= TOLERANCE)


def formulations(system: System) -> Iterator[Agreement]:
    """All formulations of the main quantities, each against all others of its quantity.

    Those that cannot treat the robot's joints are left out; of robots with many joints, also those
    whose programs would grow too large.
    """
    values, dynamics = random_values(system), system.dynamics
    extra = (dynamics.parameter_values(),) if dynamics.parameters else ()
    for name in COMPARED:
        quantity = dynamics.quantity(name)
        inputs = [values[key] for key in quantity.inputs]
        states = list(zip(*(x[:REFERENCE_STATES] for x in inputs), strict=True))
        results = {}
        for f in quantity.formulations:
            if system.nv <= LARGE or f.name not in GROWING:
                with suppress(FormulationError):
                    results[f] = _first(system.kernel(name, f.name)(*inputs, *extra))
        for f, own in results.items():
            others = [relative_error(own, x) for other, x in results.items() if other is not f]
            references = [
                _first(system.reference(name, *state, formulation=f.name)) for state in states
            ]
            yield Agreement(
                name.replace("_", " "),
                f.name,
                f.citation,
                float(np.max(others)) if others else None,
                relative_error(own[:REFERENCE_STATES], np.stack(references)),
            )


def identities(system: System) -> Iterator[Identity]:
    """Identities between quantities of a free system that are computed independently."""
    dynamics = system.dynamics
    if dynamics.rows:
        return
    values = random_values(system)
    q, qd, qdd, tau = values["q"], values["qd"], values["qdd"], values["tau"]
    inverse, matrix, forward = (
        dynamics.quantity(name).formulation(None, dynamics.description).name for name in COMPARED
    )
    M, zero = system.mass_matrix(q), np.zeros_like(qd)
    acceleration = system.forward_dynamics(q, qd, tau)
    error = relative_error(acceleration, qdd)
    yield Identity("forward ∘ inverse = identity", forward, inverse, error)
    # the torque of the acceleration alone; bias and friction cancel
    inertial = tau - system.inverse_dynamics(q, qd, zero)
    error = relative_error(inertial, (M @ qdd[..., None])[..., 0], scale=tau)
    yield Identity("τ(q̈) − τ(0) = M q̈", inverse, matrix, error)
    difference = acceleration - system.forward_dynamics(q, qd, zero)
    solved = np.linalg.solve(M, tau[..., None])[..., 0]
    error = relative_error(difference, solved, scale=qdd)
    yield Identity("q̈(τ) − q̈(0) = M⁻¹ τ", forward, f"{matrix}, LAPACK", error)
    energy = 0.5 * (qd[:, None, :] @ M @ qd[..., None])[:, 0, 0]
    error = relative_error(system.kinetic_energy_parts(q, qd).T2, energy)
    yield Identity("kinetic energy = ½ q̇ᵀ M q̇", "sum over bodies", matrix, error)


def random_values(system: System) -> dict[str, np.ndarray]:
    """The same random states every time."""
    q, qd, qdd = system.random_state(np.random.default_rng(SEED), STATES)
    tau = _first(system.inverse_dynamics(q, qd, qdd))
    return {"q": q, "qd": qd, "qdd": qdd, "tau": tau}


def _first(result: np.ndarray | tuple[np.ndarray, ...]) -> np.ndarray:
    """Torques or accelerations, without the forces of constraints beside them."""
    return result[0] if isinstance(result, tuple) else result


def relative_error(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """max over states of ‖a − b‖ / max(‖a‖, ‖b‖, ‖scale‖), in the largest-entry norm.

    >>> relative_error(np.array([[1.0, 0.0]]), np.array([[1.0, 0.5]]))
    0.5
    """
    arrays = (a - b, a, b) if scale is None else (a - b, a, b, scale)
    difference, *sizes = (np.abs(x).reshape(len(x), -1).max(axis=1) for x in arrays)
    return float((difference / np.maximum(np.max(sizes, axis=0), np.finfo(float).tiny)).max())


# operation counts, beside the published ones

# (multiplications, additions) of a general chain of six joints: Hollerbach 1980, table I
PUBLISHED = {
    "uicker_kahn": (66271, 51548),
    "hollerbach_4x4": (4388, 3586),
    "hollerbach_3x3": (2195, 1719),
    "craig": (852, 738),
}
PUBLISHED_FOR = 6  # joints
POWERS = {0: "", 1: " n", 2: " n²", 3: " n³", 4: " n⁴", 5: " n⁵"}
_FULL = (
    "more: joints are general screws here, so A and ∂A/∂q are full matrix products, which he has "
    "in closed form for the DH convention"
)
EXPLANATIONS = {
    "uicker_kahn": _FULL,
    "hollerbach_4x4": _FULL,
    "hollerbach_3x3": _FULL,
    "craig": "forming the link frames is counted here, 17 n and 19 n of it; the equations as printed, "
    "with frames given and the base at rest, come to 135 n − 66 and 110 n − 63, below 150 n − 48 and "
    "131 n − 48, whose conventions are not known",
    "newton_euler": "fewer products than craig: forces and moments about the link's origin share "
    "U = ω̇^ + ω^ω^",
    "silver": "the same operations as craig, which is what he set out to show",
}
# variants that show where the savings come from, as written (001 §1.3, §3.2)
HISTORY: tuple[tuple[str, dict[str, str], str], ...] = (
    ("newton_euler_base", {}, "Newton–Euler, everything in base coordinates"),
    ("newton_euler_mixed", {}, "Newton–Euler, forces and moments in link frames"),
    ("craig", {"gravity": "potential"}, "Newton–Euler in link frames as printed, weights"),
    ("craig", {}, "Newton–Euler in link frames as printed, accelerated base"),
    ("newton_euler", {}, "Newton–Euler in link frames, moments about the links' origins"),
)


@dataclass(frozen=True)
class Row:
    """Counts of one formulation for one robot."""

    formulation: str
    as_written: Count | None  # None: the formulation cannot treat this robot
    customised: Count | None
    published: tuple[int, int] | None
    note: str

    @property
    def numbers(self) -> list[int | None]:
        """× and + as written, × and + and sines of this system, published × and +."""
        written, own = self.as_written, self.customised
        first = (written.multiplications, written.additions) if written else (None, None)
        second = (own.multiplications, own.additions, own.trigonometric) if own else (None,) * 3
        return [*first, *second, *(self.published or (None, None))]


def counted_quantity(system: System) -> str:
    """The quantity that has many formulations: under constraints those of forward dynamics."""
    return "forward_dynamics" if system.dynamics.rows else "inverse_dynamics"


def known_columns(rows: Sequence[Row]) -> list[int]:
    """Which of `Row.numbers` any of the rows has: a constrained system has no counts as written."""
    columns = enumerate(zip(*(row.numbers for row in rows), strict=True))
    return [k for k, column in columns if any(x is not None for x in column)]


def count_rows(system: System, quantity: str = "inverse_dynamics") -> list[Row]:
    """One row per formulation of the quantity, for this system."""
    # as written means a formulation on a tree of joints that all move on their own
    tree = system.robot is system and not system.robot.model.followers
    robot = system.robot if tree else None
    published = PUBLISHED if robot is not None and quantity == "inverse_dynamics" else {}
    rows = []
    for formulation in system.dynamics.quantity(quantity).formulations:
        name = formulation.name
        note = EXPLANATIONS.get(name, "") if published else ""
        written = customised = None
        try:
            if robot is not None:
                written = robot.operation_count(quantity, name, as_written=True)
            customised = system.operation_count(quantity, name)
        except (FormulationError, CompileError) as error:
            written, note = None, str(error)
        rows.append(Row(name, written, customised, published.get(name), note))
    return rows


def polynomial_text(coefficients: tuple[int | Fraction, ...]) -> str:
    """A polynomial in n, highest power first.

    >>> polynomial_text((-48, 150))
    '150 n − 48'
    """
    parts = [(c, POWERS[k]) for k, c in reversed(list(enumerate(coefficients))) if c]
    text = "".join(f" {'−' if c < 0 else '+'} {abs(c)}{p}" for c, p in parts).strip()
    return text.replace("− ", "−", 1) if text.startswith("−") else text.removeprefix("+ ")


# formulations as kernels of a live page

# A page carries a formulation whose program has at most EACH operations, about five bytes of code
# each, and at most ALL together: inverse dynamics before the others, the shortest first.
EACH, ALL = 3_000, 12_000
SYMBOLS = {"inverse_dynamics": "τ", "forward_dynamics": "q̈", "mass_matrix": "M"}


def formulations_part(system: System) -> Part:
    """All formulations that are small enough, with their sources; the names of the others."""
    system = system.compiled
    dynamics, counted = system.dynamics, []
    for quantity in (name for name in COMPARED if name in dynamics.catalogue):
        listed = dynamics.quantity(quantity)
        default = listed.formulation(None, dynamics.description).name
        for f in listed.formulations:
            if system.nv <= LARGE or f.name not in GROWING:
                with suppress(DalembertError):  # it does not treat these joints
                    count = system.operation_count(quantity, f.name)
                    counted.append((quantity, f, count, f.name == default))
    included, total = set(), 0
    for quantity, f, count, is_default in sorted(
        counted, key=lambda entry: (entry[0] != COMPARED[0], entry[2].total)
    ):
        if is_default or (count.total <= EACH and total + count.total <= ALL):
            included.add((quantity, f.name))
            total += 0 if is_default else count.total
    kernels, entries, omitted = {}, [], []
    for quantity, f, count, is_default in counted:
        if (quantity, f.name) not in included:
            omitted.append(f"{quantity} by {f.name} ({count.total:,})")
            continue
        kernel = quantity if is_default else f"{quantity} by {f.name}"
        choices = {"quantity": quantity, "formulation": f.name, **time_choice(system, quantity)}
        kernels[kernel] = choices
        entries.append(
            {
                "symbol": SYMBOLS[quantity],
                "quantity": quantity,
                "name": f.name,
                "citation": f.citation,
                "summary": f.summary,
                "kernel": kernel,
                "pair": (count.multiplications, count.additions),
            }
        )
    data = {"entries": entries, "left_out": omitted, "tolerance": TOLERANCE}
    return Part(kernels, {"formulations": data}, "formulations beside the usual ones")
