"""Every way in which URDFs close chains gives the four-bar linkage that links and a Loop give."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained

LINKS = "".join(
    f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{length}"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="{length**3 / 12}" iyz="0" izz="{length**3 / 12}"/>
    </inertial></link>"""
    for name, length in (("crank", 0.35), ("coupler", 0.9), ("rocker", 0.8))
)
JOINTS = "".join(
    f"""<joint name="{child}" type="continuous"><origin xyz="{x} 0 0" rpy="0 0 {turn}"/>
    <parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/></joint>"""
    for child, parent, x, turn in (
        ("crank", "ground", 0, 1.1),
        ("coupler", "crank", 0.35, -1.0),
        ("rocker", "ground", 1, 1.8),
    )
)
ROBOT = f"""<robot name="four_bar" xmlns:dalembert="urn:dalembert">
  <link name="ground"/>{LINKS}{JOINTS}{{loops}}</robot>"""
SYNTAXES = {
    "urdf+": """<loop name="pin" type="continuous"><axis xyz="0 0 1"/>
      <predecessor link="coupler"><origin xyz="0.9 0 0"/></predecessor>
      <successor link="rocker"><origin xyz="0.8 0 0"/></successor></loop>""",
    "origins beside": """<loop name="pin" type="spherical"><predecessor link="coupler"/>
      <predecessor_origin xyz="0.9 0 0"/><successor link="rocker"/>
      <successor_origin xyz="0.8 0 0"/></loop>""",
    "loop_joint": """<loop_joint name="pin" type="spherical"><link1 link="coupler" xyz="0.9 0 0"/>
      <link2 link="rocker" xyz="0.8 0 0" rpy="0 0 0"/></loop_joint>""",
    "isaac": """<loop_joint name="pin" type="spherical"><link1 link="coupler" xyz="0.9 0 0"/>
      <link1 link="rocker" xyz="0.8 0 0"/></loop_joint>""",
    "parent and child": """<loop_joint name="pin" type="revolute"><parent link="coupler"/>
      <child link="rocker"/><parent_origin xyz="0.9 0 0"/><child_origin xyz="0.8 0 0"/>
      <axis xyz="0 0 1" frame="parent"/></loop_joint>""",
    "our own": """<loop name="pin" dalembert:directions="x y"><predecessor link="coupler">
      <origin xyz="0.9 0 0"/></predecessor><successor link="rocker"><origin xyz="0.8 0 0"/>
      </successor></loop>""",
}
FREE = SYNTAXES["urdf+"]


def load(tmp_path, text: str, **options):
    path = tmp_path / "four_bar.urdf"
    path.write_text(ROBOT.format(loops=text))
    return dl.load(path, **options)


def acceleration(closed: Constrained) -> np.ndarray:
    """q̈ at the posture with the crank where the file draws it."""
    q = closed.assemble(np.zeros(3), fixed=("crank",))
    A = closed.reference("jacobian", q)
    qd = np.array([1.0, 0.5, -0.3])
    qd = qd - np.linalg.lstsq(A, A @ qd, rcond=1e-9)[0]
    return closed.reference("forward_dynamics", q, qd, np.array([0.3, 0.1, -0.2]))[0]


@pytest.fixture(scope="module")
def expected_acceleration():
    robot = dl.Robot.from_urdf(ROBOT.format(loops=""))
    poses = [np.eye(4), np.eye(4)]
    poses[0][0, 3], poses[1][0, 3] = 0.9, 0.8
    return acceleration(Constrained(robot, [dl.Loop("coupler", "rocker", "point", *poses)]))


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_way_closes_the_same_chain(tmp_path, syntax, expected_acceleration):
    closed = load(tmp_path, SYNTAXES[syntax])
    assert isinstance(closed, Constrained) and closed.freedoms == 1
    assert not closed.robot.notes.warnings and not closed.robot.notes.left_out
    np.testing.assert_allclose(acceleration(closed), expected_acceleration, rtol=1e-10)


def test_a_joint_of_gazebo_closes_the_chain_as_it_is_drawn(tmp_path):
    """Its frame is given in the child; in the parent it is where it lies with all joints at zero."""
    closed = load(
        tmp_path,
        """<gazebo><joint name="pin" type="revolute"><parent>coupler</parent><child>rocker</child>
        <pose>0.8 0 0 0 0 0</pose><axis><xyz>0 0 1</xyz></axis></joint></gazebo>
        <gazebo reference="crank"><material>Gazebo/Blue</material></gazebo>""",
    )
    assert closed.freedoms == 1 and closed.robot.notes.ignored == ("gazebo (1)",)
    np.testing.assert_allclose(closed.neutral(), 0.0, atol=1e-12)
    one = load(
        tmp_path,
        """<gazebo><joint name="pin" type="revolute"><parent>coupler</parent><child>world</child>
        <pose>1.2 0.3 0 0.4 0 0</pose><axis><xyz>0 0 1</xyz>
        <use_parent_model_frame>1</use_parent_model_frame></axis></joint></gazebo>""",
    )
    np.testing.assert_allclose(one.neutral(), 0.0, atol=1e-12)
    (equality,) = one.robot.notes.equalities
    np.testing.assert_allclose(np.array(equality.pose_second)[:3, 2], [0, 0, 1], atol=1e-15)


def test_what_gazebo_closes_in_ways_unknown_here_is_left_out_and_said(tmp_path):
    text = """<gazebo><joint name="gear" type="gearbox"><parent>crank</parent><child>rocker</child>
      </joint></gazebo>"""
    robot = load(tmp_path, text)
    (left,) = robot.notes.left_out
    assert (left.what, left.name) == ("joint of Gazebo", "gear") and "gearbox" in left.effect


def test_couplings_of_urdf_plus_and_of_gazebos_plugin(tmp_path):
    """ratio · q to the predecessor = q to the successor, from their nearest common ancestor."""
    ratio = """<coupling name="belt"><predecessor link="crank"/><successor link="rocker"/>
      <ratio value="-1.5"/></coupling>"""
    plugin = """<gazebo><plugin name="m" filename="libgazebo_mimic_joint_plugin.so">
      <joint>crank</joint><mimicJoint>rocker</mimicJoint><multiplier>-1.5</multiplier></plugin>
      </gazebo>"""
    ours = '<dalembert:coupling name="b" follower="rocker" leader="crank" polynomial="0 -1.5"/>'
    for text in (ratio, plugin, ours):
        (equality,) = load(tmp_path, text).robot.notes.equalities
        assert (equality.kind, equality.first, equality.second) == ("joint", "rocker", "crank")
        assert equality.polynomial == (0.0, -1.5)
    locked = ratio.replace('predecessor link="crank"', 'predecessor link="ground"')
    assert load(tmp_path, locked).robot.notes.equalities[0].second is None
    same = ratio.replace('successor link="rocker"', 'successor link="crank"')
    nothing = same.replace("-1.5", "1")
    (left,) = load(tmp_path, nothing).notes.left_out
    assert left.what == "coupling" and "nothing" in left.effect


SEVERAL = """<coupling name="belt"><predecessor link="coupler"/><successor link="rocker"/>
  <ratio value="-1.5"/></coupling>"""


def test_couplings_over_several_joints(tmp_path):
    """−1.5 (q_crank + q_coupler) = q_rocker, held by the force of least constraint."""
    closed = load(tmp_path, SEVERAL)
    A = np.array([[-1.5, -1.5, -1.0]])
    assert closed.freedoms == 2
    q, qd, tau = (
        np.array([0.3, -0.2, -0.15]),
        np.array([0.4, 0.5, -1.35]),
        np.array([1.0, 0.0, 2.0]),
    )
    np.testing.assert_allclose(A @ q, 0.0, atol=1e-15)
    M, h = closed.robot.reference("mass_matrix", q), closed.robot.reference("bias", q, qd)
    M_inverse = np.linalg.inv(M)
    free = M_inverse @ (tau - h)
    expected = free - M_inverse @ A.T @ np.linalg.solve(A @ M_inverse @ A.T, A @ free)
    equalities, lam = closed.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(equalities, expected, rtol=1e-10)
    assert set(closed.reactions(q, lam)) <= {"belt"}
    for again in (closed.to_urdf(), closed.to_mjcf()):
        path = tmp_path / ("again.urdf" if "<robot" in again else "again.xml")
        path.write_text(again)
        np.testing.assert_allclose(
            dl.load(path).forward_dynamics(q, qd, tau)[0], equalities, rtol=1e-9
        )
    (tmp_path / "tree.urdf").write_text(ROBOT.format(loops=""))
    (tmp_path / "tree.loops.toml").write_text(closed.to_loops())
    same = dl.load(tmp_path / "tree.urdf")
    np.testing.assert_allclose(same.forward_dynamics(q, qd, tau)[0], equalities, rtol=1e-12)


def test_couplings_of_joints_that_are_held_or_follow(tmp_path):
    path = tmp_path / "held.urdf"
    path.write_text(ROBOT.format(loops=SEVERAL))
    locked = dl.load(path, joints=["coupler", "rocker"], posture={"crank": 0.2})
    (equality,) = locked.robot.notes.equalities
    assert (equality.first, equality.second) == ("rocker", "coupler")
    assert equality.polynomial == pytest.approx((-0.3, -1.5))
    mimic = '<mimic joint="crank" multiplier="2" offset="0.1"/></joint>'
    head, tail = ROBOT.format(loops=SEVERAL).split('<joint name="coupler"')
    path.write_text(f'{head}<joint name="coupler"{tail.replace("</joint>", mimic, 1)}')
    (equality,) = dl.load(path).robot.notes.equalities
    assert (equality.first, equality.second) == ("rocker", "crank")
    assert equality.polynomial == pytest.approx((-0.15, -4.5))


def test_gazebo_places_joints_where_all_are_at_zero(tmp_path):
    """Also where the reader holds some of them elsewhere."""
    path = tmp_path / "held.urdf"
    joint = """<gazebo><joint name="pin" type="revolute"><parent>coupler</parent>
      <child>rocker</child><pose>0.8 0 0 0 0 0</pose></joint></gazebo>"""
    path.write_text(ROBOT.format(loops=joint))
    (plain,) = dl.load(path, loops="ignore").notes.equalities
    locked = dl.load(path, loops="ignore", joints=["crank", "rocker"], posture={"coupler": 0.4})
    (equality,) = locked.notes.equalities
    np.testing.assert_allclose(equality.pose_first, plain.pose_first, atol=1e-14)


def test_a_tree_alone_says_that_it_is_left_open(tmp_path):
    tree = load(tmp_path, FREE, loops="ignore")
    assert isinstance(tree, dl.Robot) and tree.nv == 3
    assert any("not enforced: loop 'pin'" in warning for warning in tree.notes.warnings)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (FREE.replace("coupler", "copler"), "line .*'copler' is no link"),
        (FREE.replace('type="continuous"', 'type="screw"'), "type 'screw' is unknown; loops are"),
        (FREE.replace("0 0 1", "0 0 0"), "the axis is zero"),
        (FREE.replace('<successor link="rocker">', "<other>").replace("</successor>", "</other>"),
         "it needs two links"),
        ('<dalembert:coupling name="b" follower="knee" polynomial="0"/>', "no joint 'knee'"),
    ],
)  # fmt: skip
def test_mistakes_in_a_loop_are_said_with_their_line(tmp_path, wrong, message):
    with pytest.raises(dl.ImportFileError, match=message):
        load(tmp_path, wrong)
