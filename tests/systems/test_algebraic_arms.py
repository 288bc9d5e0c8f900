"""Algebra for classes of arms: the configuration behind each target is among its solutions."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.formulations.inverse_kinematics.geometry import SerialChain, serial_chain
from dalembert.formulations.inverse_kinematics.special_arms import (
    decomposition,
    swivel_and_gradient,
    swivel_angle,
)
from dalembert.formulations.inverse_kinematics.subproblems import two_circles
from dalembert.spatial.rotations import exp_so3
from dalembert.systems.ik.algebraic import AlgebraicArm, IKFlags

OFFSETS = (0.0, 1e-12, 1e-9, 1e-6, 1e-4)


def apart(a, b, prismatic=False):
    """The largest difference (...) of configurations (..., n), angles without whole turns."""
    step = a - b
    turns = np.where(prismatic, 0.0, 2.0 * np.pi * np.round(step / (2.0 * np.pi)))
    return np.abs(step - turns).max(axis=-1)


def require_listed(arm, q, rows, T):
    """Each q is a solution to the accuracy its Jacobian leaves, or there is a family; all solve."""
    chain = arm.chain
    distance = np.nanmin(
        np.where(np.isnan(rows.q[..., 0]), np.inf, apart(rows.q, q[:, None], chain.prismatic)),
        axis=1,
    )
    flatness, _, _ = arm.flattest(q)
    # a double root is known to the root of rounding, a solution to rounding over σ_min
    allowed = np.clip(1e-13 / np.maximum(flatness, 1e-20), 1e-8, 3e-6)
    allowed = np.where(flatness < 1e-10, np.inf, allowed)
    assert ((distance <= allowed) | (rows.flags & IKFlags.CONTINUUM > 0)).all()
    assert (rows.count > 0).all()
    k, j = np.nonzero(rows.multiplicity)
    assert arm.residuals(rows.q[k, j], T[k]).max() < 1e-12


# random arms


def unit(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def random_chain(seed, n, meeting=(), parallel=(), sliding=(), across=()):
    """Axes anywhere, but for groups that meet in a point or are parallel, and pairs at right angles."""
    rng = np.random.default_rng(seed)
    directions = np.stack([unit(rng) for _ in range(n)])
    points, prismatic, tool = rng.normal(size=(n, 3)), np.zeros(n, dtype=bool), np.eye(4)
    tool[:3, :3], tool[:3, 3] = exp_so3(2.0 * unit(rng)), rng.normal(size=3)
    for group in meeting:
        points[list(group)] = rng.normal(size=3)
    for group in parallel:
        directions[list(group)] = directions[group[0]] * rng.choice([-1.0, 1.0], (len(group), 1))
    for i, j in across:
        x = np.cross(directions[j], unit(rng))
        directions[i] = x / np.linalg.norm(x)
    prismatic[list(sliding)] = True
    return SerialChain(directions, points, prismatic, tool)


CLASSES = {
    "wrist last, quartic": (6, {"meeting": [(3, 4, 5)]}),
    "wrist inside, quartic": (6, {"meeting": [(2, 3, 4)]}),
    "wrist first, pair meeting": (6, {"meeting": [(0, 1, 2), (4, 5)]}),
    "wrist inside, pair meeting": (6, {"meeting": [(1, 2, 3), (4, 5)]}),
    "wrist last, pair parallel": (6, {"meeting": [(3, 4, 5)], "parallel": [(0, 1)]}),
    "three parallel, quartic": (6, {"parallel": [(1, 2, 3)]}),
    "three parallel first": (6, {"parallel": [(0, 1, 2)], "meeting": [(3, 4)]}),
    "three parallel, pair meeting": (6, {"parallel": [(1, 2, 3)], "meeting": [(4, 5)]}),
    "sliding elbow": (6, {"meeting": [(3, 4, 5)], "sliding": [2], "across": [(2, 1)]}),
    "portal": (6, {"meeting": [(3, 4, 5)], "sliding": [0, 1, 2]}),
    "five joints": (5, {"parallel": [(1, 2, 3)]}),
    "five joints, wrist of two": (5, {"meeting": [(3, 4)], "parallel": [(1, 2)]}),
    "four joints": (4, {}),
    "four joints, three parallel": (4, {"parallel": [(1, 2, 3)]}),
    "three joints": (3, {}),
    "two joints": (2, {}),
}


def singular_beside(chain, q, rng):
    """A configuration on a line from q at which the determinant of J changes its sign, or q."""
    d, x = rng.normal(size=chain.n), np.linspace(0.0, 2.0, 60)
    value = np.linalg.det(chain.pose_and_jacobian(q + x[:, None] * d)[1])
    change = np.flatnonzero(np.diff(np.sign(value)))
    if not len(change):
        return q
    low, high = x[change[0]], x[change[0] + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.linalg.det(chain.pose_and_jacobian(q + middle * d)[1]) * value[change[0]] > 0.0
        low, high = (middle, high) if same else (low, middle)
    return q + low * d


@pytest.mark.parametrize("name", CLASSES)
def test_a_random_arm_of_each_class(name):
    n, options = CLASSES[name]
    chain = random_chain(len(name), n, **options)
    arm, rng = AlgebraicArm(chain, decomposition(chain)), np.random.default_rng(2)
    q = rng.uniform(-3.0, 3.0, (24, n))
    for k in range(8 if n == 6 else 0):
        q[k] = singular_beside(chain, q[k], rng) + OFFSETS[k % 5] * rng.normal(size=n)
    T = chain.pose(q)
    rows = arm.rows(T)
    require_listed(arm, q, rows, T)
    assert rows.count.max() <= 8
    # further starts find no more
    starts = rng.uniform(-3.0, 3.0, (400, n))
    ends, errors = arm.polished(starts, np.repeat(T[-2:], 200, axis=0))
    for end, k in zip(ends[errors < 1e-13], np.repeat([-2, -1], 200)[errors < 1e-13], strict=True):
        assert np.nanmin(apart(rows.q[k], end, chain.prismatic)) < 1e-6


NAMED = ["ur3", "ur5", "ur10", "puma560", "stanford", "rx90", "scara", "panda", "xarm7"]


@pytest.mark.parametrize("name", NAMED)
def test_named_arms_near_their_singular_configurations(name):
    """Of arms with seven joints the first six, which carry the last one fixed."""
    chain, _ = serial_chain(dl.load(name).dynamics)
    chain = chain.part(slice(6), chain.tool)
    arm, rng = AlgebraicArm(chain, decomposition(chain)), np.random.default_rng(4)
    q = rng.uniform(-3.0, 3.0, (90, chain.n))
    for k in range(30):
        j = (2, 3, min(4, chain.n - 1))[k % 3]
        q[k, j] = rng.choice([0.0, np.pi / 2, np.pi]) + OFFSETS[k % 5]
    T = chain.pose(q)
    require_listed(arm, q, arm.rows(T), T)


# singular configurations


def test_a_double_solution_counts_twice():
    """The elbow of a UR5 stretched: up and down are one."""
    robot = dl.load("ur5")
    q = np.array([0.2, -1.2, 0.0, -0.4, 1.2, 0.3])
    result = robot.all_inverse_kinematics(robot.pose(q), limits=False)
    assert result.count == 1 and result.multiplicity == [2] and result.flags == IKFlags.MULTIPLE
    assert apart(result.solutions[0], q) < 1e-7


def test_two_solutions_a_little_apart_are_two():
    robot = dl.load("ur5")
    q = np.array([0.2, -1.2, 1e-5, -0.4, 1.2, 0.3])
    result = robot.all_inverse_kinematics(robot.pose(q), limits=False)
    assert result.count == 2 and result.flags == 0 and apart(result.solutions, q).min() < 1e-9


def test_a_family_is_one_solution_with_its_direction():
    """A PUMA's wrist in line: q₄ + q₆ is determined, and each of the two is free."""
    robot = dl.load("puma560")
    q = np.array([0.3, 0.4, -0.5, 0.6, 0.0, 0.8])
    T = robot.pose(q)
    result = robot.all_inverse_kinematics(T, limits=False)
    (k,) = np.flatnonzero(~np.isnan(result.family[:, 0]))
    assert result.flags & IKFlags.CONTINUUM and result.count == 7
    direction = result.family[k]
    np.testing.assert_allclose(np.abs(direction), [0, 0, 0, 0.5**0.5, 0, 0.5**0.5], atol=1e-7)
    step = (q - result.solutions[k]) @ direction
    assert apart(result.solutions[k] + step * direction, q) < 1e-7
    np.testing.assert_allclose(robot.pose(result.solutions[k] + 1.3 * direction), T, atol=1e-7)


def test_a_family_that_bends():
    """A UR5 with q₅ = 0: four axes are parallel, and all their joints move."""
    robot = dl.load("ur5")
    T = robot.pose([0.2, -1.2, 1.4, -0.4, 0.0, 0.3])
    result = robot.all_inverse_kinematics(T, limits=False)
    families = np.flatnonzero(~np.isnan(result.family[:, 0]))
    assert len(families) >= 1 and result.count <= 8
    J = robot.jacobian(result.solutions[families[0]])
    np.testing.assert_allclose(J @ result.family[families[0]], 0.0, atol=1e-9)
    there = result.solutions[: int(result.count)]
    np.testing.assert_allclose(
        robot.pose(there), np.broadcast_to(T, (len(there), 4, 4)), atol=1e-12
    )


# more joints than six


@pytest.mark.parametrize("name", ["panda", "xarm7"])
def test_seven_joints_with_the_last_one_fixed(name):
    robot = dl.load(name)
    q = robot.random_state(np.random.default_rng(1), 40)[0]
    result = robot.all_inverse_kinematics(
        robot.pose(q), limits=False, fixed={robot.coordinates[6]: q[:, 6]}
    )
    assert np.nanmin(apart(result.solutions, q[:, None]), axis=1).max() < 1e-8
    np.testing.assert_allclose(result.nearest(q), q, atol=1e-8)


def test_seven_joints_with_a_swivel_angle():
    robot = dl.load("iiwa14")
    chain, _ = serial_chain(robot.dynamics)
    q = robot.random_state(np.random.default_rng(1), 40)[0]
    T = robot.pose(q)
    result = robot.all_inverse_kinematics(T, limits=False, swivel=swivel_angle(chain, q))
    assert (result.count == 8).all()
    np.testing.assert_allclose(robot.pose(result.solutions) - T[:, None], 0.0, atol=1e-12)
    assert apart(result.solutions, q[:, None]).min(axis=1).max() < 1e-8
    # the elbow nearly stretched
    q[:, 3] = np.tile([1e-3, 1e-5, 1e-7, 1e-9], 10)
    T, angle = robot.pose(q), swivel_angle(chain, q)
    stretched = robot.all_inverse_kinematics(T, limits=False, swivel=angle)
    there = ~np.isnan(stretched.solutions[..., 0])
    assert (stretched.count >= 4).all()
    ends = robot.pose(stretched.solutions[there])
    np.testing.assert_allclose(ends, np.repeat(T, stretched.count, axis=0), atol=1e-11)
    # a joint with free ones on both sides
    q0 = robot.random_state(np.random.default_rng(2))[0]
    third = robot.all_inverse_kinematics(
        robot.pose(q0), limits=False, fixed={robot.coordinates[2]: q0[2]}
    )
    assert apart(third.solutions, q0).min() < 1e-8


def test_the_gradient_of_the_swivel_angle():
    chain, _ = serial_chain(dl.load("iiwa14").dynamics)
    q, h = np.random.default_rng(0).uniform(-2.0, 2.0, (5, 7)), 1e-6
    _, gradient = swivel_and_gradient(chain, q)
    step = [swivel_angle(chain, q + h * e) - swivel_angle(chain, q - h * e) for e in np.eye(7)]
    np.testing.assert_allclose(np.stack(step, axis=-1) / (2.0 * h), gradient, atol=1e-8)


# the public method


def test_limits_turns_and_the_nearest():
    robot = dl.load("ur5")
    q = np.array([0.2, -1.2, 1.4, -0.4, 1.2, 5.0])
    T = robot.pose(q)
    every = robot.all_inverse_kinematics(T)
    assert every.count == 8 * 2**5  # the elbow turns by half a turn to each side, the others by one
    assert (np.abs(every.solutions) <= robot.upper).all()
    np.testing.assert_allclose(every.nearest(q), q, atol=1e-12)
    once = robot.all_inverse_kinematics(T, turns=False)
    assert once.count == 8 and once.solutions.shape == (8, 6)
    np.testing.assert_allclose(once.nearest(q), q, atol=1e-12)
    tight = robot.with_limits({robot.coordinates[5]: (4.9, 5.1)})
    inside = tight.all_inverse_kinematics(T)
    assert (np.abs(inside.solutions[:, 5] - 5.0) <= 0.1).all() and inside.count >= 1


def test_joints_off_the_path_stay():
    panda = dl.load("panda")
    inner = [name for name in panda.dynamics.frames if name != "tool"][3]
    q0 = np.linspace(0.1, 0.7, 7)
    T = panda.pose(q0, inner)
    result = panda.all_inverse_kinematics(T, frame=inner, q0=q0, limits=False)
    assert (np.abs(result.solutions[:, -1] - 0.7) == 0.0).all()
    assert apart(result.solutions, q0).min() < 1e-7
    q, solved = panda.inverse_kinematics(T, frame=inner, q0=np.stack([q0, q0 + 0.01]))
    assert solved.all() and q.shape == (2, 7) and q[1, 6] == 0.7 + 0.01


def test_what_makes_no_sense_is_refused():
    panda = dl.load("panda")
    with pytest.raises(SettingError, match="no joint 'elbow'"):
        panda.all_inverse_kinematics(np.eye(4), fixed={"elbow": 0.0})
    with pytest.raises(SettingError, match="free joints on both sides"):
        panda.all_inverse_kinematics(np.eye(4), fixed={panda.coordinates[3]: [0.1, 0.2]})
    with pytest.raises(SettingError, match="swivel"):
        dl.load("ur5").all_inverse_kinematics(np.eye(4), swivel=0.1)
    with pytest.raises(ShapeError, match="broadcast"):
        panda.all_inverse_kinematics(
            np.tile(np.eye(4), (2, 1, 1)), fixed={panda.coordinates[6]: [0.1, 0.2, 0.3]}
        )
    with pytest.raises(UnknownNameError):
        panda.all_inverse_kinematics(np.eye(4), frame="nowhere")


def test_explanations():
    assert "axes 2, 3, 4 are parallel" in dl.load("ur5").all_inverse_kinematics(
        np.eye(4), explain=True
    )
    panda = dl.load("panda")
    text = panda.all_inverse_kinematics(np.eye(4), fixed={panda.coordinates[6]: 0.0}, explain=True)
    assert "axes 3, 2, 1 meet" in text and "1 panda_joint1" in text


@pytest.mark.parametrize("name", ["ur5", "puma560", "scara"])
def test_one_solution_is_always_obtained(name):
    robot = dl.load(name)
    q = robot.random_state(np.random.default_rng(6), 300)[0]
    T = robot.pose(q)
    near, solved = robot.inverse_kinematics(T, q0=q)
    assert solved.all()
    np.testing.assert_allclose(near, q, atol=1e-6)
    any_, solved = robot.inverse_kinematics(T)
    assert solved.all() and ((any_ >= robot.lower) & (any_ <= robot.upper)).all()
    np.testing.assert_allclose(robot.pose(any_), T, atol=1e-11)


# the same sets as another program


@pytest.mark.parametrize("name", ["ur5", "puma560", "wrist first, pair meeting"])
def test_eaik_lists_the_same(name):
    hp = pytest.importorskip("eaik.IK_HP")
    if name in CLASSES:
        n, options = CLASSES[name]
        chain = random_chain(len(name), n, **options)
    else:
        chain, _ = serial_chain(dl.load(name).dynamics)
    points = np.vstack([chain.points, chain.tool[:3, 3]])
    peer = hp.HPRobot(chain.directions, np.diff(points, axis=0, prepend=np.zeros((1, 3))))
    T = chain.pose(np.random.default_rng(8).uniform(-3.0, 3.0, (30, 6)))
    rows = AlgebraicArm(chain, decomposition(chain)).rows(T)
    for k in range(len(T)):
        target = T[k].copy()
        target[:3, :3] = T[k, :3, :3] @ chain.tool[:3, :3].T
        answer = peer.IK(target)
        theirs = np.array(answer.Q)[~np.array(answer.is_LS)]
        ours = rows.q[k, : rows.count[k]]
        assert len(theirs) == len(ours)
        assert apart(theirs[:, None], ours).min(axis=1).max(initial=0.0) < 1e-6


# subproblems


def test_two_circles_has_all_roots():
    """Of random pairs of equations: the solution they were made from, and residuals of all."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        A, B = rng.normal(size=(2, 2, 2))
        angles = rng.uniform(-3.0, 3.0, 2)
        x, y = ([np.cos(angle), np.sin(angle)] for angle in angles)
        roots = two_circles(tuple(A.ravel()), tuple(B.ravel()), tuple(A @ x + B @ y))
        errors = [np.abs([*a.value, *b.value] - np.array([*x, *y])).max() for a, b in roots]
        assert len(roots) == 4 and min(errors) < 1e-7
