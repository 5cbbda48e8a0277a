"""Progress bars that can be switched off from outside."""

import os

from tqdm import tqdm


def bar(iterable=None, **options) -> tqdm:
    """A tqdm bar over `iterable`, or to be moved by hand; silent where the environment says `C4_PROGRESS=0`.

    No bar is drawn the same twice, so notebooks that are run by machine and compared run with that variable.
    """
    return tqdm(iterable, disable=os.environ.get("C4_PROGRESS") == "0", **options)
