"""Escaping of untrusted text: one function for each language it is written into.

Names come from files and users. Inside a C comment, a page, a LaTeX document, a terminal or a file's
name they could end the surrounding text and become instructions; each function here escapes them for
its language. No other module escapes text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from math import isfinite
from typing import Any

from dalembert.errors import DalembertError, ModelError, UnknownNameError

# control characters (of terminals too) and halves of UTF-16 pairs: no text has them
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
# characters that change the writing direction of the following text
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSHOWN = re.compile(f"{_UNPRINTABLE.pattern}|{_TURNING.pattern}")
_UNSAFE_DATA = re.compile(f"[<>&]|{_UNSHOWN.pattern}")  # inside a <script>
_PLAIN = {"∂": "d", "τ": "tau", "q̇": "qd", "q̈": "qdd", "⁻¹": "^-1", "θ": "theta", "ᵀ": "^T"}
_PLAIN |= {"²": "^2", "³": "^3", "§": "sec. ", "–": "-", "λ": "lam"}
_LATEX = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
}
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)  # of Windows
_LONGEST = 80  # characters of a file's name or an identifier that come from outside


def is_plain(text: str) -> bool:
    """Whether a name can stand in any file, terminal or message.

    >>> is_plain("bras gauche é"), is_plain("a\\x1b[2J")
    (True, False)
    """
    return _UNPRINTABLE.search(text) is None


def plain_name(name: object, what: str) -> str:
    """The name; anything but text that can be shown is an error that says of what."""
    if not isinstance(name, str) or not is_plain(name):
        raise ModelError(f"{what}: the name {short(name)} must be text without control characters")
    return name


def short(value: object) -> str:
    """A value inside a message: one line of at most sixty characters, whatever it is."""
    try:
        text = visible(repr(value))
    except Exception:  # of a foreign __repr__
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:59]}…"


def suggest(name: object, names: Sequence[str]) -> str:
    """The end of a message about an unknown name: the nearest one, and all of them.

    >>> suggest("elbo", ["elbow", "wrist"])
    "; did you mean 'elbow'? There are: elbow, wrist"
    """
    hint = nearest(name, names)
    return f"{hint} There are: {', '.join(names)}" if hint else f"; there are: {', '.join(names)}"


def require_known(
    name: object, names: Iterable[str], message: str, error: type[DalembertError] = UnknownNameError
) -> None:
    """Raise unless `name` is one of `names`: the message, the name, the nearest one, and all of them.

    >>> require_known("elbow", ["elbow", "wrist"], "there is no joint")
    """
    known = list(names)
    if not isinstance(name, str) or name not in known:
        raise error(f"{message} {name!r}{suggest(name, known)}")


def nearest(name: object, names: Sequence[str]) -> str:
    """The same where there are many: the nearest one, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def csv_cell(name: str) -> str:
    """A name as one cell of a CSV file.

    >>> csv_cell('joint "a", left')
    '"joint ""a"", left"'
    """
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',"') else name


def visible(text: object) -> str:
    """One line for terminals and messages: what they would obey or cannot show is spelled out.

    Marks of rich are words wherever no markup is read: in `Text`, or with ``markup=False``.

    >>> visible("a\\nb\\x1b[2J")
    'a\\\\nb\\\\x1b[2J'
    """

    return _UNSHOWN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), str(text))


def plain_ascii(text: str) -> str:
    """The text in ASCII, for compilers that want nothing else.

    >>> plain_ascii("∂τ/∂q, M⁻¹")
    'dtau/dq, M^-1'
    """
    for character, plain in _PLAIN.items():
        text = text.replace(character, plain)
    return visible(text).encode("ascii", "replace").decode()


def c_comment(text: str) -> str:
    """A line inside a comment of C: it can neither end the comment nor go on to the next line.

    >>> c_comment("arm */ int x; /*")
    'arm * / int x; / *'
    """
    line = plain_ascii(text)
    # a backslash at the end, or the trigraph for it, would join the next line
    line = line.replace("\\", "/").replace("??", "? ?")
    while (apart := line.replace("*/", "* /").replace("/*", "/ *")) != line:
        line = apart
    return line


def c_identifier(text: str) -> str:
    """A name C accepts, from any text.

    >>> c_identifier("ur5 inverse-dynamics")
    'ur5_inverse_dynamics'
    """
    name = re.sub(r"[^0-9a-zA-Z_]+", "_", text).strip("_")
    if len(name) > 2 * _LONGEST:
        name = f"{name[:_LONGEST]}_{_digest(text)}"
    return name if name and not name[0].isdigit() else f"m_{name}"


def file_name(text: str) -> str:
    """A name inside a folder, without ending: never a path, never hidden, never another's.

    A name that has to be changed carries a digest, so that two of them do not meet in one file.

    >>> file_name("ur5"), file_name("../arm/left")
    ('ur5', 'arm_left-cfb565f4')
    """
    name = re.sub(r"[^0-9a-zA-Z_+ .-]+", "_", text).strip(" ._")[:_LONGEST]
    if name == text and name and not _DEVICES.fullmatch(name.partition(".")[0]):
        return name
    return f"{name.strip(' ._') or 'unnamed'}-{_digest(text)}"


def latex(text: str) -> str:
    """Text between words of a LaTeX document: no command, no group, no comment.

    >>> print(latex("arm_1 \\\\input{x}"))
    arm\\_1 \\textbackslash{}input\\{x\\}
    """
    return "".join(_LATEX.get(character, character) for character in visible(text))


def html(text: object) -> str:
    """Text in an element or in a quoted attribute of a page.

    >>> html("<!--<script>")
    '&lt;!--&lt;script&gt;'
    """
    from html import escape

    return escape(visible(text))


def html_data(data: Any) -> str:
    """JSON inside a <script> element, equal to `data` when parsed; NaN and ∞ become null.

    No text in it ends the element, and every text comes back as it was, lines and all.

    >>> html_data({"name": "</script><!--\\n", "y": [1.0, float("nan")]})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003c!--\\\\n","y":[1.0,null]}'
    """
    import json

    plain = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE_DATA.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not isfinite(data) else data


def picture(text: object) -> str:
    """A label in a figure of matplotlib: no formula, and never left out of a legend.

    >>> picture("_cost $5")
    ' _cost \\\\$5'
    """
    line = visible(text).replace("\\", "/").replace("$", "\\$")
    return f" {line}" if line.startswith("_") else line


def xml_attribute(name: str) -> str:
    """A name as the quoted value of an attribute; one that XML cannot hold is an error.

    >>> xml_attribute('a"b')
    '\\'a"b\\''
    """
    if not is_plain(name) or name != name.strip():
        raise ModelError(f"the name {name!r} has characters that XML cannot hold; rename it")
    from xml.sax.saxutils import quoteattr  # which imports what talks to the internet

    return quoteattr(name)


def xml_comment(text: object) -> str:
    """Text as one line of a comment in XML, which it cannot end.

    >>> xml_comment("a --> <b>")
    '<!-- a - -> <b> -->'
    """
    line = " ".join(visible(text).split())
    while "--" in line:
        line = line.replace("--", "- -")
    return f"<!-- {line} -->"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
