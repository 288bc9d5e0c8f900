"""What the studio's page may ask for: pages of a text, files kept, the file saved or restored."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from secrets import token_urlsafe
from threading import Event
from typing import Any, NamedTuple

from dalembert.errors import DalembertError
from dalembert.importers.xml_read import MAX_BYTES
from dalembert.report.studio.kept import Kept
from dalembert.report.studio.pool import Pool
from dalembert.report.studio.tabs import MAX_FILE, Tabs
from dalembert.text import short
from dalembert.zoo import is_known

PAGES = ("stage", "report")
MAX_PAGES = 24  # a frame takes its page as soon as it is there


class Refusal(Exception):
    """A request that is not answered: its status, and why in a sentence."""

    def __init__(self, status: HTTPStatus, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


@dataclass(frozen=True)
class Studio:
    """What a server has: processes, tabs, the file of the command line, folders it may open."""

    pool: Pool
    tabs: Tabs
    kept: Kept | None
    trust: list[str]
    pages: dict[str, bytes] = field(default_factory=dict)

    def shelve(self, page: str) -> str:
        """Put a page where its frame takes it from; a name that nobody guesses."""
        name = token_urlsafe(24)
        self.pages[name] = page.encode("utf-8", errors="replace")
        for old in list(self.pages)[:-MAX_PAGES]:
            self.pages.pop(old, None)
        return name


class Action(NamedTuple):
    """The kind of body an action takes, how many bytes at most, and what it does."""

    kind: str
    most: int
    act: Callable[[Studio, dict[str, Any], Any], None]


def make(studio: Studio, given: dict[str, Any], to: Any) -> None:
    """Lines of JSON: steps, what the text lacks, the live stage, the report.

    It ends early when the tab asks again or closes the connection; ``only="read"`` asks for no
    pages, but whether there is something wrong, ``only="stage"`` for no report.
    """
    tab = studio.tabs.get(given.get("tab"))
    wanted = tab.next_request()
    request = {**asked(studio, tab, given), "only": given.get("only")}
    with closing(studio.pool.answers(request, lambda: gone(wanted, to.connection))) as answers:
        to.stream(
            {key: studio.shelve(x) if key in PAGES else x for key, x in answer.items()}
            for answer in answers
        )


def asked(studio: Studio, tab: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The request to a process: a name of the zoo, or a text and where it stands."""
    zoo, text = given.get("zoo"), given.get("text")
    if zoo is not None:
        if not isinstance(zoo, str) or not is_known(zoo):
            raise Refusal(HTTPStatus.BAD_REQUEST, f"The zoo has no {short(zoo)}.")
        return {"zoo": zoo, "name": zoo}
    if not isinstance(text, str):
        raise Refusal(HTTPStatus.BAD_REQUEST, "Give a text, or a name of the zoo.")
    if given.get("kept"):
        path = _kept(studio).path
        return {"text": text, "name": path.name, "path": str(path), "trust": studio.trust}
    data = text.encode("utf-8", errors="surrogatepass")
    if len(data) > MAX_BYTES:
        said = f"The text is too long: the limit is {MAX_BYTES >> 20} MB."
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, said)
    path = tab.put(given.get("name"), data)
    return {"text": text, "name": path.name, "path": str(path), "trust": [str(tab.folder)]}


def gone(wanted: Event, connection: socket.socket) -> bool:
    """Whether nobody waits for the answer: a newer request, or a connection that is closed."""
    if wanted.is_set():
        return True
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):
        return True


def keep(studio: Studio, given: dict[str, Any], to: Any) -> None:
    """Keep a dropped file; the first of a drop takes the place of all that were there."""
    tab = studio.tabs.get(given.get("tab"))
    if given.get("first") == "1":
        tab.clear()
    tab.put(given.get("name"), given["data"])
    to.reply({"kept": True})


def save(studio: Studio, given: dict[str, Any], to: Any) -> None:
    """Write the text to the file of the command line, if nobody else has changed it."""
    text, stamp = given.get("text"), given.get("stamp")
    if not isinstance(text, str) or not isinstance(stamp, str):
        raise Refusal(HTTPStatus.BAD_REQUEST, "Give the text and its stamp.")
    try:
        to.reply({"stamp": _kept(studio).save(text, stamp)})
    except DalembertError as error:
        raise Refusal(HTTPStatus.CONFLICT, str(error)) from None


def restore(studio: Studio, given: dict[str, Any], to: Any) -> None:
    """Put the file of the command line back as it was before the studio wrote it; its text."""
    stamp, kept = given.get("stamp"), _kept(studio)
    if not isinstance(stamp, str):
        raise Refusal(HTTPStatus.BAD_REQUEST, "Give the stamp of the file.")
    try:
        kept.restore(stamp)
        text, stamp = kept.read()
    except DalembertError as error:
        raise Refusal(HTTPStatus.CONFLICT, str(error)) from None
    to.reply({"text": text, "stamp": stamp})


def close(studio: Studio, given: dict[str, Any], to: Any) -> None:
    """The tab is closed: its work ends, its files go."""
    studio.tabs.close(given.get("tab"))
    to.reply({"closed": True})


def _kept(studio: Studio) -> Kept:
    if studio.kept is None:
        raise Refusal(HTTPStatus.BAD_REQUEST, "The studio was started without a file.")
    return studio.kept


JSON, BYTES = "application/json", "application/octet-stream"
ACTIONS = {
    "/make": Action(JSON, 2 * MAX_BYTES, make),
    "/keep": Action(BYTES, MAX_FILE, keep),
    "/save": Action(JSON, 2 * MAX_BYTES, save),
    "/restore": Action(JSON, 2**12, restore),
    "/close": Action(JSON, 2**12, close),
}
