"""How a printed expression is put together in plain text, in LaTeX and in MathML.

The three have the same few methods, each from strings to a string; `Printer` decides what goes where.
SymPy's own printers are not used: its MathML needs `mfenced`, which browsers no longer draw, and
all three must agree on the order of terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dalembert.symbolic.names import GREEK, is_word, parts, pieces
from dalembert.text import html, latex, visible

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LOWERED = dict(zip("aehijklmnoprstuvx", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))  # all that Unicode has
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
DOT = "\u0307"
DOTS = ("", DOT, "\u0308")


class Marks(Protocol):
    """What a `Printer` needs to write in one language."""

    times: str
    barred: bool  # whether a fraction has a bar, which holds a sum together

    def number(self, digits: str) -> str: ...
    def name(self, name: str, dots: int = 0) -> str: ...
    def operator(self, sign: str, first: bool) -> str: ...
    def parentheses(self, inner: str) -> str: ...
    def power(self, base: str, exponent: str) -> str: ...
    def fraction(self, above: str, below: str) -> str: ...
    def function(self, name: str, inner: str, exponent: str, bare: bool) -> str: ...
    def root(self, inner: str) -> str: ...


class Text:
    """Unicode for a terminal: m₃(l₁c₂ + r₂c₂₃)²."""

    times = " "
    barred = False

    def number(self, digits: str) -> str:
        return digits

    def name(self, name: str, dots: int = 0) -> str:
        base, index = parts(name)
        head = GREEK.get(base, visible(base)) + DOTS[dots]
        found = pieces(index)
        # one word is lowered where Unicode has its letters: mₜᵢₚ, m_cart; Iz1 is Iz₁, but τ_x, M_r
        if len(base) == 1 and is_word(found[0] if found else "") and " " not in index:
            return head + "".join(map(self._lowered, found))
        apart = len(base) > 1 or " " in index or "_" in name
        return head + "".join(self._beside(piece, apart) for piece in found)

    def _lowered(self, piece: str) -> str:
        if not all(letter in _LOWERED for letter in piece):
            return self._beside(piece, True)
        return "".join(_LOWERED[letter] for letter in piece)

    def _beside(self, piece: str, apart: bool) -> str:
        if not piece.isalpha():
            return piece.translate(_SUBSCRIPTS)
        return f"_{GREEK.get(piece, piece)}" if apart else piece

    def operator(self, sign: str, first: bool) -> str:
        mark = "−" if sign == "-" else "+"
        return ("−" if sign == "-" else "") if first else f" {mark} "

    def parentheses(self, inner: str) -> str:
        return f"({inner})"

    def power(self, base: str, exponent: str) -> str:
        plain = exponent.lstrip("-").isdigit()
        return base + (exponent.translate(_SUPERSCRIPTS) if plain else f"^({exponent})")

    def fraction(self, above: str, below: str) -> str:
        vulgar = {("1", "2"): "½", ("1", "3"): "⅓", ("1", "4"): "¼", ("3", "2"): "3/2"}
        wrapped = f"({below})" if " " in below else below
        return vulgar.get((above, below), f"{above}/{wrapped}")

    def function(self, name: str, inner: str, exponent: str, bare: bool) -> str:
        raised = self.power(name, exponent) if exponent else name
        return f"{raised} {inner}" if bare else f"{raised}({inner})"

    def root(self, inner: str) -> str:
        return f"√({inner})"


class Latex:
    """LaTeX mathematics."""

    times = " "
    barred = True

    def number(self, digits: str) -> str:
        mantissa, _, exponent = digits.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else digits

    def name(self, name: str, dots: int = 0) -> str:
        base, index = parts(name)
        letter = f"\\{base}" if base in GREEK else base
        if base not in GREEK:
            letter = latex(base) if len(base) == 1 else rf"\mathrm{{{latex(base)}}}"
        letter = rf"\{'d' * dots}ot{{{letter}}}" if dots else letter
        return f"{letter}_{{{self._index(index)}}}" if index else letter

    def _index(self, index: str) -> str:
        made = ""
        for piece in pieces(index):
            gap = r"\," if made and is_word(piece) else ""
            upright = rf"\mathrm{{{latex(piece)}}}" if is_word(piece) else piece
            made += gap + (rf"\{piece} " if piece in GREEK else upright)
        return made.rstrip()

    def operator(self, sign: str, first: bool) -> str:
        return ("-" if sign == "-" else "") if first else f" {sign} "

    def parentheses(self, inner: str) -> str:
        return f"({inner})"

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def fraction(self, above: str, below: str) -> str:
        small = "t" if above.isdigit() and below.isdigit() else ""
        return rf"\{small}frac{{{above}}}{{{below}}}"

    def function(self, name: str, inner: str, exponent: str, bare: bool) -> str:
        known = ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh")
        head = f"\\{name}" if name in known else rf"\operatorname{{{name}}}"
        head = f"{head}^{{{exponent}}}" if exponent else head
        return f"{head} {inner}" if bare else f"{head}({inner})"

    def root(self, inner: str) -> str:
        return rf"\sqrt{{{inner}}}"


class MathML:
    """MathML Core, which browsers draw without any script."""

    times = '<mo lspace="0" rspace="0.1em">&#x2062;</mo>'
    barred = True

    def number(self, digits: str) -> str:
        return f"<mn>{digits}</mn>"

    def name(self, name: str, dots: int = 0) -> str:
        base, index = parts(name)
        upright = ' mathvariant="normal"' if base in GREEK and base[0].isupper() else ""
        letter = f"<mi{upright}>{html(GREEK.get(base, base))}</mi>"
        letter = dotted(letter, ("˙", "¨")[dots - 1]) if dots else letter
        inner = "".join(map(self._piece, pieces(index)))
        return f"<msub>{letter}<mrow>{inner}</mrow></msub>" if inner else letter

    def _piece(self, piece: str) -> str:
        if not piece.isalpha():
            return f"<mn>{piece}</mn>"
        if is_word(piece) or piece in GREEK:
            return f"<mi>{html(GREEK.get(piece, piece))}</mi>"
        return "".join(f"<mi>{letter}</mi>" for letter in piece)

    def operator(self, sign: str, first: bool) -> str:
        mark = "−" if sign == "-" else "+"
        if first:
            return '<mo form="prefix">−</mo>' if sign == "-" else ""
        return f'<mo form="infix">{mark}</mo>'

    def parentheses(self, inner: str) -> str:
        return f'<mo stretchy="false">(</mo>{inner}<mo stretchy="false">)</mo>'

    def power(self, base: str, exponent: str) -> str:
        raised = f"<mrow>{exponent}</mrow>"
        if base.startswith("<msub>") and base.count("<msub>") == 1:
            return f"<msubsup>{base[len('<msub>') : -len('</msub>')]}{raised}</msubsup>"
        return f"<msup><mrow>{base}</mrow>{raised}</msup>"

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac>"

    def function(self, name: str, inner: str, exponent: str, bare: bool) -> str:
        head = f"<mi>{name}</mi>"
        head = f"<msup>{head}<mrow>{exponent}</mrow></msup>" if exponent else head
        argument = f'<mspace width="0.17em"/>{inner}' if bare else self.parentheses(inner)
        return f"<mrow>{head}{argument}</mrow>"

    def root(self, inner: str) -> str:
        return f"<msqrt>{inner}</msqrt>"

    def marked(self, body: str, number: int) -> str:
        """A term of a sum, with the number by which it is found."""
        return f'<mrow data-term="{number}">{body}</mrow>'


def dotted(letter: str, dots: str = "˙") -> str:
    """A letter of MathML with one dot above it, or more; `page.FORMULAS` keeps them apart."""
    return f'<mover accent="true">{letter}<mo stretchy="false">{dots}</mo></mover>'


def join(items: Sequence[str], marks: Marks) -> str:
    """Factors side by side."""
    return marks.times.join(item for item in items if item)
