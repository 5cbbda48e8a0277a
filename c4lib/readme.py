"""Writes the parts of README.md that repeat what other files say: results, notebooks, and how the code is laid out."""

import ast
import re
import tomllib
from pathlib import Path

import nbformat

from . import paths, results
from .resume import write_text

README = paths.ROOT / "README.md"

# The two pictures of each notebook that the README shows, by number; of others the first one.
SHOWN = {
    "01": ("carry", "win_steps"),
    "02": ("flips", "fill"),
    "03": ("ladder", "tree"),
    "04": ("sets", "openings"),
    "05": ("mistakes", "curves"),
    "06": ("accuracy", "history"),
    "07": ("crosstable", "accuracy"),
    "08": ("episode", "clock"),
    "09": ("opinions", "blunder"),
}
WIDTH = 200  # of each of them, in pixels


def update() -> None:
    """Write README.md again."""
    write_text(README, updated(README.read_text(encoding="utf-8")))


def updated(text: str) -> str:
    """The text with its generated parts made anew, each between `<!-- name -->` and `<!-- /name -->`."""
    parts = {
        "results": results.results_table,
        "sets": results.sets_table,
        "notebooks": notebook_table,
        "layout": layout,
    }
    for name, make in parts.items():
        opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if opening not in text or closing not in text:
            raise ValueError(f"README.md lacks the marks {opening.strip()} and {closing}")
        before, _, rest = text.partition(opening)
        text = f"{before}{opening}{make()}\n{closing}{rest.partition(closing)[2]}"
    return text


def notebook_table(root: Path = paths.ROOT) -> str:
    """A row for each notebook: its number, its title, and one or two of its figures."""
    rows = ["| | question | | |", "|---|---|---|---|"]
    for notebook in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        number = notebook.stem[:2]
        pictures = [
            f'[<img src="figures/{name}" width="{WIDTH}" alt="{_label(name)}">](figures/{name})'
            for name in figures_shown(number, root)
        ]
        first, second = [*pictures, "", ""][:2]
        cells = number, f"[{title(notebook)}](notebooks/{notebook.name})", first, second
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def title(notebook: Path) -> str:
    """The first heading of a notebook, without its number."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown" and (heading := re.search(r"^#+ (.*)$", cell.source, re.MULTILINE)):
            return re.sub(r"^\d\d · ", "", heading[1].strip())
    raise ValueError(f"{notebook.name} has no heading")


def figures_of(number: str, root: Path = paths.ROOT) -> list[str]:
    """Names of the figures of the notebook of that number; of a figure in two formats the sharper one, svg."""
    files = sorted((root / "figures").glob(f"{number}_*"), key=lambda file: file.suffix)  # png before svg
    return sorted({file.stem: file.name for file in files if file.suffix in (".png", ".svg")}.values())


def figures_shown(number: str, root: Path = paths.ROOT) -> list[str]:
    """Those of `figures_of` that stand for the notebook: the ones in `SHOWN` that exist, else the first one."""
    names = {Path(name).stem[3:]: name for name in figures_of(number, root)}
    return [names[stem] for stem in SHOWN.get(number, ()) if stem in names] or list(names.values())[:1]


def _label(figure: str) -> str:
    """What a figure is of, from its name."""
    return Path(figure).stem[3:].replace("_", " ")


def layout(root: Path = paths.ROOT) -> str:
    """The floors of the house from the top, as import-linter keeps them, with what each file says it is."""
    lines = []
    stories = floors(root)
    for number, modules in zip(reversed(range(len(stories))), stories, strict=True):
        files = [file for module in modules for file in _files(root / "c4lib" / module)]
        for i, file in enumerate(files):
            name = file.relative_to(root / "c4lib").as_posix()
            lines.append(f"{number if i == 0 else '':<3}{name:<25}{_summary(file)}")
    return "\n".join(["```", *lines, "```"])


def floors(root: Path = paths.ROOT) -> list[list[str]]:
    """Names of the modules on each floor, from the top."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [re.findall(r"\w+", layer) for layer in layers]


def _files(module: Path) -> list[Path]:
    """The files of a module or package; none where it does not exist."""
    if module.is_dir():
        return [file for file in sorted(module.rglob("*.py")) if file.name != "__init__.py"]
    return [file for file in [module.with_suffix(".py")] if file.exists()]


def _summary(file: Path) -> str:
    """The first sentence of a file's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{file.name} does not say what it is: it lacks a docstring")
    return re.split(r"(?<=\.)\s", docstring)[0].replace("\n", " ")
