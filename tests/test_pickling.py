"""Everything goes to another process: before it was used and after, and computes the same there."""

import copy
import multiprocessing
import os
import pickle
import sys
import warnings

import numpy as np
import pytest

import dalembert as dl
from dalembert import control, zoo
from tests.systems.examples import double_pendulum, pendulum

EVERY = (*zoo.names(), *zoo.systems(), *zoo.mechanisms(), *zoo.bodies())


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def same_angle(a, b):
    return a.q - b.q


def off_circle(q):
    return 0.5 * (q @ q - 1.0)


def pushed(t, q, qd):
    return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def turned(q, t):
    return q[:1] - t


@pytest.mark.parametrize("name", EVERY)
def test_every_system_of_the_zoo_travels_with_its_methods(name):
    """By content: that digest is what its kernels are known by, so they are the same ones."""
    system = dl.load(name)
    arrived = again(system)
    assert type(arrived) is type(system)
    assert arrived.dynamics.content == system.dynamics.content
    for method in ("forward_dynamics", "inverse_dynamics", "integrate"):
        sent = again(getattr(system, method))
        assert sent.__name__ == method and type(sent.__self__) is type(system)


def public_objects():
    """Something of every public class that is no error."""
    robot, closed = dl.load("planar_2r"), dl.load("pendulum_constrained")
    ball = dl.Sphere(0.3, pole="y")
    torque = dl.Samples([0.0, 1.0], [[0.0], [1.0]])
    finger = dl.ContactBody(ball, dl.Sphere(0.1), 1.0, 0.01 * np.eye(3))
    box = dl.SpatialMechanism("two").body("b", 1.0, (0.1, 0.1, 0.2))
    units = [dl.load("pendulum")] * 3
    swing = units[0]
    return {
        "Actuator": dl.Actuator("servo", "link1_joint", gain=[20.0], bias=[0.0, -20.0, -1.0]),
        "Constrained": closed,
        "ContactBody": finger,
        "Cylinder": dl.Cylinder(0.2),
        "Distance": dl.Distance("base", "tool", 0.4),
        "Driver": dl.Driver(turned, name="wheel"),
        "Ellipsoid": dl.Ellipsoid(0.1, 0.2, 0.3),
        "Excitation": dl.excitation(swing, 4.0, velocity=3.0, torque=50.0, budget=20),
        "Fit": identified(swing),
        "Holonomic": dl.Holonomic(off_circle, name="rod"),
        "Joint": dl.Joint("prismatic", "slide"),
        "JointCoupling": dl.JointCoupling("a", "b"),
        "Lagrangian": pendulum(),
        "Link": dl.Link("bar", mass=1.0),
        "Loop": dl.Loop("base", "tool"),
        "Network": dl.Network(units, [(0, 1, same_angle), (1, 2, same_angle)]),
        "Parameter": dl.Parameter("m", 2.0),
        "Particles": double_pendulum(),
        "Pfaffian": dl.Pfaffian(np.ones((1, 2)), name="line"),
        "PlanarMechanism": dl.load("four_bar_linkage"),
        "Plane": dl.Plane(),
        "PointOnSurface": dl.PointOnSurface("tool", ball),
        "QuasiVelocities": dl.QuasiVelocities(robot, np.eye(robot.nv)),
        "Robot": robot,
        "Rolling": dl.Rolling("tool", ball, radius=0.1),
        "Samples": torque,
        "Sliding": dl.Sliding("tool", ball, mu=0.3),
        "SoftFinger": dl.SoftFinger("tool", ball, mu=0.3, torsion=0.01),
        "SpatialMechanism": box,
        "Sphere": ball,
        "Status": dl.Status.OK,
        "Surface": dl.Surface(off_circle),
        "System": robot,
        "TendonCoupling": dl.TendonCoupling("a"),
        "Torus": dl.Torus(0.3, 0.1),
        "Touching": touching(ball),
        "WithinBox": dl.WithinBox((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)),
        "WithinEllipsoid": dl.WithinEllipsoid((0.1, 0.2, 0.3)),
    }


def identified(swing):
    t = np.arange(0.0, 8.0, 0.01)[:, None]
    q, qd = np.sin(2 * t) + 0.3 * np.sin(5 * t), 2 * np.cos(2 * t) + 1.5 * np.cos(5 * t)
    tau = swing.inverse_dynamics(q, qd, -4 * np.sin(2 * t) - 7.5 * np.sin(5 * t))
    return dl.identify(swing, dl.read_log({"time": t[:, 0], "q": q, "tau": tau}, swing))


def touching(ball):
    arm = dl.load("arm_on_sphere").system
    tip = dl.Ellipsoid(0.05, 0.06, 0.04)
    return dl.Touching(arm, "finger", tip, ball, "object", q=[0.1, 0.2, 1.5, 0.3, 0.9, 0.2])


def test_something_of_every_public_class_travels():
    known = public_objects()
    kinds = {name: getattr(dl, name) for name in dl.__all__}
    classes = {name for name, kind in kinds.items() if isinstance(kind, type)}
    plain = {name for name in classes if issubclass(kinds[name], Exception)}
    at_home = {"Widget"}  # it belongs to the notebook that shows it
    assert classes - plain - at_home == set(known)
    for thing in known.values():
        assert type(again(thing)) is type(thing)


def controllers():
    """A law of every kind, and what laws follow."""
    robot, closed = dl.load("planar_2r"), dl.load("pendulum_constrained")
    at = np.array([0.2, 0.3])
    path = control.quintic(at, at + 0.5, 1.0)
    line = control.Line.quintic(np.eye(4), np.eye(4), 1.0)
    disk = dl.load("rolling_disk")
    arms = dl.load("parallel_3rr")
    start = arms.neutral()[[0, 2]]
    body = {"inertia": 5.0, "viscosity": 40.0, "stiffness": 200.0, "force": pushed}
    hybrid = control.Hybrid(closed, ["x"], [0.3], kp=25.0, kd=10.0, lam=[20.0])
    return {
        "ComputedTorque": control.ComputedTorque(robot, path, 100.0, 20.0, 5.0),
        "PDGravity": control.PDGravity(robot, at, 10.0, 2.0),
        "OperationalSpace": control.OperationalSpace(dl.load("ur5"), line, 9.0, 6.0),
        "Hybrid": hybrid,
        "HybridVelocity": control.HybridVelocity(disk, ("theta", "phi"), [0.1, 0.2], 5.0),
        "RedundantActuation": control.RedundantActuation(
            arms, ("theta1", "theta3"), start, 25.0, 10.0
        ),
        "Trajectory": path,
        "Line": line,
        "FeedForward": control.FeedForward(robot, path, 10.0, 2.0),
        "SlidingMode": control.SlidingMode(robot, path, 10.0, 60.0, 0.2),
        "Adaptive": control.Adaptive(robot, path, 1.0, 1.0, 1.0),
        "LQR": control.LQR(robot, at, Q=1.0, R=0.1),
        "PID": control.PID(robot, at, 10.0, 1.0, 2.0),
        "Impedance": control.Impedance(dl.load("ur5"), np.eye(4), 400.0, 120.0),
        "Admittance": control.Admittance(dl.load("ur5"), np.eye(4), 400.0, 40.0, **body),
        "GaugeInvariant": control.GaugeInvariant(arms, ("theta1", "theta3"), start, 4.0, 4.0),
        "CartesianPath": control.CartesianPath.screw(np.eye(4), [0, 0, 1, 0.1, 0, 0]),
        "Path": control.through([[0.0, 0.0], [1.0, 0.5]]),
        "TimedPath": control.time_optimal(
            control.through([[0.0, 0.0], [1.0, 0.5]]), velocity=1.0, acceleration=4.0
        ),
    }


@pytest.mark.parametrize("name", controllers())
def test_laws_and_paths_travel_also_when_they_were_used(name):
    controller = controllers()[name]
    for attribute in ("model", "task", "constants"):
        getattr(controller, attribute, None)  # made when first asked for
    arrived = again(controller)
    assert type(arrived) is type(controller)
    for key, value in getattr(controller, "constants", {}).items():
        assert np.array_equal(arrived.constants[key], value)


def test_methods_and_kernels_travel_after_the_first_call():
    """A builtin stands in front of the method then, and the kernel is a ufunc made here."""
    robot = dl.load("puma560")
    one, many = (robot.random_state(np.random.default_rng(0), n) for n in (None, 9))
    for _ in range(2):
        robot.inverse_dynamics(*one)
    kernel = robot.kernel("inverse_dynamics")
    for sent in (robot.inverse_dynamics, kernel):
        arrived = again(sent)
        assert np.array_equal(arrived(*many), robot.inverse_dynamics(*many))
    assert again(kernel) is kernel  # this process knows it already
    assert again(np.add) is np.add and again(robot.rollout).__self__ == robot
    square = dl.compile_function(lambda x: x * x, {"x": 2})
    square([1.0, 2.0])
    assert again(square)([3.0, 4.0]).tolist() == again(square.ufunc)([3.0, 4.0]).tolist() == [9, 16]


def test_what_was_computed_with_is_left_behind():
    """Constraint tasks, slopes, rollouts and searches keep kernels and traced functions."""
    closed = dl.load("four_bar")
    q, qd, qdd = closed.random_state(np.random.default_rng(0))
    closed.jvp("kinetic_energy", (q, qd), (qd, qdd))
    arrived = again(closed)
    assert np.array_equal(arrived.bias(q, qd), closed.bias(q, qd))
    robot = dl.load("planar_2r")
    robot.rollout([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], steps=2, dt=1e-3)
    robot.program("bias")
    assert len(pickle.dumps(robot)) == len(pickle.dumps(dl.load("planar_2r")))


def test_a_subclass_keeps_what_it_was_given():
    body = dl.ContactBody(dl.Sphere(0.3), dl.Sphere(0.1), 1.0, 0.01 * np.eye(3))
    eta = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    assert np.array_equal(again(body).pose_of_finger(eta), body.pose_of_finger(eta))


def test_copies_share_functions_and_compute_for_themselves():
    rod = dl.Holonomic(lambda q: off_circle(q), name="rod")
    assert copy.copy(rod).h is copy.deepcopy(rod).h is rod.h
    robot = dl.load("planar_2r")
    robot.mass_matrix(np.zeros(2))
    for duplicate in (copy.copy(robot), copy.deepcopy(robot)):
        assert duplicate == robot and duplicate.mass_matrix.__self__ is duplicate


def test_a_lambda_without_cloudpickle_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    rod = dl.Holonomic(lambda q: off_circle(q), name="rod")
    with pytest.raises(
        pickle.PicklingError, match=r"Holonomic 'rod' holds .*<lambda>.*cloudpickle"
    ):
        pickle.dumps(rod)


def test_a_lambda_travels_by_value_with_cloudpickle():
    pytest.importorskip("cloudpickle")
    rod = dl.Holonomic(lambda q: off_circle(q), name="rod")
    assert again(rod).h(np.array([2.0])) == 1.5
    join = lambda a, b: a.q - b.q  # noqa: E731  # one function, for both links
    network = again(dl.Network([dl.load("pendulum")] * 3, [(0, 1, join), (1, 2, join)]))
    assert len({link for _, _, link in network.dynamics.links}) == 1


def test_an_expression_of_symbols_says_what_to_give_instead(casadi):
    with pytest.raises(pickle.PicklingError, match="'rod' holds an expression of CasADi symbols"):
        pickle.dumps(dl.Holonomic(casadi.SX.sym("x") ** 2 - 1.0, name="rod"))


def test_results_travel():
    run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=0.1, dt=0.01)
    assert again(run).identical(run)
    assert again(dl.jax(dl.load("planar_2r")).bias).__self__.system == dl.load("planar_2r")


def bits(results):
    flat = [x for values in results for x in (values if isinstance(values, tuple) else (values,))]
    return [(x.dtype, x.shape, x.tobytes()) for x in flat]


def work(jobs):
    """What every job gives here, and how many kernels this process had to compile."""
    before = set(os.listdir(os.environ["DALEMBERT_CACHE"]))
    results = [function(*arrays) for function, arrays in jobs]
    return results, len(set(os.listdir(os.environ["DALEMBERT_CACHE"])) - before)


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_other_processes_give_the_same_bits_and_compile_nothing(how, tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    robot, closed = dl.load("rp"), dl.load("slider_crank")
    state = robot.random_state(np.random.default_rng(1), 5)
    states = closed.random_state(np.random.default_rng(1), 5)
    jobs = [
        (robot.inverse_dynamics, state),
        (robot.kernel("bias"), state[:2]),
        (closed.inverse_dynamics, states),
    ]
    here, _ = work(jobs)
    if how == "spawn":  # what an earlier test left in this process is not in the folder yet
        elsewhere(how, jobs)
    there, compiled = elsewhere(how, jobs)
    assert compiled == 0
    assert bits(there) == bits(here)


def elsewhere(how, jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads
        with multiprocessing.get_context(how).Pool(1) as pool:
            return pool.apply(work, (jobs,))


def jobs_with_a_lambda():
    """A method that was called, a kernel, and a closed chain whose constraint has no name."""
    robot = dl.load("rp")
    state = robot.random_state(np.random.default_rng(1), 5)
    particle = dl.load("pendulum_constrained").system
    rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    closed = dl.Constrained(particle, [rod], guess=[0.0, -1.0])
    states = closed.random_state(np.random.default_rng(1), 5)
    jobs = [
        (robot.inverse_dynamics, state),
        (robot.kernel("bias"), state[:2]),
        (closed.inverse_dynamics, states),
    ]
    return jobs, [function(*arrays) for function, arrays in jobs]


def call(function, arrays):
    return function(*arrays)


def test_workers_of_loky_give_the_same_bits():
    joblib = pytest.importorskip("joblib")
    jobs, here = jobs_with_a_lambda()
    with joblib.parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=1):
        there = joblib.Parallel()(joblib.delayed(call)(*job) for job in jobs)
    assert bits(there) == bits(here)


def test_workers_of_dask_give_the_same_bits():
    distributed = pytest.importorskip("distributed")
    jobs, here = jobs_with_a_lambda()
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        there = client.gather([client.submit(call, *job) for job in jobs])
    assert bits(there) == bits(here)
