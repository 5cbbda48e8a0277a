"""The network and how it is run: a residual tower with a policy and a value head, and a batch evaluator for the search.

Values are for the side to move, as everywhere. After He et al. 2015 and Silver et al. 2017; the heads have 32 filters,
since with the one or two of the papers they hold a small network back.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

HEAD_CHANNELS = 32
VALUE_HIDDEN = 64


class ConvNorm(nn.Module):
    """A convolution without bias that keeps the board's size, and batch normalisation."""

    def __init__(self, n_in: int, n_out: int, size: int):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, size, padding=size // 2, bias=False)
        self.norm = nn.BatchNorm2d(n_out)

    def forward(self, x):
        return self.norm(self.conv(x))

    def fold(self):
        """Move the normalisation, as it is for inference, into the convolution."""
        self.conv, self.norm = fuse_conv_bn_eval(self.conv, self.norm), nn.Identity()


class Block(nn.Module):
    """A residual block: two convolutions, and a way around them."""

    def __init__(self, n_channels: int):
        super().__init__()
        self.first = ConvNorm(n_channels, n_channels, 3)
        self.second = ConvNorm(n_channels, n_channels, 3)

    def forward(self, x):
        return functional.relu(x + self.second(functional.relu(self.first(x))))


class AlphaZeroNet(nn.Module):
    """Planes of shape `(n, *input_shape)` to policy logits `(n, action_size)` and values `(n,)` in [-1, 1].

    Illegal actions have logits too; the search leaves them out.
    """

    def __init__(self, input_shape: tuple[int, int, int], action_size: int, n_blocks: int, n_channels: int):
        super().__init__()
        self.shape = {
            "input_shape": tuple(input_shape),
            "action_size": action_size,
            "n_blocks": n_blocks,
            "n_channels": n_channels,
        }
        planes, rows, columns = input_shape
        cells = rows * columns
        self.stem = ConvNorm(planes, n_channels, 3)
        self.tower = nn.Sequential(*(Block(n_channels) for _ in range(n_blocks)))
        self.policy_conv = ConvNorm(n_channels, HEAD_CHANNELS, 1)
        self.policy_out = nn.Linear(HEAD_CHANNELS * cells, action_size)
        self.value_conv = ConvNorm(n_channels, HEAD_CHANNELS, 1)
        self.value_hidden = nn.Linear(HEAD_CHANNELS * cells, VALUE_HIDDEN)
        self.value_out = nn.Linear(VALUE_HIDDEN, 1)

    @classmethod
    def of(cls, game, config, seed: int | None = None) -> Self:
        """A new network for a game, of the size in a `Config`; its random weights depend on the seed alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed if seed is None else seed)
            return cls(game.input_shape, game.action_size, config.n_blocks, config.n_channels)

    def fits(self, game) -> bool:
        """Whether planes and actions are those of a game."""
        return (tuple(self.shape["input_shape"]), self.shape["action_size"]) == (game.input_shape, game.action_size)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.tower(functional.relu(self.stem(planes)))
        last = self.value_out.weight.dtype
        policy = functional.relu(self.policy_conv(x)).flatten(1).to(last)
        value = functional.relu(self.value_conv(x)).flatten(1).to(last)
        value = self.value_out(functional.relu(self.value_hidden(value)))
        return self.policy_out(policy), torch.tanh(value).squeeze(1)

    def losses(
        self, planes: torch.Tensor, policies: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Cross-entropy to policy targets `(n, action_size)`, and mean squared error to value targets `(n,)`."""
        logits, predicted = self(planes)
        return functional.cross_entropy(logits, policies), functional.mse_loss(predicted, values)

    def learn(self, batch: Sequence[np.ndarray], optimiser: torch.optim.Optimizer, backend: "Backend") -> torch.Tensor:
        """One step of the optimiser on planes, policy and value targets; the two losses, `(2,)`, as they were before.

        The weights and what is summed over a batch stay float32 whatever the backend's number format.
        """
        planes, policies, values = (torch.from_numpy(array).to(backend.device) for array in batch)
        planes = planes.to(memory_format=torch.channels_last)
        with torch.autocast(backend.device.type, backend.dtype, enabled=backend.dtype != torch.float32):
            losses = self.losses(planes, policies, values)
        optimiser.zero_grad()
        sum(losses).backward()
        optimiser.step()
        return torch.stack(losses).detach()

    @torch.no_grad()
    def follow(self, other: Self, share: float):
        """Become `share` of this network and the rest of another one: a step of a moving average of weights."""
        mine, others = ([t for t in net.state_dict().values() if t.is_floating_point()] for net in (self, other))
        torch._foreach_lerp_(mine, others, 1 - share)

    def save(self, path: str | Path):
        """Write the weights, with the network's shape beside them, as safetensors: equal weights, equal bytes."""
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}
        metadata = {"shape": json.dumps(self.shape)}  # one entry: the format leaves the order of several to chance
        Path(path).write_bytes(safetensors.torch.save(weights, metadata))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The network of a file that `save` wrote, on the CPU whatever device it was saved from.

        Raises ValueError for a file of something else, or a damaged one.
        """
        try:
            with safetensors.safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
            weights = safetensors.torch.load_file(path)
        except safetensors.SafetensorError as error:
            raise ValueError(f"{path} is no whole file of weights: {error}") from None
        if "shape" not in metadata:
            raise ValueError(f"{path} holds no AlphaZero network")
        try:
            shape = json.loads(metadata["shape"])
            if not 0 < shape["n_blocks"] < len(weights):
                raise ValueError
            with torch.device("meta"):  # takes no memory, whatever the file says
                net = cls(**shape)
            net.load_state_dict(weights, assign=True)
        except (ValueError, KeyError, TypeError, RuntimeError):
            raise ValueError(f"the weights in {path} do not fit the shape that it names") from None
        return net

    def folded(self) -> Self:
        """A copy for inference, its batch normalisations moved into the convolutions."""
        net = copy.deepcopy(self).eval().requires_grad_(False)
        for module in net.modules():
            if isinstance(module, ConvNorm):
                module.fold()
        return net


class Backend(NamedTuple):
    """Where and in which arithmetic a network is run."""

    device: torch.device
    dtype: torch.dtype

    def __str__(self) -> str:
        return f"{self.device}, {str(self.dtype).removeprefix('torch.')}"


def choose_backend(device: str = "auto", dtype: str = "auto") -> Backend:
    """The one place where device and number format are chosen.

    "auto" takes CUDA, else Apple's MPS, else the CPU; and bfloat16 where the processor multiplies it in hardware,
    where it is about twice as fast as float32. Raises ValueError for a device that is not there.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        place = torch.device(device)
        torch.empty(1, device=place)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"there is no device {device!r} here: {str(error).splitlines()[0]}") from None
    if dtype == "auto":
        dtype = "bfloat16" if _has_bfloat16(place.type) else "float32"
    return Backend(place, getattr(torch, dtype))


def _has_bfloat16(kind):
    """Whether a kind of device multiplies bfloat16 in hardware."""
    if kind == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if kind != "cpu":
        return False
    questions = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # absent on other processors and old versions
    return any(getattr(torch.cpu, question, bool)() for question in questions)


class Evaluator:
    """A network as the search calls it: `evaluator(planes) -> (logits, values)`, all float32 numpy arrays.

    Takes `(n, *input_shape)`, gives `(n, action_size)` and `(n,)`. It holds a copy: training the network further
    changes nothing until `update`. Batches are filled up to a multiple of `PADDING` rows, so that few shapes occur
    (a CPU prepares its kernels for each shape anew) and a row's result hardly depends on how many others there are.

    Attributes:
        backend: device and number format.
        evaluations: rows evaluated so far, padding left out.
    """

    PADDING = 16

    def __init__(self, net: AlphaZeroNet, device: str = "auto", dtype: str = "auto"):
        self.backend = choose_backend(device, dtype)
        self.evaluations = 0
        self.update(net)

    def update(self, net: AlphaZeroNet):
        """Evaluate with the weights that `net` has now."""
        device, dtype = self.backend
        self._net = net.folded().to(device, dtype, memory_format=torch.channels_last)
        for layer in (self._net.policy_out, self._net.value_hidden, self._net.value_out):
            layer.float()  # little work, and bfloat16 knows only 128 values between 1/2 and 1

    def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(planes)
        device, dtype = self.backend
        with torch.inference_mode():
            batch = torch.from_numpy(planes)
            if padding := -n % self.PADDING if n > 1 else 0:
                batch = torch.cat([batch, batch.new_zeros(padding, *batch.shape[1:])])
            batch = batch.to(device, dtype).to(memory_format=torch.channels_last)
            logits, values = self._net(batch)
            self.evaluations += n
            return logits[:n].float().cpu().numpy(), values[:n].float().cpu().numpy()

    def __str__(self) -> str:
        shape = self._net.shape
        return f"{shape['n_blocks']} blocks of {shape['n_channels']} channels on {self.backend}"


@contextmanager
def network_threads(number: int) -> Iterator[None]:
    """Networks on the CPU are computed on so many threads here (torch has one such number for the process)."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
