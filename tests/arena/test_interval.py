import numpy as np
import pytest

from c4lib.arena.interval import wilson_interval


def test_known_values():
    """Values of the formula worked out by hand: 40 of 40, none of 40, and a half of 100."""
    assert wilson_interval(40, 40) == pytest.approx((0.91237, 1.0), abs=1e-4)
    assert wilson_interval(0, 40) == pytest.approx((0.0, 0.08763), abs=1e-4)
    assert wilson_interval(50, 100) == pytest.approx((0.40383, 0.59617), abs=1e-4)


@pytest.mark.parametrize("true_share", [0.5, 0.9])
def test_it_holds_the_truth_as_often_as_it_says(true_share):
    wins = np.random.default_rng(1).binomial(50, true_share, 4000)
    held = [low <= true_share <= high for low, high in (wilson_interval(int(w), 50) for w in wins)]
    assert 0.92 < np.mean(held) < 0.98


@pytest.mark.parametrize(("points", "games"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_numbers_are_refused(points, games):
    with pytest.raises(ValueError, match="points must be"):
        wilson_interval(points, games)
