"""MJCF against MuJoCo itself, constraints switched off, on every joint kind."""

import mujoco
import numpy as np
import pytest

from dalembert.errors import ImportFileError, UnknownNameError
from dalembert.systems.robot import Robot
from dalembert.zoo import load

# Unit quaternions and inertias from geoms pass through MuJoCo's compiler: nothing is lost but bits.
AGREEMENT = 1e-9
FREE, BALL = 0, 1

TREE = """
<mujoco model="tree">
  <compiler angle="degree"/>
  <option gravity="0.3 -0.2 -9.5"/>
  <default>
    <joint armature="0.02" damping="0.4"/>
    <default class="stiff"><joint damping="1.5" armature="0.1"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="trunk" pos="0.1 0.2 0.3" quat="0.8 0.1 0.5 -0.2">
      <freejoint name="root"/>
      <geom type="box" size=".2 .1 .05" pos="0.02 0 0.01" euler="10 20 30"/>
      <site name="imu" pos="0 0.1 0.2" euler="30 0 45"/>
      <body name="arm" pos="0.2 0 0.1" euler="0 40 10">
        <joint name="shoulder" axis="1 2 3" pos="0.01 0.02 -0.03" ref="25"/>
        <joint name="slide" type="slide" axis="0 1 1" ref="0.1" class="stiff"/>
        <joint name="twist" axis="0 0 1" pos="0 0 0.05" range="-90 100"/>
        <inertial mass="0.7" pos="0.01 0.03 0.05" fullinertia="0.01 0.012 0.008 0.001 -0.002 0.0005"/>
        <body name="tip" pos="0 0 0.3" euler="15 0 0">
          <geom type="capsule" size=".02" fromto="0 0 0 0.1 0 0.2"/>
        </body>
      </body>
      <body name="leg" pos="-0.1 0 -0.1">
        <joint name="hip" type="ball" pos="0 0 0.02" frictionloss="0.1"/>
        <geom type="sphere" size=".06" pos="0 0 -0.1"/>
        <geom type="cylinder" size=".02 .1" pos="0 0.02 -0.2"/>
        <body name="shin" pos="0 0 -0.3">
          <joint name="knee" axis="0 1 0" class="stiff" frictionloss="0.3"/>
          <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="closed" body1="shin" body2="tip" anchor="0 0 0"/>
    <weld name="glued" body1="tip"/>
    <joint name="geared" joint1="knee" joint2="twist" polycoef="0.1 2 0 0 0"/>
  </equality>
</mujoco>
"""
FIXED = TREE.replace('<freejoint name="root"/>', "")
UNNAMED = """
<mujoco><option><flag gravity="disable"/></option><worldbody>
  <body><joint axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>
    <body pos="1 0 0"><joint type="slide"/><geom size="0.1"/></body></body>
</worldbody></mujoco>
"""


class Peer:
    """MuJoCo's coordinates and forces in our terms."""

    def __init__(self, text: str) -> None:
        self.m = mujoco.MjModel.from_xml_string(text)
        self.m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.d = mujoco.MjData(self.m)

    def set(self, q, qd):
        """Put a state of ours; returns T with v_ours = T v, and the rate Ṫ v of its free joint."""
        m, d = self.m, self.d
        T, drift = np.eye(m.nv), np.zeros(m.nv)
        d.qpos[:] = q
        v = qd.copy()
        for kind, a, i in zip(m.jnt_type, m.jnt_qposadr, m.jnt_dofadr, strict=True):
            if kind in (FREE, BALL):
                a = a + 3 if kind == FREE else a
                d.qpos[a : a + 4] = np.roll(q[a : a + 4], 1)
            if kind == FREE:
                R = np.zeros(9)
                mujoco.mju_quat2Mat(R, d.qpos[a : a + 4])
                R = R.reshape(3, 3)
                T[i : i + 3, i : i + 3] = R.T
                v[i : i + 3] = R @ qd[i : i + 3]
                drift[i : i + 3] = -np.cross(qd[i + 3 : i + 6], qd[i : i + 3])
        d.qvel[:] = v
        return T, drift

    def dynamics(self, q, qd, qdd, tau):
        """M, the torques of qdd and the accelerations under tau, as ours."""
        m, d = self.m, self.d
        T, drift = self.set(q, qd)
        mujoco.mj_forward(m, d)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        back = np.linalg.inv(T)
        d.qacc[:] = back @ (qdd - drift)
        mujoco.mj_inverse(m, d)
        inverse = back.T @ d.qfrc_inverse
        d.qfrc_applied[:] = T.T @ tau
        mujoco.mj_forward(m, d)
        return back.T @ M @ back, inverse, T @ d.qacc + drift


def friction(robot, qd):
    """Coulomb friction, which MuJoCo makes a constraint: off here."""
    drive = robot.model.drive
    return np.where(qd > 0, drive.coulomb_positive, drive.coulomb_negative)


def close(ours, theirs):
    scale = max(1.0, np.abs(theirs).max())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=AGREEMENT * scale)


@pytest.mark.parametrize("text", [TREE, FIXED, UNNAMED], ids=["free", "fixed", "unnamed"])
def test_dynamics_and_poses_are_mujocos(text):
    robot, peer = Robot.from_mjcf(text), Peer(text)
    rng = np.random.default_rng(2)
    assert (robot.nq, robot.nv) == (peer.m.nq, peer.m.nv)
    for _ in range(20):
        q = robot.model.integrate(robot.neutral(), rng.uniform(-3, 3, robot.nv))
        qd, qdd, tau = rng.normal(size=(3, robot.nv))
        M, inverse, forward = peer.dynamics(q, qd, qdd, tau)
        loss = friction(robot, qd)
        close(robot.reference("mass_matrix", q), M)
        close(robot.reference("inverse_dynamics", q, qd, qdd) - loss, inverse)
        close(robot.reference("forward_dynamics", q, qd, tau + loss), forward)
        for i in range(1, peer.m.nbody):
            name = mujoco.mj_id2name(peer.m, mujoco.mjtObj.mjOBJ_BODY, i) or f"body{i}"
            pose = robot.reference("pose", q, frame=name)
            close(pose[:3, :3], peer.d.xmat[i].reshape(3, 3))
            close(pose[:3, 3], peer.d.xpos[i])


def test_sites_limits_drives_and_tip():
    robot = Robot.from_mjcf(TREE, tip="imu")
    peer = Peer(TREE)
    q = robot.model.integrate(robot.neutral(), np.linspace(-1, 1, robot.nv))
    peer.set(q, np.zeros(robot.nv))
    mujoco.mj_forward(peer.m, peer.d)
    tool = robot.reference("pose", q)
    close(tool[:3, 3], peer.d.site("imu").xpos)
    np.testing.assert_array_equal(tool, robot.reference("pose", q, frame="imu"))
    joints = {joint.name: joint for joint in robot.joints}
    np.testing.assert_allclose(joints["twist"].upper, np.deg2rad(100))
    assert joints["knee"].kind == "continuous" and joints["hip"].kind == "spherical"
    assert robot.model.drive.viscous[joints["slide"].v] == [1.5]
    assert robot.model.drive.rotor[joints["knee"].v] == [0.1]
    assert robot.model.drive.coulomb_positive[joints["knee"].v] == [0.3]
    with pytest.raises(UnknownNameError, match="called 'nowhere'"):
        Robot.from_mjcf(TREE, tip="nowhere")


def test_equalities_are_kept_and_reported():
    notes = Robot.from_mjcf(TREE).notes
    assert [(e.kind, e.name, e.first, e.second) for e in notes.equalities] == [
        ("connect", "closed", "shin", "tip"),
        ("weld", "glued", "tip", None),
        ("joint", "geared", "knee", "twist"),
    ]
    assert notes.equalities[2].data[:2] == (0.1, 2.0)
    assert any("not enforced" in warning for warning in notes.warnings)
    assert notes.merged == ("tip into arm",)
    assert "geom (6)" in notes.ignored
    with pytest.raises(ImportFileError, match="not enforced"):
        Robot.from_mjcf(TREE, strict=True)


def test_what_a_tree_of_bodies_cannot_hold_is_left_out():
    text = UNNAMED.replace("<joint axis", '<joint name="j" axis').replace(
        "</worldbody>", "</worldbody><tendon>LOSSY</tendon>"
    )
    lossy = '<fixed name="t" frictionloss="1"><joint joint="j" coef="1"/></fixed>'
    text = text.replace("LOSSY", lossy)
    notes = Robot.from_mjcf(text).notes
    assert [row.what for row in notes.left_out] == ["tendon friction"] and not notes.warnings
    with pytest.raises(ImportFileError, match="tendon friction 't' is left out"):
        Robot.from_mjcf(text, strict=True)


def test_nan_is_an_error_and_no_log_is_written(tmp_path, monkeypatch, capfd):
    """MuJoCo itself would only print a warning and write it into the current folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImportFileError, match="a number in it is NaN"):
        Robot.from_mjcf(UNNAMED.replace('"1 0 0"', '"nan 0 0"'))
    assert list(tmp_path.iterdir()) == [] and capfd.readouterr().err == ""


def test_includes_of_the_folder_are_read(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(
        '<mujoco><worldbody><body name="arm"><joint name="j"/><geom size=".1" pos="1 0 0"/></body>'
        "</worldbody></mujoco>"
    )
    main = tmp_path / "robot.xml"
    main.write_text('<mujoco model="two"><include file="parts/arm.xml"/></mujoco>')
    robot = Robot.from_mjcf(main)
    assert robot.name == "two" and [joint.name for joint in robot.joints] == ["j"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot name='x'/>", "use from_urdf"),
        ("<mujoco/>", "no body besides the world"),
        ("<mujoco>\n<worldbody>\n<bdy/></worldbody></mujoco>", "line 3: MuJoCo refuses it"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass and inertia"),
        ("<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>", "fixed"),
        ("<mujoco><include file='a.xml'/></mujoco>", "has no folder"),
        ("<mujocoinclude/>", "load the file that includes it"),
        (UNNAMED.replace('"1 0 0"', '"1e300 0 0"'), r"body_pos .* beyond 1e12"),
        (UNNAMED.replace("<option>", '<option gravity="0 0 -1e13">'), "gravity is beyond"),
        (UNNAMED.replace("<body pos", '<body quat="1 0 0 1e308" pos'), "unit length"),
        (UNNAMED.replace("<joint axis", '<joint class="%s%n" axis'), "may crash on a '%'"),
        (
            "<mujoco><worldbody><replicate count='1000'><replicate count='1000'><body/>"
            "</replicate></replicate></worldbody></mujoco>",
            "more than 2000 copies",
        ),
    ],
)
def test_bad_text_is_a_typed_error(text, message):
    with pytest.raises(ImportFileError, match=message):
        Robot.from_mjcf(text)


SECRET = '<worldbody><body><joint/><geom type="mesh" mesh="secret"/></body></worldbody>'


@pytest.mark.parametrize(
    "inside",
    [
        '<include file="../secret.xml"/>',
        '<include file="/etc/passwd"/>',
        '<asset><mesh file="../../secret.stl"/></asset>' + SECRET,
        '<compiler meshdir=".."/><asset><mesh file="secret.stl"/></asset>' + SECRET,
        '<asset><hfield file="/etc/passwd" name="secret" size="1 1 1 1"/></asset>'
        + SECRET.replace("mesh", "hfield"),
        '<worldbody><flexcomp name="f" type="mesh" file="../secret.stl"/></worldbody>',
        '<asset><model file="../secret.xml"/></asset>',
    ],
)
def test_no_file_outside_the_folder(tmp_path, inside):
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    folder = tmp_path / "robot"
    folder.mkdir()
    main = folder / "robot.xml"
    main.write_text(f"<mujoco>{inside}</mujoco>")
    with pytest.raises(ImportFileError, match=r"robot\.xml, line 1: .* outside the robot's folder"):
        Robot.from_mjcf(main)


def test_a_link_out_of_the_folder_is_followed_and_refused(tmp_path):
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "inner.xml").symlink_to(tmp_path / "secret.xml")
    main = folder / "robot.xml"
    main.write_text('<mujoco><include file="inner.xml"/></mujoco>')
    with pytest.raises(ImportFileError, match="outside"):
        Robot.from_mjcf(main)


def test_an_attached_model_is_looked_through(tmp_path):
    (tmp_path / "part.xml").write_text('<mujoco>\n<include file="../secret.xml"/></mujoco>')
    main = tmp_path / "robot.xml"
    main.write_text('<mujoco><asset><model file="part.xml"/></asset></mujoco>')
    with pytest.raises(ImportFileError, match=r"part\.xml, line 2: .* outside"):
        Robot.from_mjcf(main)


def test_includes_in_a_circle_end(tmp_path):
    main = tmp_path / "robot.xml"
    main.write_text('<mujoco><include file="robot.xml"/></mujoco>')
    with pytest.raises(ImportFileError, match="in a circle"):
        Robot.from_mjcf(main)


def driven(kind: str, actuators: str, option: str = "") -> str:
    joint = f'<joint name="j" type="{kind}" axis="0 1 0" armature="0.1" damping="0.3"'
    return f"""<mujoco>{option}<worldbody><body name="a">
      {joint} frictionloss="0.7" range="-1 1" limited="{"false" if kind == "ball" else "true"}"/>
      <geom size="0.1" mass="1" pos="0 0.1 0.2"/></body></worldbody>
      <actuator>{actuators}</actuator></mujoco>"""


@pytest.mark.parametrize("kind", ["hinge", "slide", "ball", "free"])
def test_armature_and_damping_of_actuators_at_joints_are_read(kind):
    motors = '<motor joint="j" gear="3" armature="0.5" damping="0.2"/>'
    motors += '<motor jointinparent="j" gear="-2 1 4" armature="0.25" damping="0.1"/>'
    text = driven(kind, motors)
    robot, peer = Robot.from_mjcf(text, strict=kind != "free"), Peer(text)
    rng = np.random.default_rng(3)
    q = robot.model.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv))
    qd, qdd, tau = rng.normal(size=(3, robot.nv))
    M, inverse, _ = peer.dynamics(q, qd, qdd, tau)
    close(robot.reference("mass_matrix", q), M)
    close(robot.reference("inverse_dynamics", q, qd, qdd) - friction(robot, qd), inverse)
    assert robot.model.drive.rotor[0] == pytest.approx(0.1 + 9 * 0.5 + 4 * 0.25)


@pytest.mark.parametrize("flag", ["frictionloss", "constraint"])
def test_friction_that_the_file_switches_off_is_off(flag):
    off = f'<option><flag {flag}="disable"/></option>'
    rough, smooth = (Robot.from_mjcf(driven("hinge", "", option)) for option in ("", off))
    assert rough.model.drive.coulomb_positive[0] == 0.7
    assert smooth.model.drive.coulomb_positive[0] == 0.0
    assert np.isfinite(smooth.joints[0].lower[0]) == (flag != "constraint")


def test_forces_of_tendons_that_the_model_lacks_are_listed():
    tendon = '<fixed name="t" frictionloss="0.2"><joint joint="j" coef="1"/></fixed>'
    text = driven("hinge", "").replace("<actuator>", f"<tendon>{tendon}</tendon><actuator>")
    left = Robot.from_mjcf(text).notes.left_out
    assert [(row.what, row.name) for row in left] == [("tendon friction", "t")]


ARM = """<mujoco>{option}<worldbody><body gravcomp="{lift}">
  <joint name="j" axis="0 1 0" {joint}/><geom size=".1" pos="1 0 0"/>
  <body name="b" pos="1 0 0" gravcomp="{lift}"><joint name="k" axis="0 1 0" {other}/>
    <geom size=".1" pos="1 0 0"/></body></body></worldbody>{actuator}</mujoco>"""
BY_DRIVE = 'actuatorgravcomp="true"'
MOTOR = '<actuator><motor joint="j"/></actuator>'


def arm(**options) -> str:
    words = {
        "option": "",
        "lift": "1",
        "joint": "",
        "other": options.get("joint", ""),
        "actuator": "",
    }
    return ARM.format(**(words | options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lift": "-0.5"},
        {"option": '<option density="900"><flag spring="disable"/></option>'},
        {"option": '<option density="900"><flag spring="disable" damper="disable"/></option>'},
        {"joint": BY_DRIVE},
        {"joint": BY_DRIVE, "actuator": MOTOR},
        {
            "joint": BY_DRIVE,
            "actuator": MOTOR,
            "option": '<option><flag actuation="disable"/></option>',
        },
    ],
    ids=lambda options: " ".join(options.values()) or "plain",
)
def test_weights_are_lifted_where_mujoco_lifts_them(options):
    text = arm(**options)
    robot, peer = Robot.from_mjcf(text), Peer(text)
    q, qd, tau = np.array([0.3, 0.4]), np.array([1.0, -2.0]), np.array([0.5, 0.2])
    close(robot.reference("forward_dynamics", q, qd, tau), peer.dynamics(q, qd, qd, tau)[2])
    lifting = [row for row in robot.notes.left_out if row.what == "actuatorgravcomp"]
    assert lifting == []


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"joint": BY_DRIVE + ' actuatorfrcrange="-1 1"', "other": "", "actuator": MOTOR}, ["j"]),
        ({"joint": BY_DRIVE, "other": ""}, ["j"]),
    ],
    ids=["limited", "no actuator, and joints that differ"],
)
def test_weights_that_a_drive_lifts_otherwise_than_in_mujoco_are_left_out(options, names):
    """MuJoCo keeps what such a drive lifts within actuatorfrcrange; here the weight is just gone."""
    left = Robot.from_mjcf(arm(**options)).notes.left_out
    assert [row.name for row in left if row.what == "actuatorgravcomp"] == names


@pytest.mark.parametrize(
    "actuator",
    [
        '<pid joint="j" kp="2" kv="1" armature=".1"/>',
        '<dcmotor joint="j" motorconst="1 1" resistance="1" input="pos vel" armature=".1"/>',
        '<orientation site="s" refsite="o" kp="2"/><motor joint="j" gear="3" armature=".1"/>',
    ],
    ids=["pid", "dcmotor", "orientation"],
)
def test_actuators_with_several_controls_are_left_out_but_their_armature_counts(actuator):
    site = '<site name="o"/><body'
    text = arm(actuator=f"<actuator>{actuator}</actuator>").replace("<body", site, 1)
    text = text.replace('<body name="b"', '<site name="s"/><body name="b"')
    try:
        peer = Peer(text)
    except ValueError:
        pytest.skip("this MuJoCo has no such actuator")
    robot = Robot.from_mjcf(text)
    assert [row.what for row in robot.notes.left_out] == ["actuator"]
    assert len(robot.model.driven_by.actuators) == actuator.count("<motor")
    close(robot.reference("mass_matrix", np.array([0.3, 0.4])), mass_matrix(peer, [0.3, 0.4]))


def mass_matrix(peer: Peer, q) -> np.ndarray:
    return peer.dynamics(np.array(q), *np.zeros((3, peer.m.nv)))[0]


def test_length_ranges_of_muscles_are_not_simulated():
    """MuJoCo would: for minutes in some files, and in vain where a joint turns without end."""
    robot = Robot.from_mjcf(arm(actuator='<actuator><muscle name="m" joint="j"/></actuator>'))
    assert [(row.what, row.name) for row in robot.notes.left_out] == [("actuator", "m")]


def test_a_weld_without_torque_is_a_point():
    """MuJoCo keeps all six rows and scales three of them to nothing."""
    text = TREE.replace('<weld name="glued" body1="tip"/>', '<weld body1="tip" torquescale="0"/>')
    equality = Robot.from_mjcf(text).notes.equalities[1]
    assert (equality.kind, equality.directions) == ("connect", "point")
    peer = mujoco.MjModel.from_xml_string(text)
    assert peer.eq_data[1, 10] == 0.0


def test_limits_of_drives_are_effort_limits():
    """A joint's own range, a servo's force, a motor's control times its gear; free where none is."""
    link = '<geom type="capsule" size=".05" fromto="0 0 0 0 0 -.4"/>'
    names, own = "abcd", {"a": 'actuatorfrcrange="-20 15"'}
    opened = "".join(
        f'<body pos="0 0 -.4"><joint name="{n}" axis="0 1 0" {own.get(n, "")}/>{link}'
        for n in names
    )
    drives = """<motor joint="a" ctrlrange="-1 1" gear="50"/>
      <position joint="b" kp="100" forcerange="-12 12" gear="2"/>
      <motor joint="c" ctrlrange="-1 1" gear="30"/><motor joint="d"/>"""
    world = f"<worldbody>{opened}{'</body>' * 4}</worldbody>"
    robot = Robot.from_mjcf(f"<mujoco>{world}<actuator>{drives}</actuator></mujoco>")
    assert robot.effort_limit.tolist() == [20.0, 24.0, 30.0, np.inf]
    arm = load("ur5")
    np.testing.assert_allclose(Robot.from_mjcf(arm.to_mjcf()).effort_limit, arm.effort_limit)


def test_numbers_that_the_kinds_of_gain_and_bias_do_not_use_are_no_forces():
    """Fixed gains have one number, and without a bias there is none, whatever else is written."""
    text = driven("hinge", '<general joint="j" gainprm="2 5 6" biasprm="1 2 3"/>')
    (actuator,) = Robot.from_mjcf(text).model.driven_by.actuators
    assert actuator.gain.tolist() == [2.0, 0.0, 0.0] and not actuator.bias.any()
