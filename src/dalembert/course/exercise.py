"""An exercise: question, hint, the computed answer, and wrong answers that are explained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from inspect import cleandoc
from typing import Any

import numpy as np

from dalembert.course.answers import CheckResult, Comparison
from dalembert.references import DOCUMENTS

Parts = tuple[Any, Mapping[str, Any]]  # the right answer, and wrong ones by what is wrong
Answer = Callable[[], Parts]
REGISTERED: dict[str, list[Exercise]] = defaultdict(list)
_DOCUMENT_OF = {"li": "000", "silver": "001", "lecture": "002", "rbe": "003", "dae": "004"}


@dataclass(frozen=True)
class Solution:
    """The right answer and how one arrives at it."""

    text: str
    value: Any  # number, array, SymPy expression, function or choice

    def __str__(self) -> str:
        return self.text if callable(self.value) else f"{self.text}\n\nAnswer: {self.value}"

    __repr__ = __str__


@dataclass(frozen=True)
class Exercise:
    """A question of the course; `check` says whether an answer is right, and what is wrong with it."""

    chapter: str
    number: int
    title: str
    page: str  # of the document that the chapter follows
    question: str
    hint: str
    explanation: str
    answer: Answer
    tolerance: float
    arguments: Callable[[np.random.Generator], Sequence[Any]] | None
    choices: tuple[str, ...]

    @property
    def name(self) -> str:
        """Chapter, number and title."""
        return f"{self.chapter} {self.number}: {self.title}"

    @property
    def source(self) -> str:
        """Document and page."""
        number = _DOCUMENT_OF.get(self.chapter.partition("_")[0])
        return f"{DOCUMENTS[number].short}, {self.page}" if number else self.page

    @cached_property
    def _answer(self) -> Parts:
        return self.answer()

    @property
    def solution(self) -> Solution:
        """The right answer, computed now, and its derivation."""
        return Solution(self.explanation, self._answer[0])

    @property
    def mistakes(self) -> Mapping[str, Any]:
        """Wrong answers by what is wrong with them."""
        return self._answer[1]

    def check(self, answer: Any) -> CheckResult:
        """Whether an answer is right.

        Parameters
        ----------
        answer : float, array_like, SymPy expression or matrix, function or str
            Of the kind that the question asks for, in SI units, angles in radians. Expressions are
            compared at random values of their symbols, functions at random arguments.

        Returns
        -------
        CheckResult
            True where the answer is right; printed, it says what is wrong otherwise.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.exercise("lecture_energies", 1).check([6.5, 5.0, 2.5])
        wrong: expected shape (), got (3,)
        """
        value, mistakes = self._answer
        compare = Comparison(value, self.tolerance, self.arguments, self.choices, mistakes)
        return compare.check(answer)

    def __str__(self) -> str:
        return f"{self.name} ({self.source})\n\n{self.question}"

    def __repr__(self) -> str:
        return f"<Exercise {self.name}>"

    def _repr_html_(self) -> str:
        folded = "".join(
            f"<details><summary>{name}</summary><pre>{escape(text)}</pre></details>"
            for name, text in (("Hint", self.hint), ("Solution", str(self.solution)))
        )
        heading = f"<b>{escape(self.name)}</b> ({escape(self.source)})"
        return f"{heading}<p>{escape(self.question)}</p>{folded}"


def add(
    chapter: str,
    page: str,
    title: str,
    *,
    question: str,
    hint: str,
    solution: str,
    tolerance: float = 1e-6,
    arguments: Callable[[np.random.Generator], Sequence[Any]] | None = None,
    choices: tuple[str, ...] = (),
) -> Callable[[Answer], Answer]:
    """Register a function as the answer of a new exercise at the end of a chapter.

    The function returns the right answer and a mapping of wrong ones, by what is wrong with them;
    `arguments` are random ones of an answer that is a function.
    """

    def register(answer: Answer) -> Answer:
        listed = REGISTERED[chapter]
        listed.append(
            Exercise(
                chapter=chapter,
                number=len(listed) + 1,
                title=title,
                page=page,
                question=cleandoc(question),
                hint=cleandoc(hint),
                explanation=cleandoc(solution),
                answer=answer,
                tolerance=tolerance,
                arguments=arguments,
                choices=choices,
            )
        )
        return answer

    return register
