"""A pool on a cluster: its answers, whatever dies; that games and book are the same is tested where they are made."""

import os
import signal
import sys
import time

import pytest

from c4lib import cli, cluster
from c4lib.cluster import RETRIES, ClusterPool

from .nodes import Here, cluster_of

# --- commands -------------------------------------------------------------------------------------------------------

TRAIN = ("train", "--game", "tictactoe")
BUILD = ("book", "build", "--journal", "journal.txt", "-o", "a.book")


def failed(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["c4", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize("command", [TRAIN, BUILD])
@pytest.mark.parametrize("option", [("--ray",), ("--ray", "10.0.0.1:6379")])
def test_without_ray_one_line_says_so(monkeypatch, capsys, tmp_path, command, option):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    code, error = failed(monkeypatch, capsys, *command, *option)
    assert code == 1
    assert error.startswith("error: Ray is not installed")
    assert "'.[ray]'" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["127.0.0.1:9", "127.0.0.1:head", "head"])
def test_no_cluster_is_one_line(monkeypatch, capsys, tmp_path, address):
    pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    code, error = failed(monkeypatch, capsys, *TRAIN, "--ray", address)
    assert code == 1
    assert error.startswith(f"error: no Ray cluster {address}: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "address"), [(("--ray",), ""), (("--ray=head:1",), "head:1")])
def test_the_book_is_built_on_the_cluster(monkeypatch, capsys, tmp_path, words, address):
    asked = []

    def build(journal, *, processes, pool):
        asked.append((processes, pool.address))
        raise ValueError("built")

    monkeypatch.setattr(cluster, "ClusterPool", Here)
    monkeypatch.setattr("c4lib.search.book_builder.build_book", build)
    monkeypatch.chdir(tmp_path)
    assert failed(monkeypatch, capsys, *BUILD, *words) == (1, "error: built\n")
    assert asked == [(2, address)]


def test_a_cluster_works_on_all_cores(monkeypatch, capsys):
    code, error = failed(monkeypatch, capsys, *BUILD, "--ray", "--processes", "3")
    assert code == 2
    assert "not both" in error


# --- a cluster ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nodes():
    """One node of two cores: (address, nodes, kill)."""
    with cluster_of(2) as made:
        yield made


@pytest.fixture
def pool(nodes):
    with ClusterPool(nodes[0]) as pool:
        yield pool


@pytest.mark.slow
def test_answers(pool):
    assert str(pool) == "a cluster of 2 cores"
    sent = pool.share(list(range(1000)))
    futures = [pool.submit(lambda numbers, *, at: numbers[at], sent, at=at) for at in range(20)]
    assert [future.result() for future in futures] == list(range(20))
    assert not futures[0].cancel()


@pytest.mark.slow
def test_what_a_function_raises_is_raised_here(pool):
    def refuse(number):
        raise ValueError(f"{number} will not do")

    with pytest.raises(ValueError, match=r"^3 will not do$") as told:
        pool.submit(refuse, 3).result()
    assert type(told.value) is ValueError
    assert "in refuse" in str(told.value.__cause__)


@pytest.mark.slow
def test_calls_of_processes_that_die_are_made_again(pool, tmp_path):
    def dies_at_first(number):
        with (tmp_path / str(number)).open("a") as file:
            file.write("begun ")
        if number % 3 == 0 and (tmp_path / str(number)).read_text() == "begun ":
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    futures = [pool.submit(dies_at_first, number) for number in range(10)]
    assert [future.result() for future in futures] == list(range(10))
    begun = [(tmp_path / str(number)).read_text().count("begun") for number in range(10)]
    assert begun == [2 if number % 3 == 0 else 1 for number in range(10)]


@pytest.mark.slow
def test_a_call_that_always_kills_is_given_up(pool, tmp_path):
    def dies():
        with (tmp_path / "log").open("a") as file:
            file.write("begun ")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(OSError, match=f"^lost {RETRIES + 1} times, and given up: ") as told:
        pool.submit(dies).result()
    assert len(str(told.value).splitlines()) == 1
    assert (tmp_path / "log").read_text().count("begun") == RETRIES + 1


@pytest.mark.slow
def test_another_c4lib_is_refused(pool, monkeypatch):
    monkeypatch.setattr(cluster, "_sources", lambda: "of another kind")
    with pytest.raises(ValueError, match=r"has another c4lib than this machine"):
        pool.submit(int).result()


@pytest.mark.slow
def test_calls_wait_for_a_machine():
    with cluster_of() as (address, _, _), ClusterPool(address) as pool:
        assert pool.cores == 0
        asked = pool.submit(int)
        time.sleep(1)
        assert not asked.done()
