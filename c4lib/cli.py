"""The `c4` command. Each subcommand imports what it needs when it runs, so that `c4 --help` answers at once."""

import sys
from pathlib import Path

import click

from .cli_alphazero import RAY, evaluate, play, train
from .cli_arena import PATH, rate, sprt, tournament


@click.group(invoke_without_command=True)
@click.version_option(package_name="c4lib", message="%(version)s")
@click.pass_context
def c4(context):
    """A laboratory for Connect Four."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@c4.command()
@click.argument("moves")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; columns are counted from 0 in it.")
@click.option("--no-book", is_flag=True, help="Do without the opening book.")
@click.option("--stats", is_flag=True, help="Also solve the position twice from nothing: its score, and just who wins.")
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop after so long, with bounds for an answer.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1), help="On one table.")
@click.option("--table-bits", default=24, show_default=True, help="The table grows to 2^BITS entries of 8 bytes.")
@click.option("--columns", default=7, show_default=True, help="Size of the board.")
@click.option("--rows", default=6, show_default=True)
@click.option("--inarow", default=4, show_default=True)
def solve(moves, as_json, no_book, stats, seconds, threads, table_bits, columns, rows, inarow):
    """Solve a position: the exact score of every column, the best line.

    MOVES are the columns played so far, one digit each, counted from 1: 4453, or "" for the empty board. A score
    is for the side to move: +1 it wins with its very last stone, +2 with the one before, and so on; 0 a draw, and
    negative where the other side wins so.
    """
    from .report import solve_report

    board = dict(columns=columns, rows=rows, inarow=inarow)
    solver = dict(threads=threads, table_bits=table_bits)
    click.echo(solve_report(moves, board, solver, book=not no_book, stats=stats, seconds=seconds, as_json=as_json))


@c4.command()
@click.option("--profile", default="quick", show_default=True, help="Parameters to run with: quick or full.")
@click.option("--only", multiple=True, metavar="NOTEBOOK", help="A number or name, such as 03; may be repeated.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Notebooks to run at once.")
@click.option("--figures", "figures_only", is_flag=True, help="Only the notebooks that save figures.")
@click.option("--in-place", is_flag=True, help="Put the outputs into the notebooks themselves.")
def reproduce(profile, only, jobs, figures_only, in_place):
    """Run the notebooks, make the figures again.

    Executed copies go to build/notebooks/, figures to figures/.
    """
    from .reproduce import print_results
    from .reproduce import reproduce as run

    results = run(profile, only, jobs=jobs, in_place=in_place, figures_only=figures_only)
    print_results(results)
    if any(result.error for result in results):
        sys.exit(1)


@c4.command()
@click.option(
    "--agent",
    default="perfect",
    show_default=True,
    help="The agent to export: perfect, engine, or alphazero:MODEL[@SIMULATIONS], a model in data/models/.",
)
@click.option("-o", "--output", default="submission.py", show_default=True, type=click.Path(path_type=Path))
def export(agent, output):
    """Write an agent as one file for Kaggle."""
    from .kaggle.export import export as write

    write(agent, output)
    click.echo(f"{output}: {output.stat().st_size:,} bytes")


@c4.command()
@click.argument("submission", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--only", metavar="CASE", help="The one case to run, by the name that the table shows.")
@click.option(
    "--episodes",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Episodes against each opponent in each seat; fifty against Kaggle's own take two minutes.",
)
@click.option(
    "--against",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File of another submission, to play against as well as Kaggle's own agents; may be given several times.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV for the table.")
def check(submission, only, episodes, against, output):
    """Test a submission against all that kills one.

    Takes about five minutes. A lost game is no failure; an error, an illegal move or time overdrawn is.
    """
    from .kaggle.check import check as passes

    if not passes(submission, only, episodes, against, output):
        sys.exit(1)


@c4.command()
@click.argument("agent")
@click.option("--games", default=100, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True)
@click.option("--processes", type=click.IntRange(min=1), help="How many games at once; by default one a core.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV; an existing one is resumed.")
def grade(agent, games, seed, processes, output):
    """Play an agent against all others and grade its moves by the exact solver.

    A quarter of its opponents' moves are random.
    """
    from .arena.graded import grade as run
    from .arena.graded import summary

    click.echo(summary(run(agent, output, games=games, seed=seed, processes=processes)).to_string())


@c4.command()
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--set", "sets", multiple=True, metavar="SET", help="Of the benchmark, such as L2_R2; by default all.")
@click.option("--positions", type=click.IntRange(min=1), help="The first so many of each set; by default all.")
@click.option("-o", "--output", type=PATH, help="CSV for what was played; agents that it has are not asked again.")
def accuracy(agents, sets, positions, output):
    """Measure moves on the benchmark positions against the exact scores.

    Prints the shares of moves that keep the outcome, that keep it where some move loses it, and that keep the exact
    score, with the bounds that hold 95 % of the doubt; and the mean loss of score.
    """
    from .arena.accuracy import accuracy as numbers
    from .arena.accuracy import measure, readable

    click.echo(readable(numbers(measure(agents, sets, positions, output), by=["agent", "set"])).to_string())


@c4.group()
def benchmark():
    """The benchmark positions in data/benchmark/."""


@benchmark.command("build")
@click.option("--only", metavar="SET", help="One set, such as L1_R3; by default all.")
def build_benchmark(only):
    """Make the benchmark positions again, and grade them; takes an hour, and can be stopped and started again."""
    from .arena.benchmark import SETS
    from .arena.benchmark import build as run

    for name in [only] if only else SETS:
        run(name)


@c4.group()
def book():
    """Build the opening book, or check it."""


@book.command()
@click.option("--processes", type=click.IntRange(min=1), help="How many work at once; by default one a core.")
@click.option("--journal", type=click.Path(path_type=Path), help="Resume from, and add to, this file.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it: by default data/book/.")
@RAY
def build(processes, journal, output, cluster):
    """Build the opening book; takes minutes, and can be stopped and started again."""
    from . import paths
    from .cluster import ClusterPool
    from .search.book_builder import build_book

    if cluster is not None and processes is not None:
        raise click.UsageError("name --processes or --ray, not both: of a cluster all cores work")
    journal = journal or paths.BUILD / "book" / "journal.txt"
    output = output or paths.BOOK
    for file in (journal, output):
        file.parent.mkdir(parents=True, exist_ok=True)
    if cluster is None:
        made = build_book(journal, processes=processes)
    else:
        with ClusterPool(cluster) as pool:
            made = build_book(journal, processes=pool.cores, pool=pool)
    made.save(output)
    click.echo(f"{output}: {len(made):,} positions, {output.stat().st_size:,} bytes")


@book.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
def check_file(file):
    """Derive every entry of a book again from its successors."""
    from . import paths
    from .search.book import Book
    from .search.book_builder import check_book

    checked = Book.load(file or paths.BOOK)
    faults = list(check_book(checked))
    for fault in faults:
        click.echo(fault, err=True)
    click.echo(f"{len(checked):,} positions, {len(faults)} faults")
    if faults:
        sys.exit(1)


@c4.command()
@click.argument("parts", nargs=-1, metavar="[perft|engine|solver|alphazero]...")
@click.option("--save", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A folder for CSV files.")
def bench(parts, save):
    """Measure the search on this machine; all of it takes twenty minutes.

    The solver is compared with BitBully where that is installed: `make setup-peers`.
    """
    from .bench import main as measure

    measure(parts, save)


@c4.command(hidden=True)
def readme():
    """Write the tables of README.md again."""
    from .readme import update

    update()


for command in (train, evaluate, play, tournament, rate, sprt):
    c4.add_command(command)


def main() -> None:
    """The entry point: what a user can put right is told in one line, without a traceback."""
    try:
        sys.exit(c4.main(standalone_mode=False))
    except click.UsageError as problem:
        command = problem.ctx.command_path if problem.ctx else "c4"
        _fail(f"{problem.format_message()} (see `{command} --help`)", 2)
    except click.ClickException as problem:
        _fail(problem.format_message(), problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.startswith("c4lib"):
            raise
        _fail(f"the package {problem.name} is not installed; `make setup` installs what the commands need", 1)
    except (ValueError, OSError) as problem:
        _fail(str(problem), 1)


def _fail(message: str, code: int) -> None:
    click.echo(f"error: {message}", err=True)
    sys.exit(code)
