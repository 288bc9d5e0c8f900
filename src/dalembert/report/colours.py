"""Colours of curves: told apart by readers who see all colours, and by those who do not.

Blue, vermillion and green of Okabe and Ito, Color universal design, 2008; the others were searched so
that each two of the eight differ by at least 14 (CIE 1976, L*a*b*) for normal sight, protanopia,
deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009), with enough contrast to the page.
"""

from __future__ import annotations

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#83257b"),
    *("#775cff", "#913c0e", "#947d97", "#40003b"),
)
ON_DARK = (
    *("#6aa9f0", "#f59a5b", "#3fc796", "#c5e144"),
    *("#ce57ff", "#ffbdff", "#b9aebe", "#95d188"),
)


def css() -> str:
    """The colours as variables of a style sheet, for light and dark pages; paper is light."""
    light, dark = (
        " ".join(f"--c{k}: {colour};" for k, colour in enumerate(colours))
        for colours in (PALETTE, ON_DARK)
    )
    return (
        f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) "
        f"{{ :root:not(.printing) {{ {dark} }} }}\n"
    )
