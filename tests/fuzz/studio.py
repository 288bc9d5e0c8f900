"""Fuzz target of the studio: any bytes on its socket are answered with JSON and a sentence."""

from __future__ import annotations

import atexit
import json
import socket
from contextlib import ExitStack, suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.report.studio.server import Handler
from tests.fuzz import mechanisms, readers
from tests.fuzz.names import name as hostile_name
from tests.report.studio import TAB, headers, running

METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "get", "", "P\0ST", "CONNECT")
PATHS = (
    *("/", "/?token=x", "/page/", "/page/../x", "/make?x", "/..%2f..%2fetc/passwd", "//evil/", "*"),
    *(
        "/keep",
        "/keep?name=../a&first=1",
        "/save",
        "/close",
        "/" + "a" * 70_000,
        "http://x/make",
        "",
    ),
)
HEADERS = {
    "Host": ("evil.example", "127.0.0.1", "", "127.0.0.1:1\r\nHost: x"),
    "Origin": ("null", "http://evil.example", "https://127.0.0.1", ""),
    "X-Token": ("", "x", "\xff", "a" * 10_000),
    "Content-Type": (
        "text/plain",
        "",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
    ),
    "Content-Length": ("0", "1", "-1", "x", "1e3", "99999999999", "5", "\u0665"),
    "Transfer-Encoding": ("chunked", "identity"),
    "Expect": ("100-continue",),
}
VALUES = (None, True, 0, -1.5, 1e308, "", "x", "../x", [], {}, [[]], {"a": 1}, "\ud800", "a\0b")
BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 5000,
    b'{"a":' * 2000,
    b"\0" * 100,
    b"1e999",
)
NAMES = ("a.urdf", "a.xml", "a.toml", "a", "b/a.urdf", "a.mjcf")


class Request(NamedTuple):
    """What is sent: method, path, headers that differ from the page's own, body."""

    method: str
    path: str
    changes: dict[str, str]
    body: bytes


def case(rng: np.random.Generator) -> Request:
    """A text, a wrong body, or a request that is wrong in itself."""
    kind = rng.choice(["text", "text", "text", "body", "request"])
    body = json.dumps(_text(rng)).encode()
    if kind == "text":
        return Request("POST", "/make", {}, body)
    if kind == "body":
        path = str(rng.choice(["/make", "/make", "/save", "/close"]))
        if rng.random() < 0.3:
            return Request("POST", path, {}, _pick(BODIES, rng))
        values = {
            key: _pick(VALUES, rng) for key in ("tab", "text", "name", "zoo", "kept", "stamp")
        }
        message = {"tab": TAB} | {key: x for key, x in values.items() if rng.random() < 0.6}
        return Request("POST", path, {}, json.dumps(message).encode())
    names = [name for name in HEADERS if rng.random() < 0.3]
    changes = {name: _pick(HEADERS[name], rng) for name in names}
    method = _pick(METHODS, rng) if rng.random() < 0.5 else "POST"
    return Request(method, _pick(PATHS, rng), changes, _pick((body, *BODIES), rng))


def _text(rng: np.random.Generator) -> dict[str, Any]:
    """A mutated text under some name; now and then its page is asked for too."""
    make = (readers.urdf, readers.mjcf, mechanisms.case)[int(rng.integers(3))]
    text = make(rng)
    data = text if isinstance(text, bytes) else str(text).encode(errors="surrogatepass")
    name = _pick(NAMES, rng) if rng.random() < 0.9 else hostile_name(rng)
    only = "stage" if rng.random() < 0.01 else "read"
    return {"tab": TAB, "text": data.decode(errors="replace"), "name": name, "only": only}


def _pick(options: Any, rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]


@cache
def _server() -> Any:
    """One studio for all cases; it ends with the process, and waits less for what does not come."""
    Handler.timeout = 0.3
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running(longest=60.0))


def outcome(request: Request) -> str:
    """ "accepted" for a text that is read, "refused" for one sentence of JSON that says why not."""
    server = _server()
    fields = {"Host": f"127.0.0.1:{server.port}", **headers(server)}
    fields |= {"Content-Length": str(len(request.body)), **request.changes}
    lines = [
        f"{request.method} {request.path} HTTP/1.1",
        *(f"{k}: {v}" for k, v in fields.items()),
        "",
        "",
    ]
    with socket.create_connection(("127.0.0.1", server.port), timeout=90) as line:
        with suppress(OSError):  # refused before all was sent
            line.sendall("\r\n".join(lines).encode("utf-8", errors="replace") + request.body)
        head, _, body = line.makefile("rb").read().partition(b"\r\n\r\n")
    return judged(head, body, request)


def judged(head: bytes, body: bytes, request: Request) -> str:
    """What an answer comes to; one that is no JSON, or says nothing, is a failure."""
    if not head.startswith(b"HTTP/1.1 ") or b"nosniff" not in head:
        return f"no answer: {head[:200]!r}"
    if b"chunked" in head:
        body = b"".join(body.split(b"\r\n")[1::2])
    if request.method == "HEAD" and not body:
        return "refused"
    answer = {key: x for line in body.splitlines() for key, x in json.loads(line).items()}
    wrong = answer.get("error") or answer.get("lacking") or answer.get("ended")
    if "not your fault" in (wrong or "") or "ended" in answer:
        return f"a fault of ours: {wrong}"
    if wrong:
        return "refused" if len(wrong) < 4000 else "refused without end"
    good = {"remarks", "closed", "kept", "stamp"} & set(answer)
    return "accepted" if good and b" 200 " in head[:20] else f"no sentence: {body[:200]!r}"
