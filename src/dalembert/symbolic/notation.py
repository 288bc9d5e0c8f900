"""Notation of printed formulas: names with indices, and the syntax of text, LaTeX and MathML.

The three notations have the same few methods, each from strings to a string; `Printer` decides their
order. SymPy's own printers are not used: its MathML needs `mfenced`, which browsers no longer draw,
and all three must agree on the order of terms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import sympy

from dalembert.text import html, latex, visible

_GREEK_NAMES = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "", "sigma", "tau", "upsilon"),
    *("phi", "chi", "psi", "omega"),
)
GREEK = {name: chr(0x3B1 + k) for k, name in enumerate(_GREEK_NAMES) if name}
GREEK |= {"Gamma": "Γ", "Delta": "Δ", "Omega": "Ω", "Phi": "Φ", "Psi": "Ψ"}
_SPELLED = {character: name for name, character in GREEK.items()}
_FIRST = "|".join(sorted(GREEK, key=len, reverse=True))
# an index without underscore is a number, one character, or axes: Iz1, mb, Ixx; pin and rod are words
_JOINED = re.compile(rf"^({_FIRST}|[A-Za-z])([xyz]{{2}}|[A-Za-z])?(\d*)$")
_PIECE = re.compile(r"[^\W\d_]+|\d+|,")
_LEAST = 4  # length of a Greek name to which an index may be joined: thetax, but never pin

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LOWERED = dict(zip("aehijklmnoprstuvx", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))  # all that Unicode has
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
DOTS = ("", "\u0307", "\u0308")
DOTTED = {"qdd": ("q", 2)}  # keys of quantities that are derivatives: symbol, number of dots


def parts(name: str) -> tuple[str, str]:
    """A name as symbol (or word) and index, the words of the index separated by spaces.

    >>> parts("Iz1"), parts("theta12"), parts("m_tip"), parts("payload2"), parts("payload")
    (('I', 'z1'), ('theta', '12'), ('m', 'tip'), ('payload', '2'), ('payload', ''))
    >>> parts("tau_theta"), parts("l_upper_arm2"), parts("nut")
    (('tau', 'theta'), ('l', 'upper arm2'), ('nut', ''))
    """
    first, *rest = name.split("_")
    if not first or not all(word.isalnum() for word in rest):
        return name, ""
    first = _SPELLED.get(first[0], first[0]) + first[1:]
    joined = _JOINED.match(first)
    if joined and not (joined[2] and 1 < len(joined[1]) < _LEAST):
        base, index = joined[1], (joined[2] or "") + joined[3]
    else:
        word = re.match(r"^(.*?)(\d*)$", first)
        base, index = (word[1], word[2]) if word and word[1] else (first, "")
    # words apart, numbers joined to the word before them: z1, upper arm2; 1,12 are two numbers
    for word_or_number in rest:
        gap = " "
        if word_or_number.isdigit():
            gap = "," if index[-1:].isdigit() else ""
        index += gap + word_or_number if index else word_or_number
    return base, index


def pieces(index: str) -> list[str]:
    """Symbols, words and numbers of an index, in order.

    >>> pieces("upper arm2"), pieces("z1")
    (['upper', 'arm', '2'], ['z', '1'])
    """
    return _PIECE.findall(index)


def is_word(piece: str) -> bool:
    """Whether a piece of an index is a word, printed upright, and no symbol, axes or Greek name."""
    return len(piece) > 2 and piece.isalpha() and piece not in GREEK


class Text:
    """Unicode for a terminal: m₃(l₁c₂ + r₂c₂₃)². The base of the other notations."""

    times = " "
    barred = False  # whether a fraction has a bar, so that a sum in it needs no parentheses
    minus = "−"
    prefix, infix = "{}", " {} "  # how a sign stands before a term, and between two
    opening, closing = "(", ")"
    radical = ("√(", ")")  # around what a root is taken of

    def number(self, digits: str) -> str:
        return digits

    def name(self, name: str, dots: int = 0) -> str:
        base, index = parts(name)
        head = GREEK.get(base, visible(base)) + DOTS[dots]
        index_pieces = pieces(index)
        # one word is lowered where Unicode has its characters: mₜᵢₚ, m_cart; Iz1 is Iz₁, but τ_x, M_r
        lowers = (
            len(base) == 1 and is_word(index_pieces[0] if index_pieces else "") and " " not in index
        )
        apart = lowers or len(base) > 1 or " " in index or "_" in name
        for piece in index_pieces:
            if lowers and all(character in _LOWERED for character in piece):
                head += "".join(_LOWERED[character] for character in piece)
            elif not piece.isalpha():
                head += piece.translate(_SUBSCRIPTS)
            else:
                head += f"_{GREEK.get(piece, piece)}" if apart else piece
        return head

    def operator(self, sign: str, first: bool) -> str:
        mark = self.minus if sign == "-" else "+"
        if first:
            return self.prefix.format(mark) if sign == "-" else ""
        return self.infix.format(mark)

    def parentheses(self, inner: str) -> str:
        return self.opening + inner + self.closing

    def power(self, base: str, exponent: str) -> str:
        plain = exponent.lstrip("-").isdigit()
        return base + (exponent.translate(_SUPERSCRIPTS) if plain else f"^({exponent})")

    def fraction(self, above: str, below: str) -> str:
        vulgar = {("1", "2"): "½", ("1", "3"): "⅓", ("1", "4"): "¼", ("3", "2"): "3/2"}
        divisor = f"({below})" if " " in below else below
        return vulgar.get((above, below), f"{above}/{divisor}")

    def function(self, name: str, inner: str, exponent: str, bare: bool) -> str:
        head = self.power(name, exponent) if exponent else name
        return f"{head} {inner}" if bare else f"{head}({inner})"

    def root(self, inner: str) -> str:
        return self.radical[0] + inner + self.radical[1]

    def join(self, factors: Sequence[str]) -> str:
        """Factors side by side."""
        return self.times.join(factor for factor in factors if factor)


class Latex(Text):
    """LaTeX mathematics."""

    barred = True
    minus = "-"
    radical = (r"\sqrt{", "}")

    def number(self, digits: str) -> str:
        mantissa, _, exponent = digits.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else digits

    def name(self, name: str, dots: int = 0) -> str:
        base, index = parts(name)
        symbol = f"\\{base}" if base in GREEK else base
        if base not in GREEK:
            symbol = latex(base) if len(base) == 1 else rf"\mathrm{{{latex(base)}}}"
        symbol = rf"\{'d' * dots}ot{{{symbol}}}" if dots else symbol
        subscript = ""
        for piece in pieces(index):
            gap = r"\," if subscript and is_word(piece) else ""
            upright = rf"\mathrm{{{latex(piece)}}}" if is_word(piece) else piece
            subscript += gap + (rf"\{piece} " if piece in GREEK else upright)
        return f"{symbol}_{{{subscript.rstrip()}}}" if index else symbol

    def join(self, factors: Sequence[str]) -> str:
        """Factors side by side, words apart from their neighbours."""
        joined, before = "", ""
        for factor in filter(None, factors):
            words = [x.startswith(r"\mathrm{") for x in (before, factor)]
            joined += (r" \, " if any(words) else " ") * bool(joined) + factor
            before = factor
        return joined

    def power(self, base: str, exponent: str) -> str:
        return f"{base}^{{{exponent}}}"

    def fraction(self, above: str, below: str) -> str:
        small = "t" if above.isdigit() and below.isdigit() else ""
        return rf"\{small}frac{{{above}}}{{{below}}}"

    def function(self, name: str, inner: str, exponent: str, bare: bool) -> str:
        known = ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh")
        command = f"\\{name}" if name in known else rf"\operatorname{{{name}}}"
        return super().function(command, inner, exponent, bare)


class MathML(Text):
    """MathML Core, which browsers draw without any script."""

    times = '<mo lspace="0" rspace="0.1em">&#x2062;</mo>'
    barred = True
    prefix, infix = '<mo form="prefix">{}</mo>', '<mo form="infix">{}</mo>'
    opening, closing = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
    radical = ("<msqrt>", "</msqrt>")

    def number(self, digits: str) -> str:
        return f"<mn>{digits}</mn>"

    def name(self, name: str, dots: int = 0) -> str:
        base, index = parts(name)
        upright = ' mathvariant="normal"' if base in GREEK and base[0].isupper() else ""
        symbol = f"<mi{upright}>{html(GREEK.get(base, base))}</mi>"
        symbol = dotted(symbol, ("˙", "¨")[dots - 1]) if dots else symbol
        subscript = ""
        for piece in pieces(index):
            if not piece.isalpha():
                subscript += f"<mn>{piece}</mn>"
            elif is_word(piece) or piece in GREEK:
                subscript += f"<mi>{html(GREEK.get(piece, piece))}</mi>"
            else:
                subscript += "".join(f"<mi>{character}</mi>" for character in piece)
        return f"<msub>{symbol}<mrow>{subscript}</mrow></msub>" if subscript else symbol

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


def dotted(symbol: str, dots: str = "˙") -> str:
    """A MathML symbol with dots above it; `page.FORMULAS` separates them from its serifs."""
    return f'<mover accent="true">{symbol}<mo stretchy="false">{dots}</mo></mover>'


class MarkedTerm(NamedTuple):
    """A marked part of a printed sum; the terms of an entry add up to it."""

    entry: int
    value: sympy.Expr


class MarkedEntry(NamedTuple):
    """A printed formula: an entry of a matrix or column, a number, or a definition."""

    at: tuple[int, ...]  # row and column, from zero
    value: sympy.Expr


class Ledger:
    """Entries and terms by the numbers that their HTML elements carry: data-entry, data-term.

    Without `marked` it stays empty.
    """

    def __init__(self, marked: bool) -> None:
        self.marked = marked
        self.entries: list[MarkedEntry] = []
        self.terms: list[MarkedTerm] = []

    def entry(self, at: tuple[int, ...], value: sympy.Expr) -> int | None:
        """The number of an entry that is printed next; terms belong to the latest one."""
        if not self.marked:
            return None
        self.entries.append(MarkedEntry(at, value))
        return len(self.entries) - 1

    def term(self, value: sympy.Expr, body: str) -> str:
        """The body of a term, with its number as the attribute data-term."""
        self.terms.append(MarkedTerm(len(self.entries) - 1, value))
        return f'<mrow data-term="{len(self.terms) - 1}">{body}</mrow>'
