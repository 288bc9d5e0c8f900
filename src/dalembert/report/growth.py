"""Growth of operations with the number of joints: exact polynomials, counts, and their pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert import formulations as catalogue
from dalembert.constraints import Constrained, Loop
from dalembert.errors import DalembertError
from dalembert.files import output_file
from dalembert.report.comparison import POWERS, PUBLISHED, PUBLISHED_FOR
from dalembert.report.figures import new_figure
from dalembert.systems.counting import Growth, as_written, count_growth, general_chain
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[str], object]
Curve = tuple[str, Mapping[int, int], Sequence[int]]  # label, operations by size, sizes with a dot
TITLES = {
    "inverse_dynamics": "Inverse dynamics: the same torques, by every formulation",
    "forward_dynamics": "Forward dynamics: the same accelerations, by every formulation",
    "closed": "A chain whose tip is held at a point: the same motion, by every route",
}


def growths(progress: Progress = lambda name: None) -> list[Growth]:
    """Exact growth of every formulation of inverse dynamics with the number of joints."""
    result = []
    for formulation in catalogue.quantity("inverse_dynamics").formulations:
        progress(formulation.name)
        result.append(count_growth(formulation.name, range(3, 10)))
    return result


def closed_chain(n: int) -> Constrained:
    """A general chain of n revolute joints whose tip is held where it is at rest: three rows."""
    chain = Robot(general_chain(n))
    point = Loop("base", "tool", "point", pose_a=chain.pose(chain.neutral()), along="world")
    return Constrained(chain, [point], name=f"closed chain of {n}")


def operations_by_size(
    quantity: str = "inverse_dynamics",
    n: Iterable[int] = range(2, 13),
    progress: Progress = lambda name: None,
) -> dict[str, dict[int, int]]:
    """Operations of every formulation for chains of n general revolute joints, all counted.

    Parameters
    ----------
    quantity : str
        "inverse_dynamics", "forward_dynamics", …: as their derivations write them. "closed": motion of
        the chain with its tip held at a point by every route, zeros and repetitions removed; n ≥ 4.
    n : iterable of int
        Numbers of joints.
    progress : callable, optional
        Called with the name of each formulation.

    Returns
    -------
    dict
        {formulation: {n: operations}}.
    """
    sizes = sorted(set(n))
    if quantity == "closed":
        chains = {k: closed_chain(k) for k in sizes if k > 3}
        if not chains:
            raise DalembertError(f"n = {sizes}: a chain whose tip is held moves from n = 4 on")
        routes = next(iter(chains.values())).dynamics.quantity("forward_dynamics").formulations
        counts: dict[str, dict[int, int]] = {}
        for route in routes:
            progress(route.name)
            counts[route.name] = {
                k: chain.operation_count("forward_dynamics", route.name).total
                for k, chain in chains.items()
            }
        return counts
    counts = {}
    for formulation in catalogue.quantity(quantity).formulations:
        progress(formulation.name)
        counts[formulation.name] = {
            k: as_written(general_chain(k), quantity, formulation.name).total for k in sizes
        }
    return counts


def growth_chart(
    quantity: str = "inverse_dynamics",
    n: Iterable[int] = range(2, 13),
    path: Path | str | None = None,
) -> Figure:
    """Chart of the operations of every formulation against the number of joints, on log axes.

    Parameters
    ----------
    quantity : str
        "inverse_dynamics", "forward_dynamics", …, or "closed", as for `operations_by_size`.
    n : iterable of int
        Numbers of joints.
    path : path, optional
        Where the picture is written, .png, .svg or .pdf.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from dalembert.report.growth import growth_chart
    >>> figure = growth_chart("mass_matrix", n=[2, 3, 4])
    >>> figure.axes[0].get_xlabel()
    'joints of a general chain, n'
    """
    counts = operations_by_size(quantity, n)
    curves: list[Curve] = [(name, each, sorted(each)) for name, each in counts.items()]
    title = TITLES.get(quantity, f"{quantity.replace('_', ' ').capitalize()} by every formulation")
    unit = "operations, zeros and repetitions removed" if quantity == "closed" else AS_WRITTEN
    figure, _ = _figure(curves, title, unit)
    if path is not None:
        _save(figure, Path(path))
    return figure


AS_WRITTEN = "operations, as written"


def plot_growth(growths: list[Growth], path: Path, most: int = 40) -> None:
    """Multiplications and additions of inverse dynamics against the number of joints, as a picture."""
    curves: list[Curve] = []
    for growth in growths:
        power = POWERS.get(growth.degree, f" n^{growth.degree}").strip()
        totals = {n: sum(growth.at(n)) for n in range(2, most + 1)}
        curves.append((f"{growth.formulation} ({power})", totals, list(growth.counts)))
    unit = "multiplications and additions, as written"
    figure, axes = _figure(curves, TITLES["inverse_dynamics"], unit, most)
    for name, (multiplications, additions) in PUBLISHED.items():
        axes.plot(PUBLISHED_FOR, multiplications + additions, "x", color="0.35")
        axes.annotate(
            name, (PUBLISHED_FOR, multiplications + additions), (5, -9),
            textcoords="offset points", fontsize=6.5, color="0.35",
        )  # fmt: skip
    axes.plot([], [], "x", color="0.35", label="Hollerbach 1980, n = 6")
    axes.plot([], [], "o", color="0.35", markersize=3, label="counted")
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    _save(figure, path)


def _figure(
    curves: Sequence[Curve], title: str, unit: str, most: int | None = None
) -> tuple[Figure, Any]:
    """Curves on log axes with their names at the right ends, moved apart where they would overlap."""
    most = max((max(totals) for _, totals, _ in curves), default=2) if most is None else most
    figure = new_figure(8.0, 5.6, dpi=150)
    axes = figure.subplots()
    ends = []
    for number, (label, totals, counted) in enumerate(curves):
        color = f"C{number % 10}"
        axes.loglog(list(totals), list(totals.values()), color=color, linewidth=1.6)
        axes.loglog(counted, [totals[n] for n in counted], "o", color=color, markersize=3)
        ends.append((totals[max(totals)], label, color))
    low, high = axes.get_ylim()
    # of the decades of the axis, as much as a line of text takes
    apart = (high / max(low, 1.0)) ** (1.0 / 32.0)
    lowest = 0.0
    for value, label, color in sorted(ends):
        lowest = max(value, lowest * apart)
        axes.annotate(
            label, (most, value), (most * 1.12, lowest), fontsize=8, color=color, va="center",
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.5, "relpos": (0.0, 0.5)},
        )  # fmt: skip
    least = min((min(totals) for _, totals, _ in curves), default=2)
    axes.set_xlim(least, most * (most / least) ** 0.4)
    ticks = [n for n in (2, 3, 4, 6, 8, 10, 12, 20, 40) if least <= n <= most]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    if high < 100.0 * low:
        steps = [x * 10.0**k for k in range(12) for x in (1, 2, 5)]
        within = [y for y in steps if low <= y <= high]
        axes.set_yticks(within, [f"{y:,.0f}" for y in within])
    axes.minorticks_off()
    axes.set_xlabel("joints of a general chain, n")
    axes.set_ylabel(unit)
    axes.set_title(title, fontsize=11)
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Figure, path: Path) -> None:
    kind = path.suffix.lower().removeprefix(".") or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise DalembertError(f"{path}: no picture ends in {path.suffix!r}; take .png, .svg or .pdf")
    with output_file(path) as part:
        figure.savefig(part, format=kind)
