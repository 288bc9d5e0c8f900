"""All postures of the tool's pose in a live page: those of the library, chosen by hand or by key."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.report.live_kernels import solutions_part
from dalembert.report.scene import poses_of
from tests.report.test_live import Q, pose, state

BUTTONS = ".solutions .row button"


@pytest.fixture
def tab(tab):
    """The live robot in a posture that is no special one, ghosts shown."""
    pose(tab)
    tab.get_by_label("show in the picture").check()
    return tab


def postures(tab):
    return np.array(tab.evaluate("posturesOf(live).inside.map((one) => Array.from(one))"))


def test_they_are_those_of_the_library_and_its_poses(tab):
    robot = dl.load("ur5")
    every = robot.all_inverse_kinematics(robot.pose(Q), turns=False)
    mine = postures(tab)
    assert len(mine) == every.count == tab.locator(BUTTONS).count()
    turns = (mine[:, None] - every.solutions) / (2 * np.pi)
    assert np.abs(turns - turns.round()).max(axis=-1).min(axis=1).max() < 1e-9
    assert (mine >= robot.lower).all() and (mine <= robot.upper).all()
    # the robot itself is one of them, the others are ghosts
    ghosts = tab.evaluate(
        """() => view.aids.children.filter((one) => one.visible && one.children[0]?.isGroup)
          .map((one) => one.children.filter((body) => body.isGroup)
            .map((body) => body.position.toArray()))"""
    )
    others = [q for q in mine if np.abs(q - Q).max() > 1e-6]
    expected = np.stack([poses_of(robot.model, q)[:, :3, 3] for q in others])
    np.testing.assert_allclose([one[: expected.shape[1]] for one in ghosts], expected, atol=1e-6)


def test_a_key_takes_one_and_the_tool_stays(tab):
    robot, k = dl.load("ur5"), 3
    there = postures(tab)[k]
    button = tab.locator(BUTTONS).nth(k)
    button.focus()
    tab.keyboard.press("Enter")
    np.testing.assert_allclose(state(tab), there, atol=1e-9)
    np.testing.assert_allclose(robot.pose(state(tab)), robot.pose(Q), atol=1e-9)
    assert button.get_attribute("aria-pressed") == "true"
    assert button.evaluate("(one) => one === document.activeElement")
    assert tab.locator(f"{BUTTONS}[aria-pressed=true]").count() == 1


def test_a_ghost_is_taken_in_the_picture(tab):
    """At a pixel where one is seen before the robot; dragging the view takes none."""
    script = """() => {
      const frame = view.canvas.getBoundingClientRect(), at = new THREE.Vector3();
      const ghosts = view.aids.children.filter((one) => one.visible && one.children[0]?.isGroup)
        .map((one) => one.children.filter((body) => body.isGroup));
      for (const ghost of ghosts) for (const body of ghost) {
        at.copy(body.position).project(view.camera);
        const clientX = frame.left + (0.5 + 0.5 * at.x) * frame.width;
        const clientY = frame.top + (0.5 - 0.5 * at.y) * frame.height;
        const event = { clientX, clientY }, own = linkUnder(event);
        if (!own && bodyUnder(event, ghost)) return [clientX, clientY];
      }
      return null;
    }"""
    x, y = tab.evaluate(script)
    choices = postures(tab)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 40, y, steps=3)
    tab.mouse.up()
    np.testing.assert_array_equal(state(tab), Q)
    x, y = tab.evaluate(script)
    tab.mouse.click(x, y)
    assert np.abs(state(tab) - Q).max() > 0.1
    assert np.abs(choices - state(tab)).max(axis=1).min() < 1e-6


def test_limits_take_some_and_other_arms_have_none(tab):
    """What is beyond the limits is counted; seven joints and loops have no such list."""
    tab.evaluate("live.joints.forEach((one) => { one.low = -2; one.high = 2; })")
    tab.evaluate("live.pose(live.q)")
    count = len(postures(tab))
    assert 0 < count < 8
    assert tab.locator(".solutions .head").text_content().count(f"{count} within the limits, ")
    for name in ("panda", "four_bar", "spherical_pendulum"):
        assert not solutions_part(dl.load(name)).kernels
    assert "branches" in solutions_part(dl.load("scara")).kernels
