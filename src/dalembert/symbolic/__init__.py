"""From programs to equations people read: SymPy, textbook form, LaTeX, pages. Knows no robots."""

from dalembert.symbolic.budget import Budget
from dalembert.symbolic.check import require_agreement, sample
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.layout import latex_document
from dalembert.symbolic.operations import to_sympy
from dalembert.symbolic.page import html_page
from dalembert.symbolic.quantities import SymbolicSystem
from dalembert.symbolic.system_equations import write_equations
from dalembert.symbolic.writer import Writer, textbook

__all__ = [
    "Budget",
    "Equations",
    "SymbolicSystem",
    "Writer",
    "html_page",
    "latex_document",
    "require_agreement",
    "sample",
    "textbook",
    "to_sympy",
    "write_equations",
]
