"""Scenes of independent trees as MJCF."""

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
