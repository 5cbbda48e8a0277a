"""Self-play: records that are true, and games that depend on the seed alone."""

import numpy as np
import pytest

from c4lib.alphazero.config import Config
from c4lib.alphazero.selfplay import Samples, SelfPlayWorker, play_side_by_side

from .players import EVERY_GAME, scrambled, solver


@pytest.fixture(params=EVERY_GAME.values(), ids=EVERY_GAME.keys())
def game(request):
    return request.param


def play(game, n_games=8, seed=5, first=0, **options):
    options = {"num_simulations": 12, "fast_simulations": 4, "temperature_threshold": 4, **options}
    return SelfPlayWorker(game, scrambled(game), Config(game=game.name, **options)).play(n_games, seed, first=first)


def same(one, other):
    return one.moves == other.moves and all(map(np.array_equal, one.samples, other.samples))


def test_records_tell_what_was_played(game):
    played = play(game)
    row = 0
    for moves, result in zip(played.moves, played.results, strict=True):
        state = game.initial_state()
        for action in moves:
            assert game.terminal_value(state) is None
            own, opp = (int(array.view(np.uint64)[row]) for array in played.samples[:2])
            assert game.boards(state) == (own, opp)
            assert played.samples.outcome[row] == result * game.current_player(state)
            policy = played.samples.policy[row]
            assert policy.sum() == pytest.approx(1, abs=1e-6)
            assert not policy[~game.legal_actions_mask(state)].any()
            assert policy[action] > 0
            state = game.apply(state, action)
            row += 1
        assert game.terminal_value(state) * game.current_player(state) == result
    assert row == len(played.samples.own) == played.lengths.sum() == played.statistics["positions"]
    assert (np.abs(played.samples.root_value) <= 1).all()
    assert played.simulations == 12 * row
    shares = [played.statistics[key] for key in ("first_wins", "draws", "second_wins")]
    assert sum(shares) == pytest.approx(1)


def test_the_seed_decides_the_games(game):
    assert same(play(game), play(game))
    assert not same(play(game), play(game, seed=6))


def test_the_batch_does_not_decide_the_games(game):
    together = play(game, parallel_games=8)
    for options in ({"parallel_games": 1}, {"parallel_games": 3}, {"cache_positions": 0}):
        assert same(play(game, **options), together)
    parts = [play(game, 3), play(game, 5, first=3)]
    assert parts[0].moves + parts[1].moves == together.moves
    joined = Samples.concatenate([part.samples for part in parts])
    assert all(map(np.array_equal, joined, together.samples))


def test_workers_side_by_side_play_what_one_does(game):
    config = Config(game=game.name, num_simulations=12, fast_simulations=4, temperature_threshold=4)
    alone = play(game, 7)
    for number in (1, 2, 3, 9):
        workers = [SelfPlayWorker(game, scrambled(game), config) for _ in range(number)]
        together = play_side_by_side(workers, 7, seed=5)
        assert same(together, alone)
        assert np.array_equal(together.results, alone.results)
        assert together.simulations == alone.simulations
        assert together.statistics.keys() == alone.statistics.keys()
    parts = [play_side_by_side(workers, count, seed=5, first=first) for first, count in ((0, 2), (2, 5))]
    assert parts[0].moves + parts[1].moves == alone.moves


def test_fast_searches_teach_nothing(game):
    played = play(game, 20, full_search_probability=0.3)
    assert 0 < len(played.samples.own) < played.lengths.sum()
    fast = played.lengths.sum() - len(played.samples.own)
    assert played.simulations == 12 * len(played.samples.own) + 4 * fast


def replayed(game, moves):
    """The states of a game, the first and the last included."""
    states = [game.initial_state()]
    for action in moves:
        assert game.terminal_value(states[-1]) is None
        states.append(game.apply(states[-1], action))
    return states


def test_random_moves_at_the_beginning_teach_nothing(game):
    plain, opened = play(game, 40), play(game, 40, random_opening_share=0.5, random_opening_plies=3)
    recorded = set(zip(*(array.tolist() for array in opened.samples[:2]), strict=True))
    begin = [replayed(game, moves) for moves in opened.moves]
    skipped = sum(len(states) - 1 for states in begin) - len(opened.samples.own)
    assert 20 < skipped <= 40 * 3
    assert game.boards(begin[0][0]) in recorded, "half of the games begin at the beginning"
    firsts = [{moves[0] for moves in played.moves} for played in (plain, opened)]
    assert len(firsts[1]) >= len(firsts[0])
    assert opened.simulations == 12 * len(opened.samples.own)
    assert same(opened, play(game, 40, random_opening_share=0.5, random_opening_plies=3, parallel_games=3))


@pytest.mark.parametrize("name", ["tictactoe", "row"])
def test_a_game_may_end_where_its_result_is_proven(name):
    game = EVERY_GAME[name]
    value = solver(game)
    played = play(game, 40, adjudicate=True, num_simulations=20)
    early = 0
    for moves, result in zip(played.moves, played.results, strict=True):
        last = replayed(game, moves)[-1]
        early += game.terminal_value(last) is None
        assert value(*game.boards(last)) * game.current_player(last) == result
    assert early > 20
    assert len(played.samples.own) == played.lengths.sum() + early, "the last position is recorded, no move is played"


@pytest.mark.parametrize("options", [{}, {"adjudicate": True}, {"random_opening_share": 0.5}])
def test_outcomes_may_be_mixed_with_what_the_search_thought_later(game, options):
    """Against the definition, from the last ply back; with every search recorded nothing else is needed."""
    usual, mixed = (play(game, 12, outcome_decay=decay, **options) for decay in (1.0, 0.7))
    assert usual.moves == mixed.moves
    assert (usual.samples.root_value == mixed.samples.root_value).all()
    rows = {}  # by game and ply
    row = len(usual.samples.own)
    for number, moves in reversed([*enumerate(usual.moves)]):
        for ply in reversed(range(len(moves) + 1)):
            state = replayed(game, moves[:ply])[-1]
            if row and game.boards(state) == tuple(int(array.view(np.uint64)[row - 1]) for array in usual.samples[:2]):
                row -= 1
                rows[number, ply] = row
    assert row == 0
    for (number, ply), row in rows.items():
        later = rows.get((number, ply + 1))
        after = usual.samples.outcome[row] if later is None else -mixed.samples.outcome[later]
        wanted = 0.7 * after + 0.3 * usual.samples.root_value[row]
        assert mixed.samples.outcome[row] == pytest.approx(wanted, abs=1e-6)


def test_after_the_threshold_the_best_is_played(game):
    played = play(game, temperature_threshold=0, proofs=False)
    row = 0
    for moves in played.moves:
        for action in moves:
            policy = played.samples.policy[row]
            assert policy[action] == policy.max()
            row += 1


def test_gumbel_games(game):
    options = {"gumbel_actions": 4, "num_simulations": 8}
    played = play(game, **options)
    assert same(played, play(game, parallel_games=2, **options))
    assert len({tuple(moves) for moves in played.moves}) > 1
