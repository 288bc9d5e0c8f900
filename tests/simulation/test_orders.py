"""Measured orders of the fixed-step methods, on coordinates and on the groups of joints."""

from math import factorial

import numpy as np
import pytest

import dalembert as dl
from dalembert.simulation.methods import FIXED, METHODS, variational
from dalembert.spatial import exp_se3, se3
from dalembert.spatial.rotations import hat

ORDERS = {name: METHODS[name].order for name in FIXED}  # a new method is measured by itself
# steps small enough for the leading error term, large enough to stand above rounding
STEPS = {1: (1e-3, 5e-4), 2: (1e-2, 5e-3), 3: (2e-2, 1e-2), 4: (2e-2, 1e-2)}


def arm() -> tuple[dl.Robot, list[float], list[float]]:
    """Plain coordinates."""
    return dl.load("elbow_3r"), [0.3, 0.8, -0.5], [1.0, -0.5, 0.4]


def top() -> tuple[dl.Robot, list[float], list[float]]:
    """A heavy top: one spherical joint."""
    body = {
        "name": "top",
        "joint": {"type": "spherical", "name": "point"},
        "mass": 1.2,
        "com": (0.1, 0.0, 0.3),
        "inertia": np.diag([0.03, 0.02, 0.04]),
    }
    return dl.Robot.from_links([body], name="top"), [0.1, -0.2, 0.05, 1.0], [0.5, 2.0, 3.0]


def thrown() -> tuple[dl.Robot, list[float], list[float]]:
    """A free body whose frame is off its centre of mass, carrying a pendulum."""
    body = {
        "name": "body",
        "joint": {"type": "free", "name": "float"},
        "mass": 2.0,
        "com": (0.1, 0.05, -0.2),
        "inertia": np.diag([0.1, 0.2, 0.25]),
    }
    bob = {
        "name": "bob",
        "parent": "body",
        "joint": {"type": "revolute", "axis": (0.0, 1.0, 0.0), "name": "hinge"},
        "mass": 0.5,
        "com": (0.0, 0.0, 0.3),
        "inertia": 1e-2 * np.eye(3),
    }
    q0 = [0.0, 0.1, 0.2, 0.1, -0.2, 0.3, 0.9, 0.4]
    return (
        dl.Robot.from_links([body, bob], name="thrown"),
        q0,
        [0.3, -0.2, 0.5, 1.0, 2.0, -1.5, 0.7],
    )


def distance(robot: dl.Robot, a: np.ndarray, b: np.ndarray) -> float:
    """Between two states; q and −q of a quaternion are the same."""
    poses = [robot.pose(x[: robot.nq], frame=robot.frames[-2]) for x in (a, b)]
    moved = np.abs(poses[0] - poses[1]).max()
    return max(moved, np.abs(a[robot.nq :] - b[robot.nq :]).max())


def end(robot: dl.Robot, q0: list[float], qd0: list[float], **options: object) -> np.ndarray:
    run = dl.simulate(robot, q0, qd0, duration=0.4, progress=False, **options)
    return np.concatenate([run.q[-1].values, run.qd[-1].values])


@pytest.mark.parametrize("make", [arm, top, thrown])
@pytest.mark.parametrize("method", ORDERS)
def test_measured_order(make, method: str) -> None:
    robot, q0, qd0 = make()
    if method == "implicit_midpoint" and robot.nq != robot.nv:
        with pytest.raises(dl.SettingError, match=r"quaternions; take 'variational'"):
            end(robot, q0, qd0, method=method, dt=0.1)
        return
    exact = end(robot, q0, qd0, dt=0.1, rtol=1e-13, atol=1e-14)
    errors = [
        distance(robot, end(robot, q0, qd0, method=method, dt=dt), exact)
        for dt in STEPS[ORDERS[method]]
    ]
    measured = np.log2(errors[0] / errors[1])
    assert measured == pytest.approx(ORDERS[method], abs=0.25), errors


@pytest.mark.parametrize(
    "method", ["rk4", "variational", "stormer_verlet", "semi_implicit", "DOP853"]
)
@pytest.mark.parametrize("make", [top, thrown])
def test_quaternions_stay_on_their_sphere(make, method: str) -> None:
    robot, q0, qd0 = make()
    run = dl.simulate(robot, q0, qd0, duration=1.0, dt=5e-3, method=method)
    (joint,) = [j for j in robot.joints if j.kind in ("spherical", "free")]
    turn = run.q.values[:, joint.q.stop - 4 : joint.q.stop]
    # methods of a fixed step multiply unit quaternions: rounding of 200 products
    np.testing.assert_allclose(np.linalg.norm(turn, axis=1), 1.0, atol=1e-13)
    assert run.q.dims == ("time", "coordinate")


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_adaptive_methods_meet_their_tolerance(method: str) -> None:
    robot, q0, qd0 = arm()
    exact = end(robot, q0, qd0, dt=0.1, rtol=1e-13, atol=1e-14)
    loose, tight = (
        distance(robot, end(robot, q0, qd0, dt=0.1, method=method, rtol=r, atol=r), exact)
        for r in (1e-4, 1e-7)
    )
    # global errors exceed the local tolerance, by the growth of this swing
    assert tight < 1e-4
    assert tight < 0.1 * loose


def test_a_tableau_that_is_wrong_is_refused() -> None:
    from dalembert.systems.runge_kutta import Tableau

    with pytest.raises(dl.DalembertError, match="order 2"):
        Tableau("wrong", 2, ((1.0,),), (0.25, 0.75))


def test_a_method_is_one_line_in_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kutta's 3/8 rule, whose stages need several before them, by its tableau alone."""
    from dalembert.simulation import methods
    from dalembert.simulation.methods.explicit import of_tableau
    from dalembert.systems.runge_kutta import Tableau

    a = ((1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0))
    rule = Tableau("kutta_38", 4, a, (1 / 8, 3 / 8, 3 / 8, 1 / 8), "Kutta 1901")
    assert not rule.chained
    with pytest.raises(dl.DalembertError, match="several stages at once"):
        _ = rule.rows
    monkeypatch.setitem(methods.METHODS, "kutta_38", of_tableau(rule))
    options = {"duration": 0.4, "dt": 1e-3, "save_every": 100}
    pendulum = dl.load("pendulum")
    mine = dl.simulate(pendulum, [0.5], [1.0], method="kutta_38", **options)
    exact = dl.simulate(pendulum, [0.5], [1.0], rtol=1e-13, **options)
    np.testing.assert_allclose(mine.q, exact.q, atol=1e-12)


def test_inverse_jacobians_of_the_group_are_series_of_bernoulli_numbers() -> None:
    """J_r⁻ᵀ of the momenta: J_r(Ω) = Σ (−ad_Ω)ᵏ / (k + 1)! (Iserles et al. 2000)."""
    m = np.arange(1.0, 7.0)
    for v in (np.array([0.5, -0.9, 0.4]), np.array([0.3, -0.2, 0.6, 0.5, -0.9, 0.4])):
        ad = hat(v) if len(v) == 3 else se3.ad(v)
        power, right = np.eye(len(v)), np.zeros_like(ad)
        for k in range(30):
            right, power = right + power / factorial(k + 1), -power @ ad
        start, end = variational._group_momenta(1.0, v, m[: len(v)], np.zeros(len(v)))
        # of the series to the tenth power of |Ω| < 1.3 the first term left out is some 1e-8
        np.testing.assert_allclose(right.T @ end, m[: len(v)], rtol=0, atol=1e-7)
        left = right.T if len(v) == 3 else np.linalg.inv(se3.Ad_inv(exp_se3(v))) @ right
        np.testing.assert_allclose(left.T @ start, m[: len(v)], rtol=0, atol=1e-7)


def test_variational_momentum_of_a_cyclic_joint_stays_however_few_the_iterations(
    monkeypatch,
) -> None:
    """Without gravity the first joint of a plane arm turns everything: its momentum is kept."""
    monkeypatch.setattr(variational, "ITERATIONS", 1)
    robot = dl.load("planar_2r").with_gravity([0.0, 0.0, 0.0])
    q, qd = np.array([0.3, 0.8]), np.array([1.0, -2.0])
    run = dl.simulate(robot, q, qd, duration=0.5, dt=0.01, method="variational")
    momenta = np.einsum("tj,tj->t", robot.mass_matrix(run.q.values)[:, 0], run.qd.values)
    np.testing.assert_allclose(momenta, momenta[0], rtol=1e-12)
