"""Named robots, as tables with citation.

>>> names()[:3]
('pendulum', 'planar_2r', 'elbow_3r')
>>> entry("puma560").title
'Unimation PUMA 560, with motors and friction'
>>> entry("puma56")
Traceback (most recent call last):
...
dalembert.errors.UnknownNameError: no robot is called 'puma56'; did you mean 'puma560'? ...
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, UnknownNameError
from dalembert.zoo.entry import REGISTERED, Entry

if TYPE_CHECKING:
    from dalembert.importers.file_access import Trust

__all__ = ["Entry", "bodies", "entry", "is_known", "load", "mechanisms", "names", "systems"]


def _in_modules(*rows: tuple[str, str]) -> dict[str, str]:
    """The module of each name, from rows (module, names); it is imported when one is requested."""
    return {name: module for module, names in rows for name in names.split()}


_ROBOTS = _in_modules(
    ("textbook", "pendulum planar_2r elbow_3r rp two_bar_arm scara"),
    ("six_joint_arms", "stanford puma560 rx90 ur3 ur5 ur10"),
    ("seven_joint_arms", "panda iiwa14 xarm7 kinova_gen3"),
)
_SYSTEMS = _in_modules(("energies", "particle spherical_pendulum"))
_MECHANISMS = _in_modules(
    ("constrained_textbook", "pendulum_constrained spherical_pendulum_constrained rolling_disk"),
    ("constrained_textbook", "knife_edge chaplygin_sleigh snakeboard"),
    ("constrained_loops", "four_bar slider_crank parallel_3rr"),
    ("constrained_spatial", "arm_on_sphere arm_rolling_on_sphere stewart_platform"),
    ("constrained_loops", "bennett two_arms_with_box n_four_bar"),
    ("robotiq_2f85", "robotiq_2f85"),
    ("cassie", "cassie"),
)
_ABSOLUTE = _in_modules(
    ("absolute", "two_bars four_bar_linkage slider_crank_engine cartesian_pendulum"),
    ("absolute", "double_four_bar hanging_chain"),
)
_FILES = {**_ROBOTS, **_SYSTEMS, **_MECHANISMS, **_ABSOLUTE}


def names() -> tuple[str, ...]:
    """Names of all robots of the zoo, from the simplest to the largest."""
    return tuple(_ROBOTS)


def systems() -> tuple[str, ...]:
    """Names of the systems of the zoo that are no robots: given by their energies.

    >>> systems()
    ('particle', 'spherical_pendulum')
    """
    return tuple(_SYSTEMS)


def mechanisms() -> tuple[str, ...]:
    """Names of the constrained models of the zoo: closed chains, rolling, particles on rods.

    >>> mechanisms()[:3]
    ('pendulum_constrained', 'spherical_pendulum_constrained', 'rolling_disk')
    """
    return tuple(_MECHANISMS)


def bodies() -> tuple[str, ...]:
    """Names of the mechanisms of the zoo in absolute coordinates.

    >>> bodies()[:2]
    ('two_bars', 'four_bar_linkage')
    """
    return tuple(_ABSOLUTE)


def is_known(name: str) -> bool:
    """Whether the zoo has a system of this name."""
    return name in _FILES


def entry(name: str) -> Entry:
    """The entry of this name; an unknown one is an error that suggests the nearest."""
    if name in _FILES:
        import_module(f"dalembert.zoo.{_FILES[name]}")
        return REGISTERED[name]
    from difflib import get_close_matches

    near = get_close_matches(str(name).lower(), _FILES, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    listed = ", ".join(_FILES)
    raise UnknownNameError(f"no robot is called {name!r}{hint} The zoo has: {listed}")


DESCRIPTIONS = "robot_descriptions:"


def _described(name: str) -> tuple[Path, Path]:
    """The file of a module of `robot_descriptions`, and the folder of all files of its robot."""
    try:
        module = import_module(f"robot_descriptions.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"robot_descriptions.{name}":
            raise DalembertError(
                f"{DESCRIPTIONS}{name} needs the package {error.name}: pip install "
                "robot_descriptions"
            ) from None
        raise UnknownNameError(
            f"robot_descriptions has no {name!r}; `python -m robot_descriptions list` lists its robots"
        ) from None
    files = [getattr(module, x, None) for x in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")]
    file = next(filter(None, files), None)
    if file is None:
        raise UnknownNameError(f"robot_descriptions.{name} has neither a URDF nor an MJCF file")
    return Path(file), Path(getattr(module, "REPOSITORY_PATH", Path(file).parent))


def load(
    name: str | PathLike[str],
    *,
    loops: str | PathLike[str] = "close",
    keyframe: str | None = None,
    trust: Trust = None,
    **options: Any,
) -> Any:
    """Load a robot or system of the zoo by its name, or from a URDF or MJCF file.

    Parameters
    ----------
    name : str or path
        A name of the zoo, or a file: .urdf, .xacro, .xml or .mjcf; or "robot_descriptions:NAME", a
        module of the package `robot_descriptions`, which downloads the file the first time.
    loops : {"close", "ignore"} or path
        Whether a file's closed chains are closed, or the tree alone is read. Loops may also stand in
        a file of their own, ``robot.loops.toml`` beside ``robot.urdf``, or the TOML or YAML of this
        path.
    keyframe : str, optional
        Configuration of the file from which closed chains are assembled; default its first keyframe,
        else the reference posture.
    trust : path or sequence of paths, optional
        Folders, absolute or from the robot's own, below which files outside of that are opened.
    **options
        Numbers of a textbook model, or options of `Robot.from_urdf` and `Robot.from_mjcf`.

    Returns
    -------
    System
        A `Robot`, or a `Constrained` system where chains are closed.

    Raises
    ------
    UnknownNameError
        With the nearest name, for a name that is neither in the zoo nor a file.

    Examples
    --------
    >>> load("planar_2r").nv
    2
    >>> load("pendulum", l=2.0).name
    'pendulum'
    """
    if isinstance(name, str) and is_known(name):
        return entry(name).build(**options)
    if isinstance(name, str) and name.startswith(DESCRIPTIONS):
        name, folder = _described(name.removeprefix(DESCRIPTIONS))
        trust = folder if trust is None else trust
    if isinstance(name, str):  # a path by its ending, a folder in it, or because it is there
        is_robot_file = Path(name).suffix.lower() in (".urdf", ".xml", ".mjcf", ".xacro")
        if not (is_robot_file or "/" in name or os.sep in name or os.path.exists(name)):
            entry(name)  # raises, with the nearest name
    from dalembert.importers.safe_parsing import read_xml
    from dalembert.systems.robot import Robot

    path = Path(name)
    document, options = read_xml(path), {**options, "trust": trust}
    mjcf = document.root.tag == "mujoco"
    if loops == "ignore":
        read = Robot.from_mjcf if mjcf else Robot.from_urdf
        return read(path, **options)
    beside = path.with_suffix(".loops.toml") if loops == "close" else Path(loops)
    more = None
    if loops != "close" or beside.exists():
        from dalembert.importers.loops_file import read_loops

        more = read_loops(beside)
    if more is not None and more.kinds and not mjcf:
        options["kinds"] = more.kinds
    read_model: Callable[..., Any]
    if mjcf:
        from dalembert.importers.mjcf import model_from_mjcf as read_model
    else:
        from dalembert.importers.urdf import model_from_urdf as read_model
    robot = Robot(read_model(path, loops="close", **options))
    if more is None and keyframe is None and not robot.notes.equalities:
        return robot
    from dalembert.constraints.from_file import close_chains, with_loops

    if more is not None:
        from dalembert.importers.urdf import carried_links

        robot = with_loops(robot, more, beside.name, {} if mjcf else carried_links(document))
    return close_chains(robot, keyframe)
