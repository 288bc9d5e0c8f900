"""Records are what frozen dataclasses are."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from inspect import signature

import pytest

from dalembert.model.link import Link
from dalembert.records import record


def _classes(frozen):
    """A class and one below it, made by a decorator."""

    @frozen
    class Point:
        """A place."""

        x: float
        y: float = 2.0
        labels: list[str] = field(default_factory=list, compare=False, repr=False)

        def __post_init__(self):
            object.__setattr__(self, "x", float(self.x))

    @frozen
    class Named(Point):
        """One with a name."""

        name: str = "here"

        def __repr__(self):
            return f"<{self.name}>"

    return Point, Named


WAYS = {"dataclass": dataclass(frozen=True), "record": record}


@pytest.mark.parametrize("way", WAYS)
def test_a_record_is_made_compared_shown_and_kept_as_a_frozen_dataclass_is(way):
    Point, Named = _classes(WAYS[way])
    p = Point(1, labels=["a"])
    assert is_dataclass(p) and [f.name for f in fields(p)] == ["x", "y", "labels"]
    assert (p.x, p.y, p.labels) == (1.0, 2.0, ["a"]) and Point(1).labels is not Point(1).labels
    assert repr(p).endswith("Point(x=1.0, y=2.0)") and repr(Named(1)) == "<here>"
    assert p == Point(1.0, 2.0) and hash(p) == hash(Point(1.0)) and p != Point(2.0)
    assert p != Named(1.0) and len({p, Point(1)}) == 1
    assert replace(p, y=3.0) == Point(1.0, 3.0) and copy.deepcopy(p) == p
    for change in (lambda: setattr(p, "x", 2.0), lambda: delattr(p, "x")):
        with pytest.raises(FrozenInstanceError, match="field 'x'"):
            change()
    assert str(signature(Point)).startswith("(x: float, y: float = 2.0, labels: list[str]")
    assert Point.__match_args__ == ("x", "y", "labels")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()


@pytest.mark.parametrize("way", [dataclass(frozen=True, eq=False), record(eq=False)])
def test_without_equality_each_is_only_itself(way):
    Point, _ = _classes(way)
    assert Point(1.0) != Point(1.0) and len({Point(1.0), Point(1.0)}) == 2


def test_a_plain_class_below_a_record_has_attributes_of_its_own():
    class Marked(_classes(record)[0]):
        pass

    one = Marked(1.0)
    one.mark = 3
    assert one.mark == 3
    with pytest.raises(FrozenInstanceError):
        one.x = 2.0


def test_records_travel():
    link = Link("arm", mass=1.0)
    assert pickle.loads(pickle.dumps(link)).name == "arm"
