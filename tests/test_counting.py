"""Operation counts: exact growth, Silver's claim, and the published figures' ratios."""

import pytest

import dalembert as dl
from dalembert.report.comparison import PUBLISHED, polynomial_text
from dalembert.systems.counting import as_written, general_chain
from dalembert.zoo import names

ARMS = (
    "scara",
    "stanford",
    "puma560",
    "rx90",
    "ur5",
    "panda",
    "iiwa14",
    "elbow_3r",
    "planar_2r",
    "rp",
)
RECURSIVE = (
    "newton_euler",
    "craig",
    "silver",
    "screw",
    "hollerbach_3x3",
    "hollerbach_4x4",
    "newton_euler_base",
    "newton_euler_mixed",
    "hamilton",
)


def total(count) -> int:
    return count.multiplications + count.additions


@pytest.mark.parametrize("formulation", RECURSIVE)
def test_recursive_formulations_grow_linearly(formulation):
    assert dl.count_growth(formulation).degree == 1


def test_gibbs_appell_grows_with_the_second_power():
    """Every body projects its inertia force on every joint that carries it."""
    assert dl.count_growth("gibbs_appell").degree == 2


def test_uicker_kahn_grows_with_the_fourth_power():
    growth = dl.count_growth("uicker_kahn", n=range(3, 11))
    assert growth.degree == 4
    assert growth.exponent(10, 40) >= 3.8


def test_silver_and_the_printed_newton_euler_do_the_same_arithmetic():
    """Two derivations that share no line: equal counts are Silver's claim, not our reuse."""
    chain = general_chain(6)
    written = [as_written(chain, "inverse_dynamics", f) for f in ("silver", "craig")]
    assert written[0] == written[1]
    assert set(ARMS) <= set(names())
    for name in ARMS:
        robot = dl.load(name)
        ours = [robot.operation_count("inverse_dynamics", f) for f in ("silver", "craig")]
        assert ours[0] == ours[1], name


def test_history_of_savings():
    """Link frames cost less than base coordinates, an accelerated base less than weights."""
    chain = general_chain(6)
    base, mixed, link, printed = (
        total(as_written(chain, "inverse_dynamics", f))
        for f in ("newton_euler_base", "newton_euler_mixed", "newton_euler", "craig")
    )
    assert base > mixed > max(link, printed)
    for name, less in (("newton_euler", link), ("craig", printed)):
        weights = total(as_written(chain, "inverse_dynamics", name, gravity="potential"))
        assert weights > less


def test_ratios_between_the_formulations():
    """001 §1.4: about 15, 5, 2 and 2½ between Uicker/Kahn, 4×4, 3×3 and Newton–Euler at n = 6."""
    chain = dl.Robot(general_chain(6))
    uicker, four, three, newton = (
        total(chain.operation_count("inverse_dynamics", name, as_written=True))
        for name in PUBLISHED
    )
    assert 12 < uicker / four < 18
    assert 4 < four / newton < 6
    assert 1.5 < four / three < 2.5
    assert 2 < three / newton < 3.5


@pytest.mark.parametrize("name", ["rx90", "puma560"])
def test_customised_inverse_dynamics_is_short(name):
    """A chain of that geometry with general link inertias: at most 300 products and 285 sums."""
    robot = dl.load("rx90") if name == "rx90" else general_inertias("puma560")
    count = robot.operation_count("inverse_dynamics")
    assert count.multiplications <= 300
    assert count.additions <= 285


def general_inertias(name: str) -> dl.Robot:
    """The robot with full inertias and no drives."""
    from dataclasses import replace

    import numpy as np

    from dalembert.spatial import from_silver_tensor

    model = dl.load(name).model
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    tensor = root @ root.T + np.eye(3)
    bodies = [
        replace(b, mass=1.0 + i, moment=rng.normal(size=3), inertia=from_silver_tensor(tensor))
        for i, b in enumerate(model.bodies)
    ]
    still = replace(model.drive, **{name: np.zeros(model.nv) for name in vars(model.drive)})
    return dl.Robot(replace(model, bodies=tuple(bodies), drive=still))


def test_polynomials_are_printed_as_people_write_them():
    assert polynomial_text((-48, 150)) == "150 n − 48"
    assert polynomial_text((0, -2, 1)) == "1 n² − 2 n"
    assert polynomial_text((3, -2)) == "−2 n + 3"


def test_too_few_points_say_so():
    with pytest.raises(dl.DalembertError, match="give more values of n"):
        dl.count_growth("uicker_kahn", n=(3, 4, 5))
