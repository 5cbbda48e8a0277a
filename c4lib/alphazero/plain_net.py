"""A trained network without what it was trained in: packed into a megabyte, and computed by numpy or bare torch.

This is what a submission carries: neither `net` nor safetensors, and no pickle.
"""

import io

import numpy as np

Weights = dict[str, np.ndarray]  # by the names of the folded network's parameters; and `input_shape`, three integers


def pack(net) -> bytes:
    """The weights of an `AlphaZeroNet` as an .npz file, folded and float16; equal weights give equal bytes.

    Raises ValueError where float16 cannot hold them.
    """
    with np.errstate(over="ignore"):
        weights = {name: tensor.numpy().astype(np.float16) for name, tensor in net.folded().state_dict().items()}
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise ValueError("the weights of the network are too large for float16")
    file = io.BytesIO()
    np.savez(file, input_shape=np.array(net.shape["input_shape"]), **weights)
    return file.getvalue()


def unpack(data: bytes) -> Weights:
    """What `pack` has packed, the weights as float32. Raises ValueError for other or damaged data."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            weights = {name: arrays[name].astype(np.float32) for name in arrays.files}
        return {**weights, "input_shape": weights["input_shape"].astype(int)}
    except Exception as error:  # of many kinds: each part of a zip file can be damaged in its own way
        raise ValueError(f"these are no packed weights: {error}") from error


class PlainNet:
    """The network in numpy: planes `(n, *input_shape)` to policy logits `(n, action_size)` and values `(n,)`, float32.

    A search of one position asks for one evaluation at a time, and then this is as fast as torch. A convolution is a
    matrix product for each of the nine neighbours of a cell: larger ones (and those of more than 64 channels) BLAS
    spreads over threads, which costs many times the work where a machine has less to give than it shows. For the same
    reason the last layers are sums.

    Raises KeyError for weights of something else.
    """

    def __init__(self, weights: Weights):
        _, self._rows, self._columns = weights["input_shape"]
        self._weights = weights
        self._stem = self._convolution("stem.conv")
        self._tower = [
            tuple(self._convolution(f"tower.{i}.{half}.conv") for half in ("first", "second"))
            for i in range(_blocks(weights))
        ]
        self._policy, self._value = (self._convolution(f"{head}_conv.conv") for head in ("policy", "value"))

    def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = planes.reshape(*planes.shape[:2], -1).transpose(0, 2, 1)  # (n, cells, channels) from here on
        x = _relu(_convolve(x, *self._stem))
        for first, second in self._tower:
            x = _relu(x + _convolve(_relu(_convolve(x, *first)), *second))
        logits = self._linear("policy_out", _flat(_relu(_convolve(x, *self._policy))))
        value = _relu(self._linear("value_hidden", _flat(_relu(_convolve(x, *self._value)))))
        return logits, np.tanh(self._linear("value_out", value)[:, 0])

    def _convolution(self, name):
        """Arguments of `_convolve`: `(k, cells)` neighbours of each cell, `(k, in, out)` weights of each, `(out,)`."""
        weight = self._weights[f"{name}.weight"]
        n_out, n_in, size, _ = weight.shape
        kernel = np.ascontiguousarray(weight.transpose(2, 3, 1, 0)).reshape(size * size, n_in, n_out)
        return _neighbours(self._rows, self._columns, size), kernel, self._weights[f"{name}.bias"]

    def _linear(self, name, x):
        return np.einsum("nk,ok->no", x, self._weights[f"{name}.weight"]) + self._weights[f"{name}.bias"]


def _blocks(weights):
    """How many blocks the tower has."""
    return sum(name.endswith(".first.conv.weight") for name in weights)


def _neighbours(rows, columns, size):
    """int `(size * size, cells)`: the cells under a kernel that lies on each cell; `cells` stands for those outside."""
    cells = np.arange(rows * columns).reshape(rows, columns)
    padded = np.pad(cells, size // 2, constant_values=cells.size)
    return np.lib.stride_tricks.sliding_window_view(padded, (rows, columns)).reshape(size * size, -1)


def _convolve(x, neighbours, kernel, bias):
    """`(n, cells, in)` to `(n, cells, out)`."""
    n, _, n_in = x.shape
    with_outside = np.concatenate([x, np.zeros((n, 1, n_in), np.float32)], axis=1)
    return (with_outside.take(neighbours, axis=1) @ kernel).sum(axis=1) + bias


def _relu(x):
    return np.maximum(x, 0)


def _flat(x):
    """`(n, cells, channels)` as rows in which the cells of a channel are neighbours, as torch has them."""
    return x.transpose(0, 2, 1).reshape(len(x), -1)


class TorchNet:
    """The network in torch: takes and gives what `PlainNet` does. It sets the process to one thread.

    Raises ImportError where there is no torch, KeyError for weights of something else.
    """

    def __init__(self, weights: Weights):
        import torch

        torch.set_num_threads(1)  # several of them need more time for one position, not less
        self._torch = torch
        self._blocks = _blocks(weights)
        self._weights = {name: torch.from_numpy(array) for name, array in weights.items() if name != "input_shape"}
        for name, tensor in self._weights.items():
            if tensor.ndim == 4:
                self._weights[name] = tensor.contiguous(memory_format=torch.channels_last)

    def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        torch = self._torch
        with torch.inference_mode():
            x = torch.from_numpy(planes).contiguous(memory_format=torch.channels_last)
            x = torch.relu(self._convolve("stem", x))
            for i in range(self._blocks):
                y = torch.relu(self._convolve(f"tower.{i}.first", x))
                x = torch.relu(x + self._convolve(f"tower.{i}.second", y))
            logits = self._linear("policy_out", torch.relu(self._convolve("policy_conv", x)).flatten(1))
            value = torch.relu(self._convolve("value_conv", x)).flatten(1)
            value = self._linear("value_out", torch.relu(self._linear("value_hidden", value)))
            return logits.numpy(), torch.tanh(value[:, 0]).numpy()

    def _convolve(self, name, x):
        weight, bias = (self._weights[f"{name}.conv.{part}"] for part in ("weight", "bias"))
        return self._torch.nn.functional.conv2d(x, weight, bias, padding=weight.shape[-1] // 2)

    def _linear(self, name, x):
        return self._torch.nn.functional.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])
