"""A studio for tests, and how to ask it over a real socket."""

import http.client
import json
from contextlib import contextmanager
from threading import Thread

from dalembert.report.studio.server import Server

TAB = "0123456789abcdef"


@contextmanager
def running(file=None, trust=(), longest=120.0):
    """A server of this process, on a free port."""
    server = Server(0, file, list(trust), longest)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.close()


def headers(server, **more):
    fields = {
        "Origin": f"http://127.0.0.1:{server.port}",
        "X-Token": server.token,
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return {name: value for name, value in fields.items() if value is not None}


def post(server, path, body, **more):
    """(status, headers, lines of JSON) of an action."""
    data = json.dumps(body) if isinstance(body, dict) else body
    return fetch(server, "POST", path, data, headers(server, **more))


def fetch(server, method, path, body=None, fields=None):
    """(status, headers, lines of JSON, or text where the answer is none)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, body, fields or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    lines = text if text.startswith("<!") else [json.loads(line) for line in text.splitlines()]
    return answer.status, answer.headers, lines


def make(server, text, name="robot.urdf", **more):
    """Everything said of a text, by key."""
    status, _, lines = post(server, "/make", {"tab": TAB, "text": text, "name": name, **more})
    assert status == 200, lines
    return {key: value for line in lines for key, value in line.items()}
