"""Every file in data/ is the one that the SOURCE.md beside it speaks of."""

import hashlib
import re

import pytest

from c4lib import paths

FOLDERS = sorted(source.parent for source in paths.DATA.glob("*/SOURCE.md"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_files_are_those_of_the_source(folder):
    """In a table of SOURCE.md, a file's row begins with its name and holds its sha256."""
    rows = [line for line in (folder / "SOURCE.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    listed = {row.split("|")[1].strip(" `"): found[0] for row in rows if (found := re.search(r"\b[0-9a-f]{64}\b", row))}
    files = [file for file in folder.rglob("*") if file.is_file() and file != folder / "SOURCE.md"]
    present = {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    assert present
    assert present == listed
