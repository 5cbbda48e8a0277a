"""Whatever comes from outside is taken, or refused by the exception that is documented; no other way out."""

import contextlib
import shutil
import string
import tomllib

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from c4lib import paths
from c4lib.alphazero.config import Config
from c4lib.alphazero.net import AlphaZeroNet
from c4lib.alphazero.plain_net import pack, unpack
from c4lib.alphazero.run_folder import find_weights, read_metrics
from c4lib.alphazero.trainer import Trainer
from c4lib.arena.table import load, save
from c4lib.games.position import Position
from c4lib.kaggle.agent import Player
from c4lib.search.book import Book

refused = contextlib.suppress(ValueError)
fuzz = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers(-2, 3), max_size=50),
)


@st.composite
def damaged(draw, content):
    """Bytes with some changed, cut off or put in."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(changed)))
        what = draw(st.sampled_from(["change", "cut", "put in"]))
        if what == "cut":
            del changed[place : place + draw(st.sampled_from([1, 8, 100, len(changed)]))]
        elif what == "put in":
            changed[place:place] = draw(st.binary(min_size=1, max_size=20))
        elif place < len(changed):
            changed[place] ^= draw(st.integers(1, 255))
    return bytes(changed)


# --- text and numbers -------------------------------------------------------------------------------------------------


@fuzz
@given(
    st.one_of(st.text(max_size=60), st.text("0123456789", max_size=60), ANYTHING),
    st.integers(-1, 12),
    st.integers(-1, 12),
)
def test_moves(moves, columns, rows):
    with refused:
        position = Position.from_moves(moves, columns, rows)
        assert position.plies == len(position.moves)


@fuzz
@given(st.one_of(st.text(max_size=80), st.text("xo.XO \n", max_size=80)), st.integers(-1, 8))
def test_boards_as_text(board, inarow):
    with refused:
        position = Position.from_text(board, inarow)
        assert Position.from_text(str(position), inarow) == position


OBSERVATIONS = st.dictionaries(
    st.sampled_from(["board", "mark", "step", "remainingOverageTime"]),
    st.one_of(ANYTHING, st.lists(st.integers(0, 2), min_size=42, max_size=42)),
)
CONFIGURATIONS = st.dictionaries(
    st.sampled_from(["columns", "rows", "inarow", "actTimeout"]), st.one_of(ANYTHING, st.integers(1, 9))
)


@fuzz
@given(OBSERVATIONS, CONFIGURATIONS)
def test_observations(observation, configuration):
    with refused:
        position = Position.from_kaggle(observation, configuration)
        assert list(observation["board"]) == (position.state.ravel() % 3).tolist()


@settings(fuzz, max_examples=40)
@given(st.data())
def test_a_submission_answers_whatever_the_board(data):
    """Also where the board is none that a game can come to: a column of it that is open."""
    columns, rows = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 7))
    board = data.draw(st.lists(st.integers(0, 2), min_size=columns * rows, max_size=columns * rows))
    board[data.draw(st.integers(0, columns - 1))] = 0
    mark, inarow = data.draw(st.sampled_from([0, 1, 2, 7])), data.draw(st.integers(0, 5))
    observation = {"board": board, "mark": mark, "remainingOverageTime": 0.0}
    move = Player()(observation, {"columns": columns, "rows": rows, "inarow": inarow, "actTimeout": 0.01})
    assert type(move) is int
    assert board[move] == 0


# --- files ------------------------------------------------------------------------------------------------------------

TOML = "\n".join(
    f"{key} = {value}" for key, value in {"game": '"connect4"', "n_blocks": 2, "learning_rate": 1e-3}.items()
)


@fuzz
@given(st.one_of(damaged(TOML.encode()), st.binary(max_size=50), st.text(string.printable).map(str.encode)))
def test_configurations(tmp_path, content):
    file = tmp_path / "some.toml"
    file.write_bytes(content)
    with refused:
        assert Config.load(file) == Config.load(file)


@fuzz
@given(st.dictionaries(st.sampled_from([*Config.__dataclass_fields__, "other"]), ANYTHING))
def test_values_of_configurations(values):
    with refused:
        config = Config.from_dict({"game": "connect4", **values})
        assert Config.from_dict(tomllib.loads(config.to_toml())) == config


@fuzz
@given(st.data())
def test_books(data):
    content = Book(Book.load(paths.BOOK).entries[:20]).to_bytes()
    changed = data.draw(st.one_of(damaged(content), st.binary(max_size=300)))
    with refused:
        assert Book.from_bytes(changed).to_bytes() == changed == content


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    file = tmp_path_factory.mktemp("net") / "net.safetensors"
    AlphaZeroNet((2, 3, 3), 9, 1, 4).save(file)
    return file.read_bytes()


@fuzz
@given(st.data())
def test_weights(tmp_path, weights, data):
    file = tmp_path / "net.safetensors"
    file.write_bytes(data.draw(st.one_of(damaged(weights), st.binary(max_size=300))))
    with refused:
        AlphaZeroNet.load(file)


@fuzz
@given(st.data())
def test_packed_weights(data):
    content = pack(AlphaZeroNet((2, 3, 3), 9, 1, 4))
    with refused:
        unpack(data.draw(st.one_of(damaged(content), st.binary(max_size=300))))


@fuzz
@given(st.data())
def test_tables_of_games(tmp_path, data):
    file = tmp_path / "games.parquet"
    row = dict(game="connect4", first="a", second="b", opening="44", moves="1234", result=1, reason="")
    row |= dict(first_seconds=1.0, second_seconds=2.0, first_nodes=3, second_nodes=4)
    save(pd.DataFrame([row] * 3), file)
    file.write_bytes(data.draw(damaged(file.read_bytes())))
    with refused:
        load(file)


CONFIG = Config.load("tictactoe").replace(
    {"n_blocks": 1, "n_channels": 4, "num_simulations": 4, "games_per_iteration": 4, "min_buffer_size": 1}
    | {"training_steps_per_iteration": 1, "num_iterations": 2, "batch_size": 4}
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    Trainer(CONFIG, folder).run()
    return folder


@settings(fuzz, max_examples=60)
@given(st.data())
def test_run_folders(tmp_path, run, data):
    """A file of a run that was damaged: it is refused, or what was damaged does not matter."""
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run, folder)
    file = data.draw(st.sampled_from(sorted(file for file in folder.rglob("*") if file.is_file())))
    file.write_bytes(data.draw(damaged(file.read_bytes())))
    with refused:
        Trainer(CONFIG, folder, resume=True)
    with refused:
        AlphaZeroNet.load(find_weights(folder))
    with refused:
        read_metrics(folder)


def test_a_file_of_weights_holds_no_program(tmp_path):
    """What Python would run in loading, a pickle, is no file of weights here."""
    file = tmp_path / "net.safetensors"
    file.write_bytes(b"cos\nmkdir\n(S'%s'\ntR." % bytes(tmp_path / "harm"))
    with pytest.raises(ValueError, match="no whole file of weights"):
        AlphaZeroNet.load(file)
    assert not (tmp_path / "harm").exists()
