"""Every number of a description has its shape and is finite, or is refused by name."""

import numpy as np
import pytest

from dalembert import Parameter, Robot
from dalembert.errors import ModelError, ParameterError

NAN, INF = float("nan"), float("inf")
BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.eye(3)}


def robot(joint=None, link=None, **more):
    joint = {"type": "revolute", "name": "elbow", **(joint or {})}
    return Robot.from_links([{"name": "arm", "joint": joint, **BODY, **(link or {})}], **more)


@pytest.mark.parametrize("value", [(1,), 1.0, (1, 2), (1, 2, 3, 4), [[1, 2, 3]], "123", None])
def test_origin_xyz_of_another_shape_is_never_spread_over_the_axes(value):
    with pytest.raises(ModelError, match=r"link 'arm': origin_xyz must be three finite numbers"):
        robot({"origin_xyz": value})


JOINT_KEYS = ("axis", "pitch", "offset", "viscous", "coulomb", "viscous_motor", "coulomb_motor")
JOINT_KEYS += ("rotor_inertia", "gear_ratio", "origin_xyz", "origin_rpy", "origin")


@pytest.mark.parametrize("key", JOINT_KEYS)
@pytest.mark.parametrize("bad", [NAN, INF, "1", None, {}, [], 1e200, [[1.0], [2.0, 3.0]]])
def test_numbers_of_joints_are_finite_or_refused_by_name(key, bad):
    if key == "origin" and bad is None:
        pytest.skip("no origin is the identity")
    many = {"axis": 3, "origin_xyz": 3, "origin_rpy": 3}.get(key)
    for value in (bad, [bad] * many) if many else (bad,):
        with pytest.raises(ModelError, match=rf"(elbow|arm).*{key}|{key}.*elbow"):
            robot({"type": "helical", key: value})


@pytest.mark.parametrize("key", ["mass", "com", "inertia"])
@pytest.mark.parametrize("bad", [NAN, INF, "1", None, (1.0,), 1e200])
def test_numbers_of_links_are_finite_or_refused_by_name(key, bad):
    with pytest.raises(ModelError, match=f"{key} of link 'arm'"):
        robot(link={key: bad})


@pytest.mark.parametrize("bad", [NAN, INF, "1.0", "inf", None, 1e200, 1 + 2j])
def test_numbers_beside_a_parameter_are_finite_or_refused_by_name(bad):
    length = Parameter("length", 0.5)
    for values in ([length, bad, 0.0], np.array([length, bad, 0.0], dtype=object)):
        with pytest.raises(ModelError, match="com of link 'arm' must be three finite numbers"):
            robot(link={"com": values})
    assert robot(link={"com": [2 * length, np.float32(1.0), 3]}).model.parameters


@pytest.mark.parametrize("key", ["limits", "velocity_limit", "effort_limit"])
@pytest.mark.parametrize(
    "bad", [NAN, (NAN, 1.0), (1.0, 0.0), "ab", (1.0, 2.0, 3.0), Parameter("x")]
)
def test_limits_may_be_infinite_but_are_numbers(key, bad):
    if key != "limits" and isinstance(bad, tuple) and len(bad) == 2:
        bad = [bad]
    with pytest.raises(ModelError, match="'elbow'"):
        robot({key: bad})


@pytest.mark.parametrize("key", ["base", "tool", "gravity"])
@pytest.mark.parametrize("bad", [NAN, np.full((4, 4), NAN), np.full(3, INF), np.zeros((4, 4)), "g"])
def test_base_tool_and_gravity_are_checked(key, bad):
    with pytest.raises(ModelError, match=key):
        robot(**{key: bad})


@pytest.mark.parametrize(
    "frames",
    [{"f": ("arm", np.full((4, 4), NAN))}, {"f": "arm"}, {"f": ("leg", None)}, [1], {1: 2}],
)
def test_frames_are_pairs_of_link_and_pose(frames):
    with pytest.raises(ModelError, match="frame"):
        robot(frames=frames)


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar"])
def test_offsets_of_joints_with_several_coordinates_are_kept(kind):
    offset = np.array([0.3, -0.7, 0.2])[: 3 if kind == "planar" else 2]
    axis = {"axis": (1, 0, 0)} if kind == "universal" else {}
    plain, moved = robot({"type": kind, **axis}), robot({"type": kind, "offset": offset, **axis})
    q = np.array([0.1, 0.4, -0.2])[: len(offset)]
    np.testing.assert_allclose(
        moved.reference("pose", q), plain.reference("pose", q + offset), atol=1e-15
    )
    with pytest.raises(ModelError, match="'elbow': offset, one for each coordinate"):
        robot({"type": kind, "offset": 0.3})


@pytest.mark.parametrize("kind", ["spherical", "free", "fixed"])
def test_joints_without_a_plain_coordinate_take_no_offset(kind):
    with pytest.raises(ModelError, match=f"'elbow': offset: a {kind} joint has none"):
        robot({"type": kind, "offset": 0.1})


@pytest.mark.parametrize(("key", "value"), [("pitch", 0.1), ("axis2", (0, 1, 0))])
def test_numbers_that_a_joint_has_no_use_for_are_refused(key, value):
    with pytest.raises(ModelError, match=f"'elbow': {key} is for"):
        robot({key: value})


def test_a_parameter_may_stand_in_origin_xyz():
    length = Parameter("l", 0.5)
    upper = {"name": "upper", "joint": {"type": "revolute"}, **BODY}
    lower = {"name": "lower", "parent": "upper", **BODY}
    robot = Robot.from_links(
        [upper, {**lower, "joint": {"type": "revolute", "origin_xyz": (length, 0, 0)}}]
    )
    plain = Robot.from_links(
        [upper, {**lower, "joint": {"type": "revolute", "origin_xyz": (0.7, 0, 0)}}]
    )
    q = np.array([0.3, 0.8])
    M = robot.mass_matrix(q, parameters={"l": 0.7})
    np.testing.assert_allclose(M, plain.mass_matrix(q), rtol=1e-14)


def test_the_plane_of_a_planar_joint_does_not_depend_on_the_length_of_its_axis():
    q = np.array([0.4, -0.3, 0.7])
    poses = [
        robot({"type": "planar", "axis": scale * np.array([1.0, 2.0, -2.0]) / 3.0}).reference(
            "pose", q
        )
        for scale in (1.0, 3.0)
    ]
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-15)


@pytest.mark.parametrize("links", [None, 3, "arm", [3], [None], [{}], [{"name": 3}], {"name": "a"}])
def test_what_is_no_list_of_links_is_refused(links):
    with pytest.raises(ModelError):
        Robot.from_links(links)


@pytest.mark.parametrize("name", ["a\x00b", "a\x1b[2J", "\ud800", 3, None])
def test_names_that_cannot_be_shown_are_refused(name):
    with pytest.raises(ModelError, match=r"control characters|needs a name"):
        robot(name=name)
    with pytest.raises(ModelError, match=r"control characters|needs a name"):
        robot(link={"name": name})


@pytest.mark.parametrize("value", ["1", [1.0], NAN, INF, 1j, {}])
def test_values_of_parameters_are_finite_numbers(value):
    with pytest.raises(ParameterError, match="give a finite number"):
        Parameter("m", value)
