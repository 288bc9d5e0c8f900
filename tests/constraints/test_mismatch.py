"""Closed mechanisms whose data miss by 1e-12 to 1e-2: one threshold, and a clear error beyond it."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.zoo.entry import pinned, pose_at
from tests.constraints.test_geometry_decisions import OBLIQUE, along, hinged_panel, parallelogram

MISMATCHES = [0.0, *(10.0**k for k in range(-12, -1)), 3e-8, 3e-7, 3e-6, 3e-5]
MISMATCHES.sort()
BELOW = 1e-6  # m or rad: mechanisms that miss by less are read
INERTIA = 0.01 * np.eye(3)


def four_bar(off, directions="point"):
    """Closed by a pin that is `off` (3,) its place on the rocker."""
    links = [
        pinned("crank", None, (0.0, 0.0), 0.4, 1.0),
        pinned("coupler", "crank_rod", (0.4, 0.0), 1.0, 1.0),
        pinned("rocker", None, (0.9, 0.0), 0.7, 1.0),
    ]
    frames = {
        "end": ("coupler_rod", pose_at((1.0, 0.0, 0.0))),
        "tip": ("rocker_rod", pose_at((0.7 + off[0], off[1], off[2]))),
    }
    robot = dl.Robot.from_links(links, frames=frames, name="four_bar")
    return dl.Constrained(robot, [dl.Loop("end", "tip", directions)], guess=[1.0, -0.6, 1.4])


def slider_crank(missing):
    """The coupler's end is held to a carriage whose rail is beside the plane."""
    rail = {"type": "prismatic", "axis": (1, 0, 0), "name": "rail"}
    carriage = {"name": "carriage", "joint": rail, "mass": 1.0, "inertia": INERTIA}
    links = [
        pinned("crank", None, (0.0, 0.0), 0.3, 1.0),
        pinned("coupler", "crank_rod", (0.3, 0.0), 1.0, 1.0),
        carriage,
    ]
    frames = {
        "end": ("coupler_rod", pose_at((1.0, 0.0, 0.0))),
        "pin": ("carriage", pose_at((0.0, 0.0, missing))),
    }
    robot = dl.Robot.from_links(links, frames=frames, name="slider_crank")
    return dl.Constrained(robot, [dl.Loop("pin", "end", "point")], guess=[0.7, -0.9, 1.2])


def cranks(missing):
    """Three equal cranks with one coupler, the hole of the third `missing` metres off."""
    links = [
        pinned("c0", None, (0.0, 0.0), 1.0, 1.0),
        pinned("coupler", "c0_rod", (1.0, 0.0), 2.0, 2.0),
        pinned("c1", None, (1.0, 0.0), 1.0, 1.0),
        pinned("c2", None, (2.0, 0.0), 1.0, 1.0),
    ]
    frames = {
        "middle": ("coupler_rod", pose_at((1.0, 0.0, 0.0))),
        "end": ("coupler_rod", pose_at((2.0 + missing, 0.0, 0.0))),
        "tip1": ("c1_rod", pose_at((1.0, 0.0, 0.0))),
        "tip2": ("c2_rod", pose_at((1.0, 0.0, 0.0))),
    }
    robot = dl.Robot.from_links(links, frames=frames, name="cranks")
    pins = [dl.Loop("middle", "tip1", "pin"), dl.Loop("end", "tip2", "pin")]
    return dl.Constrained(robot, pins, guess=0.6 * np.array([1.0, -1.0, 1.0, 1.0]))


def bearing(missing, tilt=0.0):
    """A second bearing of a hinged panel beside the axis of its hinge, or tilted against it."""
    robot, pose = hinged_panel(OBLIQUE), along(OBLIQUE, 0.37)
    at = robot.pose([0.0], "door") @ pose
    turned = pose_at((missing, 0.0, 0.0))
    turned[:3, :3] = dl.spatial.rotation_from_rpy((tilt, 0.0, 0.0))
    loop = dl.Loop("base", "door", "revolute", pose_a=at, pose_b=pose @ turned)
    return dl.Constrained(robot, [loop])


def platform(carriers, rods, guess):
    """A platform in space on rods between points of carriers and of itself, of their lengths there."""
    free = {"name": "platform", "joint": {"type": "free", "name": "free"}, "mass": 2.0}
    robot = dl.Robot.from_links([*carriers, free | {"inertia": 0.1 * np.eye(3)}], name="platform")
    poses = {name: robot.pose(guess, name) for name, _, _, _ in rods}
    constrained = []
    for name, start, end, missing in rods:
        ends = poses[name] @ pose_at(start), robot.pose(guess, "platform") @ pose_at(end)
        length = float(np.linalg.norm(ends[1][:3, 3] - ends[0][:3, 3]))
        poses_of = {"pose_a": pose_at(start), "pose_b": pose_at(end)}
        constrained.append(dl.Distance(name, "platform", length + missing, **poses_of))
    return dl.Constrained(robot, constrained, guess=guess)


def around(k, radius, across=0.0, z=0.0):
    """A point (3,) on a circle, moved across it."""
    c, s = np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3)
    return c * radius - s * across, s * radius + c * across, z


def delta(missing):
    """Three arms with two parallel rods each, and a third one between those of the first arm."""
    arms = []
    for k in range(3):
        turned = {"type": "revolute", "axis": around(k, 0.0, 1.0), "name": f"arm{k}"}
        joint = turned | {"origin_xyz": around(k, 0.2)}
        com = around(k, 0.15)
        arms.append(
            {"name": f"arm{k}", "joint": joint, "mass": 0.5, "com": com, "inertia": INERTIA}
        )
    rods = [
        (f"arm{k}", around(k, 0.3, side), around(k, 0.1, side), 0.0)
        for k in range(3)
        for side in (-0.1, 0.1)
    ]
    rods.append(("arm0", around(0, 0.3), around(0, 0.1), missing))
    return platform(arms, rods, np.array([0.0, 0.0, 0.0, 0.0, 0.0, -0.6, 0.0, 0.0, 0.0, 1.0]))


def stewart(missing, doubled):
    """Six rods of constant length on six vertical rails; one of them may be there twice."""
    rails, rods = [], []
    for k in range(6):
        turn = k + (0.3 if k % 2 else -0.3)
        at = around(turn / 2, 0.5)
        joint = {"type": "prismatic", "axis": (0, 0, 1), "name": f"rail{k}", "origin_xyz": at}
        rails.append({"name": f"rail{k}", "joint": joint, "mass": 0.5, "inertia": INERTIA})
        end = around((k + (0.7 if k % 2 == 0 else -0.7) * 0.7) / 2, 0.25)
        rods.append((f"rail{k}", (0.0, 0.0, 0.0), end, missing if k == 0 and not doubled else 0.0))
    if doubled:
        rods.append((*rods[0][:3], missing))
    return platform(rails, rods, np.array([0.0] * 6 + [0.05, 0.02, 0.8, 0.0, 0.0, 0.0, 1.0]))


# mechanism, its freedoms, and whether rows are redundant, so that their data may contradict
MECHANISMS = {
    "four-bar, out of its plane": (lambda d: four_bar((0, 0, d)), 1, True),
    "four-bar, a hinge beside its plane": (lambda d: four_bar((0, 0, d), "revolute"), 1, True),
    "four-bar, along its rocker": (lambda d: four_bar((d, 0, 0)), 1, False),
    "slider-crank": (slider_crank, 1, True),
    "parallelogram": (parallelogram, 1, True),
    "three cranks": (cranks, 1, True),
    "bearing beside a hinge": (bearing, 1, True),
    "bearing tilted to a hinge": (lambda d: bearing(0.0, d), 1, True),
    "delta": (delta, 3, True),
    "Stewart platform": (lambda d: stewart(d, False), 6, False),
    "Stewart platform, a rod twice": (lambda d: stewart(d, True), 6, True),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_threshold_the_same_freedoms_below_it_and_an_error_beyond(name):
    build, freedoms, redundant = MECHANISMS[name]
    refused, drawn = [], build(0.0).neutral()
    for missing in MISMATCHES:
        try:
            closed = build(missing)
        except dl.ConstraintError as error:
            # the error says by how much rows miss, or the singular values that leave it open
            assert "is left open by" in str(error) or "singular values" in str(error)
            refused.append(True)
            continue
        assert closed.freedoms == freedoms, missing
        refused.append(False)
        q = closed.neutral()
        if redundant and missing < BELOW:  # digits move nothing: it is assembled where it was drawn
            assert np.abs(closed.difference(drawn, q)).max() < 1e-4, missing
        rest = np.zeros(closed.nv)
        qdd, _ = closed.reference("forward_dynamics", q, rest, rest)
        assert np.isfinite(qdd).all()
    assert refused == sorted(refused)
    assert not any(no for no, missing in zip(refused, MISMATCHES, strict=True) if missing < BELOW)
    assert refused[-1] == redundant
