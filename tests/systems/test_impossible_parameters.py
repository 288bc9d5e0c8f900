"""Parameters that no robot can have are refused however they are given: alone, as vectors, in rows."""

import warnings

import numpy as np
import pytest

import dalembert as dl

STATE = (np.full((2, 1), 0.1), np.zeros((2, 1)), np.ones((2, 1)))


@pytest.fixture(scope="module")
def arm():
    """One link of mass m with friction b; its tensor about the centre has the moment i about x."""
    m, b, i = dl.Parameter("m", 1.0), dl.Parameter("b", 0.1), dl.Parameter("i", 0.01)
    joint = dl.Joint("revolute", name="elbow", axis=[0, 1, 0], viscous=b)
    tensor = [[i, 0, 0], [0, 0.02, 0], [0, 0, 0.02]]
    return dl.Robot.from_links(
        [dl.Link("arm", joint=joint, mass=m, com=[0.2, 0, 0], inertia=tensor)]
    )


WRONG = [
    ({"m": np.array([1.0, -1.0])}, "'arm': mass -1 kg is negative.* in row 1 of the parameters"),
    ({"b": [0.1, -5.0]}, "'elbow': viscous friction is -5.* in row 1"),
    ({"i": np.array([0.01, 0.05])}, "'arm': .* triangle inequality.* in row 1"),
    ({"i": np.array([-0.01, 0.02])}, "'arm': .* in row 0"),
    ({"b": np.array([0.1, np.nan])}, "parameter 'b' is nan in row 1 of the parameters"),
    (np.array([[1.0, 0.1, 0.01], [-1.0, 0.1, 0.01]]), "mass -1 kg is negative.* in row 1"),
    (np.array([-1.0, 0.1, 0.01]), "mass -1 kg is negative$"),
    ({"b": np.nan}, "parameter 'b' is nan; give a finite number"),
    ({"m": np.inf}, "parameter 'm' is inf; give a finite number"),
    ({"m": "a"}, "parameter 'm' is 'a'; give a number"),
    ({"m": 1 + 2j}, "parameter 'm' is .*; give a number"),
]


@pytest.mark.parametrize(("values", "words"), WRONG)
def test_what_no_robot_can_have_is_refused_in_calls_and_runs(arm, values, words):
    names = list(arm.named_parameters)
    if isinstance(values, np.ndarray):
        values = values[..., [["m", "b", "i"].index(name) for name in names]]
    with warnings.catch_warnings(action="error"):
        with pytest.raises(dl.DalembertError, match=words):
            arm.forward_dynamics(*STATE, parameters=values)
        if not isinstance(values, dict) or not np.ndim(next(iter(values.values()))):
            with pytest.raises(dl.DalembertError, match=words):
                dl.simulate(arm, *STATE[:2], duration=0.01, parameters=values)


def test_rows_at_the_border_are_bodies(arm):
    """A rod (i = 0) and a plate (i = 0.04) are legal, as they are alone; so are masses of zero."""
    edge = {"i": np.array([0.0, 0.04, 0.02]), "m": np.array([1.0, 2.0, 0.0])}
    assert arm.mass_matrix(np.zeros((3, 1)), parameters=edge).shape == (3, 1, 1)
    point = dl.Parameter("load", 1.0)
    ball = dl.Robot.from_links(
        [dl.Link("ball", joint=dl.Joint("revolute"), mass=point, com=[0.3, 0.1, 0.2])]
    )
    many = np.linspace(0.0, 5.0, 10000)
    assert np.all(ball.mass_matrix(np.zeros((10000, 1)), parameters={"load": many}) >= 0.0)
    with pytest.raises(dl.DalembertError, match=r"'ball': mass -0.1 kg .* in row 9998"):
        many[9998] = -0.1
        ball.mass_matrix(np.zeros((10000, 1)), parameters={"load": many})


def test_a_sweep_is_refused_before_its_first_run_and_names_the_run(arm):
    over = {"m": [1.0, -1.0], "b": [0.1, 0.2]}
    with pytest.raises(dl.DalembertError, match=r"mass -1 kg is negative.* in row 2"):
        dl.sweep(arm, over, {"q0": [0.1], "duration": 0.1})


def test_a_facade_of_a_framework_refuses_plain_numbers(arm):
    pytest.importorskip("jax")
    for values in ({"m": -1.0}, {"m": np.array([1.0, -1.0])}):
        with pytest.raises(dl.DalembertError, match="mass -1 kg is negative"):
            dl.jax(arm).forward_dynamics(*STATE, parameters=values)
