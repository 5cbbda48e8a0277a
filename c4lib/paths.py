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
