"""Exercises of the course: solutions are accepted, wrong answers are refused and explained."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert import references
from dalembert.course.answers import FACTORS, Comparison
from dalembert.errors import UnknownNameError

COURSE = Path(__file__).parents[2] / "docs" / "course"
sys.path.insert(0, str(COURSE.parent))
import exercises  # noqa: E402

ALL = dl.exercises()
CHAPTERS = list(dict.fromkeys(one.chapter for one in ALL))


@pytest.mark.parametrize("task", ALL, ids=lambda task: f"{task.chapter}-{task.number}")
def test_the_solution_is_accepted_and_listed_mistakes_are_refused(task):
    result = task.check(task.solution.value)
    assert result and str(result) == "right"
    assert len(task.mistakes) >= 2
    for reason, wrong in task.mistakes.items():
        result = task.check(wrong)
        assert not result and result.message == reason


@pytest.mark.parametrize("task", ALL, ids=lambda task: f"{task.chapter}-{task.number}")
def test_answers_of_another_kind_and_altered_ones_are_refused(task):
    value = task.solution.value
    m = sympy.Symbol("m")
    strange = [{1: 2}, {1}, sympy.Eq(m, 1), b"x", [1, [2]], [m, None], sympy.oo, sympy.I, 10**400]
    for wrong in ("", None, object(), [[[1.0]]], lambda: 0.0, np.zeros((3, 0)), *strange):
        assert not task.check(wrong)
    if isinstance(value, str):
        return
    if callable(value) and not isinstance(value, sympy.Basic):
        assert "sign" in task.check(lambda *x: -np.asarray(value(*x))).message
        assert not task.check(lambda *x: np.asarray(value(*x)) * 1.001)
    else:
        assert not task.check(-value) and not task.check(value * (1 + sympy.Rational(1, 1000)))


def test_exercises_are_complete_and_cite_a_page():
    documents = tomllib.loads((COURSE / "documents.toml").read_text(encoding="utf-8"))
    for task in ALL:
        assert min(map(len, (task.title, task.question, task.hint, task.solution.text))) > 3
        assert len(task.question) > 40, task.name
    pages = {
        part for lists in documents.values() for part in [*lists["displayed"], *lists["named"]]
    }
    books = (*references.TEXTBOOKS, "Gauss 1829", "Hairer, Lubich", "Papastavridis 2002")
    for task in ALL:
        assert task.source.startswith(books) or task.page in pages, task.name
    assert len({(task.chapter, task.title) for task in ALL}) == len(ALL)


def test_every_chapter_has_three_to_five_exercises_on_its_page():
    pages = {p.stem for p in COURSE.glob("*.md") if "```python" in p.read_text(encoding="utf-8")}
    assert set(CHAPTERS) == pages
    for chapter in CHAPTERS:
        listed = dl.exercises(chapter)
        assert 3 <= len(listed) <= 5, chapter
        assert [one.number for one in listed] == list(range(1, len(listed) + 1))
        text = (COURSE / f"{chapter}.md").read_text(encoding="utf-8")
        assert f"\n## Exercises\n\n{exercises.MARKER}\n" in text, chapter


def test_the_page_shows_questions_and_folds_solutions():
    page = exercises.page("li_open_chains")
    listed = dl.exercises("li_open_chains")
    assert page.count("<details") == page.count("</details>") == 2 * len(listed)
    outside = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    for task in listed:
        assert task.question in outside
        assert task.solution.text in page and task.solution.text not in outside
    assert r"\left[\begin{matrix}" in page and r"\dot{\theta}" in page  # SymPy's as mathematics


def test_an_unknown_chapter_or_number_lists_what_there_is():
    with pytest.raises(UnknownNameError, match=r"'li_lagrang'.*li_lagrange, li_open_chains"):
        dl.exercise("li_lagrang", 1)
    for number in (0, 6, -1, 1.5, "1", True):
        with pytest.raises(UnknownNameError, match="it has 1 Momentum of the pendulum; 2 "):
            dl.exercise("li_lagrange", number)
    assert dl.exercise("li_lagrange", 2) is dl.exercises("li_lagrange")[1]


def test_an_exercise_prints_without_its_answer_and_folds_it_in_a_notebook():
    task = dl.exercise("li_lagrange", 2)
    assert str(task).startswith("li_lagrange 2: Energy of a link on a turning link (Li, Manip")
    assert repr(task) == "<Exercise li_lagrange 2: Energy of a link on a turning link>"
    assert "0.05" not in str(task) and task.solution.text not in str(task)
    html = task._repr_html_()
    assert html.count("<details>") == 2 and "Answer: 0.05" in html.partition("<details>")[2]


@pytest.mark.parametrize(
    ("expected", "answer", "message"),
    [
        (2.0, -2.0, "the sign is wrong"),
        (2.0, 4.0, FACTORS[2.0]),
        (2.0, 1.0, FACTORS[0.5]),
        (2.0, np.degrees(2.0), FACTORS[180 / np.pi]),
        (2.0, 2.001, "close, but not to rounding: off by 5.0e-04"),
        (2.0, 5.0, "the value is another one"),
        (2.0, [2.0, 1.0], r"expected shape \(\), got \(2,\)"),
        (2.0, np.nan, "nan"),
        (2.0, "two", "expected a number or an array of numbers, got 'two'"),
        (2.0, sympy.Symbol("m"), "expected a number or an array"),
        (2.0, np.sin, "got a function"),
        ([1.0, 2.0, 4.0], [2.0, 1.0, 4.0], "another order"),
        ([1.0, 2.0, 4.0], [1.0, -2.0, 4.0], "entries 1 have the wrong sign"),
        ([1.0, 2.0, 4.0], [1.0, 3.0, 4.0], "entries 1 differ; the others are right"),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 3.0], [2.0, 4.0]], "transposed"),
        (np.ones((2, 3)), np.ones((3, 2)), r"expected shape \(2, 3\), got \(3, 2\); transpose it"),
    ],
)
def test_what_is_wrong_with_numbers_is_named(expected, answer, message):
    result = Comparison(expected, 1e-6).check(answer)
    assert not result
    assert re.search(message, result.message), result


def test_numbers_are_compared_relative_to_the_largest_and_a_column_is_a_vector():
    compare = Comparison(np.array([1e3, 0.0]), 1e-6)
    assert compare.check([1e3, 5e-4])
    assert not compare.check([1e3, 5e-3])
    assert compare.check(np.array([[1e3], [0.0]]))
    assert compare.check(sympy.Matrix([1000, 0]))
    assert Comparison(0.0, 1e-6).check(0) and not Comparison(0.0, 1e-6).check(1e-3)


def test_expressions_are_compared_by_value_whatever_their_form_and_assumptions():
    x, m = sympy.symbols("x m")
    compare = Comparison(m * sympy.sin(2 * x), 1e-6)
    X = sympy.Symbol("x", positive=True)
    assert compare.check(2 * m * sympy.sin(X) * sympy.cos(x))
    assert compare.check(m * sympy.sin(x)).message == "the expression is another one; see .hint"
    assert compare.check(sympy.sin(2 * x)).message == "the right answer also depends on m"
    assert compare.check(-m * sympy.sin(2 * x)).message == "the sign is wrong"
    assert compare.check(sympy.Symbol("y")).message == (
        "the answer contains y; expected an expression in m, x"
    )
    assert "no real value" in compare.check(sympy.sqrt(-m)).message
    assert "build it with sympy.symbols" in compare.check("m*sin(2*x)").message


def test_functions_of_time_count_as_symbols():
    theta, (l, m) = dynamicsymbols("theta"), sympy.symbols("l m")
    assert dl.exercise("li_lagrange", 1).check(m * l**2 * theta.diff())
    assert not dl.exercise("li_lagrange", 1).check(m * l**2 * theta.diff().diff())


def test_functions_are_compared_at_random_arguments():
    compare = Comparison(np.cross, 1e-6, arguments=lambda rng: rng.normal(size=(2, 3)))
    assert compare.check(lambda a, b: [a[1] * b[2] - a[2] * b[1], *np.cross(a, b)[1:]])
    assert compare.check(lambda a, b: np.cross(b, a)).message == "the sign is wrong"
    assert "expected a function" in compare.check(3.0).message
    assert "raised IndexError" in compare.check(lambda a, b: a[3]).message
    assert "expected shape (3,), got ()" in compare.check(lambda a, b: a @ b).message


def test_a_choice_is_one_of_the_listed_words():
    task = dl.exercise("silver_lagrangian", 4)
    assert task.check(" Equal ")
    assert task.check("both").message == "expected one of 'silver', 'craig', 'equal', got 'both'"
