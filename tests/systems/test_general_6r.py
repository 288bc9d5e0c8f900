"""All configurations of general six-joint arms: complete, accurate, also next to singularities."""

import numpy as np
import pytest

from dalembert.errors import FormulationError, ShapeError
from dalembert.formulations.inverse_kinematics import general_6r
from dalembert.formulations.inverse_kinematics.general_6r import Joint, Line
from dalembert.formulations.inverse_kinematics.geometry import SerialChain
from dalembert.spatial.rotations import hat
from dalembert.systems.ik.general_6r import GeneralSolver, general_solutions


def random_arm(rng: np.random.Generator, sliding: tuple[int, ...] = ()) -> SerialChain:
    """Six axes in general position."""
    directions = rng.normal(size=(6, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    tool = np.eye(4)
    tool[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    tool[:3, :3] *= np.sign(np.linalg.det(tool[:3, :3]))
    tool[:3, 3] = rng.normal(size=3)
    prismatic = np.isin(np.arange(6), sliding)
    return SerialChain(directions, rng.normal(size=(6, 3)), prismatic, tool)


def motions(arm: SerialChain, q: np.ndarray) -> list[np.ndarray]:
    """exp(S q) (N, 4, 4) of each joint at q (N, 6)."""
    result = []
    axes = zip(arm.directions, arm.points, arm.prismatic, q.T, strict=True)
    for direction, point, slides, x in axes:
        motion = np.tile(np.eye(4), (len(x), 1, 1))
        if slides:
            motion[:, :3, 3] = x[:, None] * direction
        else:
            K = hat(direction)
            turn = np.sin(x)[:, None, None] * K + (1.0 - np.cos(x))[:, None, None] * (K @ K)
            motion[:, :3, :3] += turn
            motion[:, :3, 3] = -turn @ point
        result.append(motion)
    return result


def poses(arm: SerialChain, q: np.ndarray) -> np.ndarray:
    """(N, 4, 4) at q (N, 6)."""
    T = np.eye(4)
    for motion in motions(arm, q):
        T = T @ motion
    return T @ arm.tool


def jacobians(arm: SerialChain, q: np.ndarray) -> np.ndarray:
    """(N, 6, 6) spatial Jacobians, linear rows first."""
    T, columns = np.tile(np.eye(4), (len(q), 1, 1)), []
    axes = zip(motions(arm, q), arm.directions, arm.points, arm.prismatic, strict=True)
    for motion, direction, point, slides in axes:
        w, p = T[:, :3, :3] @ direction, T[:, :3, :3] @ point + T[:, :3, 3]
        linear, angular = (w, 0.0 * w) if slides else (np.cross(p, w), w)
        columns.append(np.concatenate([linear, angular], axis=1))
        T = T @ motion
    return np.stack(columns, axis=2)


def distances(arm: SerialChain, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Largest difference of a joint, angles up to whole turns."""
    off = np.abs(a - b)
    turned = np.abs(np.mod(a - b + np.pi, 2.0 * np.pi) - np.pi)
    return np.where(arm.prismatic, off, turned).max(axis=-1)


def near_singular(arm: SerialChain, rng: np.random.Generator, count: int) -> np.ndarray:
    """Configurations (count, 6) on singularities, and next to them, by bisection of det J."""
    a = rng.uniform(-np.pi, np.pi, (8 * count, 6))
    b = a + rng.normal(size=a.shape)
    signs = np.sign(np.linalg.det(jacobians(arm, np.concatenate([a, b])))).reshape(2, -1)
    crossing = np.flatnonzero(signs[0] != signs[1])[:count]
    a, b, sign = a[crossing], b[crossing], signs[0, crossing]
    for _ in range(60):
        middle = 0.5 * (a + b)
        same = np.sign(np.linalg.det(jacobians(arm, middle))) == sign
        a, b = np.where(same[:, None], middle, a), np.where(same[:, None], b, middle)
    off = 10.0 ** rng.uniform(-9.0, -2.5, (count, 1)) * (rng.random((count, 1)) < 0.7)
    return a + off * rng.normal(size=a.shape)


def require_complete(arm: SerialChain, q: np.ndarray) -> None:
    """All solutions are at their targets, different, and those that q (N, 6) come from are there."""
    T = poses(arm, q)
    result = GeneralSolver.of(arm).solve(T)
    which, _ = np.nonzero(result.valid)
    assert np.abs(poses(arm, result.q[result.valid]) - T[which]).max() <= 1e-12 * arm.size
    assert not (result.multiplicity.sum(axis=1) % 2)[result.certain].any()
    assert result.certain.mean() >= 0.9
    for k in range(len(q)):
        own = result.q[k, result.valid[k]]
        apart = distances(arm, own[:, None], own)
        assert (apart + 4.0 * np.eye(len(own))).min() > 1e-7
    off = np.where(result.valid, distances(arm, result.q, q[:, None]), np.inf).min(axis=1)
    smallest = np.linalg.svd(jacobians(arm, q), compute_uv=False)[:, -1]
    # rounding ε of a pose moves a solution by ε / σ, and a double one by √(2 ε / κ), κ its curvature;
    # solutions within 1e-7 of each other are one
    with np.errstate(divide="ignore"):
        allowed = np.where(smallest < 3e-6, 5e-7, np.clip(1e-14 / smallest, 1e-9, 1e-7))
    assert np.median(off) <= 1e-12 and np.mean(off <= 1e-7) >= 0.95
    np.testing.assert_array_less(off, allowed)


@pytest.mark.parametrize("slides", [False, True])
def test_fifteen_numbers_of_a_line_move_linearly(slides: bool) -> None:
    rng = np.random.default_rng(0)
    d, point, l, p = rng.normal(size=(4, 3))
    joint = Joint(d / np.linalg.norm(d), point, slides)
    x = 0.7
    a, b, c = joint.terms(Line.through(l, p))
    u, v = (x, x * x) if slides else (np.cos(x), np.sin(x))
    moved = Line.through(*joint.moved(x, l, p))
    for total, *parts in zip(moved, a, b, c, strict=True):
        np.testing.assert_allclose(parts[0] + u * parts[1] + v * parts[2], total, atol=1e-13)


@pytest.mark.parametrize("sliding", [(), (0,), (3,), (4,)])
def test_the_determinant_has_degree_eight_and_vanishes_at_solutions(
    sliding: tuple[int, ...],
) -> None:
    rng = np.random.default_rng(1)
    arm = random_arm(rng, sliding)
    arm.directions[1], arm.points[1] = [0.0, 0.0, 1.0], 0.0
    q = rng.uniform(-2.0, 2.0, 6)
    G = poses(arm, q[None])[0] @ np.linalg.inv(arm.tool)
    slides = tuple(bool(x) for x in arm.prismatic)
    motion = G[:3, :3], G[:3, 3]
    A = general_6r.elimination(arm.directions, arm.points, *motion, slides)
    angles = 2.0 * np.pi * np.arange(64) / 64
    values = [general_6r.determinant(A, np.cos(x), np.sin(x)) for x in angles]
    spectrum = np.abs(np.fft.rfft(values))
    assert spectrum[9:].max() <= 1e-11 * spectrum.max() < spectrum[8]
    here = np.cos(q[2]), np.sin(q[2])
    assert abs(general_6r.determinant(A, *here)) <= 1e-11 * np.abs(values).max()
    # and the other joints follow
    middle = np.concatenate([q[2:3], general_6r.dialytic_joints(A, *here, slides)])
    back = general_6r.other_joints(arm.directions, arm.points, *motion, middle, slides)
    assert distances(arm, back, q) <= 1e-10


@pytest.mark.parametrize("sliding", [(), (4,)])
def test_complete_on_random_arms(sliding: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    for _ in range(1 if sliding else 6):
        arm = random_arm(rng, sliding)
        q = rng.uniform(-np.pi, np.pi, (45, 6))
        q[:15] = near_singular(arm, rng, 15)
        require_complete(arm, q)


def test_a_dense_search_has_no_more_solutions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(2):
        arm = random_arm(rng)
        T = poses(arm, rng.uniform(-np.pi, np.pi, (300, 6)))
        solutions, valid = general_solutions(arm, T)
        assert not (valid.sum(axis=1) % 2).any()
        k = int(np.argmax(valid.sum(axis=1)))
        # damped least squares from many starts
        q = rng.uniform(-np.pi, np.pi, (1500, 6))
        for _ in range(50):
            pose, J = poses(arm, q), jacobians(arm, q)
            R = T[k, :3, :3] @ np.swapaxes(pose[:, :3, :3], 1, 2)
            turn = 0.5 * np.stack([R[:, i, j] - R[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], 1)
            linear = T[k, :3, 3] - pose[:, :3, 3] + np.cross(pose[:, :3, 3], turn)
            e = np.concatenate([linear, turn], axis=1)
            JT = np.swapaxes(J, 1, 2)
            damping = (0.05 * np.sum(e * e, axis=1) + 1e-13)[:, None, None] * np.eye(6)
            q = q + np.linalg.solve(JT @ J + damping, JT @ e[:, :, None])[:, :, 0]
        q = q[np.abs(poses(arm, q) - T[k]).max(axis=(1, 2)) <= 1e-11]
        off = distances(arm, q[:, None], solutions[k, valid[k]])
        assert off.min(axis=1).max() <= 1e-7
        assert set(off.argmin(axis=1)) == set(range(valid[k].sum()))


def test_an_arm_with_sixteen_solutions() -> None:
    # Wampler and Morgan 1991, table 1: link lengths, offsets and twists
    lengths, offset, twist = [0.3, 1.0, 0.0, 1.5, 0.0, 0.0], 0.2, np.radians([90, 1, 90, 1, 90, 1])
    directions, points, T = [], [], np.eye(4)
    for k, (a, alpha) in enumerate(zip(lengths, twist, strict=True)):
        directions.append(T[:3, 2].copy())
        points.append(T[:3, 3].copy())
        c, s = np.cos(alpha), np.sin(alpha)
        d = offset if k == 2 else 0.0
        T = T @ np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, d], [0, 0, 0, 1]])
    arm = SerialChain(np.array(directions), np.array(points), np.zeros(6, bool), T)
    q = np.random.default_rng(4).uniform(-np.pi, np.pi, (4000, 6))
    counts = general_solutions(arm, poses(arm, q))[1].sum(axis=1)
    assert counts.max() == 16
    require_complete(arm, q[:200])


def test_the_base_frame_and_the_unit_of_length_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    arm = random_arm(rng)
    q = rng.uniform(-np.pi, np.pi, (40, 6))
    T = poses(arm, q)
    shift, scale = np.array([30.0, -20.0, 10.0]), 1000.0
    tool, moved = arm.tool.copy(), T.copy()
    tool[:3, 3], moved[:, :3, 3] = scale * tool[:3, 3] + shift, scale * T[:, :3, 3] + shift
    other = SerialChain(arm.directions, scale * arm.points + shift, arm.prismatic, tool)
    first, second = general_solutions(arm, T), general_solutions(other, moved)
    np.testing.assert_array_equal(first[1], second[1])
    assert distances(arm, first[0][first[1]], second[0][second[1]]).max() <= 1e-7


def test_every_arrangement_has_the_same_solutions() -> None:
    rng = np.random.default_rng(6)
    arm = random_arm(rng)
    T = poses(arm, rng.uniform(-np.pi, np.pi, (30, 6)))
    solver = GeneralSolver.of(arm)
    counts = solver.solve(T).valid.sum(axis=1)
    assert len(solver.arrangements) == 12
    for arrangement in solver.arrangements:
        alone = GeneralSolver(solver.chain, solver.centre, solver.size, (arrangement,))
        np.testing.assert_array_equal(alone.solve(T).valid.sum(axis=1), counts)


def test_nearly_special_arms_are_complete() -> None:
    # an anthropomorphic arm whose shoulder and wrist meet, and whose parallel axes are, up to 1e-4 …
    rng = np.random.default_rng(7)
    z, y, x = np.eye(3)[::-1]
    directions = np.array([z, y, y, x, y, x])
    points = np.array(
        [[0, 0, 0], [0, 0, 0.4], [0.5, 0, 0.4], [0.5, 0, 0.4], [1, 0, 0.4], [1, 0, 0.4]]
    )
    tool = np.eye(4)
    tool[:3, 3] = [1.2, 0.0, 0.4]
    for size in (1e-4, 1e-7, 1e-10):
        off = directions + size * rng.normal(size=(6, 3))
        off /= np.linalg.norm(off, axis=1)[:, None]
        disturbed = points + size * rng.normal(size=(6, 3))
        arm = SerialChain(off, disturbed, np.zeros(6, dtype=bool), tool)
        q = rng.uniform(-np.pi, np.pi, (12, 6))
        solutions, valid = general_solutions(arm, poses(arm, q))
        off = np.where(valid, distances(arm, solutions, q[:, None]), np.inf).min(axis=1)
        assert off.max() <= 1e-8
        assert valid.sum(axis=1).min() >= 4


@pytest.mark.parametrize("joints", [3, 4, 5])
def test_arms_of_fewer_joints(joints: int) -> None:
    rng = np.random.default_rng(8)
    arm = random_arm(rng)
    arm = SerialChain(*(x[:joints] for x in (arm.directions, arm.points, arm.prismatic)), arm.tool)
    q = rng.uniform(-np.pi, np.pi, (20, joints))
    T = poses(arm, q)
    solutions, valid = general_solutions(arm, T)
    off = np.where(valid, distances(arm, solutions, q[:, None]), np.inf).min(axis=1)
    assert solutions.shape == (20, 16, joints) and off.max() <= 1e-9
    which, _ = np.nonzero(valid)
    assert np.abs(poses(arm, solutions[valid]) - T[which]).max() <= 1e-11
    # poses that no configuration has
    T[:, 0, 3] += 0.1
    assert not general_solutions(arm, T)[1].any()


def test_bad_input_is_refused() -> None:
    arm = random_arm(np.random.default_rng(9), (1, 4))
    with pytest.raises(FormulationError, match="2 slide"):
        general_solutions(arm, np.eye(4)[None])
    with pytest.raises(ShapeError, match=r"\(N, 4, 4\), got \(4, 4\)"):
        general_solutions(random_arm(np.random.default_rng(9)), np.eye(4))


def test_an_arm_without_finitely_many_solutions_is_never_certain() -> None:
    arm = random_arm(np.random.default_rng(10))
    parallel = np.tile([0.0, 0.0, 1.0], (6, 1))
    arm = SerialChain(parallel, arm.points, arm.prismatic, arm.tool)
    q = np.random.default_rng(11).uniform(-3.0, 3.0, (4, 6))
    assert not GeneralSolver.of(arm).solve(poses(arm, q)).certain.any()
