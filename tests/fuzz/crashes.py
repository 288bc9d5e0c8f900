"""A door behind which the interpreter dies at its fourth case, to see that this is noticed."""

import os
import signal

import numpy as np


def case(rng: np.random.Generator) -> int:
    """The numbers 0 to 5, whatever the seed."""
    case.made = getattr(case, "made", -1) + 1
    return case.made


def outcome(made: int) -> str:
    """Dies of a signal, as a library with a wrong pointer does."""
    if made == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return "accepted"
