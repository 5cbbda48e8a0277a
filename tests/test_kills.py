"""kill -9 at random moments of the long commands: what was done is kept, no file is damaged, the end is the same."""

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import safetensors.torch
from nbformat.v4 import new_code_cell, new_notebook

from c4lib.alphazero.config import Config
from c4lib.alphazero.net import AlphaZeroNet
from c4lib.alphazero.replay import ReplayBuffer
from c4lib.alphazero.run_folder import RunFolder, find_weights, read_metrics
from c4lib.alphazero.trainer import METRICS
from c4lib.arena.table import COLUMNS, load
from c4lib.search.book import Book

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kills processes")]

KILLS, AT_THE_START = 20, 7
PATIENCE = 300  # seconds, for what takes one where the machine has nothing else to do


def begin(folder: Path, setting: str, words: list) -> subprocess.Popen:
    """`c4` with these words, in a session of its own, after some lines of Python that make the job a small one."""
    own = {"C4_PROGRESS": "0", "C4_FIGURES": str(folder / "figures"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    return subprocess.Popen(
        [sys.executable, "-c", f"{setting}\nfrom c4lib.cli import main\nmain()", *map(str, words)],
        cwd=folder, env=os.environ | own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def last_words(command: subprocess.Popen) -> str:
    """What a command printed, as soon as it and all of its children, who hold its output open, have ended."""
    try:
        return command.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        pytest.fail(f"children of {command.pid} live on, {PATIENCE} seconds after its end")


def whole_and_killed(tmp_path, words, done, completed, *, most, setting=""):
    """Do a job at one go in one folder; in another kill it again and again before it may come to its end.

    A third of the kills fall into the time before the first step is done, the others come a random moment after one
    to `most` steps. How long steps take is measured all the time, and no kill waits for a step too many: the machine
    may be busy with other things at any time.

    Args:
        tmp_path: for the folders "whole" and "killed", which may be there.
        words: of the command that begins the job in a folder, or goes on with it.
        done: how many steps were done in a folder, at a time when the command may be running.
        completed: reads all files of a folder that was left by a killed command, and returns a set of what may never
            be lost again.
        most: steps between two kills, so few that the job cannot end before the last kill.
        setting: see `begin`.

    Returns the two folders.
    """
    whole, killed = tmp_path / "whole", tmp_path / "killed"

    def wait(command, folder, steps, seconds=math.inf):
        """Until so many steps are done, or so many seconds are over, or the command has ended; the moment of that."""
        over = time.monotonic() + seconds
        while command.poll() is None and done(folder) < steps and time.monotonic() < over:
            time.sleep(0.005)
        return time.monotonic()

    whole.mkdir(exist_ok=True)
    with begin(whole, setting, words(whole)) as command:
        first = wait(command, whole, 1)
        step = (wait(command, whole, math.inf) - first) / done(whole)
        said = last_words(command)
        assert command.returncode == 0, said
    completed(whole)

    killed.mkdir(exist_ok=True)
    chance = random.Random(KILLS)
    plan = [0] * AT_THE_START + [chance.randint(1, most) for _ in range(KILLS - AT_THE_START - 1)]
    chance.shuffle(plan)
    kept: set = set()
    for steps in [most, *plan]:
        before, began = done(killed), time.monotonic()
        with begin(killed, setting, words(killed)) as command:
            if steps:
                start = wait(command, killed, before + 1) - began
                wait(command, killed, before + steps)
            wait(command, killed, before + steps + 1, chance.uniform(0, step if steps else start))
            command.kill()
            said = last_words(command)
            assert command.returncode == -signal.SIGKILL, said
        now = completed(killed)
        assert kept <= now
        kept = now
    with begin(killed, setting, words(killed)) as command:
        wait(command, killed, math.inf)
        said = last_words(command)
        assert command.returncode == 0, said
    assert kept <= completed(killed)
    assert not list(killed.rglob("*.part")), "nor has anything been left beside the files"
    return whole, killed


# --- training -------------------------------------------------------------------------------------------------------

SETTINGS = {
    "n_blocks": 1, "n_channels": 8, "num_simulations": 6, "games_per_iteration": 6, "training_steps_per_iteration": 4,
    "batch_size": 16, "min_buffer_size": 60, "replay_buffer_capacity": 120, "num_iterations": 100, "eval_interval": 5,
    "threads": 1, "device": "cpu", "dtype": "float32", "cache_positions": 256,
}  # fmt: skip
TINY = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
READERS = {
    "config.toml": Config.load,
    "run.json": lambda file: json.loads(file.read_text()),
    "metrics.csv": lambda file: read_metrics(file.parent),
    "state.json": lambda file: json.loads(file.read_text()),
    "weights.safetensors": AlphaZeroNet.load,
    "optimiser.safetensors": safetensors.torch.load_file,
    "buffer.npz": ReplayBuffer.load,
}


def test_training(tmp_path):
    def words(folder):
        begun = (folder / "run/config.toml").exists()
        kind = ["--resume"] if begun else ["--game", "tictactoe", *TINY]
        return ["train", *kind, "--folder", "run", "--opponent", "none"]

    def checkpoints(folder):
        return sorted(int(place.name) for place in folder.glob("run/checkpoints/*") if place.name.isdecimal())

    def rows(folder):
        """The rows of metrics up to the latest checkpoint."""
        run = folder / "run"
        for file in run.rglob("*"):
            if file.is_file() and ".part" not in str(file.relative_to(run)):
                READERS[file.name](file)
        if not checkpoints(folder):
            return set()
        last = checkpoints(folder)[-1]
        options = {"gate": None, "arena_games": 0}
        files = RunFolder(run, Config.load(run / "config.toml"), options, METRICS, resume=True)
        assert files.read_state()["iteration"] == last, "with the sums of the other files"
        assert find_weights(run).parent.name == f"{last:04}"
        if files.metrics.exists():
            assert len(read_metrics(run)["iteration"]) in (last, last + 1)
        return set(files.check_metrics(last)[1:])

    def result(folder):
        last = folder / f"run/checkpoints/{SETTINGS['num_iterations']:04}"
        metrics = {name: column for name, column in read_metrics(folder / "run").items() if "second" not in name}
        return {file.name: file.read_bytes() for file in last.iterdir()}, metrics, checkpoints(folder)

    def done(folder):
        return max(checkpoints(folder), default=0)

    whole, killed = whole_and_killed(tmp_path, words, done, rows, most=8)
    assert result(killed) == result(whole)


# --- the book -------------------------------------------------------------------------------------------------------

SMALL_BOARD = """
from functools import partial
from c4lib.games.connect4 import Geometry
from c4lib.search import book_builder
small = dict(geometry=Geometry(5, 5, 4), cold_nodes=2000, warm_table_bits=20)
book_builder.build_book = partial(book_builder.build_book, **small)
"""


def test_the_book(tmp_path):
    def words(folder):
        return ["book", "build", "--processes", 2, "--journal", "journal.txt", "-o", "small.book"]

    def text(folder):
        journal = folder / "journal.txt"
        return journal.read_text() if journal.exists() else ""

    def answers(folder):
        """The lines of the journal; one without an end does not count."""
        title, *lines = text(folder).split("\n")[:-1] or [""]
        assert all(line.split()[0] in ("cold", "score", "keeps") and len(line.split()) == 4 for line in lines)
        assert len(set(lines)) == len(lines)
        assert title.startswith("facts for a book") or not lines
        if (folder / "small.book").exists():
            Book.load(folder / "small.book")
        return set(lines)

    def done(folder):
        return max(text(folder).count("\n") - 1, 0)  # without the title

    whole, killed = whole_and_killed(tmp_path, words, done, answers, most=700, setting=SMALL_BOARD)
    assert (killed / "small.book").read_bytes() == (whole / "small.book").read_bytes()
    assert answers(killed) == answers(whole)


# --- tournaments ----------------------------------------------------------------------------------------------------

AGENTS = ["random", "minimax:1", "minimax:2", *(f"mcts:{simulations}" for simulations in range(2, 12))]


def test_a_tournament(tmp_path):
    def words(folder):
        return ["tournament", *AGENTS, "--openings", 5, "--processes", 2, "-o", "games.parquet"]

    def table(folder):
        file = folder / "games.parquet"
        return load(file) if file.exists() else pd.DataFrame(columns=COLUMNS)

    def games(folder):
        assert not table(folder).duplicated(["first", "second", "opening"]).any()
        return set(map(str, table(folder).itertuples(index=False)))

    def untimed(folder):
        return table(folder).drop(columns=["first_seconds", "second_seconds"])

    def done(folder):
        return len(table(folder))  # which can be read at any moment

    whole, killed = whole_and_killed(tmp_path, words, done, games, most=70)
    assert len(untimed(whole)) == 5 * len(AGENTS) * (len(AGENTS) - 1)
    assert untimed(killed).equals(untimed(whole))


# --- notebooks ------------------------------------------------------------------------------------------------------

OWN_NOTEBOOKS = """
from pathlib import Path
from c4lib import paths
paths.NOTEBOOKS, paths.BUILD = Path("notebooks").resolve(), Path("build").resolve()
"""
CELL = """
with open("../log", "a") as log:
    print("a cell", file=log)
"""
DRAWING = """
import matplotlib.pyplot as plt
from c4lib.viz import save_figure
figure, ax = plt.subplots()
ax.plot(range(depth))
save_figure(figure, "{stem}")
plt.close(figure)
print(depth)
"""


def test_notebooks(tmp_path):
    old = tmp_path / "old"
    (old / "notebooks/profiles").mkdir(parents=True)
    (old / "notebooks/profiles/quick.yml").touch()
    (old / "figures").mkdir()
    stems = ["01_first", "02_second", "03_third", "04_fourth"]
    python = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for stem in stems:
        parameters = new_code_cell("depth: int = 8  # plies", metadata={"tags": ["parameters"]})
        cells = [parameters, *(new_code_cell(code.format(stem=stem)) for code in (CELL, DRAWING, CELL))]
        nbformat.write(new_notebook(cells=cells, metadata=python), old / f"notebooks/{stem}.ipynb")
        (old / f"figures/{stem}.svg").write_text("the figure before")
    for folder in ("whole", "killed"):
        shutil.copytree(old, tmp_path / folder)

    def words(folder):
        return ["reproduce", "--in-place"]

    def done(folder):
        log = folder / "log"
        return log.read_text().count("\n") if log.exists() else 0

    def outputs(notebook):
        cells = nbformat.read(notebook, as_version=4).cells
        return [[output.get("text") for output in cell.outputs] for cell in cells]

    def made(folder):
        """Names of the files that are new; the others are the old ones, and all are whole."""
        names = set()
        for name in [f"notebooks/{stem}.ipynb" for stem in stems] + [f"figures/{stem}.svg" for stem in stems]:
            content = (folder / name).read_bytes()
            if content == (tmp_path / "whole" / name).read_bytes():
                names.add(name)
            else:
                assert content == (old / name).read_bytes()
        for notebook in (folder / "build/notebooks").glob("[0-9]*"):
            assert outputs(notebook) == [[], [], ["8\n"], []]
            names.add(notebook.name)
        return names

    whole, killed = whole_and_killed(tmp_path, words, done, made, most=5, setting=OWN_NOTEBOOKS)
    for stem in stems:
        assert outputs(whole / f"notebooks/{stem}.ipynb") == [[], [], ["8\n"], []]
        assert (whole / f"figures/{stem}.svg").read_text().endswith("</svg>\n")
    assert made(killed) == made(whole)
    assert len(list((killed / "build/notebooks").iterdir())) == len(stems), "no part of one"
