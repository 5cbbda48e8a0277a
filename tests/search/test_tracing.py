from c4lib.games.connect4 import STANDARD, Connect4
from c4lib.search.negamax import Engine, SearchOptions
from c4lib.search.tracing import record

from .positions import random_boards

GAME = Connect4()


def nodes(root):
    yield root
    for child in root.children:
        yield from nodes(child)


def test_the_tree_is_what_the_engine_visits():
    small = SearchOptions(table_bits=8, deepening=False)
    for options in (SearchOptions.none(), SearchOptions.none(alpha_beta=True, centre=True), small):
        for own, opp in random_boards(GAME, 5, seed=30):
            root = record(own, opp, 3, options)
            result = Engine(STANDARD, options).search(own, opp, depth=3)
            assert root.visited == result.nodes
            assert root.score == result.score


def test_minimax_prunes_nothing_and_backs_up_the_best_child():
    root = record(0, 0, 3, SearchOptions.none())
    assert root.visited == 1 + 7 + 49 + 343
    for node in nodes(root):
        assert node.pruned == []
        if node.children:
            assert node.score == max(-child.score for child in node.children)


def test_alpha_beta_prunes_only_after_a_cutoff():
    root = record(0, 0, 4, SearchOptions.none(alpha_beta=True, centre=True))
    cut = [node for node in nodes(root) if node.pruned]
    assert cut
    for node in cut:
        assert node.score >= node.beta
        assert sorted(node.pruned + [child.column for child in node.children]) == list(range(7))


def test_the_shared_kernel_is_left_as_it_was():
    options = SearchOptions(table_bits=10)
    before = Engine(STANDARD, options, compiled=False).kernel
    record(0, 0, 2, options)
    assert Engine(STANDARD, options, compiled=False).kernel is before
    assert before.namespace["negamax"] is before
