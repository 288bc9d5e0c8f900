"""The printed recursion counted by hand, equation by equation, beside the figures in print.

Hollerbach (1980, table I) has 150n − 48 multiplications and 131n − 48 additions for Newton–Euler in
link frames, 852 and 738 for six joints. Here the printed equations are counted in vector operations
on paper, not by our tally, and then by every convention a reader may have had in mind.
"""

import numpy as np
import pytest

from dalembert.report.comparison import PUBLISHED
from dalembert.systems.counting import general_chain, in_given_frames

# (multiplications, additions)
TURN = np.array([9, 6])  # a rotation or an inertia times a vector
CROSS = np.array([6, 3])
SCALE = np.array([3, 0])
SUM = np.array([0, 3])
DOT = np.array([3, 2])
NONE = np.array([0, 0])
KNOWN_Z = np.array([0, 1])  # θ̇ (0, 0, 1) added
FRICTION = np.array([1, 1])
KNOWN_CROSS = np.array([2, 3])  # R ω × θ̇ (0, 0, 1) and θ̈ (0, 0, 1) added

# the recursion as printed for a revolute joint, R f and θ̇ Z formed once
PRINTED = {
    "ω": TURN + SCALE + SUM,
    "ω̇": TURN + CROSS + SCALE + 2 * SUM,
    "v̇": 3 * CROSS + 2 * SUM + TURN,
    "v̇_C": 3 * CROSS + 2 * SUM,
    "F": SCALE,
    "N": 2 * TURN + CROSS + SUM,
    "f": TURN + SUM,
    "n": TURN + 2 * CROSS + 3 * SUM,
    "τ": DOT,
}
# what falls away at a free tip, and where ω_0 = ω̇_0 = 0
TIP = (TURN + SUM) + (TURN + SUM) + (CROSS + SUM)
RATES = (TURN + SUM) + (TURN + SUM) + (CROSS + SUM)
SWING = 3 * CROSS + 2 * SUM


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("formulation", ["craig", "silver"])
def test_the_printed_recursion_costs_what_its_equations_add_up_to(formulation, n):
    """135n − 66 multiplications and 110n − 63 additions, and Silver's derivation the same."""
    by_hand = n * sum(PRINTED.values()) - TIP - RATES - SWING
    assert tuple(by_hand) == (135 * n - 66, 110 * n - 63)
    counted = in_given_frames(general_chain(n), formulation)
    assert (counted.multiplications, counted.additions) == tuple(by_hand)


def test_the_constant_of_the_published_count_is_a_still_base_and_a_free_tip():
    """−48 and −48: four turns and two cross products, each with the sum that takes it in."""
    assert tuple(TIP + RATES) == (48, 48)
    repeated = sum(PRINTED.values()) + SCALE  # θ̇ Z formed for ω and again for ω̇
    assert tuple(6 * repeated - TIP - RATES) == (780, 612)


def test_what_comes_near_the_published_count_and_is_not_it():
    """Linear velocities have its products, sums begun from zero its additions per joint."""
    per_joint = sum(PRINTED.values())
    assert tuple(per_joint + TURN + CROSS + SUM) == (150, 122)
    # R ω, R ω̇, R v̇, I ω̇, I ω, R f, R n: seven products, four of them gone at the two ends
    from_zero = np.array([0, 3])
    assert tuple(per_joint + 7 * from_zero) == (135, 131)
    assert tuple(TIP + RATES + 4 * from_zero) == (48, 60)


# conventions: (per joint, dropped at the base, dropped at the tip)
CONVENTIONS = {
    "ω": [
        (TURN + SCALE + SUM, TURN + SUM, NONE),  # R ω + θ̇ Z
        (TURN + SCALE + SUM, SUM, NONE),  # R (ω + θ̇ z), Luh's frames
        (TURN + KNOWN_Z, TURN + KNOWN_Z, NONE),  # z = (0, 0, 1) known
        (TURN + KNOWN_Z, np.array([6, 7]), NONE),
    ],
    "ω̇": [
        (TURN + CROSS + SCALE + 2 * SUM, TURN + CROSS + 2 * SUM, NONE),
        (TURN + CROSS + 2 * SCALE + 2 * SUM, TURN + CROSS + 2 * SUM, NONE),  # θ̇ Z again
        (TURN + CROSS + 2 * SCALE + 2 * SUM, TURN + CROSS + SCALE + 2 * SUM, NONE),
        (2 * TURN + CROSS + SCALE + 2 * SUM, 2 * TURN + CROSS + 2 * SUM, NONE),  # R ω again
        (2 * TURN + CROSS + 2 * SCALE + 2 * SUM, 2 * TURN + CROSS + SCALE + 2 * SUM, NONE),
        (TURN + CROSS + 2 * SCALE + 2 * SUM, CROSS + SCALE + 2 * SUM, NONE),  # R (…)
        (TURN + KNOWN_CROSS, TURN + KNOWN_CROSS, NONE),  # z = (0, 0, 1) known
        (TURN + KNOWN_CROSS, KNOWN_CROSS, NONE),
    ],
    "v̇": [(PRINTED["v̇"], NONE, NONE), (PRINTED["v̇"], SWING, NONE)],
    "sliding": [
        (NONE, NONE, NONE),
        (3 * SCALE + CROSS + 2 * SUM, NONE, NONE),  # 2 ω × ḋ Z + d̈ Z at every joint
        (3 * SCALE + CROSS + 2 * SUM, 2 * SCALE + CROSS + SUM, NONE),
        (2 * SCALE + np.array([1, 0]) + CROSS + 2 * SUM, NONE, NONE),
    ],
    "v": [
        (NONE, NONE, NONE),
        (TURN + CROSS + SUM, TURN + SUM, NONE),  # linear velocities too
        (TURN + CROSS + SUM, NONE, NONE),
        (TURN + 2 * CROSS + 2 * SUM, TURN + SUM, NONE),  # and those of the centres
    ],
    "weight": [(NONE, NONE, NONE), (TURN + SCALE + SUM, NONE, NONE)],
    "f": [(PRINTED["f"], NONE, TURN + SUM), (PRINTED["f"], NONE, NONE)],
    "n": [
        (PRINTED["n"], NONE, TURN + CROSS + 2 * SUM),
        (PRINTED["n"], NONE, NONE),  # loaded tip
        (PRINTED["n"] + TURN, NONE, 2 * TURN + CROSS + 2 * SUM),  # R f or R p again
        (PRINTED["n"] + TURN, NONE, TURN + CROSS + 2 * SUM),
    ],
    "p + p_C": [(NONE, NONE, NONE), (SUM, NONE, NONE)],
    "τ": [
        (DOT, NONE, NONE),
        (NONE, NONE, NONE),  # Z picks a component
        (DOT + FRICTION, NONE, NONE),  # with friction
        (DOT + TURN, NONE, NONE),  # R z formed
        (2 * DOT + KNOWN_Z, NONE, NONE),  # n·Z and f·Z
    ],
    "R": [(NONE, NONE, NONE), (np.array([4, 0]), NONE, NONE), (np.array([6, 0]), NONE, NONE)],
}


def test_no_listed_convention_gives_the_published_figure():
    """Of the 491,520 sets of these conventions none gives 852/738, nor 150 and 131 per joint.

    If one is found, docs/theory/newton_euler.md has to say so.
    """
    always = PRINTED["v̇_C"] + PRINTED["F"] + PRINTED["N"]
    sets, total = 1, {(*always, 0, 0)}
    for choices in CONVENTIONS.values():
        sets *= len(choices)
        steps = [(*per, *(base + tip)) for per, base, tip in choices]
        total = {tuple(np.add(done, step)) for done in total for step in steps}
    assert sets == 491520
    per_six = {(6 * m - a, 6 * s - b) for m, s, a, b in total}
    assert PUBLISHED["craig"] not in per_six
    assert (150, 131) not in {(m, s) for m, s, _, _ in total}
    # the search does find what can be found: θ̇ Z formed again, terms of the base in v̇ kept
    assert (780, 612) in per_six
