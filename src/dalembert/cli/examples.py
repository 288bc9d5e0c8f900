"""`dalembert example`: the scripts of `dalembert/examples`, listed, shown, copied or run."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import dalembert
from dalembert.cli.output import console, print_json, say, show_table
from dalembert.errors import SettingError
from dalembert.files import output_file
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.cli.app import ExampleOptions

FOLDER = Path(dalembert.__file__).parent / "examples"


def summaries() -> dict[str, str]:
    """The first sentence of every example, by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
    return {
        name: (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
        for name, text in texts.items()
    }


def example(options: ExampleOptions) -> None:
    """List the examples; or show, copy or run one, and write the figure that it draws."""
    known = summaries()
    if options.name is None:
        if options.json:
            print_json([{"name": name, "summary": text} for name, text in known.items()])
        else:
            show_table(console(), None, ("example", ""), known.items(), left=2)
        return
    require_known(options.name, known, "there is no example")
    path = FOLDER / f"{options.name}.py"
    if options.show:
        print(path.read_text(encoding="utf-8"), end="")
    elif options.copy is not None:
        copy = options.copy / path.name
        if copy.exists():
            raise SettingError(f"--copy {options.copy}: {copy} exists already")
        with output_file(copy) as part:
            part.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        say(console(), f"{copy}")
    else:
        names = runpy.run_path(str(path), run_name="__main__")
        if hasattr(names.get("figure"), "savefig"):
            with output_file(options.out / f"{options.name}.png") as part:
                names["figure"].savefig(part, format="png", dpi=150)
            say(console(), f"figure: {options.out / options.name}.png")
