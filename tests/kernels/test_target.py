"""Targets: names, widths, and the environment's word."""

import pytest

from dalembert.errors import CompileError
from dalembert.kernels.llvm import target
from dalembert.kernels.llvm.target import by_name, native


@pytest.mark.parametrize(
    ("name", "doubles"), [("x86-64", 2), ("x86-64-v3", 4), ("x86-64-v4", 8), ("aarch64", 2)]
)
def test_width(name, doubles):
    machine = by_name(name)
    assert (machine.width("float64"), machine.width("float32")) == (doubles, 2 * doubles)
    assert machine.is_x86 == name.startswith("x86")


def test_environment_chooses(monkeypatch):
    monkeypatch.setenv("DALEMBERT_TARGET", "x86-64")
    assert native() == by_name("x86-64") == by_name("native")


def test_native_is_a_name_for_the_environment_too(monkeypatch):
    monkeypatch.delenv("DALEMBERT_TARGET", raising=False)
    own = native()
    monkeypatch.setenv("DALEMBERT_TARGET", "native")
    assert native() == by_name("native") == own


@pytest.mark.parametrize(
    ("machine", "requested"),
    [
        ("x86-64", "x86-64-v3"),
        ("x86-64-v3", "x86-64-v4"),
        ("x86-64-v4", "aarch64"),
        ("aarch64", "x86-64"),
    ],
)
def test_code_for_another_machine_is_refused_before_it_runs(monkeypatch, machine, requested):
    monkeypatch.setattr(target, "_level", lambda: machine)
    monkeypatch.setenv("DALEMBERT_TARGET", requested)
    with pytest.raises(CompileError, match=f"runs {machine}, and code for {requested} would crash"):
        native()
    assert by_name(requested).bits  # code may still be written for it


def test_unknown_name():
    with pytest.raises(CompileError, match="x86-64-v3"):
        by_name("pentium")
