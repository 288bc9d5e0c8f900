"""What is found in a log: sentences with the joint and the evidence, and what they mean for a fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from dalembert.errors import IdentificationError

DOUBTS = ("refuse", "warn")


class IdentificationWarning(UserWarning):
    """A log shows less than it could, or something else than it should."""


@dataclass(frozen=True)
class Finding:
    """One thing that speaks against a log; `wrong` where a fit of it would be wrong."""

    says: str
    wrong: bool = False
    joint: str = ""  # "" where it is of the whole log


def judged(findings: Iterable[Finding], doubts: str = "refuse") -> tuple[str, ...]:
    """The sentences as warnings; an error with all that make a fit wrong, unless doubts="warn"."""
    every = tuple(findings)
    wrong = [found.says for found in every if found.wrong]
    if wrong and doubts == "refuse":
        listed = [f"({k + 1}) {says}" for k, says in enumerate(wrong)] if wrong[1:] else wrong
        raise IdentificationError(
            f"a fit of this log would be wrong: {'; '.join(listed)}. doubts='warn' (--doubts warn) "
            "fits it all the same"
        )
    for found in every:
        # from here to `identify`, what holds BLAS to one thread for it, and the line that called it
        warnings.warn(found.says, IdentificationWarning, stacklevel=4)
    return tuple(found.says for found in sorted(every, key=lambda found: not found.wrong))
