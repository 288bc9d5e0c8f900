"""Live pages of closed chains, of systems given by energies, and of mechanisms."""

import dalembert as dl
from dalembert.kernels.wasm.module import description
from dalembert.report import live
from dalembert.systems.wasm import wasm_within

SLOPES = "forward_dynamics_derivatives"


def test_parts_that_do_not_fit_are_left_out_and_said(monkeypatch):
    """The more important ones stay, also behind one that is too large; its data go with it."""
    monkeypatch.setattr(live, "PARTS", ())
    robot = live.loaded(dl.load("planar_2r"))
    whole = len(live.fitted(robot)[0])
    parts = (
        lambda system: live.Part({"slopes": {"quantity": SLOPES}}, {"slopes": 1}, "slopes"),
        lambda system: live.Part(
            {"weight": {"quantity": "gravity_torque"}}, {"weight": 2}, "weight"
        ),
        lambda system: live.Part(data={"words": 3}),
    )
    monkeypatch.setattr(live, "PARTS", parts)
    monkeypatch.setattr(live, "MOST_BYTES", whole + 700)
    made, why = live.live_of(robot, robot.neutral())
    assert "slopes" not in made and made["weight"] == 2 and made["words"] == 3
    assert why == "Its page has no slopes: the kernels are too large."


def test_a_function_that_two_groups_name_is_there_once():
    groups = [{"bias": {}}, {"bias": {}, "mass_matrix": {}}]
    module, kept = wasm_within(dl.load("pendulum"), groups, most=10**6)
    assert kept == [True, True] and list(description(module)["functions"]) == [
        "bias",
        "mass_matrix",
    ]
