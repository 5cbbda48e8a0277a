"""The parts together: a game that the package has never heard of is learned, with nothing but its rules."""

import numpy as np
import torch

from c4lib.alphazero.config import Config
from c4lib.alphazero.mcts import search
from c4lib.alphazero.net import AlphaZeroNet, Evaluator
from c4lib.alphazero.replay import ReplayBuffer
from c4lib.alphazero.selfplay import SelfPlayWorker

from .players import Row, legal_actions, solver


def learn(game, config, iterations):
    """The shortest AlphaZero: play, keep, learn."""
    torch.set_num_threads(1)
    net = AlphaZeroNet.of(game, config)
    buffer = ReplayBuffer(config.replay_buffer_capacity, game.action_size, merge=config.merge_duplicates)
    optimiser = torch.optim.AdamW(net.parameters(), config.learning_rate, weight_decay=config.weight_decay)
    generator = np.random.default_rng(config.seed)
    evaluate = Evaluator(net, "cpu", "float32")
    for iteration in range(iterations):
        worker = SelfPlayWorker(game, evaluate, config)
        buffer.add(worker.play(config.games_per_iteration, config.seed + iteration).samples)
        net.train()
        for _ in range(config.training_steps_per_iteration):
            batch = buffer.sample(config.batch_size, generator, game, root_value_weight=config.root_value_weight)
            policy, value = net.losses(*map(torch.from_numpy, batch))
            optimiser.zero_grad()
            (policy + value).backward()
            optimiser.step()
        evaluate.update(net)
    return evaluate


def test_a_toy_game_is_learned():
    game = Row()
    config = Config(
        game=game.name, n_blocks=1, n_channels=16, num_simulations=16, games_per_iteration=40, seed=1,
        training_steps_per_iteration=60, batch_size=32, learning_rate=1e-2, temperature_threshold=5, min_buffer_size=1,
    )  # fmt: skip
    value = solver(game)
    states, todo = [], [game.initial_state()]
    while todo:
        state = todo.pop()
        if game.terminal_value(state) is None and np.count_nonzero(state) < 5:
            states.append(state)
            todo += [game.apply(state, action) for action in legal_actions(game, state)]
    states = list({state.tobytes(): state for state in states}.values())
    wanted = np.array([value(*game.boards(state)) for state in states])

    def value_error(evaluate):
        return np.mean((evaluate(np.stack([game.encode(state) for state in states]))[1] - wanted) ** 2)

    new = Evaluator(AlphaZeroNet.of(game, config), "cpu", "float32")
    learned = learn(game, config, iterations=3)
    assert value_error(learned) < 0.6 * value_error(new)

    right = 0
    for state, best in zip(states, wanted, strict=True):
        action = search(game, learned, state, 4, proofs=False).action
        right += -value(*game.boards(game.apply(state, action))) == best
    assert right > 0.9 * len(states)
