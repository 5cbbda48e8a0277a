"""The commands of `c4` that learn and play: `train`, `eval`, `play`. Like the others they import when they run."""

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click

from .cli_arena import PATH, PLIES, SEED

RAY = click.option(
    "--ray",
    "cluster",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Work on a Ray cluster: that at ADDRESS, or else that of this machine, which is started if need be.",
)


@click.command()
@click.option("--game", help="The game to learn; it has a configuration of its own name.")
@click.option("--config", "config_file", type=PATH, help="TOML file; by default the game's in c4lib/configs.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a value; may be repeated.")
@click.option("--folder", type=PATH, help="Of the run; by default runs/GAME.")
@click.option("--resume", is_flag=True, help="Go on with the run in the folder.")
@click.option("--opponent", default="random", show_default=True, help="To be evaluated against; none for no one.")
@click.option("--minutes", type=click.FloatRange(min=0), help="Begin no iteration later than that; --resume goes on.")
@click.option("--tensorboard", is_flag=True, help="Write the metrics for TensorBoard too.")
@RAY
def train(game, config_file, overrides, folder, resume, opponent, minutes, tensorboard, cluster):
    """Learn a game by self-play.

    The run is a folder: its configuration, metrics.csv, checkpoints. A run that was stopped, however it was stopped,
    goes on with --resume; with --folder alone it takes its configuration from there.
    """
    from .agents import make_agent
    from .alphazero.config import Config
    from .alphazero.distributed import play_on
    from .alphazero.run_folder import is_run
    from .alphazero.trainer import Trainer
    from .cluster import ClusterPool

    source = config_file or game
    if source is None and resume and folder is not None:
        if not is_run(folder):
            raise ValueError(f"there is no run to resume in {folder}")
        source = folder / "config.toml"
    if source is None:
        raise click.UsageError("name a --game or a --config, or a --folder to --resume")
    config = Config.load(source, overrides)
    if game is not None and config.game != game:
        raise ValueError(f"{config_file} is a configuration of {config.game}, not of {game}")
    rival = None if opponent == "none" else make_agent(opponent, seed=config.seed, game=config.game)
    folder = folder or Path(config.log_dir) / config.game
    with nullcontext() if cluster is None else ClusterPool(cluster) as pool:
        self_play = pool and partial(play_on, pool)
        trainer = Trainer(config, folder, resume=resume, tensorboard=tensorboard, self_play=self_play)
        click.echo(f"{config.game}: {trainer.evaluate}; in {folder}, {trainer.iteration} iterations done")
        if pool:
            click.echo(f"self-play on {pool}")
        trainer.run(rival, seconds=None if minutes is None else 60 * minutes)
    click.echo(f"{folder}: {trainer.iteration} iterations done")


@click.command("eval")
@click.option("--game", required=True)
@click.option("--model", type=PATH, help="File of weights, a checkpoint, a run's folder; by default data/models/GAME.")
@click.option("--simulations", default=100, show_default=True, type=click.IntRange(min=0), help="Of each search.")
@click.option("--agent", "name", help="Name of another agent to evaluate, instead of a model.")
@click.option("--opponent", help="Name of an agent, such as minimax:8; by default random.")
@click.option("--opponent-depth", type=click.IntRange(min=1), help="Short for --opponent minimax:DEPTH.")
@click.option("--games", default=100, show_default=True, type=click.IntRange(min=2), help="An even number.")
@PLIES
@SEED
@click.option("-o", "--output", type=PATH, help="CSV for the games, one a row; moves are digits, counted from 1.")
def evaluate(game, model, simulations, name, opponent, opponent_depth, games, plies, seed, output):
    """Play a trained network, or any agent, against another.

    Each opening is played from both seats; none is decided already. The brackets hold 95 % of the doubt about the
    points per game. Without random plies all games begin alike, and differ only where somebody draws lots.
    """
    from . import paths
    from .agents import make_agent
    from .alphazero.agent import AlphaZeroAgent
    from .alphazero.match import play_match
    from .arena.match import Score
    from .arena.openings import after, random_lines
    from .games import make_game
    from .games.base import digits
    from .resume import write_text

    if opponent is not None and opponent_depth is not None:
        raise click.UsageError("name an --opponent or an --opponent-depth, not both")
    if name is not None and model is not None:
        raise click.UsageError("name an --agent or a --model, not both")
    if games % 2:
        raise click.UsageError(f"--games must be even, each opening being played from both seats: not {games}")
    rules = make_game(game)
    if name:
        agent = make_agent(name, seed=seed, game=game)
    else:
        agent = AlphaZeroAgent(model or paths.model(game), rules, simulations)
    opponent = f"minimax:{opponent_depth}" if opponent_depth else opponent or "random"
    rival = make_agent(opponent, seed=seed, game=game)
    count = games // 2
    lines = [[]] * count if plies == (0, 0) else random_lines(rules, count, plies, seed)
    match = play_match(rules, agent, rival, [after(rules, line) for line in lines])
    openings = [line for line in lines for _ in range(2)]
    if output is not None:
        rows = ["opening,seat,moves,result"] + [
            f"{digits(opening)},{1 - i % 2 * 2},{digits(moves)},{result}"
            for i, (opening, moves, result) in enumerate(
                zip(openings, match.moves, match.results.tolist(), strict=True)
            )
        ]
        write_text(output, "\n".join(rows) + "\n")
    distinct = len({(*opening, *moves) for opening, moves in zip(openings, match.moves, strict=True)})
    who = name or f"{simulations} simulations"
    click.echo(f"{who} against {opponent}: {Score(*match.tally)}; {distinct} different games")


@click.command()
@click.option("--game", default="connect4", show_default=True)
@click.option("--agent", "name", help="Name of an agent, such as minimax:8.")
@click.option("--model", type=PATH, help="File of weights, a checkpoint, or the folder of a run.")
@click.option("--simulations", default=100, show_default=True, type=click.IntRange(min=0), help="Of a model's search.")
@click.option("--second", is_flag=True, help="Let the agent begin.")
@click.option("--seed", type=int, help="Of an agent that draws lots.")
def play(game, name, model, simulations, second, seed):
    """Play against an agent in the terminal.

    Moves are numbers, counted from 0 as the board shows them; ? asks the agent for its opinion, q ends the game.
    """
    from .agents import make_agent
    from .games import make_game

    if name is not None and model is not None:
        raise click.UsageError("name an --agent or a --model, not both")
    rules = make_game(game)
    if model is not None:
        from .alphazero.agent import AlphaZeroAgent

        agent = AlphaZeroAgent(model, rules, simulations)
    else:
        agent = make_agent(name or "random", seed=seed, game=game)
    human = -1 if second else 1
    state = rules.initial_state()
    while (value := rules.terminal_value(state)) is None:
        click.echo(board_text(rules, state))
        if rules.current_player(state) == human:
            action = _ask(rules, state, agent)
            if action is None:
                return
        else:
            action = agent(rules, state)
            click.echo(f"the agent plays {action}")
        state = rules.apply(state, action)
    click.echo(board_text(rules, state))
    click.echo({1: "you won", 0: "a draw", -1: "you lost"}[int(value * rules.current_player(state) * human)])


def board_text(game, state) -> str:
    """The board in letters, X for the first player, with the numbers of legal actions on its cells or of all below it.

    Of a state that is several boards the first is shown; an action beyond the cells is a pass.
    """
    rows, columns = state.shape[-2:]
    board = state.reshape(-1, rows, columns)[0]
    legal = game.legal_actions_mask(state)
    by_cell = game.action_size >= rows * columns
    width = len(str(game.action_size - 1)) + 1
    letters = {1: "X", -1: "O"}
    lines = []
    for row in range(rows):
        numbers = [str(row * columns + c) if by_cell and legal[row * columns + c] else "." for c in range(columns)]
        cells = [letters.get(int(board[row, c]), number) for c, number in enumerate(numbers)]
        lines.append("".join(cell.rjust(width) for cell in cells))
    if not by_cell:
        lines.append("".join(str(column).rjust(width) for column in range(columns)))
    if legal[rows * columns :].any():
        lines.append(f" {rows * columns} to pass")
    return "\n".join(["", *lines, ""])


def _ask(game, state, agent):
    """The action that the person at the terminal chooses; None where he has had enough."""
    legal = [action for action, allowed in enumerate(game.legal_actions_mask(state)) if allowed]
    letter = "X" if game.current_player(state) == 1 else "O"
    while True:
        click.echo(f"{letter}, your move (a number, ? or q): ", nl=False)
        line = sys.stdin.readline()
        answer = line.strip()
        if not line or answer.lower() == "q":
            click.echo("ended")
            return None
        if answer == "?":
            click.echo(_opinion(game, state, agent))
        elif answer.isascii() and answer.isdecimal() and int(answer) in legal:
            return int(answer)
        else:
            click.echo(f"{answer!r} is no move here: choose from {', '.join(map(str, legal))}")


def _opinion(game, state, agent):
    """What an agent thinks of a position: the search of a network, or only the move of any other."""
    action = agent(game, state)
    found = getattr(agent, "search", None)
    if not hasattr(found, "visits"):
        return f"the agent would play {action}"
    lines = [f"value {found.value:+.2f} for the side to move; the agent would play {action}", "move visits  value"]
    for move in sorted(found.tree.legal.nonzero()[0], key=lambda move: -found.visits[move]):
        value = "" if found.tree.q[move] != found.tree.q[move] else f"{found.tree.q[move]:+.2f}"
        lines.append(f"{move:4} {found.visits[move]:6} {value:>6}")
    return "\n".join(lines)
