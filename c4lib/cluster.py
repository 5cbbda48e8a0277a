"""Work on several machines, by Ray (the extra `ray`): a pool of workers that is used like a pool of processes."""

import os
import socket
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import cache
from typing import Any

from .jit import sources_digest

RETRIES = 4  # of work that is lost
_sources = cache(sources_digest)  # of those that this process was started with


class ClusterPool(Executor):
    """Calls functions on all cores of a Ray cluster, each core in a process of its own.

    Where a process or its machine dies, Ray makes the call again elsewhere; so a function must give the same whenever
    it is called, and each call has one answer however often it was begun. Machines may come and go: calls wait for a
    free core, if need be for the first one. All need the same c4lib, which is checked, and the same packages.

    Args:
        address: of the cluster's head, HOST:PORT; "" for the cluster that this machine belongs to, or else one of this
            machine alone, which ends with the pool. Where this process has joined one already, it is that.

    Raises:
        ValueError: Ray is not installed.
        OSError: no cluster answers there.
    """

    def __init__(self, address: str = ""):
        try:
            import ray
        except ModuleNotFoundError:
            remedy = "pip install -c constraints.txt -e '.[ray]'"
            raise ValueError(f"Ray is not installed, which other machines are reached by: {remedy}") from None
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster started here reports to no one
        self._ray = ray
        self._joined = not ray.is_initialized()
        if self._joined:
            try:
                if ":" in address:
                    _knock(address)
                ray.init(address or None, logging_level="ERROR", log_to_driver=False)
            except (OSError, ValueError, RuntimeError) as error:
                raise OSError(f"no Ray cluster {address or 'here'}: {_first_line(error)}") from None
        self._call = ray.remote(max_retries=RETRIES)(_call)

    def submit(self, function: Callable, /, *arguments: Any, **options: Any) -> Future:
        """Call a function; what `share` gave stands for the value among its arguments.

        The future raises what the function raised, or OSError where the call was lost too often.
        """
        answer: Future = Future()
        answer.set_running_or_notify_cancel()  # from here on it cannot be cancelled
        asked = self._call.remote(_sources(), function, *arguments, **options).future()
        asked.add_done_callback(lambda _: self._settle(answer, asked))
        return answer

    def share(self, value: Any) -> Any:
        """Send a value once, for many calls: each machine fetches it when the first of them comes there."""
        return self._ray.put(value)

    @property
    def cores(self) -> int:
        """Of all machines that are there now."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def __str__(self) -> str:
        return f"a cluster of {self.cores} cores"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; calls without an answer are dropped."""
        if self._joined:
            self._ray.shutdown()

    def _settle(self, answer, asked):
        """Hand on an answer of Ray's, or what went wrong as it would have been raised here."""
        error = asked.exception()
        if error is None:
            answer.set_result(asked.result())
        elif isinstance(error, self._ray.exceptions.RayTaskError):
            error.cause.__cause__ = error  # it tells where
            answer.set_exception(error.cause)
        else:
            answer.set_exception(OSError(f"lost {RETRIES + 1} times, and given up: {_first_line(error)}"))


def _knock(address):
    """Raise OSError or ValueError where nothing listens; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    socket.create_connection((host, int(port)), timeout=10).close()


def _call(sources, function, *arguments, **options):
    if sources != _sources():
        raise ValueError(f"{socket.gethostname()} has another c4lib than this machine: install the same on both")
    return function(*arguments, **options)


def _first_line(error):
    return str(error).strip().partition("\n")[0]
