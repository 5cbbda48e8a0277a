"""The player inside the perfect submission: that of `agent`, with the opening book and the solver before the engine."""

import base64

from ..games.connect4 import Geometry
from ..search.book import Book
from ..search.perfect import PerfectPlayer
from . import agent

BOOK = "connect4.book"
TABLE_BITS = 23  # of the solver: 64 MB a seat


class Player(agent.Player):
    """Plays every position of the usual board exactly, and other boards by the engine."""

    def make_engine(self, geometry: Geometry, compiled: bool) -> PerfectPlayer:
        try:
            book = Book.from_bytes(base64.b64decode(self._files[BOOK]))
        except (KeyError, ValueError) as failure:
            self._survive(failure)
            book = None
        table_bits = TABLE_BITS if compiled else 16
        return PerfectPlayer(geometry, book, options=agent.OPTIONS, table_bits=table_bits, compiled=compiled)
