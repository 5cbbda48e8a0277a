"""Clusters to test with: Ray nodes on this machine, any of which can be killed; and none at all."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

QUICK = {  # how a head notices that a node is dead: after two seconds instead of half a minute
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}


class Here(ThreadPoolExecutor):
    """What stands in for a cluster where there is none: a thread of this process."""

    def __init__(self, address=""):
        super().__init__(1)
        self.address, self.cores = address, 2

    def share(self, value):
        return value

    def __str__(self):
        return f"a thread at {self.address!r}"


@contextmanager
def cluster_of(*cores: int) -> Iterator:
    """A Ray cluster with a node for each of these numbers of cores, and a head that does no work.

    Yields `(address, nodes, kill)`: `kill(node)` ends all processes of a node at once.
    """
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICK})
    try:
        nodes = [cluster.add_node(num_cpus=number) for number in cores]
        yield cluster.address, nodes, lambda node: cluster.remove_node(node, allow_graceful=False)
    finally:
        ray.shutdown()
        cluster.shutdown()
