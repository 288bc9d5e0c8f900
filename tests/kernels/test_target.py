"""Targets: names, widths, and the environment's word."""

import pytest

from dalembert.errors import CompileError
from dalembert.kernels.llvm.target import by_name, native


@pytest.mark.parametrize(
    ("name", "doubles"), [("x86-64", 2), ("x86-64-v3", 4), ("x86-64-v4", 8), ("aarch64", 2)]
)
def test_width(name, doubles):
    target = by_name(name)
    assert (target.width("float64"), target.width("float32")) == (doubles, 2 * doubles)
    assert target.is_x86 == name.startswith("x86")


def test_environment_chooses(monkeypatch):
    monkeypatch.setenv("DALEMBERT_TARGET", "x86-64")
    assert native() == by_name("x86-64") == by_name("native")


def test_unknown_name():
    with pytest.raises(CompileError, match="x86-64-v3"):
        by_name("pentium")
