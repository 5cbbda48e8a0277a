"""The engine: iterative deepening on a negamax search in which every technique has a switch.

`Engine.search` is what one calls. Below it lies one recursive kernel, `negamax`, with its contract written where it
is kept. The techniques change how many nodes are visited, never the score of a fixed depth.
"""

from dataclasses import dataclass, field, fields

from ..bits import bit_indices
from ..games.connect4 import (  # the first five are constants of the kernel
    BOARD,
    BOTTOM,
    COLUMNS,
    INAROW,
    ROWS,
    STANDARD,
    Geometry,
    centre_first,
    column_cells,
    has_line,
    key,
    mirror,
    playable,
    winning_cells,
)
from ..jit import HAVE_NUMBA, build, clock, inline, kernel, load, memory_block, popcount, prefetch, store
from .evaluation import DECIDED, WIN, evaluate

INFINITY = 2 * WIN
ASPIRATION = 150  # half width of the window around the last score ...
ASPIRATION_DEPTH = 5  # ... from this depth on

# The search's memory: one block of words. Counters and settings first, then the tables.
NODES, TABLE_HITS, CUTOFFS, FIRST_CUTOFFS, ABORTED = 0, 1, 2, 3, 4
DEADLINE, NODE_LIMIT, CHECK_MASK = 5, 6, 7  # nanoseconds; nodes; the clock is read when nodes & CHECK_MASK == 0
SWITCHES, TABLE_BITS = 8, 9
HISTORY = 10  # [side to move][cell]: how much a move there has cut off
HISTORY_LIMIT = 1 << 20


def memory_layout(geometry: Geometry) -> dict[str, int]:
    """Where the tables behind the history lie on a board; constants of the kernel, like the board's own."""
    cells = geometry.columns * geometry.height
    killers = HISTORY + 2 * cells  # [stones on the board][2]: the latest moves that cut off
    best = killers + 2 * cells  # [stones on the board]: column that last raised alpha
    order = best + cells  # [stones on the board][columns]: moves of a node while it is searched
    return dict(CELLS=cells, KILLERS=killers, BEST=best, ORDER=order, WORDS=order + cells * geometry.columns)


CELLS, KILLERS, BEST, ORDER, WORDS = memory_layout(STANDARD).values()

# A table entry is two words: the key, and score, depth, bound and best column in one. Two entries make a bucket.
MOVE_BITS, BOUND_BITS, DEPTH_BITS = 10, 2, 10
NO_MOVE = (1 << MOVE_BITS) - 1
MOST_PLIES = 500  # fits DEPTH_BITS, and the recursion of an interpreted search
A_YEAR = 3.2e7  # seconds; longer searches are cut there
LOWER, UPPER, EXACT = 1, 2, 3  # never 0, so that no entry in use is 0 (the empty board's key is)
MULTIPLIER = 0x1E3779B97F4A7C15  # odd, from the golden ratio: spreads keys over the high bits of the product


@dataclass(frozen=True)
class SearchOptions:
    """Which techniques the engine uses, and how much memory. The defaults are the full stack."""

    alpha_beta: bool = True  # cut off where the opponent has something better already; without: plain minimax
    deepening: bool = True  # search depth 1, 2, 3, ... each ordering the next
    forced: bool = True  # see wins, blocks and cells under an enemy winning cell before recursing
    table: bool = True  # remember positions in a transposition table
    mirror: bool = True  # let a position and its mirror image share an entry
    table_move: bool = True  # try the table's best move first
    killers: bool = True  # then two moves that cut off at this ply before
    history: bool = True  # then by how often a move on that cell cut off
    centre: bool = True  # else from the centre outwards; without: from left to right
    pvs: bool = True  # null windows after the first move (principal variation search)
    aspiration: bool = True  # start with a narrow window around the last score
    prefetch: bool = True  # ask for the children's table buckets ahead of time
    depth_exact: bool = False  # use an entry only at its own depth, so that scores do not depend on the table
    table_bits: int = 24  # 2^table_bits entries of 16 bytes

    def __post_init__(self):
        if not 2 <= self.table_bits <= 30:
            raise ValueError(f"table_bits must be from 2 to 30, not {self.table_bits}")

    @property
    def switches(self) -> int:
        """The switches as bits, as the kernel reads them."""
        return sum(bit for name, bit in SWITCH_BITS.items() if getattr(self, name))

    @classmethod
    def none(cls, **switches) -> "SearchOptions":
        """Plain minimax: every technique off, but for those named."""
        off = {f.name: False for f in fields(cls) if f.type is bool}
        return cls(**{**off, **switches})


SWITCH_BITS = {f.name: 1 << i for i, f in enumerate(fields(SearchOptions)) if f.type is bool}
ALPHA_BETA, FORCED, TABLE = (SWITCH_BITS[name] for name in ("alpha_beta", "forced", "table"))
MIRROR, TABLE_MOVE, KILLER = (SWITCH_BITS[name] for name in ("mirror", "table_move", "killers"))
HISTORIC, CENTRAL, PVS = (SWITCH_BITS[name] for name in ("history", "centre", "pvs"))
PREFETCH, DEPTH_EXACT = (SWITCH_BITS[name] for name in ("prefetch", "depth_exact"))
ORDERED = TABLE_MOVE | KILLER | HISTORIC


@inline
def bucket_of(table_key, bits):
    """First word of the bucket (two entries, four words) where a key belongs."""
    if BOARD >> 61 != 0:  # boards beyond 64 bits: fold the key, or its high columns would not count
        folded = table_key
        while folded >> 61 != 0:
            folded = (folded & ((1 << 61) - 1)) ^ (folded >> 61)
    else:
        folded = table_key
    return (((folded * MULTIPLIER) >> (65 - bits)) & ((1 << (bits - 1)) - 1)) * 4


@inline
def table_key_of(own, opp, switches):
    """The key under which the table knows a position, and whether that is the key of the mirror image."""
    this = key(own, opp)
    if switches & MIRROR:
        image = mirror(this, COLUMNS, ROWS)
        return min(this, image), image < this
    return this, False


@inline
def depth_of(entry):
    """How deep the search was whose result an entry holds; 0 for an unused one."""
    return (entry >> (MOVE_BITS + BOUND_BITS)) & ((1 << DEPTH_BITS) - 1)


@inline
def remember(table, bucket, table_key, entry, depth):
    """Store an entry. A key replaces itself; else the first entry of the bucket gives way to a search at least as
    deep, the second to any other: deep results stay, recent ones always find room."""
    first, second = bucket, bucket + 2
    keep_first = load(table, second) == table_key or depth < depth_of(load(table, first + 1))
    place = second if load(table, first) != table_key and keep_first else first
    store(table, place, table_key)
    store(table, place + 1, entry)


@inline
def order_moves(own, opp, moves, depth, table_column, order, killers, history, switches, memory, table):
    """Write the columns of `moves` to memory at `order` as they will be tried; returns their number.

    An insertion sort by priority that keeps ties in base order. Where the children will look into the table,
    their buckets are fetched meanwhile.
    """
    bits = load(memory, TABLE_BITS)
    count = 0
    for i in range(COLUMNS):
        column = centre_first(i, COLUMNS) if switches & CENTRAL else i
        move = moves & column_cells(column, ROWS)
        if move == 0:
            continue
        if switches & PREFETCH and depth > 1:
            child_key, _ = table_key_of(opp, own | move, switches)
            prefetch(table, bucket_of(child_key, bits))
        priority = 0
        if switches & ORDERED:
            if switches & TABLE_MOVE and column == table_column:
                priority = 4 * HISTORY_LIMIT
            elif switches & KILLER and load(memory, killers) == move:
                priority = 3 * HISTORY_LIMIT
            elif switches & KILLER and load(memory, killers + 1) == move:
                priority = 2 * HISTORY_LIMIT
            elif switches & HISTORIC:
                priority = load(memory, history + popcount(move - 1))
        place = count
        while place > 0 and load(memory, order + place - 1) >> MOVE_BITS < priority:
            store(memory, order + place, load(memory, order + place - 1))
            place -= 1
        store(memory, order + place, priority << MOVE_BITS | column)
        count += 1
    return count


@kernel
def negamax(own, opp, depth, alpha, beta, memory, table):
    """Score of a position for the side to move, `depth` plies deep, within the window (alpha, beta). Fail-soft.

    A result <= alpha is an upper bound of the score, one >= beta a lower bound, one between is the score. The score
    is the minimax value of the static evaluation at `depth` (deeper where the table knows better, unless
    `depth_exact`); a game won with the n-th stone on the board is worth WIN - n, and every score beyond DECIDED is
    proven. The position must not be lost already. After an abort the result means nothing, and nothing of it has
    entered the table. `memory[BEST + stones]` holds the column that last raised alpha here.
    """
    nodes = load(memory, NODES) + 1
    store(memory, NODES, nodes)
    if nodes & load(memory, CHECK_MASK) == 0 and (
        nodes >= load(memory, NODE_LIMIT) or clock() >= load(memory, DEADLINE)
    ):
        store(memory, ABORTED, 1)
        return 0
    switches = load(memory, SWITCHES)
    mask = own | opp
    if switches & FORCED == 0 and has_line(opp, ROWS, INAROW):
        return popcount(mask) - WIN
    moves = playable(mask, BOTTOM, BOARD)
    if moves == 0:
        return 0
    if depth == 0:
        return evaluate(own, opp, COLUMNS, ROWS, INAROW, BOTTOM, BOARD)
    stones = popcount(mask)
    if switches & FORCED != 0:
        if winning_cells(own, mask, BOARD, ROWS, INAROW) & moves != 0:
            return WIN - (stones + 1)
        if depth >= 2:
            enemy = winning_cells(opp, mask, BOARD, ROWS, INAROW)
            if moves & enemy != 0:
                moves &= enemy
            blocks = moves & enemy
            moves &= ~(enemy >> 1)
            if moves == 0 or blocks & (blocks - 1) != 0:
                return stones + 2 - WIN

    table_column = NO_MOVE
    table_key, flipped = table_key_of(own, opp, switches)
    bucket = bucket_of(table_key, load(memory, TABLE_BITS))
    if switches & TABLE:
        entry = 0
        if load(table, bucket) == table_key:
            entry = load(table, bucket + 1)
        elif load(table, bucket + 2) == table_key:
            entry = load(table, bucket + 3)
        if entry != 0:
            table_column = entry & NO_MOVE
            if flipped and table_column != NO_MOVE:
                table_column = COLUMNS - 1 - table_column
            bound = (entry >> MOVE_BITS) & EXACT
            entry_depth = depth_of(entry)
            score = entry >> (MOVE_BITS + BOUND_BITS + DEPTH_BITS)
            if (
                entry_depth == depth
                or (entry_depth > depth and switches & DEPTH_EXACT == 0)
                or (entry_depth < depth and score > DECIDED and bound != UPPER)
                or (entry_depth < depth and score < -DECIDED and bound != LOWER)
            ) and (bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha)):
                store(memory, TABLE_HITS, load(memory, TABLE_HITS) + 1)
                if table_column != NO_MOVE:
                    store(memory, BEST + stones, table_column)
                return score

    order = ORDER + stones * COLUMNS
    killers = KILLERS + 2 * stones
    history = HISTORY + CELLS * (stones & 1)
    count = order_moves(own, opp, moves, depth, table_column, order, killers, history, switches, memory, table)

    best = -INFINITY
    best_column = NO_MOVE
    low = alpha
    for i in range(count):
        column = load(memory, order + i) & NO_MOVE
        move = moves & column_cells(column, ROWS)
        if i > 0 and switches & PVS and low + 1 < beta:
            score = -negamax(opp, own | move, depth - 1, -low - 1, -low, memory, table)
            if low < score < beta:
                score = -negamax(opp, own | move, depth - 1, -beta, -low, memory, table)
        else:
            score = -negamax(opp, own | move, depth - 1, -beta, -low, memory, table)
        if load(memory, ABORTED) != 0:
            return 0
        if score > best:
            best = score
            if score > low:
                best_column = column
                store(memory, BEST + stones, column)
                if switches & ALPHA_BETA:
                    low = score
                    if score >= beta:
                        store(memory, CUTOFFS, load(memory, CUTOFFS) + 1)
                        if i == 0:
                            store(memory, FIRST_CUTOFFS, load(memory, FIRST_CUTOFFS) + 1)
                        if load(memory, killers) != move:
                            store(memory, killers + 1, load(memory, killers))
                            store(memory, killers, move)
                        place = history + popcount(move - 1)
                        store(memory, place, min(load(memory, place) + depth * depth, HISTORY_LIMIT))
                        break

    if switches & TABLE:
        bound = EXACT
        if best >= beta:
            bound = LOWER
        elif best <= alpha:
            bound = UPPER
        if best_column == NO_MOVE:
            best_column = table_column  # a move that was best once is a better guess than none
        if flipped and best_column != NO_MOVE:
            best_column = COLUMNS - 1 - best_column
        entry = ((best << DEPTH_BITS | depth) << BOUND_BITS | bound) << MOVE_BITS | best_column
        remember(table, bucket, table_key, entry, depth)
    return best


@dataclass(frozen=True)
class Iteration:
    """One completed depth of a search."""

    depth: int  # plies
    score: int  # for the side to move
    move: int  # best column
    nodes: int  # positions visited so far, all depths
    seconds: float  # so far
    searches: int  # 1, and one more for every time the score fell outside the aspiration window


@dataclass(frozen=True)
class SearchResult:
    """What a search found; scores are for the side to move."""

    move: int  # best column
    score: int  # of the last completed depth; beyond DECIDED it is proven, and WIN - |score| the stones at the end
    depth: int  # last completed depth, in plies
    nodes: int  # positions visited
    seconds: float
    principal_variation: tuple[int, ...]  # columns, as far as the table remembers them
    iterations: tuple[Iteration, ...] = field(repr=False)
    table_hits: int = 0  # nodes answered by the table
    cutoffs: int = 0
    first_cutoffs: int = 0  # cutoffs by the first move tried

    @property
    def first_cutoff_rate(self) -> float:
        """Share of the cutoffs that came with the first move tried: how good the ordering is."""
        return self.first_cutoffs / self.cutoffs if self.cutoffs else 1.0


class Engine:
    """A searcher with its state: options, transposition table, history and killers, kept from search to search.

    Args:
        geometry: the board.
        options: techniques and memory.
        compiled: compile the kernel where that is possible; else interpret it, with a table of at most 2^18 entries.
    """

    def __init__(self, geometry: Geometry = STANDARD, options: SearchOptions | None = None, *, compiled: bool = True):
        if geometry.columns >= NO_MOVE:
            raise ValueError(f"the engine plays on fewer than {NO_MOVE} columns, not on {geometry.columns}")
        self.geometry = geometry
        self.options = options or SearchOptions()
        self.compiled = compiled and HAVE_NUMBA and geometry.fits_64_bits
        constants = geometry.constants | memory_layout(geometry)
        self.kernel = build(negamax, self.compiled, **constants)
        self.table_bits = self.options.table_bits if self.compiled else min(self.options.table_bits, 18)
        self._best = constants["BEST"]
        self._memory, self._memory_handle = memory_block(constants["WORDS"], self.compiled)
        words = 2 << self.table_bits if self.options.table else 4
        self._table, self._table_handle = memory_block(words, self.compiled)

    def clear(self) -> None:
        """Forget all positions, history and killers."""
        for block in (self._memory, self._table):
            block[:] = 0 if self.compiled else [0] * len(block)

    def search(
        self,
        own: int,
        opp: int,
        *,
        depth: int | None = None,
        seconds: float | None = None,
        nodes: int | None = None,
    ) -> SearchResult:
        """The best move of a position that is not over.

        Stops at whichever limit comes first: `depth` plies, `seconds` of wall-clock time, about `nodes` positions;
        or when the score is proven. A move is there from the first instant on, and an iteration cut short counts
        as far as it is sure of something.

        Raises ValueError where the game is over, or where there is no limit at all.
        """
        start = clock()
        g = self.geometry
        mask = own | opp
        if own & opp or mask & ~g.board:
            raise ValueError(f"stones overlap or lie outside the board of {g.columns} x {g.rows}")
        moves = playable(mask, g.bottom, g.board)
        if moves == 0 or has_line(opp, g.rows, g.inarow) or has_line(own, g.rows, g.inarow):
            raise ValueError("the game is over: there is no move to choose")
        if depth is None and seconds is None and nodes is None:
            raise ValueError("a search needs a limit: depth, seconds or nodes")
        empty = g.rows * g.columns - popcount(mask)
        depth = min(empty if depth is None else depth, empty, MOST_PLIES)
        if depth < 1:
            raise ValueError("depth must be at least 1 ply")
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"seconds must not be negative, nor {seconds}")

        self._prepare(own, opp, start, seconds, nodes)
        move = self._first_guess(own, opp, moves)
        score = 0
        iterations: list[Iteration] = []
        for plies in range(1, depth + 1) if self.options.deepening else (depth,):
            found, best, searches = self._aspire(own, opp, plies, score)
            move = move if best is None else best
            if found is None:
                break
            score = found
            elapsed = (clock() - start) / 1e9
            iterations.append(Iteration(plies, score, move, int(self._memory[NODES]), elapsed, searches))
            if abs(score) > DECIDED:
                break
            self._age_history()
        return SearchResult(
            move=move,
            score=score,
            depth=iterations[-1].depth if iterations else 0,
            nodes=int(self._memory[NODES]),
            seconds=(clock() - start) / 1e9,
            principal_variation=self._principal_variation(own, opp, move, depth),
            iterations=tuple(iterations),
            table_hits=int(self._memory[TABLE_HITS]),
            cutoffs=int(self._memory[CUTOFFS]),
            first_cutoffs=int(self._memory[FIRST_CUTOFFS]),
        )

    def _prepare(self, own, opp, start, seconds, nodes):
        """Reset counters and set the limits."""
        memory = self._memory
        for word in (NODES, TABLE_HITS, CUTOFFS, FIRST_CUTOFFS, ABORTED):
            memory[word] = 0
        forever = (1 << 62) - 1
        memory[DEADLINE] = forever if seconds is None else start + int(min(seconds, A_YEAR) * 1e9)
        memory[NODE_LIMIT] = forever if nodes is None else min(nodes, forever)
        memory[CHECK_MASK] = 1023 if self.compiled else 31  # a tenth of a millisecond; two milliseconds
        memory[TABLE_BITS] = self.table_bits
        switches = self.options.switches
        # two descendants can mirror each other only if no stone faces an enemy stone: stones never go away
        if own & mirror(opp, self.geometry.columns, self.geometry.rows):
            switches &= ~MIRROR
        if not self.options.table:
            switches &= ~(MIRROR | PREFETCH)
        memory[SWITCHES] = switches

    def _first_guess(self, own, opp, moves):
        """A sensible column to play before anything has been searched: a win, else a block, else the centre-most."""
        g = self.geometry
        mask = own | opp
        for stones in (own, opp):
            urgent = winning_cells(stones, mask, g.board, g.rows, g.inarow) & moves
            if urgent:
                return bit_indices(urgent)[0] // g.height
        columns = (centre_first(i, g.columns) for i in range(g.columns))
        return next(column for column in columns if moves & column_cells(column, g.rows))

    def _aspire(self, own, opp, depth, guess):
        """Score at `depth` (None if cut short), the move if one was found, and the number of searches it took.

        A move of a search that was cut short counts only where the window had a bottom: then it is known to be
        better than that, and not just the first that was tried.
        """
        low, high = -INFINITY, INFINITY
        if self.options.aspiration and depth >= ASPIRATION_DEPTH:
            low, high = guess - ASPIRATION, guess + ASPIRATION
        move = None
        searches = 0
        while True:
            searches += 1
            score, best = self._negamax(own, opp, depth, low, high)
            cut_short = bool(self._memory[ABORTED])
            if best is not None and (low > -INFINITY if cut_short else score > low):
                move = best
            if cut_short:
                return None, move, searches
            if low < score < high:
                return score, move, searches
            low, high = (-INFINITY, high) if score <= low else (low, INFINITY)

    def _negamax(self, own, opp, depth, alpha, beta):
        """One call of the kernel from the root: its score, and the column that raised alpha last, or None."""
        best = self._best + popcount(own | opp)
        self._memory[best] = NO_MOVE
        score = self.kernel(own, opp, depth, alpha, beta, self._memory_handle, self._table_handle)
        return score, None if self._memory[best] == NO_MOVE else int(self._memory[best])

    def _age_history(self):
        """Halve the history, so that recent cutoffs weigh more."""
        for i in range(HISTORY, HISTORY + 2 * self.geometry.columns * self.geometry.height):
            self._memory[i] //= 2

    def _principal_variation(self, own, opp, move, depth):
        """The best line: `move`, and from there what the table holds with exact scores, up to a win or `depth`."""
        g = self.geometry
        line = []
        while move is not None and len(line) < depth:
            line.append(move)
            mask = own | opp
            own, opp = opp, own | playable(mask, g.bottom, g.board) & column_cells(move, g.rows)
            move = None if has_line(opp, g.rows, g.inarow) else self._remembered_move(own, opp)
        return tuple(line)

    def _remembered_move(self, own, opp):
        """A winning move, else the best move that the table holds for a position with an exact score, else None."""
        g = self.geometry
        mask = own | opp
        moves = playable(mask, g.bottom, g.board)
        if winning_cells(own, mask, g.board, g.rows, g.inarow) & moves:
            return self._first_guess(own, opp, moves)
        if not self.options.table:
            return None
        built = self.kernel.namespace  # the helpers as built for this board
        table_key, flipped = built["table_key_of"](own, opp, self._memory[SWITCHES])
        bucket = built["bucket_of"](table_key, self.table_bits)
        for place in (bucket, bucket + 2):
            entry = int(self._table[place + 1])
            if self._table[place] == table_key and (entry >> MOVE_BITS) & EXACT == EXACT and entry & NO_MOVE != NO_MOVE:
                column = entry & NO_MOVE
                return g.columns - 1 - column if flipped else column
        return None
