"""The hash of sources by which compiled code is kept: always that of the files, mostly not read."""

import os
import time

import pytest

from dalembert.errors import CompileError
from dalembert.kernels.call import cache_key

TEXT = "LENGTH = 1.0\n"


class Package:
    """A package of two files, imported by a process that starts now."""

    def __init__(self, folder, monkeypatch) -> None:
        self.monkeypatch, self.name = monkeypatch, "traced_package"
        self.folder = folder / self.name
        (self.folder / "inner").mkdir(parents=True)
        (self.folder / "__init__.py").write_text("")
        self.file = self.folder / "inner" / "arm.py"
        self.file.write_text(TEXT)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("DALEMBERT_CACHE", str(folder / "cache"))

    def process(self, reads: bool = True) -> str:
        """The digest in a process that imports the package now, and leaves what it has read."""
        now = time.time_ns() + 10**9  # after the last change
        with self.monkeypatch.context() as patch:
            patch.setattr(cache_key, "IMPORTED_NS", now)
            if not reads:
                patch.setattr(cache_key, "_hash", lambda *_: pytest.fail("the sources are read"))
            cache_key._stored_digests.cache_clear()
            try:
                digest = cache_key.source_digest.__wrapped__(self.name)
                cache_key.store_digests()
            finally:
                cache_key._stored_digests.cache_clear()
        return digest

    def write(self, text: str) -> None:
        """Another text, with the time stamps of the one before."""
        before = self.file.stat()
        while self.file.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock has moved
            self.file.write_text(text)
            os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_key, "_new", {})
    return Package(tmp_path, monkeypatch)


def test_files_that_nobody_touched_are_not_read_again(package):
    digest = package.process()
    assert package.process(reads=False) == digest
    assert package.process(reads=False) == digest


def test_a_file_of_the_same_length_and_time_is_another_file(package):
    first = package.process()
    package.write(TEXT.replace("1", "2"))
    second = package.process()
    assert second != first
    assert package.process(reads=False) == second
    package.write(TEXT)
    assert package.process() == first  # by content: what was compiled then is found again


@pytest.mark.parametrize("change", ["added", "removed", "renamed"])
def test_files_that_come_and_go_are_noticed(package, change):
    first = package.process()
    if change == "added":
        (package.folder / "more.py").write_text("")
    elif change == "removed":
        package.file.unlink()
    else:
        package.file.rename(package.folder / "inner" / "leg.py")
    assert package.process() != first


def test_what_was_touched_after_the_import_is_neither_found_nor_remembered(package):
    first = package.process()
    cache_key._stored_digests.cache_clear()
    package.monkeypatch.setattr(cache_key, "IMPORTED_NS", package.file.stat().st_ctime_ns)
    words = {cache_key.source_digest.__wrapped__(package.name) for _ in range(2)}
    assert len(words) == 2 and first not in words
    assert cache_key._new == {}


def test_what_changes_while_it_is_read_is_neither_found_nor_remembered(package):
    real = cache_key._hash

    def meanwhile(files, folders):
        package.write(TEXT.replace("1", "3"))
        return real(files, folders)

    package.monkeypatch.setattr(cache_key, "_hash", meanwhile)
    assert package.process().startswith("changed ")
    assert cache_key._new == {}


def test_an_entry_that_is_something_else_is_read_over(package):
    first = package.process()
    cache_key.cache.put(cache_key._DIGESTS_KEY, b"\xff of no use\nwhatever")
    assert package.process() == first
    assert package.process(reads=False) == first


def test_whole_seconds_say_too_little(package):
    """As on a mounted image, where every version has the same stamps."""
    real = cache_key._files

    def coarse(name):
        return [(path, 10**9, length, 7) for path, _, length, _ in real(name)]

    package.monkeypatch.setattr(cache_key, "_files", coarse)
    first = package.process()
    package.write(TEXT.replace("1", "2"))
    assert package.process() != first


def test_what_is_no_package_is_an_error():
    with pytest.raises(CompileError, match=r"dalembert\.nowhere is not an installed package"):
        cache_key.source_digest("dalembert.nowhere")
