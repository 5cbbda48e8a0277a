"""What every notebook of the lab has. That its outputs are still right is compared by nbval, in `make test`."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from c4lib import paths
from c4lib.reproduce import choose, read_profile

# every notebook, by hand: one that is no longer found must not go unnoticed
STEMS = [
    "01_bitboards",
    "02_othello_bitboards",
    "03_search_ablation",
    "04_exact_solver",
    "05_alphazero_tictactoe",
    "06_alphazero_connect4",
    "07_elo",
    "08_kaggle_submission",
    "09_play",
]

MOST_CODE_CELLS = 39
ABSOLUTE_PATH = re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|opt|var|mnt|private|Users)/|\b[A-Z]:\\\\?\w")


@pytest.fixture(params=choose(), ids=lambda file: file.stem)
def file(request) -> Path:
    return request.param


@pytest.fixture
def notebook(file):
    return nbformat.read(file, as_version=4)


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(output) -> list[str]:
    """The parts of an output that are text."""
    data = {kind: text for kind, text in output.get("data", {}).items() if kind.startswith("text/")}
    return [output.get("text", ""), *data.values()]


def defaults(notebook) -> dict:
    """The parameters in the cell tagged so, with their values."""
    [cell] = [cell for cell in code_cells(notebook) if "parameters" in cell.metadata.get("tags", [])]
    statements = [node for node in ast.parse(cell.source).body if isinstance(node, ast.AnnAssign)]
    return {statement.target.id: ast.literal_eval(statement.value) for statement in statements}


def test_all_are_found():
    assert [file.stem for file in choose()] == STEMS
    assert sorted(paths.NOTEBOOKS.rglob("*.ipynb")) == choose(), "each lies in notebooks/ and is named NN_snake_name"


def test_its_title_is_a_question(notebook):
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# .*\?$", first.source.splitlines()[0])


def test_it_has_one_cell_of_annotated_parameters(notebook):
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert cell.cell_type == "code"
    kinds = {type(node) for node in ast.parse(cell.source).body}
    assert kinds <= {ast.AnnAssign}, "papermill takes a parameter's type from its annotation"


def test_it_is_short(notebook):
    assert len(code_cells(notebook)) <= MOST_CODE_CELLS


def test_it_was_run_from_top_to_bottom(notebook):
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1)), "run `make notebooks`"


def test_some_outputs_are_compared(notebook):
    tags = [tag for cell in code_cells(notebook) for tag in cell.metadata.get("tags", [])]
    assert tags.count("nbval-check-output") >= 3


def test_no_cell_failed(notebook):
    kinds = {output.output_type for cell in code_cells(notebook) for output in cell.outputs}
    assert "error" not in kinds


def test_it_can_be_read_without_a_kernel(notebook):
    kinds = {kind for cell in code_cells(notebook) for output in cell.outputs for kind in output.get("data", {})}
    assert not [kind for kind in kinds if "widget" in kind], "a picture has to stand in for a widget"
    assert "widgets" not in notebook.metadata


def test_its_kernel_is_python3(notebook):
    assert notebook.metadata.kernelspec.name == "python3"


def test_it_says_what_was_found(notebook):
    headings = [cell.source.splitlines()[0] for cell in notebook.cells if cell.cell_type == "markdown"]
    assert "## What we found" in headings


def test_it_ends_with_versions(notebook):
    assert notebook.cells[-1].cell_type == "code"
    assert "version" in notebook.cells[-1].source


def test_its_outputs_name_no_place_on_a_disk(notebook):
    for cell in code_cells(notebook):
        for text in (text for output in cell.outputs for text in texts(output)):
            assert not ABSOLUTE_PATH.search(text)
            assert str(paths.ROOT) not in text


def test_its_figures_exist(file, notebook):
    source = "\n".join(cell.source for cell in notebook.cells)
    saved = re.findall(r"save_figure\([^)]*?[\"']([\w.]+)[\"']", source)
    shown = re.findall(r"figures/([\w.]+)", source)
    assert [name for name in saved if name[:2] != file.stem[:2]] == []
    assert [name for name in saved + shown if not list((paths.ROOT / "figures").glob(f"{Path(name).stem}.*"))] == []


def test_it_is_clean(file):
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, str(file)]
        result = subprocess.run(ruff, capture_output=True, text=True, cwd=paths.ROOT)
        assert result.returncode == 0, result.stdout + result.stderr


def test_quick_is_the_committed_defaults(file, notebook):
    quick = read_profile("quick").get(file.stem, {})
    committed = defaults(notebook)
    assert quick == committed


def test_full_is_fit_to_run():
    read_profile("full")  # raises where it names what does not exist
