"""The solver of one arm as a quantity: exported text and modules list what the library does."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.errors import FormulationError, SettingError
from tests.kernels import test_c_source, test_cuda_source

NAME = "inverse_kinematics_branches"
SOLVED = 1e-9


def targets(robot, count=6):
    return robot.pose(robot.random_state(np.random.default_rng(7), count)[0])


def same_sets(q, residual, expected):
    """Whether the branches that are solutions are those of the library, in any order."""
    for row, r, solutions in zip(q, residual, expected.solutions, strict=True):
        mine, other = row[r < SOLVED], solutions[~np.isnan(solutions[:, 0])]
        assert len(mine) == len(other)
        if not len(mine):
            continue
        apart = np.abs(np.exp(1j * mine[:, None]) - np.exp(1j * other)).max(axis=-1)
        assert apart.min(axis=1).max() < 1e-9 and apart.min(axis=0).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "K"), [("ur5", 8), ("puma560", 8), ("stanford", 8), ("scara", 2), ("planar_2r", 2)]
)
def test_they_are_the_solutions_of_the_library(name, K):
    robot = dl.load(name)
    T = targets(robot)
    q, residual, margin = robot.evaluate(NAME, T)
    assert q.shape == (6, K, robot.nq) and residual.shape == margin.shape == (6, K)
    same_sets(q, residual, robot.all_inverse_kinematics(T, limits=False))


def test_a_fixed_joint_keeps_its_value():
    robot = dl.load("panda")
    fixed = {"panda_joint7": 0.4}
    T = robot.pose(np.array([[0.1, 0.3, 0.2, -1.8, 0.1, 2.0, 0.4], [1, 0.5, 0, -1, 0.3, 1, 0.4]]))
    q, residual, _ = robot.evaluate(NAME, T, fixed="panda_joint7=0.4")
    assert (q[..., 6] == 0.4).all() and (residual < SOLVED).any(axis=1).all()
    same_sets(q, residual, robot.all_inverse_kinematics(T, limits=False, fixed=fixed))


@pytest.mark.skipif(not test_c_source.COMPILERS, reason="no C compiler here")
def test_c(tmp_path):
    """Strict C99, and the same solutions of each target."""
    robot = dl.load("ur5")
    text, T = robot.source(NAME), targets(robot)
    assert "q: 8 x 6 double" in text and "residual: 8 double" in text
    library = test_c_source.compiled(text, tmp_path, test_c_source.COMPILERS[0])
    function = library[f"dalembert_ur5_{NAME}"]
    results = [test_c_source.call(function, robot.program(NAME), [x.copy()]) for x in T]
    q, residual, _ = (np.stack(x) for x in zip(*results, strict=True))
    same_sets(q, residual, robot.all_inverse_kinematics(T, limits=False))


def test_cuda(tmp_path):
    """One target per thread, here run on the CPU."""
    robot = dl.load("scara")
    source = robot.source(NAME, target="cuda")
    assert "__global__" in source and f"dalembert_scara_{NAME}" in source
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler here")
    T = targets(robot, 37)
    results = test_cuda_source.run(tmp_path, robot.program(NAME), "float64", "row", [T])
    same_sets(*results[:2], robot.all_inverse_kinematics(T, limits=False))


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no CUDA compiler here")
def test_nvcc(tmp_path):
    (tmp_path / "kernel.cu").write_text(dl.load("planar_2r").source(NAME, target="cuda"))
    subprocess.run(["nvcc", "-c", "kernel.cu", "-o", "kernel.o"], check=True, cwd=tmp_path)


def test_webassembly():
    robot = dl.load("ur5")
    from tests.kernels.wasm import Loaded

    loaded, T = Loaded(robot.source(NAME, target="wasm")), targets(robot)
    q, residual, _ = loaded.many(NAME, T)
    same_sets(q, residual, robot.all_inverse_kinematics(T, limits=False))


def test_the_command_writes_it_with_its_choices(tmp_path):
    args = ["export", "panda", "--quantity", NAME, "--set", "fixed=panda_joint7=0.4"]
    result = CliRunner().invoke(app, [*args, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    text = (tmp_path / f"panda_{NAME}.c").read_text()
    assert "fixed=panda_joint7=0.4" in text and "q: 8 x 7 double" in text


def test_the_command_evaluates_it():
    T = targets(dl.load("scara"), 1)[0]
    text = ",".join(f"{x:.17g}" for x in T.ravel())
    result = CliRunner().invoke(app, ["evaluate", "scara", NAME, "--set", f"T={text}", "--json"])
    facts = json.loads(result.stdout)
    np.testing.assert_allclose(dl.load("scara").pose(facts["q"]), np.stack([T, T]), atol=1e-12)
    result = CliRunner().invoke(app, ["evaluate", "scara", NAME, "--set", f"T={text}"])
    assert result.exit_code == 0 and "residual" in result.stdout


def test_it_is_counted():
    count = dl.load("ur5").operation_count(NAME)
    assert 0 < count.multiplications < 1500 and count.trigonometric < 60


@pytest.mark.parametrize(
    ("name", "choices", "error", "message"),
    [
        ("panda", {}, FormulationError, "7 joints move it; fix 1 of them .*panda_joint7=0.5"),
        ("panda", {"fixed": "panda_joint9=1"}, SettingError, "no joint 'panda_joint9'"),
        ("panda", {"fixed": "panda_joint7=a"}, SettingError, "expected joint=value"),
        ("ur5", {"frame": "hand"}, dl.UnknownNameError, "no frame 'hand'"),
        ("palletiser", {"frame": "gripper"}, FormulationError, "no branches; .* searches"),
    ],
)
def test_arms_without_branches_say_why(name, choices, error, message):
    robot = dl.load("tests/robots/palletiser.urdf" if name == "palletiser" else name)
    with pytest.raises(error, match=message):
        robot.source(NAME, **choices)
