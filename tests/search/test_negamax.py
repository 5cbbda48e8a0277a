import time
from dataclasses import replace

import numpy as np
import pytest

from c4lib.games.connect4 import STANDARD, Connect4, Geometry, has_line, mirror
from c4lib.search.ablation import ladder, leave_one_out, measure
from c4lib.search.evaluation import DECIDED, WIN
from c4lib.search.negamax import NODES, Engine, SearchOptions

from . import plain
from .positions import random_boards, random_states

GAME = Connect4()


def scores(options, positions, depth, geometry=STANDARD):
    return [result.score for result in measure(options, positions, depth, geometry)]


@pytest.mark.parametrize("size", [(7, 6, 4), (4, 5, 3), (5, 4, 4), (8, 6, 5), (9, 8, 4)], ids=str)
def test_full_stack_equals_plain_minimax(size):
    """Against a minimax on arrays that shares nothing but the terms of the evaluation (themselves tested)."""
    game = Connect4(*size)
    for depth, count in ((1, 12), (2, 8), (3, 3)):
        states = random_states(game, count, seed=depth)
        expected = [plain.minimax(game, state, depth, plain.evaluate) for state in states]
        options = SearchOptions(depth_exact=True, table_bits=12)
        assert scores(options, [game.boards(state) for state in states], depth, game.geometry) == expected


@pytest.mark.parametrize("depth", [3, 6])
def test_every_combination_of_the_ablation_has_the_same_score(depth):
    positions = random_boards(GAME, 300, seed=depth)
    combinations = ladder(table_bits=14) | leave_one_out(table_bits=14)
    expected = scores(SearchOptions.none(depth_exact=True, table_bits=14), positions, depth)
    for label, options in combinations.items():
        assert scores(options, positions, depth) == expected, label


def test_deep_scores_agree_too():
    """Depth 10: the full stack, and every switch off that is not needed to end today."""
    positions = random_boards(GAME, 12, seed=10)
    expected = scores(SearchOptions.none(alpha_beta=True, centre=True, depth_exact=True), positions, 10)
    for label, options in leave_one_out(table_bits=16).items():
        assert scores(options, positions, 10) == expected, label


def test_a_kept_table_does_not_change_scores():
    """One engine through positions and depths in turn, its table never cleared and far too small."""
    options = SearchOptions(depth_exact=True, table_bits=8)
    kept = Engine(STANDARD, options)
    for own, opp in random_boards(GAME, 40, seed=11):
        for depth in (4, 6, 5):
            fresh = Engine(STANDARD, replace(options, table_bits=14))
            assert kept.search(own, opp, depth=depth).score == fresh.search(own, opp, depth=depth).score


# Nodes that the full stack visits at depth 9 on a fixed bench. A change of behaviour changes them: look twice, then
# measure with `make bench` before new values are written here.
SIGNATURE_POSITIONS = random_boards(GAME, 12, seed=2026, most=16)
SIGNATURE = [6221, 2637, 9909, 13949, 13931, 13646, 425, 13651, 8974, 1, 11669, 12395]


def test_node_count_signature():
    results = list(measure(SearchOptions(), SIGNATURE_POSITIONS, 9))
    assert [result.nodes for result in results] == SIGNATURE


@pytest.mark.parametrize("size", [(7, 6, 4), (5, 4, 3)], ids=str)
def test_interpreted_is_the_same_search(size):
    game = Connect4(*size)
    options = SearchOptions(table_bits=12)
    compiled, interpreted = (Engine(game.geometry, options, compiled=flag) for flag in (True, False))
    for own, opp in random_boards(game, 12, seed=12):
        one, two = (engine.search(own, opp, depth=5) for engine in (compiled, interpreted))
        assert (one.move, one.score, one.nodes, one.principal_variation) == (
            two.move,
            two.score,
            two.nodes,
            two.principal_variation,
        )
        assert (one.table_hits, one.cutoffs, one.first_cutoffs) == (two.table_hits, two.cutoffs, two.first_cutoffs)


def test_boards_beyond_64_bits():
    game = Connect4(10, 10, 5)
    engine = Engine(game.geometry)
    assert not engine.compiled
    for state in random_states(game, 4, seed=13):
        expected = plain.minimax(game, state, 2, plain.evaluate)
        assert engine.search(*game.boards(state), depth=2).score == expected


@pytest.mark.parametrize("size", [(4, 4, 4), (4, 4, 3), (5, 3, 3), (3, 5, 3), (4, 3, 3)], ids=str)
def test_solves_small_boards(size):
    """Deep enough, the search is exact, and the score of a win tells its length: against exhaustive search."""
    game = Connect4(*size)
    values = {}

    def solve(state):
        name = state.tobytes()
        if name not in values:
            ended = game.terminal_value(state)
            if ended is not None:
                values[name] = 0 if ended == 0 else int((state != 0).sum()) - WIN
            else:
                columns = np.flatnonzero(game.legal_actions_mask(state))
                values[name] = max(-solve(game.apply(state, int(column))) for column in columns)
        return values[name]

    result = Engine(game.geometry, SearchOptions(table_bits=16)).search(0, 0, depth=20)
    assert result.score == solve(game.initial_state())


def test_a_mirror_image_has_the_same_score_and_moves():
    """Also where both share one table; a move is right if what it leads to is worth the score."""
    options = SearchOptions(depth_exact=True, table_bits=14)
    for size in ((7, 6, 4), (5, 4, 3), (8, 6, 4)):
        game = Connect4(*size)
        columns, rows, _ = size
        engine = Engine(game.geometry, options)
        for own, opp in random_boards(game, 20, seed=14, most=8):
            one = engine.search(own, opp, depth=7)
            two = engine.search(mirror(own, columns, rows), mirror(opp, columns, rows), depth=7)
            assert one.score == two.score
            after = game.boards(game.apply(game.state(own, opp), columns - 1 - two.move))
            if abs(one.score) < DECIDED:
                assert -Engine(game.geometry, options).search(*after, depth=6).score == one.score


def test_principal_variation_is_playable_and_ends_at_its_score():
    """With a table that forgets nothing, the line leads to a position worth the score that was promised."""
    for state in random_states(GAME, 60, seed=15):
        result = Engine(STANDARD, SearchOptions(depth_exact=True, table_bits=20)).search(*GAME.boards(state), depth=6)
        assert result.principal_variation[0] == result.move
        assert len(result.principal_variation) <= 6
        mover = GAME.current_player(state)
        for column in result.principal_variation:
            assert GAME.terminal_value(state) is None
            state = GAME.apply(state, column)
        sign = 1 if GAME.current_player(state) == mover else -1
        if (ended := GAME.terminal_value(state)) is not None:
            expected = 0 if ended == 0 else int((state != 0).sum()) - WIN
        elif len(result.principal_variation) < 6:
            assert abs(result.score) > DECIDED or result.depth < 6  # a loss seen without being played out
            continue
        else:
            expected = plain.evaluate(STANDARD, plain.grid(STANDARD, *GAME.boards(state)))
        assert sign * expected == result.score


def test_takes_wins_and_blocks():
    three = 1 << 14 | 1 << 21 | 1 << 28
    for options in (SearchOptions(), SearchOptions.none(deepening=True, alpha_beta=True)):
        engine = Engine(STANDARD, replace(options, table_bits=12))
        win = engine.search(three, 1 << 15 | 1 << 22 | 1 << 29, depth=3)
        assert win.move in (1, 5)
        assert win.score == WIN - 7
        block = engine.search(1 << 7 | 1 << 15, 1 << 14 | 1 << 21 | 1 << 28, depth=3)
        assert block.move == 5


@pytest.mark.parametrize("compiled", [True, False])
def test_a_move_at_any_instant(compiled):
    """Limits too short for anything still give a legal move, and in time."""
    engine = Engine(compiled=compiled)
    for own, opp in random_boards(GAME, 20, seed=16):
        for seconds in (0.0, 1e-9, 0.002):
            start = time.monotonic()
            result = engine.search(own, opp, seconds=seconds)
            assert time.monotonic() - start < seconds + 0.25
            assert GAME.legal_actions_mask(GAME.state(own, opp))[result.move]


def test_an_aborted_search_leaves_nothing_wrong_behind():
    """Cut short at many points, the table goes on to give the scores of an untouched one."""
    options = SearchOptions(depth_exact=True, table_bits=14)
    for i, (own, opp) in enumerate(random_boards(GAME, 20, seed=17, most=12)):
        engine = Engine(STANDARD, options)
        for limit in (1024, 3000 + 500 * i):
            cut = engine.search(own, opp, depth=12, nodes=limit)
            assert cut.nodes < limit + 1024
        expected = Engine(STANDARD, options).search(own, opp, depth=8).score
        assert engine.search(own, opp, depth=8).score == expected


@pytest.mark.parametrize("nodes", range(20_000, 40_000, 1024))
def test_an_aborted_search_does_not_play_what_it_has_not_understood(nodes):
    """The last iteration's move has just failed low; the others are lost. (Columns 3 and 4 were once played here.)"""
    result = Engine(STANDARD, SearchOptions(table_bits=18)).search(4604207054859, 310055534724, nodes=nodes)
    assert result.move not in (3, 4)


def test_an_aborted_search_keeps_what_it_has_proven():
    """Depth 11 fails high on column 2, and searches again for its exact score: cut short in between, 2 stays."""
    own, opp = 69262655508, 172067160075
    full = Engine(STANDARD, SearchOptions(table_bits=18)).search(own, opp, depth=11)
    assert (full.move, full.iterations[-1].searches, full.iterations[-2].move) == (2, 2, 4)
    limits = range(full.iterations[-2].nodes, full.nodes, 1024)
    moves = [Engine(STANDARD, SearchOptions(table_bits=18)).search(own, opp, nodes=nodes).move for nodes in limits]
    assert 2 in moves
    assert set(moves[moves.index(2) :]) == {2}


def test_searches_repeat_exactly():
    one, two = (Engine(STANDARD, SearchOptions(table_bits=16)) for _ in range(2))
    for own, opp in random_boards(GAME, 20, seed=18):
        assert one.search(own, opp, nodes=20_000).move == two.search(own, opp, nodes=20_000).move
    one.clear()
    fresh = Engine(STANDARD, SearchOptions(table_bits=16)).search(0, 0, depth=8)
    again = one.search(0, 0, depth=8)
    assert (again.nodes, again.score) == (fresh.nodes, fresh.score)


def test_a_root_that_the_table_knows_keeps_its_move():
    """A search that the table answers at once must name the move as well, not the first guess."""
    engine = Engine(STANDARD, SearchOptions(table_bits=16))
    moved = 0
    for own, opp in random_boards(GAME, 60, seed=22, most=14):
        first = engine.search(own, opp, depth=9)
        again = engine.search(own, opp, depth=7)
        assert (again.move, again.score) == (first.move, first.score)
        moved += first.move != 3
    assert moved > 20  # the first guess is the centre


def test_history_of_the_search():
    result = Engine().search(0, 0, depth=9)
    assert [iteration.depth for iteration in result.iterations] == list(range(1, 10))
    assert all(a.nodes < b.nodes for a, b in zip(result.iterations, result.iterations[1:], strict=False))
    assert result.iterations[-1].nodes == result.nodes
    assert result.iterations[-1].score == result.score
    assert 0 < result.first_cutoffs <= result.cutoffs
    assert result.table_hits > 0


def test_aspiration_searches_again_after_a_miss():
    misses = 0
    for own, opp in random_boards(GAME, 40, seed=19):
        narrow = Engine(STANDARD, SearchOptions(depth_exact=True, table_bits=14)).search(own, opp, depth=8)
        wide = Engine(STANDARD, SearchOptions(depth_exact=True, table_bits=14, aspiration=False))
        assert narrow.score == wide.search(own, opp, depth=8).score
        misses += sum(iteration.searches - 1 for iteration in narrow.iterations)
    assert misses > 0


def test_finished_games_and_missing_limits_are_refused():
    line = 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28
    with pytest.raises(ValueError, match="over"):
        Engine().search(1 << 8 | 1 << 15 | 1 << 22, line, depth=3)
    with pytest.raises(ValueError, match="limit"):
        Engine().search(0, 0)
    with pytest.raises(ValueError, match="at least 1"):
        Engine().search(0, 0, depth=0)
    with pytest.raises(ValueError, match="table_bits"):
        SearchOptions(table_bits=40)
    for own, opp in ((1, 1), (1 << 6, 0), (1 << 70, 0), (-1, 0)):
        with pytest.raises(ValueError, match="overlap or lie outside"):
            Engine().search(own, opp, depth=1)
    for seconds in (-1, float("nan")):
        with pytest.raises(ValueError, match="seconds"):
            Engine().search(0, 0, seconds=seconds)
    with pytest.raises(ValueError, match="columns"):
        Engine(Geometry(2000, 1, 1))


def test_limits_may_be_as_large_as_one_likes():
    engine = Engine(STANDARD, SearchOptions(table_bits=12))
    assert engine.search(0, 0, depth=2, seconds=float("inf"), nodes=1 << 70).depth == 2
    assert Engine(Geometry(1, 1200, 4), SearchOptions(table_bits=8)).search(0, 0, seconds=0.2).move == 0


def test_interpreted_memory_stays_in_bounds():
    """The compiled kernel writes to raw addresses; the same code on lists would raise where it left them.

    Negative indices would not raise: a list that refuses them is used here.
    """

    class Guarded(list):
        def __getitem__(self, i):
            assert i >= 0
            return list.__getitem__(self, i)

        def __setitem__(self, i, value):
            assert i >= 0
            list.__setitem__(self, i, value)

    for size in ((7, 6, 4), (1, 1, 1), (3, 2, 2), (2, 9, 3), (10, 10, 5)):
        game = Connect4(*size)
        engine = Engine(game.geometry, SearchOptions(table_bits=6), compiled=False)
        engine._memory = engine._memory_handle = Guarded(engine._memory)
        engine._table = engine._table_handle = Guarded(engine._table)
        for own, opp in random_boards(game, 6, seed=20):
            engine.search(own, opp, depth=4)
            assert engine._memory[NODES] > 0


def test_engine_plays_whole_games():
    rng = np.random.default_rng(21)
    engine = Engine(STANDARD, SearchOptions(table_bits=16))
    for seat in (1, -1):
        state = GAME.initial_state()
        while GAME.terminal_value(state) is None:
            if GAME.current_player(state) == seat:
                column = engine.search(*GAME.boards(state), nodes=5000).move
            else:
                column = int(rng.choice(np.flatnonzero(GAME.legal_actions_mask(state))))
            state = GAME.apply(state, column)
        assert GAME.terminal_value(state) == -1.0
        assert GAME.current_player(state) == -seat
        assert has_line(GAME.boards(state)[1], 6, 4)
