"""Names that try to be more than names, for every output that we write."""

import numpy as np

HOSTILE = (
    "*/ int main(void) { return 7; } /*",
    "arm*/\nsystem();/*",
    "line one\\",
    "??/",
    "../../outside",
    "/absolute",
    "..",
    ".hidden",
    "arm.v1",
    "arm/left",
    "out",
    "CON",
    "",
    " ",
    r"\input{/etc/passwd}",
    "100% $x_1^2$ & ~ # {",
    "<!--<script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]>",
    "&amp; &lt;",
    "[/]",
    "[bold]loud",
    "[link=file:///etc/passwd]x",
    "[red",
    "tail\\[/",
    ":skull:",
    "\x1b[2J\x1b]0;title\x07",
    "nul\x00byte",
    "half \ud800 pair",
    "\u202egnirts",
    "μέγας 机器人 🤖",
    "e\u0301 combining",
    "%n%s%n",
    "{task.description} {0}",
    "x" * 3000,
    "a\tb",
    "$\\frac$",
    "_under",
    "ur5",
    "inf",
)
PIECES = (
    *("arm", "*/", "/*", "\\", "\n", "//", "../", "/", "..", ".", "%n", "[", "]", "[/]", "{", "}"),
    *("<", ">", "<!--", "</script>", "&", '"', "'", "$", "_", "^", "#", "~", "\x00", "\x1b[31m"),
    *("\ud800", "\u202e", "é", "机", "🤖", " ", "\t", "??/", ":skull:", "x" * 300, "0", "-", "|"),
)


def name(rng: np.random.Generator) -> str:
    """One of the list, or a few pieces in any order."""
    if rng.random() < 0.2:
        return HOSTILE[int(rng.integers(len(HOSTILE)))]
    chosen = rng.integers(len(PIECES), size=int(rng.integers(1, 6)))
    return "".join(PIECES[int(k)] for k in chosen)
