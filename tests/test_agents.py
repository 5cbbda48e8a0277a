"""Names and the agents that they make."""

import numpy as np
import pytest

from c4lib import agents, paths
from c4lib.agents import EngineAgent, PerfectAgent, RandomAgent, make_agent
from c4lib.alphazero.config import Config
from c4lib.alphazero.net import AlphaZeroNet
from c4lib.games.connect4 import Connect4, Geometry
from c4lib.games.position import Position
from c4lib.games.tictactoe import TicTacToe
from c4lib.search.book import ENTRY, Book
from c4lib.search.minimax import Connect4MinimaxOpponent
from c4lib.search.solver import Solver

GAME = Connect4()
LATE = "7527267743225741531164553"


@pytest.fixture
def book(monkeypatch, tmp_path):
    """The lab's book for the while: it knows the empty board only, and says something strange of it."""
    made = Book(np.array([(0, 6, 3)], ENTRY))
    made.save(tmp_path / "a.book")
    monkeypatch.setattr(paths, "BOOK", tmp_path / "a.book")
    agents.opening_book.cache_clear()
    yield made
    agents.opening_book.cache_clear()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("random", RandomAgent),
        ("minimax:2", Connect4MinimaxOpponent),
        ("engine:0.5", EngineAgent),
        ("engine:1s", EngineAgent),
        ("perfect", PerfectAgent),
        ("perfect:0.5", PerfectAgent),
    ],
)
def test_names(name, kind):
    assert type(make_agent(name)) is kind


def test_negamax_of_kaggle_sees_the_board_as_it_is():
    """Both players win where they can, and stop the other one: it looks further than that."""
    pytest.importorskip("kaggle_environments")
    game = Connect4()
    for moves, wanted in (("112233", 3), ("1122337", 3), ("11223", 3), ("4141417", 0), ("1717172", 6)):
        position = Position.from_moves(moves)
        assert make_agent("kaggle:negamax", seed=1)(game, position.state) == wanted
    agents = [make_agent("kaggle:negamax", seed=seed) for seed in (1, 1, 2)]
    state = Position.from_moves("43").state
    one, same, other = ([agent(game, state) for _ in range(8)] for agent in agents)
    assert one == same != other


@pytest.mark.parametrize(
    ("name", "seconds"), [("perfect", None), ("perfect:0.5", 0.5), ("perfect:2s", 2.0), ("perfect:1e1", 10.0)]
)
def test_seconds_of_perfect(name, seconds):
    assert make_agent(name).seconds == seconds


@pytest.mark.parametrize("argument", ["0", "-1", "fast", "nan", "inf", "1e6", "0.5.5", "s", "1ms", "0,5"])
@pytest.mark.parametrize("kind", ["perfect", "engine"])
def test_wrong_seconds(kind, argument):
    with pytest.raises(ValueError, match=f"{kind} wants seconds a move, as in {kind}:1.5, not '{argument}'"):
        make_agent(f"{kind}:{argument}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("engine", "engine wants seconds a move"),
        ("minimax", "minimax wants a depth in plies"),
        ("minimax:0", "minimax wants a depth in plies"),
        ("minimax:2.5", "minimax wants a depth in plies"),
        ("random:1", "random takes no argument"),
        ("mcts", "mcts wants simulations"),
        ("mcts:1", "mcts wants simulations, at least 2"),
        ("kaggle", "there is kaggle:negamax"),
        ("dance", "unknown agent 'dance' for connect4; known are random, alphazero:MODEL@SIMULATIONS, minimax:DEPTH, "),
        ("Perfect", "unknown agent 'Perfect'"),
        ("perfect 0.5", "unknown agent 'perfect 0.5'"),
        ("", "unknown agent ''"),
    ],
)
def test_wrong_names(name, said):
    with pytest.raises(ValueError, match=said):
        make_agent(name)


@pytest.mark.parametrize("name", ["perfect", "perfect:5"])
def test_perfect_plays_by_book_and_solver(book, name):
    agent = make_agent(name)
    assert agent.result is None
    assert agent(GAME, GAME.initial_state()) == 6
    assert (agent.result.source, agent.result.score) == ("book", 3)

    position = Position.from_moves(LATE)
    solver = Solver(table_bits=20)
    move = agent(GAME, position.state)
    assert agent.result.source == "solver"
    assert agent.result.move == move
    assert agent.result.score == solver.solve(position).score == -solver.solve(position.play(move)).score


def test_perfect_under_a_short_clock(book):
    agent = make_agent("perfect:0.05")
    agent(GAME, Position.from_moves("4").state)
    assert agent.result.source in ("engine", "bound")
    assert agent.result.seconds < 1.0


def test_varied_perfect_plays_every_best_column_and_no_other():
    state, game = Position.from_moves("112233").state, Connect4(5, 4, 3)
    several = game.apply(game.initial_state(), 2)
    best = Solver(game.geometry).analyse(game.boards(several)).best_moves
    assert len(best) > 1
    agent = make_agent("perfect:varied", seed=1)
    assert {agent(game, several) for _ in range(100)} == set(best)
    assert {agent(GAME, state) for _ in range(20)} == {3}
    one, other = (make_agent("perfect:varied", seed=2) for _ in range(2))
    assert [one(game, several) for _ in range(50)] == [other(game, several) for _ in range(50)]


def test_perfect_plays_on_other_boards(book):
    agent, game = make_agent("perfect"), Connect4(5, 4, 4)
    move = agent(game, game.initial_state())
    assert move in range(5)
    assert agent.result.source == "solver"
    assert agent(GAME, GAME.initial_state()) == 6  # and back
    assert agent._player.geometry == Geometry()


def test_perfect_keeps_its_player(book):
    agent = make_agent("perfect")
    agent(GAME, GAME.initial_state())
    player = agent._player
    agent(GAME, Position.from_moves(LATE).state)
    assert agent._player is player
    assert player.sources == {"book": 1, "solver": 1}


def test_a_missing_or_damaged_book_is_told(book):
    content = paths.BOOK.read_bytes()
    paths.BOOK.write_bytes(content[:-1])
    with pytest.raises(ValueError, match="this book is damaged"):
        make_agent("perfect")(GAME, GAME.initial_state())
    paths.BOOK.unlink()
    with pytest.raises(FileNotFoundError):
        make_agent("perfect")(GAME, GAME.initial_state())


@pytest.mark.skipif(not paths.BOOK.exists(), reason="there is no book yet: `c4 book build` makes it")
def test_perfect_opens_in_the_centre():
    agent = make_agent("perfect:1")
    assert agent(GAME, GAME.initial_state()) == 3
    assert (agent.result.source, agent.result.score) == ("book", 1)


@pytest.fixture
def models(monkeypatch, tmp_path):
    """A folder of models for the while: tictactoe-tiny, a network that knows nothing."""
    monkeypatch.setattr(paths, "MODELS", tmp_path)
    game, config = TicTacToe(), Config(game="tictactoe", n_blocks=1, n_channels=4)
    AlphaZeroNet.of(game, config).save(tmp_path / "tictactoe-tiny.safetensors")
    return tmp_path


@pytest.mark.parametrize("by_path", [False, True])
@pytest.mark.parametrize(("simulations", "number"), [("", 100), ("@20", 20), ("@0", 0)])
def test_alphazero(models, simulations, number, by_path):
    model = models / "tictactoe-tiny.safetensors" if by_path else "tictactoe-tiny"
    agent, game = make_agent(f"alphazero:{model}{simulations}", game="tictactoe"), TicTacToe()
    assert agent.num_simulations == number
    state = game.apply(game.initial_state(), 4)
    assert game.legal_actions_mask(state)[agent(game, state)]
    assert agent.search is None if number == 0 else agent.search.visits.sum() == number


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("", "wants a model and simulations, as in alphazero:connect4@400, not ''"),
        ("@100", "wants a model and simulations"),
        ("tictactoe-tiny@many", "wants a model and simulations"),
        ("tictactoe-tiny@-1", "wants a model and simulations"),
        ("nothing@5", "there is no model 'nothing': in .* there are chess, tictactoe-tiny"),
        ("chess@5", "the network is not of connect4: its shape is "),
        ("tictactoe-tiny@5", "the network is not of connect4: its shape is "),
    ],
)
def test_wrong_models(models, argument, said):
    AlphaZeroNet((3, 8, 8), 4096, 1, 4).save(models / "chess.safetensors")
    with pytest.raises(ValueError, match=said):
        make_agent(f"alphazero:{argument}")


def test_seeded_random_agents_repeat_themselves():
    def columns(seed):
        agent = make_agent("random", seed=seed)
        return [agent(GAME, GAME.initial_state()) for _ in range(20)]

    assert columns(1) == columns(1) != columns(2)
    full = Position.from_moves("111111").state
    agent = make_agent("random", seed=3)
    assert {agent(GAME, full) for _ in range(100)} == {1, 2, 3, 4, 5, 6}
