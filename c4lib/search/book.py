"""The opening book: best moves and exact scores of the positions that are slow to solve.

It is a repertoire for both seats: it holds every position that can come up for the side to move while that side has
always played the book's move and the other anything, as long as the position is slow to solve. A position and its
mirror image are one entry. How a book is made is the business of `book_builder`.
"""

import hashlib
import re
from pathlib import Path

import numpy as np

from ..games.connect4 import STANDARD, Geometry, key, mirror

ENTRY = np.dtype([("key", "<i8"), ("move", "u1"), ("score", "i1")])  # canonical key; column, and score of the mover
HEADER = "c4lib opening book, version {version}, {columns} x {rows} x {inarow}, {count} positions, sha256 {digest}\n"
VERSION = 1
READ_HEADER = re.compile(rb"c4lib opening book, version (\d+), (\d+) x (\d+) x (\d+), (\d+) positions, sha256 (\w+)\n")


class Book:
    """Positions with a best move and the exact score, both for the side to move.

    Args:
        entries: array of `ENTRY`, in the order of the keys; the move is that of the canonical position.
        geometry: the board.
    """

    def __init__(self, entries: np.ndarray, geometry: Geometry = STANDARD):
        self.entries = entries
        self.geometry = geometry

    def __len__(self) -> int:
        return len(self.entries)

    def probe(self, own: int, opp: int) -> tuple[int, int] | None:
        """The best column and the exact score of a position, or None where the book does not have it."""
        columns, rows, _ = self.geometry
        this = key(own, opp)
        image = mirror(this, columns, rows)
        place = int(np.searchsorted(self.entries["key"], min(this, image)))
        if place == len(self) or self.entries["key"][place] != min(this, image):
            return None
        move, score = int(self.entries["move"][place]), int(self.entries["score"][place])
        return columns - 1 - move if image < this else move, score

    def to_bytes(self) -> bytes:
        """The book as a file holds it: a line of text, and ten bytes a position."""
        payload = self.entries.tobytes()
        digest = _digest(VERSION, *self.geometry, len(self), payload)
        return (
            HEADER.format(version=VERSION, count=len(self), digest=digest, **self.geometry._asdict()).encode() + payload
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> "Book":
        """The book of such bytes; ValueError, saying what is wrong, where they are not one, or were damaged."""
        header = READ_HEADER.match(content[:200])
        if not header:
            raise ValueError("this is not an opening book of c4lib")
        version, *board, count = (int(number) for number in header.groups()[:5])
        if version != VERSION:
            raise ValueError(f"this book is of version {version}, and this c4lib reads version {VERSION}")
        payload = content[header.end() :]
        digest = _digest(version, *board, count, payload)
        if len(payload) != count * ENTRY.itemsize or digest != header.group(6).decode():
            raise ValueError("this book is damaged: its content and its checksum differ")
        geometry = Geometry(*board).checked()
        entries = np.frombuffer(payload, ENTRY)
        keys, moves = entries["key"], entries["move"].astype(np.int64)
        tops = (keys >> (moves * geometry.height)) & ((1 << geometry.height) - 1)  # of the column that is played
        full = tops >= (1 << geometry.rows) - 1
        if (np.diff(keys) <= 0).any() or (keys < 0).any() or (moves >= geometry.columns).any() or full.any():
            raise ValueError("this book is damaged: its entries are not in order, or hold impossible moves")
        return cls(entries, geometry)

    def save(self, path: Path) -> None:
        """Write the book to a file, which appears complete or not at all."""
        from ..resume import writing  # here, since a submission to Kaggle only reads its book

        with writing(path) as beside:
            beside.write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: Path) -> "Book":
        """The book of a file; ValueError where it is not one, or was damaged, OSError where it cannot be read."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _digest(*parts) -> str:
    """The checksum of what the first line says, and of the entries."""
    *numbers, payload = parts
    return hashlib.sha256(repr(tuple(map(int, numbers))).encode() + payload).hexdigest()
