"""Training: rounds of self-play and learning, in a folder from which a run that was killed goes on as if nothing were.

Every random number of an iteration comes from the seed and the iteration's number, and every iteration ends with a
checkpoint. So there are no generators to save: what a resumed run does depends on the last checkpoint alone.
"""

import copy
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

from ..games import make_game
from ..games.base import Game, random_line
from ..progress import bar
from .agent import AlphaZeroAgent
from .config import Config
from .match import Match, Player, Tally, play_match
from .net import AlphaZeroNet, Evaluator, network_threads
from .replay import ReplayBuffer
from .run_folder import AVERAGE, CANDIDATE, WEIGHTS, RunFolder
from .selfplay import Played, play_games

METRICS = (
    "iteration",
    "games",  # of this iteration's self-play, as all up to value_error
    "positions",
    "mean_length",  # plies
    "first_player_score",  # points per game: a win counts one, a draw a half
    "draws",  # share of games
    "policy_entropy",  # of the search's policies, nats
    "value_error",  # mean square of the search's value minus the result
    "buffer_size",  # positions, after this iteration
    "distinct_positions",
    "policy_loss",  # means over the iteration's steps; empty before the first training
    "value_loss",
    "learning_rate",  # of its last step
    "simulations_per_second",
    "self_play_seconds",
    "training_seconds",
    "evaluation_seconds",
    "arena_win_rate",  # of the candidate against the network before, where it was played
    "promoted",  # 1 or 0
    "eval_wins",  # where an evaluation was made
    "eval_draws",
    "eval_losses",
)

# What a generator is for: the last number of its seed, never 0 (zeros at the end of a seed count for nothing).
TRAINING, EVALUATION, ARENA = 1, 2, 3
ATTEMPTS = 1000  # tries for an opening before giving up
GATE_GAMES = 40  # of an arena that decides, where no other number is given


class Trainer:
    """One run of AlphaZero, kept in a folder (see `run_folder`).

    Args:
        config: the run's numbers.
        folder: for everything that is written; new or empty, or that of the run to resume.
        game: the game to learn; None for the one that the configuration names.
        resume: continue the run in `folder` from its latest checkpoint. On the CPU of the same machine, with as many
            threads, it comes to the same weights, bit for bit, as a run that was never ended.
        gate: promote a candidate only if its arena win rate is higher than this; None promotes always.
        arena_games: games of each candidate against the network before, written to the metrics; 0 for none (or for
            40 with a gate).
        tensorboard: write the metrics for TensorBoard too, into `folder`; ModuleNotFoundError where it is missing.
        self_play: plays the games of an iteration, called as `play_games` is; None for threads of this process.

    Attributes:
        iteration: iterations done.
        net: the network in training.
        evaluate: the `Evaluator` that plays: the network that was promoted last.

    Raises:
        ValueError: a folder with something else in it, a damaged checkpoint, another configuration. Nothing is
            overwritten.
        OSError: no space, or no right to write; the run can be resumed from its latest checkpoint.
    """

    def __init__(
        self,
        config: Config,
        folder: str | Path,
        *,
        game: Game | None = None,
        resume: bool = False,
        gate: float | None = None,
        arena_games: int = 0,
        tensorboard: bool = False,
        self_play: Callable[..., Played] | None = None,
    ):
        if gate is not None and not 0 <= gate <= 1:
            raise ValueError(f"gate must be from 0 to 1, not {gate!r}")
        if arena_games < 0:
            raise ValueError("arena_games must be at least 0")
        writer = _board_writer() if tensorboard else None
        self.config, self.gate = config, gate
        self.arena_games = arena_games or (GATE_GAMES if gate is not None else 0)
        self.game = make_game(config.game) if game is None else game
        if self.game.name != config.game:
            raise ValueError(f"the configuration is of {config.game}, the game is {self.game.name}")
        self._threads = config.threads or torch.get_num_threads()
        self.net = AlphaZeroNet.of(self.game, config)
        self.evaluate = Evaluator(self.net, config.device, config.dtype)
        device = self.evaluate.backend.device
        self.net.to(device)
        self._optimiser = torch.optim.AdamW(
            self.net.parameters(),
            config.learning_rate,
            weight_decay=config.weight_decay,
            fused=device.type in ("cpu", "cuda"),
        )
        self._buffer = ReplayBuffer(config.replay_buffer_capacity, self.game.action_size, merge=config.merge_duplicates)
        self._average = copy.deepcopy(self.net).eval() if config.weight_average else None
        self._best = self.candidate
        self._self_play = self_play or partial(play_games, threads=self._threads)
        self._player = self._agent(self.evaluate)
        self.iteration = 0
        options = {"gate": gate, "arena_games": self.arena_games}
        self._files = RunFolder(folder, config, options, METRICS, resume=resume)
        self.folder = self._files.folder
        if self._files.latest is not None:
            self._load()
        else:
            if gate is not None:
                self._best = copy.deepcopy(self.candidate)
            self._save()
        self._files.cut_metrics(self.iteration)
        self._board = writer(self.folder, purge_step=self.iteration + 1) if writer else None

    @property
    def candidate(self) -> AlphaZeroNet:
        """The network that is put up for promotion: the one in training, or the average of its weights."""
        return self.net if self._average is None else self._average

    def run(self, eval_opponent: Player | None = None, *, seconds: float | None = None):
        """Train until `num_iterations` are done; every `eval_interval` of them play against `eval_opponent`.

        No iteration begins after `seconds`, where they are given.

        An opponent that draws lots keeps a generator of its own, so after a resume its games may be others; what is
        learned does not depend on them.
        """
        total = self.config.num_iterations
        started = time.perf_counter()
        with bar(total=total, initial=self.iteration, desc="training", unit="iteration") as shown:
            for row in self.iterations(eval_opponent):
                if row["policy_loss"] is not None:
                    shown.set_postfix(policy=f"{row['policy_loss']:.3f}", value=f"{row['value_loss']:.3f}")
                shown.update()
                if seconds is not None and time.perf_counter() - started > seconds:
                    break

    def iterations(self, eval_opponent: Player | None = None) -> Iterator[dict[str, Any]]:
        """Do what `run` does, and yield the row of metrics (see `METRICS`) after each iteration."""
        while self.iteration < self.config.num_iterations:
            yield self._iterate(eval_opponent)

    def agent(self, num_simulations: int | None = None) -> AlphaZeroAgent:
        """A player with the network that was promoted last, as it is now."""
        evaluate = Evaluator(self._best, self.config.device, self.config.dtype)
        return self._agent(evaluate, num_simulations)

    # --- one iteration ----------------------------------------------------------------------------------------------

    def _iterate(self, eval_opponent):
        """Self-play, training, promotion, evaluation, and their row of metrics; then the checkpoint."""
        config = self.config
        started = time.perf_counter()
        number = self.iteration + 1
        row: dict[str, Any] = dict.fromkeys(METRICS)
        row["iteration"] = number
        row.update(self._play(number))
        played = time.perf_counter()
        if len(self._buffer) >= config.min_buffer_size:
            row.update(self._train(number))
        trained = time.perf_counter()
        row.update(self._promote(number))
        if eval_opponent is not None and number % config.eval_interval == 0:
            tally = self._eval_vs_opponent(eval_opponent, config.eval_games)
            row.update(eval_wins=tally.wins, eval_draws=tally.draws, eval_losses=tally.losses)
        ended = time.perf_counter()
        row["self_play_seconds"] = round(played - started, 3)
        row["training_seconds"] = round(trained - played, 3)
        row["evaluation_seconds"] = round(ended - trained, 3)
        self.iteration = number
        self._files.append(row)
        self._save()
        if self._board is not None:
            for name, value in row.items():
                if value is not None:
                    self._board.add_scalar(name, value, number)
            self._board.flush()
        return row

    def _play(self, number):
        """Games against itself, into the buffer."""
        games = self.config.games_per_iteration
        played = self._self_play(self._best, self.game, self.config, games, first=(number - 1) * games)
        self._buffer.add(played.samples)
        self._buffer.window = max(self.config.min_buffer_size, int(self.config.window_share * self._buffer.added))
        found = played.statistics
        return {
            **{name: found[name] for name in METRICS if name in found},
            "first_player_score": found["first_wins"] + found["draws"] / 2,
            "buffer_size": len(self._buffer),
            "distinct_positions": len(self._buffer.distinct.own),
        }

    def _train(self, number):
        """Steps of the optimiser on random batches of the buffer; mean losses."""
        config, backend = self.config, self.evaluate.backend
        generator = np.random.default_rng([config.seed, number, TRAINING])
        steps = config.training_steps_per_iteration
        losses = torch.zeros(2, device=backend.device)
        self.net.train()
        with network_threads(self._threads):
            for step in range(steps):
                rate = config.learning_rate_at((number - 1 + step / steps) / config.num_iterations)
                for group in self._optimiser.param_groups:
                    group["lr"] = rate
                batch = self._buffer.sample(
                    config.batch_size,
                    generator,
                    self.game,
                    symmetries=config.symmetries,
                    root_value_weight=config.root_value_weight,
                )
                losses += self.net.learn(batch, self._optimiser, backend)
                if self._average is not None:
                    done = int(self._optimiser.state[next(self.net.parameters())]["step"])
                    self._average.follow(self.net, min(config.weight_average, done / (done + 9)))
        policy, value = (losses / steps).tolist()
        if not np.isfinite(policy + value):
            raise ValueError(f"the losses of iteration {number} are not finite: try a smaller learning_rate")
        return {"policy_loss": policy, "value_loss": value, "learning_rate": rate}

    def _promote(self, number):
        """Let the candidate take over, unless a gate says no."""
        rate = None
        if self.arena_games:
            candidate = Evaluator(self.candidate, self.config.device, self.config.dtype)
            generator = np.random.default_rng([self.config.seed, number, ARENA])
            rate = self._arena_win_rate(candidate, self.evaluate, self.arena_games, generator)
        promoted = self.gate is None or rate > self.gate
        if promoted:
            self._promote_candidate_to_best()
        return {"arena_win_rate": rate, "promoted": int(promoted)}

    def _promote_candidate_to_best(self):
        """From here on self-play and evaluation use the candidate's weights as they are now."""
        if self.gate is not None:
            self._best = copy.deepcopy(self.candidate)
        self._use(self.candidate)

    def _use(self, net):
        self.evaluate.update(net)
        self._player.forget()

    # --- games against others ---------------------------------------------------------------------------------------

    def _eval_vs_opponent(self, opponent: Player, num_games: int) -> Tally:
        """Wins, draws and losses of the promoted network, without noise, against any agent of the game.

        The openings are the same in every evaluation of a run.
        """
        generator = np.random.default_rng([self.config.seed, EVALUATION])
        return self._match(self._player, opponent, num_games, generator)

    def _eval_vs_solver(self, solver: Player, num_games: int) -> Tally:
        """`_eval_vs_opponent` for one that never errs: every loss, and every draw of a won opening, is a mistake."""
        return self._eval_vs_opponent(solver, num_games)

    def _arena_win_rate(self, candidate, best, games: int, generator: np.random.Generator) -> float:
        """Points per game (a draw counts a half) of one network, an `mcts.Evaluate`, against another.

        A diagnostic: nothing depends on it unless the trainer was given a gate.
        """
        players = self._agent(candidate), self._agent(best)
        return self._match(*players, games, generator).share

    def _match(self, player, opponent, games, generator):
        """Games from random openings, each played from both seats; of an odd number the last is left out."""
        openings = [_opening(self.game, self.config.opening_plies, generator) for _ in range((games + 1) // 2)]
        match = play_match(self.game, player, opponent, openings)
        return Match(match.moves[:games], match.results[:games]).tally

    def _agent(self, evaluate, num_simulations=None):
        config = self.config
        return AlphaZeroAgent(
            evaluate,
            self.game,
            num_simulations or config.num_simulations,
            cache_positions=config.cache_positions,
            c_puct=config.c_puct,
            fpu_reduction=config.fpu_reduction,
            proofs=config.proofs,
            gumbel_actions=config.gumbel_actions,
        )

    # --- checkpoints ------------------------------------------------------------------------------------------------

    def _save(self):
        moments = {
            f"{place}.{name}": tensor.detach().cpu().contiguous()
            for place, tensors in self._optimiser.state_dict()["state"].items()
            for name, tensor in tensors.items()
        }
        writers = {
            "optimiser.safetensors": lambda path: path.write_bytes(safetensors.torch.save(moments)),
            "buffer.npz": self._buffer.save,
        }
        for net, name in {self.net: CANDIDATE, self._average: AVERAGE, self._best: WEIGHTS}.items():
            if net is not None:  # of two names for one network the last
                writers[name] = net.save
        self._files.save(self.iteration, {"positions_added": self._buffer.added}, writers)

    def _load(self):
        state = self._files.read_state()
        self._files.check_metrics(state["iteration"])
        place = self._files.latest
        device = self.evaluate.backend.device

        def read(name):
            return AlphaZeroNet.load(place / (name if (place / name).exists() else WEIGHTS)).to(device)

        self.net.load_state_dict(read(CANDIDATE).state_dict())
        if self._average is not None:
            self._average.load_state_dict(read(AVERAGE).state_dict())
        self._best = read(WEIGHTS) if self.gate is not None else self.candidate
        moments: dict[int, dict] = {}
        for key, tensor in safetensors.torch.load_file(place / "optimiser.safetensors").items():
            number, name = key.split(".")
            moments.setdefault(int(number), {})[name] = tensor
        groups = self._optimiser.state_dict()["param_groups"]
        self._optimiser.load_state_dict({"state": moments, "param_groups": groups})
        self._buffer = ReplayBuffer.load(place / "buffer.npz")
        self._use(self._best)
        self.iteration = state["iteration"]


def _opening(game, plies, generator):
    """The state after random moves; where the game ended on the way, another one is drawn."""
    for _ in range(ATTEMPTS):
        _, state = random_line(game, plies, generator)
        if game.terminal_value(state) is None:
            return state
    raise ValueError(f"found no unfinished state of {game.name} after {plies} random plies")


def _board_writer():
    from torch.utils.tensorboard import SummaryWriter  # only where it was asked for: not everyone has it

    return SummaryWriter
