"""Numbers in an MJCF that would make MuJoCo allocate or crash, bounded before MuJoCo sees them."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.importers.xml_read import MAX_ELEMENTS, Element, shown

MAX_COPIES = 2000  # of one body, by nested <replicate> and <composite>
MAX_BODIES = 2000
MAX_SIZE = 10_000  # rows, samples, or numbers of users that an attribute asks for
_SIZES = ("nrow", "ncol", "resolution", "nsample", "nkey", "nuserdata")
_SIZES_OF = (("numeric", "size"), ("size", "memory"), ("size", "njmax"), ("size", "nconmax"))


def check_limits(roots: Sequence[Element]) -> None:
    """The main root and those of attached models, or an error at the offending element."""
    for root in roots:
        for element in root.walk():
            for name, value in element.attributes.items():
                if "%" in value:
                    # MuJoCo prints some words of the file as formats: '%n' ends the process
                    raise element.error(f"{name}={shown(value)}: MuJoCo may crash on a '%'; rename")
                _check_size(element, name, value)
    _check_copies(roots)


def _check_size(element: Element, name: str, value: str) -> None:
    """Attributes that make MuJoCo allocate: rows of height fields, numbers of users."""
    counted = name in _SIZES or name.startswith("nuser") or (element.tag, name) in _SIZES_OF
    if not counted:
        return
    for word in value.split():
        digits = word.strip("+-").rstrip("KMGTPEkmgtpe")
        if len(digits) > 7 or not digits.isdecimal() or int(digits) > MAX_SIZE:
            raise element.error(f"{name}={shown(value)} is more than a robot needs: {MAX_SIZE}")


def _check_copies(roots: Sequence[Element]) -> None:
    """Nested <replicate> and <composite> multiply: bound the copies, and all elements they make.

    An attached model counts each time; which one is attached is not resolved: the largest.
    """
    largest = max((_expanded(root, 1) for root in roots[1:]), default=1)
    total = _expanded(roots[0], largest)
    if total > MAX_ELEMENTS:
        raise roots[0].error(f"its copies make {total:,} elements; the limit is {MAX_ELEMENTS:,}")


def _expanded(root: Element, attached: int) -> int:
    """How many elements a file makes; more than `MAX_COPIES` of one are an error."""
    stack, total = [(root, 1)], 0
    while stack:
        element, copies = stack.pop()
        if element.tag in ("replicate", "composite", "flexcomp"):
            for word in element.attributes.get("count", "1").split():
                digits = word.lstrip("+").split(".")[0]
                copies *= int(digits) if digits.isdecimal() and len(digits) < 9 else MAX_COPIES + 1
            if copies > MAX_COPIES:
                raise element.error(f"<{element.tag}> makes more than {MAX_COPIES} copies")
        total += copies * (attached if element.tag == "attach" else 1)
        stack.extend((child, copies) for child in element.children)
    return total
