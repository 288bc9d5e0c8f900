"""The frame of a page of equations: headings, scrolling boxes, light and dark."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dalembert.symbolic.marks import dotted

# of formulas on any page; browsers set an accent onto its letter, where a dot touches the serifs
FORMULAS = """
math[display="block"] { display: block math; margin: 0; text-align: left; width: max-content; }
mtable.matrix { border-left: 1.5px solid; border-right: 1.5px solid; border-radius: 7px;
  padding: .1em .35em; margin-left: .2em; }
mtable.matrix mtd { padding: .28em .6em; text-align: center; }
mtable.lines mtd { padding: .22em .25em; text-align: left; vertical-align: baseline; }
mtable.lines mtd:first-child { text-align: right; white-space: nowrap; }
mover[accent="true"] > mo:last-child { padding-bottom: .1em; }
"""

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fbfbf9; --box: #ffffff;
  --line: #dcdfe4; --faint: #667085; --accent: #2456a6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ec; --paper: #14171c; --box: #1b1f26; --line: #323844; --faint: #98a2b3;
    --accent: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 62rem; background: var(--paper);
  color: var(--ink); font: 16px/1.6 system-ui, "Segoe UI", "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.05rem; margin: 2.2rem 0 .6rem; color: var(--accent); font-weight: 600; }
p { color: var(--faint); margin: .4rem 0; }
.box { background: var(--box); border: 1px solid var(--line); border-radius: 10px;
  padding: 1rem 1.25rem; overflow-x: auto; }
math { font-size: 1.12rem; font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math",
  "Libertinus Math", math, serif; }
.head math { font-size: 1.2rem; }
"""

_OPEN, _CLOSE = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
_Q, _RATE, _ACCELERATION = "<mi>q</mi>", dotted("<mi>q</mi>"), dotted("<mi>q</mi>", "¨")
_LEFT = {
    "M": f"<mi>M</mi>{_OPEN}{_Q}{_CLOSE}{_ACCELERATION}",
    "C": f'<mi>C</mi>{_OPEN}{_Q}<mo separator="true">,</mo>{_RATE}{_CLOSE}{_RATE}',
    "G": f"<mi>G</mi>{_OPEN}{_Q}{_CLOSE}{_RATE}",
    "g": f"<mi>g</mi>{_OPEN}{_Q}{_CLOSE}",
    "e": "<mi>e</mi>",
    "A": f"<msup><mi>A</mi><mi>T</mi></msup>{_OPEN}{_Q}{_CLOSE}<mi>λ</mi>",
}
_RIGHT = {"tau": "<mi>τ</mi>", "psi": "<mi>ψ</mi>"}
_HELD = {"h", "A", "gamma", "lambda", "P_omega", "P_T", "M_p", "h_p", "tau_p"}
_HELD |= {"M_r", "h_r", "tau_r", "Delta"}


def motion(keys: Collection[str]) -> str:
    """The equation of motion with the terms that a system of these quantities has."""
    there = {"M", "C", "g", "tau", *keys} | ({"A"} if _HELD & set(keys) else set())
    left, right = (
        "<mo>+</mo>".join(term for key, term in side.items() if key in there)
        for side in (_LEFT, _RIGHT)
    )
    return f"<math><mrow>{left}<mo>=</mo>{right}</mrow></math>"


def page(
    title: str, sections: Sequence[tuple[str, str]], note: str = "", keys: Collection[str] = ()
) -> str:
    """A complete page; every section is a heading and a box that scrolls if it is too wide."""
    body = "".join(
        f'<section><h2>{heading}</h2><div class="box">{content}</div></section>\n'
        for heading, content in sections
    )
    remark = f"<p>{note}</p>" if note else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}{FORMULAS}</style>\n</head>\n<body>\n"
        f'<h1>{title}</h1>\n<p class="head">{motion(keys)}</p>\n{remark}\n{body}</body>\n</html>\n'
    )
