"""Monte Carlo tree search guided by a network (PUCT), over many positions at once: one batch of the network a step.

The trees of a `Forest` stand side by side in arrays and grow by one leaf each, in turn; the loops over trees and
actions are compiled, the rules come through the game's `*_boards` functions on arrays. No tree depends on another,
so a search among many gives what the same search alone gives, as far as the network's arithmetic does.

Everything is seen from the side to move at a node: the values of its edges (one for each action) are what the action
is worth to him. A value changes sign once on each edge, in `_back_up`.

Terminal positions have exact values, and with `proofs` so has everything that follows from them. A position that is
about to become a leaf is looked at one move ahead: if a move wins at once, or all end the game, its value is known and
the network is not asked. A known value of a child is known of the edge to it; a node with a won edge is won, and one
whose edges are all known is worth the best of them (MCTS-Solver, Winands et al. 2008). Edges known to lose are not
searched while there are others. So a win in one move and the only defence against one are found with any network.

A node takes 40 bytes and 24 for each action: 100 simulations of 256 games of Connect Four take 5 MB, and no more.

PUCT after Silver et al. 2017, first-play urgency as in KataGo (Wu 2019), Gumbel root after Danihelka et al. 2022.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from .. import jit
from ..games.base import Game
from .config import Config

Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # planes -> (policy logits, values)

ILLEGAL = -1.0  # prior of an action that the rules forbid
FEW = 1 / 16  # share of the trees for which it does not pay to look for another leaf before a batch is sent off
VISIT_OFFSET = 50.0  # Gumbel: c_visit of the paper
PLAY_C_PUCT = 1.0  # where a trained network plays to win: then it pays to trust the values more than in self-play


class Trees(NamedTuple):
    """The arrays of a forest: `T` trees of up to `N` nodes, `A` actions. Node 0 is the root."""

    own: np.ndarray  # (T, N) int64: boards of each node
    opp: np.ndarray
    value: np.ndarray  # (T, N) float32: the network's value
    visits: np.ndarray  # (T, N) int64: simulations that began at the node or passed it, and its own evaluation
    prior: np.ndarray  # (T, N, A) float32: ILLEGAL, or the probability of the action
    edge_visits: np.ndarray  # (T, N, A) int32
    total: np.ndarray  # (T, N, A) float64: sum of the values that came back over the edge
    exact: np.ndarray  # (T, N, A) float32: value of the edge where it is known, else NaN
    child: np.ndarray  # (T, N, A) int32: node at the end of the edge; 0 where there is none
    size: np.ndarray  # (T,) int64: nodes in use
    done: np.ndarray  # (T,) int64: simulations done, and to do
    budget: np.ndarray
    depth: np.ndarray  # (T,) int64: edges of the path to the leaf; -1 where there is no leaf
    path_node: np.ndarray  # (T, N) int32: where each edge of that path begins, and its action
    path_action: np.ndarray
    noise: np.ndarray  # (T, A) float32: noise on the root's prior, and its share
    noise_weight: np.ndarray  # (T,) float64
    gumbel: np.ndarray  # (T, A) float64: Gumbel noise on the root's logits
    schedule: np.ndarray  # (T, N) int32: visits of the root's edges that simulation k chooses from; -1 for PUCT


def new_trees(n_trees: int, simulations: int, action_size: int) -> Trees:
    """Room for trees of so many simulations; every number counts for nothing until a search has begun."""
    n_nodes = simulations + 1
    node, edge = (n_trees, n_nodes), (n_trees, n_nodes, action_size)
    return Trees(
        own=np.empty(node, np.int64),
        opp=np.empty(node, np.int64),
        value=np.empty(node, np.float32),
        visits=np.empty(node, np.int64),
        prior=np.empty(edge, np.float32),
        edge_visits=np.empty(edge, np.int32),
        total=np.empty(edge, np.float64),
        exact=np.empty(edge, np.float32),
        child=np.empty(edge, np.int32),
        size=np.zeros(n_trees, np.int64),
        done=np.zeros(n_trees, np.int64),
        budget=np.zeros(n_trees, np.int64),
        depth=np.full(n_trees, -1),
        path_node=np.empty(node, np.int32),
        path_action=np.empty(node, np.int32),
        noise=np.zeros((n_trees, action_size), np.float32),
        noise_weight=np.zeros(n_trees),
        gumbel=np.zeros((n_trees, action_size)),
        schedule=np.full(node, -1, np.int32),
    )


# --- the compiled part: the loops over trees, nodes and actions -----------------------------------------------------


def _compiled(function):
    """Compiled at the first call, where there is numba."""
    return jit.compile_function(function, None) if jit.HAVE_NUMBA else function


@_compiled
def _node_value(trees, t, node):
    """Mean of the network's value of a node and of all values that came back to it."""
    total = float(trees.value[t, node])
    for action in range(trees.prior.shape[2]):
        total += trees.total[t, node, action] if trees.edge_visits[t, node, action] else 0.0
    return total / trees.visits[t, node]


@_compiled
def _solved(trees, t, node):
    """Exact value of a node by its edges, NaN where they do not settle it."""
    best = -1.0
    settled = True
    for action in range(trees.prior.shape[2]):
        if trees.prior[t, node, action] >= 0:
            exact = trees.exact[t, node, action]
            if exact == exact:
                best = max(best, exact)
            else:
                settled = False
    return best if settled or best == 1 else np.nan


@_compiled
def _choose(trees, t, node, c_puct, fpu_reduction, proofs):
    """The action to search next: highest Q + U, the first of equals.

    U = c_puct * prior * sqrt(visits of the node) / (1 + visits of the edge). Q is the exact value, or the mean of what
    came back; unvisited, the node's mean value - fpu_reduction * sqrt(prior of its visited actions). With `proofs`
    only the won edges count where there are some, and the lost ones only where there are no others.
    """
    actions = trees.prior.shape[2]
    visited = 0.0
    won = False
    alive = False
    for action in range(actions):
        if trees.prior[t, node, action] >= 0:
            if trees.edge_visits[t, node, action]:
                visited += trees.prior[t, node, action]
            won |= trees.exact[t, node, action] == 1
            alive |= trees.exact[t, node, action] != -1
    unvisited = _node_value(trees, t, node) - fpu_reduction * np.sqrt(visited)
    scale = c_puct * np.sqrt(float(trees.visits[t, node]))
    best_score = -np.inf
    best = -1
    for action in range(actions):
        prior = float(trees.prior[t, node, action])
        exact = float(trees.exact[t, node, action])
        if prior < 0 or (proofs and ((won and exact != 1) or (alive and exact == -1))):
            continue
        visits = trees.edge_visits[t, node, action]
        q = unvisited
        if exact == exact:
            q = exact
        elif visits:
            q = trees.total[t, node, action] / visits
        score = q + scale * prior / (1 + visits)
        if score > best_score:
            best_score = score
            best = action
    return best


@_compiled
def _root_logits(trees, t, out):
    """Logits of the root improved by the search: log prior + (50 + most visits) * completed Q, with Q in [0, 1].

    Q of an unvisited action is the mix of the network's value with the visited Qs, weighted by prior (Danihelka et
    al. 2022, appendix D). Illegal actions get -inf. This is log of the policy target, unnormalised.
    """
    actions = trees.prior.shape[2]
    most = 0
    simulations = 0
    visited = 0.0
    weighted = 0.0
    for action in range(actions):
        visits = trees.edge_visits[t, 0, action]
        if trees.prior[t, 0, action] >= 0 and visits:
            most = max(most, visits)
            simulations += visits
            visited += trees.prior[t, 0, action]
            weighted += trees.prior[t, 0, action] * trees.total[t, 0, action] / visits
    mixed = float(trees.value[t, 0])
    if visited > 0:
        mixed = (mixed + simulations * weighted / visited) / (1 + simulations)
    for action in range(actions):
        if trees.prior[t, 0, action] < 0:
            out[action] = -np.inf
            continue
        q = mixed
        if trees.exact[t, 0, action] == trees.exact[t, 0, action]:
            q = trees.exact[t, 0, action]
        elif trees.edge_visits[t, 0, action]:
            q = trees.total[t, 0, action] / trees.edge_visits[t, 0, action]
        prior = max(float(trees.prior[t, 0, action]), 1e-30)
        out[action] = np.log(prior) + (VISIT_OFFSET + most) * (q + 1) / 2


@_compiled
def _uses_gumbel(trees, t):
    """Whether the root is searched by sequential halving: it was begun so, and no move is known to win."""
    if trees.schedule[t, 0] < 0:
        return False
    won = False
    for action in range(trees.prior.shape[2]):
        won |= trees.exact[t, 0, action] == 1
    return not won


@_compiled
def _choose_by_gumbel(trees, t):
    """The root's action by sequential halving: of those with the scheduled number of visits, the best Gumbel score."""
    scores = np.empty(trees.prior.shape[2])
    _root_logits(trees, t, scores)
    wanted = trees.schedule[t, trees.done[t]]
    best_score = -np.inf
    best = -1
    for action in range(len(scores)):
        if trees.prior[t, 0, action] >= 0 and trees.edge_visits[t, 0, action] == wanted:
            score = scores[action] + trees.gumbel[t, action]
            if score > best_score:
                best_score = score
                best = action
    return best


@_compiled
def _back_up(trees, t, value):
    """Carry a value, for the side to move where the last edge of the path begins, up to the root."""
    for i in range(trees.depth[t] - 1, -1, -1):
        node = trees.path_node[t, i]
        action = trees.path_action[t, i]
        trees.visits[t, node] += 1
        trees.edge_visits[t, node, action] += 1
        trees.total[t, node, action] += value
        value = -value
    trees.done[t] += 1


@_compiled
def _prove(trees, t, value):
    """Note the exact value of the last edge of the path, and of all edges above it that follow."""
    for i in range(trees.depth[t] - 1, -1, -1):
        trees.exact[t, trees.path_node[t, i], trees.path_action[t, i]] = value
        value = -_solved(trees, t, trees.path_node[t, i])
        if value != value:
            return


@_compiled
def _descend(trees, running, c_puct, fpu_reduction, proofs):
    """Choose a path to a leaf in each of the trees `running`; simulations that end on known values are done at once."""
    for t in running:
        trees.depth[t] = -1
        while trees.done[t] < trees.budget[t]:
            if trees.size[t] == 0:  # the root itself is the leaf
                trees.depth[t] = 0
                break
            node = 0
            depth = 0
            while True:
                if node == 0 and _uses_gumbel(trees, t):
                    action = _choose_by_gumbel(trees, t)
                else:
                    action = _choose(trees, t, node, c_puct, fpu_reduction, proofs)
                trees.path_node[t, depth] = node
                trees.path_action[t, depth] = action
                depth += 1
                exact = trees.exact[t, node, action]
                if exact == exact or trees.child[t, node, action] == 0:
                    break
                node = trees.child[t, node, action]
            trees.depth[t] = depth
            if exact != exact:
                break
            _back_up(trees, t, exact)
            trees.depth[t] = -1


@_compiled
def _settle(trees, leaves, values, proofs):
    """End the simulations of the trees `leaves` whose leaves have exact `values`, for the side to move there."""
    for i in range(len(leaves)):
        t = leaves[i]
        if proofs:
            _prove(trees, t, -values[i])
        else:  # a terminal leaf, and only its own edge is known
            last = trees.depth[t] - 1
            trees.exact[t, trees.path_node[t, last], trees.path_action[t, last]] = -values[i]
        _back_up(trees, t, -values[i])


@_compiled
def _expand(trees, leaves, own, opp, priors, values, edges):
    """Add the leaves of the trees `leaves` as nodes and carry their values up."""
    for i in range(len(leaves)):
        t = leaves[i]
        node = trees.size[t]
        trees.size[t] += 1
        trees.own[t, node] = own[i]
        trees.opp[t, node] = opp[i]
        trees.value[t, node] = values[i]
        trees.visits[t, node] = 1
        weight = trees.noise_weight[t] if node == 0 else 0.0
        for action in range(trees.prior.shape[2]):
            prior = priors[i, action]
            if weight > 0 and prior >= 0:
                prior = (1 - weight) * prior + weight * trees.noise[t, action]
            trees.prior[t, node, action] = prior
            trees.edge_visits[t, node, action] = 0
            trees.total[t, node, action] = 0
            trees.exact[t, node, action] = edges[i, action]
            trees.child[t, node, action] = 0
        depth = trees.depth[t]
        if depth > 0:
            trees.child[t, trees.path_node[t, depth - 1], trees.path_action[t, depth - 1]] = node
            _back_up(trees, t, -values[i])


# --- evaluations kept -------------------------------------------------------------------------------------------------


class Cache:
    """Priors and values by position, in a table of fixed size: of two positions with one place the newer stays.

    It returns what was put in, for the same boards and no others. Make a new one, or `clear`, for a new network.

    Attributes:
        hits, misses: positions found and not found so far.
    """

    def __init__(self, positions: int, action_size: int):
        self._mask = positions - 1
        self._own = np.zeros(positions, np.int64)
        self._opp = np.zeros(positions, np.int64)
        self._priors = np.empty((positions, action_size), np.float32)
        self._values = np.empty(positions, np.float32)
        self._used = np.zeros(positions, bool)
        self.hits = self.misses = 0

    def clear(self):
        """Forget every evaluation."""
        self._used[:] = False

    def find(self, own: np.ndarray, opp: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(found, priors, values): bool `(n,)`, and the evaluations of those that were found, in order."""
        place = self._places(own, opp)
        found = self._used[place] & (self._own[place] == own) & (self._opp[place] == opp)
        place = place[found]
        self.hits += len(place)
        self.misses += len(own) - len(place)
        return found, self._priors[place], self._values[place]

    def store(self, own: np.ndarray, opp: np.ndarray, priors: np.ndarray, values: np.ndarray):
        """Keep evaluations."""
        place = self._places(own, opp)
        self._own[place], self._opp[place] = own, opp
        self._priors[place], self._values[place] = priors, values
        self._used[place] = True

    def _places(self, own, opp):
        factors = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
        mixed = own.view(np.uint64) * factors[0] ^ opp.view(np.uint64) * factors[1]
        return ((mixed >> np.uint64(32)) & np.uint64(self._mask)).view(np.int64)


def masked_softmax(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """float32 `(n, A)`: probabilities of the legal actions, and ILLEGAL for the others."""
    logits = np.where(legal, logits, -np.inf).astype(np.float32)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.where(legal, weights / weights.sum(axis=-1, keepdims=True), np.float32(ILLEGAL))


# --- the forest -----------------------------------------------------------------------------------------------------


class Forest:
    """Searches that advance together, each in a tree of its own.

    Plant positions into trees with `begin`, then `step` until they have had their simulations (`finished`), read the
    results, and plant again; trees need not begin or end together.

    Args:
        game: the rules.
        evaluate: a network, or anything that takes planes `(n, *input_shape)` and returns policy logits
            `(n, action_size)` and values `(n,)` for the side to move, numpy arrays.
        config: `c_puct`, `fpu_reduction`, `proofs`, `num_simulations`, `cache_positions`.
        n_trees: trees side by side, which is the largest batch.
        cache: evaluations shared with other searches; None for one of its own, if the configuration has one.

    Attributes:
        simulations, evaluations: done so far in all trees, and asked of the network; batches: in so many batches.
    """

    def __init__(self, game: Game, evaluate: Evaluate, config: Config, n_trees: int, cache: Cache | None = None):
        self.game = game
        self.evaluate = evaluate
        self.config = config
        self.capacity = max(config.num_simulations, config.fast_simulations)
        self.trees = new_trees(n_trees, self.capacity, game.action_size)
        if cache is None and config.cache_positions:
            cache = Cache(config.cache_positions, game.action_size)
        self.cache = cache
        self.simulations = self.evaluations = self.batches = 0

    def begin(self, trees, own, opp, simulations, *, noise=None, gumbel=None):
        """Begin searches of positions that are not finished; all arguments are arrays of one entry a search.

        Args:
            trees: which trees to use, int; what they held is forgotten.
            own, opp: the positions, int64.
            simulations: how many, int or one number for all.
            noise: float `(n, A)` to mix into the root's prior with weight `dirichlet_weight`, or None; a row of
                zeros for none.
            gumbel: float `(n, A)`, Gumbel noise for a root search by sequential halving over `gumbel_actions`
                actions (zeros for one without chance), or None for PUCT.
        """
        if not np.isnan(self.game.terminal_boards(own, opp)).all():
            raise ValueError("a finished game cannot be searched")
        forest = self.trees
        forest.size[trees] = forest.done[trees] = 0
        forest.budget[trees] = simulations
        if forest.budget[trees].max(initial=1) > self.capacity or forest.budget[trees].min(initial=1) < 1:
            raise ValueError(f"a search takes 1 to {self.capacity} simulations here")
        forest.own[trees, 0], forest.opp[trees, 0] = own, opp
        forest.noise_weight[trees] = 0
        if noise is not None:
            forest.noise[trees] = noise
            forest.noise_weight[trees] = np.where(noise.any(axis=1), self.config.dirichlet_weight, 0)
        forest.schedule[trees] = -1
        if gumbel is not None:
            forest.gumbel[trees] = gumbel
            considered = np.minimum(self.game.legal_boards(own, opp).sum(axis=1), self.config.gumbel_actions)
            for tree, actions in zip(trees, considered.tolist(), strict=True):
                budget = int(forest.budget[tree])
                forest.schedule[tree, :budget] = halving_schedule(actions, budget)

    @property
    def finished(self) -> np.ndarray:
        """bool `(n_trees,)`: trees whose simulations are done (or which were never begun)."""
        return self.trees.done >= self.trees.budget

    def step(self):
        """Advance every unfinished search to one evaluation by the network, and evaluate these in one batch.

        Simulations that end on known values, or on positions in the cache, are done along the way.
        """
        trees, config = self.trees, self.config
        before = trees.done.sum()
        waiting = []
        running = np.flatnonzero(~self.finished)
        while len(running) > (FEW * len(trees.size) if waiting else 0):
            _descend(trees, running, config.c_puct, config.fpu_reduction, config.proofs)
            leaves = running[trees.depth[running] >= 0]
            if not len(leaves):
                break
            own, opp = self._leaf_boards(leaves)
            legal, edges, values = self._look_ahead(own, opp)
            known = ~np.isnan(values) & (trees.depth[leaves] > 0)  # the root becomes a node whatever its value
            _settle(trees, leaves[known], values[known], config.proofs)
            settled = leaves[known]
            leaves, own, opp, legal, edges = (array[~known] for array in (leaves, own, opp, legal, edges))
            found = np.zeros(len(leaves), bool)
            if self.cache is not None:
                found, priors, values = self.cache.find(own, opp)
                _expand(trees, leaves[found], own[found], opp[found], priors, values, edges[found])
            if not found.all():
                waiting.append([array[~found] for array in (leaves, own, opp, legal, edges)])
            running = np.concatenate([settled, leaves[found]])
        if waiting:
            self._ask_network(*(np.concatenate(arrays) for arrays in zip(*waiting, strict=True)))
        self.simulations += int(trees.done.sum() - before)

    def run(self):
        """Step until every search is finished."""
        while not self.finished.all():
            self.step()

    def _leaf_boards(self, leaves):
        """Boards of the chosen leaves."""
        trees = self.trees
        last = trees.depth[leaves] - 1
        inner = last >= 0
        node = np.where(inner, trees.path_node[leaves, last], 0)
        own, opp = trees.own[leaves, node], trees.opp[leaves, node]
        at = np.flatnonzero(inner)
        if len(at):
            own[at], opp[at] = self.game.play_boards(own[at], opp[at], trees.path_action[leaves[at], last[at]])
        return own, opp

    def _look_ahead(self, own, opp):
        """Legal actions `(n, A)`, exact values of the edges `(n, A)` and of the positions `(n,)`; NaN: not known."""
        legal = self.game.legal_boards(own, opp)
        edges = np.full(legal.shape, np.nan, np.float32)
        if not self.config.proofs:
            return legal, edges, self.game.terminal_boards(own, opp)
        # that the position itself is not terminal was seen when its parent was looked at
        parent, action = np.nonzero(legal)
        edges[parent, action] = -self.game.terminal_boards(*self.game.play_boards(own[parent], opp[parent], action))
        best = np.fmax.reduce(edges, axis=1, initial=np.float32(-1), where=legal)
        settled = (best == 1) | (~np.isnan(edges) | ~legal).all(axis=1)
        return legal, edges, np.where(settled, best, np.float32(np.nan))

    def _ask_network(self, leaves, own, opp, legal, edges):
        """Evaluate leaves, equal positions once where there is a cache, and add them to their trees."""
        ask, answer = slice(None), slice(None)
        if self.cache is not None:
            _, ask, answer = np.unique(np.stack([own, opp]), axis=1, return_index=True, return_inverse=True)
        planes = self.game.encode_boards(own[ask], opp[ask])
        self.evaluations += len(planes)
        self.batches += 1
        logits, values = self.evaluate(planes)
        if not (np.isfinite(logits).all() and np.isfinite(values).all()):
            raise ValueError("the network's answer holds numbers that are not finite")
        priors = masked_softmax(logits, legal[ask])
        values = np.clip(values, -1, 1).astype(np.float32)
        if self.cache is not None:
            self.cache.store(own[ask], opp[ask], priors, values)
        _expand(self.trees, leaves, own, opp, priors[answer], values[answer], edges)

    # --- results, of the trees `trees` (an array of ints, or a slice) -----------------------------------------------

    def visits(self, trees=slice(None)) -> np.ndarray:
        """int32 `(n, A)`: visits of the root's edges; they add up to the simulations."""
        return self.trees.edge_visits[trees, 0].copy()

    def values(self, trees=slice(None)) -> np.ndarray:
        """float64 `(n,)`: value of the root for the side to move, exact where it is proven."""
        exact = self.proven(trees)
        numbers = np.arange(len(self.trees.size))[trees]
        return np.where(np.isnan(exact), [_node_value(self.trees, tree, 0) for tree in numbers], exact)

    def proven(self, trees=slice(None)) -> np.ndarray:
        """float64 `(n,)`: the exact value of the root, NaN where it is not proven."""
        numbers = np.arange(len(self.trees.size))[trees]
        return np.array([_solved(self.trees, tree, 0) if self.config.proofs else np.nan for tree in numbers])

    def policies(self, trees=slice(None)) -> np.ndarray:
        """float64 `(n, A)`: what the search teaches, a distribution over the legal actions.

        The shares of visits, of which those of moves proven to lose are taken away where there are others (and of
        all but the won ones where there are such); after a Gumbel search the improved policy of `_root_logits`.
        """
        numbers = np.arange(len(self.trees.size))[trees]
        policies = np.empty((len(numbers), self.game.action_size))
        for policy, tree in zip(policies, numbers, strict=True):
            if _uses_gumbel(self.trees, tree):
                _root_logits(self.trees, tree, policy)
                policy[:] = np.exp(policy - policy.max())
            else:
                policy[:] = self._counted(tree)
            policy /= policy.sum()
        return policies

    def best_actions(self, trees=slice(None)) -> np.ndarray:
        """int `(n,)`: the move to play: most counted visits (see `policies`), the higher value, the first of equals.

        After a Gumbel search: of the most visited moves, the one with the best Gumbel score.
        """
        numbers = np.arange(len(self.trees.size))[trees]
        return np.array([self._best_action(tree) for tree in numbers])

    def tree(self, tree: int = 0) -> "Node":
        """A copy of one tree to look at."""
        size = int(self.trees.size[tree])
        arrays = {name: getattr(self.trees, name)[tree, :size].copy() for name in Node.ARRAYS}
        return Node(self.game, arrays, 0, self.config.proofs)

    def _counted(self, tree):
        """Visits of the root's edges, without those that proofs make pointless."""
        visits = self.trees.edge_visits[tree, 0].astype(float)
        exact = self.trees.exact[tree, 0]
        prior = self.trees.prior[tree, 0]
        worthy = exact == 1 if (exact == 1).any() else (exact != -1) & (prior >= 0)
        if not self.config.proofs or not worthy.any():
            return visits
        counted = np.where(worthy, visits, 0)
        # all visits may have gone to moves that were proven lost in the end: then the others, by prior
        return counted if counted.any() else np.where(worthy, np.maximum(prior, 1e-9), 0)

    def _best_action(self, tree):
        arrays = self.trees
        if _uses_gumbel(arrays, tree):
            scores = np.empty(self.game.action_size)
            _root_logits(arrays, tree, scores)
            scores += arrays.gumbel[tree]
            visits = np.where(arrays.prior[tree, 0] >= 0, arrays.edge_visits[tree, 0], -1)
            return int(np.argmax(np.where(visits == visits.max(), scores, -np.inf)))
        counted = self._counted(tree)
        visits = np.maximum(arrays.edge_visits[tree, 0], 1)
        q = np.where(np.isnan(arrays.exact[tree, 0]), arrays.total[tree, 0] / visits, arrays.exact[tree, 0])
        return int(np.argmax(np.where(counted == counted.max(), q, -np.inf)))


def halving_schedule(actions: int, simulations: int) -> np.ndarray:
    """int32 `(simulations,)`: how often the action that each simulation of sequential halving takes was visited before.

    Each phase gives the actions that are left the same number of visits, and the better half goes on, down to two.
    """
    phases = max(1, int(np.ceil(np.log2(actions)))) if actions > 1 else 1
    sequence: list[int] = []
    visits = 0
    left = actions
    while len(sequence) < simulations:
        rounds = max(1, simulations // (phases * left)) if actions > 1 else simulations
        for _ in range(rounds):
            sequence += [visits] * left
            visits += 1
        left = max(2, left // 2) if actions > 1 else 1
    return np.array(sequence[:simulations], np.int32)


# --- looking at one tree --------------------------------------------------------------------------------------------


class Node:
    """A node of a finished search, to be read: values are for the side to move at this node.

    Attributes:
        boards: `(own, opp)`, see `Game.boards`.
        visits: simulations that began here or passed, and the node's own evaluation.
        value: mean of everything that came back; the exact value where it is proven.
        network_value: what the network said.
        is_proven: whether `value` is exact.
        legal: bool `(A,)`.
        priors, edge_visits, q, exact: `(A,)`, one entry an action: prior (0 for illegal), visits, mean value (NaN
            unvisited), proven value (NaN where there is none).
    """

    ARRAYS = ("own", "opp", "value", "visits", "prior", "edge_visits", "total", "exact", "child")

    def __init__(self, game: Game, arrays: dict[str, np.ndarray], index: int, proofs: bool):
        self.game = game
        self._arrays, self._proofs = arrays, proofs
        here = {name: array[index] for name, array in arrays.items()}
        self.boards = tuple(int(here[name].view(np.uint64)) for name in ("own", "opp"))
        self.visits = int(here["visits"])
        self.network_value = float(here["value"])
        self.legal = here["prior"] >= 0
        self.priors = np.where(self.legal, here["prior"], 0)
        self.edge_visits = here["edge_visits"]
        self.exact = here["exact"]
        with np.errstate(invalid="ignore"):
            mean = here["total"] / self.edge_visits
        self.q = np.where(np.isnan(self.exact), mean, self.exact)
        self._child = here["child"]
        exact = self.exact[self.legal]
        self.is_proven = bool(proofs and ((exact == 1).any() or not np.isnan(exact).any()))
        mean = (self.network_value + here["total"][self.edge_visits > 0].sum()) / self.visits
        self.value = float(np.nanmax(exact) if self.is_proven else mean)

    @property
    def state(self) -> np.ndarray:
        """The position as the game's array."""
        return self.game.state(*self.boards)

    @property
    def children(self) -> dict[int, Self]:
        """The nodes below, by action: those that were searched and are not terminal."""
        actions = np.flatnonzero(self._child > 0)
        make = type(self)
        return {int(a): make(self.game, self._arrays, int(self._child[a]), self._proofs) for a in actions}

    @property
    def principal_variation(self) -> list[int]:
        """The actions of the most visited path from here, the first of equals; up to its end or a proven value."""
        if not self.edge_visits.any():
            return []
        action = int(np.argmax(self.edge_visits))
        below = self.children.get(action)
        return [action, *(below.principal_variation if below else [])]

    def walk(self) -> Iterator[Self]:
        """This node and all below it, depth first."""
        yield self
        for child in self.children.values():
            yield from child.walk()

    def to_dict(self) -> dict[str, Any]:
        """The tree as plain numbers, for JSON: edges that were visited or are proven, by action."""
        children = self.children
        edges = {}
        for action in np.flatnonzero(self.legal & ((self.edge_visits > 0) | ~np.isnan(self.exact))):
            edge = {"prior": round(float(self.priors[action]), 6), "visits": int(self.edge_visits[action])}
            if self.edge_visits[action]:
                edge["q"] = round(float(self.q[action]), 6)
            if not np.isnan(self.exact[action]):
                edge["exact"] = float(self.exact[action])
            if action in children:
                edge["node"] = children[action].to_dict()
            edges[str(action)] = edge
        return {"boards": list(self.boards), "value": round(self.value, 6), "visits": self.visits, "edges": edges}


class Search(NamedTuple):
    """What a search of one position found, for its side to move."""

    action: int  # the move to play
    visits: np.ndarray  # (A,) int32
    policy: np.ndarray  # (A,) float64: the policy target
    value: float
    tree: Node

    @property
    def principal_variation(self) -> list[int]:
        """The actions of the most visited path."""
        return self.tree.principal_variation


def search(
    game: Game,
    evaluate: Evaluate,
    state: np.ndarray,
    num_simulations: int = 100,
    *,
    seed: int | None = None,
    cache: Cache | None = None,
    **options: Any,
) -> Search:
    """Search one position.

    Args:
        game: the rules.
        evaluate: see `Forest`.
        state: the position, an array of the game; ValueError where it is finished.
        num_simulations: how many.
        seed: of Dirichlet (or Gumbel) noise at the root; None for none.
        cache: evaluations shared with other searches.
        options: other keys of `Config`, such as `c_puct`.
    """
    options = {"cache_positions": 0, "fast_simulations": 1, **options}
    config = Config(game=game.name, num_simulations=num_simulations, **options)
    forest = Forest(game, evaluate, config, 1, cache)
    own, opp = (np.array([board], np.uint64).view(np.int64) for board in game.boards(state))
    noise = root_noise(game, config, own, opp, [None if seed is None else np.random.default_rng(seed)])
    forest.begin(np.arange(1), own, opp, num_simulations, **noise)
    forest.run()
    return Search(
        action=int(forest.best_actions()[0]),
        visits=forest.visits()[0],
        policy=forest.policies()[0],
        value=float(forest.values()[0]),
        tree=forest.tree(),
    )


def root_noise(game: Game, config: Config, own, opp, generators) -> dict[str, np.ndarray]:
    """The noise arguments of `Forest.begin` for positions `(n,)`, each from its own generator; None there for none."""
    drawn = np.zeros((len(own), game.action_size))
    gumbel = bool(config.gumbel_actions)
    for row, legal, generator in zip(drawn, game.legal_boards(own, opp), generators, strict=True):
        if generator is not None:
            n = int(legal.sum())
            row[legal] = generator.gumbel(size=n) if gumbel else generator.dirichlet([config.dirichlet_alpha] * n)
    return {"gumbel": drawn} if gumbel else {"noise": drawn}
