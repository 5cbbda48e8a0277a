"""README.md says what is so."""

import re
import runpy

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from c4lib import paths, readme
from c4lib.cli import c4

TEXT = readme.README.read_text(encoding="utf-8")
FENCED = re.findall(r"^```\w*\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
INDENTED = re.findall(r"^    .*$", TEXT, re.MULTILINE)
CODE = "\n".join([*FENCED, *INDENTED, *re.findall(r"`([^`\n]+)`", TEXT)])


def test_generated_parts_are_up_to_date():
    assert readme.updated(TEXT) == TEXT, "run `make readme`"


def test_every_make_target_exists():
    makefile = (paths.ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"^ *make ([a-z-]+)", CODE, re.MULTILINE))
    assert {"reproduce", "test"} <= named <= targets


def test_every_command_exists():
    named = set(re.findall(r"^ *c4 ([a-z]+)", CODE, re.MULTILINE))
    assert {"export", "check"} <= named <= set(c4.commands)


def test_the_layout_names_every_file():
    package = paths.ROOT / "c4lib"
    files = {file.relative_to(package).as_posix() for file in package.rglob("*.py") if file.name != "__init__.py"}
    assert files == set(re.findall(r"^[ \d]{3}(\S+\.py) +\S", readme.layout(), re.MULTILINE))


def test_the_example_runs(tmp_path, capsys):
    [example] = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
    assert capsys.readouterr().out


def test_notebook_table(tmp_path):
    for folder in ("notebooks", "figures"):
        (tmp_path / folder).mkdir()
    for name in ("01_tree.png", "01_tree.svg", "01_win_test.png", "02_other.svg", "01_data.csv"):
        (tmp_path / "figures" / name).touch()
    for stem in ("01_bits", "03_bare"):
        cells = [new_markdown_cell(f"Some words.\n\n# What is {stem}?\n\n## Part")]
        nbformat.write(new_notebook(cells=cells), tmp_path / f"notebooks/{stem}.ipynb")
    assert readme.notebook_table(tmp_path).splitlines()[2:] == [
        "| 01 | [What is 01_bits?](notebooks/01_bits.ipynb) | "
        '[<img src="figures/01_tree.svg" width="240">](figures/01_tree.svg)<br>[win test](figures/01_win_test.png) |',
        "| 03 | [What is 03_bare?](notebooks/03_bare.ipynb) |  |",
    ]


def test_marks_are_missed():
    with pytest.raises(ValueError, match="lacks the marks <!-- notebooks -->"):
        readme.updated("no marks")
