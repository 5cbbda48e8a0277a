"""What import-linter cannot say: the submission's sources need nothing but the standard library, numpy and numba."""

import sys

import grimp
import pytest

from c4lib.kaggle import export

SUBMISSION = (
    "c4lib.alphazero.config",
    "c4lib.alphazero.mcts",
    "c4lib.alphazero.plain_net",
    "c4lib.bits",
    "c4lib.games.base",
    "c4lib.games.connect4",
    "c4lib.jit",
    "c4lib.kaggle.agent",
    "c4lib.kaggle.alphazero",
    "c4lib.kaggle.perfect",
    "c4lib.lanes",
    "c4lib.search",
)
ALLOWED = {"numpy", "numba", "llvmlite"}  # llvmlite comes with numba
OPTIONAL = {
    "c4lib.alphazero.plain_net": {"torch"}
}  # imported by a function, whose callers do without where it is absent

GRAPH = grimp.build_graph("c4lib", include_external_packages=True, cache_dir=None)
MODULES = sorted(module for module in GRAPH.modules if module.startswith(SUBMISSION))


@pytest.mark.parametrize("module", MODULES)
def test_submission_needs_only_numpy_and_numba(module):
    imported = GRAPH.find_modules_directly_imported_by(module)
    packages = {name for name in imported if not name.startswith("c4lib.")}
    assert packages - sys.stdlib_module_names <= ALLOWED | OPTIONAL.get(module, set())


@pytest.mark.parametrize("entry", [entry for entry, _ in export.AGENTS.values()])
def test_the_exporter_takes_no_other_module(entry):
    assert {f"c4lib.{name}" for name in export.modules(entry)} <= set(MODULES)
