"""Stores of sweeps whose files change, are lost or exchanged: never other numbers, never fewer."""

import asyncio
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SimulationError
from dalembert.sweeps.checksums import ChecksumManifest
from dalembert.sweeps.store import open_study
from tests.sweeps.studies import REDUCE, arm, same, settings

zarr = pytest.importorskip("zarr")
from dalembert.sweeps.checked_store import CheckedStore  # noqa: E402 (it imports zarr)

OVER = {"load": [0.0, 1.0, 2.0], "friction": [0.1, 0.5]}


def study(store=None):
    return dl.sweep(arm(), OVER, settings(), REDUCE, store, chunk=2, progress=False)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """(a store of three chunks, what it holds)."""
    path = tmp_path_factory.mktemp("sweep") / "s.zarr"
    return path, study(path).load()


@pytest.fixture
def store(original, tmp_path):
    return shutil.copytree(original[0], tmp_path / "s.zarr")


def changed(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_changed_bytes_of_a_chunk_are_an_error_that_names_it(store):
    changed(store / "peak_torque" / "1.0")
    for dataset in (study(store), open_study(store)):
        message = (
            r"s\.zarr': peak_torque/1\.0 \(chunk 1\) has changed .* delete status/chunk-00000001"
        )
        with pytest.raises(SimulationError, match=message):
            dataset.peak_torque.load()
        assert dataset.status.values.tolist() == [0] * 6


def test_a_file_that_cannot_be_read_is_named(store):
    (store / "peak_torque" / "1.0").unlink()
    (store / "peak_torque" / "1.0").symlink_to("1.0")  # a link that leads to itself
    with pytest.raises(SimulationError, match=r"peak_torque/1\.0 cannot be read: .*symbolic links"):
        open_study(store).peak_torque.load()


def test_what_an_error_says_to_delete_is_computed_again(store, original):
    changed(store / "peak_torque" / "1.0")
    (store / "status" / "chunk-00000001.json").unlink()
    assert same(study(store), original[1])


def test_chunks_that_change_places_are_an_error(store):
    one, other = (store / "status" / f"chunk-0000000{k}.json" for k in (0, 1))
    first, second = store / "peak_torque" / "0.0", store / "peak_torque" / "1.0"
    for a, b in ((one, other), (first, second)):
        a.write_bytes(b.read_bytes())
    assert open_study(store).status.values.tolist() == [-1, -1, 0, 0, 0, 0]  # no list of chunk 0
    one.unlink()
    shutil.copy(second, first)
    assert np.isfinite(study(store).peak_torque.values).all()


@pytest.mark.parametrize("harm", [lambda p: p.unlink(), lambda p: p.write_bytes(b"")])
def test_a_chunk_that_is_lost_or_cut_short_is_computed_again_and_never_read_as_a_fill(
    store, original, harm
):
    harm(store / "peak_torque" / "2.0")
    with pytest.raises(SimulationError, match=r"peak_torque/2\.0 \(chunk 2\)"):
        open_study(store).peak_torque.load()
    assert same(study(store), original[1])


@pytest.mark.parametrize("name", ["peak_torque/.zarray", ".zattrs", "load/0", "status/files.json"])
@pytest.mark.parametrize("lost", [False, True])
def test_labels_sizes_and_units_are_what_they_were(store, name, lost):
    (store / name).unlink() if lost else changed(store / name)
    for read in (study, open_study):
        with pytest.raises(SimulationError, match=r"s\.zarr'"):
            read(store)


def test_a_variable_that_is_lost_as_a_whole_is_missed(store):
    shutil.rmtree(store / "peak_torque")
    with pytest.raises(SimulationError, match=r"peak_torque/\.zarray is lost"):
        open_study(store)


def test_a_chunk_without_its_list_is_not_done_whatever_lies_there(store, original):
    (store / "status" / "chunk-00000000.json").write_text("{}")
    dataset = open_study(store)
    assert dataset.status.values.tolist() == [-1, -1, 0, 0, 0, 0]
    assert np.isnan(dataset.peak_torque.values[:2]).all()
    assert same(study(store), original[1])


def test_stores_of_older_versions_are_read_and_not_gone_on_with(store, original):
    """They have a mask of the chunks that are done, and no lists."""
    for path in (store / "status").glob("*.json"):
        path.unlink()
    group = zarr.open_group(store, mode="r+")
    done = group.create_array("chunk_done", shape=(3,), dtype="|b1", fill_value=False)
    done.attrs["_ARRAY_DIMENSIONS"] = ["chunk"]
    done[:] = True
    (store / "status" / "reasons-00000001.json").write_text('{"3": "it was refused"}')
    dataset = open_study(store)
    assert dataset.reason.values.tolist() == ["it was refused"]
    assert same(
        dataset.drop_vars(("failed_run", "reason")), original[1].drop_vars(("failed_run", "reason"))
    )
    message = (
        r"s\.zarr': an older version made it, without checksums; it is read by xarray\.open_zarr"
    )
    with pytest.raises(SimulationError, match=message):
        study(store)


def test_a_study_that_is_no_table_is_no_store(store):
    (store / ".zattrs").write_text('{"study": "[]", "order": "[]"}')
    with pytest.raises(SimulationError, match="is no store of a sweep"):
        study(store)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_place_of_a_chunk_is_an_error_and_nobody_waits_for_it(store, monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", refused)  # opened, it would wait for a writer
    (store / "peak_torque" / "1.0").unlink()
    os.mkfifo(store / "peak_torque" / "1.0")
    checked = CheckedStore(store, manifest=ChecksumManifest(store, ""))
    # in a thread of its own: this one may have a loop that runs, of a browser's
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(SimulationError, match=r"peak_torque/1\.0 is no file"),
    ):
        pool.submit(lambda: asyncio.run(checked.get("peak_torque/1.0"))).result()


def refused(path):
    raise AssertionError(f"{path} is read")


def test_folders_above_a_store_are_made(tmp_path, original):
    assert same(study(tmp_path / "no" / "such" / "s.zarr"), original[1])


def test_a_store_that_cannot_be_made_is_not_said_to_hold_anything(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SimulationError, match=r"cannot be written: .*; nothing is kept yet"):
        study(tmp_path / "file" / "s.zarr")


def test_what_another_process_writes_now_is_left_to_it_and_old_parts_are_removed(store, original):
    (store / "status" / "chunk-00000001.json").unlink()
    parts = [store / "peak_torque" / f"1.{x}.partial" for x in ("old", "live")]
    for part in parts:
        part.write_bytes(b"")
    os.utime(parts[0], (0.0, 0.0))
    assert same(study(store), original[1])
    assert [part.exists() for part in parts] == [False, True]


def test_a_list_counts_with_its_own_seal_only(tmp_path):
    """One that was changed, exchanged with another, or is of another study counts as not there."""
    (tmp_path / "status").mkdir()
    for k in (0, 1):
        ChecksumManifest(tmp_path, "study").write(
            f"chunk-0000000{k}", {f"a/{k}": [1, "digest"]}, {k: "why"}
        )
    first, second = (tmp_path / "status" / f"chunk-0000000{k}.json" for k in (0, 1))
    assert ChecksumManifest(tmp_path, "study").read(first.stem)["reasons"] == {"0": "why"}
    assert ChecksumManifest(tmp_path, "another").read(first.stem) is None
    text = first.read_text()
    for other in (text.replace("why", "who"), text.replace("[1,", "[2,"), second.read_text()):
        assert other != text
        first.write_text(other)
        assert ChecksumManifest(tmp_path, "study").read(first.stem) is None
