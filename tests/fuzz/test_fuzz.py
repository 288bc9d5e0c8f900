"""A short run of the fuzzer; the long one is ``python -m tests.fuzz.run --cases 20000``."""

from tests.fuzz.run import corpus, in_child, outcome, run
from tests.fuzz.sound import faults


def failures(seen):
    return [text for text in seen if text not in ("accepted", "refused")]


def test_the_corpus_itself_is_read():
    for kind in ("urdf", "mjcf"):
        for data in corpus(kind):
            assert outcome(kind, data) in ("accepted", "refused")  # the package ships broken ones
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


def test_mutated_urdf():
    seen = run("urdf", seed=1, first=0, count=500)
    assert failures(seen) == []
    assert seen["accepted"] > 50 and seen["refused"] > 50


def test_mutated_mjcf():
    seen = in_child("mjcf", seed=1, first=0, count=120)
    assert failures(seen) == []
    assert seen["accepted"] > 10 and seen["refused"] > 10
