"""The notes of a changed model: what its files had left to say, where it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.model.looks import Look
from dalembert.model.moved import Moved
from dalembert.model.notes import Equality, LeftOut, Notes


def notes_of(parts: Sequence[Moved], locked: tuple[str, ...] = ()) -> Notes:
    """The notes of all parts as one; postures belong to one tree alone and are those of a single part.

    An equality whose links or joints are no longer there is named among what is left out.
    """
    each = [part.model.notes for part in parts]
    kept = [_equalities(part) for part in parts]
    lost = tuple(
        LeftOut(f"{e.kind} constraint", e.name, "it ends at something that is no longer there")
        for part, own in zip(parts, kept, strict=True)
        for e in part.model.notes.equalities
        if part.rename(e.name) not in {k.name for k in own}
    )
    return replace(
        each[0],
        merged=tuple(x for notes in each for x in notes.merged),
        ignored=tuple(x for notes in each for x in notes.ignored),
        warnings=tuple(x for notes in each for x in notes.warnings),
        provenance=tuple(x for notes in each for x in notes.provenance),
        locked=(*(x for notes in each for x in notes.locked), *locked),
        equalities=tuple(e for own in kept for e in own),
        postures=_postures(parts[0]) if len(parts) == 1 else (),
        meshes=tuple(
            replace(mesh, link=part.rename(mesh.link))
            for part in parts
            for mesh in part.model.notes.meshes
        ),
        looks=tuple(look for part in parts for look in _looks(part)),
        left_out=(*(x for notes in each for x in notes.left_out), *lost),
    )


def _equalities(part: Moved) -> list[Equality]:
    """Those between things that are still there; the world is, where it is still the base."""
    joints = {j.name for j in part.model.joints if j.bodies[0] in part.moving}
    links = {name for name, f in part.model.frames.items() if f.body in part.places}
    tendons = {t.name for t in part.model.tendons}
    base = part.places.get(-1)
    world = base is not None and base.body < 0 and base.is_identity
    found = []
    for e in part.model.notes.equalities:
        known: set[str | None] = {"joint": joints, "tendon": tendons}.get(e.kind, links)  # type: ignore[assignment]
        constant = e.kind in ("joint", "tendon")
        known = {*known, None} if world or constant else known
        if {e.first, e.second} <= known:
            first, second = (None if x is None else part.rename(x) for x in (e.first, e.second))
            found.append(replace(e, name=part.rename(e.name), first=first, second=second))
    return found


def _looks(part: Moved) -> list[Look]:
    """Shapes on links that are still there, under their new names; those of the world are gone."""
    there = {name for name, frame in part.model.frames.items() if frame.body in part.places}
    return [
        replace(look, link=part.rename(look.link))
        for look in part.model.notes.looks
        if look.link in there and look.link is not None
    ]


def _postures(part: Moved) -> tuple[tuple[str, tuple[float, ...]], ...]:
    spans = [part.model.bodies[i].q for i in part.moving]
    return tuple(
        (name, tuple(x for span in spans for x in q[span]))
        for name, q in part.model.notes.postures
        if len(q) == part.model.nq
    )
