"""Operation counts of all formulations, beside the published ones, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert import formulations
from dalembert.errors import CompileError, DalembertError, FormulationError
from dalembert.files import output_file
from dalembert.kernels.program.count import Count
from dalembert.systems.counting import Growth, as_written, count_growth, general_chain
from dalembert.systems.system import System

# (multiplications, additions) of a general chain of six joints: Hollerbach 1980, table I
PUBLISHED = {
    "uicker_kahn": (66271, 51548),
    "hollerbach_4x4": (4388, 3586),
    "hollerbach_3x3": (2195, 1719),
    "craig": (852, 738),
}
PUBLISHED_FOR = 6  # joints
POWERS = {0: "", 1: " n", 2: " n²", 3: " n³", 4: " n⁴", 5: " n⁵"}
_FULL = (
    "more: joints are general screws here, so A and ∂A/∂q are full matrix products, which he has "
    "in closed form for the DH convention"
)
WHY = {
    "uicker_kahn": _FULL,
    "hollerbach_4x4": _FULL,
    "hollerbach_3x3": _FULL,
    "craig": "forming the link frames is counted here, 17 n and 19 n of it; the equations as printed, "
    "with frames given and the base at rest, come to 135 n − 66 and 110 n − 63, below 150 n − 48 and "
    "131 n − 48, whose conventions are not known",
    "newton_euler": "fewer products than craig: forces and moments about the link's origin share "
    "U = ω̇^ + ω^ω^",
    "silver": "the same operations as craig, which is what he set out to show",
}
# variants that show where the savings come from (001 §1.3, §3.2)
HISTORY: tuple[tuple[str, dict[str, str], str], ...] = (
    ("newton_euler_base", {}, "Newton–Euler, everything in base coordinates"),
    ("newton_euler_mixed", {}, "Newton–Euler, forces and moments in link frames"),
    ("craig", {"gravity": "potential"}, "Newton–Euler in link frames as printed, weights"),
    ("craig", {}, "Newton–Euler in link frames as printed, accelerated base"),
    ("newton_euler", {}, "Newton–Euler in link frames, moments about the links' origins"),
)


@dataclass(frozen=True)
class Row:
    """Counts of one formulation for one robot."""

    formulation: str
    as_written: Count | None  # None: the formulation cannot treat this robot
    customised: Count | None
    published: tuple[int, int] | None
    note: str


def count_rows(system: System, quantity: str = "inverse_dynamics") -> list[Row]:
    """One row per formulation of the quantity, for this system."""
    # as written means a formulation on a tree of joints that all move on their own
    tree = system.robot is system and not system.robot.model.followers
    robot = system.robot if tree else None
    published = PUBLISHED if robot is not None and quantity == "inverse_dynamics" else {}
    rows = []
    for formulation in system.dynamics.quantity(quantity).formulations:
        name = formulation.name
        try:
            output_file = None
            if robot is not None:
                output_file = robot.operation_count(quantity, name, as_written=True)
            customised = system.operation_count(quantity, name)
        except (FormulationError, CompileError) as error:
            rows.append(Row(name, None, None, published.get(name), str(error)))
            continue
        note = WHY.get(name, "") if published else ""
        rows.append(Row(name, output_file, customised, published.get(name), note))
    return rows


def history_rows(n: int = PUBLISHED_FOR) -> list[tuple[str, Count]]:
    """001's history of savings, as written, for a general chain of n joints."""
    chain = general_chain(n)
    return [
        (title, as_written(chain, "inverse_dynamics", name, **choices))
        for name, choices, title in HISTORY
    ]


def growths(
    sizes: Iterable[int] = range(3, 10), progress: Callable[[str], Any] = lambda name: None
) -> list[Growth]:
    """Exact growth of every formulation of inverse dynamics with the number of joints."""
    result = []
    for formulation in formulations.quantity("inverse_dynamics").formulations:
        progress(formulation.name)
        result.append(count_growth(formulation.name, sizes))
    return result


def polynomial_text(coefficients: tuple[Any, ...]) -> str:
    """A polynomial in n, highest power first.

    >>> polynomial_text((-48, 150))
    '150 n − 48'
    """
    parts = [(c, POWERS[k]) for k, c in reversed(list(enumerate(coefficients))) if c]
    text = "".join(f" {'−' if c < 0 else '+'} {abs(c)}{p}" for c, p in parts).strip()
    return text.replace("− ", "−", 1) if text.startswith("−") else text.removeprefix("+ ")


def plot_growth(growths: list[Growth], path: Path, most: int = 40) -> None:
    """Multiplications and additions against the number of joints, on log axes, as a picture."""
    from dalembert.report.figures import new_figure

    figure = new_figure(8.0, 5.6, dpi=150)
    axes = figure.subplots()
    sizes = range(2, most + 1)
    ends = []
    for number, growth in enumerate(growths):
        totals = [sum(growth.at(n)) for n in sizes]
        color = f"C{number % 10}"
        axes.loglog(sizes, totals, color=color, linewidth=1.6)
        measured = [sum(growth.at(n)) for n in growth.counts]
        axes.loglog(list(growth.counts), measured, "o", color=color, markersize=3)
        power = POWERS.get(growth.degree, f" n^{growth.degree}").strip()
        ends.append((totals[-1], f"{growth.formulation} ({power})", color))
    _label_ends(axes, ends, most)
    for name, (multiplications, additions) in PUBLISHED.items():
        axes.plot(PUBLISHED_FOR, multiplications + additions, "x", color="0.35")
        axes.annotate(
            name, (PUBLISHED_FOR, multiplications + additions), (5, -9),
            textcoords="offset points", fontsize=6.5, color="0.35",
        )  # fmt: skip
    axes.plot([], [], "x", color="0.35", label="Hollerbach 1980, n = 6")
    axes.plot([], [], "o", color="0.35", markersize=3, label="counted")
    axes.set_xlim(2, most * 3.2)
    ticks = [n for n in (2, 3, 4, 6, 8, 12, 20, 40) if n <= most]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("joints of a general chain, n")
    axes.set_ylabel("multiplications and additions, as written")
    axes.set_title("Inverse dynamics: the same torques, by every formulation", fontsize=11)
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    kind = path.suffix.lower().removeprefix(".") or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise DalembertError(f"{path}: no picture ends in {path.suffix!r}; take .png, .svg or .pdf")
    with output_file(path) as part:
        figure.savefig(part, format=kind)


def _label_ends(axes: Any, ends: Iterable[tuple[float, str, str]], most: int) -> None:
    """Names at the right ends of the curves, moved apart where they would overlap."""
    lowest = 0.0
    for value, label, color in sorted(ends):
        height = max(value, lowest * 1.5)
        axes.annotate(
            label, (most, value), (most * 1.12, height), fontsize=8, color=color, va="center",
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.5},
        )  # fmt: skip
        lowest = height
