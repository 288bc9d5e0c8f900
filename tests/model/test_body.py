"""A body is (m, h, I_o): what is derived from it, and that every number of a model is its own."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulationError
from dalembert.formulations.derivatives.regressor import (
    inertial_parameters,
    with_inertial_parameters,
)
from dalembert.model import Body, Joint, Link, Model, build
from dalembert.model.coupling import Follow, couple
from dalembert.spatial import exp_se3, parallel_axis, spatial_inertia

CENTER, TENSOR = np.array([0.1, -0.2, 0.3]), np.diag([0.2, 0.3, 0.4])


def body(**arguments: object) -> Body:
    """One body of a pendulum with mass 2, its centre off the axis."""
    link = Link("arm", **{"mass": 2.0, "com": CENTER, "inertia": TENSOR, **arguments})
    return build([link]).bodies[0]


def test_a_body_holds_moments_about_its_origin():
    arm = body()
    assert {"mass", "moment", "inertia"} < {f.name for f in fields(Body)}
    np.testing.assert_array_equal(arm.moment, 2.0 * CENTER)
    np.testing.assert_array_equal(arm.inertia, parallel_axis(TENSOR, 2.0, CENTER))
    np.testing.assert_allclose(arm.center, CENTER, rtol=1e-15)
    np.testing.assert_allclose(arm.inertia_about_center, TENSOR, rtol=0, atol=1e-16)
    np.testing.assert_allclose(
        arm.spatial_inertia, spatial_inertia(2.0, CENTER, TENSOR), rtol=0, atol=1e-16
    )


def test_a_point_mass_has_no_inertia_about_itself():
    """Its tensor about the centre is a difference of equal numbers: exactly zero, not rounding."""
    for center in np.random.default_rng(0).normal(size=(50, 3)):
        point = body(mass=0.7, com=center, inertia=np.zeros((3, 3)))
        assert not point.inertia_about_center.any()


def test_a_link_without_mass_has_its_centre_at_the_origin():
    assert not body(mass=0.0, inertia=np.zeros((3, 3))).center.any()


def test_a_link_with_moments_and_no_mass_has_no_centre():
    with pytest.raises(FormulationError, match="link 'arm' has first moments but no mass"):
        _ = replace(body(), mass=0.0).center


def test_inertial_parameters_come_back_to_the_last_bit():
    """Whatever they are: also masses near zero, where a centre of mass would be far away."""
    model = dl.load("panda").model
    theta = np.random.default_rng(1).normal(size=10 * len(model.bodies))
    theta[::10] *= 1e-9
    theta[10] = 0.0
    np.testing.assert_array_equal(
        inertial_parameters(with_inertial_parameters(model, theta)), theta
    )


def arrays(record: object) -> list[np.ndarray]:
    """Every array that a model reaches through its fields."""
    if isinstance(record, np.ndarray):
        return [record]
    if isinstance(record, Mapping):
        return [a for value in record.values() for a in arrays(value)]
    if isinstance(record, tuple):
        return [a for value in record for a in arrays(value)]
    if is_dataclass(record):
        return [a for f in fields(record) for a in arrays(getattr(record, f.name))]
    return []


def input_arrays() -> dict[str, np.ndarray]:
    """Arrays that a user hands to a builder, by name."""
    return {
        "gravity": np.array([0.0, 0.0, -9.81]),
        "mass": np.array(2.0),
        "com": CENTER.copy(),
        "inertia": TENSOR.copy(),
        "origin": exp_se3(np.linspace(0.1, 0.6, 6)),
        "offset": np.array(0.3),
        "pitch": np.array(0.05),
        "viscous": np.array(0.1),
        "coulomb": np.array([0.2, -0.1]),
        "limits": np.array([-1.0, 1.0]),
        "base": exp_se3(np.linspace(0.2, 0.7, 6)),
        "tool": exp_se3(np.linspace(0.3, 0.8, 6)),
        "frame": exp_se3(np.linspace(0.4, 0.9, 6)),
        "extra": exp_se3(np.linspace(0.5, 1.0, 6)),
    }


def from_links(a: dict[str, np.ndarray]) -> Model:
    joint = {key: a[key] for key in ("origin", "pitch", "offset", "viscous", "coulomb", "limits")}
    link = Link(
        "arm", None, Joint("helical", **joint), a["mass"], a["com"], a["inertia"], a["frame"]
    )
    return build(
        [link],
        gravity=a["gravity"],
        base=a["base"],
        tool=a["tool"],
        frames={"camera": ("arm", a["extra"])},
    )


def from_dh(a: dict[str, np.ndarray]) -> Model:
    row = {"a": np.array(0.1), "alpha": np.array(0.2), "d": np.array(0.3), "theta": np.array(0.0)}
    a |= row
    row |= {key: a[key] for key in ("mass", "com", "inertia", "offset", "viscous", "coulomb")}
    options = {key: a[key] for key in ("base", "tool", "gravity")}
    return dl.Robot.from_dh([row], convention="standard", **options).model


def from_screws(a: dict[str, np.ndarray]) -> Model:
    a["screws"] = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
    a["frames"] = a["frame"][None].copy()
    arguments = [(a["mass"], a["inertia"])]
    options = {key: a[key] for key in ("tool", "gravity")}
    return dl.Robot.from_screws(a["screws"], a["frames"], arguments, **options).model


@pytest.mark.parametrize("importer", [from_links, from_dh, from_screws])
def test_a_model_keeps_nothing_of_what_it_was_given(importer):
    arrays = input_arrays()
    model, untouched = importer(arrays), importer(input_arrays())
    for array in arrays.values():
        array += 1.0
    assert model.content == untouched.content
    state = [0.3], [0.4], [0.5]
    ours, theirs = (dl.Robot(m).reference("inverse_dynamics", *state) for m in (model, untouched))
    np.testing.assert_array_equal(ours, theirs)
    pose = [dl.Robot(m).reference("pose", [0.3]) for m in (model, untouched)]
    np.testing.assert_array_equal(*pose)


@pytest.mark.parametrize("name", ["puma560", "panda", "symbolic", "coupled"])
def test_no_array_of_a_model_can_be_written(name):
    if name == "coupled":
        arm = build([Link("a", mass=1.0), Link("b", "a", mass=1.0)])
        model = couple(arm, {"b": Follow("a", 2.0, 0.1)})
    elif name == "symbolic":
        mass = dl.Parameter("m", 1.0)
        model = build([Link("arm", mass=mass, com=(0.1, 0.0, 0.0))]).bind(np.array([2.0]))
    else:
        model = dl.load(name).model
    for each in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        model_arrays = arrays(each)
        assert len(model_arrays) > 5 * len(model.bodies)
        for array in model_arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1.0
        with pytest.raises(TypeError):
            each.frames["tool"] = each.frames["base"]
        assert each.content == model.content


def test_changing_the_array_of_an_expression_changes_no_model():
    """Symbols are arrays too, and can be written."""
    offsets = np.array([0.1, 0.2, 0.3]) * dl.Parameter("l", 1.0)
    model = build([Link("arm", mass=1.0, com=offsets)])
    before = model.content
    offsets.symbol()[0] = 5.0
    assert replace(model).content == before
