"""Running notebooks by machine, on small notebooks made here."""

import os

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from c4lib.reproduce import choose, print_results, read_profile, reproduce


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder with two notebooks and a quick profile; and functions to run them."""
    monkeypatch.setenv("C4_PROGRESS", "0")
    for folder in ("notebooks/profiles", "figures"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path, "01_first", "print(depth)\nopen('../figures/01_drawn.svg', 'w').close()  # save_figure(")
    write(tmp_path, "02_second", "import os\nprint(os.environ['C4_PROGRESS'])\nraise KeyError('a [bold] one')")
    write_profile(tmp_path, "quick", {"01_first": {"depth": 8}})
    write_profile(tmp_path, "full", {"01_first": {"depth": 10}})
    return tmp_path


def write(lab, stem: str, code: str) -> None:
    parameters = new_code_cell("depth: int = 8  # plies", metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell(f"# {stem}?"), parameters, new_code_cell(code)]
    python = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=python), lab / f"notebooks/{stem}.ipynb")


def write_profile(lab, name: str, content: dict) -> None:
    (lab / f"notebooks/profiles/{name}.yml").write_text(yaml.safe_dump(content))


def run(lab, *arguments, **options):
    folders = {"notebooks": lab / "notebooks", "executed": lab / "build", "figures": lab / "figures"}
    return reproduce(*arguments, **folders, **options)


def printed(notebook) -> str:
    cells = nbformat.read(notebook, as_version=4).cells
    return "".join(output.get("text", "") for cell in cells if cell.cell_type == "code" for output in cell.outputs)


def test_run(lab, capsys):
    (lab / "figures/01_old.svg").touch()
    long_ago = 1_000_000_000
    os.utime(lab / "figures/01_old.svg", (long_ago, long_ago))
    first, second = results = run(lab, "full", jobs=2)
    assert (first.notebook, first.figures, first.error) == ("01_first", ["01_drawn.svg"], None)
    assert (second.notebook, second.figures) == ("02_second", [])
    assert second.error == "cell 2: KeyError: 'a [bold] one'"
    assert printed(lab / "build/01_first.ipynb") == "10\n"
    assert printed(lab / "build/02_second.ipynb") == "0\n"
    assert sorted(file.name for file in (lab / "build").iterdir()) == ["01_first.ipynb", "02_second.ipynb"]
    assert printed(lab / "notebooks/01_first.ipynb") == ""

    print_results(results)
    table = capsys.readouterr().out
    assert "01_first" in table
    assert "done" in table
    assert "[bold]" in table


def test_run_in_place(lab):
    [result] = run(lab, in_place=True, figures_only=True)
    assert (result.notebook, result.error) == ("01_first", None)
    content = nbformat.read(lab / "notebooks/01_first.ipynb", as_version=4)
    assert [cell.metadata for cell in content.cells] == [{}, {"tags": ["parameters"]}, {}]
    assert [cell.execution_count for cell in content.cells[1:]] == [1, 2]
    assert content.cells[2].outputs == [new_output("stream", name="stdout", text="8\n")]
    assert "papermill" not in content.metadata


def test_choose(lab):
    def stems(*only):
        return [notebook.stem for notebook in choose(only, lab / "notebooks")]

    assert stems() == ["01_first", "02_second"]
    assert stems("02") == stems("2") == stems("02_second") == ["02_second"]
    assert stems("2", "1") == ["01_first", "02_second"]
    with pytest.raises(ValueError, match="no notebook 03; there are: 01_first, 02_second"):
        stems("1", "03")


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ({"01_first": {"dept": 3}}, "quick.yml: 01_first has no parameter dept; it has: depth"),
        ({"03_third": {"depth": 3}}, "quick.yml: no notebook 03_third; there are: 01_first, 02_second"),
    ],
)
def test_wrong_profiles_are_refused_before_anything_runs(lab, profile, said):
    write_profile(lab, "quick", profile)
    with pytest.raises(ValueError, match=said):
        run(lab)
    assert not (lab / "build").exists()


def test_unknown_profile(lab):
    with pytest.raises(ValueError, match="no profile 'huge'; there are: full, quick"):
        read_profile("huge", lab / "notebooks")
