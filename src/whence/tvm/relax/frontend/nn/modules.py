"""Layers: modules of one operator, or a few, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.relax.frontend.nn import op
from whence.relax.frontend.nn.core import Module, ModuleList, Parameter, Tensor
from whence.support.errors import FrontendError, expectation


class ReLU(Module):
    """The tensor without its negative elements."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the result of the operator."""
        return op.relu(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the result of the operator."""
        return op.silu(x)


class GELU(Module):
    """x times the normal distribution's share below x."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the result of the operator."""
        return op.gelu(x)


class Identity(Module):
    """The argument."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the argument."""
        return x


class Linear(Module):
    """`x @ weight.T + bias`, with a weight of (out_features, in_features); `out_dtype` is that of the product."""

    def __init__(
        self,
        in_features: Any,
        out_features: Any,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ):
        self.in_features, self.out_features, self.out_dtype = in_features, out_features, out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the product with the weight, and the bias added."""
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Have the weight be of a dtype, and the bias unless `out_dtype` is that of the sum."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class _Convolution(Module):
    """A convolution; subclasses say the number of axes."""

    rank = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str | None = None,
    ):
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = [kernel_size] * self.rank if isinstance(kernel_size, int) else list(kernel_size)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.data_layout = data_layout
        self.weight = Parameter((out_channels, in_channels // groups, *self.kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution, and the bias added."""
        convolution = (op.conv1d, op.conv2d, op.conv3d)[self.rank - 1]
        layout = {} if self.data_layout is None else {"data_layout": self.data_layout}
        return convolution(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, **layout)


class Conv1D(_Convolution):
    """A convolution of (N, C, W), with a weight of (out_channels, in_channels / groups, width)."""

    rank = 1


class Conv2D(_Convolution):
    """A convolution of images, with a weight of (out_channels, in_channels / groups, height, width)."""

    rank = 2


class Conv3D(_Convolution):
    """A convolution of volumes, with a weight of (out_channels, in_channels / groups, depth, height, width)."""

    rank = 3


class ConvTranspose1D(Module):
    """A transposed convolution of (N, C, W), with a weight of (in_channels, out_channels / groups, width)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ):
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.dilation, self.groups = dilation, groups
        self.weight = Parameter((in_channels, out_channels // groups, kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the transposed convolution, and the bias added."""
        window = (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        return op.conv1d_transpose(x, self.weight, self.bias, *window)


class LayerNorm(Module):
    """The normalisation of the last axis."""

    def __init__(
        self, normalized_shape: int, eps: float | None = 1e-5, elementwise_affine: bool = True, dtype: str | None = None
    ):
        self.normalized_shape, self.eps, self.elementwise_affine = normalized_shape, eps, elementwise_affine
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised tensor."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, 1e-5 if self.eps is None else self.eps)


class RMSNorm(Module):
    """The quotient by the root of the mean of squares along axes, times the weight, and the bias added."""

    def __init__(
        self,
        hidden_size: int,
        axes: int | list[int] = -1,
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ):
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised tensor."""
        result = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return result if self.bias is None else op.add(result, self.bias)


class GroupNorm(Module):
    """The normalisation of groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: str | None = None
    ):
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: list[int] | None = None) -> Tensor:
        """Return the normalised tensor."""
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class Embedding(Module):
    """Rows of a table, by number."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None):
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows of the numbers."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(rows, [*x.shape, self.weight.shape[1]])


class TimestepEmbedding(Module):
    """Two linear layers over embeddings of timesteps, with silu between them."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ):
        for name, function in (("act_fn", act_fn), ("post_act_fn", post_act_fn)):
            if function not in ("silu", None):
                raise FrontendError(expectation("TimestepEmbedding", f"silu as {name}", str(function)))
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, time_embed_dim if out_dim is None else out_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """Return the embedding of a sample, to which a condition may be added."""
        if condition is not None:
            if self.cond_proj is None:
                raise FrontendError(expectation("TimestepEmbedding", "cond_proj_dim for a condition", "None"))
            sample = sample + self.cond_proj(condition)
        result = self.linear_2(self.act(self.linear_1(sample)))
        return result if self.post_act is None else self.post_act(result)


class Timesteps(Module):
    """Sines and cosines of timesteps."""

    def __init__(self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1):
        self.num_channels, self.flip_sin_to_cos = num_channels, flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, num_channels) for (N,)."""
        return op.get_timestep_embedding(x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift)


class Attention(Module):
    """Attention of several heads over (batch, length, channels), to itself or to other states."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ):
        self.heads, self.inner_dim, self.scale_qk = heads, dim_head * heads, scale_qk
        other = cross_attention_dim or query_dim
        self.to_q = Linear(query_dim, self.inner_dim, bias=bias)
        self.to_k = Linear(other, self.inner_dim, bias=bias)
        self.to_v = Linear(other, self.inner_dim, bias=bias)
        self.group_norm = None if norm_num_groups is None else GroupNorm(norm_num_groups, query_dim)
        self.to_out = ModuleList([Linear(self.inner_dim, query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the states that the hidden states attend to; the mask is added to the scores."""
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        other = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        heads = [0, -1, self.heads, self.inner_dim // self.heads]
        query = op.reshape(self.to_q(hidden_states), heads)
        key, value = op.reshape(self.to_k(other), heads), op.reshape(self.to_v(other), heads)
        scale = None if self.scale_qk else 1.0
        mixed = op.scaled_dot_product_attention(query, key, value, attention_mask, scale=scale)
        return self.to_out[0](op.reshape(mixed, [0, -1, self.inner_dim]))
