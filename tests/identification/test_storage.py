"""A fit in a file is made again to the last bit, and files of strangers are only refused."""

import io
import json
import pickle
import zipfile
from dataclasses import fields

import numpy as np
import pytest

import dalembert as dl
from tests.identification.logs import CLEAN, other_robot, replace, ugly_log, write_csv


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    prior = dl.load("planar_2r")
    ugly = replace(CLEAN, rate=100.0, duration=6.0)
    log = ugly_log(prior, ugly, other_robot(prior, 1, 0.3)).log
    path = tmp_path_factory.mktemp("fit")
    fit = dl.identify(prior, write_csv(log, path / "log.csv"), total_mass=None)
    return fit, fit.save(path / "fit.npz")


def test_a_stored_fit_is_made_again_to_the_last_bit(stored):
    fit, path = stored
    again = dl.refit(path)
    assert np.array_equal(again.estimate.beta, fit.estimate.beta)
    for model, x in fit.values.items():
        assert np.array_equal(again.values[model], x)
    assert again.settings == fit.settings and again.notes == fit.notes
    assert again.robot.to_urdf() == fit.robot.to_urdf()


def test_records_other_logs_and_shapes_are_stored_too(stored, tmp_path):
    fit, _ = stored
    box = dl.WithinBox([-3, -3, -3], [3, 3, 3])
    options = {"held_out": fit.inputs.logs[0], "shapes": {"link2": box}, "on_inconsistent": "warn"}
    other = dl.identify(fit.prior, list(fit.records), **options)
    again = dl.refit(other.save(tmp_path / "other.npz"))
    assert np.array_equal(again.values["consistent"], other.values["consistent"])


def test_a_log_that_is_changed_after_the_fit_does_not_change_the_fit(stored, tmp_path):
    fit, _ = stored
    log = fit.inputs.logs[0].copy(deep=True)
    other = dl.identify(fit.prior, log, held_out=log)
    log.q.values[:] = log.tau.values[:] = 0.0
    again = dl.refit(other.save(tmp_path / "kept.npz"))
    assert np.array_equal(again.estimate.beta, other.estimate.beta)
    with pytest.raises(ValueError, match="read-only"):
        other.inputs.logs[0].tau.values[0] = 1.0


def test_a_fit_comes_back_from_pickle_and_no_array_of_it_can_be_written(stored):
    fit, _ = stored
    for each in (fit, pickle.loads(pickle.dumps(fit))):
        owners = (each.regressor, each.grouping, each.estimate, each.consistency, each.records[0])
        values = [getattr(one, field.name) for one in owners for field in fields(one)]
        arrays = [x for x in values if isinstance(x, np.ndarray)]
        arrays += [*each.values.values(), each.inputs.logs[0].q.values]
        assert len(arrays) > 15 and not any(x.flags.writeable for x in arrays)
        assert each.errors().equals(fit.errors())


def changed(path, out, **changes):
    """The file with other facts or arrays."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(str(arrays["facts"]))
    facts |= changes.pop("facts", {})
    arrays |= {"facts": np.array(json.dumps(facts)), **changes}
    np.savez(out, **arrays)
    return out


@pytest.mark.parametrize(
    "change, message",
    (
        ({"facts": {"format": "another"}}, "its format is 'another'"),
        ({"facts": {"logs": [{"kind": "dataset"}]}}, "cannot be read as a fit"),
        ({"facts": {"system": {"system": "x"}}}, "does not carry its model"),
        ({"facts": {"given": {"__class__": 1}}}, "cannot be read as a fit"),
        (
            {"facts": {"given": {"shapes": {"link1": {"class": "exec"}}}}},
            "class 'exec' is not known",
        ),
        ({"beta": np.zeros(3)}, "not those of its robot"),
        ({"beta": np.zeros(10)}, "deviations off"),
    ),
)
def test_a_changed_file_is_refused(stored, tmp_path, change, message):
    _, path = stored
    if "beta" in change and len(change["beta"]) == 10:
        change = {"beta": np.zeros_like(stored[0].estimate.beta)}
    with pytest.raises(dl.IdentificationError, match=message):
        dl.refit(changed(path, tmp_path / "changed.npz", **change))


def test_files_that_are_no_fits_are_refused(tmp_path, monkeypatch):
    whole = io.BytesIO()
    np.savez(whole, x=np.array([object()], dtype=object), allow_pickle=True)
    for name, data in (("text", b"hello"), ("empty", b""), ("pickled", whole.getvalue())):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(dl.IdentificationError, match="cannot be read as a fit"):
            dl.refit(tmp_path / name)
    with pytest.raises(dl.IdentificationError, match="there is no file"):
        dl.refit(tmp_path / "nothing.npz")
    with zipfile.ZipFile(tmp_path / "big", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("facts.npy", b"0" * 10_000)
    monkeypatch.setattr("dalembert.identification.storage.MAX_BYTES", 1000)
    with pytest.raises(dl.IdentificationError, match="the limit is"):
        dl.refit(tmp_path / "big")


def test_a_fit_is_written_whole_or_not_at_all(stored, tmp_path):
    fit, _ = stored
    with pytest.raises(dl.SettingError, match=r"must end in \.npz"):
        fit.save(tmp_path / "fit.pkl")
    with pytest.raises(dl.IdentificationError, match="cannot be written"):
        fit.save(tmp_path / "nowhere" / "fit.npz")
    assert not list(tmp_path.iterdir())
