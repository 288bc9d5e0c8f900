"""A target in which the interpreter dies at its fourth case, to see that this is noticed."""

import os
import signal

import numpy as np


def case(rng: np.random.Generator) -> int:
    """The numbers 0 to 5, whatever the seed."""
    case.count = getattr(case, "count", -1) + 1
    return case.count


def outcome(number: int) -> str:
    """Dies of a signal, as a library with a wrong pointer does."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return "accepted"
