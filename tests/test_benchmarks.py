"""Benchmarks begin as files and as modules, also where what they compare with is not installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import assembly
from benchmarks.optional import MissingPeer, if_installed, optional

ROOT = Path(__file__).parents[1]
NAMES = sorted(
    path.relative_to(ROOT / "benchmarks").with_suffix("").as_posix()
    for path in (ROOT / "benchmarks").rglob("*.py")
    if path.stem != "benchmarks"
)
PEERS = (
    "pinocchio",
    "mujoco",
    "toppra",
    "ruckig",
    "torch",
    "pink",
    "roboticstoolbox",
    "cupy",
    "casadi",
)
# these compare frameworks, and begin with importing them
FRAMEWORKS = (
    *("frameworks", "framework_peers"),
    *(f"gpu/{name}" for name in ("check_jax", "check_torch", "frameworks", "frameworks_child")),
)
IMPORT = """
import importlib, runpy, sys
how, folder, blocked, *names = sys.argv[1:]
sys.modules.update(dict.fromkeys(blocked.split(",")))
top = f"{folder}/benchmarks/{names[0]}".rpartition("/")[0]
sys.path.insert(0, top if how == "file" else folder)
for name in names:
    try:
        if how == "file":
            runpy.run_path(f"{folder}/benchmarks/{name}.py", run_name="imported")
        else:
            importlib.import_module(f"benchmarks.{name}".replace("/", "."))
    except importlib.import_module("benchmarks.optional").MissingPeer as missing:
        print(f"{name}: {missing}")
    except BaseException as error:
        print(f"{name}: {type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("on_gpu", [False, True], ids=["here", "gpu"])
@pytest.mark.parametrize("how", ["file", "module"])
def test_each_can_be_imported_without_its_peers(how, on_gpu, tmp_path):
    names = [n for n in NAMES if n not in FRAMEWORKS and n.startswith("gpu/") == on_gpu]
    others = [path for path in sys.path if path and Path(path) != ROOT]
    source = os.pathsep.join([str(ROOT / "src"), *others])
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT, how, str(ROOT), ",".join(PEERS), *names],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        check=False,
    )
    # these are nothing without their peers, and say so
    alone = ["paths: toppra.constraint is not installed", "torch_rnea: torch is not installed"]
    assert len(names) > (5 if on_gpu else 30) and done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ([] if on_gpu else alone)


def test_rows_of_a_missing_peer_are_left_out_with_a_message(capsys):
    peer = optional("no_such_peer")
    for _ in range(2):
        assert if_installed(lambda: peer.function) is None
    assert capsys.readouterr().out == "no_such_peer is not installed: its rows are left out\n"
    with pytest.raises(MissingPeer, match="no_such_peer is not installed"):
        peer.other()
    assert optional("math").pi > 3.0 and if_installed(lambda: 7) == 7


@pytest.mark.skipif(os.name == "nt", reason="a program of the shell")
def test_an_analyser_that_does_not_know_the_processor_is_not_asked(tmp_path, monkeypatch):
    tool = tmp_path / "llvm-mca-14"
    tool.write_text("#!/bin/sh\ncase $1 in *znver4) echo unknown >&2; exit 1;; esac\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assembly.analyser.cache_clear()
    assert assembly.analyser("znver4") is None and assembly.analyse(["nop"], "znver4") is None
    assert assembly.analyser("znver3") == str(tool)
    assembly.analyser.cache_clear()
