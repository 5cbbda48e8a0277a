"""The replay buffer: the newest positions of self-play, as bitboards, from which batches are drawn."""

from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from ..games.base import Game
from ..resume import writing
from .selfplay import Samples


class Batch(NamedTuple):
    """What the network learns from: `n` positions; values are for the side to move."""

    planes: np.ndarray  # (n, *input_shape) float32
    policies: np.ndarray  # (n, A) float32
    values: np.ndarray  # (n,) float32


class ReplayBuffer:
    """At most `capacity` samples; the oldest make room.

    Args:
        capacity: samples kept.
        action_size: of the game.
        merge: draw from the distinct positions, each with the mean of its targets and as likely as any other, instead
            of from the samples. The buffer itself keeps all.

    Attributes:
        added: samples added so far, those that have gone again included.
        window: so many of the newest samples are drawn from.
    """

    def __init__(self, capacity: int, action_size: int, *, merge: bool = False):
        self.capacity, self.merge = capacity, merge
        self.added = 0
        self._kept = Samples(
            own=np.empty(capacity, np.int64),
            opp=np.empty(capacity, np.int64),
            policy=np.empty((capacity, action_size), np.float32),
            outcome=np.empty(capacity, np.float32),
            root_value=np.empty(capacity, np.float32),
        )
        self._window = capacity
        self._merged: Samples | None = None

    @property
    def window(self) -> int:
        """How many of the newest positions are learned from."""
        return min(self._window, len(self))

    @window.setter
    def window(self, newest: int):
        self._window, self._merged = newest, None

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, samples: Samples):
        """Add samples, in their order."""
        n = len(samples.own)
        places = (self.added + np.arange(n))[-self.capacity :] % self.capacity
        for kept, new in zip(self._kept, samples, strict=True):
            kept[places] = new[n - len(places) :]
        self.added += n
        self._merged = None

    @property
    def samples(self) -> Samples:
        """What is drawn from, from the oldest to the newest."""
        return Samples(*(array[self._places()] for array in self._kept))

    def _places(self):
        return (self.added - self.window + np.arange(self.window)) % self.capacity

    @property
    def distinct(self) -> Samples:
        """The distinct positions of `samples`, in the order of their boards, with the means of their targets."""
        if self._merged is None:
            self._merged = merged(self.samples)
        return self._merged

    def sample(
        self,
        n: int,
        generator: np.random.Generator,
        game: Game,
        *,
        symmetries: bool = True,
        root_value_weight: float = 0.0,
    ) -> Batch:
        """Draw `n` positions, with replacement; raises ValueError where the buffer is empty.

        With `symmetries` each is shown in a random one of the game's equivalent forms. The value target is
        (1 - root_value_weight) * outcome + root_value_weight * root_value.
        """
        if not self.added:
            raise ValueError("the replay buffer is empty")
        if self.merge:
            source = self.distinct
            drawn = generator.integers(len(source.own), size=n)
        else:
            source = self._kept
            drawn = (self.added - 1 - generator.integers(self.window, size=n)) % self.capacity
        own, opp, policies, outcome, root_value = (array[drawn] for array in source)
        planes = game.encode_boards(own, opp)
        if symmetries:
            planes, policies = random_symmetries(game, planes, policies, generator)
        values = (1 - root_value_weight) * outcome + root_value_weight * root_value
        return Batch(planes, policies, values.astype(np.float32))

    def save(self, path: str | Path):
        """Write everything to one npz file, whole or not at all."""
        with writing(Path(path)) as beside, beside.open("wb") as file:
            numbers = {"capacity": self.capacity, "added": self.added, "merge": self.merge}
            kept = {name: array[: len(self)] for name, array in self._kept._asdict().items()}
            np.savez(file, **numbers, **kept)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The buffer that `save` wrote: the same samples in the same places, so the same draws."""
        with np.load(path, allow_pickle=False) as file:
            buffer = cls(int(file["capacity"]), file["policy"].shape[1], merge=bool(file["merge"]))
            buffer.added = int(file["added"])
            for name, array in buffer._kept._asdict().items():
                array[: len(buffer)] = file[name]
        return buffer


def merged(samples: Samples) -> Samples:
    """The distinct positions, in the order of their boards; policy, outcome and root value are means."""
    order = np.lexsort((samples.opp, samples.own))
    own, opp = samples.own[order], samples.opp[order]
    starts = np.flatnonzero(np.concatenate([[True], (own[1:] != own[:-1]) | (opp[1:] != opp[:-1])]))
    counts = np.diff(np.append(starts, len(own)))

    def mean(array):
        sums = np.add.reduceat(array[order].astype(np.float64), starts, axis=0)
        return (sums / counts.reshape(-1, *[1] * (array.ndim - 1))).astype(np.float32)

    means = (mean(array) for array in (samples.policy, samples.outcome, samples.root_value))
    return Samples(own[starts], opp[starts], *means)


def random_symmetries(
    game: Game, planes: np.ndarray, policies: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Each position, with its policy, in a random one of its equivalent forms."""
    images = game.symmetries(planes, policies)
    chosen = generator.integers(len(images), size=len(planes))
    planes, policies = planes.copy(), policies.copy()
    for number, (image, image_policies) in enumerate(images):
        rows = chosen == number
        planes[rows], policies[rows] = image[rows], image_policies[rows]
    return planes, policies
