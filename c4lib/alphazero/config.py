"""Every number of a run in one place: a frozen dataclass, read from TOML. Unknown keys and bad values are refused."""

import dataclasses
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Config:
    """The parameters of a run. `Config.load("connect4")` reads one, `Config(game=...)` makes one.

    Raises ValueError, with one line that names the key, for a value of the wrong type or out of range.
    """

    game: str
    # name of the game, as in `c4lib.games.GAMES`

    # the network
    n_blocks: int = 6
    # residual blocks of the tower
    n_channels: int = 64
    # filters of each convolution of the tower

    # the search
    num_simulations: int = 100
    # simulations of a search: the visits of the root's children add up to it
    c_puct: float = 2.5
    # weight of the prior against the value in choosing where to search
    fpu_reduction: float = 0.25
    # how much worse than its parent an unvisited child is taken to be, times the root of the prior visited so far
    dirichlet_alpha: float = 0.5
    # shape of the noise on the root's prior: small is spiky
    dirichlet_weight: float = 0.25
    # share of the noise in the root's prior, in self-play
    proofs: bool = True
    # look one move ahead for finished games, and carry proven wins, draws and losses up the tree
    gumbel_actions: int = 0
    # actions that a Gumbel root search starts from (Danihelka et al. 2022); 0 for PUCT at the root
    cache_positions: int = 131_072
    # evaluations kept to be used again, a power of two; 0 for none

    # self-play
    games_per_iteration: int = 100
    # games between two trainings
    parallel_games: int = 128
    # games in play at one time, shared among the threads: a thread's share is the network's largest batch
    temperature_threshold: int = 15
    # plies of a game played at temperature 1; after them the best move
    full_search_probability: float = 1.0
    # share of moves searched in full; the others are searched fast, without noise, and teach nothing (Wu 2019)
    fast_simulations: int = 20
    # simulations of the others
    random_opening_share: float = 0.0
    # share of games that begin with random moves, which teach nothing
    random_opening_plies: int = 8
    # at most so many of them, any number from 1 on with the same chance
    adjudicate: bool = False
    # end a game where its outcome is proven

    # training
    training_steps_per_iteration: int = 1000
    # batches learned from between two rounds of self-play
    batch_size: int = 64
    # positions of a batch
    learning_rate: float = 1e-3
    # at the beginning
    lr_schedule: str = "constant"
    # "constant", "cosine" down to nothing, or "steps": a tenth after 60 % of the iterations, a hundredth after 85 %
    weight_decay: float = 1e-4
    # of the optimiser
    weight_average: float = 0.0
    # what plays is a moving average of the weights, that keeps such a share of itself in a step; 0: the weights
    outcome_decay: float = 1.0
    # the outcome of a position is such a share of that of the next one, and for the rest the search's value here; so
    # what a late slip does to the result is felt less the longer ago it is; 1: the game's result alone (Sutton 1988)
    root_value_weight: float = 0.3
    # share of the search's value in the value target; the rest is the game's result
    replay_buffer_capacity: int = 200_000
    # positions kept, the newest
    window_share: float = 1.0
    # learn from the newest share of all positions so far, at least from `min_buffer_size`: so the window grows
    min_buffer_size: int = 20_000
    # positions before the first training
    merge_duplicates: bool = True
    # learn from each distinct position once, with the mean of its targets
    symmetries: bool = True
    # show each position in a random one of its equivalent forms

    # the run
    num_iterations: int = 50
    # rounds of self-play and training
    eval_interval: int = 5
    # iterations between two evaluations
    eval_games: int = 200
    # games of an evaluation
    opening_plies: int = 2
    # random plies that games of evaluation and arena begin with: two players without chance would repeat themselves
    seed: int = 42
    # of everything random
    device: str = "auto"
    # "auto" (the best there is), "cpu", "cuda", "mps", or any name that torch knows
    dtype: str = "auto"
    # in which the network is computed: "auto" (bfloat16 where it is fast), "float32" or "bfloat16"
    threads: int = 0
    # so many play side by side, and the network learns on so many; 0 for one a core
    checkpoint_dir: str = "checkpoints"
    # folder for weights and the state of the run
    log_dir: str = "runs"
    # folder for what is measured on the way

    def __post_init__(self):
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _typed(field, getattr(self, field.name)))
        for keys, holds, wanted in RANGES:
            for key in keys.split():
                if not holds(getattr(self, key)):
                    raise ValueError(f"{key} must be {wanted}, not {getattr(self, key)!r}")
        if self.min_buffer_size > self.replay_buffer_capacity:
            raise ValueError(
                f"min_buffer_size ({self.min_buffer_size}) is more than replay_buffer_capacity "
                f"({self.replay_buffer_capacity}): training would never begin"
            )

    @classmethod
    def load(cls, source: str | Path, overrides: Iterable[str] | dict[str, Any] = ()) -> Self:
        """Read a TOML file, or the one of that name in `c4lib/configs`; then set `overrides` (see `replace`)."""
        from .. import paths  # only here: inside a submission there are none

        configs = paths.PACKAGE / "configs"
        path = Path(source)
        if not path.suffix:
            path = configs / f"{source}.toml"
        if not path.exists():
            known = ", ".join(sorted(file.stem for file in configs.glob("*.toml")))
            raise ValueError(f"there is no configuration {str(source)!r}: name a file, or one of {known}")
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not TOML: {error}") from None
        return cls.from_dict({**values, **_parsed(overrides)})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """From values by key; `game` must be among them."""
        known = {field.name for field in dataclasses.fields(cls)}
        for key in values:
            if key not in known:
                raise ValueError(f"there is no key {key!r}: the keys are {', '.join(sorted(known))}")
        if "game" not in values:
            raise ValueError("the key 'game' is missing")
        return cls(**values)

    def replace(self, overrides: Iterable[str] | dict[str, Any]) -> Self:
        """Another configuration with some values changed: `["num_simulations=50"]` or `{"num_simulations": 50}`."""
        return self.from_dict({**dataclasses.asdict(self), **_parsed(overrides)})

    def to_toml(self) -> str:
        """The text of a TOML file that `load` reads as this configuration."""
        lines = (f"{field.name} = {_toml(getattr(self, field.name))}" for field in dataclasses.fields(self))
        return "\n".join(lines) + "\n"

    def learning_rate_at(self, progress: float) -> float:
        """The learning rate after a share (0 to 1) of the whole run."""
        if self.lr_schedule == "cosine":
            return self.learning_rate * (1 + math.cos(math.pi * progress)) / 2
        if self.lr_schedule == "steps":
            return self.learning_rate * (0.01 if progress >= 0.85 else 0.1 if progress >= 0.6 else 1)
        return self.learning_rate


RANGES = (
    (
        "n_blocks n_channels num_simulations games_per_iteration parallel_games fast_simulations "
        "random_opening_plies training_steps_per_iteration batch_size replay_buffer_capacity min_buffer_size "
        "num_iterations eval_interval eval_games",
        lambda n: n >= 1,
        "at least 1",
    ),
    ("c_puct dirichlet_alpha learning_rate", lambda x: x > 0, "more than 0"),
    ("fpu_reduction weight_decay temperature_threshold opening_plies seed threads", lambda x: x >= 0, "at least 0"),
    (
        "dirichlet_weight root_value_weight full_search_probability random_opening_share window_share weight_average "
        "outcome_decay",
        lambda x: 0 <= x <= 1,
        "from 0 to 1",
    ),
    ("gumbel_actions", lambda n: n == 0 or n >= 2, "0, or at least 2"),
    ("cache_positions", lambda n: n >= 0 and n & (n - 1) == 0, "0 or a power of two"),
    ("lr_schedule", lambda name: name in ("constant", "cosine", "steps"), '"constant", "cosine" or "steps"'),
    ("dtype", lambda name: name in ("auto", "float32", "bfloat16"), '"auto", "float32" or "bfloat16"'),
    ("game device checkpoint_dir log_dir", bool, "some text"),
)  # keys, what must hold, and that in words


def _typed(field, value):
    """The value as the type of its field; an integer will do for a float."""
    kind = field.type
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        article = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[kind]
        raise ValueError(f"{field.name} must be {article}, not {value!r}")
    return value


def _parsed(overrides):
    """Overrides as a dict; of texts `key=value` the value is TOML, or else taken as text."""
    if isinstance(overrides, dict):
        return overrides
    values = {}
    for text in overrides:
        key, separator, value = text.partition("=")
        if not separator:
            raise ValueError(f"{text!r} is not of the form key=value")
        try:
            values[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            values[key.strip()] = value.strip()
    return values


def _toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)
