"""Robots from tables, screws, links and files: every convention is settled here, at the door."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from dalembert.importers import links_from_dh, links_from_screws
from dalembert.model import CoupledModel, Link, Model, build
from dalembert.model.build import STANDARD_GRAVITY
from dalembert.model.link import links_from

if TYPE_CHECKING:
    from dalembert.importers.mjcf_files import Trust
    from dalembert.importers.xml_read import Source


class RobotBuilders:
    """The class methods that make a robot."""

    if TYPE_CHECKING:

        def __init__(self, model: Model | CoupledModel) -> None: ...

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, Any]],
        convention: str,
        base: Any = None,
        tool: Any = None,
        gravity: Any = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Self:
        """A chain from a Denavit–Hartenberg table, ``convention="standard"`` or ``"modified"``.

        Each row is a mapping with ``a, alpha, d, theta, offset`` (m, rad), ``joint`` ("revolute" or
        "prismatic"), ``mass``, ``com`` and ``inertia`` (3×3 about the centre of mass) in the link
        frame, ``rotor_inertia, gear_ratio, viscous, coulomb, viscous_motor, coulomb_motor, limits,
        name``. `base` and `tool` are 4×4 poses.

        >>> import numpy as np, dalembert as dl
        >>> rows = [{"a": 1.0, "mass": 2.0, "com": (-0.5, 0, 0), "inertia": np.eye(3)}]
        >>> dl.Robot.from_dh(rows, convention="standard").mass_matrix([0.0])
        array([[1.5]])
        """
        return cls(
            build(links_from_dh(rows, convention), name=name, base=base, tool=tool, gravity=gravity)
        )

    @classmethod
    def from_screws(
        cls,
        screws: Any,
        frames: Any,
        inertias: Sequence[tuple[Any, Any]],
        tool: Any = None,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        gravity: Any = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Self:
        """A tree from the spatial twists of its joints at the reference posture (000 p.21).

        `screws` (n, 6) are unit twists (linear, angular); `frames` (n, 4, 4) the poses g_sl_i(0) of
        the link frames, at the centres of mass; `inertias` pairs (mass, 3×3 tensor about the centre
        of mass, link axes); `tool` the (4, 4) pose of the tool at the reference posture.

        >>> import numpy as np, dalembert as dl
        >>> robot = dl.Robot.from_screws([[0, 0, 0, 0, 0, 1.0]], [np.eye(4)], [(1.0, np.eye(3))])
        >>> robot.mass_matrix([0.3])
        array([[1.]])
        """
        links = links_from_screws(screws, frames, inertias, parents, names)
        local = None
        if tool is not None:
            from dalembert.model import check
            from dalembert.spatial.se3 import inverse

            local = inverse(check.pose(frames[-1], "frames")) @ check.pose(tool, "tool")
        return cls(build(links, name=name, tool=local, tool_link=links[-1].name, gravity=gravity))

    @classmethod
    def from_links(
        cls,
        links: Sequence[Link | Mapping[str, Any]],
        base: Any = None,
        tool: Any = None,
        tool_link: str | None = None,
        frames: Mapping[str, tuple[str, Any]] | None = None,
        gravity: Any = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Self:
        """A tree of any joints, from `Link` objects or mappings of the same shape.

        A mapping has ``name, parent, joint, mass, com, inertia``; its ``joint`` a mapping with
        ``type`` (revolute, prismatic, helical, cylindrical, universal, planar, spherical, free,
        fixed), ``axis``, ``origin`` (or ``origin_xyz`` and ``origin_rpy``), the drive's numbers, and
        those of a spring (``stiffness, rest, drag``); ``lifted`` is the share of the link's weight
        that is carried from outside.

        >>> import numpy as np, dalembert as dl
        >>> ball = {"name": "ball", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
        >>> dl.Robot.from_links([ball]).nq
        4
        """
        model = build(
            links_from(links),
            name=name,
            base=base,
            tool=tool,
            tool_link=tool_link,
            frames=frames,
            gravity=gravity,
        )
        return cls(model)

    @classmethod
    def from_urdf(
        cls,
        source: Source,
        *,
        base: str = "fixed",
        joints: Collection[str] | None = None,
        posture: Mapping[str, Any] | None = None,
        tip: str | None = None,
        gravity: Any = None,
        name: str | None = None,
        strict: bool = False,
        trust: Trust = None,
    ) -> Self:
        """A tree from a URDF, a path or the text itself.

        ``base="free"`` adds six degrees before the root link. `joints` names the joints to keep;
        the others are held at `posture` (name → rad or m, default 0). The tool is the frame of the
        link `tip`: by default one called "tool", or the last link. Joints with <mimic> follow and
        have no coordinate. `notes` says what was merged, ignored and doubtful; `strict` turns the
        doubtful into an error. Meshes are opened only when the robot is drawn: those in the folder
        or package of the file, and below the paths that `trust` names (from that folder, or
        absolute).

        >>> import dalembert as dl
        >>> text = '''<robot name="pendulum"><link name="base"/>
        ...   <link name="bob"><inertial><origin xyz="0 0 -2"/><mass value="1"/>
        ...     <inertia ixx="0" iyy="0" izz="0"/></inertial></link>
        ...   <joint name="pivot" type="continuous"><parent link="base"/><child link="bob"/></joint>
        ... </robot>'''
        >>> dl.Robot.from_urdf(text).reference("mass_matrix", [0.3])
        array([[4.]])
        """
        from dalembert.importers.urdf import model_from_urdf

        model = model_from_urdf(
            source,
            base=base,
            joints=joints,
            posture=posture,
            tip=tip,
            gravity=gravity,
            name=name,
            strict=strict,
            trust=trust,
        )
        return cls(model)

    @classmethod
    def from_mjcf(
        cls,
        source: Source,
        *,
        tip: str | None = None,
        name: str | None = None,
        strict: bool = False,
        trust: Trust = None,
    ) -> Self:
        """A tree from MJCF, a path or the text itself, through MuJoCo's own compiler.

        Needs the extra ``mjcf``. Velocities of free joints are body twists here, quaternions
        (x, y, z, w); MuJoCo has the linear velocity in the world and (w, x, y, z). Equality
        constraints are kept in ``notes.equalities``. The tool is the frame of the body or site `tip`.
        Pictures, and meshes that no inertia comes from, are not opened. Files outside the folder of
        the main file are opened only below paths that `trust` names (from that folder, or absolute).
        """
        from dalembert.importers.mjcf import model_from_mjcf

        return cls(model_from_mjcf(source, tip=tip, name=name, strict=strict, trust=trust))
