"""The zoo as a collection: every entry builds, is cited, and is found by its name."""

import sys

import numpy as np
import pytest

from dalembert import zoo
from dalembert.errors import DalembertError, UnknownNameError
from dalembert.zoo import six_joint_arms as arms


@pytest.mark.parametrize("name", zoo.names())
def test_every_entry_builds_a_regular_robot(name):
    entry = zoo.entry(name)
    robot = entry.build()
    assert entry.name == robot.name == name
    assert entry.title and entry.citation
    M = robot.reference("mass_matrix", robot.neutral() + 0.3)
    np.testing.assert_allclose(M, M.T, atol=1e-14)
    assert np.linalg.eigvalsh(M)[0] > 0.0


@pytest.mark.parametrize(
    ("name", "expected"), [("puma", "puma560"), ("UR-5", "ur5"), ("planar2r", "planar_2r")]
)
def test_unknown_name_suggests_the_nearest(name, expected):
    with pytest.raises(UnknownNameError, match=f"did you mean '{expected}'"):
        zoo.entry(name)


def test_name_like_no_other_lists_the_zoo():
    with pytest.raises(UnknownNameError, match="The zoo has: pendulum, planar_2r") as caught:
        zoo.entry("qqqq")
    assert "did you mean" not in str(caught.value)


def test_regrouped_puma_keeps_what_turns_with_joint_3():
    """What link 2 gives up across the axis of joint 3, link 3 takes; along it nothing changes."""
    (_, second, third, *_), (_, given2, given3, *_) = (
        arms.PUMA_MOMENTS,
        arms.puma_moments(),
    )
    np.testing.assert_allclose(np.subtract(second, given2), [arms.PUMA_MOVED, arms.PUMA_MOVED, 0.0])
    np.testing.assert_allclose(np.subtract(given3, third), [arms.PUMA_MOVED, 0.0, arms.PUMA_MOVED])


def test_stanford_arm_slides_on_its_third_joint():
    robot = zoo.entry("stanford").build()
    assert [joint.kind for joint in robot.joints].index("prismatic") == 2
    J = robot.reference("jacobian", np.full(6, 0.3), frame="tool", expressed_in="world")
    np.testing.assert_allclose(J[3:, 2], 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(J[:3, 2]), 1.0)
    assert robot.joints[2].lower[0] == pytest.approx(12 * arms.INCH)


def test_every_name_is_in_its_file():
    """The table of names must agree with the files; a file may not hold a name the table lacks."""
    from dalembert import zoo
    from dalembert.zoo.entry import REGISTERED

    listed = {*zoo.names(), *zoo.systems(), *zoo.mechanisms(), *zoo.bodies()}
    assert {zoo.entry(name).name for name in listed} == listed
    files = {f"dalembert.zoo.{file}" for file in zoo._FILES.values()}
    assert {m.name for m in REGISTERED.values() if m.build.__module__ in files} == listed


# robots of the package robot_descriptions, which has one module for each


@pytest.fixture
def descriptions(tmp_path, monkeypatch):
    """A package of that name with a robot that was downloaded before."""
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    (package / "__init__.py").write_text("")
    files = f"REPOSITORY_PATH = {str(tmp_path)!r}\nURDF_PATH = REPOSITORY_PATH + '/arm/arm.urdf'\n"
    (package / "arm_description.py").write_text(files)
    (package / "hand_description.py").write_text("SRDF_PATH = 'hand.srdf'")
    (package / "new_description.py").write_text("import a_package_that_is_not_installed")
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "arm.urdf").write_text(zoo.load("ur5").to_urdf())
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_a_robot_of_robot_descriptions_is_loaded(descriptions):
    q = np.full(6, 0.3)
    M = zoo.load("robot_descriptions:arm_description").mass_matrix(q)
    np.testing.assert_allclose(M, zoo.load("ur5").mass_matrix(q), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leg_description", "robot_descriptions has no 'leg_description'"),
        ("hand_description", "has neither a URDF nor an MJCF file"),
        ("new_description", "needs the package a_package_that_is_not_installed: pip install"),
    ],
)
def test_what_robot_descriptions_lacks_is_named(descriptions, name, message):
    with pytest.raises(DalembertError, match=message):
        zoo.load(f"robot_descriptions:{name}")
