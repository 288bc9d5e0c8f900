"""The arithmetic of a formulation: as its derivation writes it, and how it grows with the joints.

As written: nothing of the mechanism is known to be zero, and only what the derivation itself shares
is shared. What depends on the mechanism alone (moments of mass, say) is done once and not counted;
neither are the drives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dalembert import formulations
from dalembert.errors import DalembertError
from dalembert.formulations.parts.sweeps import transforms
from dalembert.formulations.registry import INPUTS, shape
from dalembert.kernels.program.count import ABSENT, Count, tally
from dalembert.model import CoupledModel, Joint, Link, Model, build
from dalembert.model.elements import Elements
from dalembert.spatial import exp_se3


def as_written(
    model: Model | CoupledModel, quantity: str, formulation: str | None = None, **choices: str
) -> Count:
    """Operations of a formulation on a tree of this structure, as its derivation writes them."""
    tree = model.tree
    entry = formulations.quantity(quantity)
    function = entry.formulation(formulation, tree).function
    run = partial(function, _without_drives(tree), **choices)
    return tally(run, {name: shape(tree, INPUTS[name]) for name in entry.inputs})


def in_given_frames(model: Model | CoupledModel, formulation: str) -> Count:
    """Inverse dynamics as published counts have it: link frames are given, the base is at rest.

    Forming R and p of every link is left out, and so is every term with ω_0 or ω̇_0; v̇_0 is three
    numbers that are known.
    """
    tree = model.tree
    function = formulations.quantity("inverse_dynamics").formulation(formulation).function
    still = replace(_without_drives(tree), gravity=_absent(3))

    def run(lifted: np.ndarray, **state: Any) -> Any:
        acceleration = np.concatenate([lifted, _absent(3)])
        return function(still, **state, base_twist=_absent(6), base_acceleration=acceleration)

    sizes = {name: shape(tree, INPUTS[name]) for name in ("q", "qd", "qdd")}
    frames = tally(lambda q: transforms(tree, q), {"q": sizes["q"]})
    whole = tally(run, sizes | {"lifted": (3,)})
    return Count(**{kind: getattr(whole, kind) - getattr(frames, kind) for kind in vars(whole)})


def _without_drives(tree: Model) -> Model:
    """The tree with a one for every open parameter, and no rotors, friction or elements."""
    bound = tree.bind(np.ones(len(tree.parameters)))
    none = dict.fromkeys(vars(bound.drive), _absent(tree.nv))
    return replace(bound, drive=replace(bound.drive, **none), elements=Elements())


def _absent(size: int) -> np.ndarray:
    return np.array([ABSENT] * size, dtype=object)


def general_chain(n: int) -> Model:
    """A chain of n revolute joints, in general position; its numbers do not matter for counting."""
    rng = np.random.default_rng(n)
    links = [
        Link(
            name=f"link{i}",
            parent=f"link{i - 1}" if i else None,
            joint=Joint(origin=exp_se3(rng.normal(size=6))),
            mass=1.0,
            com=rng.normal(size=3),
            inertia=np.eye(3),
        )
        for i in range(n)
    ]
    return build(links, name=f"chain of {n}")


@dataclass(frozen=True)
class Growth:
    """How the as-written counts of a formulation grow with the number of joints of a chain."""

    formulation: str
    counts: dict[int, Count]
    multiplications: tuple[Fraction, ...]  # coefficients of 1, n, n², …
    additions: tuple[Fraction, ...]

    @property
    def degree(self) -> int:
        """Degree of the polynomial that the multiplications follow exactly."""
        return len(self.multiplications) - 1

    def at(self, n: int) -> tuple[int, int]:
        """(multiplications, additions) of a chain of n joints, by the polynomials."""
        return _polynomial_at(self.multiplications, n), _polynomial_at(self.additions, n)

    def exponent(self, first: int, last: int) -> float:
        """Local exponent of the multiplications: d log / d log n between two sizes."""
        ratio = self.at(last)[0] / self.at(first)[0]
        return float(np.log(ratio) / np.log(last / first))


def _polynomial_at(coefficients: tuple[Fraction, ...], n: int) -> int:
    return int(sum(c * n**k for k, c in enumerate(coefficients)))


def count_growth(
    formulation: str,
    n: Iterable[int] = range(3, 10),
    quantity: str = "inverse_dynamics",
    **choices: str,
) -> Growth:
    """Fit the exact polynomial in n that the as-written counts follow.

    Parameters
    ----------
    formulation : str
        Name of the formulation that is counted.
    n : iterable of int
        Numbers of joints of the chains that are counted.
    quantity : str
        Name of a quantity of the catalogue.
    **choices
        Static choices of the quantity (``frame="tool"``), or optional inputs by name.

    Returns
    -------
    Growth
        The counts, and the polynomials' coefficients.

    Examples
    --------
    >>> growth = count_growth("newton_euler", n=range(3, 6))
    >>> growth.degree
    1
    """
    import sympy

    sizes, symbol = sorted(set(n)), sympy.Symbol("n")
    counts = {k: as_written(general_chain(k), quantity, formulation, **choices) for k in sizes}
    polynomials = []
    for kind in ("multiplications", "additions"):
        values = {k: getattr(count, kind) for k, count in counts.items()}
        polynomial = sympy.Poly(sympy.interpolate(values, symbol), symbol)
        if polynomial.degree() > len(sizes) - 2:  # with a point to spare
            raise DalembertError(
                f"the counts of {formulation!r} for n = {sizes} follow no polynomial of degree below "
                f"{len(sizes) - 1}; give more values of n"
            )
        coefficients = reversed(polynomial.all_coeffs())
        polynomials.append(tuple(Fraction(c.p, c.q) for c in coefficients))
    return Growth(formulation, counts, *polynomials)
