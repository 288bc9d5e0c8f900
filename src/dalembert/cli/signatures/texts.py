"""A system as text: equations in letters, sources in other languages; and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.options import Chosen, Json, Name

commands = typer.Typer()


@commands.command(epilog="Example: dalembert equations elbow_3r --html --out elbow.html")
def equations(
    robot: Name,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX.")] = False,
    html: Annotated[bool, typer.Option("--html", help="As a page that needs no network.")] = False,
    pdf_ready: Annotated[
        bool, typer.Option("--pdf-ready", help="As a whole LaTeX document.")
    ] = False,
    quantity: Annotated[
        list[str] | None,
        typer.Option(
            help="M, C, g, Gamma, K, U, B, Csq, psi, G, e; under constraints also h, A, gamma, "
            "lambda, P_omega, P_T, M_p, h_p, tau_p, M_r, h_r, tau_r, Delta; may be repeated. "
            "Default: those that say all of the motion."
        ),
    ] = None,
    recursion: Annotated[
        str | None,
        typer.Option(
            help="Instead, what this formulation computes link by link, as text or LaTeX."
        ),
    ] = None,
    simplify: Annotated[str, typer.Option(help="full or fast.")] = "full",
    timeout: Annotated[float, typer.Option(help="Seconds to look for shorter forms.")] = 30.0,
    out: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
) -> None:
    """Print the equations of motion in letters, as a textbook would."""
    from dalembert.cli.equations import equations, links

    chosen = [name for name, wanted in (("latex", latex), ("html", html)) if wanted]
    form = (chosen + ["pdf-ready"] * pdf_ready + ["text"])[0]
    if recursion is not None:
        links(robot, form, recursion, timeout, out)
        return
    equations(robot, form, quantity, simplify, timeout, out)


@commands.command(epilog="Example: dalembert export ur5 --quantity inverse_dynamics --target c")
def export(
    robot: Name,
    quantity: Annotated[str, typer.Option(help="What to export.")] = "inverse_dynamics",
    target: Annotated[str, typer.Option(help="c, cuda, wasm or casadi.")] = "c",
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("out"),
    dtype: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    layout: Annotated[str, typer.Option(help="row or column, for CUDA.")] = "row",
    formulation: Chosen = None,
) -> None:
    """Write a quantity as C, CUDA, WebAssembly or a CasADi function that stands on its own."""
    from dalembert.cli.export import export

    export(robot, quantity, target, out, dtype, layout, formulation)


@commands.command(epilog="Example: dalembert cache --verify")
def cache(
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every entry and remove damaged ones.")
    ] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries.")] = False,
    as_json: Json = False,
) -> None:
    """Show what is kept of compiled kernels: where, how much; verify it, or clear it."""
    from dalembert.cli import cache as kept

    if verify and clear:
        raise typer.BadParameter("choose one of --verify and --clear")
    if clear:
        kept.clear()
    elif verify:
        kept.verify()
    else:
        kept.show(as_json)
