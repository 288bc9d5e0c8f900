"""`dalembert count`: what every formulation costs, beside the published figures."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dalembert.cli.inputs import load
from dalembert.cli.output import console, integer, print_json, say, show, table
from dalembert.kernels.program.count import Count
from dalembert.report import counts
from dalembert.sources import cited

if TYPE_CHECKING:
    from dalembert.cli.app import CountOptions


def count(options: CountOptions) -> None:
    """Counts for one robot; for inverse dynamics also the history of savings and the growth."""
    system, quantity = load(options.robot).compiled, options.quantity
    rows = counts.count_rows(system, quantity)
    if options.json:
        print_json([asdict(row) for row in rows])
        return
    out = console()
    _show_rows(out, system.name, quantity, rows)
    if quantity != "inverse_dynamics" or system.robot is not system:
        return
    _show_history(out)
    growths = _counted_growths(out)
    _show_growths(out, growths)
    if options.plot is not None:
        counts.plot_growth(growths, options.plot)
        say(out, f"picture: {options.plot}")


def _pair(found: Count | tuple[int, int] | None) -> list[str]:
    if found is None:
        return ["–", "–"]
    pair = found if isinstance(found, tuple) else (found.multiplications, found.additions)
    return [integer(x) for x in pair]


def _show_rows(out: Console, robot: str, quantity: str, rows: list[counts.Row]) -> None:
    made = table(
        f"{quantity.replace('_', ' ')} of {robot}",
        *("formulation", "as written ×", "+", "this system ×", "+", "sin, cos"),
        *("published, n = 6 ×", "+"),
    )
    for row in rows:
        trigonometric = "–" if row.customised is None else str(row.customised.trigonometric)
        made.add_row(
            row.formulation,
            *_pair(row.as_written),
            *_pair(row.customised),
            trigonometric,
            *_pair(row.published),
        )
    show(out, made)
    for row in rows:
        if row.note:
            say(out, "  ", (row.formulation, "cyan"), f": {row.note}")
    out.print(
        "  as written: general numbers, nothing known to be zero; this system: zeros, ones and "
        "repetitions removed.\n"
    )


def _show_history(out: Console) -> None:
    made = table("where the savings come from, general chain of six", "variant", "×", "+")
    for title, found in counts.history_rows():
        made.add_row(title, *_pair(found))
    show(out, made)


def _counted_growths(out: Console) -> list[Any]:
    columns = (SpinnerColumn(), TextColumn("counting {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        task = progress.add_task("")
        return counts.growths(progress=lambda name: progress.update(task, description=name))


def _show_growths(out: Console, growths: list[Any]) -> None:
    made = table(
        "growth with the number of joints, exact", "formulation", "multiplications", "additions"
    )
    for growth in growths:
        made.add_row(
            growth.formulation,
            counts.polynomial_text(growth.multiplications),
            counts.polynomial_text(growth.additions),
        )
    show(out, made)
    totals = {growth.formulation: sum(growth.at(counts.PUBLISHED_FOR)) for growth in growths}
    if all(name in totals for name in counts.PUBLISHED):
        uicker, four, three, newton = (totals[name] for name in counts.PUBLISHED)
        out.print(
            f"  ratios at n = 6 ({cited('001 §1.4')} says 15, 2, 5, 2½): "
            f"uicker_kahn/4×4 {uicker / four:.1f}, 4×4/3×3 {four / three:.1f}, "
            f"4×4/craig {four / newton:.1f}, 3×3/craig {three / newton:.1f}"
        )
