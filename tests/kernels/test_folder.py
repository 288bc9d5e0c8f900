"""The cache where directories cannot be held open, as on Windows: the same answers, by paths."""

import os

import pytest

from dalembert.kernels.call import cache

KEY, PAYLOAD = "robot\nfloat64", bytes(range(256))


@pytest.fixture
def by_path(tmp_path, monkeypatch):
    """A cache as a system without owners, directory descriptors and POSIX's flags would have it."""
    monkeypatch.setattr(cache, "HAS_DIR_FD", False)
    monkeypatch.setattr(os, "supports_fd", frozenset())
    for name in ("geteuid", "getuid", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_stored_comes_back(by_path):
    assert cache.get(KEY) is None
    cache.put(KEY, PAYLOAD)
    cache.put(KEY, b"newer")
    cache.put("other", PAYLOAD)
    assert (cache.get(KEY), cache.get("other")) == (b"newer", PAYLOAD)
    assert {one.name for one in cache.entries()} == set(os.listdir(by_path))
    assert all(one.intact for one in cache.entries())


def test_damage_is_found_and_the_oldest_goes_first(by_path, monkeypatch):
    for age, key in enumerate("cba"):
        cache.put(key, PAYLOAD)
        os.utime(by_path / cache._name(key), (1e9 + age, 1e9 + age))
    assert cache.get("c") == PAYLOAD  # used now
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", "800")
    cache.put("d", PAYLOAD)
    remaining = {key for key in "abcd" if cache.get(key) is not None}
    assert remaining == {"c", "d"}
    (by_path / cache._name("d")).write_bytes(b"damaged")
    assert cache.get("d") is None
    cache.clear()
    assert os.listdir(by_path) == []


def test_a_link_in_place_of_the_folder_is_not_used(by_path, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_warned", set())
    (tmp_path / "elsewhere").mkdir()
    by_path.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="not cached"):
        cache.put(KEY, PAYLOAD)
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("win32", {"LOCALAPPDATA": "/users/x/local", "XDG_CACHE_HOME": "/no"}, "/users/x/local"),
        ("win32", {"LOCALAPPDATA": "relative"}, None),
        ("darwin", {"HOME": "/users/x"}, "/users/x/Library/Caches"),
        ("linux", {"HOME": "/home/x"}, "/home/x/.cache"),
        ("linux", {"HOME": "/home/x", "XDG_CACHE_HOME": "/scratch"}, "/scratch"),
    ],
)
def test_each_system_has_its_place(monkeypatch, system, variables, expected):
    for name in ("LOCALAPPDATA", "XDG_CACHE_HOME", "DALEMBERT_CACHE", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", system)
    actual = cache.directory()
    assert (actual and actual.as_posix()) == (expected and f"{expected}/dalembert")
