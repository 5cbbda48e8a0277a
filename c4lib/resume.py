"""What long computations share: worker processes that end with their parent, and files that survive a kill."""

import glob
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path


def worker_pool(
    processes: int | None = None, start: Callable | None = None, arguments: tuple = ()
) -> ProcessPoolExecutor:
    """A pool of fresh processes, by default one a core, which do not outlive this one even where it is killed.

    Args:
        processes: how many.
        start: called in each process before its first task, with `arguments`.
        arguments: for `start`.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, context, _begin, (start, arguments))


@contextmanager
def writing(file: Path) -> Iterator[Path]:
    """A file beside this one to be written: it takes its place at the end, or is gone where something raises.

    What killed writers have left beside this file is taken away first.
    """
    for left in file.parent.glob(f"{glob.escape(file.name)}.*.part"):
        if _has_ended(left.name.split(".")[-2]):
            left.unlink(missing_ok=True)
    beside = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def write_text(file: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with writing(file) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def drop_unfinished_line(file: Path) -> None:
    """Cut off a last line that has no end, as a kill may leave it. What comes before is not touched."""
    if not file.exists():
        return
    with file.open("r+b") as stream:
        content = stream.read()
        if not content.endswith(b"\n"):
            stream.truncate(content.rfind(b"\n") + 1)


def _has_ended(process):
    """Whether surely no process of this machine has this number, which is a text."""
    if os.name != "posix" or not process.isdecimal():  # Windows would take the signal 0 for Ctrl+C
        return False
    try:
        os.kill(int(process), 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, ProcessLookupError)
    return False


def _begin(start, arguments):
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if start:
        start(*arguments)


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)
