"""Writes the parts of README.md that repeat what other files say: the notebooks, and how the code is laid out."""

import ast
import re
import tomllib
from pathlib import Path

import nbformat

from . import paths

README = paths.ROOT / "README.md"


def update() -> None:
    """Write README.md again."""
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")


def updated(text: str) -> str:
    """The text with its generated parts made anew, each between `<!-- name -->` and `<!-- /name -->`."""
    for name, content in {"notebooks": notebook_table(), "layout": layout()}.items():
        opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if opening not in text or closing not in text:
            raise ValueError(f"README.md lacks the marks {opening.strip()} and {closing}")
        before, _, rest = text.partition(opening)
        text = f"{before}{opening}{content}\n{closing}{rest.partition(closing)[2]}"
    return text


def notebook_table(root: Path = paths.ROOT) -> str:
    """A row for each notebook: its number, its title, and its figures, the first one shown."""
    rows = ["| | question | figures |", "|---|---|---|"]
    for notebook in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        number = notebook.stem[:2]
        first, *others = figures_of(number, root) or [None]
        shown = [f'[<img src="figures/{first}" width="240">](figures/{first})'] if first else []
        links = [f"[{Path(name).stem[3:].replace('_', ' ')}](figures/{name})" for name in others]
        cells = number, f"[{title(notebook)}](notebooks/{notebook.name})", "<br>".join(shown + links)
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
