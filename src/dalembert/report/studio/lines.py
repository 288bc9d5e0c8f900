"""Where in a text an error stands: the line that it names, or that of the name it quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dalembert.errors import DalembertError, ImportFileError

QUOTED = re.compile(r"""['"]([^'"\n]{1,200})['"]""")
NOTED = re.compile(r"line (\d+): (.*)", re.DOTALL)


def fault(error: DalembertError, text: str, file: str) -> dict[str, Any]:
    """What is wrong as a sentence, and its line in the text, None where it stands in another file."""
    if isinstance(error, ImportFileError):
        named = (error.file or file).replace("\\", "/").rpartition("/")[2]
        if named != file:
            return {"error": str(error), "line": None}
        return {"error": error.message, "line": error.line or line_of(error.message, text)}
    return {"error": str(error), "line": line_of(str(error), text)}


def line_of(message: str, text: str) -> int | None:
    """The line where the first thing that the message quotes is named, or stands at all.

    >>> line_of("joint 'elbow': axis", '<robot>\\n<joint name="elbow">')
    2
    """
    lines = text.splitlines()
    words = QUOTED.findall(message)
    for pattern in (r"name\s*=\s*['\"]{}['\"]", r"['\"]{}['\"]"):
        for word in words:
            named = re.compile(pattern.format(re.escape(word)))
            for number, line in enumerate(lines, 1):
                if named.search(line):
                    return number
    return None


def remarks(warnings: Iterable[str], text: str) -> list[dict[str, Any]]:
    """What reading the text left to say, each with its line where it has one."""
    found = []
    for warning in warnings:
        noted = NOTED.match(warning)
        said, line = (noted[2], int(noted[1])) if noted else (warning, line_of(warning, text))
        found.append({"text": said, "line": line})
    return found
