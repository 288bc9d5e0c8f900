"""Exercises of the course, with answers that are checked.

The questions stand in one file per document or part of one, each with its hint, its solution, the
function that computes the answer, and wrong answers that students arrive at. Chapters are named as
the pages of the course.
"""

from __future__ import annotations

from importlib import import_module

from dalembert.course.answers import CheckResult
from dalembert.course.exercise import REGISTERED, Exercise, Solution
from dalembert.errors import UnknownNameError

__all__ = ["CheckResult", "Exercise", "Solution", "exercise", "exercises"]

_CHAPTERS = {  # module: chapters, in the order of the course
    "li_chains": "li_lagrange li_open_chains li_coordinate_invariant li_square_root",
    "li_constraints": "li_constraints li_geometric li_contact li_gauge",
    "silver": "silver_background silver_representations silver_lagrangian",
    "lecture": "lecture_virtual_work lecture_energies lecture_motion",
    "rbe": "rbe_newton_euler rbe_explicit_form",
    "dae": "dae_methods dae_scenarios",
    "routes": "routes_hamilton routes_gauss_appell routes_quasi_velocities routes_map",
}
_MODULES = {chapter: module for module, names in _CHAPTERS.items() for chapter in names.split()}


def exercises(chapter: str | None = None) -> tuple[Exercise, ...]:
    """The exercises of a chapter, or of all chapters.

    Parameters
    ----------
    chapter : str, optional
        Name of a chapter, as its page in the course is called; default all.

    Returns
    -------
    tuple of Exercise
        In the order of the course.

    Raises
    ------
    UnknownNameError
        No chapter has this name; the message lists them.

    Examples
    --------
    >>> import dalembert as dl
    >>> for exercise in dl.exercises("lecture_energies"):
    ...     print(exercise.name)
    lecture_energies 1: The flat brick
    lecture_energies 2: Sign of a product of inertia
    lecture_energies 3: A disc that rolls
    lecture_energies 4: Sign of the potential energy
    lecture_energies 5: Energy of any body
    """
    if chapter is None:
        return tuple(one for name in _MODULES for one in exercises(name))
    if chapter not in _MODULES:
        raise UnknownNameError(
            f"no chapter is called {chapter!r}; chapters with exercises: {', '.join(_MODULES)}"
        )
    import_module(f"dalembert.course.{_MODULES[chapter]}")
    return tuple(REGISTERED[chapter])


def exercise(chapter: str, number: int) -> Exercise:
    """One exercise of the course: its question, and a check of answers.

    Parameters
    ----------
    chapter : str
        Name of a chapter, as its page in the course is called.
    number : int
        From 1, as on the page.

    Returns
    -------
    Exercise
        With `question`, `hint`, `check(answer)` and `solution`.

    Raises
    ------
    UnknownNameError
        There is no such chapter or number; the message lists what there is.

    Examples
    --------
    >>> import dalembert as dl
    >>> task = dl.exercise("lecture_energies", 1)
    >>> print(task.question)
    A brick has m = 6 kg and edges a = 1 m, b = 2 m, c = 3 m along x, y and z. What is its moment of
    inertia about the x axis through its centre, in kg m²?
    >>> task.check(5.0)
    wrong: that is the moment about y: I_xx takes the two edges across x, b and c
    >>> bool(task.check(6.5))
    True
    """
    listed = exercises(chapter)
    if isinstance(number, bool) or number not in range(1, len(listed) + 1):
        titles = "; ".join(f"{one.number} {one.title}" for one in listed)
        raise UnknownNameError(f"{chapter} has no exercise {number!r}; it has {titles}")
    return listed[number - 1]
