"""What a name says: a letter with an index, such as m with the index tip, or a word."""

from __future__ import annotations

import re

_LETTERS = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "", "sigma", "tau", "upsilon"),
    *("phi", "chi", "psi", "omega"),
)
GREEK = {name: chr(0x3B1 + k) for k, name in enumerate(_LETTERS) if name}
GREEK |= {"Gamma": "Γ", "Delta": "Δ", "Omega": "Ω", "Phi": "Φ", "Psi": "Ψ"}
_SPELLED = {letter: name for name, letter in GREEK.items()}
_FIRST = "|".join(sorted(GREEK, key=len, reverse=True))
# an index without underscore is a number, one letter, or axes: Iz1, mb, Ixx; pin and rod are words
_JOINED = re.compile(rf"^({_FIRST}|[A-Za-z])([xyz]{{2}}|[A-Za-z])?(\d*)$")
_PIECE = re.compile(r"[^\W\d_]+|\d+|,")
_LEAST = 4  # letters of a Greek name to which a letter may be joined: thetax, but never pin


def parts(name: str) -> tuple[str, str]:
    """A name as letter (or word) and index, whose words are apart by spaces.

    >>> parts("Iz1"), parts("theta12"), parts("m_tip"), parts("payload2"), parts("payload")
    (('I', 'z1'), ('theta', '12'), ('m', 'tip'), ('payload', '2'), ('payload', ''))
    >>> parts("tau_theta"), parts("l_upper_arm2"), parts("nut")
    (('tau', 'theta'), ('l', 'upper arm2'), ('nut', ''))
    """
    first, *rest = name.split("_")
    if not first or not all(word.isalnum() for word in rest):
        return name, ""
    base, index = _first(_SPELLED.get(first[0], first[0]) + first[1:])
    words = [index, *rest] if index else rest
    return base, _together(words)


def _first(name: str) -> tuple[str, str]:
    """The part before any underscore."""
    found = _JOINED.match(name)
    if found and not (found[2] and 1 < len(found[1]) < _LEAST):
        return found[1], (found[2] or "") + found[3]
    word = re.match(r"^(.*?)(\d*)$", name)
    return (word[1], word[2]) if word and word[1] else (name, "")


def _together(words: list[str]) -> str:
    """Words apart, numbers and what they belong to together: z1, upper arm2; 1,12 are two."""
    made = ""
    for word in words:
        gap = "," if word.isdigit() and made[-1:].isdigit() else "" if word.isdigit() else " "
        made += gap + word if made else word
    return made


def pieces(index: str) -> list[str]:
    """Letters, words and numbers of an index, in order.

    >>> pieces("upper arm2"), pieces("z1")
    (['upper', 'arm', '2'], ['z', '1'])
    """
    return _PIECE.findall(index)


def is_word(piece: str) -> bool:
    """Whether a piece of an index is a word, printed upright, and no letter, axes or Greek."""
    return len(piece) > 2 and piece.isalpha() and piece not in GREEK
