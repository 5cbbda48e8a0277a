"""`c4 train`, `c4 eval` and `c4 play`: a run from the command line, and a terminal that survives its user."""

import csv

import pytest
from click.testing import CliRunner

from c4lib.alphazero.config import Config
from c4lib.arena.openings import after
from c4lib.cli_alphazero import board_text, evaluate, play, train
from c4lib.games import make_game
from c4lib.games.connect4 import Connect4
from c4lib.games.tictactoe import TicTacToe

SETTINGS = {
    "n_blocks": 1, "n_channels": 8, "num_simulations": 6, "games_per_iteration": 6, "training_steps_per_iteration": 3,
    "batch_size": 8, "min_buffer_size": 10, "eval_games": 4, "threads": 1, "device": "cpu", "dtype": "float32",
    "cache_positions": 256, "num_iterations": 2,
}  # fmt: skip
TINY = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a short run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    result = CliRunner(env={"C4_PROGRESS": "0"}).invoke(
        train, ["--game", "tictactoe", *TINY, "--folder", str(folder)], catch_exceptions=False
    )
    assert "2 iterations done" in result.output
    return folder


def test_train_and_resume(call, tmp_path):
    output, error = call(train, "--game", "tictactoe", *TINY, "--opponent", "none")
    assert error is None
    assert output.endswith("runs/tictactoe: 2 iterations done\n")
    config = Config.load(tmp_path / "runs/tictactoe/config.toml")
    assert (config.game, config.n_channels, config.dirichlet_alpha) == ("tictactoe", 8, 1.0)
    output, error = call(train, "--resume", "--folder", "runs/tictactoe", "--opponent", "none")
    assert error is None
    assert "2 iterations done" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a --game or a --config"),
        (["--game", "chess"], "no configuration 'chess'"),
        (["--game", "tictactoe", "--set", "blocks=1"], "there is no key 'blocks'"),
        (["--game", "tictactoe", "--set", "n_blocks"], "not of the form key=value"),
        (["--game", "tictactoe", "--opponent", "minimax:3"], "unknown agent 'minimax:3' for tictactoe"),
        (["--game", "tictactoe", "--opponent", "nobody"], "unknown agent 'nobody'"),
        (["--resume", "--folder", "nowhere"], "no run to resume in nowhere"),
        (["--game", "tictactoe", "--resume", "--folder", "nowhere"], "no run to resume in nowhere"),
    ],
)
def test_what_train_refuses(call, tmp_path, words, said):
    output, error = call(train, *words)
    assert said in f"{output}{error}"
    assert not any(tmp_path.iterdir())


def test_train_keeps_to_its_folder(call, model):
    _, error = call(train, "--game", "tictactoe", *TINY, "--folder", model)
    assert isinstance(error, ValueError)
    assert "holds a run: resume it" in str(error)
    _, error = call(train, "--game", "tictactoe", *TINY, "--set", "seed=7", "--folder", model, "--resume")
    assert "another configuration: seed is 42, not 7" in str(error)
    _, error = call(train, "--game", "connect4", "--config", model / "config.toml")
    assert "is a configuration of tictactoe, not of connect4" in str(error)


def test_eval(call, model):
    words = ["--game", "tictactoe", "--model", model, "--games", 6, "--simulations", 8]
    output, error = call(evaluate, *words)
    assert error is None
    assert output.startswith("8 simulations against random: ")
    won, drawn, lost = (int(part.split()[0]) for part in output.split(": ")[1].split(", "))
    assert won + drawn + lost == 6
    assert call(evaluate, *words)[0] == output, "the same seed, the same games"
    _, error = call(evaluate, "--game", "tictactoe", "--model", "nowhere")
    assert "there are no weights at nowhere" in str(error)
    _, error = call(evaluate, "--game", "connect4", "--model", model)
    assert "the network is not of connect4" in str(error)


def test_eval_keeps_the_games(call, model, tmp_path):
    file = tmp_path / "games.csv"
    words = ["--game", "tictactoe", "--model", model, "--games", 10, "--simulations", 8, "--opening-plies", "1-3"]
    output, error = call(evaluate, *words, "-o", file)
    assert error is None
    games = list(csv.DictReader(file.open(newline="")))
    game = make_game("tictactoe")
    assert [row["seat"] for row in games] == ["1", "-1"] * 5
    assert [row["opening"] for row in games[::2]] == [row["opening"] for row in games[1::2]]
    for row in games:
        assert 1 <= len(row["opening"]) <= 3
        state = after(game, [int(digit) - 1 for digit in row["opening"] + row["moves"]])
        assert game.terminal_value(state) * game.current_player(state) * int(row["seat"]) == int(row["result"])
    assert f"{[row['result'] for row in games].count('1')} won" in output
    assert f"{len({row['opening'] + row['moves'] for row in games})} different games" in output


def test_eval_without_an_opening(call):
    output, error = call(evaluate, "--game", "tictactoe", "--agent", "random", "--games", 20, "--opening-plies", 0)
    assert error is None
    assert output.startswith("random against random: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--opening-plies", "x"], "'x' is no number of plies: give one, or two as in 2-6"),
        (["--opening-plies", "6-2"], "'6-2' is no number of plies"),
        (["--games", 5], "--games must be even"),
        (["--opponent", "random", "--opponent-depth", 2], "an --opponent or an --opponent-depth, not both"),
        (["--agent", "random", "--model", "x"], "an --agent or a --model, not both"),
        (["--opponent-depth", 2], "unknown agent 'minimax:2' for"),
    ],
)
def test_what_eval_refuses(call, model, words, said):
    if "--agent" not in words:
        words = [*words, "--model", model]
    output, error = call(evaluate, "--game", "tictactoe", *words)
    assert said in f"{output} {error}"


def test_training_stops_with_the_clock(call):
    output, error = call(train, "--game", "tictactoe", *TINY, "--opponent", "none", "--minutes", 0)
    assert error is None
    assert output.endswith("runs/tictactoe: 1 iterations done\n")
    output, error = call(train, "--resume", "--folder", "runs/tictactoe", "--opponent", "none")
    assert error is None
    assert output.endswith("runs/tictactoe: 2 iterations done\n")


def test_play_to_the_end(call, model):
    cells = "".join(f"{cell}\n" for _ in range(9) for cell in range(9))
    for words in (["--agent", "random", "--seed", 1], ["--model", model, "--simulations", 8, "--second"]):
        output, error = call(play, "--game", "tictactoe", *words, typed=cells)
        assert error is None
        assert output.strip().splitlines()[-1] in ("you won", "a draw", "you lost")


def test_play_survives_its_user(call, model):
    typed = "x\n\n99\n-1\n4 4\n\u0664\n?\n4\n4\nq\n"
    output, error = call(play, "--game", "tictactoe", "--model", model, "--simulations", 8, typed=typed)
    assert error is None
    assert output.count("is no move here: choose from 0, 1, 2, 3, 4, 5, 6, 7, 8") == 6
    assert output.count("the agent plays") == 1
    assert "for the side to move; the agent would play" in output
    assert "move visits  value" in output
    assert output.endswith("ended\n")


def test_play_ends_with_its_input(call):
    output, error = call(play, "--game", "connect4", typed="?\n3\n")
    assert error is None
    assert "the agent would play" in output
    assert output.endswith("ended\n")
    output, error = call(play, "--agent", "random", "--model", "x")
    assert "not both" in output
    _, error = call(play, "--game", "chess")
    assert "there is no game named 'chess'" in str(error)


def test_the_board_in_letters():
    game = TicTacToe()
    state = game.apply(game.apply(game.initial_state(), 4), 2)
    assert board_text(game, state) == "\n 0 1 O\n 3 X 5\n 6 7 8\n"
    game = Connect4(4, 3, 3)
    assert board_text(game, game.apply(game.initial_state(), 1)) == "\n . . . .\n . . . .\n . X . .\n 0 1 2 3\n"
