"""The cache of compiled objects: what is stored comes back, and nothing else ever does."""

import errno
import os
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalembert.errors import SettingError
from dalembert.kernels.call import cache
from dalembert.kernels.call.cache import Folder

KEY, PAYLOAD = "robot\nfloat64\nx86-64-v3", bytes(range(256)) * 8


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("DALEMBERT_CACHE", str(path))
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setattr(cache, "_free", {})
    return path


def entry(folder: Path, key: str = KEY) -> Path:
    return folder / cache._name(key)


def test_stored_payloads_come_back(folder):
    assert cache.get(KEY) is None
    cache.put(KEY, PAYLOAD)
    cache.put("other", b"")
    assert cache.get(KEY) == PAYLOAD
    assert cache.get("other") == b""
    cache.put(KEY, b"newer")
    assert cache.get(KEY) == b"newer"
    assert sorted(os.listdir(folder)) == sorted([cache._name(KEY), cache._name("other")])


def test_reading_creates_nothing(folder):
    assert cache.get(KEY) is None
    assert not folder.exists()


def test_directory_and_entries_are_private_whatever_the_umask(folder):
    before = os.umask(0)
    try:
        cache.put(KEY, PAYLOAD)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry(folder).stat().st_mode) == 0o600


def test_off(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    cache.put(KEY, PAYLOAD)
    assert cache.directory() is None
    assert cache.get(KEY) is None
    cache.clear()


def test_default_directory_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("DALEMBERT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "dalembert"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert tmp_path / "home" in cache.directory().parents


def test_borrowed_rights_turn_it_off(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.directory() is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_directory_others_can_write_is_refused_with_one_warning(folder, mode):
    cache.put(KEY, PAYLOAD)
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="mode 0700"):
        assert cache.get(KEY) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) is None
        cache.put("new", PAYLOAD)
    folder.chmod(0o700)
    assert not entry(folder, "new").exists()
    assert cache.get(KEY) == PAYLOAD


def foreign(monkeypatch, of_kind):
    real = os.fstat

    def fstat(file):
        status = list(real(file))
        if of_kind(status[stat.ST_MODE]):
            status[stat.ST_UID] += 1
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", fstat)


def test_a_foreign_directory_is_refused(folder, monkeypatch):
    cache.put(KEY, PAYLOAD)
    foreign(monkeypatch, stat.S_ISDIR)
    with pytest.warns(RuntimeWarning, match="another user"):
        assert cache.get(KEY) is None
    cache.put("new", PAYLOAD)
    assert not entry(folder, "new").exists()


def test_a_foreign_entry_is_not_read(folder, monkeypatch):
    cache.put(KEY, PAYLOAD)
    foreign(monkeypatch, stat.S_ISREG)
    assert cache.get(KEY) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_others_can_write_is_not_read(folder, mode):
    cache.put(KEY, PAYLOAD)
    entry(folder).chmod(mode)
    assert cache.get(KEY) is None
    cache.put(KEY, PAYLOAD)
    assert cache.get(KEY) == PAYLOAD


def test_a_linked_directory_is_refused(folder, tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o700)
    folder.symlink_to(target)
    with pytest.warns(RuntimeWarning, match="symbolic link"):
        cache.put(KEY, PAYLOAD)
    assert cache.get(KEY) is None
    assert not any(target.iterdir())


def test_a_linked_entry_is_not_followed(folder, tmp_path):
    cache.put(KEY, PAYLOAD)
    moved = entry(folder).rename(tmp_path / "moved")
    content = moved.read_bytes()
    entry(folder).symlink_to(moved)
    assert cache.get(KEY) is None
    cache.put(KEY, b"new")
    assert moved.read_bytes() == content
    assert cache.get(KEY) == b"new"


def test_neither_pipes_nor_folders_block_it(folder):
    folder.mkdir(mode=0o700)
    os.mkfifo(entry(folder), 0o600)
    assert cache.get(KEY) is None
    entry(folder).unlink()
    entry(folder).mkdir()
    assert cache.get(KEY) is None
    cache.put(KEY, PAYLOAD)
    assert cache.get(KEY) is None
    assert os.listdir(folder) == [cache._name(KEY)]


def test_every_flipped_bit_is_noticed(folder):
    cache.put(KEY, PAYLOAD[:64])
    good = entry(folder).read_bytes()
    for byte in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[byte] ^= 1 << bit
            assert cache._decode(KEY, bytes(bad)) is None, (byte, bit)
    for byte in (0, len(cache.MAGIC), cache._HEADER - 1, cache._HEADER, len(good) - 1):
        bad = bytearray(good)
        bad[byte] ^= 1
        entry(folder).write_bytes(bad)
        assert cache.get(KEY) is None
    cache.put(KEY, PAYLOAD)
    assert cache.get(KEY) == PAYLOAD


def test_every_truncation_is_noticed(folder):
    cache.put(KEY, PAYLOAD)
    good = entry(folder).read_bytes()
    assert all(cache._decode(KEY, good[:length]) is None for length in range(len(good)))
    assert cache._decode(KEY, good + b"\0") is None
    for length in (0, 1, cache._HEADER, len(good) // 2, len(good) - 1):
        entry(folder).write_bytes(good[:length])
        assert cache.get(KEY) is None


def test_an_entry_under_another_key_is_rejected(folder):
    cache.put(KEY, PAYLOAD)
    entry(folder, "other").write_bytes(entry(folder).read_bytes())
    entry(folder, "other").chmod(0o600)
    assert cache.get("other") is None


@given(st.text(), st.text(), st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_only_its_own_key_opens_an_entry(key, other, payload):
    stored = cache._encode(key, payload)
    assert cache._decode(key, stored) == payload
    assert other == key or cache._decode(other, stored) is None


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    cache.put(KEY, PAYLOAD)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put("new", PAYLOAD)
    assert os.listdir(folder) == [cache._name(KEY)]


def test_an_unusable_place_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "file" / "cache"))
    cache.put(KEY, PAYLOAD)
    assert cache.get(KEY) is None
    monkeypatch.setenv("DALEMBERT_CACHE", "/proc/dalembert")
    cache.put(KEY, PAYLOAD)
    assert cache.get(KEY) is None


def test_a_file_in_place_of_the_directory_is_said_once(folder):
    folder.write_text("")
    with pytest.warns(RuntimeWarning, match="is no directory"):
        cache.put(KEY, PAYLOAD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) is None


def test_the_least_recently_used_go_first(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", "40000")
    for index, key in enumerate("abc"):
        cache.put(key, bytes(9_000))
        os.utime(entry(folder, key), (0, 1000 + index))
    assert cache.get("a") is not None
    cache.put("d", bytes(9_000))
    cache.put("e", bytes(9_000))
    assert [key for key in "abcde" if cache.get(key)] == ["a", "c", "d", "e"]


def test_of_many_entries_not_all_are_looked_at_for_each_new_one(folder, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", "320000")
    monkeypatch.setattr(cache, "_MANY_ENTRIES", 8)
    scans, look = [], Folder.files
    monkeypatch.setattr(Folder, "files", lambda self: scans.append(self) or look(self))
    for key in range(9):
        cache.put(str(key), bytes(10_000))
    assert len(scans) == 9  # few are, always
    for key in range(9, 11):
        cache.put(str(key), bytes(10_000))
    assert len(scans) == 9  # 230 kB were free, of which this process may take an eighth
    for key in range(11, 100):
        cache.put(str(key), bytes(10_000))
        assert sum(each.stat().st_size for each in folder.iterdir()) <= 320_000
    monkeypatch.setattr(Folder, "files", look)
    assert 20 < sum(cache.get(str(key)) is not None for key in range(100)) < 32
    assert len(scans) < 100


@pytest.fixture
def scans(folder, monkeypatch):
    """How often all entries are looked at, of a cache with many that has just been looked at."""
    monkeypatch.setattr(cache, "_MANY_ENTRIES", 8)
    for key in range(9):
        cache.put(str(key), bytes(100))
    scanned, look = [], Folder.files
    monkeypatch.setattr(Folder, "files", lambda self: scanned.append(self) or look(self))
    return scanned


def test_all_entries_are_looked_at_again_after_some_however_small(scans):
    for key in range(cache._MAX_UNSEEN):
        cache.put(f"small {key}", b"")
    assert len(scans) == 0
    cache.put("one more", b"")
    assert len(scans) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_looks_for_itself(scans):
    """Else each of many children would fill what their parent had found free."""
    child = os.fork()
    if not child:
        try:
            cache.put("of the child", b"")
        finally:
            os._exit(len(scans))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("2G", 2 * 2**30),
        ("1.5 KiB", 1536),
        ("800mb", 800 * 2**20),
        ("7", 7),
        (" ", 2**29),
    ],
)
def test_the_limit_is_set_by_the_environment(monkeypatch, text, expected):
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", text)
    assert cache.limit() == expected


@pytest.mark.parametrize("text", ["-1", "lots", "1e9", "5X", "nan", "2 G B", 400 * "9"])
def test_a_limit_that_is_no_size_is_refused(folder, monkeypatch, text):
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", text)
    with pytest.raises(SettingError, match="DALEMBERT_CACHE_LIMIT must be a size"):
        cache.put(KEY, PAYLOAD)


def test_a_limit_of_zero_keeps_nothing(folder, monkeypatch):
    cache.put(KEY, PAYLOAD)
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", "0")
    cache.put("other", PAYLOAD)
    cache.put("empty", b"")
    assert cache.get("other") is None and cache.get(KEY) is None and not cache.entries()


def test_entries_are_read_without_being_used_and_damage_is_seen(folder):
    for index, key in enumerate("ab"):
        cache.put(key, PAYLOAD)
        os.utime(entry(folder, key), (0, 1000 + index))
    (folder / "notes.txt").write_text("not ours")
    b, a = cache.entries()
    assert (a.used, b.used) == (1000, 1001) and a.intact and b.intact
    assert a.size == entry(folder, "a").stat().st_size
    damaged = bytearray(entry(folder, "a").read_bytes())
    damaged[-1] ^= 1
    entry(folder, "a").write_bytes(damaged)
    assert [one.name for one in cache.entries() if not one.intact] == [cache._name("a")]
    cache.discard([cache._name("a"), "notes.txt", "../x"])
    assert [one.name for one in cache.entries()] == [cache._name("b")]
    assert (folder / "notes.txt").exists()


def test_only_its_own_files_are_ever_removed(folder):
    folder.mkdir(mode=0o700)
    abandoned, recent = (folder / f"dalembert-{c * 32}.tmp" for c in "ab")
    others = [folder / name for name in ("main.o", "notes.tmp", "dalembert.o")]
    for file in (abandoned, recent, *others):
        file.write_text("x")
    os.utime(abandoned, (0, time.time() - 7200))
    cache.put(KEY, PAYLOAD)
    assert not abandoned.exists()
    assert recent.exists()
    cache.clear()
    assert set(folder.iterdir()) == set(others)


def test_threads_never_see_half_an_entry(folder):
    payloads = {bytes([n]) * 50_000 for n in range(4)}
    scanned = set()

    def work(payload):
        for _ in range(30):
            cache.put(KEY, payload)
            scanned.add(cache.get(KEY))

    threads = [threading.Thread(target=work, args=(p,)) for p in payloads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scanned <= payloads
    assert os.listdir(folder) == [cache._name(KEY)]


def test_another_process_reads_it(folder):
    cache.put(KEY, PAYLOAD)
    code = f"from dalembert.kernels.call import cache; print(len(cache.get({KEY!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(len(PAYLOAD))
