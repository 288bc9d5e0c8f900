"""Kernels that say which values wait outside of registers: the same numbers, and nothing spilled."""

import re
import subprocess

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.cuda import spilling, text
from dalembert.kernels.cuda.source import broadcast_source, cuda_source
from dalembert.kernels.cuda.spilling import (
    Action,
    MemorySlot,
    allocate_spill_slots,
    max_alive,
    spill_schedule,
)
from dalembert.kernels.program.count import count
from dalembert.kernels.program.passes import reciprocals
from dalembert.kernels.program.rematerialisation import split_at_first_result, split_at_vertex_cut
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import Op
from tests.kernels.test_cuda_source import needs_compiler, needs_nvcc, run


@pytest.fixture(scope="module")
def derivatives():
    return reciprocals(dl.load("panda").program("forward_dynamics_derivatives"))


@pytest.fixture
def crowded(monkeypatch):
    """As if a thread had registers for 20 values, and shared memory for some of the others."""
    monkeypatch.setattr(
        spilling, "_OCCUPANCY", dict.fromkeys(("double", "float"), ((1 << 30, 20, 8),))
    )
    monkeypatch.setattr(spilling, "_LIGHT", {"double": (20, 20), "float": (20, 20)})


def most_held(program, most):
    """The most values that wait in registers between two steps, for a later one that reads them."""
    rows, operands, since, away = program.rows, program.operands, {}, set()
    walk = spill_schedule(program, most)
    change = np.zeros(len(walk) + 1, dtype=int)
    last = {}  # stretch in a register → its last use
    for time, (do, k) in enumerate(walk):
        read = (k,) if do is Action.SAVE else operands[k] if do is Action.COMPUTE else ()
        last |= {(j, since[j]): time for j in read if rows[j][0] != Op.CONST}
        assert do is not Action.LOAD or k in away
        away |= {k} if do is Action.SAVE else set()
        since |= {} if do is Action.SAVE else {k: time}
    for (_, start), end in last.items():
        change[start] += 1
        change[end] -= 1
    return np.cumsum(change).max()


def test_no_more_values_in_registers_than_there_are(derivatives):
    program = dl.load("elbow_3r").program("forward_dynamics_derivatives")
    for most in (20, 30):
        assert most_held(program, most) <= most
        done = [k for do, k in spill_schedule(program, most) if do is Action.COMPUTE]
        assert done == [k for k, (op, *_) in enumerate(program.rows) if op != Op.CONST]
    few, many = (
        sum(do is not Action.COMPUTE for do, _ in spill_schedule(derivatives, k)) for k in (90, 110)
    )
    assert many < few
    assert all(
        do is Action.COMPUTE for do, _ in spill_schedule(derivatives, max_alive(derivatives) + 1)
    )


def test_halves_compute_the_same_with_fewer_values_alive(derivatives):
    """Derivatives of forward dynamics forget all but q̈, M⁻¹ and the angles at half time."""
    halves = split_at_vertex_cut(derivatives)
    assert max_alive(halves.program) < 0.7 * max_alive(derivatives)
    assert count(halves.program).total < 1.15 * count(derivatives).total
    state = dl.load("panda").random_state(np.random.default_rng(0), 3)
    for mine, other in zip(
        interpret(halves.program, *state), interpret(derivatives, *state), strict=True
    ):
        np.testing.assert_array_equal(mine, other)


def test_no_halves_without_a_narrow_place():
    assert split_at_vertex_cut(dl.load("elbow_3r").program("inverse_dynamics")) is None
    assert split_at_vertex_cut(trace(lambda x: x * 2.0, {"x": (2,)})) is None


def two_limbs():
    """A body in space with two arms of four joints."""
    part = {"mass": 1.0, "com": (0.1, 0.05, 0.2), "inertia": np.diag([0.3, 0.4, 0.5])}
    links = [{"name": "body", "joint": {"type": "free"}, **part}]
    for k in range(8):
        joint = {"type": "revolute", "axis": np.roll([1, 0, 0], k), "origin_xyz": (0.1, 0.2, -0.1)}
        parent = "body" if k % 4 == 0 else f"arm {k - 1}"
        links.append({"name": f"arm {k}", "parent": parent, "joint": joint, **part})
    return dl.Robot.from_links(links)


@needs_compiler
def test_a_tree_is_gathered_limb_by_limb_and_its_poses_are_computed_again(
    tmp_path, crowded, monkeypatch
):
    """Forward dynamics of a humanoid: 364 values at once instead of 486, 1.4 to 1.6 times as fast."""
    monkeypatch.setattr(spilling, "_WORTHWHILE", 1.0)  # for so small a robot it is not worth it
    robot = two_limbs()
    program = robot.program("forward_dynamics")
    back = split_at_first_result(program)
    assert max_alive(back.program) < max_alive(program)
    assert count(back.program).total < 1.2 * count(program).total
    state = list(robot.random_state(np.random.default_rng(0), 5))
    (expected,) = interpret(program, *state)
    np.testing.assert_array_equal(interpret(back.program, *state)[0], expected)
    text = cuda_source(program, "kernel", "float64", "row").text
    assert len(re.findall(r"const double v\d+", text)) > len(program)  # some of them twice
    (results,) = run(tmp_path, program, "float64", "row", state)
    np.testing.assert_allclose(results, expected, rtol=0, atol=1e-12 * abs(expected).max())


def test_no_way_back_where_first_results_come_soon():
    assert split_at_first_result(dl.load("panda").program("inverse_dynamics")) is None


def test_a_place_is_never_taken_twice_at_a_time():
    """Values 0, 1 and 2 wait together, 3 after them; a tile is theirs until its result is there."""
    walk = [
        (Action.SAVE, 0),
        (Action.SAVE, 1),
        (Action.SAVE, 2),
        (Action.LOAD, 1),
        (Action.LOAD, 0),
        (Action.LOAD, 2),
    ]
    walk += [(Action.SAVE, 3), (Action.LOAD, 3)]
    tiles = [MemorySlot("tile", [(4, 9)])]
    allocated = allocate_spill_slots(walk, tiles, 1, "own{}".format, "far{}".format)
    names = {k: spill_slot.name for k, spill_slot in allocated.of.items()}
    assert names[1] == "tile" and len({names[k] for k in (0, 1, 2)}) == 3
    assert (allocated.shared, allocated.local) == (1, 1)


@needs_compiler
@pytest.mark.parametrize("layout", ["row", "column"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_numbers_with_far_angles_and_a_ragged_batch(tmp_path, crowded, dtype, layout):
    robot = dl.load("elbow_3r")
    state = robot.random_state(np.random.default_rng(0), 37)
    state[0][5] *= 1e7
    state = [x.astype(dtype).astype(float) for x in state]
    program = robot.program("forward_dynamics_derivatives")
    assert "at1[" in cuda_source(program, "kernel", dtype, layout).text
    results = run(tmp_path, program, dtype, layout, state)
    for mine, other in zip(results, robot.forward_dynamics_derivatives(*state), strict=True):
        scale = abs(other).max()
        np.testing.assert_allclose(mine, other, rtol=0, atol=100 * np.finfo(dtype).eps * scale)


@needs_compiler
def test_constant_results_and_the_memory_of_the_device(tmp_path, crowded, monkeypatch):
    """Columns of zeros are written too, and what shared memory does not hold waits beyond it."""
    monkeypatch.setattr(spilling, "SHARED_LIMIT", 32 * 8 * 30)
    robot = dl.load("elbow_3r")
    state = list(robot.random_state(np.random.default_rng(0), 5))
    program = robot.program("inverse_dynamics_derivatives")
    for layout in ("row", "column"):
        folder = tmp_path / layout
        folder.mkdir()
        results = run(folder, program, "float64", layout, state)
        for mine, other in zip(results, robot.inverse_dynamics_derivatives(*state), strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-13 * abs(other).max())
    monkeypatch.setattr(spilling, "SHARED_LIMIT", 32 * 8 * 2)
    assert "rest[" in cuda_source(program, "kernel", "float64", "column").text
    monkeypatch.setattr(text, "SHARED_LIMIT", 32 * 8 * 2)
    with pytest.raises(dl.CompileError, match='use layout="column"'):
        cuda_source(program, "kernel", "float64", "row")


def spills(folder, source):
    """Bytes that the compiler spills in its own way."""
    (folder / "kernel.cu").write_text(source)
    command = ["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "kernel.cu", "-o", "kernel.cubin"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return max(int(x) for x in re.findall(r"(\d+) bytes spill stores", done.stderr))


@needs_nvcc
def test_derivatives_in_double_are_not_spilled(tmp_path):
    """3 kB of them were, which took two thirds of the speed."""
    program = dl.load("panda").program("forward_dynamics_derivatives")
    assert spills(tmp_path, cuda_source(program, "kernel", "float64", "row").text) == 0
    assert spills(tmp_path, broadcast_source(program, "kernel", "float64").text) <= 64
