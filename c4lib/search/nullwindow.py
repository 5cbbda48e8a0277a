"""The kernels of the exact solver: a null-window negamax that looks at all moves of a position at once.

Scores are exact and for the side to move: +n if it wins, n being its stones in hand before the winning one is dropped
(on the usual board, +1 with its very last stone, +18 with its fourth), -n if it loses so, 0 for a draw.

How it works, in the order of what each step gains:

* the question put to the tree is only ever "is the score more than `alpha`?"; a bisection asks it a few times;
* moves that lose at once are never searched: a threat must be met, the cell below a threat is not for us;
* all children are made in the lanes of one vector, their winning cells serving both to order them and as their own
  children's threats; a child without a safe move is a win found before any recursion;
* moves are tried in order of the winning cells they create, counting none that a winning cell of the enemy lies
  directly below; then those that force no reply; then by the lines they pair up in, and from the centre outwards;
* one word an entry in the transposition table, fetched ahead of time; the table begins small and grows with the
  search, so that short searches stay in the cache, and a cold start costs nothing;
* a child's entry may already answer the question;
* where every column is filled evenly, the opponent can answer each stone with the one above it (claimeven): if that
  leaves the side to move without a line, it does not win;
* near the empty board a position and its mirror image share an entry.

Sources: null windows and the safe-move mask, Pascal Pons' tutorial; enhanced transposition cutoffs, Plaat et al.
(1996); claimeven, Victor Allis' thesis (1988); the search of children that other threads are not busy with, simplified
ABDADA (Jean-Christophe Weill 1996, Tom Kerrigan).
"""

from ..games.connect4 import (  # the first five are constants of the kernels
    BOARD,
    BOTTOM,
    COLUMNS,
    INAROW,
    ROWS,
    STANDARD,
    Geometry,
    canonical_key,
    column_cells,
    has_line,
    key,
    mirror,
    playable,
    winning_cells,
)
from ..jit import clock, inline, kernel, load, popcount, prefetch, store
from ..lanes import highest, lanes, load_lanes, nonzero, store_lanes, where

# Weights of the order of moves, all multiples of 64 so that the column's number fits below.
WINNING_CELL = 1 << 16  # each winning cell
NONFORCING = 1 << 15  # a move after which the opponent is free to choose
PAIRED = 40 << 6  # each open line of four where the stone joins a single other one
CENTRAL = 64 << 6  # each column nearer to the centre
COLUMN = 63  # the bits of the column's number

# Switches and limits of the techniques, all of them to be replaced to measure what they are worth.
UNDERCUT = 1  # do not count winning cells directly above one of the opponent's
MIRROR_STONES = 13  # with fewer stones than this, a position and its mirror image share an entry
TABLELESS_PLIES = 9  # nearer to a full board than this, a search is faster than a look at the table
CHILD_CUTOFF_PLIES = 18  # the children's entries are looked up with more than this to play
PREFETCH = 1  # ask for the children's entries ahead of time
CLAIMEVEN = 1
THREADED = 0  # 1 in the instances that share their table
SHARED_PLIES = 20  # threads look out for each other with more than this to play

# The search's memory: one block of words. Counters and settings, then an area of lanes for each number of stones.
NODES, STORES = 0, 1
NODE_LIMIT, DEADLINE, STOP = 2, 3, 4  # nodes; nanoseconds; set to 1 by another thread
BITS, MOST_BITS = 5, 6  # the table has 2^BITS entries, and may grow to 2^MOST_BITS
LOWER, UPPER = 7, 8  # what `settle` knows of the score
BUSY = 9  # address of the words that name the positions which threads are busy with
AREAS = 32
CHECK_MASK = 1023  # clock and limits are looked at whenever nodes & CHECK_MASK == 0
ABORT = 1 << 20  # stands for a score where a limit was hit
FOREVER = (1 << 62) - 1

# A table entry, from the low bits up: upper bound, lower bound, the rest of the hashed key plus one.
LOWER_SHIFT, TAG_SHIFT = 6, 12
SCORE_MASK = 63
SCORE_ZERO = 32  # stands for 0 in an entry: scores reach from -31 to 31
TAG_BITS = 50
BUSY_MASK = (1 << 10) - 1  # one less than the number of those words


def solver_constants(geometry: Geometry) -> dict:
    """Constants of the kernels for a board, beside its own."""
    columns, rows, _ = geometry
    count = next(count for count in (8, 16, 32) if columns <= count)
    key_bits = columns * geometry.height
    cells = tuple(column_cells(column, rows) for column in range(columns))
    centrality = [min(column, columns - 1 - column) for column in range(columns)]
    odd = sum(geometry.bottom << row for row in range(0, rows, 2))
    return dict(
        CELLS=columns * rows,
        LANES=count,
        COLUMN_LANES=cells + (0,) * (count - columns),
        PREFERENCE=tuple(CENTRAL * near + column for column, near in enumerate(centrality)) + (0,) * (count - columns),
        NO_MOVES=(-1,) * count,
        ODD=odd & geometry.board,
        EVEN=geometry.board & ~odd,
        KEY_BITS=key_bits,
        KEY_MASK=(1 << key_bits) - 1,
        START_BITS=min(max(8, key_bits - TAG_BITS), key_bits),
        STRIDE=5 * count,
    )


_STANDARD = solver_constants(STANDARD)
CELLS, LANES, COLUMN_LANES, PREFERENCE, NO_MOVES, ODD, EVEN, KEY_BITS, KEY_MASK, START_BITS, STRIDE = _STANDARD.values()
MULTIPLIER = 0x1E3779B97F4A7C15  # odd, from the golden ratio: times it, keys map one to one onto well-mixed ones


@inline
def hash_of(position_key):
    """The key, mixed: another number of KEY_BITS bits, also unique. Lanes or an integer."""
    return (position_key * MULTIPLIER) & KEY_MASK


@inline
def table_hash(own, opp, stones):
    """The hashed key under which the table knows a position."""
    return hash_of(canonical_key(own, opp, COLUMNS, ROWS) if stones < MIRROR_STONES else key(own, opp))


@inline
def slot_of(hashed, bits):
    """Where in a table of 2^bits entries a hashed key belongs: its high bits. Lanes or an integer."""
    return hashed >> (KEY_BITS - bits)


@inline
def tag_of(hashed):
    """What an entry holds of the key: all but the bits that its slot tells in the smallest table, plus one, so that
    no entry in use is 0 (the empty board's key is)."""
    return (hashed & ((1 << (KEY_BITS - START_BITS)) - 1)) + 1


@kernel
def grow(memory, table):
    """Double the table. An entry of slot s moves to slot 2s or 2s + 1, so this works in place, from the top down."""
    bits = load(memory, BITS)
    size = 1 << bits
    for slot in range(size, 2 * size):
        store(table, slot, 0)
    for back in range(size):
        slot = size - 1 - back
        entry = load(table, slot)
        if entry != 0:
            store(table, slot, 0)
            high = slot >> (bits - START_BITS)
            hashed = (high << (KEY_BITS - START_BITS)) | ((entry >> TAG_SHIFT) - 1)
            store(table, slot_of(hashed, bits + 1), entry)
    store(memory, BITS, bits + 1)
    return 0


@kernel
def clear(memory, table):
    """Empty the table by making it small again: what lies behind its end is cleared when it grows."""
    for slot in range(1 << START_BITS):
        store(table, slot, 0)
    store(memory, BITS, START_BITS)
    store(memory, STORES, 0)
    return 0


@inline
def children(own, opp, threats, moves, mask, stones, memory, table):
    """Look at all moves at once; returns the bits of the columns that leave the opponent without a safe move.

    Writes to memory, a lane a column: at `area` the winning cells that the mover then has, next the opponent's safe
    moves, next the priority in the order of moves (-1 where there is none), last the child's hashed key.
    """
    area = AREAS + stones * STRIDE
    move = lanes(COLUMN_LANES) & moves
    after = move | mask
    keys = after + opp
    if stones + 1 < MIRROR_STONES:
        images = mirror(keys, COLUMNS, ROWS)
        keys = where((images - keys) >> 63, images, keys)
    store_lanes(memory, area + 3 * LANES, hash_of(keys))
    if PREFETCH and stones < CELLS - TABLELESS_PLIES:
        bits = load(memory, BITS)
        for column in range(COLUMNS):
            prefetch(table, slot_of(load(memory, area + 3 * LANES + column), bits))
    wins = winning_cells(move | own, after, BOARD, ROWS, INAROW)
    replies = (after + BOTTOM) & BOARD
    forced = replies & wins
    safe = where(forced & (forced - 1), 0, where(forced, forced, replies) & ~(wins >> 1))
    counted = wins & ~(threats << 1) if UNDERCUT else wins
    priority = lanes(PREFERENCE) + popcount(counted) * WINNING_CELL + where(forced, 0, NONFORCING)
    if PAIRED and INAROW == 4:
        priority += paired(own, opp, move) * PAIRED
    store_lanes(memory, area, wins)
    store_lanes(memory, area + LANES, safe)
    store_lanes(memory, area + 2 * LANES, where(move, priority, -1))
    return nonzero(move) & ~nonzero(safe)


@inline
def paired(own, opp, move):
    """How many lines of four, free of the opponent, hold the move and exactly one stone of ours. By lanes."""
    free = BOARD & ~opp
    count = move ^ move
    for step in (1, ROWS, ROWS + 1, ROWS + 2):
        opened = free & (free >> step)
        opened &= opened >> (2 * step)
        one, two = own ^ (own >> step), own & (own >> step)  # stones of a pair of cells: exactly one, two
        single = opened & (one ^ (one >> (2 * step))) & ~(two | (two >> (2 * step)))
        start = move | (move >> step)
        start |= start >> (2 * step)
        count += popcount(start & single)
    return count


@kernel
def negamax(own, opp, threats, moves, alpha, memory, table):
    """Is the score more than `alpha`? A result > alpha is a lower bound of the score, another an upper bound.

    `threats` are the winning cells of the side that is not to move, `moves` the safe ones of the side that is: it
    must have one, and no immediate win. ABORT means that a limit was hit; nothing of that has entered the table.
    """
    nodes = load(memory, NODES) + 1
    store(memory, NODES, nodes)
    if nodes & CHECK_MASK == 0 and (
        nodes >= load(memory, NODE_LIMIT) or clock() >= load(memory, DEADLINE) or load(memory, STOP) != 0
    ):
        return ABORT
    mask = own | opp
    stones = popcount(mask)
    if stones >= CELLS - 2:
        return 0
    lower = -((CELLS - 2 - stones) // 2)  # beaten by the opponent's next stone but one
    if alpha < lower:
        return lower
    upper = (CELLS - 1 - stones) // 2  # winning with our next stone but one
    if alpha >= upper:
        return upper

    if CLAIMEVEN and ROWS % 2 == 0 and alpha >= -1 and (mask + BOTTOM) & EVEN == 0:
        empty = BOARD & ~mask
        if not has_line(own | (empty & ODD), ROWS, INAROW):
            known = -1 if has_line(opp | (empty & EVEN), ROWS, INAROW) else 0
            if known <= alpha:
                return known

    area = AREAS + stones * STRIDE
    if children(own, opp, threats, moves, mask, stones, memory, table) != 0:
        return upper
    upper = (CELLS - 3 - stones) // 2  # that would have been the last chance for a win so soon
    if alpha >= upper:
        return upper
    use_table = stones <= CELLS - TABLELESS_PLIES
    hashed = table_hash(own, opp, stones)
    if use_table:
        entry = load(table, slot_of(hashed, load(memory, BITS)))
        if entry >> TAG_SHIFT == tag_of(hashed):
            known = ((entry >> LOWER_SHIFT) & SCORE_MASK) - SCORE_ZERO
            if known > alpha:
                return known
            lower = max(lower, known)
            known = (entry & SCORE_MASK) - SCORE_ZERO
            if known <= alpha:
                return known
            upper = min(upper, known)
    if stones < CELLS - CHILD_CUTOFF_PLIES:
        bits = load(memory, BITS)
        for column in range(COLUMNS):
            if load(memory, area + 2 * LANES + column) >= 0:
                child = load(memory, area + 3 * LANES + column)
                entry = load(table, slot_of(child, bits))
                if entry >> TAG_SHIFT == tag_of(child):
                    known = SCORE_ZERO - (entry & SCORE_MASK)
                    if known > alpha:
                        return known

    best = lower
    sharing = THREADED != 0 and stones < CELLS - SHARED_PLIES
    tried, deferred = False, False
    while True:
        priority = highest(load_lanes(memory, area + 2 * LANES, LANES))
        if priority < 0:
            if not deferred:
                break
            store_lanes(memory, area + 2 * LANES, load_lanes(memory, area + 4 * LANES, LANES))
            sharing, deferred = False, False
            continue
        column = priority & COLUMN
        store(memory, area + 2 * LANES + column, -1)
        if sharing:
            child = load(memory, area + 3 * LANES + column)
            if tried and load(load(memory, BUSY), child & BUSY_MASK) == child:  # another thread is at it: come back
                if not deferred:
                    store_lanes(memory, area + 4 * LANES, lanes(NO_MOVES))
                store(memory, area + 4 * LANES + column, priority)
                deferred = True
                continue
            store(load(memory, BUSY), child & BUSY_MASK, child)
        tried = True
        move = moves & column_cells(column, ROWS)
        wins = load(memory, area + column)
        safe = load(memory, area + LANES + column)
        score = negamax(opp, own | move, wins, safe, -alpha - 1, memory, table)
        if score == ABORT:
            return ABORT
        if sharing and load(load(memory, BUSY), child & BUSY_MASK) == child:
            store(load(memory, BUSY), child & BUSY_MASK, 0)
        if -score > best:
            best = -score
            if best > alpha:
                break

    if use_table:
        if best > alpha:
            lower = best
        else:
            upper = best
        stores = load(memory, STORES) + 1
        store(memory, STORES, stores)
        bits = load(memory, BITS)
        if 2 * stores > 1 << bits and bits < load(memory, MOST_BITS):
            grow(memory, table)
            bits += 1
        entry = tag_of(hashed) << TAG_SHIFT | (lower + SCORE_ZERO) << LOWER_SHIFT | (upper + SCORE_ZERO)
        store(table, slot_of(hashed, bits), entry)
    return best


@kernel
def settle(own, opp, low, high, memory, table):
    """The score of a position, taken as `low` if it is less and as `high` if it is more. Any position will do.

    While it searches, memory[LOWER] and memory[UPPER] bound that number; they still do after an ABORT.
    """
    mask = own | opp
    stones = popcount(mask)
    threats = winning_cells(opp, mask, BOARD, ROWS, INAROW)
    moves = playable(mask, BOTTOM, BOARD)
    forced = moves & threats
    safe = moves & ~(threats >> 1)
    if forced != 0:
        safe &= forced
    known, score = True, 0
    if has_line(opp, ROWS, INAROW):
        score = -((CELLS + 2 - stones) // 2)
    elif moves & winning_cells(own, mask, BOARD, ROWS, INAROW) != 0:
        score = (CELLS + 1 - stones) // 2
    elif moves != 0 and (safe == 0 or forced & (forced - 1) != 0):
        score = -((CELLS - stones) // 2)
    else:
        known = stones >= CELLS - 2
    if known:
        low = high = min(max(score, low), high)
    else:
        low = min(max(low, -((CELLS - 2 - stones) // 2)), high)
        high = max(min(high, (CELLS - 1 - stones) // 2), low)
    store(memory, LOWER, low)
    store(memory, UPPER, high)
    while low < high:
        alpha = next_question(low, high)
        score = negamax(own, opp, threats, safe, alpha, memory, table)
        if score == ABORT:
            return ABORT
        if score > alpha:
            low = min(score, high)
            store(memory, LOWER, low)
        else:
            high = max(score, low)
            store(memory, UPPER, high)
    return low


@inline
def next_question(low, high):
    """Where to split low <= score <= high: in the middle, but rather at half of an end far from 0.

    Whether there is a quick win or a quick loss is answered much faster than which side of 0 the score lies.
    """
    middle = (low + high) // 2
    if middle <= 0 and -(-low // 2) < middle:
        return -(-low // 2)
    if middle >= 0 and high // 2 > middle:
        return high // 2
    return middle


@kernel
def settle_each(first, last, cold, low, high, positions, results, memory, table):
    """`settle` positions `first` to `last` - 1 of a list, each from a cleared table if `cold`; two words a position.

    Results are three words a position: score, nodes, nanoseconds. Returns the number of the first one that hit a
    limit, else `last`.
    """
    for i in range(first, last):
        start = clock()
        before = load(memory, NODES)
        if cold != 0:
            clear(memory, table)
        score = settle(load(positions, 2 * i), load(positions, 2 * i + 1), low, high, memory, table)
        if score == ABORT:
            return i
        store(results, 3 * i, score)
        store(results, 3 * i + 1, load(memory, NODES) - before)
        store(results, 3 * i + 2, clock() - start)
    return last
