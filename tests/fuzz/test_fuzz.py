"""A short run of every fuzzer, by count and seed; the long ones are ``python tests/fuzz/run.py``."""

import pytest

from tests.fuzz.readers import corpus
from tests.fuzz.run import DOORS, GOOD, Door, hang_detector, in_child, outcome, run
from tests.fuzz.sound import faults

# cases of each door that together take about a minute
SHORT = {"urdf": 400, "dictionaries": 1500, "mechanisms": 400, "names": 100}
FOREIGN = {"mjcf": 120, "runs": 50, "commands": 50, "logs": 80, "studio": 100}


def failures(seen):
    return [text for text in seen if text not in GOOD]


def test_the_corpus_itself_is_read():
    for kind in ("urdf", "mjcf"):
        for data in corpus(kind):
            assert outcome(DOORS[kind], data) in GOOD  # the package ships broken ones
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

    class Broken(Door):
        def outcome(self, made):
            while made == "hang":
                pass
            raise KeyError(made)

    door = Broken("", "", "", 0)
    assert outcome(door, "x") == "KeyError: 'x'"
    assert outcome(door, "hang").startswith("hangs")
    with hang_detector():
        pass


@pytest.mark.parametrize("door", SHORT)
def test_a_door_lets_in_what_is_right_and_refuses_the_rest(door):
    seen = run(door, seed=1, first=0, count=SHORT[door])
    assert failures(seen) == []
    assert min(seen["accepted"], seen["refused"]) >= 0.05 * SHORT[door]


@pytest.mark.parametrize("door", FOREIGN)
def test_a_door_behind_which_foreign_code_runs(door):
    """In a process of its own: MuJoCo may crash, HDF5 complains when a damaged file is closed."""
    seen = in_child(door, seed=1, first=0, count=FOREIGN[door])
    assert failures(seen) == []
    assert min(seen["accepted"], seen["refused"]) >= 0.05 * FOREIGN[door]
