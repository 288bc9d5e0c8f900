"""Source documents of the equations: docstrings cite them by number, users see titles."""

from __future__ import annotations

import re
from typing import NamedTuple


class Document(NamedTuple):
    """How a document is cited, and what it is."""

    short: str
    title: str


DOCUMENTS = {
    "000": Document(
        "Li, Manipulator Dynamics",
        "Li and Wu, Lecture Notes for A Geometrical Introduction to Robotics and Manipulation "
        "(2011), ch. 4",
    ),
    "001": Document(
        "Silver 1981",
        "Silver, On the Representation of Angular Velocity and its Effect on the Efficiency of "
        "Manipulator Dynamics Computation, MIT AI Memo 622 (1981)",
    ),
    "002": Document(
        "Lecture on Euler–Lagrange Equations",
        "Lecture 11: Dynamics: Euler–Lagrange Equations, lecture notes",
    ),
    "003": Document(
        "Robotics Engineering RBE 3005", "Robotics Engineering RBE 3005 (lecture notes), dynamics"
    ),
    "004": Document(
        "DAE for Anthropomorphic Manipulator",
        "Differential-Algebraic Equations (DAE) for Anthropomorphic Manipulator, lecture notes",
    ),
}
# of the routes that the documents do not take; the course cites chapters and sections
TEXTBOOKS = {
    "Greenwood 2003": "Greenwood, Advanced Dynamics, Cambridge University Press 2003",
    "Neimark and Fufaev 1972": (
        "Neimark and Fufaev, Dynamics of Nonholonomic Systems, American Mathematical Society 1972"
    ),
    "Udwadia and Phohomsiri 2006": (
        "Udwadia and Phohomsiri, Explicit equations of motion for constrained mechanical systems with "
        "singular mass matrices and applications to multi-body dynamics, Proceedings of the Royal "
        "Society A 462, 2097–2117 (2006)"
    ),
}
# a number that stands alone: not a part of 20,000 or 0.001
_NUMBER = re.compile(r"(?<![\w.,])00[0-4](?!\w|[.,]\d)")


def with_titles(text: str) -> str:
    """The text with the numbers of documents replaced by author and title.

    >>> with_titles("M q̇ (000 p.21; 001 §1.3), 1.001 kg")
    'M q̇ (Li, Manipulator Dynamics p.21; Silver 1981 §1.3), 1.001 kg'
    """
    return _NUMBER.sub(lambda match: DOCUMENTS[match[0]].short, text)
