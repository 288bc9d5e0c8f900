"""A robot: a model with quantities compiled on first use, its builders and its variations."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert import views
from dalembert.errors import FormulationError, ModelError, UnknownNameError
from dalembert.importers import links_from_dh, links_from_screws
from dalembert.model import CoupledModel, JointInfo, Link, Model, build, changes
from dalembert.model.build import STANDARD_GRAVITY
from dalembert.model.link import links_from
from dalembert.model.parameter import NumberLike
from dalembert.model.tool import tool_location
from dalembert.systems.evaluator import Argument, OptionalArray, Out, Parameters
from dalembert.systems.robot_dynamics import CoupledDynamics, RobotDynamics
from dalembert.systems.singularity import TOLERANCE
from dalembert.systems.system import System
from dalembert.text import html
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.formulations.derivatives.base_parameters import Grouping
    from dalembert.formulations.inverse.operator import Operators
    from dalembert.importers.file_access import Trust
    from dalembert.importers.safe_parsing import Source
    from dalembert.kernels.program.count import Count
    from dalembert.model.actuators import Actuator
    from dalembert.model.notes import Notes
    from dalembert.systems.dynamics import Array
    from dalembert.systems.recursion import Recursion
    from dalembert.systems.singularity import Singularity


FEW = 12  # joints up to which a robot shows itself live: its kernels are compiled in seconds


class OperationalTerms(NamedTuple):
    """Λ V̇ + μ + p = F of a frame, and how forces there and torques belong together."""

    inertia: ArrayLike  # Λ (..., n, n), kg and kg m²
    bias: np.ndarray  # μ (..., n)
    gravity: ArrayLike  # p (..., n)
    inverse: np.ndarray  # J̄ (..., nv, n) = M⁻¹ Jᵀ Λ, dynamically consistent
    projector: np.ndarray  # 1 − Jᵀ J̄ᵀ (..., nv, nv): torques that do not move the frame


class Robot(System):
    """A mechanism of rigid links with all its quantities.

    Arrays are batch-first, ``(..., n)``, and broadcast like any ufunc; float32 stays float32. Every
    method compiles its kernel on first use. Units are SI; twists and wrenches (linear, angular).

    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> robot.inverse_dynamics([np.pi / 2], [0.0], [0.0])  # m g l sin θ
    array([9.81])
    """

    def __init__(self, model: Model | CoupledModel) -> None:
        dynamics = CoupledDynamics if isinstance(model, CoupledModel) else RobotDynamics
        super().__init__(dynamics(model))
        self.model: Any = model  # a Model, or a CoupledModel with the same names

    # from tables, screws, links and files; every convention is settled here

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, Any]],
        convention: str,
        base: NumberLike | None = None,
        tool: NumberLike | None = None,
        gravity: NumberLike = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Self:
        """A chain from a Denavit–Hartenberg table, ``convention="standard"`` or ``"modified"``.

        Each row is a mapping with ``a, alpha, d, theta, offset`` (m, rad), ``joint`` ("revolute" or
        "prismatic"), ``mass``, ``com`` and ``inertia`` (3×3 about the centre of mass) in the link
        frame, ``rotor_inertia, gear_ratio, viscous, coulomb, viscous_motor, coulomb_motor, limits,
        name``. `base` and `tool` are 4×4 poses.

        Parameters
        ----------
        rows : sequence of mappings
            One for each joint, see above.
        convention : str
            "standard" or "modified".
        base : array_like (4, 4), optional
            Pose of the base in the world.
        tool : array_like (4, 4), optional
            Pose of the tool.
        gravity : array_like (3,)
            Acceleration of falling bodies, m/s².
        name : str
            Name of the system.

        Returns
        -------
        Robot
            The robot.

        Raises
        ------
        ModelError
            If a row is not complete or has an unknown key.

        Examples
        --------
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
        screws: Sequence[Any],
        frames: Sequence[NumberLike],
        inertias: Sequence[tuple[NumberLike, NumberLike]],
        tool: NumberLike | None = None,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        gravity: NumberLike = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Self:
        """A tree from the spatial twists of its joints at the reference posture (000 p.21).

        `screws` (n, 6) are unit twists (linear, angular); `frames` (n, 4, 4) the poses g_sl_i(0) of
        the link frames, at the centres of mass; `inertias` pairs (mass, 3×3 tensor about the centre
        of mass, link axes); `tool` the (4, 4) pose of the tool at the reference posture.

        Parameters
        ----------
        screws : array_like (n, 6)
            Unit twists (linear, angular) of the joints at the reference posture.
        frames : array_like (n, 4, 4)
            Poses of the link frames at their centres of mass.
        inertias : sequence of (mass, tensor)
            kg, and (3, 3) about the centre of mass, kg m².
        tool : array_like (4, 4), optional
            Pose of the tool.
        parents : sequence of int, optional
            Index of each link's parent, −1 for the base; default a chain.
        names : sequence of str, optional
            Names of the links.
        gravity : array_like (3,)
            Acceleration of falling bodies, m/s².
        name : str
            Name of the system.

        Returns
        -------
        Robot
            The robot.

        Raises
        ------
        ModelError
            If shapes do not fit, or a twist is no unit twist.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> robot = dl.Robot.from_screws([[0, 0, 0, 0, 0, 1.0]], [np.eye(4)], [(1.0, np.eye(3))])
        >>> robot.mass_matrix([0.3])
        array([[1.]])
        """
        links = links_from_screws(screws, frames, inertias, parents, names)
        local = None
        if tool is not None:
            from dalembert.model import validation
            from dalembert.spatial.se3 import inverse

            local = inverse(validation.pose(frames[-1], "frames")) @ validation.pose(tool, "tool")
        return cls(build(links, name=name, tool=local, tool_link=links[-1].name, gravity=gravity))

    @classmethod
    def from_links(
        cls,
        links: Sequence[Link | Mapping[str, Any]],
        base: NumberLike | None = None,
        tool: NumberLike | None = None,
        tool_link: str | None = None,
        frames: Mapping[str, tuple[str | None, NumberLike]] | None = None,
        gravity: NumberLike = STANDARD_GRAVITY,
        name: str = "robot",
    ) -> Self:
        """A tree of any joints, from `Link` objects or mappings of the same shape.

        A mapping has ``name, parent, joint, mass, com, inertia``; its ``joint`` a mapping with
        ``type`` (revolute, prismatic, helical, cylindrical, universal, planar, spherical, free,
        fixed), ``axis``, ``origin`` (or ``origin_xyz`` and ``origin_rpy``), the drive's numbers, and
        those of a spring (``stiffness, rest, drag``); ``lifted`` is the share of the link's weight
        that is carried from outside. `frames` maps names of further frames to (link, pose); the link
        "base" or None is the base. The tool is at `tool` (4, 4) in the frame of `tool_link`, by
        default that of the last link.

        Parameters
        ----------
        links : sequence of Link or mappings
            The links, parents before children.
        base : array_like (4, 4), optional
            Pose of the base in the world.
        tool : array_like (4, 4), optional
            Pose of the tool.
        tool_link : str, optional
            Link that carries the tool; default the last.
        frames : mapping, optional
            {name: (link, pose)} of further frames.
        gravity : array_like (3,)
            Acceleration of falling bodies, m/s².
        name : str
            Name of the system.

        Returns
        -------
        Robot
            The robot.

        Raises
        ------
        ModelError
            If a link is not complete; the message names it.

        Examples
        --------
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
        posture: Mapping[str, NumberLike] | None = None,
        tip: str | None = None,
        gravity: NumberLike | None = None,
        name: str | None = None,
        strict: bool = False,
        trust: Trust = None,
    ) -> Self:
        """A tree from a URDF, a path or the text itself.

        ``base="free"`` adds six degrees before the root link. `joints` names the joints to keep;
        the others are held at `posture` (name → rad or m, default 0). The tool is the frame of the
        link `tip`: by default one called tool, tcp, tool0, ee or alike, or the end of the longest
        chain of joints before any fingers; `notes.tool` says why. Joints with <mimic> follow and
        have no coordinate. `notes` says what was merged, ignored and doubtful; `strict` turns the
        doubtful into an error. Meshes are opened only when the robot is drawn: those in the folder
        or package of the file, and below the paths that `trust` names (from that folder, or
        absolute).

        Parameters
        ----------
        source : path or str
            The file, or its text.
        base : str
            "fixed", or "free": six degrees of freedom before the root link.
        joints : sequence of str, optional
            Joints to keep; the others are held.
        posture : mapping, optional
            {joint: rad or m} of the joints that are held; default 0.
        tip : str, optional
            Link whose frame is the tool.
        gravity : array_like (3,), optional
            Acceleration of falling bodies, m/s²; default (0, 0, −9.81).
        name : str, optional
            Name of the robot; default that of the file.
        strict : bool
            Whether what is doubtful is an error.
        trust : sequence of paths, optional
            Folders below which further files may be opened.

        Returns
        -------
        Robot
            The robot.

        Raises
        ------
        ImportFileError
            If the file cannot be read; the message names line and element.

        Examples
        --------
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
        constraints are kept in ``notes.equalities``. The tool is the frame of the body or site `tip`,
        by default as in `from_urdf`.
        Pictures, and meshes that no inertia comes from, are not opened. Files outside the folder of
        the main file are opened only below paths that `trust` names (from that folder, or absolute).

        Parameters
        ----------
        source : path or str
            The file, or its text.
        tip : str, optional
            Body or site whose frame is the tool.
        name : str, optional
            Name of the robot; default that of the file.
        strict : bool
            Whether what is doubtful is an error.
        trust : sequence of paths, optional
            Folders below which further files may be opened.

        Returns
        -------
        Robot
            The robot.

        Raises
        ------
        ImportFileError
            If MuJoCo refuses the file.
        """
        from dalembert.importers.mjcf import model_from_mjcf

        return cls(model_from_mjcf(source, tip=tip, name=name, strict=strict, trust=trust))

    def to_urdf(self) -> str:
        """This robot as URDF text: reading it again gives the same dynamics.

        Motors are written as transmissions; URDF has no place for other actuators.

        Returns
        -------
        str

        Examples
        --------
        >>> import dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> Robot.from_urdf(robot.to_urdf()).nv
        2
        """
        from dalembert.importers.urdf_write import urdf_from_model

        return urdf_from_model(self.model)

    def to_mjcf(self) -> str:
        """This robot as MJCF text: bodies, joints, inertias, drives, gravity; frames as sites.

        Returns
        -------
        str
        """
        from dalembert.importers.mjcf_write import mjcf_from_model

        return mjcf_from_model(self.model)

    # variations: a new robot each; numbers may be parameters

    def with_payload(
        self,
        mass: NumberLike,
        com: NumberLike = (0.0, 0.0, 0.0),
        inertia: NumberLike = ((0.0, 0.0, 0.0),) * 3,
        frame: str | None = None,
    ) -> Self:
        """This robot with a body of that mass, kg, fixed to a frame, by default to the tool.

        `com` (3,), m, and `inertia` (3, 3) about the centre of mass, kg m², in that frame.

        Parameters
        ----------
        mass : float
            kg.
        com : array_like (3,)
            Centre of mass in the frame, m.
        inertia : array_like (3, 3)
            Tensor about the centre of mass, kg m².
        frame : str, optional
            Frame that carries it; default the tool.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> dl.load("pendulum").with_payload(1.0).gravity_torque([np.pi / 2])  # two masses
        array([19.62])
        """
        return type(self)(changes.with_payload(self.model, mass, com, inertia, frame))

    def with_tool(self, pose: NumberLike | None = None, frame: str | None = None) -> Self:
        """This robot with its tool at `pose` (4, 4) in a frame, by default in its present tool.

        Parameters
        ----------
        pose : array_like (4, 4), optional
            Pose of the tool in the frame; default the identity.
        frame : str, optional
            Default the present tool.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> longer = np.eye(4)
        >>> longer[0, 3] = 0.1
        >>> arm = dl.load("planar_2r")
        >>> float((arm.with_tool(longer).pose([0.0, 0.0]) - arm.pose([0.0, 0.0]))[0, 3].round(12))
        0.1
        """
        return type(self)(changes.with_tool(self.model, pose, frame))

    def with_base(self, pose: NumberLike) -> Self:
        """This robot with its base at `pose` (4, 4) in the world; gravity stays as it is there.

        Parameters
        ----------
        pose : array_like (4, 4)
            The pose, translations in m.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> on_the_wall = dl.spatial.pose(dl.spatial.rotation_y(np.pi / 2))
        >>> dl.load("scara").with_base(on_the_wall).gravity_torque(np.zeros(4)).any()
        np.True_
        """
        return type(self)(changes.with_base(self.model, pose))

    def with_gravity(self, gravity: NumberLike) -> Self:
        """This robot where bodies fall with `gravity` (3,), m/s².

        Parameters
        ----------
        gravity : array_like (3,)
            Acceleration of falling bodies, m/s².

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> dl.load("pendulum").with_gravity([0.0, -1.62, 0.0]).gravity_torque([np.pi / 2])  # Moon
        array([1.62])
        """
        return type(self)(changes.with_gravity(self.model, gravity))

    def with_joint_locked(self, name: str, value: NumberLike = 0.0) -> Self:
        """This robot with one joint held at `value`, rad or m (of several degrees: all its numbers).

        Joints that follow it are held as well. The actuators of held joints go with them; a tendon
        over a held joint is an error.

        Parameters
        ----------
        name : str
            Name of the joint.
        value : float or sequence of float
            Where it is held, rad or m.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Raises
        ------
        UnknownNameError
            If there is no such joint.

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.load("planar_2r").with_joint_locked("link2_joint", 0.3)
        >>> arm.coordinates
        ('link1_joint',)
        """
        return type(self)(changes.with_joint_locked(self.model, name, value))

    def with_limits(
        self,
        position: Mapping[str, Any] | None = None,
        velocity: Mapping[str, Any] | None = None,
        effort: Mapping[str, Any] | None = None,
    ) -> Self:
        """This robot with other limits of the joints named: (lower, upper) pairs, and numbers.

        rad or m, rad/s or m/s, N m or N; None and infinity are no limit.

        Parameters
        ----------
        position : mapping, optional
            {joint: (lower, upper)}, rad or m.
        velocity : mapping, optional
            {joint: largest speed}, rad/s or m/s.
        effort : mapping, optional
            {joint: largest torque or force}, N m or N.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.load("planar_2r").with_limits({"link2_joint": (-2.0, 2.0)})
        >>> arm.upper
        array([inf,  2.])
        """
        return type(self)(changes.with_limits(self.model, position, velocity, effort))

    def merge(self, other: Self, at: str | None = None, prefix: str = "") -> Self:
        """Both robots as one: the other's world is at a frame of this one, by default its tool.

        Coordinates are this robot's, then the other's; gravity and the tool are this robot's. What
        is fixed to the other's base (the palm of a gripper) is carried from now on. Names of the
        other get the prefix. Without one its frames "base" and "tool" are called after it,
        "gripper_tool" say, and a name that both have is an error.

        Parameters
        ----------
        other : Robot
            The robot that is fixed to this one.
        at : str, optional
            Frame of this robot; default its tool.
        prefix : str
            Before the names of the other.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Raises
        ------
        ModelError
            If both have a frame or joint of one name.

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.load("planar_2r")
        >>> two = arm.merge(arm, at="base", prefix="left_")
        >>> two.coordinates
        ('link1_joint', 'link2_joint', 'left_link1_joint', 'left_link2_joint')
        """
        if not isinstance(other, Robot):
            raise ModelError(f"merge needs another robot, not {type(other).__name__}")
        return type(self)(changes.merge(self.model, other.model, at, prefix))

    def subtree(self, link: str) -> Self:
        """The subtree that a link carries, as a robot of its own: the link is its base and its world.

        A tendon that would be cut, and a joint that follows one left behind, are errors.

        Parameters
        ----------
        link : str
            Name of the link.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("puma560").subtree("link3").coordinates
        ('joint4', 'joint5', 'joint6')
        """
        return type(self)(changes.subtree(self.model, link))

    def with_actuators(self, actuators: Iterable[Actuator]) -> Robot:
        """This robot driven by these actuators instead of its own.

        Parameters
        ----------
        actuators : sequence of Actuator
            The actuators.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import dalembert as dl
        >>> servo = dl.Actuator("servo", "link1_joint", gain=[20.0], bias=[0.0, -20.0, -1.0])
        >>> arm = dl.load("planar_2r").with_actuators([servo])
        >>> arm.actuator_forces([0.0, 0.0], [0.0, 0.0], {"servo": 0.1})
        array([2., 0.])
        """
        return type(self)(self.model.with_actuators(actuators))

    # properties

    @property
    def notes(self) -> Notes:
        """Notes on reading its file: merged and ignored parts, warnings, equalities."""
        notes: Notes = self.model.notes
        return notes

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        """The moving joints in the order of their coordinates."""
        joints: tuple[JointInfo, ...] = self.model.joints
        return joints

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: the base, every link, extra frames and the tool."""
        return tuple(self.model.frames)

    @property
    def robot(self) -> Robot:
        """Itself: its links can be listed and drawn."""
        return self

    def __repr__(self) -> str:
        size = f"{len(self.joints)} joints, {self.nv} degrees of freedom"
        return f"<Robot {self.name}: {size}, tool {tool_location(self.model.tree)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model.content == other.model.content

    def __hash__(self) -> int:
        return hash(self.model.content)

    def _repr_html_(self) -> str:
        """The table of the joints, for notebooks.

        >>> import dalembert as dl
        >>> dl.load("planar_2r")._repr_html_().count("<tr>")
        3
        """
        model, rows = self.model, ""
        for joint in model.joints:
            masses = [model.bodies[i].mass for i in joint.bodies]
            symbolic = any(map(is_symbolic, masses))
            mass = "depends on parameters" if symbolic else f"{float(sum(masses)):.4g}"
            low, high = joint.lower[0], joint.upper[0]
            limited = np.isfinite([low, high]).any()
            extent = f"{low:.4g} … {high:.4g}" if limited else "free"
            cells = (joint.name, joint.kind, joint.link, mass, extent)
            rows += f"<tr>{''.join(f'<td>{html(cell)}</td>' for cell in cells)}</tr>"
        head = "".join(f"<th>{h}</th>" for h in ("joint", "type", "link", "mass / kg", "range"))
        parameters = f"; parameters {', '.join(model.parameters)}" if model.parameters else ""
        return (
            f"<div><b>{html(model.name)}</b>: {len(model.joints)} joints, {model.nv} degrees of "
            f"freedom{html(parameters)}<table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Representations by MIME type, and their metadata: text, the table, and a live page.

        The live page is there where a notebook has widgets.
        """
        data: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        shows = shell is not None and "text/html" in shell.display_formatter.active_types
        if shows and 0 < self.nv <= FEW and find_spec("anywidget") is not None:
            live, about = views.widget(self)._repr_mimebundle_()
            return live | data, about
        return data, {}

    def operation_count(
        self,
        quantity: str,
        formulation: str | None = None,
        as_written: bool = False,
        **choices: Argument,
    ) -> Count:
        """Arithmetic of a quantity for this robot, zeros and repetitions removed.

        With ``as_written=True``, what the derivation itself does: nothing is known to be zero, and
        nothing is shared that the formulation does not share.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        as_written : bool
            Count what the derivation does, nothing known to be zero.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        Count
            multiplications, additions, trigonometric and others.

        Examples
        --------
        >>> import dalembert as dl
        >>> robot = dl.load("puma560")
        >>> robot.operation_count("inverse_dynamics", "silver", as_written=True).multiplications
        882
        """
        from dalembert.systems import counting

        if as_written:
            return counting.as_written(self.model, quantity, formulation, **choices)
        return super().operation_count(quantity, formulation, **choices)

    # torques, accelerations and wrenches

    def recursion(
        self,
        q: OptionalArray = None,
        qd: OptionalArray = None,
        qdd: OptionalArray = None,
        tip_wrench: OptionalArray = None,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        gravity: str | None = None,
        tip: str | None = None,
        parameters: Parameters = None,
        timeout: float | None = 10.0,
    ) -> Recursion:
        """Every intermediate of a formulation by name and link, from the run that gives τ.

        ``table["omega"]`` is (..., links, 3); ``table.terms`` says what a formulation has. Links are
        seen in the frames of `pose`, wrenches through joints as `joint_wrenches` gives them. SymPy
        expressions give a symbolic table, and no state at all one in the robot's own symbols, written
        out within `timeout` seconds (τ then without Coulomb friction). CasADi symbols give arrays of
        expressions. The other arguments are those of `inverse_dynamics`; with
        ``gravity="potential"`` accelerations do not have −g in them.

        Parameters
        ----------
        q : array_like, optional
            Configurations (..., nq), numbers or symbols.
        qd : array_like, optional
            Velocities (..., nv).
        qdd : array_like, optional
            Accelerations (..., nv).
        tip_wrench : array_like, optional
            What the tool exerts on its environment (..., 6), in the tool frame.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        base_twist : array_like, optional
            Twist of the base (..., 6), in its frame.
        base_acceleration : array_like, optional
            Acceleration of the base (..., 6), in its frame.
        gravity : str, optional
            "base" or "potential".
        tip : str, optional
            "term" or "link": how the wrench at the tool enters `silver`.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        timeout : float
            Seconds that may be spent on writing the equations in a simpler form.

        Returns
        -------
        Recursion
            Arrays by name; text, HTML, LaTeX, `xarray.Dataset`.

        Examples
        --------
        >>> import dalembert as dl
        >>> table = dl.load("planar_2r").recursion([0.0, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> table["omega"]
        array([[0., 0., 1.],
               [0., 0., 3.]])
        """
        from dalembert.systems.recursion import recursion

        options = _options(base_twist, base_acceleration, tip_wrench)
        options |= {"gravity": gravity, "tip": tip}
        return recursion(self, (q, qd, qdd), formulation, parameters, options, timeout)

    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: OptionalArray = None,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """(..., joints, 6) force and moment each joint exerts on its link (001 §1.3, steps 3–4).

        Moments are about the joint's origin; components along the axes of the link frame.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        tip_wrench : array_like, optional
            What the tool exerts on its environment (..., 6), in the tool frame.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        base_twist : array_like, optional
            Twist of the base (..., 6), in its frame.
        base_acceleration : array_like, optional
            Acceleration of the base (..., 6), in its frame.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., joints, 6), N and N m.
        """
        options, state = _options(base_twist, base_acceleration, tip_wrench), (q, qd, qdd)
        return self._evaluate("joint_wrenches", state, formulation, parameters, out, **options)

    # poses, Jacobians, energies and momenta

    def pose(
        self, q: ArrayLike, frame: str = "tool", parameters: Parameters = None, out: Out = None
    ) -> Array:
        """(..., 4, 4) pose of a named frame in the world.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 4, 4).
        """
        return self._evaluate("pose", (q,), None, parameters, out, frame=frame)

    def jacobian(
        self,
        q: ArrayLike,
        frame: str = "tool",
        expressed_in: str = "body",
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """J (..., 6, nv) of a named frame: V = J q̇, (linear, angular).

        ``expressed_in`` is "body" (body twist), "spatial" (about the world's origin) or "world"
        (velocity of the frame's origin, along the world's axes).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        expressed_in : str
            "body" (body twist), "spatial" (about the world's origin) or "world" (of the frame's
            origin, along the world's axes).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            J (..., 6, nv).
        """
        view: dict[str, Any] = {"frame": frame, "expressed_in": expressed_in}
        return self._evaluate("jacobian", (q,), None, parameters, out, **view)

    def jacobian_rate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str = "tool",
        expressed_in: str = "body",
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """dJ/dt (..., 6, nv) along q̇, in the views of `jacobian`.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        frame : str
            Name of the frame.
        expressed_in : str
            "body" (body twist), "spatial" (about the world's origin) or "world" (of the frame's
            origin, along the world's axes).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            dJ/dt (..., 6, nv).
        """
        view: dict[str, Any] = {"frame": frame, "expressed_in": expressed_in}
        return self._evaluate("jacobian_rate", (q, qd), None, parameters, out, **view)

    def tendon_length(self, q: ArrayLike, parameters: Parameters = None, out: Out = None) -> Array:
        """L (..., tendons) of the tendons, in the order of ``model.tendons``, m.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            L (..., tendons).
        """
        return self._evaluate("tendon_length", (q,), None, parameters, out)

    def tendon_jacobian(
        self, q: ArrayLike, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """J (..., tendons, nv) with dL/dt = J q̇; tensions f take the torques Jᵀ f.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            J (..., tendons, nv).
        """
        return self._evaluate("tendon_jacobian", (q,), None, parameters, out)

    def center_of_mass(self, q: ArrayLike, parameters: Parameters = None, out: Out = None) -> Array:
        """(..., 3) centre of mass in the world, metres.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 3), m.
        """
        return self._evaluate("center_of_mass", (q,), None, parameters, out)

    def momentum(
        self, q: ArrayLike, qd: ArrayLike, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """(..., 6) linear and angular momentum about the world's origin, along its axes.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 6), kg m/s and kg m²/s.
        """
        return self._evaluate("momentum", (q, qd), None, parameters, out)

    def noether_momenta(
        self, q: ArrayLike, qd: ArrayLike, parameters: Parameters = None
    ) -> dict[str, Array]:
        """The components of `momentum` that are conserved by symmetry, by name.

        ξ·(P, L_O) is conserved where moving the robot as a whole by the twist ξ changes neither its
        energies nor meets the ground (Noether 1918). A floating base without gravity has six such
        momenta; under gravity the two horizontal ones and the moment about the vertical remain, however
        the joints are driven. A base that turns freely about a vertical axis conserves the moment about
        it. Torques of the base joints themselves, if there are any, change what is listed here.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        dict
            Momenta (...) by name, "linear_x" in kg m/s, "angular_z" in kg m²/s about the world's
            origin; directions that are no axes by their components. Empty where none is conserved.

        Examples
        --------
        >>> import dalembert as dl
        >>> base = {"name": "base", "joint": {"type": "free"}, "mass": 2.0, "com": (0, 0, 0.1)}
        >>> robot = dl.Robot.from_links([{**base, "inertia": np.eye(3)}])
        >>> momenta = robot.noether_momenta(robot.neutral(), [0.5, 0, 1.0, 0, 0, 3.0])
        >>> {name: round(float(value), 6) for name, value in momenta.items()}
        {'angular_z': 3.0, 'linear_x': 1.0, 'linear_y': 0.0}
        """
        from dalembert.systems.noether import symmetries

        stored = self.__dict__.setdefault("_symmetries", {})
        if parameters is None and not stored:
            stored["defaults"] = symmetries(self)
        twists = stored["defaults"] if parameters is None else symmetries(self, parameters)
        momentum = self.momentum(q, qd, parameters)
        return {name: momentum @ twist for name, twist in twists.items()}

    # matrices

    def mass_matrix_derivative(
        self,
        q: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """(..., nv, nv, nv) with entry [i, j, k] = ∂M_ij/∂q_k (000 p.31).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., nv, nv, nv).
        """
        return self._evaluate("mass_matrix_derivative", (q,), formulation, parameters, out)

    def coriolis_centrifugal(
        self, q: ArrayLike, parameters: Parameters = None
    ) -> tuple[Array, ...]:
        """Khatib's B (..., nv, nv(nv−1)/2) and C (..., nv, nv): V = B [q̇q̇] + C [q̇²] (003).

        The pairs are 12, 13, …, (n−1)n; the factor 2 is inside B.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        B, C : ndarray
            (..., nv, nv(nv−1)/2) and (..., nv, nv).
        """
        return self._evaluate("coriolis_centrifugal", (q,), None, parameters)

    def square_root(
        self,
        q: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """W (..., nv, nv) with W Wᵀ = M: by articulated inertias (000 p.50), or "symmetric".

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        formulation : str, optional
            "articulated_body" (default) or "symmetric".
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            W (..., nv, nv).
        """
        return self._evaluate("square_root", (q,), formulation, parameters, out)

    def square_root_inverse(
        self,
        q: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """W⁻¹ (..., nv, nv) of the `square_root` of the same formulation, with M⁻¹ = W⁻ᵀ W⁻¹.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        formulation : str, optional
            "articulated_body" (default) or "symmetric".
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            W⁻¹ (..., nv, nv).
        """
        return self._evaluate("square_root_inverse", (q,), formulation, parameters, out)

    def operators(self, q: ArrayLike, parameters: Parameters = None) -> Operators:
        """ξ, Γ, G, M, P_0, P_t of n bodies, stacked, by name (000 p.40–47): M(q) = ξᵀGᵀMGξ.

        Each body's frame has its origin at its joint and its z axis along the joint's, so that ξ is
        constant and sparse; `pose` and `recursion` have the link frames instead.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        Operators
            The stacked matrices by name.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> op = dl.load("planar_2r").operators([0.1, 0.2])
        >>> op.xi.shape, bool(abs(op.Gamma @ op.Gamma).max() == 0.0)  # Γⁿ = 0
        ((12, 2), True)
        """
        from dalembert.formulations.inverse.operator import Operators

        return Operators(*self._evaluate("operators", (q,), None, parameters))

    def articulated_inertia(
        self, q: ArrayLike, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """M̂ (..., 6n, 6n), block-diagonal, in the body frames of `operators` (000 p.48–50).

        M = M̂ − ΓᵀM̂Γ + ΓᵀM̂ξ D⁻¹ ξᵀM̂Γ with the matrices of `operators` and D = ξᵀM̂ξ and the rotors.
        Joints that follow others count as free here.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 6n, 6n).
        """
        return self._evaluate("articulated_inertia", (q,), None, parameters, out)

    # operational space, manipulability and singularities of a frame

    def operational_space(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str = "tool",
        task: str = "pose",
        expressed_in: str = "world",
        parameters: Parameters = None,
    ) -> OperationalTerms:
        """Λ, μ, p, J̄ and 1 − Jᵀ J̄ᵀ of a frame's "pose" (n = 6) or "position" (n = 3).

        F = Λ V̇ + μ + p along the world's axes, or in another view of `jacobian`. They grow without
        bound toward singular postures, where Λ does not exist: there one posture is an error that
        says what is lost, and a posture of a batch has NaN. `singularity` says how near one is.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        expressed_in : str
            "body" (body twist), "spatial" (about the world's origin) or "world" (of the frame's
            origin, along the world's axes).
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        OperationalTerms
            Λ (..., n, n), μ and p (..., n), J̄ (..., nv, n) and 1 − Jᵀ J̄ᵀ (..., nv, nv) by name.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> arm, q, qd = dl.load("ur5"), np.array([0.1, -1.0, 1.2, 0.3, 0.5, 0.0]), np.zeros(6)
        >>> tool = arm.operational_space(q, qd)
        >>> np.allclose(arm.jacobian(q, expressed_in="world") @ tool.inverse, np.eye(6))
        True
        """
        words = {"pose": "operational_space", "position": "operational_position"}
        if task not in words:
            raise UnknownNameError(f"task={task!r} must be 'pose' or 'position'")
        view: dict[str, Any] = {"frame": frame, "expressed_in": expressed_in}
        terms = OperationalTerms(*self._evaluate(words[task], (q, qd), None, parameters, **view))
        inertia = terms.inertia
        one = type(inertia) is np.ndarray and inertia.ndim == 2 and np.isnan(inertia).any()
        if one and np.isfinite(q).all() and np.isfinite(qd).all():
            lost = self.singularity(q, frame, task, parameters=parameters)
            text = str(lost) if lost else f"{frame!r} has fewer directions than the task {task!r}"
            raise FormulationError(f"{self.name}: no operational space at this posture: {text}")
        return terms

    def default_task(self, frame: str = "tool") -> str:
        """The default task of `singularity`, `manipulability` and the ellipsoids.

        The frame's "position" or "orientation" where that moves in as many directions as the whole
        pose (a planar 2R arm, a spatial 3R arm; a wrist), else its "pose".

        Parameters
        ----------
        frame : str
            Name of the frame.

        Returns
        -------
        str
            "pose", "position" or "orientation".

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("planar_2r").default_task(), dl.load("ur5").default_task()
        ('position', 'pose')
        """
        return self.dynamics.default_task(frame)

    def manipulability(
        self,
        q: ArrayLike,
        frame: str = "tool",
        task: str | None = None,
        parameters: Parameters = None,
    ) -> Array:
        """w (...) = √det(J Jᵀ) of a frame's "pose", "position" or "orientation"; 0 where singular.

        By default of `default_task(frame)`. With fewer joints than the task has coordinates it is
        √det(Jᵀ J), of the motions there are.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            w (...).

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("planar_2r")
        >>> arm.default_task(), bool(arm.manipulability([0.1, 0.0]) < 1e-12)  # stretched
        ('position', True)
        """
        return self._evaluate("manipulability", (q,), None, parameters, frame=frame, task=task)

    def manipulability_gradient(
        self,
        q: ArrayLike,
        frame: str = "tool",
        task: str | None = None,
        parameters: Parameters = None,
    ) -> Array:
        """∂w/∂q (..., nv) along the velocities; not a number where w is zero.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            ∂w/∂q (..., nv).
        """
        name = "manipulability_gradient"
        return self._evaluate(name, (q,), None, parameters, frame=frame, task=task)

    def singularity(
        self,
        q: ArrayLike,
        frame: str = "tool",
        task: str | None = None,
        tolerance: float = TOLERANCE,
        parameters: Parameters = None,
    ) -> Singularity:
        """Whether a posture q (nq,) is singular, which motions of the frame are lost, and why.

        The `task` is "pose", "position" or "orientation", by default that of `default_task(frame)`;
        the result states it. True where it moves in fewer directions than usual: a singular value,
        lengths measured by the longest lever, is below `tolerance` of the largest. As text it is a
        sentence that names the lost directions, along world axes, and the joints whose axes are in
        line, parallel or meet.

        Parameters
        ----------
        q : array_like
            A configuration (nq,).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        tolerance : float
            Singular value, beside the largest, below which a direction is lost.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        Singularity
            True where singular; as text a sentence.

        Examples
        --------
        >>> import dalembert as dl
        >>> wrist = dl.load("puma560").singularity([0.1, 0.5, 0.7, 0.3, 0.0, 0.4])
        >>> bool(wrist), wrist.reasons
        (True, ("the axes of 'joint4' and 'joint6' are one line",))
        """
        from dalembert.systems.singularity import singularity

        return singularity(self, q, frame, task, tolerance, parameters)

    def velocity_ellipsoid(
        self,
        q: ArrayLike,
        frame: str = "tool",
        task: str | None = None,
        parameters: Parameters = None,
    ) -> tuple[Array, ...]:
        """(radii (..., 3), axes (..., 3, 3) as columns) of the velocities that |q̇| ≤ 1 can give.

        Of the "position", m/s per unit of q̇, or "orientation"; along the world's axes, radii falling.
        By default of `default_task(frame)`, and of the position where that is the pose, since an
        ellipsoid has one unit.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        radii, axes : ndarray
            (..., 3) and (..., 3, 3), axes as columns.
        """
        return self._evaluate("velocity_ellipsoid", (q,), None, parameters, frame=frame, task=task)

    def force_ellipsoid(
        self,
        q: ArrayLike,
        frame: str = "tool",
        task: str | None = None,
        parameters: Parameters = None,
    ) -> tuple[Array, ...]:
        """(radii (..., 3), axes (..., 3, 3)) of the forces, or moments, that |τ| ≤ 1 can hold.

        The axes of `velocity_ellipsoid`, the radii their inverses: infinite where singular.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        radii, axes : ndarray
            (..., 3) and (..., 3, 3), axes as columns.
        """
        return self._evaluate("force_ellipsoid", (q,), None, parameters, frame=frame, task=task)

    # inertial parameters θ with τ = Y θ

    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """Y (..., nv, 10 bodies): ``Y @ robot.parameters`` is τ without friction, rotors, elements.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        base_twist : array_like, optional
            Twist of the base (..., 6), in its frame.
        base_acceleration : array_like, optional
            Acceleration of the base (..., 6), in its frame.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., nv, 10 bodies).

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> Y = robot.regressor([np.pi / 2], [0.0], [0.0])
        >>> Y @ robot.parameters
        array([9.81])
        """
        options: dict[str, Any] = {"base_twist": base_twist, "base_acceleration": base_acceleration}
        return self._evaluate("regressor", (q, qd, qdd), None, parameters, out, **options)

    @property
    def parameters(self) -> Array:
        """θ (10 bodies,): mass, first moment and tensor about the joint's origin, of every body.

        Body frames have their origin and z axis on the joint; SI units; `parameter_names` says
        which is which.

        >>> import dalembert as dl
        >>> dl.load("pendulum").parameters.shape
        (10,)
        """
        from dalembert.formulations.derivatives import regressor

        return np.asarray(regressor.inertial_parameters(self._numbers()), dtype=float)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """``link:m, link:mx, …, link:Izz`` for every entry of `parameters`."""
        from dalembert.formulations.derivatives import regressor

        return regressor.inertial_names(self.description)

    def with_parameters(self, theta: Array) -> Self:
        """The same robot with other inertias, θ as in `parameters`; they need not be physical.

        Parameters
        ----------
        theta : array_like
            Inertias (10 bodies,) as in `parameters`.

        Returns
        -------
        Robot
            A new robot; this one is unchanged.

        Examples
        --------
        >>> import dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> robot.with_parameters(2 * robot.parameters).mass_matrix([0.0])
        array([[2.]])
        """
        from dalembert.formulations.derivatives import regressor

        return type(self)(regressor.with_inertial_parameters(self._numbers(), theta))

    @cached_property
    def base_parameters(self) -> Grouping:
        """The smallest set of combinations of inertias that decides the torques, explained.

        >>> import dalembert as dl
        >>> len(dl.load("planar_2r").base_parameters.kept)
        4
        """
        from dalembert.formulations.derivatives.base_parameters import grouping

        return grouping(self._numbers().tree)

    def base_regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y_b (..., nv, base): τ = Y_b β, β = ``base_parameters.matrix @`` moments.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).

        Returns
        -------
        ndarray
            (..., nv, base).
        """
        from dalembert.formulations.derivatives.base_parameters import from_moments

        back = from_moments(len(self.description.bodies))[:, list(self.base_parameters.kept)]
        Y: Array = self.regressor(q, qd, qdd) @ back
        return Y

    def base_values(self) -> Array:
        """β (base,): the values of the base parameters.

        Returns
        -------
        ndarray
            (base,).

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> state = [0.3, 0.4], [1.0, 2.0], [3.0, 4.0]
        >>> tau = robot.base_regressor(*state) @ robot.base_values()
        >>> np.allclose(tau, robot.inverse_dynamics(*state))
        True
        """
        from dalembert.formulations.derivatives.base_parameters import moments

        beta: Array = self.base_parameters.matrix @ moments(self._numbers())
        return beta

    def reduced(self) -> Self:
        """An equivalent robot with as many zero inertias as possible, whose kernels do less.

        The default formulations do most of that by themselves; others do not.
        Torques, accelerations, M, and their derivatives are the same. What depends on where mass
        really is (joint wrenches, momentum, centre of mass) is not. A link may have moments without
        mass, which formulations about centres of mass refuse.

        Returns
        -------
        Robot

        Examples
        --------
        >>> import dalembert as dl
        >>> robot = dl.load("rx90")
        >>> robot.reduced().operation_count("inverse_dynamics").multiplications <= 253
        True
        """
        from dalembert.formulations.derivatives.base_parameters import reduced

        return type(self)(reduced(self._numbers(), self.base_parameters))

    def _numbers(self) -> Any:
        """The model with numbers for all its parameters."""
        return self.dynamics.bound().description


def _options(
    twist: OptionalArray, acceleration: OptionalArray, tip_wrench: OptionalArray = None
) -> dict[str, Any]:
    return {"tip_wrench": tip_wrench, "base_twist": twist, "base_acceleration": acceleration}
