"""Measuring players: games and the ratings that come of them, and moves graded by the exact solver."""
