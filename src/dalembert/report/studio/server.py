"""The studio's HTTP server: its page, its actions, and processes that make pages from texts.

It listens on 127.0.0.1 only. A request must name that address as the host (a foreign name that was
pointed here does not), come from no other origin, and carry the token of this run.
"""

from __future__ import annotations

import json
import re
import secrets
import select
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from dalembert.errors import DalembertError
from dalembert.importers.safe_parsing import MAX_BYTES
from dalembert.report import asset
from dalembert.report.studio.files import MAX_FILE, EditedFile, Tabs
from dalembert.report.studio.worker import Pool
from dalembert.text import html_data, short
from dalembert.zoo import bodies, is_known, mechanisms, names, systems

Json = dict[str, Any]
PAGES = ("stage", "report")
MAX_PAGES = 24  # a frame takes its page as soon as it is there


class Refusal(Exception):
    """A request that is refused: its status, and the reason in a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Action(NamedTuple):
    """An action: the content type and largest size of its body, its function, and its failure."""

    kind: str
    most: int  # bytes
    act: Callable[[Server, Json, Handler], None]
    failed: HTTPStatus = HTTPStatus.BAD_REQUEST


def make(studio: Server, arguments: Json, handler: Handler) -> None:
    """Lines of JSON: steps, errors of the text, the live stage, the report.

    It ends early when the tab sends a new request or closes the connection; ``only="read"`` checks
    the text without pages, ``only="stage"`` makes no report.
    """
    tab = studio.tabs.get(arguments.get("tab"))
    cancelled = tab.next_request()
    zoo, text = arguments.get("zoo"), arguments.get("text")
    request: Json
    if zoo is not None:
        if not isinstance(zoo, str) or not is_known(zoo):
            raise Refusal(HTTPStatus.BAD_REQUEST, f"The zoo has no {short(zoo)}.")
        request = {"zoo": zoo, "name": zoo}
    elif not isinstance(text, str):
        raise Refusal(HTTPStatus.BAD_REQUEST, "Give a text, or a name of the zoo.")
    else:
        if arguments.get("edited"):
            path, trust = _edited_file(studio).path, studio.trust
        else:
            data = text.encode("utf-8", errors="surrogatepass")
            if len(data) > MAX_BYTES:
                message = f"The text is too long: the limit is {MAX_BYTES >> 20} MB."
                raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
            path, trust = tab.put(arguments.get("name"), data), [str(tab.folder)]
        request = {"text": text, "name": path.name, "path": str(path), "trust": trust}
    request["only"] = arguments.get("only")
    with closing(
        studio.pool.answers(request, lambda: gone(cancelled, handler.connection))
    ) as answers:
        handler.stream(
            {key: studio.shelve(x) if key in PAGES else x for key, x in answer.items()}
            for answer in answers
        )


def gone(cancelled: Event, connection: socket.socket) -> bool:
    """Whether the answer is not needed: a newer request, or a closed connection."""
    if cancelled.is_set():
        return True
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):
        return True


def keep(studio: Server, arguments: Json, handler: Handler) -> None:
    """Store a dropped file; the first of a drop replaces all earlier ones."""
    tab = studio.tabs.get(arguments.get("tab"))
    if arguments.get("first") == "1":
        tab.clear()
    tab.put(arguments.get("name"), arguments["data"])
    handler.reply({"stored": True})


def save(studio: Server, arguments: Json, handler: Handler) -> None:
    """Write the text to the file of the command line, if nobody else has changed it."""
    text, stamp = arguments.get("text"), arguments.get("stamp")
    if not isinstance(text, str) or not isinstance(stamp, str):
        raise Refusal(HTTPStatus.BAD_REQUEST, "Give the text and its stamp.")
    handler.reply({"stamp": _edited_file(studio).save(text, stamp)})


def restore(studio: Server, arguments: Json, handler: Handler) -> None:
    """Put the file of the command line back as it was before the studio wrote it; its text."""
    stamp, file = arguments.get("stamp"), _edited_file(studio)
    if not isinstance(stamp, str):
        raise Refusal(HTTPStatus.BAD_REQUEST, "Give the stamp of the file.")
    file.restore(stamp)
    text, stamp = file.read()
    handler.reply({"text": text, "stamp": stamp})


def close(studio: Server, arguments: Json, handler: Handler) -> None:
    """The tab is closed: its work ends, its files go."""
    studio.tabs.close(arguments.get("tab"))
    handler.reply({"closed": True})


def _edited_file(studio: Server) -> EditedFile:
    if studio.file is None:
        raise Refusal(HTTPStatus.BAD_REQUEST, "The studio was started without a file.")
    return studio.file


JSON, BYTES = "application/json", "application/octet-stream"
ACTIONS = {
    "/make": Action(JSON, 2 * MAX_BYTES, make),
    "/keep": Action(BYTES, MAX_FILE, keep),
    "/save": Action(JSON, 2 * MAX_BYTES, save, HTTPStatus.CONFLICT),
    "/restore": Action(JSON, 2**12, restore, HTTPStatus.CONFLICT),
    "/close": Action(JSON, 2**12, close),
}


SCRIPTS = ("studio_editor.js", "studio_files.js", "studio.js")


# nothing from elsewhere; in the studio's page scripts and styles only those that bear the nonce
ANSWER_POLICY = "default-src 'none'; frame-ancestors 'none'"
STUDIO_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
    "connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# A page from a text has no origin of its own, and only the studio shows it; its own policy has the
# other rules. It may save pictures and data.
PAGE_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"


def document(studio: Server, nonce: str) -> str:
    """The page with its initial data: names of the zoo, and the file of the command line."""
    page = asset("assets/studio.html")
    kinds = {
        "Robots": names(),
        "Closed chains and contacts": mechanisms(),
        "Mechanisms of bodies": bodies(),
        "By their energies": systems(),
    }
    zoo = [{"title": title, "names": list(several)} for title, several in kinds.items()]
    edited: Json | None = None
    if studio.file is not None:  # as it is on disk now, or the reason why it cannot be read
        edited = {"name": studio.file.path.name, "path": str(studio.file.path)}
        try:
            text, stamp = studio.file.read()
            restorable = studio.file.original is not None
            edited |= {"text": text, "stamp": stamp, "restorable": restorable}
        except DalembertError as error:
            edited["error"] = str(error)
    data = html_data({"zoo": zoo, "edited": edited, "most": MAX_FILE})
    style = asset("assets/page.css") + asset("assets/studio.css")
    scripts = "\n".join(asset(f"assets/{name}") for name in SCRIPTS)
    parts = {"%NONCE%": nonce, "%STYLE%": style, "%DATA%": data, "%SCRIPT%": scripts}
    return re.sub("|".join(parts), lambda mark: parts[mark[0]], page)


HOST = "127.0.0.1"
PATIENCE = 20.0  # s in which a request must have come in whole
STILL = 10.0  # s without a byte after which a connection is closed
MOST = 64  # connections at a time
DRAIN, MAX_DRAIN = 0.2, 2**20  # s and bytes of a refused request that are still taken


class Server(ThreadingHTTPServer):
    """Sockets, threads and limits; tabs, their pages, and the file of the command line.

    The answers are those of `Handler` and `ACTIONS`.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = False

    def __init__(self, port: int, file: Path | None, trust: list[str], longest: float) -> None:
        super().__init__((HOST, port), Handler)
        self.port = int(self.server_address[1])
        self.token = secrets.token_urlsafe(24)
        self.root = tempfile.TemporaryDirectory(prefix="dalembert-studio-")
        root = Path(self.root.name)
        (root / "work").mkdir()
        self.pool = Pool(str(root / "work"), longest)
        self.tabs, self.trust = Tabs(root), trust
        self.file = None if file is None else EditedFile(file.resolve())
        self.pages: dict[str, bytes] = {}
        self.reading: dict[Any, float] = {}  # connections whose request has not come in whole

    @property
    def address(self) -> str:
        """The URL to open in a browser, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for each request; beyond `MOST` at a time, none."""
        if len(self.reading) >= MOST:
            self.shutdown_request(request)
            return
        self.reading[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.reading.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Close connections that dribble."""
        now = time.monotonic()
        for request, begun in list(self.reading.items()):
            if now - begun > PATIENCE:
                self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections."""

    def shelve(self, page: str) -> str:
        """Store a page for its frame; return an unguessable name."""
        name = secrets.token_urlsafe(24)
        self.pages[name] = page.encode("utf-8", errors="replace")
        for old in list(self.pages)[:-MAX_PAGES]:
            self.pages.pop(old, None)
        return name

    def close(self) -> None:
        """End processes, close the socket, remove stored files."""
        self.pool.close()
        self.server_close()
        self.root.cleanup()


class Handler(BaseHTTPRequestHandler):
    """One request: who asks is checked first, then how much, then what."""

    server: Server
    timeout = STILL
    protocol_version = "HTTP/1.1"
    whole = False  # whether the body has been read
    server_version, sys_version = "dalembert", ""

    def do_GET(self) -> None:
        """The studio with the token, or a page with its name."""
        parts = urlsplit(self.path)
        try:
            self._known_host()
            page = self.server.pages.get(parts.path.removeprefix("/page/"))
            if page is not None:
                self._send(HTTPStatus.OK, "text/html", page, PAGE_POLICY)
                return
            if parts.path != "/":
                raise Refusal(HTTPStatus.NOT_FOUND, "There is nothing here.")
            self._known_token((parse_qs(parts.query).get("token") or [""])[0])
        except Refusal as refusal:
            self._refuse(refusal)
            return
        nonce = secrets.token_urlsafe(16)
        text = document(self.server, nonce)
        rules = STUDIO_POLICY.format(nonce=nonce)
        self._send(HTTPStatus.OK, "text/html", text.encode(), rules)

    def do_POST(self) -> None:
        """An action: its name is the path, its argument the body."""
        parts = urlsplit(self.path)
        try:
            self._known_host()
            if self.headers.get("Origin") != f"http://{HOST}:{self.server.port}":
                raise Refusal(HTTPStatus.FORBIDDEN, "Only the studio's own page is answered.")
            self._known_token(self.headers.get("X-Token") or "")
            action = ACTIONS.get(parts.path)
            if action is None:
                raise Refusal(HTTPStatus.NOT_FOUND, "There is nothing here.")
            # type and size are checked before the body is read
            kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
            if kind != action.kind:
                raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send {action.kind}.")
            length = self.headers.get("Content-Length") or ""
            if not length.isascii() or not length.isdigit() or "Transfer-Encoding" in self.headers:
                raise Refusal(HTTPStatus.LENGTH_REQUIRED, "Say how many bytes come.")
            if len(length) > 12 or int(length) > action.most:
                size = f"{action.most / 2**20:.0f} MB"
                message = f"This is too large: the studio takes {size} at a time."
                raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
            self.whole = True
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                raise Refusal(HTTPStatus.BAD_REQUEST, "The request ended early.")
            self.server.reading.pop(self.connection, None)
            if action.kind == JSON:
                arguments = None
                with suppress(ValueError, RecursionError):
                    arguments = json.loads(body)
                if not isinstance(arguments, dict):
                    raise Refusal(HTTPStatus.BAD_REQUEST, "The request is no JSON object.")
            else:
                arguments = {key: values[0] for key, values in parse_qs(parts.query).items()}
                arguments["data"] = body
            try:
                action.act(self.server, arguments, self)
            except DalembertError as error:
                raise Refusal(action.failed, str(error)) from None
        except Refusal as refusal:
            self._refuse(refusal)
        except OSError:
            pass  # whoever asked is gone

    def _known_host(self) -> None:
        if self.headers.get_all("Host") != [f"{HOST}:{self.server.port}"]:
            raise Refusal(HTTPStatus.FORBIDDEN, f"The studio is at {HOST} and nowhere else.")

    def _known_token(self, token: str) -> None:
        if not compare_digest(token.encode(errors="replace"), self.server.token.encode()):
            message = (
                "The address needs the token that `dalembert studio` printed; open that address."
            )
            raise Refusal(HTTPStatus.FORBIDDEN, message)

    def stream(self, answers: Iterable[Json]) -> None:
        """An answer of lines of JSON, each sent when it is there."""
        self._send(HTTPStatus.OK, "application/x-ndjson", None, ANSWER_POLICY)
        for answer in answers:
            line = json.dumps(answer).encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def reply(self, answer: Json, status: HTTPStatus = HTTPStatus.OK) -> None:
        """An answer of one piece of JSON."""
        self._send(status, JSON, json.dumps(answer).encode(), ANSWER_POLICY)

    def _refuse(self, refusal: Refusal) -> None:
        """Send the reason; the rest of the body is read first, else the answer would be lost."""
        with suppress(OSError, ValueError):
            self.connection.settimeout(DRAIN)
            length = self.headers.get("Content-Length") or "" if hasattr(self, "headers") else ""
            if length.isascii() and length.isdigit() and not self.whole:
                self.rfile.read(min(int(length), MAX_DRAIN))
        with suppress(OSError):
            self.reply({"error": refusal.message}, refusal.status)

    def handle_expect_100(self) -> bool:
        """Refuse: no request continues before its origin is checked; browsers do not use this."""
        self.send_error(HTTPStatus.EXPECTATION_FAILED, "Send the body at once.")
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Errors of the standard library: an unknown method, a malformed request."""
        wrong = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        message = "The studio answers GET and POST." if wrong != code else f"{message or 'No.'}"
        self._refuse(Refusal(HTTPStatus(wrong), message[:200]))

    def _send(self, status: HTTPStatus, kind: str, data: bytes | None, rules: str) -> None:
        """The head of an answer, and the data; without them, chunks are to follow."""
        self.close_connection = True
        self.request_version = self.protocol_version  # heads are sent to whoever asks
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if data is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(data)))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, POST")
        for name, value in (
            ("Content-Security-Policy", rules),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if data is not None and self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address has the token in it."""
