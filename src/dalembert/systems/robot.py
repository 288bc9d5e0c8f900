"""What users hold: a model, and its quantities compiled when first asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.importers import links_from_dh, links_from_screws
from dalembert.model import CoupledModel, JointInfo, Link, Model, build
from dalembert.model.build import STANDARD_GRAVITY
from dalembert.model.link import links_from
from dalembert.systems import counting
from dalembert.systems.methods.display import DisplayMethods
from dalembert.systems.methods.dynamics import DynamicsMethods
from dalembert.systems.methods.equations import EquationMethods
from dalembert.systems.methods.export import ExportMethods
from dalembert.systems.methods.inertias import InertialMethods
from dalembert.systems.methods.kinematics import KinematicMethods
from dalembert.systems.methods.matrices import MatrixMethods
from dalembert.systems.robot_dynamics import robot_dynamics
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.importers.xml_read import Source
    from dalembert.kernels.program.count import Count
    from dalembert.model.notes import Notes

Array = np.ndarray


class Robot(
    DynamicsMethods,
    MatrixMethods,
    KinematicMethods,
    InertialMethods,
    ExportMethods,
    EquationMethods,
    DisplayMethods,
    System,
):
    """A mechanism of rigid links, and everything that can be computed of it.

    Arrays are batch-first, ``(..., n)``, and broadcast like any ufunc; float32 stays float32. Every
    method compiles its kernel on first use. Units are SI; twists and wrenches (linear, angular).

    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> robot.inverse_dynamics([np.pi / 2], [0.0], [0.0])  # m g l sin θ
    array([9.81])
    """

    def __init__(self, model: Model | CoupledModel) -> None:
        System.__init__(self, robot_dynamics(model))
        self.model: Any = model  # a Model, or a CoupledModel with the same names

    # builders

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, Any]],
        convention: str,
        base: Any = None,
        tool: Any = None,
        gravity: Any = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Robot:
        """A chain from a Denavit–Hartenberg table, ``convention="standard"`` or ``"modified"``.

        Each row is a mapping with ``a, alpha, d, theta, offset`` (m, rad), ``joint`` ("revolute" or
        "prismatic"), ``mass``, ``com`` and ``inertia`` (3×3 about the centre of mass) in the link
        frame, ``rotor_inertia, gear_ratio, viscous, coulomb, viscous_motor, coulomb_motor, limits,
        name``. `base` and `tool` are 4×4 poses.

        >>> rows = [{"a": 1.0, "mass": 2.0, "com": (-0.5, 0, 0), "inertia": np.eye(3)}]
        >>> Robot.from_dh(rows, convention="standard").mass_matrix([0.0])
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
    ) -> Robot:
        """A tree from the spatial twists of its joints at the reference posture (000 p.21).

        `screws` (n, 6) are unit twists (linear, angular); `frames` (n, 4, 4) the poses g_sl_i(0) of
        the link frames, at the centres of mass; `inertias` pairs (mass, 3×3 tensor about the centre
        of mass, link axes); `tool` the (4, 4) pose of the tool at the reference posture.

        >>> robot = Robot.from_screws([[0, 0, 0, 0, 0, 1.0]], [np.eye(4)], [(1.0, np.eye(3))])
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
    ) -> Robot:
        """A tree of any joints, from `Link` objects or mappings of the same shape.

        A mapping has ``name, parent, joint, mass, com, inertia``; its ``joint`` a mapping with
        ``type`` (revolute, prismatic, helical, cylindrical, universal, planar, spherical, free,
        fixed), ``axis``, ``origin`` (or ``origin_xyz`` and ``origin_rpy``) and the drive's numbers.

        >>> ball = {"name": "ball", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
        >>> Robot.from_links([ball]).nq
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
    ) -> Robot:
        """A tree from a URDF, a path or the text itself.

        ``base="free"`` adds six degrees before the root link. `joints` names the joints to keep;
        the others are held at `posture` (name → rad or m, default 0). The tool is the frame of the
        link `tip`: by default one called "tool", or the last link. Joints with <mimic> follow and
        have no coordinate. `notes` says what was merged, ignored and doubtful; `strict` turns the
        doubtful into an error.

        >>> text = '''<robot name="pendulum"><link name="base"/>
        ...   <link name="bob"><inertial><origin xyz="0 0 -2"/><mass value="1"/>
        ...     <inertia ixx="0" iyy="0" izz="0"/></inertial></link>
        ...   <joint name="pivot" type="continuous"><parent link="base"/><child link="bob"/></joint>
        ... </robot>'''
        >>> Robot.from_urdf(text).reference("mass_matrix", [0.3])
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
    ) -> Robot:
        """A tree from MJCF, a path or the text itself, through MuJoCo's own compiler.

        Needs the extra ``mjcf``. Velocities of free joints are body twists here, quaternions
        (x, y, z, w); MuJoCo has the linear velocity in the world and (w, x, y, z). Equality
        constraints are kept in ``notes.equalities``. The tool is the frame of the body or site `tip`.
        """
        from dalembert.importers.mjcf import model_from_mjcf

        return cls(model_from_mjcf(source, tip=tip, name=name, strict=strict))

    def to_urdf(self) -> str:
        """This robot as URDF text: reading it again gives the same dynamics.

        >>> import dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> Robot.from_urdf(robot.to_urdf()).nv
        2
        """
        from dalembert.importers.urdf_write import urdf_from_model

        return urdf_from_model(self.model)

    def to_mjcf(self) -> str:
        """This robot as MJCF text: bodies, joints, inertias, drives, gravity; frames as sites."""
        from dalembert.importers.mjcf_write import mjcf_from_model

        return mjcf_from_model(self.model)

    # what it is

    @property
    def notes(self) -> Notes:
        """What reading its file left to say: merged, ignored, warnings, equalities."""
        return self.model.notes

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        """The moving joints in the order of their coordinates."""
        return self.model.joints

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: the base, every link, extra frames and the tool."""
        return tuple(self.model.frames)

    def random_state(self, rng: np.random.Generator, size: int | None = None) -> tuple[Array, ...]:
        """Random q, qd, qdd; angles over the whole circle, slides within ±1 m, unit quaternions."""
        shape = () if size is None else (size,)
        steps = rng.uniform(-np.pi, np.pi, (*shape, self.nv))
        q = self.integrate(np.broadcast_to(self.neutral(), (*shape, self.nq)), steps)
        return q, rng.normal(size=(*shape, self.nv)), rng.normal(size=(*shape, self.nv))

    def __repr__(self) -> str:
        return f"<Robot {self.name}: {len(self.joints)} joints, {self.nv} degrees of freedom>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model.content == other.model.content

    def __hash__(self) -> int:
        return hash(self.model.content)

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.model,)

    def operation_count(
        self,
        quantity: str,
        formulation: str | None = None,
        as_written: bool = False,
        **choices: Any,
    ) -> Count:
        """Arithmetic of a quantity for this robot, zeros and repetitions removed.

        With ``as_written=True``, what the derivation itself does: nothing is known to be zero, and
        nothing is shared that the formulation does not share.

        >>> import dalembert as dl
        >>> robot = dl.load("puma560")
        >>> robot.operation_count("inverse_dynamics", "silver", as_written=True).multiplications
        846
        """
        if as_written:
            return counting.as_written(self.model, quantity, formulation, **choices)
        return super().operation_count(quantity, formulation, **choices)
