"""Options of the whole test suite."""

import os

import pytest
from click.testing import CliRunner
from hypothesis import settings

os.environ.setdefault("C4_PROGRESS", "0")  # before anything draws a bar

# The same examples on every run and machine; a compilation in the middle of one is no reason to fail.
settings.register_profile("c4lib", deadline=None, derandomize=True, database=None)
settings.load_profile("c4lib")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: needs --slow"))


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Runs a command with some words and lines typed in; what it prints, and what it raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("C4_PROGRESS", "0")

    def run(command, *words, typed=""):
        result = CliRunner().invoke(command, list(map(str, words)), input=typed)
        return result.output, result.exception

    return run
