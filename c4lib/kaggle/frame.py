"""What surrounds the lab's modules in a submission: the loader that brings them to life, and a last resort.

The exporter copies this file as it is, so it uses the standard library only.
"""

import contextlib
import importlib.util
import linecache
import sys
import time
import traceback
from importlib.machinery import ModuleSpec


class Submission:
    """Plays with the `Player` of a module among `sources`; whatever happens, answers with an open column.

    The modules are loaded by the first move, not before, so that a failure costs strength and not the game.

    Args:
        package: name for the package to make of the sources, in memory.
        sources: text of each module by its dotted name, each module after those it imports.
        entry: the module with the player.
        files: data files for the player, base64 by name.
    """

    def __init__(self, package, sources, entry, files=None):
        self._origin = package, sources, entry
        self._files = files
        self._player = None

    def __call__(self, observation, configuration):
        started = time.monotonic()
        try:
            if self._player is None:
                self._player = _last_resort  # stays so where loading fails: trying again would cost time every move
                self._player = load(*self._origin).Player(started, self._files)
            return self._player(observation, configuration)
        except Exception:
            with contextlib.suppress(Exception):
                traceback.print_exc()  # to the log that Kaggle keeps of every episode
            return _last_resort(observation, configuration)


def _last_resort(observation, configuration):
    """The open column nearest the centre."""
    columns = configuration["columns"]
    open_columns = [column for column in range(columns) if observation["board"][column] == 0]
    return min(open_columns, key=lambda column: abs(2 * column - columns + 1))


def load(package, sources, entry):
    """The module `entry` of the package made of `sources`; see `Submission`.

    A package that this process has loaded before is used again, and with it what was compiled for it: Kaggle's
    environment executes the file anew in every episode. Nothing stays behind of a package that fails to load.
    """
    if not getattr(sys.modules.get(package), "complete", False):
        try:
            _load_all(package, sources)
            sys.modules[package].complete = True
        except BaseException:
            for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
                del sys.modules[name]
            raise
    return sys.modules[f"{package}.{entry}"]


def _load_all(package, sources):
    """Make the modules in `sys.modules`, where their relative imports find each other."""
    sys.modules[package] = importlib.util.module_from_spec(ModuleSpec(package, None, is_package=True))
    for dotted, source in sources.items():
        parent = package
        for part in dotted.split(".")[:-1]:
            name = f"{parent}.{part}"
            if name not in sys.modules:
                sys.modules[name] = importlib.util.module_from_spec(ModuleSpec(name, None, is_package=True))
                setattr(sys.modules[parent], part, sys.modules[name])
            parent = name
        name = f"{package}.{dotted}"
        file = f"<{name.replace('.', '/')}.py>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # shown in tracebacks
        module = sys.modules[name] = importlib.util.module_from_spec(ModuleSpec(name, None))
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
        setattr(sys.modules[parent], name.rpartition(".")[2], module)
