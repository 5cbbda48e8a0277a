"""The folder of a training run: what is written in it, in an order that a kill at any moment cannot break.

    config.toml         the configuration
    run.json            seed, git revision, versions, options of the trainer
    metrics.csv         a row for each iteration
    checkpoints/NNNN/   the state after iteration NNNN: weights.safetensors, optimiser.safetensors, buffer.npz and
                        state.json with the sums of the others; candidate.safetensors and average.safetensors, the
                        network in training and the average of its weights, where those are not what plays

A file, or a checkpoint as a whole, is written beside and renamed. An iteration ends with its checkpoint, so a row of
metrics that no checkpoint follows is taken away when the run is resumed, and written again. Whole checkpoints are kept
of the last two iterations, and the weights alone of the iterations with an evaluation.
"""

import csv
import hashlib
import json
import platform
import shutil
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import paths
from ..resume import write_text
from .config import Config

WHOLE_CHECKPOINTS = 2
WEIGHTS = "weights.safetensors"  # of the network that plays
CANDIDATE = "candidate.safetensors"
AVERAGE = "average.safetensors"
STATE = "state.json"
BEGUN = "config.toml.*.part"  # all there is of a run that was killed in the first moment
PACKAGES = ("c4lib", "numpy", "torch", "safetensors", "numba")


class RunFolder:
    """One run's files.

    Args:
        folder: where; made if it is not there.
        config: of the run; `checkpoint_dir` is the folder of checkpoints, inside `folder` unless it is absolute.
        options: what else decides how the run goes on, as plain values for JSON.
        columns: of metrics.csv.
        resume: continue the run that is there, instead of beginning one where there is nothing.

    Raises:
        ValueError: something lies in the folder; or to resume, no run, one of another configuration or other
            options, or a damaged one. Nothing is changed then.
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: str | Path, config: Config, options: dict[str, Any], columns: tuple, *, resume: bool):
        self.folder = Path(folder)
        self.config, self.columns = config, columns
        self.checkpoints = self.folder / config.checkpoint_dir
        if resume:
            self._check_same(options)
        else:
            for place in (self.folder, self.checkpoints):
                if place.exists() and (not place.is_dir() or any(not file.match(BEGUN) for file in place.iterdir())):
                    remedy = "resume it, or name another folder" if is_run(place) else "name another folder"
                    raise ValueError(f"{place} holds {'a run' if is_run(place) else 'something else'}: {remedy}")
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.folder / "config.toml", config.to_toml())
        self.latest = self._latest()
        if self.latest is None:  # new, or ended before the first checkpoint
            write_text(self.folder / "run.json", json.dumps({**options, **_origin(config)}, indent=2) + "\n")

    # --- metrics ----------------------------------------------------------------------------------------------------

    @property
    def metrics(self) -> Path:
        """The file with a row for each iteration."""
        return self.folder / "metrics.csv"

    def append(self, row: dict[str, Any]):
        """Add a row to metrics.csv; None becomes an empty cell."""
        line = ",".join("" if row[name] is None else str(row[name]) for name in self.columns)
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def check_metrics(self, iteration: int) -> list[str]:
        """The lines of metrics.csv up to an iteration; ValueError where one is missing."""
        header = ",".join(self.columns)
        lines = self.metrics.read_text(encoding="utf-8").split("\n") if self.metrics.exists() else [header]
        kept = lines[: iteration + 1]
        numbers = [line.split(",")[0] for line in kept[1:]]
        whole = all(line.count(",") == header.count(",") for line in kept)
        if kept[0] != header or not whole or numbers != [str(n + 1) for n in range(iteration)]:
            raise ValueError(
                f"{self.metrics} is damaged: it should begin with a row for each of {iteration} iterations"
            )
        return kept

    def cut_metrics(self, iteration: int):
        """Take away what comes after an iteration; begin the file where there is none."""
        write_text(self.metrics, "\n".join(self.check_metrics(iteration)) + "\n")

    # --- checkpoints ------------------------------------------------------------------------------------------------

    def save(self, iteration: int, state: dict[str, Any], writers: dict[str, Callable[[Path], None]]):
        """Write a checkpoint as a whole, then take away what is no longer kept.

        Args:
            iteration: its number.
            state: plain numbers, for state.json.
            writers: by name of a file, a function that writes it.
        """
        place = self.checkpoints / f"{iteration:04}"
        beside = self.checkpoints / f"{place.name}.part"
        if beside.exists():
            shutil.rmtree(beside)
        beside.mkdir(parents=True)
        for name, write in writers.items():
            write(beside / name)
        sums = {name: _sum(beside / name) for name in writers}
        (beside / STATE).write_text(json.dumps({"iteration": iteration, **state, "sha256": sums}, indent=2) + "\n")
        beside.rename(place)
        self.latest = place
        self._thin_out()

    def read_state(self) -> dict[str, Any]:
        """What state.json of the latest checkpoint says; ValueError where a file of it is missing or damaged."""
        place = self.latest
        try:
            state = json.loads((place / STATE).read_text(encoding="utf-8"))
            sums = state.pop("sha256")
            damaged = [name for name, wanted in sums.items() if _sum(place / name) != wanted]
            if state["iteration"] != int(place.name) or WEIGHTS not in sums:
                damaged.append(STATE)
        except FileNotFoundError as error:
            damaged = [f"{Path(error.filename).name} (missing)"]
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged = [STATE]
        if damaged:
            raise ValueError(
                f"the checkpoint {place} is damaged: {', '.join(damaged)}; remove it to go on from the one before it"
            )
        return state

    def _latest(self):
        """The latest checkpoint; None where the run has not come to its first."""
        places = _numbered(self.checkpoints)
        if not places and self.metrics.exists():
            raise ValueError(f"there is no checkpoint in {self.checkpoints}, but {self.metrics} says there was one")
        return places[-1] if places else None

    def _thin_out(self):
        for place in _numbered(self.checkpoints)[:-WHOLE_CHECKPOINTS]:
            number = int(place.name)
            if number and number % self.config.eval_interval == 0:
                for file in place.iterdir():
                    if file.name != WEIGHTS:
                        file.unlink()
            else:
                shutil.rmtree(place)

    def _check_same(self, options):
        """Raise ValueError unless the folder holds a run of this configuration and these options."""
        file = self.folder / "config.toml"
        if not file.exists():
            raise ValueError(f"there is no run to resume in {self.folder}")
        there, here = Config.load(file), self.config
        differ = [key for key in vars(here) if getattr(there, key) != getattr(here, key)]
        if differ:
            values = ", ".join(f"{key} is {getattr(there, key)!r}, not {getattr(here, key)!r}" for key in differ)
            raise ValueError(f"the run in {self.folder} has another configuration: {values}")
        file = self.folder / "run.json"
        if not file.exists():
            if _numbered(self.checkpoints):
                raise ValueError(f"{file} is missing")
            return
        try:
            saved = json.loads(file.read_text(encoding="utf-8"))
            differ = [key for key, value in options.items() if saved[key] != value]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{file} is damaged") from None
        if differ:
            values = ", ".join(f"{key} is {saved[key]!r}, not {options[key]!r}" for key in differ)
            raise ValueError(f"the run in {self.folder} has other options: {values}")


def find_weights(path: str | Path) -> Path:
    """The file of weights that a path means: itself, that of a checkpoint, or of the latest checkpoint of a run.

    Raises ValueError where there is none.
    """
    path = Path(path)
    if path.is_file():
        return path
    checkpoints = path
    if is_run(path):
        checkpoints = path / Config.load(path / "config.toml").checkpoint_dir
    for place in [path, *reversed(_numbered(checkpoints))]:
        if (place / WEIGHTS).is_file():
            return place / WEIGHTS
    raise ValueError(f"there are no weights at {path}: name a file of them, a checkpoint, or the folder of a run")


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / "config.toml").is_file()


def read_metrics(folder: str | Path) -> dict[str, list[float | None]]:
    """The columns of a run's metrics.csv by name; None for empty cells. Raises ValueError where it is damaged."""
    metrics = Path(folder) / "metrics.csv"
    try:
        with metrics.open(encoding="utf-8", newline="") as file:
            columns = zip(*csv.reader(file), strict=True)
            return {name: [float(cell) if cell else None for cell in cells] for name, *cells in columns}
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{metrics} is damaged: {error}") from None


def _numbered(checkpoints):
    """The checkpoints in a folder, oldest first."""
    places = checkpoints.iterdir() if checkpoints.is_dir() else ()
    return sorted((place for place in places if place.name.isdecimal()), key=lambda place: int(place.name))


def _sum(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _origin(config):
    """Where a run comes from: seed, git revision (None outside a repository), versions."""
    git = ["git", "-C", str(paths.ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        revision = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        revision = None
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {"game": config.game, "seed": config.seed, "git_revision": revision, "versions": versions}
