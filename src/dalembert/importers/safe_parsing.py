"""Parsing untrusted XML and TOML: bounded in size, depth and time.

Written on the standard library's expat, which reports lines. Nothing is ever expanded or fetched:
entity declarations and external identifiers are errors.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from dalembert.errors import ImportFileError

# The largest robot descriptions in use are a few hundred kilobytes, without meshes.
MAX_BYTES = 16 * 2**20
MAX_ELEMENTS = 200_000
MAX_DEPTH = 256
MAX_TEXT = 256

Source = str | bytes | Path
Numbers = tuple[float, ...]

# every digit can be matched in one way only: a long number takes linear time
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MAX_NUMBER = 1000  # characters
# Robots are of human scale: what is larger is a mistake that would overflow later.
LARGEST = 1e12
_WEB_PAGE = "this is a web page, not a robot; download the raw file"
_UNSAVED: ContextVar[tuple[Path, bytes] | None] = ContextVar("_UNSAVED", default=None)


@dataclass(slots=True)
class Element:
    """One element: tag as written, attributes, children, the line it starts on, its file."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str | None = None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """Children with this tag."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element | None:
        """The child with this tag, if there is one; two are an error."""
        children = list(self.all(tag))
        if len(children) > 1:
            raise children[1].error(f"a second <{tag}> in one <{self.tag}>; keep one of them")
        return children[0] if children else None

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def error(self, message: str) -> ImportFileError:
        """An error that points at this element."""
        return ImportFileError(message, self.file, self.line)

    def word(self, name: str, what: str) -> str:
        """A required attribute that is not empty."""
        value = self.attributes.get(name, "").strip()
        if not value:
            raise self.error(f"{what}: <{self.tag}> needs the attribute {name!r}")
        return value

    def numbers(
        self,
        name: str,
        count: int,
        default: Numbers | None,
        what: str,
        text: str | None = None,
        most: float = LARGEST,
    ) -> Numbers:
        """`count` numbers of an attribute, or of a `text`; `default` None: they are required.

        None is beyond `most`, 1e12 in SI units for those that enter the dynamics.
        """
        text = self.attributes.get(name) if text is None else text
        if text is None:
            if default is None:
                raise self.error(f"{what}: <{self.tag}> needs the attribute {name!r}")
            return default
        words = text.split()
        if len(words) != count:
            expected = "one number" if count == 1 else f"{count} numbers"
            raise self.error(f"{what}: {name}={excerpt(text)} must be {expected}{_macro(text)}")
        for word in words:
            if len(word) > MAX_NUMBER:
                raise self.error(f"{what}: {name} has {len(word)} characters; no number needs them")
            if not _NUMBER.fullmatch(word):
                raise self.error(f"{what}: {name}={excerpt(word)} is not a number{_macro(word)}")
            if not isfinite(float(word)):
                raise self.error(f"{what}: {name}={excerpt(word)} is too large for a number")
            if abs(float(word)) > most:
                raise self.error(f"{what}: {name}={excerpt(text)} is larger than 1e12")
        return tuple(map(float, words))

    def number(self, name: str, default: float | None, what: str) -> float:
        """One number of an attribute that enters the dynamics."""
        return self.numbers(name, 1, None if default is None else (default,), what)[0]


def _macro(text: str) -> str:
    return "; expand the file with xacro first" if "$" in text else ""


@dataclass(frozen=True)
class Document:
    """A parsed file: its root element, and the folder it lies in (None for text)."""

    root: Element
    file: str | None
    path: Path | None


_OTHERS = {
    "mujoco": "; this is MJCF: use from_mjcf",
    "robot": "; this is URDF: use from_urdf",
    "mujocoinclude": "; this is a part of an MJCF: load the file that includes it",
    "sdf": "; this is SDF, which is not supported",
    "html": f"; {_WEB_PAGE}",
}


def require_root(root: Element, tag: str) -> None:
    """An error unless this is the root element of a format; others that are known are named."""
    if root.tag != tag:
        hint = _OTHERS.get(root.tag.lower(), "")
        raise root.error(f"the root element is <{root.tag[:60]}>, not <{tag}>{hint}")


def read_xml(source: Source) -> Document:
    """Parse a path, or text that starts with "<"."""
    if not isinstance(source, (str, bytes, Path)):
        raise ImportFileError(f"give a path or XML text, not {type(source).__name__}")
    start = source[:4096] if isinstance(source, str) else ""
    is_text = start.lstrip().startswith(("<", "\ufeff")) or "\n" in start
    path = None
    if isinstance(source, bytes) or is_text:
        # a lone surrogate in a str has no UTF-8: it becomes invalid UTF-8, which expat refuses
        data = source if isinstance(source, bytes) else str(source).encode(errors="surrogatepass")
        if len(data) > MAX_BYTES:
            raise ImportFileError(f"{_size(len(data))} of XML; the limit is {_size(MAX_BYTES)}")
    else:
        path = Path(source)
        data = read_file(path)
    file = None if path is None else path.name
    try:
        root = parse_xml(data, file)
    except ImportFileError:
        repaired = _repaired(data)
        if repaired == data:
            raise
        root = parse_xml(repaired, file)
    return Document(root, file, path)


def _repaired(data: bytes) -> bytes:
    """The text without slips that other readers accept.

    These are "--" in a comment, space before the declaration, and a final zero byte.

    Every line stays where it was. "<" cannot stand inside an attribute: "<!--" is a comment.
    """
    parts, at = [], 0
    while (start := data.find(b"<!--", at)) >= 0 and (end := data.find(b"-->", start + 4)) >= 0:
        parts += [data[at:start], b"\n" * data.count(b"\n", start, end)]
        at = end + 3
    data = b"".join([*parts, data[at:]]).rstrip(b"\0 \t\r\n")
    before = data[: len(data) - len(data.lstrip())]
    declared = re.match(rb"<\?xml[^>]{0,200}\?>", data[len(before) :])
    if before and declared:
        return declared[0] + before + data[len(before) + declared.end() :]
    return data


def read_file(path: Path, most: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file within the limit; anything else is an error that names it.

    A pipe or a device is refused before it is opened: reading it might never end.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ImportFileError("this is not a file", str(path))
        edited = _UNSAVED.get()
        if edited is not None and edited[0] == path.resolve():
            data = edited[1]
        else:
            with path.open("rb") as stream:
                data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, ImportFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ImportFileError(f"cannot be read: {reason}", str(path)) from None
    if len(data) > most:
        size = max(len(data), status.st_size)
        raise ImportFileError(
            f"{_size(size)} is more than a robot needs; the limit is {_size(most)}", path.name
        )
    return data


@contextmanager
def unsaved(path: Path, data: bytes) -> Iterator[None]:
    """Inside the with block the file at `path` reads as `data`: an editor's text, not saved yet."""
    token = _UNSAVED.set((path.resolve(), data))
    try:
        yield
    finally:
        _UNSAVED.reset(token)


def parse_xml(data: bytes, file: str | None, max_text: int = MAX_TEXT) -> Element:
    """The root element of a document, of which each element keeps about `max_text` characters.

    Entities and references to other files, which no robot needs, are errors.
    """
    if not data.strip():
        raise ImportFileError("the file is empty", file)
    parser: Any = expat.ParserCreate()
    parser.buffer_text, parser.buffer_size = True, min(2**20, max(8192, max_text))
    top = Element("", {}, 0, file)
    stack, count = [top], 0

    def fail(message: str) -> NoReturn:
        raise ImportFileError(message, file, parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            fail(f"more than {MAX_ELEMENTS} elements")
        if len(stack) > MAX_DEPTH:
            fail(f"elements nested more than {MAX_DEPTH} deep")
        element = Element(tag, attributes, parser.CurrentLineNumber, file)
        stack[-1].children.append(element)
        stack.append(element)

    def add_text(text: str) -> None:
        element = stack[-1]
        if len(element.text) < max_text and (element.text or not text.isspace()):
            element.text += text

    def doctype(name: str, system: str | None, public: str | None, subset: int) -> None:
        if name.lower() == "html":
            fail(_WEB_PAGE)
        if system or public:
            fail("a DOCTYPE that refers to another file is refused")

    parser.StartElementHandler, parser.EndElementHandler = start, lambda tag: stack.pop()
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = add_text, doctype
    entity = "entity declarations and references are refused; write the text itself"
    for handler in ("EntityDeclHandler", "SkippedEntityHandler", "ExternalEntityRefHandler"):
        setattr(parser, handler, lambda *_: fail(entity))
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if re.match(rb"\s*(<!doctype html|<html)", data[:4096], re.IGNORECASE):
            raise ImportFileError(_WEB_PAGE, file) from None
        reason = expat.ErrorString(error.code) or "not well-formed"
        raise ImportFileError(f"this is not valid XML: {reason}", file, error.lineno) from None
    except (ValueError, LookupError, UnicodeError) as error:
        if isinstance(error, ImportFileError):
            raise
        # expat asks Python for encodings it does not know
        reason = excerpt(str(error))
        raise ImportFileError(f"its encoding cannot be read: {reason}", file, 1) from None
    return top.children[0]  # expat accepts no document without an element


def _size(count: int) -> str:
    return f"{count / 2**20:.0f} MB"


def excerpt(text: str, limit: int = 60) -> str:
    """Text of a file inside a message: quoted, and short."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


BETWEEN = re.compile(r"[,{}\[\]=#]")
# far beyond any mechanism
MAX_TOML_BYTES = 2**20
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
        message = f"no TOML: {str(error).partition(' (at')[0]}"
        raise ImportFileError(message, file, int(where[1]) if where else last) from None
