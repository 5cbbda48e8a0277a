"""Where things are on disk. Notebooks, tests and commands take every path from here."""

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
NOTEBOOKS = ROOT / "notebooks"
PROFILES = NOTEBOOKS / "profiles"
DATA = ROOT / "data"
BOOK = DATA / "book" / "connect4.book"
MODELS = DATA / "models"
FIGURES = Path(os.environ.get("C4_FIGURES", ROOT / "figures"))  # elsewhere while notebooks are only compared
BUILD = ROOT / "build"


def model(name: str) -> Path:
    """The weights of a model in `MODELS`. Raises ValueError, with the names there are, where it is not there."""
    file = MODELS / f"{name}.safetensors"
    if not file.is_file():
        known = ", ".join(sorted(other.stem for other in MODELS.glob("*.safetensors"))) or "none"
        raise ValueError(f"there is no model {name!r}: in {MODELS} there are {known}")
    return file


def cache_folder() -> Path:
    """The folder for compiled code: `C4_CACHE`, or `c4lib` in the user's cache folder."""
    if chosen := os.environ.get("C4_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    return Path(base) / "c4lib"
