"""Training: what a run writes, that a kill at any moment changes nothing, that Tic-Tac-Toe is learned to the end."""

import csv
import errno
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from c4lib.agents import RandomAgent
from c4lib.alphazero import run_folder, selfplay
from c4lib.alphazero.agent import AlphaZeroAgent
from c4lib.alphazero.config import Config
from c4lib.alphazero.match import Tally
from c4lib.alphazero.net import AlphaZeroNet, Evaluator
from c4lib.alphazero.replay import ReplayBuffer
from c4lib.alphazero.run_folder import find_weights, read_metrics
from c4lib.alphazero.selfplay import play_games, play_side_by_side
from c4lib.alphazero.trainer import METRICS, Trainer
from c4lib.games.connect4 import Connect4
from c4lib.games.tictactoe import TicTacToe

from .players import Row, legal_actions, scrambled, solver, uniform

GAME = TicTacToe()
TINY = Config(
    game="tictactoe", n_blocks=1, n_channels=8, num_simulations=6, games_per_iteration=6, parallel_games=4,
    temperature_threshold=9, training_steps_per_iteration=4, batch_size=16, learning_rate=1e-2, lr_schedule="cosine",
    replay_buffer_capacity=120, min_buffer_size=60, num_iterations=5, eval_interval=2, eval_games=4, seed=3,
    device="cpu", dtype="float32", threads=1, cache_positions=256,
)  # fmt: skip

CHILD = """
import sys
from c4lib.agents import RandomAgent
from c4lib.alphazero.config import Config
from c4lib.alphazero.trainer import Trainer
folder, config, resume, gate = sys.argv[1:]
trainer = Trainer(Config.load(config), folder, resume=resume == "True", gate=float(gate) if gate else None)
trainer.run(RandomAgent(0))
"""


def trained(folder, config=TINY, opponent=None, **options):
    trainer = Trainer(config, folder, **options)
    trainer.run(opponent)
    return trainer


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a tiny run that was never ended; to be read only."""
    folder = tmp_path_factory.mktemp("runs") / "done"
    trained(folder, opponent=RandomAgent(0))
    return folder


@pytest.fixture
def copied(done, tmp_path):
    return Path(shutil.copytree(done, tmp_path / "copied"))


def latest(folder):
    """All files of the latest checkpoint, byte by byte."""
    place = max((folder / "checkpoints").glob("[0-9]*"))
    return {file.name: file.read_bytes() for file in place.iterdir()}


def everything(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


TIMES = {name for name in METRICS if "second" in name and name != "second"}
BY_CHANCE = {"eval_wins", "eval_draws", "eval_losses"}  # the random opponent begins anew after a resume


def untimed(folder, without=frozenset()):
    return {name: column for name, column in read_metrics(folder).items() if name not in TIMES | without}


# --- a run ----------------------------------------------------------------------------------------------------------


def test_a_run_leaves_its_folder(done):
    assert Config.load(done / "config.toml") == TINY
    origin = json.loads((done / "run.json").read_text())
    assert origin["seed"] == TINY.seed
    assert origin["versions"]["torch"]
    assert {file.name for file in done.iterdir()} == {"config.toml", "run.json", "metrics.csv", "checkpoints"}
    kept = {place.name: sorted(file.name for file in place.iterdir()) for place in (done / "checkpoints").iterdir()}
    whole = ["buffer.npz", "optimiser.safetensors", "state.json", "weights.safetensors"]
    assert kept == {"0002": ["weights.safetensors"], "0004": whole, "0005": whole}
    assert not any(b"pickle" in data for data in everything(done).values())


def test_metrics(done):
    with (done / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == METRICS
    assert [int(row["iteration"]) for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        assert int(row["games"]) == TINY.games_per_iteration
        assert 5 <= float(row["mean_length"]) <= 9
        assert 0 <= float(row["first_player_score"]) <= 1
        assert 0 < float(row["policy_entropy"]) < np.log(9)
        assert 0 < int(row["distinct_positions"]) <= int(row["buffer_size"]) <= TINY.replay_buffer_capacity
        assert float(row["simulations_per_second"]) > 0
        assert all(float(row[f"{phase}_seconds"]) >= 0 for phase in ("self_play", "training", "evaluation"))
        assert row["promoted"] == "1"
        assert row["arena_win_rate"] == ""
        evaluated = int(row["iteration"]) % TINY.eval_interval == 0
        counts = [row[f"eval_{name}"] for name in ("wins", "draws", "losses")]
        assert sum(map(int, counts)) == TINY.eval_games if evaluated else counts == [""] * 3
        learned = int(row["buffer_size"]) >= TINY.min_buffer_size
        assert (row["policy_loss"] != "") == (row["value_loss"] != "") == learned
    assert rows[0]["policy_loss"] == "", "the first games are too few to learn from"
    assert all(float(row["policy_loss"]) > 0 for row in rows[2:])


def test_the_learning_rate_follows_its_schedule(done):
    rates = read_metrics(done)["learning_rate"]
    steps = TINY.training_steps_per_iteration
    for iteration, rate in enumerate(rates, 1):
        if rate is not None:
            last = (iteration - 1 + (steps - 1) / steps) / TINY.num_iterations
            assert rate == pytest.approx(TINY.learning_rate_at(last))
    assert rates[-1] < 0.1 * TINY.learning_rate


def test_the_candidate_plays_from_its_promotion_on(tmp_path):
    asked = []

    def listening(net, *arguments, **options):
        asked.append(Evaluator(net, "cpu", "float32")(planes)[0])
        return play_games(net, *arguments, **options)

    trainer = Trainer(TINY.replace({"min_buffer_size": 1}), tmp_path / "run", self_play=listening)
    planes = np.stack([GAME.encode(GAME.initial_state())] * 2)
    before = trainer.evaluate(planes)[0]
    trainer._play(1)
    trainer._train(1)
    assert np.array_equal(trainer.evaluate(planes)[0], before), "training alone changes nothing"
    trainer._promote_candidate_to_best()
    after = trainer.evaluate(planes)[0]
    assert not np.allclose(after, before)
    with torch.inference_mode():
        wanted = trainer.net.eval()(torch.from_numpy(planes))[0].numpy()
    assert np.allclose(after, wanted, atol=1e-5)
    trainer._play(2)
    assert np.array_equal(asked, [before, after]), "self-play asks the same network"


def test_another_game_is_learned_without_being_named(tmp_path):
    config = TINY.replace({"game": "row", "num_iterations": 2, "min_buffer_size": 1})
    trainer = trained(tmp_path / "run", config, RandomAgent(0), game=Row())
    assert trainer.iteration == 2
    with pytest.raises(ValueError, match="the configuration is of row"):
        Trainer(config, tmp_path / "other", game=GAME)


# --- evaluation, arena and gate ---------------------------------------------------------------------------------------


def test_every_game_of_an_evaluation_is_counted(tmp_path):
    trainer = Trainer(TINY, tmp_path / "run")
    tally = trainer._eval_vs_opponent(RandomAgent(1), 15)
    assert sum(tally) == 15
    assert tally == trainer._eval_vs_opponent(RandomAgent(1), 15)
    value = solver(GAME)

    def perfect(game, state):
        moves = legal_actions(game, state)
        return min(moves, key=lambda action: value(*game.boards(game.apply(state, action))))

    assert trainer._eval_vs_solver(perfect, 8) == trainer._eval_vs_opponent(perfect, 8)
    assert Tally(3, 2, 5).share == 0.4


def test_an_odd_number_of_games(tmp_path):
    trainer = Trainer(TINY, tmp_path / "run")
    assert sum(trainer._eval_vs_opponent(RandomAgent(0), 5)) == 5


def test_openings_that_no_game_can_have(tmp_path):
    trainer = Trainer(TINY.replace({"opening_plies": 9}), tmp_path / "run")
    with pytest.raises(ValueError, match="no unfinished state of tictactoe after 9 random plies"):
        trainer._eval_vs_opponent(RandomAgent(0), 2)


def test_the_arena_measures_one_network_against_another(tmp_path):
    trainer = Trainer(TINY, tmp_path / "run")
    same = trainer._arena_win_rate(trainer.evaluate, trainer.evaluate, 10, np.random.default_rng(0))
    assert same == 0.5, "from both seats of each opening, the same play"


@pytest.mark.parametrize(("gate", "promoted"), [(0.0, 1), (1.0, 0)])
def test_a_gate(tmp_path, gate, promoted):
    config = TINY.replace({"num_iterations": 2, "min_buffer_size": 1})
    trainer = Trainer(config, tmp_path / "run", gate=gate, arena_games=6)
    new = {name: tensor.clone() for name, tensor in trainer.net.state_dict().items()}
    rows = list(trainer.iterations())
    assert [row["promoted"] for row in rows] == [promoted] * 2
    assert all(0 <= row["arena_win_rate"] <= 1 for row in rows)
    plays = AlphaZeroNet.load(find_weights(tmp_path / "run")).state_dict()
    assert all(torch.equal(plays[name], new[name]) for name in new) != promoted
    candidate = AlphaZeroNet.load(tmp_path / "run/checkpoints/0002/candidate.safetensors").state_dict()
    assert not all(torch.equal(candidate[name], new[name]) for name in new)


# --- kill and resume ------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """No handler of errors may catch it."""


@pytest.fixture
def stopping(monkeypatch):
    """A counter of everything that is done to files; set `at`, and that one is not done."""

    class Stop:
        at = count = 0

        def watch(self, owner, name):
            method = getattr(owner, name)

            def watched(*arguments, **options):
                self.count += 1
                if self.count == self.at:
                    raise Killed
                return method(*arguments, **options)

            monkeypatch.setattr(owner, name, watched)

    stop = Stop()
    for name in ("replace", "rename", "unlink", "mkdir", "write_text", "write_bytes"):
        stop.watch(Path, name)
    stop.watch(run_folder.RunFolder, "append")
    stop.watch(run_folder.shutil, "rmtree")
    return stop


def stop_and_resume(folder, stop, at):
    """A run stopped at its `at`-th change of a file, and one that takes it up; whether the first came to its end."""
    stop.at, stop.count = at, 0
    try:
        trained(folder, opponent=RandomAgent(0))
    except Killed:
        stop.at = 0
        trained(folder, opponent=RandomAgent(0), resume=(folder / "config.toml").exists())
        return False
    return True


@pytest.mark.parametrize("first", [1, *(pytest.param(first, marks=pytest.mark.slow) for first in range(2, 12))])
def test_a_stop_at_any_write_changes_nothing(done, tmp_path, stopping, first):
    for at in range(first, 1000, 11):
        folder = tmp_path / str(at)
        if stop_and_resume(folder, stopping, at):
            break
        assert latest(folder) == latest(done)
        assert untimed(folder, BY_CHANCE) == untimed(done, BY_CHANCE)
    assert at > 50


def kill_and_resume(tmp_path, kills, chance, gate=""):
    """Run in processes of their own, kill -9 each but the last; the folder that is left."""
    folder, config = tmp_path / "killed", tmp_path / "config.toml"
    config.write_text(TINY.to_toml())
    for kill in range(kills + 1):
        resume = (folder / "config.toml").exists()
        command = [sys.executable, "-c", CHILD, str(folder), str(config), str(resume), gate]
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        if kill < kills:
            before = metrics_size(folder)
            while child.poll() is None and metrics_size(folder) == before:
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.08))
            child.send_signal(signal.SIGKILL)
            child.communicate()
        else:
            assert child.communicate()[1].count("Error") == 0
            assert child.returncode == 0
    return folder


def metrics_size(folder):
    file = folder / "metrics.csv"
    return file.stat().st_size if file.exists() else 0


def test_a_killed_run_comes_to_the_same_weights(done, tmp_path):
    folder = kill_and_resume(tmp_path, 1, random.Random(1))
    assert latest(folder) == latest(done)
    assert untimed(folder, BY_CHANCE) == untimed(done, BY_CHANCE)


def test_a_run_may_begin_where_one_was_killed_in_its_first_moment(tmp_path):
    (tmp_path / "config.toml.4711.part").write_text("game = ")
    assert trained(tmp_path, TINY.replace({"num_iterations": 1})).iteration == 1


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["", "0.5"])
def test_a_run_killed_many_times_comes_to_the_same_weights(tmp_path, gate):
    whole = tmp_path / "whole"
    trained(whole, opponent=RandomAgent(0), gate=float(gate) if gate else None)
    for seed in range(3):
        place = tmp_path / str(seed)
        place.mkdir()
        folder = kill_and_resume(place, 4, random.Random(seed), gate)
        assert latest(folder) == latest(whole)
        assert untimed(folder, BY_CHANCE) == untimed(whole, BY_CHANCE)


def test_with_two_threads_a_resumed_run_comes_to_the_same_weights(tmp_path, monkeypatch):
    playing = []

    def counted(workers, *arguments, **options):
        playing.append(len(workers))
        return play_side_by_side(workers, *arguments, **options)

    monkeypatch.setattr(selfplay, "play_side_by_side", counted)
    config = TINY.replace({"threads": 2, "parallel_games": 64, "games_per_iteration": 20, "dtype": "auto"})
    whole = trained(tmp_path / "whole", config)
    assert playing == [2] * config.num_iterations
    folder = tmp_path / "resumed"
    next(Trainer(config, folder).iterations())
    trained(folder, config, resume=True)
    assert latest(folder) == latest(whole.folder)
    assert untimed(folder) == untimed(whole.folder)


@pytest.mark.parametrize("gate", [None, 0.5])
def test_with_an_average_a_resumed_run_comes_to_the_same_weights(tmp_path, gate):
    config = TINY.replace({"weight_average": 0.9, "window_share": 0.5, "replay_buffer_capacity": 400})
    whole = trained(tmp_path / "whole", config, gate=gate)
    assert whole.candidate is not whole.net
    assert whole._buffer.window == max(60, whole._buffer.added // 2) < len(whole._buffer)
    folder = tmp_path / "resumed"
    next(Trainer(config, folder, gate=gate).iterations())
    half = Trainer(config, folder, gate=gate, resume=True)
    for _ in range(3):
        next(half.iterations())
    trained(folder, config, gate=gate, resume=True)
    assert latest(folder) == latest(whole.folder)
    assert untimed(folder) == untimed(whole.folder)


def test_the_average_plays_and_lies_between_the_weights(tmp_path):
    trainer = Trainer(TINY.replace({"weight_average": 0.5}), tmp_path / "run")
    seen = []
    learn = AlphaZeroNet.learn

    def watched(net, *arguments):
        losses = learn(net, *arguments)
        seen.append(net.stem.conv.weight.detach().clone())
        return losses

    mine = trainer.net.stem.conv.weight.detach().clone()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AlphaZeroNet, "learn", watched)
        trainer.run()
    for step, weights in enumerate(seen, 1):
        share = min(0.5, step / (step + 9))
        mine = share * mine + (1 - share) * weights
    assert len(seen) > 5
    assert torch.allclose(trainer.candidate.stem.conv.weight, mine, atol=1e-6)
    assert not torch.equal(trainer.candidate.stem.conv.weight, trainer.net.stem.conv.weight)
    saved = AlphaZeroNet.load(find_weights(trainer.folder))
    assert torch.equal(saved.stem.conv.weight, trainer.candidate.stem.conv.weight)
    planes = GAME.encode(GAME.initial_state())[None]
    for found, wanted in zip(trainer.evaluate(planes), Evaluator(saved, "cpu", "float32")(planes), strict=True):
        assert np.array_equal(found, wanted)


def test_a_run_that_is_done_stays_as_it_is(copied):
    before = everything(copied)
    assert trained(copied, resume=True).iteration == TINY.num_iterations
    assert everything(copied) == before


# --- what is refused ------------------------------------------------------------------------------------------------


def spoil(*names):
    def spoiled(folder):
        for name in names:
            file = folder / name
            shutil.rmtree(file) if file.is_dir() else file.unlink()

    return spoiled


def cut(name):
    def spoiled(folder):
        file = folder / name
        file.write_bytes(file.read_bytes()[:-9])

    return spoiled


LATEST = "checkpoints/0005"


@pytest.mark.parametrize(
    ("spoiled", "options", "said"),
    [
        (cut(f"{LATEST}/weights.safetensors"), {}, "0005 is damaged: weights.safetensors; remove it"),
        (cut(f"{LATEST}/optimiser.safetensors"), {}, "0005 is damaged: optimiser.safetensors"),
        (cut(f"{LATEST}/buffer.npz"), {}, "0005 is damaged: buffer.npz"),
        (cut(f"{LATEST}/state.json"), {}, "0005 is damaged: state.json"),
        (spoil(f"{LATEST}/state.json"), {}, r"damaged: state.json \(missing\)"),
        (spoil(f"{LATEST}/buffer.npz"), {}, r"damaged: buffer.npz \(missing\)"),
        (spoil("checkpoints"), {}, "there is no checkpoint in"),
        (spoil("metrics.csv"), {}, "metrics.csv is damaged"),
        (cut("metrics.csv"), {"seed": 4}, "another configuration: seed is 3, not 4"),
        (spoil("run.json"), {}, "run.json is missing"),
        (cut("run.json"), {}, "run.json is damaged"),
        (spoil("config.toml"), {}, "there is no run to resume in"),
        (cut("config.toml"), {}, "is not TOML|damaged|missing|another configuration|no key"),
    ],
)
def test_nothing_is_overwritten_where_something_is_wrong(copied, spoiled, options, said):
    spoiled(copied)
    before = everything(copied)
    with pytest.raises(ValueError, match=said) as told:
        Trainer(TINY.replace(options), copied, resume=True)
    assert len(str(told.value).splitlines()) == 1
    assert everything(copied) == before


def test_a_damaged_checkpoint_can_be_removed(copied, done):
    wanted = latest(done)
    spoil(LATEST)(copied)
    trained(copied, resume=True)
    assert latest(copied) == wanted


def test_other_folders_and_options(copied, tmp_path):
    before = everything(copied)
    with pytest.raises(ValueError, match="holds a run: resume it, or name another folder"):
        Trainer(TINY, copied)
    with pytest.raises(ValueError, match=r"other options: gate is None, not 0\.5"):
        Trainer(TINY, copied, resume=True, gate=0.5)
    assert everything(copied) == before
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "today").write_text("dear diary")
    with pytest.raises(ValueError, match="holds something else"):
        Trainer(TINY, tmp_path / "diary")
    with pytest.raises(ValueError, match="no run to resume"):
        Trainer(TINY, tmp_path / "nothing", resume=True)
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(ValueError, match="gate must be"):
        Trainer(TINY, tmp_path / "nothing", gate=2)


def test_a_full_disk(done, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    trainer = Trainer(TINY, folder)
    rows = trainer.iterations()
    next(rows)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ReplayBuffer, "save", full)
        with pytest.raises(OSError, match="No space left"):
            next(rows)
    assert sorted(place.name for place in (folder / "checkpoints").iterdir()) == ["0000", "0001", "0002.part"]
    assert find_weights(folder).parent.name == "0001"
    trained(folder, resume=True)
    assert latest(folder) == latest(done)


def test_tensorboard_is_asked_for_or_absent(tmp_path):
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError):
            Trainer(TINY, tmp_path / "run", tensorboard=True)
        assert not (tmp_path / "run").exists()
    else:
        trained(tmp_path / "run", TINY.replace({"num_iterations": 1}), tensorboard=True)
        assert list((tmp_path / "run").glob("events.*"))


# --- the agent ------------------------------------------------------------------------------------------------------


def test_an_agent_of_every_kind_of_source(done):
    state = GAME.apply(GAME.initial_state(), 4)
    moves = set()
    for source in (done, done / LATEST, done / LATEST / "weights.safetensors", str(done)):
        agent = AlphaZeroAgent(source, GAME, 20, device="cpu", dtype="float32")
        assert agent.search is None
        moves.add(agent(GAME, state))
        assert agent.search.action in moves
        assert agent.search.visits.sum() == 20
    assert len(moves) == 1
    for wrong in ("nowhere", done / "metrics.csv"):
        with pytest.raises(ValueError, match=r"no weights at|no whole file of weights"):
            AlphaZeroAgent(wrong, GAME)
    with pytest.raises(ValueError, match="the network is not of connect4"):
        AlphaZeroAgent(done, Connect4())
    with pytest.raises(ValueError, match="plays another game"):
        agent(Connect4(), Connect4().initial_state())


@pytest.mark.parametrize("options", [{}, {"gumbel_actions": 4}, {"proofs": False, "c_puct": 1.0}])
def test_moves_are_chosen_side_by_side_as_alone(options):
    for evaluate in (scrambled(GAME), uniform(GAME)):
        random_moves = np.random.default_rng(0)
        states = [GAME.initial_state()]
        for _ in range(5):
            states.append(GAME.apply(states[-1], int(random_moves.choice(legal_actions(GAME, states[-1])))))
        states = [state for state in states if GAME.terminal_value(state) is None]
        agent = AlphaZeroAgent(evaluate, GAME, 30, cache_positions=64, **options)
        assert agent.choose(GAME, states) == [agent(GAME, state) for state in states]


def test_without_simulations_the_policy_plays():
    states = [GAME.initial_state(), GAME.apply(GAME.initial_state(), 4), GAME.apply(GAME.initial_state(), 0)]
    for seed in range(5):
        evaluate = scrambled(GAME, seed)
        agent = AlphaZeroAgent(evaluate, GAME, 0)
        likeliest = []
        for state in states:
            logits = evaluate(GAME.encode(state)[None])[0][0]
            likeliest.append(max(legal_actions(GAME, state), key=lambda action, logits=logits: logits[action]))
        assert agent.choose(GAME, states) == likeliest == [agent(GAME, state) for state in states]
    won = GAME.initial_state()
    for action in (0, 3, 1, 4, 2):
        won = GAME.apply(won, action)
    with pytest.raises(ValueError, match="a finished game"):
        agent(GAME, won)


# --- Tic-Tac-Toe, to the end ----------------------------------------------------------------------------------------


def lines_and_mistakes(agent, seat, value):
    """Over every sequence of opponent moves: lines won, drawn and lost, and positions whose outcome was given away."""
    mistakes = []

    @cache
    def below(boards):
        state = GAME.state(*boards)
        ended = GAME.terminal_value(state)
        if ended is not None:
            result = ended * GAME.current_player(state) * seat
            return np.array([result == 1, result == 0, result == -1], int)
        moves = legal_actions(GAME, state)
        if GAME.current_player(state) == seat:
            moves = [agent(GAME, state)]
            if -value(*GAME.boards(GAME.apply(state, moves[0]))) != value(*boards):
                mistakes.append(state)
        return sum(below(GAME.boards(GAME.apply(state, move))) for move in moves)

    return below(GAME.boards(GAME.initial_state())).tolist(), mistakes


@pytest.mark.slow
def test_tictactoe_is_learned_to_perfection(tmp_path):
    config = Config.load("tictactoe", {"threads": 1, "eval_interval": 5})
    trainer = trained(tmp_path / "run", config, RandomAgent(0))
    assert trainer.iteration <= 10
    agent = trainer.agent(50)
    value = solver(GAME)
    for seat in (1, -1):
        (won, _, lost), mistakes = lines_and_mistakes(agent, seat, value)
        assert won > 0
        assert lost == 0
        assert mistakes == [], "in no line is a draw lost, or a win missed that the opponent had allowed"
    tally = trainer._eval_vs_opponent(RandomAgent(1), 200)
    assert tally.share > 0.85
