"""A run carries the model it was made with, to the last bit, and knows another one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import dalembert as dl
from dalembert.model.serialization import model_from_text, model_text
from dalembert.report.runs import open_run, run_page
from dalembert.simulation import system_of
from dalembert.zoo import names
from tests.formulations.mechanisms import random_model

SHORT = {"duration": 0.02, "dt": 0.01}


@pytest.mark.parametrize("name", names())
def test_a_model_is_the_same_after_its_text(name: str) -> None:
    model = dl.load(name).model
    assert model_from_text(model_text(model)).content == model.content


def test_models_of_every_joint_are_the_same_after_their_text() -> None:
    for seed in range(5):
        model = random_model(np.random.default_rng(seed), n=5)
        assert model_from_text(model_text(model)).content == model.content


DRIVEN = """<mujoco model="arm"><worldbody><body name="upper">
  <joint name="shoulder" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 -.4"/>
  </body></worldbody><actuator>
  <motor name="motor" joint="shoulder" gear="3" ctrlrange="-2 2"/></actuator></mujoco>"""


def test_a_run_of_a_limited_motor_is_read_back_and_drawn(tmp_path: Path) -> None:
    robot = dl.Robot.from_mjcf(DRIVEN)
    run = dl.simulate(robot, [0.0], controls={"motor": 0.5}, **SHORT)
    run.to_netcdf(tmp_path / "run.nc", engine="scipy")
    again = open_run(tmp_path / "run.nc")
    assert system_of(again) == robot
    assert "not drawn" not in run_page(again)


def test_digests_do_not_depend_on_who_holds_the_numbers() -> None:
    """A number of NumPy and the same number of Python make the same model."""
    model = dl.load("scara").model

    def content_of(number: Any) -> str:
        joints = tuple(
            replace(
                joint,
                **{
                    "velocity_limit": number(joint.velocity_limit),
                    "effort_limit": number(joint.effort_limit),
                    "lower": tuple(map(number, joint.lower)),
                    "upper": tuple(map(number, joint.upper)),
                },
            )
            for joint in model.joints
        )
        return replace(model, joints=joints).content

    assert content_of(np.float64) == content_of(float) == model.content


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"class":"Model"}', "3", '{"class":"exec"}'])
def test_text_that_is_no_model(text: str) -> None:
    with pytest.raises(dl.DalembertError, match="not the text of a model"):
        model_from_text(text)


def test_a_run_is_drawn_with_its_own_numbers(tmp_path: Path) -> None:
    long = dl.load("pendulum", l=2.0)
    dl.simulate(long, [0.1], **SHORT).to_netcdf(tmp_path / "run.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as run:
        assert system_of(run) == long != dl.load("pendulum")
        assert system_of(run, long) is long
        with pytest.raises(dl.SimulationError, match="not the 'pendulum' that made this run"):
            system_of(run, dl.load("pendulum"))


def test_a_digest_of_another_version_is_named_as_such() -> None:
    closed = dl.load("four_bar")
    run = dl.simulate(closed, closed.assemble(), **SHORT)
    older = {"model_digest": "of another kind"}
    run.attrs = {k: v for k, v in run.attrs.items() if k != "digest_format"} | older
    with pytest.raises(dl.SimulationError, match="digest of format 1, made by another version"):
        system_of(run, closed)


def test_a_constrained_run_carries_its_tree() -> None:
    closed = dl.load("four_bar")
    run = dl.simulate(closed, closed.assemble(), **SHORT)
    assert system_of(run) == closed.system and system_of(run, closed) is closed


def test_parameters_are_carried_as_they_were() -> None:
    load = dl.Parameter("load", 1.0)
    rows = [{"a": 1.0, "mass": load, "inertia": 0.1 * np.eye(3)}]
    robot = dl.Robot.from_dh(rows, convention="standard")
    run = dl.simulate(robot, [0.0], parameters={"load": 3.0}, **SHORT)
    assert system_of(run).model.bodies[0].mass == 3.0


def test_a_run_without_model_or_with_a_damaged_one_is_refused() -> None:
    run = dl.simulate(dl.load("pendulum"), [0.1], **SHORT)
    old = run.assign_attrs(system="mine")
    del old.attrs["model"]
    with pytest.raises(dl.SimulationError, match="'mine' does not carry its model"):
        system_of(old)
    other = run.assign_attrs(model=run.attrs["model"].replace("9.81", "1.62"))
    with pytest.raises(dl.SimulationError, match="damaged: its digest is another one"):
        system_of(other)
