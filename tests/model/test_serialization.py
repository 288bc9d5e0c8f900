"""A stored model is a sound one, whatever its digest says."""

import json

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ModelError
from dalembert.model.serialization import model_from_text, model_text
from tests.formulations.mechanisms import random_model, with_elements


def changed(path, value, model=None):
    data = json.loads(model_text(model or dl.load("planar_2r").model))
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("bodies", 0, "parent"), 1),
        (("bodies", 1, "parent"), "0"),
        (("bodies", 0, "mass"), float("nan")),
        (("bodies", 0, "mass"), float("inf")),
        (("bodies", 0, "rotation", "values"), [1.0] * 9),
        (("bodies", 0, "translation"), {"class": "array", "shape": [2], "values": [1.0, 2.0]}),
        (("bodies", 0, "q", "ends"), [0, 7]),
        (("bodies", 0, "chart", "nq"), 9),
        (("bodies", 0, "chart", "nq"), True),
        (("bodies", 0, "chart", "turn"), float("nan")),
        (("bodies", 0, "name"), "\u001b[2J"),
        (("bodies",), []),
        (("joints", 0, "bodies", "ends"), [0, 9]),
        (("joints", 0, "link"), "nowhere"),
        (("joints", 0, "lower"), [float("nan")]),
        (("frames", "items", 0, 1, "body"), 5),
        (("tool",), "nowhere"),
        (("gravity", "values"), [0.0, 0.0, float("nan")]),
        (("drive", "viscous", "values"), [1.0, 1e300]),
    ],
)
def test_a_stored_model_that_is_none_is_refused(path, value):
    with pytest.raises(ModelError, match="not the text of a model"):
        model_from_text(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("springs",), [1]),
        (("springs", 0, "body"), 99),
        (("springs", 0, "body"), -1),
        (("springs", 0, "stiffness", "values"), [float("nan")]),
        (("springs", 0, "rest", "shape"), [1, 1]),
        (("drags", 0, "coefficients"), 3.0),
        (("lifts", 0, "mass"), float("inf")),
        (("lifts", 0, "moment"), {"class": "array", "shape": [1], "values": [1.0]}),
        (("ballasts",), [{"class": "Ballast", "body": 0, "mass": 1.0}]),
        (("submerged", 0, "size", "values"), [1.0, 2.0, float("nan")]),
        (("submerged", 0, "rotation", "values"), [1.0] * 9),
        (("tendons", 0, "name"), ""),
        (("tendons", 0, "coefficients", "shape"), [1, 2]),
        (("tendons", 0, "joints"), [99, 0]),
        (("tendons", 1, "segments", 0, "start", "body"), 99),
        (("tendons", 1, "segments", 0, "start"), 3),
        (("tendons", 2, "segments", 0, "around", "kind"), "cone"),
    ],
)
def test_stored_elements_that_are_none_are_refused(path, value):
    rng = np.random.default_rng(0)
    model = with_elements(random_model(rng, ("revolute", "prismatic"), 4), rng)
    assert model_from_text(model_text(model)).content == model.content
    with pytest.raises(ModelError, match="not the text of a model"):
        model_from_text(changed(("elements", *path), value, model))


def test_the_models_of_robots_are_sound():
    follow = dl.Robot.from_urdf(
        """<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
        <joint name="k" type="continuous"><parent link="a"/><child link="b"/>
        <mimic joint="j" multiplier="2"/></joint></robot>"""
    )
    for robot in (follow, dl.load("ur5"), dl.load("scara")):
        assert model_from_text(model_text(robot.model)).content == robot.model.content
