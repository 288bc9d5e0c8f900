"""Every command: what it prints, its JSON, and that both are the library's own numbers."""

import json
from types import BuiltinFunctionType

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli import performance
from dalembert.cli.app import app

Q = [0.1, -1.2, 1.1, 0.3, -0.4, 0.5]
QD = [0.2, -0.1, 0.4, 0.0, 0.3, -0.2]
QDD = [1.0, 0.5, -0.5, 0.2, 0.1, 0.0]


def text(values):
    return ",".join(map(repr, values))


def run(*args):
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*args):
    return json.loads(run(*args, "--json"))


@pytest.fixture(scope="module")
def ur5():
    return dl.load("ur5")


@pytest.fixture
def mixed(monkeypatch):
    """A robot with a quaternion and a compound joint, under the name `mixed`."""
    solid = {"mass": 1.0, "com": (0.0, 0.1, 0.2), "inertia": np.eye(3)}
    links = [
        {"name": "ball", "joint": {"type": "spherical", "name": "socket"}, **solid},
        {"name": "cross", "parent": "ball", "joint": {"type": "cylindrical"}, **solid},
    ]
    robot = dl.Robot.from_links(links, name="mixed")
    monkeypatch.setattr(dl, "load", lambda name: robot)
    return robot


def test_version():
    assert run("--version").strip() == f"dalembert {dl.__version__}"


def test_help_names_every_command_and_has_examples():
    output = run("--help")
    for command in ("zoo", "info", "inverse", "forward", "matrices", "bench", "demo"):
        assert command in output
        assert "Usage" in run(command, "--help")
    assert "Examples: dalembert inverse" in run("inverse", "--help")


def test_zoo():
    rows = run_json("zoo")
    robots = rows[: len(dl.zoo.names())]
    assert [row["name"] for row in robots] == list(dl.zoo.names())
    assert all(set(row) == {"name", "joints", "dof", "title", "citation"} for row in robots)
    others = (*dl.zoo.systems(), *dl.zoo.mechanisms(), *dl.zoo.bodies())
    assert [row["name"] for row in rows[len(robots) :]] == list(others)
    panda = next(row for row in rows if row["name"] == "panda")
    assert (panda["joints"], panda["dof"]) == (7, 7)
    assert all(row["name"] in run("zoo") for row in rows)


def test_info(ur5):
    facts = run_json("info", "ur5")
    assert [joint["name"] for joint in facts["joints"]] == [joint.name for joint in ur5.joints]
    assert facts["total_mass"] == pytest.approx(sum(joint["mass"] for joint in facts["joints"]))
    assert [joint["parent"] for joint in facts["joints"]][:2] == ["base", "shoulder_link"]
    assert facts["gravity"] == [0.0, 0.0, -9.81]
    assert set(facts["frames"]) == set(ur5.frames)
    counts = facts["operation_counts"]["inverse_dynamics"]
    assert counts["multiplications"] == ur5.operation_count("inverse_dynamics").multiplications
    output = run("info", "ur5")
    for expected in ("Universal Robots UR5", "elbow_joint", "revolute", "8.393", "150 N m", "tool"):
        assert expected in output


def test_info_writes_missing_limits_as_null():
    joint = run_json("info", "pendulum")["joints"][0]
    assert joint["lower"] == [None]
    assert joint["effort_limit"] is None


def test_inverse(ur5):
    options = ("--q", text(Q), "--qd", text(QD), "--qdd", text(QDD))
    data = run_json("inverse", "ur5", *options)
    assert list(data) == ["robot", "formulation", "joints", "q", "qd", "qdd", "tau", "units"]
    assert data["tau"] == ur5.inverse_dynamics(Q, QD, QDD).tolist()  # every digit survives
    assert data["units"] == ["N m"] * 6
    output = run("inverse", "ur5", *options)
    assert all(f"{torque:.6g}" in output for torque in data["tau"])


def test_inverse_as_a_table(ur5):
    """Link by link: every digit in JSON, six on paper; what is no tree of links has none."""
    options = ("--q", text(Q), "--qd", text(QD), "--table", "--formulation", "craig")
    data, table = (
        run_json("inverse", "ur5", *options),
        ur5.recursion(Q, QD, [0.0] * 6, formulation="craig"),
    )
    assert data["omega"] == table["omega"].tolist() and data["links"] == list(table.links)
    assert data["units"]["n"] == "N m"
    output = run("inverse", "ur5", *options)
    assert "v̇_C  acceleration of the centre of mass" in output
    assert all(f"{x:.6g}" in output for x in table["n"][2])
    refused = CliRunner().invoke(app, ["inverse", "four_bar", "--table"])
    assert refused.exit_code != 0 and "not a tree of links" in refused.output


def test_omitted_motion_is_rest(ur5):
    data = run_json("inverse", "ur5", "--q", text(Q))
    np.testing.assert_allclose(data["tau"], ur5.gravity_torque(Q), rtol=1e-12, atol=1e-12)
    assert run_json("inverse", "ur5")["q"] == ur5.neutral().tolist()


@pytest.mark.parametrize(
    "words",
    [
        ["--q", "10,-20"],
        ["--q", "10 -20"],
        ["--q", "10", "-20"],
        ["--q", "10,", "-20"],
        ["--q=10", "-20"],
        ["--q", "1e1,-2e1"],
    ],
)
def test_lists_are_separated_by_commas_or_spaces(words):
    data = run_json("inverse", *words, "planar_2r", "--deg")
    np.testing.assert_allclose(data["q"], np.radians([10.0, -20.0]), rtol=1e-15)


def test_degrees_leave_lengths_alone():
    data = run_json("inverse", "rp", "--q", "90,0.5", "--qd", "180,2", "--deg")
    np.testing.assert_allclose(data["q"], [np.pi / 2, 0.5], rtol=1e-15)
    np.testing.assert_allclose(data["qd"], [np.pi, 2.0], rtol=1e-15)
    assert data["units"] == ["N m", "N"]
    output = run("inverse", "rp", "--q", "90,0.5", "--deg")
    assert "0.5 m" in output
    assert "1.5708 rad" in output


def test_tip_wrench_and_formulation(ur5):
    wrench = [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]
    args = ("--q", text(Q), "--tip-wrench", text(wrench), "--formulation", "newton_euler")
    data = run_json("inverse", "ur5", *args)
    zero = np.zeros(6)
    assert data["tip_wrench"] == wrench
    assert data["tau"] == ur5.inverse_dynamics(Q, zero, zero, tip_wrench=wrench).tolist()


def test_forward_undoes_inverse(ur5):
    tau = ur5.inverse_dynamics(Q, QD, QDD)
    options = ("--q", text(Q), "--qd", text(QD), "--tau", text(tau.tolist()))
    data = run_json("forward", "ur5", *options)
    assert list(data) == ["robot", "formulation", "joints", "q", "qd", "tau", "qdd", "units"]
    np.testing.assert_allclose(data["qdd"], QDD, rtol=1e-10, atol=1e-12)
    assert "rad/s²" in run("forward", "ur5", *options)


def test_matrices(ur5):
    data = run_json("matrices", "ur5", "--q", text(Q), "--qd", text(QD), "--frame", "ee_link")
    assert data["mass_matrix"] == ur5.mass_matrix(Q).tolist()
    assert data["bias"] == ur5.bias(Q, QD).tolist()
    assert data["gravity_torque"] == ur5.gravity_torque(Q).tolist()
    assert data["kinetic_energy"] == ur5.kinetic_energy(Q, QD)
    assert data["potential_energy"] == ur5.potential_energy(Q)
    assert data["pose"] == ur5.pose(Q, frame="ee_link").tolist()
    assert data["jacobian"] == ur5.jacobian(Q, frame="ee_link").tolist()
    output = run("matrices", "ur5", "--q", text(Q))
    for expected in ("Mass matrix", "gravity", "Pose of 'tool'", "Body Jacobian", "kinetic energy"):
        assert expected in output


def test_quaternions_and_compound_joints(mixed):
    q = [0.0, 0.0, 0.0, 1.0, 0.3, 90.0]
    data = run_json("inverse", "mixed", "--q", text(q), "--qd", "0 0 90 1 0", "--deg")
    assert data["joints"] == [*(f"socket[{k}]" for k in range(3)), "cross[0]", "cross[1]"]
    assert data["units"] == ["N m", "N m", "N m", "N", "N m"]
    np.testing.assert_allclose(data["q"], [0.0, 0.0, 0.0, 1.0, 0.3, np.pi / 2])
    np.testing.assert_allclose(data["qd"], [0.0, 0.0, np.pi / 2, 1.0, 0.0])
    output = run("inverse", "mixed")
    assert "socket[3]" in output  # q has a table of its own
    assert "spherical" in run("info", "mixed")
    assert run_json("info", "mixed")["joints"][1]["depth"] == 1
    assert "kinetic energy" in run("matrices", "mixed")


def test_bench(monkeypatch):
    monkeypatch.setattr("dalembert.cli.performance.SECONDS", 0.01)
    results = run_json("bench", "planar_2r", "-n", "2000")["results"]
    assert {row["quantity"] for row in results} == {
        "inverse_dynamics",
        "forward_dynamics",
        "mass_matrix",
    }
    threads = dl.get_num_threads()
    assert {(row["states"], row["threads"]) for row in results} == {
        (1, 1),
        (2000, 1),
        (2000, threads),
    }
    for row in results:
        assert row["seconds"] > 0
        assert row["ns_per_state"] * row["states_per_second"] == pytest.approx(1e9)
    assert "states/s" in run("bench", "planar_2r", "-n", "100")
    assert dl.get_num_threads() == threads


def test_bench_measures_the_call_that_users_make(monkeypatch):
    """After three calls a builtin stands in front of the method, fifty times as quick."""
    called = []
    monkeypatch.setattr(performance, "fastest", lambda call: called.append(call.func) or 1.0)
    run("bench", "planar_2r", "-n", "10")
    assert len(called) >= 6
    assert all(isinstance(function, BuiltinFunctionType) for function in called)


@pytest.mark.parametrize("command", ["info", "inverse", "simulate"])
def test_flags_take_no_value_in_the_help(command):
    output = run(command, "--help")
    assert "--json" in output and "<bool>" not in output


def test_trusted_folders_and_what_is_left_out_of_a_file(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "parts").mkdir()
    (tmp_path / "robot").mkdir()
    arm = """<mujoco><worldbody><body name="arm"><joint name="j"/><geom size=".1" pos="1 0 0"/></body>
      </worldbody><actuator><plugin joint="j" plugin="some.servo"/></actuator></mujoco>"""
    (tmp_path / "parts" / "arm.xml").write_text(arm)
    main = tmp_path / "robot" / "robot.xml"
    main.write_text('<mujoco><include file="../parts/arm.xml"/></mujoco>')
    refused = CliRunner().invoke(app, ["info", str(main)])
    assert refused.exit_code == 1 and "trust='..'" in str(refused.output) + str(refused.exception)
    output = " ".join(run("--trust", "..", "info", main).split())
    assert "what name effect" in output and "some.servo its forces are not computed" in output
    facts = run_json("--trust", "../parts", "info", main)
    assert facts["left_out"][0]["name"] == "some.servo"


# any quantity, and the health of an installation


def test_evaluate_lists_the_whole_catalogue(ur5):
    rows = run_json("evaluate", "ur5")
    assert [row["quantity"] for row in rows] == list(ur5.dynamics.catalogue)
    assert "craig" in rows[0]["formulations"]
    assert all(row["quantity"] in run("evaluate", "ur5") for row in rows)


def test_evaluate_gives_the_numbers_of_the_library(ur5):
    out = run_json("evaluate", "ur5", "coriolis_matrix", "--q", text(Q), "--qd", text(QD))
    assert np.array_equal(out["C"], ur5.coriolis_matrix(Q, QD))
    assert out["formulation"] == "christoffel"
    out = run_json("evaluate", "ur5", "jacobian", "--q", text(Q), "--set", "frame=wrist_1_link")
    assert np.array_equal(out["J"], ur5.jacobian(Q, "wrist_1_link"))
    options = ("--q", text(Q), "--set", "tip_wrench=1,2,3,4,5,6", "--formulation", "craig")
    out = run_json("evaluate", "ur5", "inverse_dynamics", *options)
    still = np.zeros(6)
    expected = ur5.inverse_dynamics(
        Q, still, still, tip_wrench=[1, 2, 3, 4, 5, 6], formulation="craig"
    )
    assert np.array_equal(out["tau"], expected)
    assert np.array_equal(out["tip_wrench"], [1, 2, 3, 4, 5, 6])


def test_evaluate_names_rows_and_columns():
    output = run("evaluate", "four_bar", "projectors")
    assert all(name in output for name in ("P_w", "P_T", "crank", "coupler", "rocker"))
    assert "G, link2_joint" in run("evaluate", "planar_2r", "christoffel", "--q", "0.3", "0.4")
    assert "H = " in run("evaluate", "planar_2r", "hamiltonian", "--set", "p=1,2")


def test_evaluate_reads_a_file(tmp_path, ur5):
    path = tmp_path / "arm.urdf"
    path.write_text(ur5.to_urdf())
    out = run_json("evaluate", path, "mass_matrix", "--q", text(Q))
    assert np.allclose(out["M"], ur5.mass_matrix(Q), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("christofel",), "did you mean 'christoffel'"),
        (("christoffel", "--qd", "1,2"), "--qd: christoffel takes q"),
        (("pose", "--set", "fame=tool"), "--set fame: pose takes no 'fame'; did you mean 'frame'"),
        (("hamiltonian", "--set", "p=1"), "--set p of planar_2r needs 2 numbers"),
        (("bias", "--formulation", "craig"), "bias has no formulation 'craig'"),
    ],
)
def test_evaluate_refuses_in_one_sentence(options, message):
    result = CliRunner().invoke(app, ["evaluate", "planar_2r", *options])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_doctor_reports_a_healthy_installation():
    facts = run_json("doctor")
    assert facts["healthy"] is True
    assert len(facts["checks"]) == 4
    assert facts["versions"]["numpy"] == np.__version__
    assert "puma560" not in facts["extras"]
    assert "forward dynamics returns the accelerations" in run("doctor")


def test_doctor_fails_where_kernels_are_wrong(monkeypatch):
    monkeypatch.setattr(performance, "AGREEMENT", 0.0)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "computes wrong numbers" in result.stderr
    assert "dalembert cache --clear" in result.stderr


# examples


def test_examples_are_listed():
    rows = run_json("example")
    assert len(rows) >= 25
    assert all(row["summary"] for row in rows)
    assert "swing" in run("example")


def test_an_example_is_shown_copied_and_run(tmp_path, capfd):
    assert "solve_ivp" in run("example", "swing", "--show")
    run("example", "swing", "--copy", tmp_path / "mine")
    copy = tmp_path / "mine" / "swing.py"
    assert copy.read_text() == run("example", "swing", "--show")
    again = CliRunner().invoke(app, ["example", "swing", "--copy", str(copy.parent)])
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert "energy drift" in run("example", "swing", "--out", tmp_path)
    assert (tmp_path / "swing.png").stat().st_size > 1000
    wrong = CliRunner().invoke(app, ["example", "swings"])
    assert "there is no example 'swings'; did you mean 'swing'?" in " ".join(wrong.stderr.split())
