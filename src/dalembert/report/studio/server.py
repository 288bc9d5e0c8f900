"""The studio's server: one page, and processes that make other pages from texts.

It listens on 127.0.0.1 only. Whoever asks must name that address as the host (a foreign name that
was pointed here does not), come from no other origin, and know the token of this run.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dalembert.errors import DalembertError
from dalembert.report.studio.actions import ACTIONS, Refusal, Studio
from dalembert.report.studio.document import MADE, document, policy
from dalembert.report.studio.kept import Kept
from dalembert.report.studio.pool import Pool
from dalembert.report.studio.tabs import Tabs

HOST = "127.0.0.1"
PATIENCE = 20.0  # s in which a request must have come in whole
STILL = 10.0  # s without a byte after which a connection is closed
MOST = 64  # connections at a time
DRAIN, MAX_DRAIN = 0.2, 2**20  # s and bytes of a refused request that are still taken


class Server(ThreadingHTTPServer):
    """Sockets, threads and limits; what is answered is in `Handler` and `actions`."""

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
        kept = None if file is None else Kept(file.resolve())
        self.studio = Studio(self.pool, Tabs(root), kept, trust)
        self.reading: dict[Any, float] = {}  # connections whose request has not come in whole

    @property
    def address(self) -> str:
        """What to open in a browser."""
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
        """A connection that broke is nobody's concern."""

    def close(self) -> None:
        """End processes, close the socket, remove what was kept."""
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
        """The studio for who knows the token, a made page for who knows its name."""
        parts = urlsplit(self.path)
        try:
            self._known_host()
            made = self.server.studio.pages.get(parts.path.removeprefix("/page/"))
            if made is not None:
                self._send(HTTPStatus.OK, "text/html", made, MADE)
                return
            if parts.path != "/":
                raise Refusal(HTTPStatus.NOT_FOUND, "There is nothing here.")
            self._known_token((parse_qs(parts.query).get("token") or [""])[0])
        except Refusal as refusal:
            self._refuse(refusal)
            return
        nonce = secrets.token_urlsafe(16)
        text = document(self.server.studio, nonce)
        self._send(HTTPStatus.OK, "text/html", text.encode(), policy(nonce))

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
            body = self._body(action.kind, action.most)
            self.server.reading.pop(self.connection, None)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            given = json_of(body) if action.kind == "application/json" else {**query, "data": body}
            action.act(self.server.studio, given, self)
        except Refusal as refusal:
            self._refuse(refusal)
        except DalembertError as error:
            self._refuse(Refusal(HTTPStatus.BAD_REQUEST, str(error)))
        except OSError:
            pass  # whoever asked is gone

    def _known_host(self) -> None:
        if self.headers.get_all("Host") != [f"{HOST}:{self.server.port}"]:
            raise Refusal(HTTPStatus.FORBIDDEN, f"The studio is at {HOST} and nowhere else.")

    def _known_token(self, token: str) -> None:
        if not compare_digest(token.encode(errors="replace"), self.server.token.encode()):
            said = "The address needs the token that `dalembert studio` printed; open that address."
            raise Refusal(HTTPStatus.FORBIDDEN, said)

    def _body(self, kind: str, most: int) -> bytes:
        """The bytes of the request; kind and size are checked before they are read."""
        if (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower() != kind:
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send {kind}.")
        length = self.headers.get("Content-Length") or ""
        if not length.isascii() or not length.isdigit() or "Transfer-Encoding" in self.headers:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "Say how many bytes come.")
        if len(length) > 12 or int(length) > most:
            said = f"This is too large: the studio takes {most / 2**20:.0f} MB at a time."
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, said)
        self.whole = True
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refusal(HTTPStatus.BAD_REQUEST, "The request ended early.")
        return body

    def stream(self, answers: Iterable[dict[str, Any]]) -> None:
        """An answer of lines of JSON, each sent when it is there."""
        self._head(HTTPStatus.OK, "application/x-ndjson", None, policy(None))
        for answer in answers:
            line = json.dumps(answer).encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def reply(self, answer: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        """An answer of one piece of JSON."""
        self._send(status, "application/json", json.dumps(answer).encode(), policy(None))

    def _refuse(self, refusal: Refusal) -> None:
        """Say why; what still comes in is taken first, as the answer would be lost otherwise."""
        with suppress(OSError, ValueError):
            self.connection.settimeout(DRAIN)
            length = self.headers.get("Content-Length") or "" if hasattr(self, "headers") else ""
            if length.isascii() and length.isdigit() and not self.whole:
                self.rfile.read(min(int(length), MAX_DRAIN))
        with suppress(OSError):
            self.reply({"error": refusal.said}, refusal.status)

    def handle_expect_100(self) -> bool:
        """Nobody is told to go on before it is known who asks; browsers do not ask for it."""
        self.send_error(HTTPStatus.EXPECTATION_FAILED, "Send the body at once.")
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses: no such method, a request that is none."""
        wrong = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        said = "The studio answers GET and POST." if wrong != code else f"{message or 'No.'}"
        self._refuse(Refusal(HTTPStatus(wrong), said[:200]))

    def _send(self, status: HTTPStatus, kind: str, data: bytes, rules: str) -> None:
        self._head(status, kind, len(data), rules)
        if self.command != "HEAD":
            self.wfile.write(data)

    def _head(self, status: HTTPStatus, kind: str, length: int | None, rules: str) -> None:
        self.close_connection = True
        self.request_version = self.protocol_version  # heads are sent to whoever asks
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
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

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address has the token in it."""


def json_of(body: bytes) -> dict[str, Any]:
    """The object that the body is."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refusal(HTTPStatus.BAD_REQUEST, "The request is no JSON object.")
    return given
