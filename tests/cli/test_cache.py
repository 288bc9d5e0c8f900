"""`dalembert cache` says what is there, removes what is damaged, and clears on request."""

import json
import os
import subprocess
import sys

from typer.testing import CliRunner

from dalembert.cli.app import app
from dalembert.kernels.call import cache


def run(*args, code=0):
    result = CliRunner().invoke(app, ["cache", *args])
    assert result.exit_code == code, result.output
    return result.output


def test_it_shows_verifies_and_clears(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("DALEMBERT_CACHE", str(folder))
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", "3M")
    for key in "abc":
        cache.put(key, bytes(1000))
    text = run()
    assert str(folder) in text and "3 entries" in text and "3 MiB" in text
    facts = json.loads(run("--json"))
    assert (facts["entries"], facts["limit"], facts["damaged"]) == (3, 3 * 2**20, [])
    assert "3 of 3 entries are whole" in run("--verify")
    victim = folder / cache._name("b")
    victim.write_bytes(victim.read_bytes()[:-1])
    assert json.loads(run("--json"))["damaged"] == [victim.name]
    message = run("--verify", code=1)
    assert victim.name in message and "2 of 3 entries are whole" in message
    assert not victim.exists()
    assert "removed 2 entries" in run("--clear")
    assert not cache.entries()


def test_a_cache_that_is_off_is_said(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    assert "cache is off" in run()


def test_two_wishes_at_once_are_refused():
    run("--verify", "--clear", code=2)


def test_the_package_runs_as_a_module(tmp_path):
    """Where several interpreters are installed, this one's command line is meant."""
    command = [sys.executable, "-m", "dalembert", "cache", "--json"]
    environment = {**os.environ, "DALEMBERT_CACHE": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["folder"] == str(tmp_path)
