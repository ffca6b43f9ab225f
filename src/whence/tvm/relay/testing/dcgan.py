"""The generator of a deep convolutional adversarial network: an image of random numbers.

Radford, Metz, Chintala: Unsupervised Representation Learning with Deep Convolutional Generative Adversarial Networks.
"""

from __future__ import annotations

from typing import Any

from whence import relay
from whence.relay.module import IRModule
from whence.relay.testing import layers
from whence.relay.testing.init import create_workload
from whence.syntax.relay.expr import Expr, Function


def deconv2d(data: Expr, channels: int, name: str) -> Any:
    """A transposed convolution that doubles height and width."""
    window: dict[str, Any] = {"kernel_size": (4, 4), "strides": (2, 2), "padding": (1, 1)}
    return layers.conv2d_transpose(data, name=name, channels=channels, **window)


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    code: Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """`data` [batch_size, random_len] -> tanh [batch_size, *oshape]. Raises ValueError for other sizes than 64x64."""
    if layout != "NCHW" or oshape[1:] != (64, 64):
        raise ValueError(f"dcgan: expected images of 64x64 in NCHW, got {oshape} in {layout}")
    noise = relay.var("data", shape=(batch_size, random_len), dtype=dtype) if code is None else code
    body: Any = relay.nn.relu(layers.dense_add_bias(noise, units=4 * 4 * ngf * 8, name="dense"))
    body = relay.reshape(body, (-1, ngf * 8, 4, 4))
    for number, channels in enumerate((ngf * 4, ngf * 2, ngf), 1):
        up = deconv2d(body, channels, f"g{number}")
        body = relay.nn.relu(layers.batch_norm_infer(up, name=f"g{number}_batch_norm", epsilon=1e-5, scale=False))
    body = relay.tanh(deconv2d(body, oshape[0], "g4"))
    return Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size: int,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, Any]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
