import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from c4lib.arena.rating import rate
from c4lib.arena.sprt import SCORES, Sprt, count_pairs, elo, elo_of, log_likelihood, share_of

COUNTS = st.lists(st.integers(0, 30), min_size=5, max_size=5).filter(any)


def chances_with(share, weights):
    """A distribution of pair scores like `weights`, tilted until its mean is that share."""
    low, high = -20.0, 20.0
    for _ in range(100):
        tilt = (low + high) / 2
        chances = np.array(weights) * np.exp(tilt * SCORES)
        chances /= chances.sum()
        low, high = (tilt, high) if chances @ SCORES < share else (low, tilt)
    return chances


# --- the likelihood -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "share"),
    [
        ([3, 10, 40, 12, 5], 0.55),
        ([3, 10, 40, 12, 5], 0.3),
        ([0, 0, 20, 0, 0], 0.6),
        ([0, 0, 0, 0, 9], 0.5),
        ([0, 4, 0, 0, 0], 0.9),
        ([0, 2, 5, 9, 0], 0.1),
    ],
)
def test_likelihood_is_that_of_a_plain_search(pairs, share):
    """The twin searches all distributions of five scores with that mean."""
    pairs = np.array(pairs)
    found = minimize(
        lambda chances: -(pairs[pairs > 0] * np.log(chances[pairs > 0])).sum(),
        chances_with(share, np.ones(5)),
        bounds=[(1e-12, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda chances: chances.sum() - 1},
            {"type": "eq", "fun": lambda chances: chances @ SCORES - share},
        ],
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert log_likelihood(pairs, share) == pytest.approx(-found.fun, abs=1e-4)


@given(COUNTS, st.floats(0.05, 0.95))
def test_no_mean_is_likelier_than_the_one_seen(pairs, share):
    pairs = np.array(pairs, float)
    seen = pairs[pairs > 0] / pairs.sum()
    assert log_likelihood(pairs, share) <= (pairs[pairs > 0] * np.log(seen)).sum() + 1e-9


@pytest.mark.parametrize("pairs", [[100, 200, 500, 250, 120], [400, 0, 500, 0, 450], [20, 200, 900, 190, 15]])
def test_many_pairs_are_nearly_normal(pairs):
    pairs = np.array(pairs)
    mean = pairs @ SCORES / pairs.sum()
    variance = pairs @ (SCORES - mean) ** 2 / pairs.sum()
    low, high = share_of(0), share_of(10)
    normal = pairs.sum() * (high - low) * (2 * mean - low - high) / (2 * variance)
    assert Sprt(0, 10).llr(pairs) == pytest.approx(normal, rel=0.02)


@given(COUNTS)
def test_more_points_never_speak_against_the_new_agent(pairs):
    test = Sprt(-10, 30)
    more = np.eye(5, dtype=int) + pairs  # one pair of each score
    assert (np.diff(test.llr(more)) > -1e-9).all()


@given(COUNTS)
def test_with_sides_and_hypotheses_swapped_the_ratio_is_turned_round(pairs):
    assert Sprt(-30, 10).llr(pairs[::-1]) == pytest.approx(-Sprt(-10, 30).llr(pairs), abs=1e-8)


def test_many_counts_at_once():
    pairs = np.random.default_rng(0).integers(0, 9, (4, 3, 5))
    ratios = Sprt(0, 20).llr(pairs)
    assert ratios.shape == (4, 3)
    assert ratios[2, 1] == pytest.approx(Sprt(0, 20).llr(pairs[2, 1]))


# --- the decision -------------------------------------------------------------------------------------------------


def test_bounds():
    low, high = Sprt(0, 10, alpha=0.05, beta=0.1).bounds
    assert (low, high) == pytest.approx((np.log(0.1 / 0.95), np.log(0.9 / 0.05)))


def test_decisions():
    test = Sprt(0, 50)
    assert test.decision([0, 0, 0, 0, 0]) is None
    assert test.decision([5, 10, 30, 12, 6]) is None
    assert test.decision([0, 10, 100, 60, 20]) == "better"
    assert test.decision([20, 60, 100, 10, 0]) == "not better"
    assert test.decision([50, 100, 300, 100, 50]) == "not better"  # equal, and no doubt about it


def test_pairs_that_are_all_alike():
    """No variance yet; the sum over n pairs is n times what one pair says."""
    test = Sprt(0, 50)
    won = test.llr([0, 0, 0, 0, 10])
    assert won == pytest.approx(10 * np.log(share_of(50) / share_of(0)))
    assert test.decision([0, 0, 0, 0, 5]) is None  # five pairs won are few
    assert test.decision([0, 0, 0, 0, 50]) == "better"
    assert test.llr([0, 0, 10, 0, 0]) < 0
    assert Sprt(-20, 20).llr([0, 0, 10, 0, 0]) == pytest.approx(0, abs=1e-9)


def runs(test, true_elo, weights, rng, *, count=500, longest=400):
    """Shares of matches that end with "better" and with "not better"."""
    chances = chances_with(share_of(true_elo), weights)
    llr = test.llr(rng.multinomial(1, chances, size=(count, longest)).cumsum(axis=1))
    low, high = test.bounds
    over = (llr <= low) | (llr >= high)
    ended = over.any(axis=1)
    at_end = llr[np.arange(count), over.argmax(axis=1)]
    return np.mean(ended & (at_end >= high)), np.mean(ended & (at_end <= low))


@pytest.mark.parametrize("weights", [[1, 2, 6, 2, 1], [1, 0, 1, 0, 1]])
def test_errors_are_as_rare_as_asked_for(weights):
    test = Sprt(0, 80)
    rng = np.random.default_rng(3)
    wrong, right = runs(test, 0, weights, rng)
    assert 0.01 < wrong < 0.07
    assert right > 0.9
    right, wrong = runs(test, 80, weights, rng)
    assert 0.01 < wrong < 0.08
    assert right > 0.9
    better, _ = runs(test, 160, weights, rng)
    assert better > 0.99


# --- the estimate -------------------------------------------------------------------------------------------------


def test_elo_scale():
    assert share_of(400) == pytest.approx(10 / 11)
    assert elo_of(0.5) == 0
    assert (elo_of(1), elo_of(0)) == (np.inf, -np.inf)


@given(st.floats(-800, 800))
def test_elo_there_and_back(difference):
    assert elo_of(share_of(difference)) == pytest.approx(difference, abs=1e-6)


def test_estimate():
    value, low, high = elo([10, 20, 50, 25, 12])
    assert value == pytest.approx(elo_of(np.array([10, 20, 50, 25, 12]) @ SCORES / 117))
    assert low < value < high
    assert elo([12, 25, 50, 20, 10]) == pytest.approx((-value, -high, -low))
    wide, narrow = (np.subtract(*elo(scale * np.array([10, 20, 50, 25, 12]))[:0:-1]) for scale in (1, 4))
    assert wide / narrow == pytest.approx(2, rel=0.02)


def test_estimates_where_all_pairs_are_alike():
    value, low, high = elo([0, 0, 0, 0, 10])
    assert (value, high) == (np.inf, np.inf)
    assert low == pytest.approx(elo_of(np.exp(-1.921 / 10)), abs=1e-3)  # at share s all were won with s ** 10
    value, low, high = elo([0, 0, 10, 0, 0])
    assert value == 0
    assert low == pytest.approx(-high)
    assert high > 20


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    chances = chances_with(share_of(60), [1, 2, 6, 2, 1])
    intervals = [elo(rng.multinomial(60, chances)) for _ in range(300)]
    assert 0.92 < np.mean([low <= 60 <= high for _, low, high in intervals]) < 0.98


# --- from games ---------------------------------------------------------------------------------------------------


def games(results):
    """Pairs of games of new against old: results for the new agent as first, then as second player."""
    rows = [("new", "old", a, f"o{i}") for i, (a, _) in enumerate(results)]
    rows += [("old", "new", -b, f"o{i}") for i, (_, b) in enumerate(results)]
    return pd.DataFrame(rows, columns=["first", "second", "result", "opening"])


def test_pairs_are_counted_from_games():
    table = games([(1, 1), (1, -1), (0, 0), (0, 1), (-1, 0), (-1, -1), (-1, -1)])
    assert count_pairs(table, "new").tolist() == [2, 1, 2, 1, 1]
    assert count_pairs(table, "old").tolist() == [1, 1, 2, 1, 2]
    assert count_pairs(table.sample(frac=1, random_state=0), "new").tolist() == [2, 1, 2, 1, 1]
    assert rate(table, "old", resamples=10).table.loc["new", "rating"] < 0


@pytest.mark.parametrize(
    ("table", "new", "message"),
    [
        (games([(1, 1), (1, 0)]), "newer", "all games must be of 'newer'"),
        (games([(1, 1), (1, 0)]).iloc[:-1], "new", "'o1' was not played once with either colour"),
        (games([(1, 1), (1, 0)]).drop(columns="opening"), "new", "opening missing"),
        (games([(1, 1), (1, 0)]).replace({"opening": {"o1": "o0"}}), "new", "'o0' was not played once"),
    ],
)
def test_other_games_are_refused(table, new, message):
    with pytest.raises(ValueError, match=message):
        count_pairs(table, new)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((10, 10), "elo0 must be below elo1"), ((0, 10, 0), "above 0 and below 1/2"), ((0, 10, 0.05, 0.6), "above 0")],
)
def test_bad_hypotheses_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        Sprt(*numbers)


@pytest.mark.parametrize("pairs", [[1, 2, 3], [1, 2, 3, -1, 0], 7])
def test_bad_counts_are_refused(pairs):
    with pytest.raises(ValueError, match="five counts"):
        Sprt(0, 10).llr(pairs)
    with pytest.raises(ValueError, match="no pairs"):
        elo([0, 0, 0, 0, 0])
