"""The commands of `c4` that compare: `tournament`, `rate`, `sprt`. Like the others they import when they run."""

from pathlib import Path

import click

PATH = click.Path(path_type=Path)


class Plies(click.ParamType):
    """A number of plies, or the fewest and the most, as in 2-6."""

    name = "plies"

    def convert(self, value, param, context):
        if isinstance(value, tuple):
            return value
        low, _, high = str(value).partition("-")
        if not low.isdecimal() or not (high or low).isdecimal() or int(high or low) < int(low):
            self.fail(f"{value!r} is no number of plies: give one, or two as in 2-6", param, context)
        return int(low), int(high or low)


PLIES = click.option(
    "--opening-plies",
    "plies",
    default="2-6",
    show_default=True,
    type=Plies(),
    help="Random moves of an opening, 0 for none.",
)
SEED = click.option("--seed", default=0, show_default=True, help="Of the openings and of those who draw lots.")
PROCESSES = click.option("--processes", type=click.IntRange(min=1), help="How many play; by default one a core.")
OUTPUT = click.option("-o", "--output", type=PATH, help="Parquet file for the games; one that exists is added to.")
ANCHOR = click.option("--anchor", help="The agent whose rating is 0; by default minimax:8, where it played.")


@click.command()
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--game", default="connect4", show_default=True)
@click.option("--openings", default=50, show_default=True, type=click.IntRange(min=1), help="Each is played twice.")
@PLIES
@click.option("--balanced", is_flag=True, help="Only openings that are exactly drawn.")
@click.option("--gauntlet", is_flag=True, help="Only the first agent meets all others.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="Clock for a move; over it is lost.")
@click.option("--bank", default=0.0, show_default=True, type=click.FloatRange(min=0), help="Seconds more, for a game.")
@SEED
@PROCESSES
@ANCHOR
@OUTPUT
def tournament(agents, game, openings, plies, balanced, gauntlet, seconds, bank, seed, processes, anchor, output):
    """Everybody plays everybody, each opening from both seats.

    Prints the ratings. A tournament that was stopped goes on with the same command, and another one with the same
    openings may add agents to its file.
    """
    from .arena import match
    from .arena.openings import random_lines
    from .games import make_game

    rules = make_game(game)
    clock = None if seconds is None else match.Clock(seconds, bank)
    lines = random_lines(rules, openings, plies, seed, balanced=balanced)
    table = match.tournament(
        game, agents, lines, output, gauntlet=gauntlet, clock=clock, seed=seed, processes=processes
    )
    click.echo(_report(table, _ratings(table, anchor)))


@click.command()
@click.argument("file", type=PATH)
@ANCHOR
@click.option("--resamples", default=1000, show_default=True, type=click.IntRange(min=1), help="Of the bootstrap.")
@click.option("-o", "--output", type=PATH, help="CSV file for the ratings.")
def rate(file, anchor, resamples, output):
    """Ratings of all agents in a file of games, with the bounds that hold 95 % of the doubt."""
    from .arena.table import load
    from .resume import write_text

    table = load(file)
    ratings = _ratings(table, anchor, resamples)
    click.echo(_report(table, ratings))
    if output is not None:
        write_text(output, ratings.table.to_csv(lineterminator="\n", float_format="%.4f"))


@click.command()
@click.argument("new")
@click.argument("old")
@click.option("--game", default="connect4", show_default=True)
@click.option("--elo0", default=0.0, show_default=True, help="So much stronger is not worth having.")
@click.option("--elo1", default=30.0, show_default=True, help="So much stronger is what we want to know.")
@click.option("--alpha", default=0.05, show_default=True, help='How often "better" may be wrong.')
@click.option("--beta", default=0.05, show_default=True, help='How often "not better" may be wrong.')
@click.option("--openings", default=2000, show_default=True, type=click.IntRange(min=1), help="At most so many.")
@PLIES
@SEED
@PROCESSES
@OUTPUT
def sprt(new, old, game, elo0, elo1, alpha, beta, openings, plies, seed, processes, output):
    """Is the NEW agent better than the OLD one? Plays until the games say so.

    A sequential probability ratio test over pairs of games from the same opening.
    """
    import os

    from .arena import match
    from .arena.openings import random_lines
    from .arena.sprt import Sprt, count_pairs, elo
    from .games import make_game

    test = Sprt(elo0, elo1, alpha, beta)
    lines = random_lines(make_game(game), openings, plies, seed)
    low, high = test.bounds
    step = match.BLOCK * (processes or os.cpu_count() or 1)
    pairs = 0
    for start in range(0, len(lines), step):
        played = match.tournament(game, [new, old], lines[start : start + step], output, seed=seed, processes=processes)
        pairs = pairs + count_pairs(played, new)
        estimate = elo(pairs)
        click.echo(
            f"{pairs.sum()} openings: {estimate.value:+.0f} Elo ({estimate.low:+.0f} to {estimate.high:+.0f}), "
            f"log-likelihood ratio {test.llr(pairs):+.2f} ({low:.2f} to {high:.2f})"
        )
        if decision := test.decision(pairs):
            click.echo(f"{new} is {decision} than {old}")
            return
    click.echo(f"undecided after {len(lines)} openings")


def _ratings(table, anchor, resamples=1000):
    """The ratings of a table of games; without an anchor minimax:8 is at 0 where it played, or another."""
    from .arena.rating import rate

    players = sorted({*table["first"], *table["second"]})
    anchor = anchor or next(name for name in ("minimax:8", *players) if name in players)
    return rate(table, anchor, resamples=resamples)


def _report(table, ratings):
    """The ratings of a table of games, for people."""
    from .arena.table import duplicates

    forms = {"points": "{:.3f}".format} | dict.fromkeys(("rating", "low", "high"), "{:.0f}".format)
    lines = [
        ratings.table.to_string(formatters=forms),
        "",
        "moving first is worth {:.0f} ({:.0f} to {:.0f})".format(*ratings.first_move),
        "draws {:.2f} ({:.2f} to {:.2f}): 0 for none, 1 for as many as wins between equals".format(*ratings.draws),
    ]
    for (first, second, result, reason), games in table[table["reason"] != ""].groupby(
        ["first", "second", "result", "reason"]
    ):
        lines.append(f"lost by {second if result == 1 else first}: {len(games)} games, {reason}")
    if repeated := duplicates(table):
        lines.append(f"{repeated} of {len(table)} games repeat another one move by move")
    return "\n".join(lines)
