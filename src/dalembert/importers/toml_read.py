"""TOML, refused before it is parsed where that would take long."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from dalembert.errors import ImportFileError

BETWEEN = re.compile(r"[,{}\[\]=#]")
# far beyond any mechanism
MAX_BYTES = 2**20
MAX_DOTS = 64


def parse_toml(text: str, file: str | None) -> dict[str, Any]:
    """The data of the text; errors say the file and its line.

    >>> parse_toml("a = [1, 2]", None)
    {'a': [1, 2]}
    """
    for k, line in enumerate(text.splitlines(), 1):
        # dotted keys take quadratic time; numbers have one dot
        if max(word.count(".") for word in BETWEEN.split(line)) > MAX_DOTS:
            raise ImportFileError(f"a key of more than {MAX_DOTS} parts", file, k)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ImportFileError("no TOML: it is nested too deeply", file) from None
    except ValueError as error:  # numbers too long for Python too
        where = re.search(r"\(at line (\d+)", str(error))
        last = len(text.splitlines()) if "(at end" in str(error) else None
        said = str(error).partition(" (at")[0]
        raise ImportFileError(f"no TOML: {said}", file, int(where[1]) if where else last) from None
