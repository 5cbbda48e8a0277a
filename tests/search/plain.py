"""Slow obvious twins of the evaluations and of the search, on a grid of cells."""

from functools import cache

from c4lib.games.connect4 import Connect4
from c4lib.search.evaluation import CENTRE, NEAR_CENTRE, OPPONENT_FORK, OWN_FORK, OWN_THREAT, WIN


def grid(geometry, own, opp):
    """cells[column][row] from the bottom: 1 own, -1 opponent's, 0 empty."""
    cells = [[0] * geometry.rows for _ in range(geometry.columns)]
    for column in range(geometry.columns):
        for row in range(geometry.rows):
            bit = 1 << (column * geometry.height + row)
            cells[column][row] = 1 if own & bit else -1 if opp & bit else 0
    return cells


@cache
def windows(geometry):
    """Every window of `inarow` cells, as lists of (column, row)."""
    found = []
    for column in range(geometry.columns):
        for row in range(geometry.rows):
            for dx, dy in ((0, 1), (1, -1), (1, 0), (1, 1)):
                cells = [(column + i * dx, row + i * dy) for i in range(geometry.inarow)]
                if all(0 <= x < geometry.columns and 0 <= y < geometry.rows for x, y in cells):
                    found.append(cells)
    return found


@cache
def windows_through(geometry, cell):
    return [window for window in windows(geometry) if cell in window]


def landing(cells, column):
    """Row where a stone comes to rest, or None."""
    return cells[column].index(0) if 0 in cells[column] else None


def wins_now(geometry, cells, player):
    """Columns where `player` completes a line at once."""
    columns = []
    for column in range(geometry.columns):
        row = landing(cells, column)
        if row is not None:
            cells[column][row] = player
            if any(all(cells[x][y] == player for x, y in w) for w in windows_through(geometry, (column, row))):
                columns.append(column)
            cells[column][row] = 0
    return columns


def threats(geometry, cells):
    mine, theirs = (len(wins_now(geometry, cells, player)) for player in (1, -1))
    value = OWN_FORK if mine >= 2 else OWN_THREAT if mine == 1 else 0
    return value + (OPPONENT_FORK if theirs >= 2 else 0)


def lines(geometry, cells):
    value = 0
    for window in windows(geometry):
        stones = [cells[x][y] for x, y in window]
        if -1 not in stones:
            value += sum(stones) ** 2
        elif 1 not in stones:
            value -= sum(stones) ** 2
    return value


def centre(geometry, cells):
    middle = {(geometry.columns - 1) // 2, geometry.columns // 2}
    beside = {min(middle) - 1, max(middle) + 1}
    weight = dict.fromkeys(middle, CENTRE) | dict.fromkeys(beside, NEAR_CENTRE)
    return sum(weight.get(column, 0) * sum(cells[column]) for column in range(geometry.columns))


def evaluate(geometry, cells):
    return threats(geometry, cells) + lines(geometry, cells) + centre(geometry, cells)


def window_evaluation(geometry, cells):
    value = 3 * sum(cells[geometry.columns // 2])
    for window in windows(geometry):
        stones = [cells[x][y] for x, y in window]
        for player in (1, -1):
            if -player not in stones:
                value += player * {1: 5, 2: 2}.get(stones.count(0), 0)
    return value


def minimax(game: Connect4, state, depth, evaluation):
    """Value of a state for the side to move: no window, no table, no order; a win with the n-th stone is WIN - n."""
    ended = game.terminal_value(state)
    if ended is not None:
        return 0 if ended == 0 else int((state != 0).sum()) - WIN
    if depth == 0:
        return evaluation(game.geometry, grid(game.geometry, *game.boards(state)))
    return max(
        -minimax(game, game.apply(state, column), depth - 1, evaluation)
        for column in range(game.action_size)
        if game.legal_actions_mask(state)[column]
    )
