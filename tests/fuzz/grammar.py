"""Robot files and mechanisms made from a grammar: mostly right, with a wrong word here and there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.mutate import NUMBERS, WORDS

WRONG = 0.01  # share of values that are exchanged for something hostile, in half of the files
URDF_JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "spherical")
MJCF_JOINTS = ("hinge", "hinge", "slide", "ball")
MJCF_GEOMS = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "ellipsoid": 3}


class Writer:
    """Values as text, some of them wrong; names of what there is."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.wrong = WRONG if rng.random() < 0.5 else 0.0

    def pick(self, options):
        """One of them."""
        return options[int(self.rng.integers(len(options)))]

    def sometimes(self, share: float) -> bool:
        """True in that share of cases."""
        return bool(self.rng.random() < share)

    def numbers(self, *values: float) -> str:
        """The values, separated by spaces."""
        return " ".join(self._maybe_wrong(repr(float(x)), NUMBERS) for x in values)

    def word(self, text: str) -> str:
        """The word."""
        return self._maybe_wrong(text, WORDS)

    def normal(self, count: int, scale: float = 1.0) -> str:
        """Random numbers of both signs."""
        return self.numbers(*(scale * self.rng.normal(size=count)))

    def positive(self, count: int = 1) -> str:
        """Random numbers between 0.1 and 2."""
        return self.numbers(*self.rng.uniform(0.1, 2.0, count))

    def moments(self) -> np.ndarray:
        """A tensor of inertia (3, 3) that a body can have."""
        points = self.rng.normal(size=(4, 3))
        return np.einsum("kx,kx->", points, points) * np.eye(3) - points.T @ points

    def _maybe_wrong(self, text: str, others: tuple[bytes, ...]) -> str:
        if self.rng.random() < self.wrong:
            return self.pick(others).decode(errors="replace")
        return text


def urdf(rng: np.random.Generator) -> bytes:
    """A tree of one to eight links."""
    w = Writer(rng)
    count = int(rng.integers(1, 9))
    parts = [_urdf_link(w, k) for k in range(count)]
    kinds: list[str] = []
    for k in range(1, count):
        parts.append(_urdf_joint(w, k, kinds))
    order = rng.permutation(len(parts)) if w.sometimes(0.3) else range(len(parts))
    inside = "\n".join(parts[int(k)] for k in order)
    return f'<robot name="made">\n{inside}\n</robot>\n'.encode()


def _urdf_link(w: Writer, k: int) -> str:
    if w.sometimes(0.15):
        return f'<link name="link{k}"/>'
    I = w.moments()
    pairs = {"ixx": I[0, 0], "ixy": I[0, 1], "ixz": I[0, 2]}
    pairs |= {"iyy": I[1, 1], "iyz": I[1, 2], "izz": I[2, 2]}
    tensor = " ".join(f'{name}="{w.numbers(x)}"' for name, x in pairs.items())
    origin = f'<origin xyz="{w.normal(3)}" rpy="{w.normal(3)}"/>' if w.sometimes(0.7) else ""
    mass = f'<mass value="{w.positive()}"/>'
    return f'<link name="link{k}"><inertial>{origin}{mass}<inertia {tensor}/></inertial></link>'


def _urdf_joint(w: Writer, k: int, kinds: list[str]) -> str:
    kind = w.pick(URDF_JOINTS)
    parts = [f'<parent link="{w.word(f"link{int(w.rng.integers(k))}")}"/>']
    parts += [f'<child link="link{k}"/>', f'<axis xyz="{w.normal(3)}"/>']
    if w.sometimes(0.8):
        parts.append(f'<origin xyz="{w.normal(3)}" rpy="{w.normal(3)}"/>')
    if kind in ("revolute", "prismatic"):
        parts.append('<limit lower="-2" upper="2" effort="9" velocity="3"/>')
    if kind in ("revolute", "continuous", "prismatic"):
        if w.sometimes(0.3):
            parts.append(f'<dynamics damping="{w.positive()}" friction="{w.positive()}"/>')
        leaders = [j + 1 for j, other in enumerate(kinds) if other == kind]
        if leaders and w.sometimes(0.2):
            factor, offset = w.normal(1), w.normal(1)
            leader = w.word(f"joint{w.pick(leaders)}")
            parts.append(f'<mimic joint="{leader}" multiplier="{factor}" offset="{offset}"/>')
    kinds.append(kind)
    return f'<joint name="joint{k}" type="{w.word(kind)}">{"".join(parts)}</joint>'


def mjcf(rng: np.random.Generator) -> bytes:
    """One or two trees of bodies with springs, tendons, actuators and equalities."""
    w, names = Writer(rng), list[str]()
    trees = "".join(_body(w, 0, names, w.sometimes(0.4)) for _ in range(int(rng.integers(1, 3))))
    angle = w.word(w.pick(("degree", "radian")))
    option = f'<option gravity="{w.normal(3)}" density="{w.pick((0, 0, 1.2, 900))}"/>'
    ends = _ends(w, names) if len(names) > 1 else ""
    head = f'<mujoco model="made"><compiler angle="{angle}"/>{option}'
    return f"{head}<worldbody>{trees}</worldbody>{ends}</mujoco>".encode()


def _body(w: Writer, depth: int, names: list[str], free: bool) -> str:
    pose_words = f'pos="{w.normal(3)}" quat="{w.normal(4)}"'
    parts = ["<freejoint/>"] if free and not depth else []
    for _ in range(0 if parts else int(w.rng.integers(0 if depth else 1, 3))):
        parts.append(_joint(w, names))
        if "ball" in parts[-1]:
            break
    if w.sometimes(0.5):
        I = w.moments()
        tensor = w.numbers(*np.diag(I), I[0, 1], I[0, 2], I[1, 2])
        parts.append(
            f'<inertial pos="{w.normal(3)}" mass="{w.positive()}" fullinertia="{tensor}"/>'
        )
    kind = w.pick(list(MJCF_GEOMS))
    size = w.positive(MJCF_GEOMS[kind])
    parts.append(f'<geom type="{kind}" size="{size}" pos="{w.normal(3)}" euler="{w.normal(3)}"/>')
    while depth < 4 and w.sometimes(0.5 if depth else 0.8):
        parts.append(_body(w, depth + 1, names, False))
        if w.sometimes(0.5):
            break
    return f"<body {pose_words}>{''.join(parts)}</body>"


def _joint(w: Writer, names: list[str]) -> str:
    kind = w.pick(MJCF_JOINTS)
    more = ""
    for key in ("damping", "armature", "stiffness", "frictionloss"):
        if w.sometimes(0.25):
            more += f' {key}="{w.positive()}"'
    if kind != "ball":
        more += f' axis="{w.normal(3)}"'
        names.append(f"joint{len(names)}")
        more += f' name="{names[-1]}"'
        if w.sometimes(0.3):
            more += f' ref="{w.normal(1)}" springref="{w.normal(1)}"'
    return f'<joint type="{w.word(kind)}" pos="{w.normal(3)}"{more}/>'


def _ends(w: Writer, names: list[str]) -> str:
    """Tendons, actuators and equalities between two joints."""
    a, b = (w.word(w.pick(names)) for _ in range(2))
    parts: dict[str, Callable[[], str]] = {
        "tendon": lambda: (
            f'<fixed name="t" stiffness="{w.positive()}" damping="{w.positive()}">'
            f'<joint joint="{a}" coef="{w.normal(1)}"/></fixed>'
        ),
        "actuator": lambda: f'<motor joint="{a}" gear="{w.normal(1)}"/>',
        "equality": lambda: f'<joint joint1="{a}" joint2="{b}" polycoef="{w.normal(2)} 0 0 0"/>',
    }
    return "".join(f"<{key}>{part()}</{key}>" for key, part in parts.items() if w.sometimes(0.3))


def mechanism(rng: np.random.Generator) -> str:
    """A planar mechanism of one to four bodies in TOML."""
    w = Writer(rng)
    count = int(rng.integers(1, 5))
    lines = ['name = "made"', 'kind = "planar"', f"gravity = {_row(w, 2)}"]
    for k in range(count):
        lines += ["[[body]]", f'name = "b{k}"', f"mass = {w.positive()}"]
        lines += [f"inertia = {w.positive()}", f"at = {_row(w, 2)}"]
        if w.sometimes(0.3):
            lines.append(f"angle = {w.normal(1)}")
    ends = ["ground", *(f"b{k}" for k in range(count))]
    for k in range(int(rng.integers(0, count + 1))):
        kind = w.pick(("revolute", "revolute", "distance", "fixed", "prismatic"))
        a, b = (w.word(w.pick(ends)) for _ in range(2))
        lines += ["[[joint]]", f'name = "j{k}"', f'type = "{w.word(kind)}"']
        lines += [f'between = [["{a}", {_row(w, 2)}], ["{b}", {_row(w, 2)}]]']
    for k in range(int(rng.integers(0, 3))):
        a, b = (w.word(w.pick(ends)) for _ in range(2))
        lines += ["[[spring]]", f'name = "s{k}"', f'between = ["{a}", "{b}"]']
        lines += [f"stiffness = {w.positive()}", f"free = {w.positive()}"]
    return "\n".join(lines) + "\n"


def _row(w: Writer, count: int) -> str:
    return f"[{', '.join(w.normal(1) for _ in range(count))}]"
