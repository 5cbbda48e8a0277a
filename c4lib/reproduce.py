"""Runs the notebooks by machine, with the parameters of a profile: every number and figure of the lab made again.

A profile, `notebooks/profiles/NAME.yml`, maps notebooks to values of their parameters. `quick` repeats the defaults
that are committed in the notebooks; `full` asks for what takes hours.
"""

import os
import time
from collections.abc import Callable, Collection
from contextlib import chdir
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.pool import ThreadPool
from pathlib import Path

import nbformat
import papermill
import yaml
from papermill.engines import NBClientEngine, papermill_engines
from rich.console import Console
from rich.table import Table

from . import paths
from .progress import bar
from .resume import writing

CELL_TIMEOUT = {"quick": 600, "full": 6 * 3600}  # seconds that one cell may take, by profile
MACHINE_MARKS = ("papermill", "execution", "widgets")  # metadata that differ in every run; not for committed notebooks
WIDGET = "application/vnd.jupyter.widget-view+json"  # the same: without a kernel the picture beside it is shown


@dataclass(frozen=True)
class Result:
    """What became of one notebook.

    Attributes:
        notebook: its name, without the ending.
        seconds: how long it ran.
        figures: names of the files that it wrote into figures/.
        error: None, or one line that says what stopped it.
    """

    notebook: str
    seconds: float
    figures: list[str]
    error: str | None


def reproduce(
    profile: str = "quick",
    only: Collection[str] = (),
    *,
    jobs: int = 1,
    in_place: bool = False,
    figures_only: bool = False,
    notebooks: Path = paths.NOTEBOOKS,
    executed: Path = paths.BUILD / "notebooks",
    figures: Path = paths.FIGURES,
) -> list[Result]:
    """Run notebooks under one progress bar.

    Args:
        profile: "quick" or "full", the parameters to run with.
        only: numbers or names of the notebooks to run; all where empty.
        jobs: how many run at once.
        in_place: run with the committed defaults, and put the outputs into the notebooks themselves.
        figures_only: leave out the notebooks that save no figure.
        notebooks: folder of the notebooks and of `profiles/`.
        executed: folder for the executed copies.
        figures: folder in which new figures are looked for.

    Returns:
        A result for each notebook, in their order.

    Raises:
        ValueError: a profile, notebook or parameter that does not exist was asked for; nothing has run.
    """
    if find_spec("ipykernel") is None:  # papermill comes without a kernel
        raise ModuleNotFoundError("No module named 'ipykernel'", name="ipykernel")
    if in_place and profile != "quick":
        raise ValueError(f"notebooks are run in place with their own defaults, not with the profile {profile!r}")
    parameters = read_profile(profile, notebooks)
    chosen = choose(only, notebooks)
    if figures_only:
        chosen = [notebook for notebook in chosen if "save_figure(" in notebook.read_text(encoding="utf-8")]
    if not chosen:
        raise ValueError(f"no notebook to run in {notebooks}")
    executed.mkdir(parents=True, exist_ok=True)
    papermill_engines.register("c4", _WatchedEngine)

    cells = sum(_code_cells(notebook) for notebook in chosen)
    # papermill changes the folder of the whole process around each notebook: harmless where it is there already
    with bar(total=cells, unit="cell") as progress, chdir(notebooks), ThreadPool(jobs) as pool:
        os.environ["C4_PROGRESS"] = "0"  # inherited by the kernels

        def run(notebook: Path) -> Result:
            def on_cell():
                with progress.get_lock():
                    progress.update()
                    progress.set_postfix_str(notebook.stem)

            values = {} if in_place else parameters.get(notebook.stem, {})
            return _run(notebook, values, CELL_TIMEOUT[profile], on_cell, in_place, executed, figures)

        return list(pool.imap(run, chosen))


def choose(only: Collection[str] = (), notebooks: Path = paths.NOTEBOOKS) -> list[Path]:
    """The notebooks of these numbers ("03" or "3") or names ("03_search_ablation"); all where none is given."""
    found = {notebook.stem: notebook for notebook in sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))}
    names = {key: stem for stem in found for key in (stem, stem[:2], str(int(stem[:2])))}
    if unknown := sorted(set(only) - set(names)):
        raise ValueError(f"no notebook {', '.join(unknown)}; there are: {', '.join(found) or 'none'}")
    wanted = {names[key] for key in only} or set(found)
    return [notebook for stem, notebook in found.items() if stem in wanted]


def profiles(notebooks: Path = paths.NOTEBOOKS) -> list[str]:
    """Names of the profiles."""
    return sorted(profile.stem for profile in (notebooks / "profiles").glob("*.yml"))


def read_profile(name: str, notebooks: Path = paths.NOTEBOOKS) -> dict[str, dict]:
    """The profile's parameters by notebook, each checked to be one that the notebook has.

    papermill only warns of a parameter that it does not know, and hours later the result is that of the default.
    """
    if name not in profiles(notebooks):
        raise ValueError(f"no profile {name!r}; there are: {', '.join(profiles(notebooks))}")
    file = notebooks / "profiles" / f"{name}.yml"
    profile = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    stems = [notebook.stem for notebook in choose((), notebooks)]
    for stem, values in profile.items():
        if stem not in stems:
            raise ValueError(f"{file.name}: no notebook {stem}; there are: {', '.join(stems) or 'none'}")
        known = papermill.inspect_notebook(notebooks / f"{stem}.ipynb")
        if unknown := sorted(set(values) - set(known)):
            allowed = ", ".join(known) or "none"
            raise ValueError(f"{file.name}: {stem} has no parameter {', '.join(unknown)}; it has: {allowed}")
    return profile


def print_results(results: list[Result], console: Console | None = None) -> None:
    """The closing table."""
    table = Table()
    table.add_column("notebook")
    table.add_column("seconds", justify="right")
    table.add_column("figures", justify="right")
    table.add_column("status")
    for result in results:
        status = "[green]done" if result.error is None else f"[red]{_plain(result.error)}"
        table.add_row(result.notebook, f"{result.seconds:.0f}", str(len(result.figures)), status)
    (console or Console()).print(table)


def _run(
    notebook: Path,
    parameters: dict,
    cell_timeout: int,
    on_cell: Callable[[], None],
    in_place: bool,
    executed: Path,
    figures: Path,
) -> Result:
    """Run one notebook; an executed copy is left behind also where it fails."""
    partial = executed / f"partial_{notebook.name}"
    partial.unlink(missing_ok=True)
    started = time.time()
    error = None
    try:
        papermill.execute_notebook(
            notebook,
            partial,
            parameters,
            engine_name="c4",
            cwd=notebook.parent,
            kernel_name="python3",
            execution_timeout=cell_timeout,
            progress_bar=False,
            on_cell=on_cell,
            coalesce_streams=True,  # one output for what is printed in one go, however it arrived
            extra_arguments=["--log-level=CRITICAL"],  # a kernel talks across the progress bar otherwise
        )
    except papermill.PapermillExecutionError as problem:
        error = f"cell {problem.exec_count}: {problem.ename}: {problem.evalue}"
    except Exception as problem:  # a time limit, a dead kernel: told in the table like the rest
        error = f"{type(problem).__name__}: {problem}"
    if partial.exists():
        partial.replace(executed / notebook.name)
    if in_place and error is None:
        _write_outputs(executed / notebook.name, notebook)
    drawn = sorted(figures.glob(f"{notebook.stem[:2]}_*"))
    return Result(
        notebook=notebook.stem,
        seconds=time.time() - started,
        figures=[file.name for file in drawn if file.stat().st_mtime >= started],
        error=error and error.splitlines()[0],
    )


def _write_outputs(executed: Path, notebook: Path) -> None:
    """Replace a notebook by its executed copy, less what differs in every run."""
    content = nbformat.read(executed, as_version=4)
    for part in (content, *content.cells):
        for mark in MACHINE_MARKS:
            part.metadata.pop(mark, None)
    for cell in content.cells:
        if not cell.metadata.get("tags"):  # papermill gives every cell a list
            cell.metadata.pop("tags", None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
    with writing(notebook) as beside:
        nbformat.write(content, beside)


def _code_cells(notebook: Path) -> int:
    return sum(cell.cell_type == "code" for cell in nbformat.read(notebook, as_version=4).cells)


def _plain(text: str) -> str:
    """Text in which rich sees no markup."""
    return text.replace("[", r"\[")


class _WatchedEngine(NBClientEngine):
    """papermill's own engine, which also tells of each of the notebook's code cells when it is through."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, *, on_cell, **options):
        complete = nb_man.cell_complete

        def watched(cell, **where):
            complete(cell, **where)
            if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.tags:
                on_cell()

        nb_man.cell_complete = watched
        return super().execute_managed_notebook(nb_man, kernel_name, **options)
