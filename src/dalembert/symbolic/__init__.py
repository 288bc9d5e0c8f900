"""From programs to equations people read: SymPy, textbook form, LaTeX, pages. Knows no robots."""

from dalembert.symbolic.budget import Budget
from dalembert.symbolic.check import require_agreement
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.operations import to_sympy
from dalembert.symbolic.textbook import Writer
from dalembert.symbolic.writing import System, textbook, write_equations

__all__ = [
    "Budget",
    "Equations",
    "System",
    "Writer",
    "require_agreement",
    "textbook",
    "to_sympy",
    "write_equations",
]
