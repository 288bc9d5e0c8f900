"""Scenes of independent trees as MJCF and URDF."""

WALKER = """
<body name="walker{k}" pos="{k} 0 1"><freejoint name="fly{k}"/>
  <geom type="box" size="0.1 0.2 0.05" mass="3"/>
  <body name="left{k}" pos="0 0.2 0"><joint name="a{k}" axis="0 1 0" damping="0.3" armature="0.01"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="1"/>
    <body name="shin{k}" pos="0 0 -0.3"><joint name="b{k}" axis="1 0 0" stiffness="2"/>
      <geom type="capsule" fromto="0 0 0 0.1 0 -0.3" size="0.02" mass="0.5"/></body></body>
  <body name="right{k}" pos="0 -0.2 0"><joint name="c{k}" axis="0 1 0"/>
    <joint name="d{k}" axis="1 0 0" pos="0 0 -0.1"/>
    <geom type="capsule" fromto="0 0 0 0 0.05 -0.3" size="0.03" mass="1.2"/></body>
</body>"""
ARM = """
<body name="base{k}" pos="0 {k} 0"><joint name="s{k}" type="slide" axis="1 0 0"/>
  <geom type="box" size="0.1 0.1 0.1" mass="2"/>
  <body name="upper{k}" pos="0 0 0.2"><joint name="e{k}" axis="0 0 1"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.7"/>
    <body name="lower{k}" pos="0.3 0 0"><joint name="f{k}" axis="0 1 0" stiffness="1" springref="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.2 0.1 0" size="0.02" mass="0.4"/></body></body>
</body>"""
BALL = """
<body name="bob{k}" pos="0 0 {k}"><joint name="ball{k}" type="ball"/>
  <geom type="ellipsoid" size="0.1 0.2 0.05" pos="0 0 -0.5" mass="1.5"/></body>"""


def scene(*trees: str) -> str:
    """A file of these trees, in this order."""
    bodies = "".join(tree.format(k=k) for k, tree in enumerate(trees))
    return f'<mujoco model="scene"><worldbody>{bodies}</worldbody></mujoco>'


def arms(count, joints, mimic=(), across=()):
    """Equal chains of hinges on a fixed base; the last joints of `mimic` follow the first of their
    chain, those of `across` the first of the first chain."""
    links = ['<link name="base"/>']
    for a in range(count):
        for k in range(joints):
            leader = {True: f"j{a}_0", False: "j0_0"}[a in mimic]
            follows = k == joints - 1 and a in (*mimic, *across)
            links.append(
                f'<link name="l{a}_{k}"><inertial><origin xyz="0.1 0.02 0.1"/>'
                f'<mass value="{1 + 0.1 * k}"/><inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0"'
                ' ixz="0" iyz="0"/></inertial></link>'
                f'<joint name="j{a}_{k}" type="revolute">'
                f'<parent link="{f"l{a}_{k - 1}" if k else "base"}"/><child link="l{a}_{k}"/>'
                f'<origin xyz="0.1 {0 if k else a} 0.2" rpy="0.1 0.2 0.3"/>'
                f'<axis xyz="{k % 2} 1 {k % 3}"/><dynamics damping="0.3" friction="0.1"/>'
                '<limit lower="-3" upper="3" effort="9" velocity="9"/>'
                + f'<mimic joint="{leader}" multiplier="-0.5" offset="0.1"/>' * follows
                + "</joint>"
            )
    return f'<robot name="arms">{"".join(links)}</robot>'
