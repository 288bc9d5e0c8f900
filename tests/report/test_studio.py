"""The studio's server, over real sockets: who is answered, what of a text is said, what is kept."""

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dalembert as dl
from dalembert.errors import ImportFileError
from dalembert.report.studio import server as serving
from dalembert.report.studio import worker
from dalembert.report.studio.files import EditedFile, safe_name
from dalembert.report.studio.worker import line_of
from tests.report.studio import TAB, fetch, headers, make, post, running

ARM = dl.load("pendulum").to_urdf()
STL = b"""solid a
facet normal 0 0 1 outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endloop endfacet
endsolid"""
WITH_MESH = """<robot name="meshed"><link name="base"/><link name="arm">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="FILE"/></geometry></visual></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def wait_for(holds, seconds=120.0):  # on a loaded machine; it only ends what would hang
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_the_page_is_for_who_knows_the_token(server):
    status, fields, text = fetch(server, "GET", server.address.partition(str(server.port))[2])
    assert status == 200 and "Drop a URDF, MJCF or TOML here" in text and "planar_2r" in text
    assert server.token not in text
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", fields["Content-Security-Policy"])[1]
    assert text.count(f'nonce="{nonce}"') == 3 and "unsafe" not in fields["Content-Security-Policy"]
    assert fields["X-Content-Type-Options"] == "nosniff" and fields["Cache-Control"] == "no-store"
    assert fields["Referrer-Policy"] == "no-referrer"
    assert not [name for name in fields if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "change", "status"),
    [
        ("GET", "/", {}, 403),
        ("GET", "/?token=", {}, 403),
        ("GET", "/?token=AAAA", {}, 403),
        ("GET", "/?token=%ff%fe%00", {}, 403),
        ("GET", "TOKEN", {"Host": "evil.example"}, 403),
        ("GET", "TOKEN", {"Host": "localhost:80"}, 403),
        ("GET", "/page/AAAA", {}, 404),
        ("GET", "/../../etc/passwd", {}, 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", {}, 404),
        ("POST", "/make", {"X-Token": "AAAA"}, 403),
        ("POST", "/make", {"X-Token": None}, 403),
        ("POST", "/make", {"Origin": "http://evil.example"}, 403),
        ("POST", "/make", {"Origin": "null"}, 403),
        ("POST", "/make", {"Origin": None}, 403),
        ("POST", "/make", {"Host": "evil.example"}, 403),
        ("POST", "/make", {"Content-Type": "text/plain"}, 415),
        ("POST", "/make", {"Content-Length": "99999999999"}, 413),
        ("POST", "/make", {"Content-Length": "9" * 5000}, 413),
        ("POST", "/make", {"Content-Length": "-1"}, 411),
        ("POST", "/make", {"Content-Length": "x"}, 411),
        ("POST", "/make", {"Transfer-Encoding": "chunked"}, 411),
        ("POST", "/nothing", {}, 404),
        ("POST", "/make", {}, 400),
        *((method, "TOKEN", {}, 405) for method in ("HEAD", "OPTIONS", "PUT", "DELETE", "PATCH")),
    ],
)
def test_others_are_refused_with_a_sentence(server, method, path, change, status):
    """As bytes on a socket, so that no client mends what is wrong with them."""
    path = path.replace("TOKEN", f"/?token={server.token}")
    fields = {
        "Host": f"127.0.0.1:{server.port}",
        **headers(server),
        "Content-Length": "2",
        **change,
    }
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", "{]"]).encode())
        head, _, body = line.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and b"nosniff" in head
    assert b"Access-Control" not in head
    if method != "HEAD":
        assert json.loads(body)["error"].endswith(".")


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
)
def test_what_is_no_request_gets_no_page(server, data):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(data + b"\r\n\r\n")
        assert b"<html" not in line.makefile("rb").read()


def test_a_request_that_dribbles_is_cut(monkeypatch):
    monkeypatch.setattr(serving, "PATIENCE", 0.1)
    with (
        running() as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as line,
    ):
        line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert line.recv(10) == b""  # the server has closed it


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'"x"'])
def test_broken_json_is_said(server, body):
    status, _, lines = post(server, "/make", body)
    assert status == 400 and "JSON" in lines[0]["error"]


def test_a_text_becomes_a_live_stage(server):
    answers = make(server, ARM, only="stage")
    assert answers["names"] == ["link1_joint"] and "error" not in answers
    status, fields, text = fetch(server, "GET", f"/page/{answers['stage']}")
    assert status == 200 and "goLive();" in text and server.token not in text
    assert "sandbox allow-scripts" in fields["Content-Security-Policy"]
    assert "allow-same-origin" not in fields["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("a.urdf", ARM.replace('type="continuous"', 'type="revolt"', 1), "revolt", "revolt"),
        ("a.urdf", ARM.replace("</link>", "</lunk>", 1), "</lunk>", "not valid XML"),
        ("a.urdf", ARM.replace('<mass value="', '<mass value="-', 1), "-", "negative"),
        ("a.xml", '<mujoco>\n<worldbody>\n<body pos="0 x 0"/>\n</worldbody></mujoco>', "0 x", ""),
        ("m.toml", 'name = "m"\n[[body]]\nname = "b"\nmess = 1\n', "mess", "mess"),
        ("m.toml", "name = 'm'\nx", "x", "no TOML"),
        ("a.urdf", "", None, "empty"),
        ("a.urdf", '<robot name="\ud800"/>', None, "not valid XML"),
    ],
)
def test_an_error_is_said_with_its_line(server, name, text, line, words):
    answers = make(server, text, name, only="read")
    assert words in answers["error"]
    if line is not None:
        assert line in text.splitlines()[answers["line"] - 1]


def test_a_name_in_a_message_finds_its_line():
    text = '<robot>\n<parent link="arm"/>\n<link name="arm"/>\n</robot>'
    assert line_of("link 'arm': no mass", text) == 3
    assert line_of("link 'leg': no mass", text) is None


def test_doubts_of_a_file_are_told_at_their_line(server):
    doubtful = WITH_MESH.replace('izz="1"', 'izz="5"')
    answers = make(server, doubtful, only="read")
    assert [one for one in answers["remarks"] if one["line"]], answers


def test_files_dropped_together_are_found(server):
    query = f"/keep?tab={TAB}&name="
    kind = {"Content_Type": "application/octet-stream"}
    assert post(server, f"{query}pack/meshes/a.stl&first=1", STL, **kind)[0] == 200
    assert post(server, f"{query}pack/package.xml&first=0", b"<package/>", **kind)[0] == 200
    for file in ("../meshes/a.stl", "package://pack/meshes/a.stl"):
        text = WITH_MESH.replace("FILE", file)
        answers = make(server, text, "pack/urdf/arm.urdf", only="stage")
        assert '"triangles"' in fetch(server, "GET", f"/page/{answers['stage']}")[2]


@pytest.mark.parametrize(
    "file", ["/etc/hostname", "../../../../etc/hostname", "file:///etc/hostname"]
)
def test_a_text_opens_nothing_outside_its_folder(server, file):
    include = f'<mujoco><include file="{file.removeprefix("file://")}"/></mujoco>'
    answers = make(server, include, "a.xml", only="read")
    assert "not opened" in answers["error"] and "trust" in answers["error"] and answers["line"] == 1


@pytest.mark.parametrize(
    "name", ["../a.urdf", "/etc/a", "a/../../b", "c:\\a", "..", "", "a\0b", "x" * 300, 5, None]
)
def test_no_name_leaves_the_folder(server, name):
    with pytest.raises(ImportFileError):
        safe_name(name)
    status, _, lines = post(server, "/make", {"tab": TAB, "text": ARM, "name": name})
    assert status == 400 and lines[0]["error"]


@pytest.mark.parametrize(
    "body",
    [{}, {"text": 5}, {"zoo": "nobody"}, {"zoo": 1}, {"text": ARM}, {"text": "", "edited": True}],
)
def test_a_request_that_says_too_little_is_answered(server, body):
    status, _, lines = post(server, "/make", {"tab": TAB, **body})
    assert status == 400 and lines[0]["error"]
    assert post(server, "/make", {"tab": "../x", "text": ARM, "name": "a"})[0] == 400
    assert post(server, "/save", {"text": "x", "stamp": "y"})[0] == 400


def begun(server, body):
    """A request whose answer has begun, on an open connection."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("POST", "/make", json.dumps({"tab": TAB, **body}), headers(server))
    answer = line.getresponse()
    while "moving" not in answer.readline().decode():
        pass
    (worker,) = server.pool.workers - set(server.pool.idle)
    return line, answer, worker


def test_work_that_nobody_waits_for_is_ended(server):
    """Cassie takes seconds: first a newer text comes, then the tab is closed, then the connection."""
    slow = {"zoo": "cassie"}
    line, answer, worker = begun(server, slow)
    assert "error" in make(server, "<robot", only="read")
    wait_for(lambda: worker.process.poll() is not None)
    assert b"stage" not in answer.read()
    line, answer, worker = begun(server, slow)
    post(server, "/close", {"tab": TAB})
    wait_for(lambda: worker.process.poll() is not None)
    line, answer, worker = begun(server, slow)
    answer.close()
    line.close()
    wait_for(lambda: worker.process.poll() is not None)


def test_what_takes_too_long_or_dies_is_said(server, monkeypatch):
    monkeypatch.setattr(server.pool, "longest", 0.3)
    answers = make(server, None, zoo="cassie")
    assert answers["ended"] == "It took more than 0.3 s and was stopped."
    monkeypatch.setattr(server.pool, "longest", 60.0)
    _, answer, worker = begun(server, {"zoo": "cassie"})
    worker.process.kill()
    assert "The process ended" in answer.read().decode()
    assert "error" in make(server, "<robot", only="read")  # and the studio lives


@pytest.mark.parametrize(
    ("error", "words"),
    [(MemoryError(), "4 GB"), (ZeroDivisionError("x/0"), "ZeroDivisionError: x/0")],
)
def test_faults_of_our_own_are_sentences(monkeypatch, error, words):
    def failing(*_):
        raise error

    monkeypatch.setattr(worker, "system_of_request", failing)
    answers = []
    worker.answer({"name": "a"}, lambda **answer: answers.append(answer))
    assert words in answers[-1]["error"]


def test_the_file_of_the_command_line_is_read_beside_its_meshes(tmp_path):
    (tmp_path / "a.stl").write_bytes(STL)
    file = tmp_path / "arm.urdf"
    file.write_text("<robot/>")
    with running(file) as server:
        page = fetch(server, "GET", f"/?token={server.token}")[2]
        assert "robot/" in re.search(r'id="initial"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
        text = WITH_MESH.replace("FILE", "a.stl")
        answers = make(server, text, edited=True, only="stage")
        assert '"triangles"' in fetch(server, "GET", f"/page/{answers['stage']}")[2]
        assert file.read_text() == "<robot/>"  # only `save` writes
        stamp = EditedFile(file).read()[1]
        assert "stamp" in post(server, "/save", {"text": text, "stamp": stamp})[2][0]
        assert file.read_text() == text
        status, _, lines = post(server, "/save", {"text": "mine", "stamp": stamp})
        assert status == 409 and "changed on disk" in lines[0]["error"]
        assert file.read_text() == text and len(list(tmp_path.iterdir())) == 2


def test_a_saved_file_keeps_its_line_ends_rights_and_link(tmp_path):
    file, link = tmp_path / "real.urdf", tmp_path / "link.urdf"
    file.write_bytes(b"<robot>\r\n</robot>\r\n")
    file.chmod(0o640)
    link.symlink_to(file)
    edited = EditedFile(link.resolve())
    text, stamp = edited.read()
    assert text == "<robot>\n</robot>\n"
    edited.save(text + "\n", stamp)
    assert file.read_bytes() == b"<robot>\r\n</robot>\r\n\r\n" and link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def begun_with(server):
    """The initial data of the page."""
    page = fetch(server, "GET", f"/?token={server.token}")[2]
    return json.loads(re.search(r'id="initial"[^>]*>(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_begins_with_the_text_of_the_file(tmp_path):
    """Lines, tabs, marks of the page itself and characters that a page would obey."""
    file = tmp_path / "arm.urdf"
    text = "<robot>\n\t<!-- %SCRIPT% %DATA% \\n \\u003c </script> \x7f\u202eé🤖 -->\n</robot>\n"
    file.write_bytes(text.encode())
    with running(file) as server:
        edited = begun_with(server)["edited"]
        assert edited["text"] == text
        post(server, "/save", {"text": edited["text"], "stamp": edited["stamp"]})
    assert file.read_bytes() == text.encode()


def test_the_file_as_it_was_is_put_back_until_the_studio_is_closed(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_bytes(b"<robot>\r\n</robot>\n")
    with running(file) as server:
        stamp = begun_with(server)["edited"]["stamp"]
        status, _, lines = post(server, "/restore", {"stamp": stamp})
        assert status == 409 and "has not been written to" in lines[0]["error"]
        for text in ("<first/>", "<second/>"):
            stamp = post(server, "/save", {"text": text, "stamp": stamp})[2][0]["stamp"]
        assert begun_with(server)["edited"]["restorable"]  # also after the page is loaded again
        assert post(server, "/restore", {"stamp": "another"})[0] == 409
        assert file.read_bytes() == b"<second/>"
        (answer,) = post(server, "/restore", {"stamp": stamp})[2]
        assert answer["text"] == "<robot>\n</robot>\n"
        assert file.read_bytes() == b"<robot>\r\n</robot>\n"
        file.write_text("another's")  # what another wrote is what is kept from then on
        stamp = post(server, "/save", {"text": "mine", "stamp": EditedFile(file).read()[1]})[2][0][
            "stamp"
        ]
        post(server, "/restore", {"stamp": stamp})
        assert file.read_text() == "another's"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\nc\rd", b"a\r\nb\nC\rd"),  # each line keeps its own end
        (b"a\r\nb\r\nc", b"a\r\nx\r\nb\r\nc"),  # a new line has the most frequent one
        (b"a\nb\r\nc\r\n", b"c\r\n"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
        (b"a", b"a\nb"),
        (b"", b"a\n"),
    ],
)
def test_lines_keep_their_ends(tmp_path, before, after):
    file = tmp_path / "a.urdf"
    file.write_bytes(before)
    edited = EditedFile(file)
    text, stamp = edited.read()
    stamp = edited.save(text, stamp)
    assert file.read_bytes() == before
    edited.save(after.decode().replace("\r\n", "\n").replace("\r", "\n"), stamp)
    assert file.read_bytes() == after


def test_a_change_by_another_while_the_new_file_goes_to_disk_is_kept(tmp_path, monkeypatch):
    file = tmp_path / "arm.urdf"
    file.write_text("<robot/>")
    stamp = EditedFile(file).read()[1]
    monkeypatch.setattr(os, "fsync", lambda number: file.write_text("another's"))
    with pytest.raises(ImportFileError, match="has changed on disk"):
        EditedFile(file).save("mine", stamp)
    assert file.read_text() == "another's" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_leaves_no_process_and_no_file(number, tmp_path):
    """It is ended while a process works; the signal goes to the command alone."""
    command = [sys.executable, "-m", "dalembert", "studio", "--no-browser"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", started.stdout.readline())

        class Address:
            port, token = int(address[1]), address[2]

        line = http.client.HTTPConnection("127.0.0.1", Address.port, timeout=60)
        line.request("POST", "/make", json.dumps({"tab": TAB, "zoo": "cassie"}), headers(Address))
        assert b"step" in line.getresponse().readline()
        children = children_of(started.pid)
        assert children
        started.send_signal(number)
        assert started.wait(20) == 0
        wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
        assert not list(tmp_path.iterdir())
    finally:
        started.kill()
        started.stdout.close()


def children_of(process):
    path = Path(f"/proc/{process}/task/{process}/children")
    if not path.exists():
        pytest.skip("the system does not list children of processes")
    return [
        int(word)
        for task in path.parents[1].iterdir()
        for word in (task / "children").read_text().split()
    ]


def test_a_port_that_is_taken_is_said(server):
    command = [
        sys.executable,
        "-m",
        "dalembert",
        "studio",
        "--no-browser",
        "--port",
        str(server.port),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2 and "choose another" in done.stderr


def test_a_process_that_is_ended_while_it_writes_has_said_nothing_more(monkeypatch, tmp_path):
    """Half a line is no answer, and nobody waits for the rest of it."""
    text = "print('{\"done\": false}'); print('{\"page\": \"half', end='', flush=True)"
    monkeypatch.setattr(worker, "BEGIN", text.replace("{", "{{").replace("}", "}}"))
    process = worker.Worker(str(tmp_path))
    assert process.answers.get(timeout=60) == {"done": False}
    assert process.answers.get(timeout=60) is None
    process.end()
