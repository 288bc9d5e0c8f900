"""Find words of `tools/vocabulary.txt` that name things in code, or images in prose.

Of JavaScript the identifiers are read, without properties and vendored files; of Markdown the prose
and the names in blocks of Python.

python tools/vocabulary.py            # every place, and how many
python tools/vocabulary.py src tests  # of these folders
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".txt")
FOLDERS = (
    "src",
    "tests",
    "tools",
    "benchmarks",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
)


class Vocabulary(NamedTuple):
    identifiers: frozenset[str]
    images: frozenset[str]
    exceptions: tuple[tuple[str, str], ...]

    def allows(self, word: str, path: str) -> bool:
        return any(word == known and path.startswith(start) for known, start in self.exceptions)


def read_vocabulary(path: Path = LIST) -> Vocabulary:
    """The list of words, the images and the exceptions (word, beginning of a path)."""
    entries: dict[str, list[str]] = {"identifier": [], "image": []}
    exceptions: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.partition("#")[0].split()
        if fields and fields[0] == "except":
            exceptions.append((fields[1], fields[2] if len(fields) > 2 else ""))
        elif fields:
            entries[fields[0]].extend(fields[1:])
    return Vocabulary(
        frozenset(entries["identifier"]), frozenset(entries["image"]), tuple(exceptions)
    )


def occurrences(folders: list[Path], vocabulary: Vocabulary) -> Iterator[str]:
    """One line per place: `path:line: word (where it stands)`."""
    for folder in folders:
        paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        for path in paths:
            if path.suffix not in (".py", ".md", ".js") or {".venv", "vendor"} & {*path.parts}:
                continue
            name = path.resolve().relative_to(ROOT).as_posix()
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                words = _of_python(text, path, vocabulary)
            elif path.suffix == ".js":
                words = of_javascript(text, vocabulary)
            else:
                words = _of_markdown(text, vocabulary)
            for line, word, where in words:
                if not vocabulary.allows(word, name):
                    yield f"{name}:{line}: {word} ({where})"


def _of_python(text: str, path: Path, vocabulary: Vocabulary) -> Iterator[tuple[int, str, str]]:
    tree = ast.parse(text)
    yield from _names([(1, path.stem.removeprefix("test_"))], "file", vocabulary)
    yield from _names(_defined_names(tree), "identifier", vocabulary)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None:
                yield from _prose(docstring, node.body[0].lineno, vocabulary)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from _prose(token.string, token.start[0], vocabulary)


PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _of_markdown(text: str, vocabulary: Vocabulary) -> Iterator[tuple[int, str, str]]:
    yield from _prose(text, 1, vocabulary)
    for block in PYTHON_BLOCK.finditer(text):
        before = text.count("\n", 0, block.start(1))
        for line, word, where in _names(
            _defined_names(ast.parse(block[1])), "identifier", vocabulary
        ):
            yield before + line, word, where


def _names(
    names: Iterable[tuple[int, str]], where: str, vocabulary: Vocabulary
) -> Iterator[tuple[int, str, str]]:
    for line, name in names:
        word = name.strip("_").lower()
        if word in vocabulary.identifiers:
            yield line, word, where
        for part in word.split("_"):
            if part in vocabulary.images:
                yield line, part, where


def _defined_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


# what is no code: comments, strings, regular expressions, and the text of template literals
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"|(?:(?<=[=(,:!&|?;\[])|(?<=[=(,:!&|?;\[] ))/(?![*/\s])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/\w*",
    re.DOTALL,
)
TEMPLATE_TEXT = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])+", re.DOTALL)
# a name that is neither a property nor a key; a spread, ...name, is one
NAME = re.compile(r"(?:(?<=\.\.\.)|(?<![\w$.]))[A-Za-z_$][\w$]*(?!:)(?![\w$])")


def of_javascript(text: str, vocabulary: Vocabulary) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(javascript_code(text).splitlines(), start=1):
        for name in NAME.findall(line):
            word = name.strip("_$").lower()
            if word in vocabulary.identifiers:
                yield number, word, "identifier"
            for part in re.findall("[A-Z]?[a-z]+", name):
                if part.lower() in vocabulary.images:
                    yield number, part.lower(), "identifier"


def javascript_code(text: str) -> str:
    """The text with blanks for all that is no code; lines stay where they are."""
    pieces, position = [], 0
    nested: list[str] = []  # the template literals and braces that are open here
    while position < len(text):
        is_text = nested[-1:] == ["`"]
        match = (TEMPLATE_TEXT if is_text else NO_CODE).match(text, position)
        piece = match[0] if match else text[position : position + 1 + is_text]
        if match:
            pieces.append(re.sub(r"[^\n]", " ", piece))
        elif piece.startswith("`"):
            piece = "`"
            nested.pop() if is_text else nested.append("`")
            pieces.append(piece)
        else:
            if piece in ("{", "${"):
                nested.append("{")
            elif piece == "}" and nested:
                nested.pop()
            pieces.append(piece)
        position += len(piece)
    return "".join(pieces)


def _prose(text: str, first_line: int, vocabulary: Vocabulary) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), start=first_line):
        for word in re.findall(r"[A-Za-z]+", line):
            if word.lower() in vocabulary.images:
                yield number, word.lower(), "prose"


def main(arguments: list[str]) -> int:
    folders = [Path(argument) for argument in arguments] or [ROOT / name for name in FOLDERS]
    lines = list(occurrences(folders, read_vocabulary()))
    print("\n".join([*lines, f"{len(lines)} words of {LIST.name}"]))
    return bool(lines)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
