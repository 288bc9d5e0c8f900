"""Records are what frozen dataclasses are."""

import copy
import pickle
from dataclasses import (
    KW_ONLY,
    FrozenInstanceError,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from inspect import signature

import numpy as np
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


@pytest.mark.parametrize("way", [dataclass(frozen=True), record])
def test_frozen_classes_may_inherit_from_a_record(way):
    @way
    class Mine(Link):
        colour: str = "grey"

    @way
    class Both(Mine):
        size: float = 1.0

    one = Both("arm", mass=1.0, colour="red")
    assert (one.name, one.colour, one.size) == ("arm", "red", 1.0)
    for name in ("name", "colour", "size", "other"):
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(one, name, "blue")
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclass(type("Open", (Link,), {}))


@pytest.mark.parametrize("way", WAYS)
def test_an_only_field_is_compared_as_one_of_several_is(way):
    @WAYS[way]
    class One:
        value: object

    array = np.arange(3.0)
    assert One(array) == One(array) and One(1.0) != One(2.0)
    assert One(np.nan) == One(np.nan) and hash(One(1.0)) == hash((1.0,))


def test_fields_that_are_no_arguments_in_their_order_are_refused():
    class Hidden:
        x: float = field(default=1.0, init=False)

    class Named:
        _: KW_ONLY
        x: float = 1.0

    for cls in (Hidden, Named):
        with pytest.raises(TypeError, match=rf"{cls.__name__}.x: a record takes all its fields"):
            record(cls)


@pytest.mark.parametrize("way", WAYS)
def test_a_field_may_have_any_name(way):
    @WAYS[way]
    class Odd:
        self: int
        _set: int
        _missing: int
        _default_last: int = 3
        last: int = 4
        _new_names: int = 5
        names: list[str] = field(default_factory=list)

        def __post_init__(this):
            assert this.self == 1

    odd = Odd(1, 2, 3)
    assert [getattr(odd, f.name) for f in fields(odd)] == [1, 2, 3, 3, 4, 5, []]
    assert Odd(1, 2, 3, names=["a"]).names == ["a"]
