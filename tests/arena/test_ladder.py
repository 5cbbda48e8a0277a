import numpy as np
import pandas as pd
import pytest
from openskill.models import BradleyTerryPart

from c4lib.arena.ladder import BETA, MU, RANKS, SIGMA, observed_chances, order_over_time, settled, simulate, spread
from c4lib.arena.rating import ELO


def chances_of(elo, draws=0.4):
    """Of each against each, from ratings in Elo."""
    table = {}
    for one, a in elo.items():
        for other, b in elo.items():
            weights = np.exp([(a - b) / ELO, (a - b) / ELO / 2 + np.log(draws), 0])
            if one != other:
                table[one, other] = tuple(weights / weights.sum())
    return table


APART = chances_of(dict(a=0, b=300, c=600, d=900))
EQUAL = chances_of(dict(a=0, b=0, c=0, d=0))
ONLY_DRAWS = {("a", "b"): (0, 1, 0), ("b", "a"): (0, 1, 0)}


def updated(first, second, result):
    """mu and sigma of two after an episode, from theirs before it."""
    model = BradleyTerryPart(mu=MU, sigma=SIGMA, beta=BETA, tau=0)
    teams = [[model.rating(mu=mu, sigma=sigma)] for mu, sigma in (first, second)]
    return [(rating.mu, rating.sigma) for (rating,) in model.rate(teams, ranks=RANKS[result])]


# --- one episode, as the rules say --------------------------------------------------------------------------------


def test_a_win_moves_the_winner_up_and_the_loser_down():
    (winner, _), (loser, _) = updated((700, 100), (600, 100), 1)
    assert winner > 700
    assert loser < 600
    assert updated((600, 100), (700, 100), -1) == [(loser, _), (winner, _)]


def test_the_less_a_result_was_expected_the_further_it_moves():
    gains = [updated((mu, 100), (600, 100), 1)[0][0] - mu for mu in (300, 600, 900)]
    assert gains[0] > gains[1] > gains[2] > 0


def test_the_less_is_known_the_further_a_result_moves():
    (sure, _), (unsure, _) = updated((600, 50), (600, 200), -1)
    assert 0 < 600 - sure < unsure - 600


def test_a_draw_moves_both_closer_together_but_not_past_each_other():
    for sigmas in ((200, 200), (50, 200), (200, 50)):
        (low, _), (high, _) = updated((500, sigmas[0]), (800, sigmas[1]), 0)
        assert 500 < low < high < 800
    (low, _), (high, _) = updated((600, 200), (600, 100), 0)
    assert low == high == pytest.approx(600)


@pytest.mark.parametrize("result", [1, 0, -1])
def test_sigma_shrinks_by_what_was_learned(result):
    for (_, sigma), before in zip(updated((600, 200), (600, 100), result), (200, 100), strict=True):
        assert 0 < sigma < before
    unsurprising = updated((1600, 200), (600, 200), 1)[0][1]
    assert updated((600, 200), (600, 200), result)[0][1] < unsurprising < 200


# --- the ladder ---------------------------------------------------------------------------------------------------


def test_the_history():
    history = simulate(APART, 50, seed=1)
    assert list(history.columns) == ["episode", "agent", "mu", "sigma", "status"]
    start = history[history["episode"] == 0]
    assert start["agent"].tolist() == list("abcd")
    assert (start["mu"] == 600).all()
    assert (history.groupby("episode").size().loc[1:] == 2).all()
    assert (history.groupby("agent")["sigma"].diff().dropna() < 0).all()


def test_the_right_order_is_found():
    history = simulate(APART, 400, seed=1)
    assert history.groupby("agent")["mu"].last().sort_values().index.tolist() == list("abcd")
    assert 0 < settled(history, list("dcba")) < 150
    assert settled(history, list("dcba"), tau=0.5) <= settled(history, list("dcba"))
    assert np.isnan(settled(history, list("abcd")))


def test_order_over_time():
    rows = [(0, "a", 600), (0, "b", 600), (0, "c", 600), (1, "a", 650), (1, "b", 550), (2, "b", 700), (2, "c", 500)]
    history = pd.DataFrame(rows, columns=["episode", "agent", "mu"]).assign(status="active", sigma=100.0)
    over_time = order_over_time(history, ["a", "b", "c"])
    assert over_time["tau"].tolist() == pytest.approx([0, 1 / 3, 1 / 3])
    assert over_time["per_agent"].tolist() == pytest.approx([0, 2 / 3, 4 / 3])
    assert order_over_time(history, ["b", "a", "c"])["tau"].tolist() == pytest.approx([0, -1 / 3, 1])
    assert settled(history, ["b", "a", "c"]) == pytest.approx(4 / 3)


def test_luck_moves_the_ratings_of_equals():
    found = spread(EQUAL, 200, 30, seed=2)
    assert np.ptp(found["mean"]) < 60
    assert (found["std"] > 20).all()
    assert ((found["min"] < 600) & (found["max"] > 600)).all()


def test_who_moves_first_is_drawn():
    """The first always wins, so only a coin keeps the two alike."""
    first_wins = {("a", "b"): (1, 0, 0), ("b", "a"): (1, 0, 0)}
    mu = simulate(first_wins, 300, seed=0).groupby("agent")["mu"].last()
    assert abs(mu["a"] - mu["b"]) < 150


def test_draws_keep_equals_where_they_are():
    history = simulate(ONLY_DRAWS, 50)
    assert history["mu"].to_numpy() == pytest.approx(600)
    assert history["sigma"].iloc[-1] < 150


def test_similar_agents_meet_more_often():
    history = simulate(APART, 600, seed=4)
    late = history[history["episode"] > 100]
    pairs = late.groupby("episode")["agent"].apply(lambda two: "".join(sorted(two))).value_counts()
    assert pairs["ab"] > 10 * pairs.get("ad", 0)


def test_who_fails_validation_stays_out():
    history = simulate(APART, 60, failing=["c"], seed=1)
    rows = history[history["agent"] == "c"]
    assert len(rows) == 1
    assert rows.iloc[0][["episode", "status"]].tolist() == [0, "error"]
    assert np.isnan(rows.iloc[0]["mu"])
    assert order_over_time(history, list("dba"))["tau"].iloc[-1] == 1


def test_same_seed_same_ladder():
    one, same, other = (simulate(APART, 40, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)
    pd.testing.assert_frame_equal(spread(APART, 20, 3, seed=1), spread(APART, 20, 3, seed=1))


def test_observed_chances():
    rows = [("a", "b", 1), ("a", "b", 1), ("a", "b", 0), ("a", "b", -1), ("b", "a", -1)]
    chances = observed_chances(pd.DataFrame(rows, columns=["first", "second", "result"]))
    assert chances == {("a", "b"): (0.5, 0.25, 0.25), ("b", "a"): (0, 0, 1)}
    assert simulate(chances, 30).groupby("agent")["mu"].last().idxmax() == "a"


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chances", "options", "message"),
    [
        ({("a", "b"): (1, 0, 0)}, {}, "b against a needs chances"),
        ({("a", "b"): (1, 0, 0), ("b", "a"): (0.5, 0.2, 0.2)}, {}, "add up to 1"),
        ({("a", "b"): (1, 0, 0), ("b", "a"): (1.5, -0.5, 0)}, {}, "add up to 1"),
        ({("a", "b"): (1, 0, 0), ("b", "a"): (1, 0)}, {}, "add up to 1"),
        (APART, {"failing": ["x"]}, "no chances are given for x, only for a, b, c, d"),
        (APART, {"failing": ["a", "b", "c"]}, "needs two agents that do not fail, not 1"),
        ({}, {}, "needs two agents"),
    ],
)
def test_bad_ladders_are_refused(chances, options, message):
    with pytest.raises(ValueError, match=message):
        simulate(chances, 10, **options)


def test_orders_of_others_are_refused():
    with pytest.raises(ValueError, match="must be of the agents a, b, c, d"):
        settled(simulate(APART, 5), ["a", "b", "c"])


def test_one_run_has_no_spread():
    with pytest.raises(ValueError, match="two runs or more"):
        spread(APART, 5, 1)
