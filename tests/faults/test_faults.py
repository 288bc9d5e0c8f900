"""Steps of the operating system fail one at a time: never a wrong number, never half a file.

``python -m tests.faults.run`` lets every step of every operation fail in every way.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from dalembert.files import atomic_file, atomic_folder
from tests.faults import operations
from tests.faults.run import injected
from tests.faults.shim import failing

# operation: the faults, and every how manieth step has them
SHORT = {
    "cache": (("no space", "no access"), 5),
    "checkpoint": (("input/output", "killed"), 17),
    "export to C": (("no space", "killed"), 1),
    "page": (("no memory", "no access"), 1),
    "log": (("no space", "killed"), 3),
    "sweep": (("no space", "killed"), 83),
    "run as Zarr": (("input/output", "killed"), 23),
    "run as NetCDF": (("no space",), 2),
    "export to CasADi": (("no access", "killed"), 1),
    "identified URDF": (("no space",), 1),
    "animation": (("no space", "no memory"), 3),
    "studio": (("no access", "killed"), 3),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="steps end a child by fork")
@pytest.mark.parametrize("name", SHORT)
def test_a_step_that_fails_leaves_nothing_wrong(name):
    faults, every = SHORT[name]
    outcomes = injected(name, faults, every)
    assert [text for text in outcomes if text.startswith("FAILED")] == []
    assert sum(outcomes.values()) >= 4


def test_the_judge_convicts_half_a_file(monkeypatch):
    def careless(folder: Path) -> bytes:
        with open(folder / "a.txt", "w") as file:
            for _ in range(10_000):  # more than a buffer holds
                file.write("words")
        return b""

    monkeypatch.setitem(operations.OPERATIONS, "careless", careless)
    outcomes = injected("careless", ("no space",), 2500)
    assert any("half there" in text or text.startswith("FAILED OSError") for text in outcomes)


def test_what_was_there_stays_when_the_new_file_cannot_be_written(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    path.chmod(0o640)
    outcomes = Counter()
    for number in range(1, 10):
        path.write_text("before")
        try:
            with (
                failing(tmp_path, number, "no space"),
                atomic_file(path) as part,
                open(part, "w") as file,
            ):
                file.write("after")
        except OSError:
            assert path.read_text() == "before" and os.listdir(tmp_path) == ["a.txt"]
            outcomes["refused"] += 1
    assert outcomes["refused"] >= 4
    assert path.read_text() == "after" and path.stat().st_mode & 0o777 == 0o640


def test_of_two_writers_of_one_path_the_last_one_s_file_stays_whole(tmp_path):
    """Neither do they mix, nor is a file lost that a user keeps under a name like theirs."""
    path, own = tmp_path / "a.txt", tmp_path / "a.txt.part"
    own.write_text("mine")
    with atomic_file(path) as first, atomic_file(path) as second:
        first.write_text("first" * 100)
        second.write_text("second")
    assert path.read_text() == "first" * 100 and own.read_text() == "mine"
    with atomic_file(tmp_path / ("x" * 250)) as part:
        part.write_text("a name of nearly the longest length")
    assert len(os.listdir(tmp_path)) == 3


def test_a_folder_is_whole_or_what_it_was(tmp_path):
    path = tmp_path / "store"
    for text in ("first", "second"):
        with atomic_folder(path) as part:
            part.mkdir()
            (part / text).write_text(text)
        assert os.listdir(path) == [text] and os.listdir(tmp_path) == ["store"]
    with pytest.raises(OSError, match="full"), atomic_folder(path) as part:
        part.mkdir()
        raise OSError("full")
    with pytest.raises(OSError), atomic_folder(tmp_path / "new") as part:
        part.mkdir()
        (tmp_path / "new" / "another's").mkdir(parents=True)
    assert os.listdir(path) == ["second"] and sorted(os.listdir(tmp_path)) == ["new", "store"]


def test_links_stay_links_and_devices_are_written_themselves(tmp_path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with atomic_file(tmp_path / "link.txt") as part:
        part.write_text("after")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "after"
    with atomic_file(Path(os.devnull)) as part:
        assert part == Path(os.devnull)
    assert not Path(os.devnull).is_file()
