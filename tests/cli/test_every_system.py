"""Every command on every system of the zoo, on a file whose joints follow others, and a closed one."""

import json
import re

import pytest
from typer.testing import CliRunner

from dalembert import zoo
from dalembert.cli import performance
from dalembert.cli.app import app
from dalembert.report import comparison, page

# each program of a closed biped takes half a minute to compile; smaller closed chains are here
LARGE = ("cassie",)
NAMES = tuple(
    name
    for name in (*zoo.names(), *zoo.systems(), *zoo.mechanisms(), *zoo.bodies())
    if name not in LARGE
)
COMMANDS = {
    "info": ("--json",),
    "inverse": (),
    "forward": (),
    "matrices": (),
    "equations": ("--quantity", "M", "--simplify", "fast"),
    "count": ("--quantity", "mass_matrix"),
    "bench": ("--states", "3"),
    "export": ("--quantity", "mass_matrix"),
    "simulate": ("--duration", "0.02", "--dt", "0.01"),
    "report": (),
}
# M of seven joints takes ten seconds to write, their gravity one; M of six is written too
SEVEN = ("panda",)
# other numbers for mechanisms that are here anyway, or larger ones of the same kind (two arms with a
# box are spatial loops, like a Stewart platform): `info` only
SIMILAR = (
    "ur3",
    "ur10",
    "rx90",
    "iiwa14",
    "xarm7",
    "kinova_gen3",
    "double_four_bar",
    "hanging_chain",
    "two_arms_with_box",
)
CASES = [
    (command, name)
    for command in COMMANDS
    for name in (*NAMES, "mimic.urdf", "closed.xml")
    if command == "info" or name not in SIMILAR
]
MIMIC = """<robot name="gripper">
  <link name="palm"/>
  <link name="left"><inertial><origin xyz="0.1 0 0"/><mass value="0.4"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/></inertial></link>
  <link name="right"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>
    <inertia ixx="1e-3" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/></inertial></link>
  <link name="tip"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="drive" type="revolute"><parent link="palm"/><child link="left"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="3"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="other" type="revolute"><parent link="palm"/><child link="right"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="3"/>
    <dynamics damping="0.05" friction="0.1"/><mimic joint="drive" multiplier="-1.5"/></joint>
  <joint name="finger" type="prismatic"><origin xyz="0.2 0 0"/><parent link="right"/>
    <child link="tip"/><axis xyz="1 0 0"/><limit lower="0" upper="0.1" effort="5" velocity="1"/>
  </joint>
</robot>"""


CLOSED = """<mujoco model="four_bar_of_a_file">
  <compiler angle="radian"/><default><joint axis="0 1 0"/><geom type="capsule" size="0.02"/></default>
  <worldbody>
    <body name="crank"><joint name="crank"/><geom fromto="0 0 0 0 0 0.3"/>
      <body name="coupler" pos="0 0 0.3"><joint name="coupler"/><geom fromto="0 0 0 0.8 0 0.3"/>
      </body></body>
    <body name="rocker" pos="0.7 0 0"><joint name="rocker"/><geom fromto="0 0 0 0.1 0 0.6"/></body>
  </worldbody>
  <equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.8 0 0.3"/></equality>
</mujoco>"""
WRITTEN = {"mimic.urdf": MIMIC, "closed.xml": CLOSED}


def run(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def subject(request, tmp_path):
    """A name of the zoo, or the path of the file."""
    if request.param not in WRITTEN:
        return request.param
    path = tmp_path / request.param
    path.write_text(WRITTEN[request.param])
    return str(path)


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Less of everything that only repeats, and files in a folder of the test."""
    monkeypatch.setattr(performance, "SECONDS", 0.0)
    monkeypatch.setattr(comparison, "STATES", 5)
    monkeypatch.setattr(comparison, "LARGE", 0)
    monkeypatch.setattr(comparison, "LARGE", 0)
    # every formulation is compared in tests/formulations and tests/constraints, on a page in
    # tests/report/test_page.py
    monkeypatch.setattr(comparison, "formulations", lambda system: ())
    monkeypatch.setattr(page, "SECONDS", 0.1)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("command", "subject"), CASES, indirect=["subject"])
def test_it_works_or_says_why_not(quick, command, subject):
    options = COMMANDS[command]
    if command == "equations" and subject in SEVEN:
        options = ("--quantity", "g", "--simplify", "fast")
    done = run(command, subject, *options)
    if done.exit_code == 0:
        assert done.output.strip()
        return
    assert (command, subject) in REFUSED, done.output
    # one sentence, in the words of the user, and no traceback
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (1, 2)
    message = " ".join((done.stderr or done.stdout).split())
    assert re.search(r"(error|failed|diverged|stalled): .{20,}", message), done.output


# at its reference posture, the pole, the mass matrix of a spherical pendulum is singular; systems that
# are solved sparsely, on numbers, have no program to evaluate, count, print or export
REFUSED = {(command, "spherical_pendulum") for command in ("forward", "simulate")} | {
    (command, name)
    for name in ("n_four_bar", "hanging_chain")
    for command in COMMANDS
    if command not in ("info", "simulate")
}


def test_a_state_off_the_constraints_is_refused():
    done = run("forward", "four_bar", "--q", "0.3 0.1 0.2")
    assert done.exit_code == 2
    assert "misses the constraints of four_bar" in done.stderr


def test_forces_of_constraints_are_listed():
    done = run("forward", "four_bar", "--json")
    facts = json.loads(done.stdout)
    assert len(facts["lam"]) > 0 and len(facts["qdd"]) == len(facts["joints"])


@pytest.mark.parametrize(("name", "freedoms"), [("two_bars", 2), ("four_bar", 1), ("ur5", 6)])
def test_freedoms_are_what_the_joints_leave(name, freedoms):
    assert json.loads(run("info", name, "--json").stdout)["freedoms"] == freedoms
