"""Arrays of dask and xarray: lazy, chunk by chunk, named, and NumPy's bits."""

import subprocess
import sys

import numpy as np
import pytest
import xarray

import dalembert as dl
from dalembert.errors import ConstraintError, ShapeError
from dalembert.zoo.symbolic_models import symbolic_model

ROBOT = dl.load("planar_2r")
STATES = ROBOT.random_state(np.random.default_rng(0), 20)
JOINTS = ["link1_joint", "link2_joint"]


def chunked(x, size=6):
    dask = pytest.importorskip("dask.array")
    return dask.from_array(x, chunks=(size, *x.shape[1:]))


def labelled(x, along="joint", labels=JOINTS):
    return xarray.DataArray(
        x, dims=("time", along), coords={"time": 0.1 * np.arange(len(x)), along: labels}
    )


def same(result, expected):
    return np.array_equal(np.asarray(result), expected, equal_nan=True)


# xarray


def test_names_and_coordinates_are_kept_and_results_are_named():
    tau = ROBOT.inverse_dynamics(*map(labelled, STATES))
    assert same(tau, ROBOT.inverse_dynamics(*STATES))
    assert (tau.name, tau.dims, tau.attrs["units"]) == ("tau", ("time", "joint"), "N m")
    assert tau.joint.values.tolist() == JOINTS and tau.time.values[1] == 0.1
    M = ROBOT.mass_matrix(labelled(STATES[0]))
    assert M.dims == ("time", "joint", "joint_2") and M.joint_2.values.tolist() == JOINTS
    assert same(M, ROBOT.mass_matrix(STATES[0]))


def test_a_batch_is_matched_by_name_and_joints_by_theirs():
    q, qd, qdd = map(labelled, STATES)
    expected = ROBOT.inverse_dynamics(*STATES)
    assert same(ROBOT.inverse_dynamics(q.T, qd.isel(joint=[1, 0]), qdd), expected)
    assert same(ROBOT.inverse_dynamics(q, STATES[1], STATES[2]), expected)
    pairs = ROBOT.bias(q, qd.rename(time="start").isel(start=slice(3)))
    assert pairs.dims == ("time", "start", "joint")
    assert same(pairs, ROBOT.bias(STATES[0][:, None], STATES[1][None, :3]))


def test_a_name_of_ones_own_for_the_joints_stays():
    q, qd = (labelled(x, "axis", [1, 2]) for x in STATES[:2])
    assert ROBOT.bias(q, qd).dims == ("time", "axis")


def test_joints_are_found_by_the_names_of_their_entries_wherever_they_lie():
    q, qd = (x[:2] for x in STATES[:2])  # as many states as joints: shapes tell nothing
    turned = [labelled(x, "axis").T for x in (q, qd)]
    assert same(ROBOT.bias(*turned).transpose("time", "axis"), ROBOT.bias(q, qd))
    beside = xarray.DataArray(q[:, ::-1], dims=("time", "j"), coords={"name": ("j", JOINTS[::-1])})
    assert same(ROBOT.bias(beside, qd), ROBOT.bias(q, qd))


@pytest.mark.parametrize(
    "names", [["shoulder", "elbow"], ["link2_joint", "elbow"], ["link2_joint", "link2_joint"]]
)
def test_joints_of_another_robot_are_refused(names):
    with pytest.raises(ShapeError, match=r"planar_2r.bias: q names the entries of 'joint' .*link1"):
        ROBOT.bias(labelled(STATES[0], labels=names), STATES[1])


def test_parameters_of_another_robot_are_refused():
    arm = symbolic_model("planar_2r")
    q, qd, qdd = arm.random_state(np.random.default_rng(0))
    names = list(arm.named_parameters)
    values = xarray.DataArray(
        np.linspace(1.0, 2.0, len(names)), dims="parameter", coords={"parameter": names}
    )
    expected = arm.inverse_dynamics(q, qd, qdd, parameters=values.values)
    assert same(arm.inverse_dynamics(q, qd, qdd, parameters=values[::-1]), expected)
    other = values.assign_coords(parameter=[f"his {name}" for name in names])
    with pytest.raises(ShapeError, match="parameters names the entries of 'parameter'"):
        arm.inverse_dynamics(q, qd, qdd, parameters=other)


def test_coordinates_may_have_the_names_of_velocities():
    chain = dl.load("cartesian_pendulum")
    assert chain.dynamics.coordinates != chain.dynamics.velocities
    q, qd, _ = chain.random_state(np.random.default_rng(0), 4)
    for names in (chain.dynamics.velocities, chain.dynamics.coordinates):
        arguments = [labelled(x, labels=list(names))[:, ::-1] for x in (q, qd)]
        assert same(chain.kinetic_energy(*arguments), chain.kinetic_energy(q, qd))


def test_every_kind_of_result_of_labelled_arrays():
    closed = dl.load("four_bar")
    q, qd, qdd = closed.random_state(np.random.default_rng(0), 4)
    names = list(closed.dynamics.velocities)
    arguments = [labelled(x, labels=names) for x in (q, qd, qdd)]
    result = closed.forward_dynamics(*arguments)
    assert [x.dims for x in result] == [("time", "joint"), ("time", "row")]
    assert result[1].row.values.tolist() == list(closed.dynamics.row_names)
    for mine, plain in zip(result, closed.forward_dynamics(q, qd, qdd), strict=True):
        assert same(mine, plain)
    energy = ROBOT.kinetic_energy(*map(labelled, STATES[:2]))
    assert energy.dims == ("time",) and same(energy, ROBOT.kinetic_energy(*STATES[:2]))
    square = dl.compile_function(lambda x: x @ x, {"x": 2})
    assert square(labelled(STATES[0])).dims == ("time",)


def test_parameters_by_name_are_a_batch_of_their_own():
    arm = symbolic_model("planar_2r")
    q, qd, qdd = arm.random_state(np.random.default_rng(0), 5)
    masses = np.linspace(0.5, 2.0, 3)
    name = next(iter(arm.named_parameters))
    loads = xarray.DataArray(masses, dims="heavy", coords={"heavy": masses})
    names = list(arm.dynamics.velocities)
    arguments = [labelled(x, labels=names) for x in (q, qd, qdd)]
    result = arm.inverse_dynamics(*arguments, parameters={name: loads})
    plain = [x[:, None] for x in (q, qd, qdd)]
    expected = arm.inverse_dynamics(*plain, parameters={name: masses})
    assert result.dims == ("time", "heavy", "joint") and same(result, expected)
    assert same(expected[:, 1], arm.inverse_dynamics(q, qd, qdd, parameters={name: masses[1]}))


def test_wrong_arrays_are_named():
    q, qd, _ = map(labelled, STATES)
    with pytest.raises(ShapeError, match=r"planar_2r.bias: qd has shape \(20, 1\), expected"):
        ROBOT.bias(q, qd.isel(joint=[0]))
    with pytest.raises(ShapeError, match=r"qd of shape \(3, 2\) .* give it as an xarray.DataArray"):
        ROBOT.bias(q, np.zeros((3, 2)))
    with pytest.raises(ShapeError, match="out= is for NumPy's arrays"):
        ROBOT.bias(q, qd, out=np.zeros((20, 2)))


def test_single_precision_stays_beside_parameters_that_are_plain_numbers():
    arm = symbolic_model("planar_2r")
    single = [x.astype(np.float32) for x in arm.random_state(np.random.default_rng(0), 5)]
    assert arm.inverse_dynamics(*single).dtype == np.float32
    names = list(arm.dynamics.velocities)
    named = [labelled(x, labels=names) for x in single]
    assert arm.inverse_dynamics(*named).dtype == np.float32


def test_dask_is_not_imported_before_its_arrays_come():
    text = "import sys, dalembert as dl; dl.load('pendulum').bias([0.1], [0.2]); "
    text += "sys.exit(any(m in sys.modules for m in ('dask', 'xarray', 'distributed')))"
    assert subprocess.run([sys.executable, "-c", text]).returncode == 0


# dask


def test_dask_arrays_are_computed_lazily_chunk_by_chunk(monkeypatch):
    q, _, qdd = map(chunked, STATES)
    dynamics = []
    real = dl.Robot._on_chunk
    monkeypatch.setattr(
        dl.Robot,
        "_on_chunk",
        lambda self, v, x, p: (dynamics.append(len(x[0])), real(self, v, x, p))[1],
    )
    tau = ROBOT.inverse_dynamics(q, STATES[1], qdd)
    assert (tau.shape, tau.chunks[0], dynamics) == ((20, 2), (6, 6, 6, 2), [])
    assert same(tau.compute(scheduler="sync"), ROBOT.inverse_dynamics(*STATES))
    assert sorted(dynamics) == [2, 6, 6, 6]


def test_dask_arrays_keep_precision_and_give_several_results():
    single = [x.astype(np.float32) for x in STATES]
    tau = ROBOT.inverse_dynamics(*map(chunked, single))
    assert tau.dtype == tau.compute().dtype == np.float32
    assert same(tau, ROBOT.inverse_dynamics(*single))
    assert same(ROBOT.mass_matrix(chunked(STATES[0])), ROBOT.mass_matrix(STATES[0]))
    derivative = ROBOT.jvp("bias", tuple(map(chunked, STATES[:2])), tuple(map(chunked, STATES[1:])))
    assert same(derivative, ROBOT.jvp("bias", STATES[:2], STATES[1:]))
    mixed = labelled(STATES[0]).chunk({"time": 5})
    result = ROBOT.bias(mixed, STATES[1])
    assert result.dims == ("time", "joint") and result.chunks[0] == (5, 5, 5, 5)
    assert same(result, ROBOT.bias(*STATES[:2]))


def test_plain_numbers_beside_single_precision_are_doubles_as_for_numpy():
    single, plain = STATES[0].astype(np.float32), STATES[1].tolist()
    result, expected = ROBOT.bias(chunked(single), plain), ROBOT.bias(single, plain)
    assert result.dtype == expected.dtype == np.float64 and same(result, expected)


def test_chunks_across_joints_and_no_states_at_all():
    dask = pytest.importorskip("dask.array")
    q, qd = (dask.from_array(x, chunks=(7, 1)) for x in STATES[:2])
    assert same(ROBOT.bias(q, qd), ROBOT.bias(*STATES[:2]))
    assert ROBOT.bias(q[:0], qd[:0]).compute().shape == (0, 2)


def test_dask_arrays_of_closed_chains_are_refused_or_flagged_in_their_chunk():
    closed = dl.load("four_bar")
    q, qd, qdd = closed.random_state(np.random.default_rng(0), 8)
    lazy = [chunked(x, 3) for x in (q, qd, qdd)]
    for how in ("multiplier", "gauge"):
        result = closed.forward_dynamics(*lazy, formulation=how)
        for mine, plain in zip(
            result, closed.forward_dynamics(q, qd, qdd, formulation=how), strict=True
        ):
            assert same(mine, plain)
    bad = q.copy()
    bad[5] = 1.0
    flagged = closed.forward_dynamics(chunked(bad, 3), *lazy[1:], errors="flag")
    plain = closed.forward_dynamics(bad, qd, qdd, errors="flag")
    assert flagged.status.dtype == np.int8 and all(map(same, flagged, plain))
    torn = closed.inverse_dynamics(*lazy, actuators=[closed.dynamics.velocities[0]])
    plain = closed.inverse_dynamics(q, qd, qdd, actuators=[closed.dynamics.velocities[0]])
    assert all(map(same, torn, plain))
    stuck = dl.load("pendulum_constrained")
    zero = chunked(np.zeros((4, 2)), 2)
    with pytest.raises(ConstraintError, match="singular posture"):
        stuck.forward_dynamics(zero, zero + 1.0, zero)[0].compute()


def test_dask_parameters_are_lazy_too():
    arm = symbolic_model("planar_2r")
    q, qd, qdd = arm.random_state(np.random.default_rng(0), 6)
    name, masses = next(iter(arm.named_parameters)), np.linspace(0.5, 2.0, 6)
    result = arm.inverse_dynamics(q, qd, qdd, parameters={name: chunked(masses, 2)})
    assert result.chunks[0] == (2, 2, 2)
    assert same(result, arm.inverse_dynamics(q, qd, qdd, parameters={name: masses}))


def test_a_wrong_dask_array_is_named_before_anything_is_computed():
    with pytest.raises(ShapeError, match=r"q has shape \(20, 3\), expected \(\.\.\., 2\)"):
        ROBOT.bias(chunked(np.zeros((20, 3))), STATES[1])
