"""What the lab has found, in numbers: each computed from files in data/, beside the command that makes the file.

A new finding is a new line of `RESULTS`; the README's table is made from it.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pandas as pd

from . import paths
from .arena import accuracy
from .arena.match import Score

RATED = "perfect", "alphazero:connect4@400", "alphazero:connect4@100", "alphazero:connect4@0", "mcts:1000", "random"
SHARES = "alphazero:connect4@0", "alphazero:connect4@100", "alphazero:connect4@600"


class Result(NamedTuple):
    """One finding."""

    claim: str
    number: Callable[[], str]  # reads the files each time that it is called
    command: str  # makes these files


def results_table() -> str:
    """A row for each of `RESULTS`: what is claimed, the number, and the command that makes it again."""
    rows = ["| what | found | made by |", "|---|---|---|"]
    before = None
    for claim, number, command in RESULTS:
        made_by = "the same" if command == before else f"`{command}`"
        rows.append(f"| {claim} | {number()} | {made_by} |")
        before = command
    return "\n".join(rows)


def sets_table() -> str:
    """A row for each benchmark set: how fast the solver is there, and BitBully in the same run."""
    header = ["set", "positions", "mean", "median", "nodes", "BitBully, mean", "median", "nodes", "time ratio"]
    rows = [header, ["---"] * len(header)]
    for row in _sets().itertuples():
        ours = duration(row.mean), duration(row.median), f"{row.nodes:,.0f}"
        theirs = duration(row.peer_mean), duration(row.peer_median), f"{row.peer_nodes:,.0f}"
        rows.append([row.set, f"{row.positions:,}", *ours, *theirs, f"{row.ratio:.2f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def duration(seconds: float) -> str:
    """Seconds to three digits, in the largest unit of which there is one: s, ms, µs or ns."""
    seconds = float(f"{seconds:.3g}")
    units = {"s": 1, "ms": 1e-3, "µs": 1e-6}
    unit, length = next((item for item in units.items() if seconds >= item[1]), ("ns", 1e-9))
    return f"{seconds / length:,.0f} {unit}" if seconds >= 1000 else f"{seconds / length:.3g} {unit}"


def _sets():
    return pd.read_csv(paths.DATA / "results/solver/sets.csv")


def _empty_board(question):
    row = pd.read_csv(paths.DATA / "results/solver/empty_board.csv", index_col="question").loc[question]
    return f"{duration(row['seconds'])} (BitBully: {duration(row['peer_seconds'])})"


def _hardest_set():
    row = _sets().sort_values("mean").iloc[-1]
    times = f"{duration(row['mean'])} (BitBully: {duration(row['peer_mean'])})"
    return f"{times}, {row['ratio']:.2f} of its time; mean of {row['positions']} positions of {row['set']}"


def _perfect_player():
    games = pd.read_csv(paths.DATA / "results/perfect/games.csv", dtype={"losses": str})
    losses = games["losses"].str.split().explode().astype(int)
    begun = games[games["seat"] == 1]
    return (
        f"{(losses > 0).sum():,} mistakes in {len(losses):,} moves of {len(games):,} games; moving first "
        f"{(begun['result'] == 1).sum():,} of {len(begun):,} won; slowest move after the first "
        f"{duration(games['slowest_later'].max())}"
    )


def _score(file, seat=None):
    """Points of the games in a file of `c4 eval`, or of those in one seat: +1 moving first, -1 second."""
    games = pd.read_csv(paths.DATA / file)
    results = games["result"] if seat is None else games["result"][games["seat"] == seat]
    return str(Score.of(results))


def _outcomes_kept(agents, name):
    """How many moves of each agent on a benchmark set keep the outcome."""
    moves = accuracy.load(paths.DATA / "results/alphazero/moves.csv")
    table = accuracy.readable(accuracy.accuracy(moves[moves["set"] == name], by="agent"))
    return ", ".join(cell.replace(" (", " % (") for cell in table.loc[list(agents), "outcome kept %"])


def _ratings():
    """Elo of some agents of the tournament, with the bounds that hold 95 % of the doubt."""
    table = pd.read_csv(paths.DATA / "results/arena/ratings.csv", index_col=0)
    return ", ".join(
        "{:+.0f} ({:+.0f} to {:+.0f})".format(*table.loc[name, ["rating", "low", "high"]]) for name in RATED
    )


def _kaggle():
    """How the submission fared in all graded cases of `c4 check`."""
    table = pd.read_csv(paths.DATA / "results/kaggle/episodes.csv")
    table = table[table["episodes"].notna()]
    total = table[["episodes", "won", "drawn", "lost"]].sum().astype(int)
    failed = (table["passed"] == 0).sum()
    return (
        f"{total['episodes']} episodes: {total['won']} won, {total['drawn']} drawn, {total['lost']} lost; "
        f"{f'{failed} cases failed' if failed else 'no error, time-out or illegal move'}; "
        f"first turns of at most {duration(table['first_turn'].max())}, "
        f"no later one over {duration(table['slowest_later'].max())}"
    )


def _self_play():
    table = _self_play_runs()
    plain, cached = table.loc["self-play, no cache"], table.loc["self-play, cache"]
    return (
        f"{plain['evaluations']:,.0f} positions/s, {100 * plain['share']:.0f} % of what the network does alone; "
        f"{plain['simulations']:,.0f} simulations/s, {cached['simulations']:,.0f} with the cache of evaluations"
    )


def _two_threads():
    table = _self_play_runs()
    plain = table["evaluations"]["2 threads, no cache"] / table["evaluations"]["self-play, no cache"]
    cached = table["simulations"]["2 threads, cache"] / table["simulations"]["self-play, cache"]
    return f"{plain:.2f} times as many, {cached:.2f} times with the cache"


def _self_play_runs():
    return pd.read_csv(paths.DATA / "results/alphazero/self_play.csv", index_col="what")


SOLVER = "c4 bench solver --save data/results/solver"
SELF_PLAY = "c4 bench alphazero --save data/results/alphazero"

# In the order of the README. A line goes with the one above it where it begins with three dots.
RESULTS = [
    Result("Solving the empty board from nothing: the exact score", partial(_empty_board, "exact score"), SOLVER),
    Result("... only who wins", partial(_empty_board, "win, draw or loss"), SOLVER),
    Result("Solving a position of the slowest benchmark set", _hardest_set, SOLVER),
    Result(
        "`perfect` against everything in the lab, a quarter of the opponents' moves being random",
        _perfect_player,
        "c4 grade perfect --games 1000 --seed 0 -o data/results/perfect/games.csv",
    ),
    Result(
        "AlphaZero with 100 simulations a move against `minimax:8`, 100 random openings from both seats",
        partial(_score, "models/connect4/minimax8_100.csv"),
        "c4 eval --game connect4 --agent alphazero:connect4@100 --opponent-depth 8 --games 200 "
        "-o data/models/connect4/minimax8_100.csv",
    ),
    Result(
        "... with 600 simulations",
        partial(_score, "models/connect4/minimax8_600.csv"),
        "c4 eval --game connect4 --agent alphazero:connect4@600 --opponent-depth 8 --games 200 "
        "-o data/models/connect4/minimax8_600.csv",
    ),
    Result(
        "... `perfect` in its place, for comparison",
        partial(_score, "results/alphazero/minimax8_perfect.csv"),
        "c4 eval --game connect4 --agent perfect --opponent-depth 8 --games 200 "
        "-o data/results/alphazero/minimax8_perfect.csv",
    ),
    Result(
        "AlphaZero with 600 simulations, moving first on the empty board, against a perfect player that draws lots "
        "among its best moves",
        partial(_score, "models/connect4/empty_perfect.csv", seat=1),
        "c4 eval --game connect4 --agent alphazero:connect4@600 --opponent perfect:varied --games 200 "
        "--opening-plies 0 -o data/models/connect4/empty_perfect.csv",
    ),
    Result(
        "AlphaZero's moves that keep the outcome in positions of real play: no search, 100 simulations, 600",
        partial(_outcomes_kept, SHARES, "real_play"),
        f"c4 accuracy {' '.join(SHARES)} -o data/results/alphazero/moves.csv",
    ),
    Result(
        "Elo on one scale, `minimax:8` being 0: `perfect`, AlphaZero with 400, 100 and no simulations, 1,000 random "
        "playouts a move, random moves",
        _ratings,
        "c4 rate data/results/arena/games.parquet -o data/results/arena/ratings.csv",
    ),
    Result(
        "`perfect` as a submission in Kaggle's environment, against Kaggle's two agents and, as submissions too, "
        "`engine` and the networks `connect4` and `connect4-seed`",
        _kaggle,
        "c4 check submission.py --episodes 50 --against engine.py --against alphazero.py --against seed.py "
        "-o data/results/kaggle/episodes.csv",
    ),
    Result(
        "AlphaZero on Othello, 6 × 6, 100 simulations a move, against `minimax:4`, 100 random openings from both seats",
        partial(_score, "models/othello6/minimax4.csv"),
        "c4 eval --game othello6 --agent alphazero:othello6@100 --opponent minimax:4 --games 200 "
        "-o data/models/othello6/minimax4.csv",
    ),
    Result(
        "... against `greedy`",
        partial(_score, "models/othello6/greedy.csv"),
        "c4 eval --game othello6 --agent alphazero:othello6@100 --opponent greedy --games 200 "
        "-o data/models/othello6/greedy.csv",
    ),
    Result(
        "AlphaZero on Othello, 8 × 8, 100 simulations a move, against `minimax:4`, 100 random openings from both seats",
        partial(_score, "models/othello/minimax4.csv"),
        "c4 eval --game othello --agent alphazero:othello@100 --opponent minimax:4 --games 200 "
        "-o data/models/othello/minimax4.csv",
    ),
    Result(
        "... against `greedy`",
        partial(_score, "models/othello/greedy.csv"),
        "c4 eval --game othello --agent alphazero:othello@100 --opponent greedy --games 200 "
        "-o data/models/othello/greedy.csv",
    ),
    Result(
        "Self-play on one core, an untrained network of 6 blocks and 64 channels, 128 games at one time",
        _self_play,
        SELF_PLAY,
    ),
    Result("... two threads, 128 games each", _two_threads, SELF_PLAY),
]
