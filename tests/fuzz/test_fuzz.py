"""A short run of every fuzzer, by count and seed; the long ones are ``python tests/fuzz/run.py``."""

import numpy as np
import pytest

import dalembert as dl
from tests.fuzz import urdf_trees
from tests.fuzz.children import in_child
from tests.fuzz.peers import like_mujoco, like_pinocchio
from tests.fuzz.readers import corpus
from tests.fuzz.run import (
    FOR_THE_JUDGE,
    GOOD,
    TARGETS,
    Target,
    generate_cases,
    hang_detector,
    outcome,
    run,
)
from tests.fuzz.sound import faults

# cases of each target that together take about a minute of processor time
SHORT = {"dictionaries": 1500, "mechanisms": 300, "names": 60}
FOREIGN = {"urdf": 300, "mjcf": 120, "runs": 40, "commands": 40, "logs": 80, "studio": 100}
RIGHT = {"mjcf_models": 30}  # nothing in them is wrong
FOREIGN |= {"urdf_trees": 40, "checkpoints": 40, "caches": 60, "fits": 20, "stores": 20}


def failures(outcomes):
    return [text for text in outcomes if text not in GOOD]


def test_the_corpus_itself_is_read():
    for kind in ("urdf", "mjcf"):
        for data in corpus(kind):
            assert outcome(TARGETS[kind], data) in GOOD  # the package ships broken ones
    assert all(not faults(data) for data in corpus("urdf")[:3])


def test_the_second_opinion_sees_what_is_wrong():
    """The judge must be able to convict: each of these is a file that may not pass."""
    good = corpus("urdf")[0]
    for old, new in (
        (b'name="arm"', b'name="base"'),
        (b'value="3.5"', b'value="nan"'),
        (b'value="3.5"', b'value="-3.5"'),
        (b'type="planar"', b'type="plane"'),
        (b'parent link="base"', b'parent link="bass"'),
        (b'<child link="cart"/>', b'<child link="arm"/>'),
        (b"</robot>", b""),
    ):
        assert old in good and faults(good.replace(old, new, 1)), new


def test_the_judge_convicts_foreign_exceptions_and_hangs(monkeypatch):
    monkeypatch.setattr("tests.fuzz.run.LONGEST", 0.05)

    class Broken(Target):
        def outcome(self, case):
            while case == "hang":
                pass
            raise KeyError(case)

    target = Broken("", "", "", 0)
    assert outcome(target, "x") == "KeyError: 'x'"
    assert outcome(target, "hang").startswith("hangs")
    with hang_detector():
        pass


def test_every_target_has_its_short_run():
    assert {*SHORT, *FOREIGN, *RIGHT, *FOR_THE_JUDGE} == set(TARGETS)


def test_cases_that_reach_new_lines_are_grown_and_come_again_by_seed():
    """The same numbers give the same cases, those grown from earlier ones included."""

    def cases():
        for _, case, watch in generate_cases("urdf", 5, 0, 60, guided=True):
            with watch:
                outcome(TARGETS["urdf"], case)
            yield case

    plain = [case for _, case, _ in generate_cases("urdf", 5, 0, 60, guided=False)]
    grown = list(cases())
    assert grown == list(cases()) and grown[:20] == plain[:20] and grown != plain


def test_the_second_reader_convicts_other_numbers():
    """Torques are compared with Pinocchio's and MuJoCo's: another load must be outcomes."""
    for kind, compared in (("urdf", like_pinocchio), ("mjcf", like_mujoco)):
        data = corpus(kind)[-1]
        read = {"urdf": dl.Robot.from_urdf, "mjcf": dl.Robot.from_mjcf}[kind]
        robot = read(data)
        assert compared(robot, data) == ""
        assert "torques" in compared(robot.with_payload(1.0), data)


def test_the_second_reader_of_whole_trees_convicts_other_numbers(tmp_path):
    """Another load, another weight, a base one micrometre off and another limit must be outcomes."""
    data = corpus("urdf")[-1]
    robot = dl.Robot.from_urdf(data)
    path = tmp_path / "robot.urdf"
    path.write_bytes(data)
    peer = urdf_trees.locked_peer(path, robot, {"base": "fixed"})
    assert urdf_trees.compared(robot, peer) == urdf_trees.limits(robot, peer) == ""
    assert "mass_matrix" in urdf_trees.compared(robot.with_payload(1.0), peer)
    assert "inverse_dynamics" in urdf_trees.compared(robot.with_gravity([0.0, 0.0, -9.7]), peer)
    lifted = robot.with_base(np.eye(4) + 1e-6 * np.eye(4, k=3))
    assert "pose" in urdf_trees.compared(lifted, peer)
    joint = next(joint for joint in robot.joints if joint.kind == "revolute")
    wider = robot.with_limits({joint.name: (-9.0, 9.0)})
    assert "lower limit" in urdf_trees.limits(wider, peer)


def test_what_cancels_in_the_second_reader_is_no_other_number():
    """MuJoCo adds up moments about the centre of the whole: from 1e12 m away nothing is left."""
    data = b"""<mujoco><worldbody><body><joint type="slide"/><geom size="1"/>
        <body><joint type="slide" ref="1e12"/><geom size="1"/>
        <body><joint pos="1 0 0" axis="0 1 0"/><geom size="1"/></body></body></body>
        </worldbody></mujoco>"""
    assert like_mujoco(dl.Robot.from_mjcf(data), data) == ""


def test_a_crash_is_an_outcome_and_the_cases_after_it_are_tried():
    outcomes = in_child("crashes", seed=1, first=0, count=6)
    assert outcomes.pop("accepted") == 5
    ((text, times),) = outcomes.items()
    assert text.startswith("FAILED crashes case 3: crash -") and times == 1


@pytest.mark.parametrize("target", SHORT)
def test_a_target_accepts_right_input_and_refuses_the_rest(target):
    outcomes = run(target, seed=1, first=0, count=SHORT[target])
    assert failures(outcomes) == []
    assert min(outcomes["accepted"], outcomes["refused"]) >= 0.05 * SHORT[target]


@pytest.mark.parametrize("target", FOREIGN)
def test_a_target_that_runs_foreign_code(target):
    """In a process of its own: MuJoCo may crash, HDF5 complains when a damaged file is closed."""
    outcomes = in_child(target, seed=1, first=0, count=FOREIGN[target])
    assert failures(outcomes) == []
    assert min(outcomes["accepted"], outcomes["refused"]) >= 0.05 * FOREIGN[target]


def test_the_judge_of_right_models_convicts_other_loads_and_equalities():
    from tests.fuzz.mjcf_models import Beside, case

    data = case(np.random.default_rng(1))
    robot = dl.Robot.from_mjcf(data)
    assert Beside(data.decode()).difference(robot) == ""
    assert "differ" in Beside(data.decode()).difference(robot.with_payload(1.0))


@pytest.mark.parametrize("target", RIGHT)
def test_right_models_are_read_and_move_as_elsewhere(target):
    outcomes = in_child(target, seed=1, first=0, count=RIGHT[target])
    assert failures(outcomes) == []
    assert outcomes["accepted"] >= 0.8 * RIGHT[target]
