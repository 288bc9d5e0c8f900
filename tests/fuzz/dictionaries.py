"""Fuzz targets for data in Python: hostile values in `from_links`, `from_dh` and `from_screws`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import Parameter, Robot
from dalembert.model.joint import KINDS
from tests.fuzz.names import name as hostile_name
from tests.fuzz.sound import sound_robot

NAN, INF = float("nan"), float("inf")
DRIVE = {
    **{"viscous": 0.1, "coulomb": (0.2, -0.1), "viscous_motor": 0.01, "coulomb_motor": 0.02},
    **{"rotor_inertia": 1e-3, "gear_ratio": 50.0, "velocity_limit": 3.0, "effort_limit": 40.0},
}


class Odd:
    """Something of nobody's type, which cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 1.5, NAN, INF, -INF, 1e300, -1e300, 1e-320, 10**400, 1 + 2j),
    *("", "x", "1.0", "revolute", "link1", b"x", [], (), {}, {"a": 1}, set(), object, Odd()),
    *([NAN], [1.0], [1, 2], [1, 2, 3], (0, 0, 0), [1, [2, 3]], [[1, 2], [3]], ["1", "2", "3"]),
    *(np.zeros(0), np.zeros(3), np.ones((3, 3)), np.eye(4), np.full(3, NAN), np.full((4, 4), INF)),
    *(np.eye(3), -np.eye(3), np.diag([1.0, 1.0, 9.0]), np.array(["a"]), np.array(None), np.ones(1)),
    *(
        Parameter("p", 0.5),
        Parameter("p"),
        2 * Parameter("r", 1.0) + 1,
        [Parameter("s", 1.0), 0, 0],
    ),
    *([None, 0, 0], np.array([1 + 1j, 0, 0]), range(3), iter([1, 2, 3]), lambda q: q, 2**70),
)


Call = tuple[str, dict[str, Any]]


def case(rng: np.random.Generator, earlier: Call | None = None) -> Call:
    """A builder's name and its arguments, mostly right, with up to three things changed."""
    if earlier is None:
        kind = ("from_links", "from_dh", "from_screws")[int(rng.integers(3))]
        arguments = {"from_links": _links, "from_dh": _dh, "from_screws": _screws}[kind](rng)
    else:
        kind, arguments = earlier[0], _copied(earlier[1])
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        _change(arguments, rng)
    return kind, arguments


def _copied(value: Any) -> Any:
    """The same tables and lists, so that those of the earlier case stay as they are."""
    if isinstance(value, dict):
        return {key: _copied(x) for key, x in value.items()}
    return [_copied(x) for x in value] if isinstance(value, list) else value


def outcome(call: Call) -> str:
    """The outcome of the builder."""
    kind, arguments = call
    with np.errstate(all="ignore"):
        return sound_robot(getattr(Robot, kind)(**arguments))


def _pick(options: Any, rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]


def _body(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "mass": float(rng.uniform(0.1, 5)),
        "com": rng.normal(size=3),
        "inertia": np.diag(rng.uniform(0.5, 0.9, 3)),
    }


def _links(rng: np.random.Generator) -> dict[str, Any]:
    links = []
    for k in range(int(rng.integers(1, 5))):
        joint = {"type": _pick(KINDS, rng), "axis": rng.normal(size=3), "name": f"joint{k}"}
        if rng.random() < 0.5:
            joint |= {"origin_xyz": rng.normal(size=3), "origin_rpy": rng.normal(size=3)}
        if rng.random() < 0.4:
            joint |= {key: DRIVE[key] for key in DRIVE if rng.random() < 0.5}
        if rng.random() < 0.3:
            joint["limits"] = (-1.0, 2.0)
        parent = None if k == 0 or rng.random() < 0.2 else f"link{int(rng.integers(k))}"
        links.append({"name": f"link{k}", "parent": parent, "joint": joint, **_body(rng)})
    arguments: dict[str, Any] = {"links": links}
    if rng.random() < 0.3:
        arguments |= {"base": np.eye(4), "tool": np.eye(4), "gravity": (0, 0, -9.81)}
    if rng.random() < 0.2:
        arguments |= {
            "frames": {"camera": ("link0", np.eye(4))},
            "tool_link": "link0",
            "name": "arm",
        }
    return arguments


def _dh(rng: np.random.Generator) -> dict[str, Any]:
    rows = []
    for _ in range(int(rng.integers(1, 5))):
        row = {key: float(rng.normal()) for key in ("a", "alpha", "d", "theta")}
        row |= {"joint": _pick(("revolute", "prismatic"), rng), **_body(rng)}
        rows.append(row | {key: DRIVE[key] for key in DRIVE if rng.random() < 0.2})
    return {"rows": rows, "convention": _pick(("standard", "modified"), rng)}


def _screws(rng: np.random.Generator) -> dict[str, Any]:
    count = int(rng.integers(1, 4))
    turns, frames = np.eye(3)[rng.integers(3, size=count)], [np.eye(4) for _ in range(count)]
    screws = [[*np.cross(rng.normal(size=3), w), *w] for w in turns]
    inertias = [(1.0, np.diag([0.5, 0.6, 0.7])) for _ in range(count)]
    more = {"parents": list(range(-1, count - 1)), "tool": np.eye(4)} if rng.random() < 0.5 else {}
    return {"screws": screws, "frames": frames, "inertias": inertias, **more}


def _change(arguments: dict[str, Any], rng: np.random.Generator) -> None:
    """One entry, at any depth, becomes something else, is lost, or gets an unknown neighbour."""
    holder: Any = arguments
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = _pick(keys, rng)
        deeper = holder[key]
        if isinstance(deeper, dict | list) and len(deeper) and rng.random() < 0.85:
            holder = deeper
            continue
        break
    draw = rng.random()
    if draw < 0.1 and (
        holder is not arguments or key not in ("links", "rows", "screws", "convention")
    ):
        if holder is not arguments:
            del holder[key]
    elif draw < 0.2 and isinstance(holder, dict) and holder is not arguments:
        holder[_pick(("colour", "", 3, None, "offset", "pitch", "axis2", "origin"), rng)] = _value(
            rng
        )
    else:
        holder[key] = _value(rng)


def _value(rng: np.random.Generator) -> Any:
    if rng.random() < 0.1:
        return hostile_name(rng)
    value = _pick(VALUES, rng)
    return value.copy() if isinstance(value, np.ndarray) else _copied(value)
