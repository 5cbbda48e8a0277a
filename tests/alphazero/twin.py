"""The search again, one position at a time, in plain Python and as obvious as can be: what `mcts` is compared with."""

import math

import numpy as np

from c4lib.alphazero.mcts import masked_softmax


class Twin:
    """A node. Edges are dicts by action; everything is for the side to move here."""

    def __init__(self, game, evaluate, state, proofs):
        self.game, self.evaluate, self.state, self.proofs = game, evaluate, state, proofs
        legal = game.legal_actions_mask(state)
        logits, values = evaluate(game.encode(state)[None])
        priors = masked_softmax(logits, legal[None])[0]
        self.value = float(values[0])
        self.actions = [int(action) for action in np.flatnonzero(legal)]
        self.prior = {action: float(priors[action]) for action in self.actions}
        self.visits = dict.fromkeys(self.actions, 0)
        self.total = dict.fromkeys(self.actions, 0.0)
        self.exact = {}
        self.children = {}
        if proofs:
            self.look_ahead()

    def look_ahead(self):
        self.exact = known_edges(self.game, self.state)

    def solved(self):
        return solved(self.actions, self.exact)

    def mean(self):
        total = self.value
        for action in self.actions:
            total += self.total[action]
        return total / (1 + sum(self.visits.values()))

    def choose(self, c_puct, fpu_reduction):
        visited = 0.0
        for action in self.actions:
            if self.visits[action]:
                visited += self.prior[action]
        unvisited = self.mean() - fpu_reduction * math.sqrt(visited)
        scale = c_puct * math.sqrt(1 + sum(self.visits.values()))
        candidates = self.actions
        if self.proofs:
            won = [action for action in self.actions if self.exact.get(action) == 1]
            not_lost = [action for action in self.actions if self.exact.get(action) != -1]
            candidates = won or not_lost or self.actions

        def score(action):
            if action in self.exact:
                q = self.exact[action]
            elif self.visits[action]:
                q = self.total[action] / self.visits[action]
            else:
                q = unvisited
            return q + scale * self.prior[action] / (1 + self.visits[action])

        return max(candidates, key=score)  # the first of equals

    def simulate(self, c_puct, fpu_reduction):
        """One simulation; returns the value that came back, for the side to move here."""
        action = self.choose(c_puct, fpu_reduction)
        if action in self.exact:
            value = self.exact[action]
        elif action in self.children:
            child = self.children[action]
            value = -child.simulate(c_puct, fpu_reduction)
            if self.proofs and child.solved() is not None:
                self.exact[action] = -child.solved()
        else:
            value = self.open(action)
        self.visits[action] += 1
        self.total[action] += value
        return value

    def open(self, action):
        """The first visit of an edge."""
        after = self.game.apply(self.state, action)
        known = self.game.terminal_value(after)
        if known is None and self.proofs:
            legal = [int(a) for a in np.flatnonzero(self.game.legal_actions_mask(after))]
            known = solved(legal, known_edges(self.game, after))
        if known is not None:
            self.exact[action] = -known
            return -known
        child = self.children[action] = Twin(self.game, self.evaluate, after, self.proofs)
        return -child.value

    def counts(self):
        """Visits and exact values of the whole tree, to compare."""
        return {
            action: (
                self.visits[action],
                self.exact.get(action),
                self.children[action].counts() if action in self.children else None,
            )
            for action in self.actions
        }


def known_edges(game, state):
    """Exact values of the moves that end the game."""
    exact = {}
    for action in np.flatnonzero(game.legal_actions_mask(state)):
        known = game.terminal_value(game.apply(state, int(action)))
        if known is not None:
            exact[int(action)] = -known
    return exact


def solved(actions, exact):
    """Value of a position by the exact values of its moves; None where they do not settle it."""
    if 1 in exact.values():
        return 1.0
    return max(exact.values()) if len(exact) == len(actions) else None


def twin_search(game, evaluate, state, simulations, *, c_puct=2.5, fpu_reduction=0.25, proofs=True):
    root = Twin(game, evaluate, state, proofs)
    for _ in range(simulations):
        root.simulate(c_puct, fpu_reduction)
    return root
