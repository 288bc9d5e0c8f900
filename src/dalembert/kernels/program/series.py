"""Truncated Taylor series in several variables: arrays of coefficients, multiplied and differentiated.

A series of order d in n variables has one coefficient for every monomial of degree 0 … d, the lower
degrees first, so that its first `size` entries are the series of a lower order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

CHUNK = 1 << 16  # products formed at a time: 0.5 MB for each entry of a matrix


@cache
def algebra(variables: int, order: int) -> Algebra:
    """The series of that order, with its tables made once."""
    return Algebra(variables, order)


class Algebra:
    """Arrays (size, ...) of coefficients: the first axis counts monomials, others are entries.

    >>> x, y = (algebra(2, 2).variable(k, 1.0) for k in range(2))  # 1 + t₀, 1 + t₁
    >>> algebra(2, 2).product(x, y)  # 1, t₀, t₁, t₀², t₀ t₁, t₁²
    array([1., 1., 1., 0., 1., 0.])
    """

    def __init__(self, variables: int, order: int) -> None:
        self.variables, self.order = variables, order
        self.words = [
            word
            for degree in range(order + 1)
            for word in combinations_with_replacement(range(variables), degree)
        ]
        self.size = len(self.words)
        self.degree = np.array([len(word) for word in self.words])

    def constant(self, value: Any) -> np.ndarray:
        """A number or array as a series."""
        series = np.zeros((self.size, *np.shape(value)))
        series[0] = value
        return series

    def variable(self, k: int, value: float) -> np.ndarray:
        """value + t_k."""
        series = self.constant(value)
        if self.order:
            series[1 + k] = 1.0
        return series

    @cached_property
    def _raised(self) -> np.ndarray:
        """(variables, size of one order less): where a monomial times t_k stands."""
        position = {word: k for k, word in enumerate(self.words)}
        lower = [word for word in self.words if len(word) < self.order]
        found = [[position[tuple(sorted((*w, k)))] for w in lower] for k in range(self.variables)]
        return np.array(found, dtype=np.intp).reshape(self.variables, len(lower))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Monomials i, j of which the product is kept, by their product; where each one starts."""
        position = {word: k for k, word in enumerate(self.words)}
        times: list[np.ndarray] = [np.arange(self.size)]
        for word in self.words[1:]:
            kept = comb(self.variables + self.order - len(word), self.variables)
            times.append(self._raised[word[-1], times[position[word[:-1]]][:kept]])
        i = np.concatenate([np.arange(len(at)) for at in times])
        j = np.repeat(np.arange(self.size), [len(at) for at in times])
        product = np.concatenate(times)
        order = np.argsort(product, kind="stable")
        starts = np.searchsorted(product[order], np.arange(self.size + 1))
        return i[order], j[order], starts

    def product(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a b: numbers, or matrices (size, k, l) and (size, l, m), without what is above the order."""
        i, j, starts = self._pairs
        combine = np.multiply if a.ndim == 1 else np.matmul
        found, first = [], 0
        while first < self.size:
            last = int(np.searchsorted(starts, starts[first] + CHUNK, side="right")) - 1
            last = min(max(last, first + 1), self.size)
            span = slice(starts[first], starts[last])
            terms = combine(a[i[span]], b[j[span]])
            found.append(np.add.reduceat(terms, starts[first:last] - starts[first], axis=0))
            first = last
        return np.concatenate(found)

    def slopes(self, a: np.ndarray) -> np.ndarray:
        """∂a/∂t (smaller size, ..., variables), a series of one order less."""
        lower = self._raised.shape[1]
        powers = [[word.count(k) + 1 for word in self.words[:lower]] for k in range(self.variables)]
        factor = np.array(powers, dtype=float).reshape(self.variables, lower, *[1] * (a.ndim - 1))
        return np.moveaxis(factor * a[self._raised], 0, -1)

    def composed(self, coefficients: Sequence[float], a: np.ndarray) -> np.ndarray:
        """f(a) by Horner's rule, f given by its Taylor coefficients (order + 1) at the value of a."""
        rest = a.copy()
        rest[0] = 0.0
        found = self.constant(coefficients[-1])
        for c in coefficients[-2::-1]:
            found = self.product(found, rest)
            found[0] += c
        return found
