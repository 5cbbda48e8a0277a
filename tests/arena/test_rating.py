from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from c4lib.arena.davidson import Pairings, fit
from c4lib.arena.rating import ELO, rate

from .tables import duels

# --- tournaments to rate ------------------------------------------------------------------------------------------


def results_of(lead, draws):
    """Chances (..., 3) of a win, a draw and a loss, as the model has them, of somebody ahead by `lead`."""
    weights = np.stack([np.exp(lead), draws * np.exp(lead / 2), np.ones_like(lead)], axis=-1)
    return weights / weights.sum(axis=-1, keepdims=True)


def tournament(strengths, openings, rng, *, first_move=0.3, draws=0.6, effect=0.0):
    """Everybody against everybody from each opening with either colour.

    Half of the openings are better for the first player by `effect`, half of them worse.
    """
    tables = []
    for a, b in combinations(range(len(strengths)), 2):
        good = effect * rng.choice([-1, 1], openings)
        for first, second in ((a, b), (b, a)):
            chances = results_of(strengths[first] - strengths[second] + first_move + good, draws)
            result = 1 - (rng.random(openings)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
            names = dict(first="abcdefgh"[first], second="abcdefgh"[second])
            tables.append(pd.DataFrame(dict(result=result, opening=np.arange(openings))).assign(**names))
    return pd.concat(tables, ignore_index=True)


def plain_fit(table, players):
    """The likeliest parameters, slow and obvious: strengths less the first player's, first move, log(draws)."""

    def cost(x):
        strength, first_move, log_draws = dict(zip(players, [0.0, *x[:-2]], strict=True)), x[-2], x[-1]
        total = 0.0
        for first, second, result in table[["first", "second", "result"]].itertuples(index=False):
            a, b = strength[first] + first_move, strength[second]
            weights = {1: np.exp(a), 0: np.exp(log_draws + (a + b) / 2), -1: np.exp(b)}
            total -= np.log(weights[result] / sum(weights.values()))
        return total

    found = minimize(cost, np.zeros(len(players) + 1), method="BFGS", options={"gtol": 1e-6})
    return np.append(0.0, found.x)


# --- the estimate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_those_of_a_plain_likelihood(seed):
    table = tournament([0, 0.5, 1.2, 0.3], 6, np.random.default_rng(seed))
    *strengths, first_move, log_draws = plain_fit(table, list("abcd"))
    ratings = rate(table, "a", resamples=1)
    assert ratings.table.loc[list("abcd"), "rating"].to_numpy() == pytest.approx(ELO * np.array(strengths), abs=0.05)
    assert ratings.first_move.value == pytest.approx(ELO * first_move, abs=0.05)
    assert ratings.draws.value == pytest.approx(np.exp(log_draws), abs=1e-3)


def no_draws_no_first_move():
    """Games that nobody drew, each once more with the colours swapped and the same winner."""
    table = tournament([0, 0.5, 1.2, 0.3, 2.0], 15, np.random.default_rng(5), first_move=0, draws=0)
    swapped = table.assign(first=table["second"], second=table["first"], result=-table["result"])
    return pd.concat([table, swapped], ignore_index=True)


def test_without_draws_it_is_the_bradley_terry_model_of_choix():
    choix = pytest.importorskip("choix")
    table = no_draws_no_first_move()
    won = table["result"] == 1
    winners, losers = table["first"].where(won, table["second"]), table["second"].where(won, table["first"])
    theirs = choix.ilsr_pairwise(
        5, [("abcde".index(w), "abcde".index(x)) for w, x in zip(winners, losers, strict=True)]
    )
    ratings = rate(table, "a", resamples=1)
    assert ratings.table["rating"].loc[list("abcde")].to_numpy() == pytest.approx(ELO * (theirs - theirs[0]), abs=0.01)
    assert ratings.draws.value == 0
    assert ratings.first_move.value == pytest.approx(0, abs=1e-6)


def test_without_draws_it_is_the_bradley_terry_model_of_evalica():
    evalica = pytest.importorskip("evalica")
    table = no_draws_no_first_move()
    winners = [evalica.Winner.X if result == 1 else evalica.Winner.Y for result in table["result"]]
    found = evalica.bradley_terry(table["first"], table["second"], winners, tolerance=1e-12, limit=10000)
    theirs = ELO * np.log(found.scores.loc[list("abcde")].to_numpy())
    ratings = rate(table, "a", resamples=1)
    assert ratings.table["rating"].loc[list("abcde")].to_numpy() == pytest.approx(theirs - theirs[0], abs=0.01)


def test_many_tournaments_are_fitted_as_each_one_alone():
    rng = np.random.default_rng(7)
    pairs = np.array(list(permutations(range(4), 2)))
    pairings = Pairings(*pairs.T, 4)
    counts = rng.integers(0, 4, (50, len(pairs), 3)).astype(float)
    together = fit(counts, pairings)
    for i in range(50):
        assert together.against(0)[i] == pytest.approx(fit(counts[i : i + 1], pairings).against(0)[0], abs=1e-6)


def test_large_samples_find_the_truth():
    true = np.array([0, 0.5, 1.0, 2.0])
    first, second = np.array(list(permutations(range(4), 2))).T
    counts = 1000 * results_of(true[first] - true[second] + 0.3, 0.7)
    model = fit(counts[None], Pairings(first, second, 4))
    assert model.against(0)[0] == pytest.approx(true, abs=1e-6)
    assert model.common[0] == pytest.approx([0.3, np.log(0.7)], abs=1e-6)


# --- what must not matter -----------------------------------------------------------------------------------------

RESULTS = st.lists(st.sampled_from([1, 0, -1]), min_size=4, max_size=8).filter(lambda results: len(results) % 2 == 0)
TABLES = st.tuples(RESULTS, RESULTS, RESULTS).map(
    lambda three: duels(("a", "b", three[0]), ("b", "c", three[1]), ("c", "a", three[2]))
)


@given(TABLES, st.randoms(use_true_random=False))
def test_order_of_games_and_names_do_not_matter(table, random):
    before = rate(table, "a", resamples=5).table["rating"].loc[list("abc")].to_numpy()
    order = list(range(len(table)))
    random.shuffle(order)
    shuffled = rate(table.iloc[order], "a", resamples=5)
    assert shuffled.table["rating"].loc[list("abc")].to_numpy() == pytest.approx(before, abs=1e-3, nan_ok=True)
    renamed = table.replace({"first": dict(a="z", b="y", c="x"), "second": dict(a="z", b="y", c="x")})
    after = rate(renamed, "z", resamples=5).table["rating"].loc[list("zyx")].to_numpy()
    assert after == pytest.approx(before, abs=1e-3, nan_ok=True)


@given(TABLES)
def test_another_anchor_moves_all_ratings_alike(table):
    a, b = (rate(table, name, resamples=5).table["rating"].loc[list("abc")].to_numpy() for name in "ab")
    finite = np.isfinite(a) & np.isfinite(b)
    if finite[:2].all():  # a and b can be compared
        assert a[finite] - b[finite] == pytest.approx(np.full(finite.sum(), a[1]), abs=1e-3)


def test_the_order_of_games_does_not_change_the_intervals():
    table = tournament([0, 0.5, 1.2], 8, np.random.default_rng(3))
    before, after = (rate(t, "a", resamples=100).table for t in (table, table.sample(frac=1, random_state=1)))
    pd.testing.assert_frame_equal(before, after, atol=1e-6)


def test_with_the_seats_swapped_moving_first_is_as_bad_as_it_was_good():
    table = tournament([0, 0.5, 1.2], 8, np.random.default_rng(3))
    swapped = table.assign(first=table["second"], second=table["first"], result=-table["result"])
    before, after = (rate(t, "a", resamples=200) for t in (table, swapped))
    pd.testing.assert_frame_equal(before.table, after.table, atol=1e-4)
    value, low, high = before.first_move
    assert value > 0
    assert after.first_move == pytest.approx((-value, -high, -low), abs=1e-4)
    assert after.draws == pytest.approx(before.draws, abs=1e-6)


# --- where there is no finite answer ------------------------------------------------------------------------------

EVEN = [1, -1, 0, 1, 1, -1, 0, -1]
MIXED = [1, -1, 1, 1, 0, -1] * 4


def test_undefeated():
    ratings = rate(duels(("a", "b", [1] * 20), ("b", "c", MIXED), ("a", "c", [1] * 20)), "c")
    assert ratings.table.index[0] == "a"
    row = ratings.table.loc["a"]
    assert (row["rating"], row["high"]) == (np.inf, np.inf)
    assert row["note"] == "at least: never lost a point to b, c"
    assert 500 < row["low"] < 2000
    without = rate(duels(("b", "c", MIXED)), "c")
    assert ratings.table.loc["b", "rating"] == pytest.approx(without.table.loc["b", "rating"], abs=1e-3)
    assert ratings.first_move.value == pytest.approx(without.first_move.value, abs=1e-3)
    assert (ratings.superiority.loc["a", ["b", "c"]] == 1).all()
    assert ratings.expected("a", "b").win == pytest.approx(1)


def test_winless_is_undefeated_upside_down():
    up = rate(duels(("a", "b", [1] * 20), ("b", "c", MIXED), ("a", "c", [1] * 20)), "c").table.loc["a"]
    down = rate(duels(("b", "a", [1] * 20), ("c", "b", MIXED), ("c", "a", [1] * 20)), "c").table.loc["a"]
    assert (down["rating"], down["low"]) == (-np.inf, -np.inf)
    assert down["high"] == pytest.approx(-up["low"], abs=0.1)
    assert down["note"] == "at most: never took a point from b, c"


def test_the_one_sided_bound_of_two_players():
    """All of n games won, without a first move to know: n log(1 + exp(-x)) = 1.353 at the bound."""
    ratings = rate(duels(("a", "b", [1] * 20)), "b")
    known = -ELO * np.log(np.expm1(1.353 / 20))
    assert ratings.table.loc["a", "low"] == pytest.approx(known, abs=0.1)
    assert np.isnan(ratings.first_move.value)  # all that moving first might have done is hidden
    assert ratings.first_move[1:] == (-np.inf, np.inf)
    with pytest.raises(ValueError, match="one opening"):
        rate(duels(("a", "b", [1, 1])), "b")


def test_won_and_drawn_but_never_lost():
    """The likeliest explanation: infinitely stronger, and a draw infinitely likelier than a loss."""
    row = rate(duels(("a", "b", [1, 0, 1, 1, 0, 1, 0, 0, 1, 0])), "b").table.loc["a"]
    assert row["rating"] == np.inf
    assert 0 < row["low"] < 1000
    assert row["note"] == "at least: never lost a game to b"


def test_unconnected():
    ratings = rate(duels(("a", "b", MIXED), ("c", "d", EVEN)), "b")
    assert ratings.table.loc[["c", "d"], "rating"].isna().all()
    assert (ratings.table.loc["c", ["low", "high"]] == [-np.inf, np.inf]).all()
    assert ratings.table.loc["c", "note"] == "not comparable with b"
    assert ratings.superiority.loc["c", "a"] == 0.5
    with pytest.raises(ValueError, match="no telling who is stronger"):
        ratings.expected("a", "c")


def test_two_groups_one_above_the_other():
    ratings = rate(duels(("a", "b", MIXED), ("c", "d", EVEN), ("a", "c", [1] * 10)), "d")
    assert (ratings.table.loc[["a", "b"], "rating"] == np.inf).all()
    assert ratings.table.loc["b", "note"] == "at least: never lost a point to c"
    assert np.isfinite(ratings.table.loc["c", "rating"])
    assert ratings.superiority.loc["a", "b"] > 0.5  # they can be compared with each other
    assert (ratings.superiority.loc[["a", "b"], ["c", "d"]] == 1).all(axis=None)


def test_who_is_nearly_undefeated_has_no_upper_bound():
    row = rate(duels(("a", "b", [1] * 19 + [-1]), ("b", "c", MIXED)), "b").table.loc["a"]
    assert np.isfinite(row["rating"])
    assert np.isfinite(row["low"])
    assert row["high"] == np.inf


def test_first_player_always_wins():
    ratings = rate(duels(("a", "b", [1, -1] * 10)), "b")
    assert ratings.table.loc["a", "rating"] == pytest.approx(0, abs=1e-6)
    assert ratings.first_move.value == np.inf


# --- doubt --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("openings", "effect"),
    [
        (4, 1.0),
        (10, 0.0),
        pytest.param(10, 1.0, marks=pytest.mark.slow),
        pytest.param(40, 0.0, marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(openings, effect):
    strengths = np.array([0, 0.4, 0.8, 1.6])
    first, second = np.array(list(permutations(range(4), 2))).T
    lead = strengths[first] - strengths[second] + 0.3
    mean = (results_of(lead - effect, 0.6) + results_of(lead + effect, 0.6)) / 2  # over the openings
    model = fit(mean[None], Pairings(first, second, 4))
    true = np.append(ELO * model.against(0)[0, 1:], [ELO * model.common[0, 0], np.exp(model.common[0, 1])])
    held = []
    for seed in range(500):
        table = tournament(strengths, openings, np.random.default_rng([openings, seed]), effect=effect)
        found = rate(table, "a", resamples=250, seed=seed)
        rows = found.table.loc[list("bcd")]
        low = np.append(rows["low"], [found.first_move.low, found.draws.low])
        high = np.append(rows["high"], [found.first_move.high, found.draws.high])
        held.append((low <= true) & (true <= high))
    assert (np.mean(held, axis=0) > 0.92).all()
    assert (np.mean(held, axis=0) < 0.98).all()


def test_pairs_of_games_are_drawn_again_together():
    """With one point from each opening for either side, the 40 games leave less doubt than 40 of any kind."""
    rng = np.random.default_rng(2)
    balanced = duels(("a", "b", [1, -1] * 8 + [-1, 1] * 8 + [1, 1, 1, 1, -1, -1, -1, -1]))
    mixed = duels(("a", "b", rng.permutation([1, -1] * 20)))
    widths = [np.ptp(rate(table, "b").table.loc["a", ["low", "high"]].to_numpy()) for table in (balanced, mixed)]
    assert widths[0] < 0.8 * widths[1]


def test_agents_with_one_opening_have_an_interval_too():
    table = tournament([0, 0.2, 0.4, 0.1, 0.3], 1, np.random.default_rng(4))
    ratings = rate(table, "a")
    assert (ratings.table["high"] - ratings.table["low"]).drop("a").min() > 100


def test_same_seed_same_intervals():
    table = tournament([0, 0.5, 1.2], 8, np.random.default_rng(3))
    one, same, other = (rate(table, "a", resamples=50, seed=seed).table for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one["low"].equals(other["low"])


def test_the_table():
    table = tournament([0, 0.5, 1.5], 10, np.random.default_rng(3))
    ratings = rate(table, "a")
    assert list(ratings.table.columns) == ["games", "points", "rating", "low", "high", "note"]
    assert ratings.table["rating"].is_monotonic_decreasing
    assert (ratings.table["games"] == 40).all()
    assert ratings.table["points"].mean() == pytest.approx(0.5)
    rows = ratings.table.drop("a")
    assert ((rows["low"] < rows["rating"]) & (rows["rating"] < rows["high"])).all()
    assert tuple(ratings.table.loc["a", ["rating", "low", "high", "note"]]) == (0, 0, 0, "anchor")
    assert (ratings.superiority + ratings.superiority.T == 1).all(axis=None)
    assert ratings.superiority.loc["c", "a"] > 0.99


def test_expected_results():
    ratings = rate(tournament([0, 0.5, 1.5], 200, np.random.default_rng(3)), "a", resamples=1)
    lead = (ratings.table.loc["c", "rating"] + ratings.first_move.value) / ELO
    assert ratings.expected("c", "a") == pytest.approx(results_of(np.float64(lead), ratings.draws.value))
    assert ratings.expected("c", "a") == pytest.approx(results_of(np.float64(1.8), 0.6), abs=0.05)
    with pytest.raises(ValueError, match="'x' has no rating; these have: a, b, c"):
        ratings.expected("x", "a")


# --- bad input ----------------------------------------------------------------------------------------------------

GOOD = duels(("a", "b", EVEN))


@pytest.mark.parametrize(
    ("table", "anchor", "message"),
    [
        (GOOD, "x", "'x' did not play; these did: a, b"),
        (GOOD.drop(columns="opening"), "a", "opening missing"),
        (GOOD.iloc[:0], "a", "no games"),
        (GOOD.assign(result=0.5), "a", "1, 0 or -1"),
        (GOOD.assign(result=np.nan), "a", "values are missing in result"),
        (GOOD.assign(second=GOOD["first"]), "a", "'a' plays against itself"),
        (GOOD[GOOD["first"] == "a"], "a", "colours were never swapped"),
        (GOOD[GOOD["opening"] == "opening 0"], "a", "one opening is not enough"),
    ],
)
def test_bad_tables_are_refused(table, anchor, message):
    with pytest.raises(ValueError, match=message):
        rate(table, anchor)


def test_no_resamples_are_refused():
    with pytest.raises(ValueError, match="resamples must be 1 or more"):
        rate(GOOD, "a", resamples=0)
