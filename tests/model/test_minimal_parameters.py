"""The mechanism that recursions run on has fewer numbers and moves the same."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.formulations.inverse import newton_euler
from dalembert.model import Joint, Link, build
from dalembert.spatial import exp_se3
from dalembert.spatial.rotations import rotation_x, rotation_y
from dalembert.spatial.se3 import Placement
from tests.formulations.mechanisms import random_model


@pytest.mark.parametrize("seed", range(6))
def test_the_lean_mechanism_has_the_same_torques(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    qd, qdd, tip = rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=6)
    # a recursion that is recorded runs on the links as they are
    as_they_are = newton_euler.inverse_dynamics(
        model, q, qd, qdd, tip, record=lambda *where, **what: None
    )
    minimal = newton_euler.inverse_dynamics(model, q, qd, qdd, tip)
    assert np.allclose(minimal, as_they_are, rtol=1e-12, atol=1e-12 * abs(as_they_are).max())


def test_what_is_fixed_to_a_body_stays_where_it_is():
    model = random_model(np.random.default_rng(3), n=5)
    q = model.integrate(model.neutral(), np.random.default_rng(4).normal(size=model.nv))

    def poses(of):
        placed = {-1: Placement(np.eye(3), np.zeros(3))}
        for i, body in enumerate(of.bodies):
            placed[i] = placed[body.parent].then(body.transform(q))
        return {name: placed[f.body].then(f.placement) for name, f in of.frames.items()}

    before, after = poses(model), poses(model.minimal)
    for name, (R, p) in before.items():
        assert np.allclose(after[name].R, R, atol=1e-13)
        assert np.allclose(after[name].p, p, atol=1e-13)


def test_tilts_about_an_axis_and_mass_on_it_cost_no_products():
    # the axis of link2 is tilted in the plane normal to that of link1, as in a humanoid's hip
    tilt = exp_se3(np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.3]))
    links = [
        Link(
            "link1", None, Joint(axis=[0, 0, 1.0]), mass=1.0, com=[0.1, 0.2, 0.3], inertia=np.eye(3)
        ),
        Link(
            "link2",
            "link1",
            Joint(axis=[1.0, 0, 0], origin=tilt),
            mass=2.0,
            com=[0.3, 0.1, 0.2],
            inertia=np.eye(3),
        ),
    ]
    first, last = build(links).minimal.bodies
    assert np.isin(last.rotation, (-1.0, 0.0, 1.0)).all()
    assert last.mass == 0.0
    assert last.moment[2] == 0.0
    assert last.second_moment[2, 2] == 0.0
    assert first.mass == 0.0  # on the first axis mass does not move
    assert np.count_nonzero(last.moment) == 1  # x points to the centre of mass


def test_a_mechanism_with_open_numbers_stays_as_it_is():
    model = dl.symbolic_model("planar_2r").model
    assert model.minimal is model
    bound = model.bind(model.parameter_values())
    assert bound.minimal is not bound


@pytest.mark.parametrize("tilt", [1e-14, 3e-12, 1e-6, 1e-3])
def test_an_axis_that_is_nearly_across_an_offset_costs_no_digits(tilt):
    """A file with angles of 3.14159 or rounded rotations: the frame must not go to 1e13 m."""
    turn = exp_se3(np.array([0.1, 0.2, 0.3, np.pi / 2 + tilt, 0.0, 0.0]))
    body = {"mass": 1.0, "com": [0.1, 0.2, 0.3], "inertia": np.eye(3)}
    second = Joint(axis=[0, 0, 1.0], origin=turn)
    model = build(
        [Link("a", None, Joint(axis=[0, 0, 1.0]), **body), Link("b", "a", second, **body)]
    )
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
    plain = newton_euler.inverse_dynamics(model, q, qd, qdd, record=lambda *where, **what: None)
    assert np.allclose(newton_euler.inverse_dynamics(model, q, qd, qdd), plain, rtol=1e-12)
    assert all(np.abs(one.translation).max() < 10.0 for one in model.minimal.bodies)


def test_a_mechanism_whose_frames_would_go_far_stays_as_it_is(monkeypatch):
    monkeypatch.setattr("dalembert.model.minimal_parameters._STEEP", 0.0)
    turn = exp_se3(np.array([0.1, 0.2, 0.3, np.pi / 2 + 1e-14, 0.0, 0.0]))
    body = {"mass": 1.0, "com": [0.1, 0.2, 0.3], "inertia": np.eye(3)}
    joints = Joint(axis=[0, 0, 1.0]), Joint(axis=[0, 0, 1.0], origin=turn)
    model = build([Link("a", None, joints[0], **body), Link("b", "a", joints[1], **body)])
    assert model.minimal is model


@pytest.mark.parametrize("away", [1e2, 1e6])
def test_where_a_robot_stands_costs_its_mass_matrix_no_digits(away):
    """Its first frame slid along a tilted axis to the world's height: 4 digits were left at 1000 km."""
    rng = np.random.default_rng(3)
    model = dl.load("ur5").model
    shifts = 0.3 * rng.normal(size=(6, 3))
    bodies = [replace(b, translation=p) for b, p in zip(model.bodies, shifts, strict=True)]
    tilted = rotation_x(0.5) @ rotation_y(0.7) @ bodies[0].rotation
    q, result = rng.normal(size=6), []
    for distance in (0.0, away):
        stands = distance * np.array([1.0, 2.0, -1.0])
        first = replace(bodies[0], rotation=tilted, translation=shifts[0] + stands)
        robot = dl.Robot(replace(model, bodies=(first, *bodies[1:])))
        result.append(robot.reference("mass_matrix", q))
    np.testing.assert_allclose(result[0], result[1], atol=1e-13)
