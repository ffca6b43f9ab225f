"""Layers of TorchScript held against eager torch: the cases that TVM tries, and more."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_scripts import check, module_of, numbers, traced, whole  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
nn, F = torch.nn, torch.nn.functional
IMAGE, ROW, CUBE = numbers(1, 4, 10, 10), numbers(1, 4, 10), numbers(1, 4, 6, 6, 6)
SMALL = numbers(3, 5)


def heads(x: Any) -> Any:
    return F.scaled_dot_product_attention(x, x, x)


class Recurrent(nn.Module):
    """A recurrent network with states of its own."""

    def __init__(self, kind: str, **options: Any):
        super().__init__()
        torch.manual_seed(0)
        self.net = getattr(nn, kind)(5, 6, **options)

    def forward(self, x: Any) -> Any:
        return self.net(x)


class Attention(nn.Module):
    """Attention of a tensor to itself, with the weights that it gives."""

    def __init__(self):
        super().__init__()
        self.net = nn.MultiheadAttention(6, 2)

    def forward(self, x: Any) -> Any:
        return self.net(x, x, x)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    WEIGHT_NORMED = nn.utils.weight_norm(nn.Conv2d(4, 6, 3))

CASES: dict[str, tuple[Any, ...]] = {
    # Activations.
    "relu": (nn.ReLU(), IMAGE),
    "relu in place": (nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU(inplace=True)), IMAGE),
    "relu6": (nn.ReLU6(), IMAGE * 9),
    "prelu": (nn.PReLU(4), IMAGE),
    "prelu of one": (nn.PReLU(), SMALL),
    "leaky relu": (nn.LeakyReLU(0.05), IMAGE),
    "elu": (nn.ELU(1.3), IMAGE),
    "celu": (nn.CELU(1.3), IMAGE),
    "gelu": (nn.GELU(), IMAGE),
    "gelu tanh": (nn.GELU(approximate="tanh"), IMAGE),
    "selu": (nn.SELU(), IMAGE),
    "silu": (nn.SiLU(), IMAGE),
    "silu in place": (lambda x: F.silu(x * 1, inplace=True), IMAGE),
    "mish": (nn.Mish(), IMAGE),
    "glu": (nn.GLU(1), IMAGE),
    "log sigmoid": (nn.LogSigmoid(), IMAGE),
    "sigmoid": (nn.Sigmoid(), IMAGE),
    "tanh": (nn.Tanh(), IMAGE),
    "softplus": (nn.Softplus(), IMAGE),
    "softplus beta": (nn.Softplus(beta=1.5, threshold=2), IMAGE),
    "softsign": (nn.Softsign(), IMAGE),
    "hardtanh": (nn.Hardtanh(-0.5, 0.7), IMAGE),
    "hardswish": (nn.Hardswish(), IMAGE * 3),
    "hardsigmoid": (nn.Hardsigmoid(), IMAGE * 3),
    "hardshrink": (nn.Hardshrink(), IMAGE),
    "softshrink": (nn.Softshrink(), IMAGE),
    "tanhshrink": (nn.Tanhshrink(), IMAGE),
    "threshold": (nn.Threshold(0.1, -3.0), IMAGE),
    "softmax": (nn.Softmax(dim=1), IMAGE),
    "softmax with dtype": (lambda x: F.softmax(x, 1, dtype=torch.float64), SMALL),
    "softmax 2d": (nn.Softmax2d(), IMAGE),
    "log softmax": (nn.LogSoftmax(dim=2), IMAGE),
    "softmin": (nn.Softmin(dim=1), SMALL),
    "dropout": (nn.Dropout(0.4), IMAGE),
    "dropout 2d": (nn.Dropout2d(0.4), IMAGE),
    "dropout 3d": (nn.Dropout3d(0.4), CUBE),
    "alpha dropout": (nn.AlphaDropout(0.4), IMAGE),
    "identity": (nn.Sequential(nn.Identity(), nn.ReLU()), SMALL),
    # Convolutions.
    "conv1d": (nn.Conv1d(4, 6, 3), ROW),
    "conv1d no bias": (nn.Conv1d(4, 6, 3, bias=False), ROW),
    "conv1d stride, padding": (nn.Conv1d(4, 6, 3, stride=2, padding=1), ROW),
    "conv1d dilation, groups": (nn.Conv1d(4, 6, 3, dilation=2, groups=2), ROW),
    "conv2d": (nn.Conv2d(4, 6, 7), IMAGE),
    "conv2d no bias": (nn.Conv2d(4, 6, 7, bias=False), IMAGE),
    "conv2d depthwise": (nn.Conv2d(4, 4, 3, groups=4), IMAGE),
    "conv2d depthwise multiplier": (nn.Conv2d(4, 8, 3, groups=4), IMAGE),
    "conv2d groups": (nn.Conv2d(4, 6, 3, groups=2), IMAGE),
    "conv2d dilation": (nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(2, 1)), IMAGE),
    "conv2d same": (nn.Conv2d(4, 6, (3, 4), padding="same"), IMAGE),
    "conv2d valid": (nn.Conv2d(4, 6, 3, padding="valid"), IMAGE),
    "conv2d reflect": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), IMAGE),
    "conv2d circular": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), IMAGE),
    "conv2d of a weight that is computed": (lambda x, w: F.conv2d(x, w * 2), IMAGE, numbers(6, 4, 3, 3)),
    "conv3d": (nn.Conv3d(4, 6, 3), CUBE),
    "conv3d stride, groups": (nn.Conv3d(4, 6, 3, stride=2, padding=1, groups=2), CUBE),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 6, 3), ROW),
    "conv_transpose1d stride": (nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1), ROW),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 6, 3), IMAGE),
    "conv_transpose2d no bias": (nn.ConvTranspose2d(4, 6, 3, bias=False), IMAGE),
    "conv_transpose2d stride": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), IMAGE),
    "conv_transpose2d groups": (nn.ConvTranspose2d(4, 6, 3, groups=2), IMAGE),
    "conv_transpose3d": (nn.ConvTranspose3d(4, 6, 3), CUBE),
    "conv_transpose3d stride": (nn.ConvTranspose3d(4, 6, 2, stride=2), CUBE),
    "weight norm": (WEIGHT_NORMED, IMAGE),
    # Products.
    "linear": (nn.Linear(5, 7), SMALL),
    "linear no bias": (nn.Linear(5, 7, bias=False), SMALL),
    "linear of three axes": (nn.Linear(5, 7), numbers(2, 3, 5)),
    "linear of four axes": (nn.Linear(5, 7), numbers(2, 3, 4, 5)),
    "linear of a vector": (nn.Linear(5, 7), numbers(5)),
    "bilinear": (nn.Bilinear(5, 5, 3), SMALL, SMALL),
    "embedding": (nn.Embedding(10, 3), whole(2, 4, most=10)),
    # Pools.
    "max_pool1d": (nn.MaxPool1d(2), ROW),
    "max_pool1d stride": (nn.MaxPool1d(4, padding=2, stride=2), ROW),
    "max_pool1d ceil": (nn.MaxPool1d(3, stride=2, ceil_mode=True), ROW),
    "max_pool1d dilation": (nn.MaxPool1d(3, dilation=2), ROW),
    "max_pool2d": (nn.MaxPool2d([1, 1]), IMAGE),
    "max_pool2d stride": (nn.MaxPool2d([4, 4], padding=2, stride=2), IMAGE),
    "max_pool2d ceil": (nn.MaxPool2d(3, stride=2, ceil_mode=True), IMAGE),
    "max_pool2d dilation": (nn.MaxPool2d(3, dilation=2), IMAGE),
    "max_pool2d indices": (nn.MaxPool2d(2, return_indices=True), IMAGE),
    "max_pool3d": (nn.MaxPool3d(2), CUBE),
    "max_pool3d padding": (nn.MaxPool3d(3, stride=2, padding=1), CUBE),
    "avg_pool1d": (nn.AvgPool1d(2), ROW),
    "avg_pool1d padding": (nn.AvgPool1d(3, stride=2, padding=1), ROW),
    "avg_pool1d without padding": (nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False), ROW),
    "avg_pool2d": (nn.AvgPool2d(2), IMAGE),
    "avg_pool2d ceil": (nn.AvgPool2d(3, stride=2, ceil_mode=True), IMAGE),
    "avg_pool2d without padding": (nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), IMAGE),
    "avg_pool2d divisor": (nn.AvgPool2d(3, divisor_override=7), IMAGE),
    "avg_pool3d": (nn.AvgPool3d(2), CUBE),
    "adaptive_avg_pool1d": (nn.AdaptiveAvgPool1d(1), ROW),
    "adaptive_avg_pool1d odd": (nn.AdaptiveAvgPool1d(7), ROW),
    "adaptive_avg_pool2d": (nn.AdaptiveAvgPool2d((1, 1)), IMAGE),
    "adaptive_avg_pool2d odd": (nn.AdaptiveAvgPool2d((7, 3)), IMAGE),
    "adaptive_avg_pool2d of one axis": (nn.AdaptiveAvgPool2d((None, 3)), IMAGE),
    "adaptive_avg_pool3d": (nn.AdaptiveAvgPool3d((2, 4, 3)), CUBE),
    "adaptive_max_pool1d": (nn.AdaptiveMaxPool1d(3), ROW),
    "adaptive_max_pool2d": (nn.AdaptiveMaxPool2d((5, 2)), IMAGE),
    "adaptive_max_pool3d": (nn.AdaptiveMaxPool3d((2, 3, 2)), CUBE),
    # Norms.
    "batch_norm 1d": (nn.BatchNorm1d(5), SMALL),
    "batch_norm 1d of a row": (nn.BatchNorm1d(4), ROW),
    "batch_norm 2d": (nn.BatchNorm2d(4), IMAGE),
    "batch_norm 2d plain": (nn.BatchNorm2d(4, affine=False), IMAGE),
    "batch_norm 2d own statistics": (nn.BatchNorm2d(4, track_running_stats=False), numbers(3, 4, 5, 5)),
    "batch_norm 3d": (nn.BatchNorm3d(4), CUBE),
    "instance_norm": (nn.InstanceNorm2d(4), IMAGE),
    "instance_norm affine": (nn.InstanceNorm2d(4, affine=True), IMAGE),
    "instance_norm tracked": (nn.InstanceNorm2d(4, track_running_stats=True), IMAGE),
    "instance_norm 3d": (nn.InstanceNorm3d(4), CUBE),
    "layer_norm": (nn.LayerNorm(10), IMAGE),
    "layer_norm of three axes": (nn.LayerNorm((4, 10, 10)), IMAGE),
    "layer_norm plain": (nn.LayerNorm(10, elementwise_affine=False), IMAGE),
    "group_norm": (nn.GroupNorm(2, 4), IMAGE),
    "group_norm of all": (nn.GroupNorm(1, 4), IMAGE),
    "group_norm plain": (nn.GroupNorm(4, 4, affine=False), IMAGE),
    "rms_norm": (nn.RMSNorm(10), IMAGE),
    "local_response_norm": (nn.LocalResponseNorm(3), IMAGE),
    "normalize": (lambda x: F.normalize(x, p=2.0, dim=1), IMAGE),
    # Other sizes, and edges.
    "upsample nearest": (nn.Upsample(scale_factor=2, mode="nearest"), IMAGE),
    "upsample nearest to a size": (nn.Upsample(size=(15, 7), mode="nearest"), IMAGE),
    "upsample bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "upsample bilinear aligned": (nn.Upsample(size=(15, 7), mode="bilinear", align_corners=True), IMAGE),
    "upsample bicubic": (nn.Upsample(size=(15, 7), mode="bicubic"), IMAGE),
    "upsample linear": (nn.Upsample(scale_factor=1.5, mode="linear"), ROW),
    "upsample nearest 1d": (nn.Upsample(scale_factor=2, mode="nearest"), ROW),
    "upsample nearest 3d": (nn.Upsample(scale_factor=2, mode="nearest"), CUBE),
    "upsample trilinear": (nn.Upsample(scale_factor=2, mode="trilinear"), CUBE),
    "upsample trilinear aligned": (nn.Upsample(size=(9, 7, 8), mode="trilinear", align_corners=True), CUBE),
    "interpolate, scales again": (
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
        IMAGE,
    ),
    "interpolate by area": (lambda x: F.interpolate(x, size=(5, 3), mode="area"), IMAGE),
    "grid_sample": (lambda x, g: F.grid_sample(x, g.tanh(), align_corners=True), IMAGE, numbers(1, 5, 6, 2)),
    "grid_sample nearest": (
        lambda x, g: F.grid_sample(x, g.tanh(), "nearest", "border", False),
        IMAGE,
        numbers(1, 5, 6, 2),
    ),
    "grid_sample bicubic": (
        lambda x, g: F.grid_sample(x, g.tanh(), "bicubic", "reflection", False),
        IMAGE,
        numbers(1, 5, 6, 2),
    ),
    "grid_sample 3d": (lambda x, g: F.grid_sample(x, g.tanh()), CUBE, numbers(1, 3, 4, 5, 3)),
    "affine_grid": (lambda t: F.affine_grid(t, [1, 2, 4, 5]), numbers(1, 2, 3)),
    "pixel_shuffle": (nn.PixelShuffle(2), IMAGE),
    "pixel_unshuffle": (nn.PixelUnshuffle(2), IMAGE),
    "channel_shuffle": (nn.ChannelShuffle(2), IMAGE),
    "reflection_pad1d": (nn.ReflectionPad1d((1, 2)), ROW),
    "reflection_pad2d": (nn.ReflectionPad2d((1, 2, 3, 0)), IMAGE),
    "replication_pad1d": (nn.ReplicationPad1d((1, 2)), ROW),
    "replication_pad2d": (nn.ReplicationPad2d((1, 2, 3, 0)), IMAGE),
    "replication_pad3d": (nn.ReplicationPad3d(1), CUBE),
    "zero_pad2d": (nn.ZeroPad2d((1, 2, 0, 1)), IMAGE),
    "constant_pad1d": (nn.ConstantPad1d(2, 3.5), ROW),
    "constant_pad3d": (nn.ConstantPad3d((1, 0, 1, 2, 0, 1), 3.5), CUBE),
    "pad": (lambda x: F.pad(x, (1, 1), "constant", 0), IMAGE),
    "pad cut off": (lambda x: F.pad(x, (-1, 1)), IMAGE),
    "unfold": (nn.Unfold((3, 2), stride=2, padding=1), IMAGE),
    "fold": (nn.Fold((6, 5), (2, 2)), numbers(1, 8, 20)),
    # Recurrent networks and attention.
    "rnn": (Recurrent("RNN", num_layers=2), numbers(4, 2, 5)),
    "rnn relu": (Recurrent("RNN", nonlinearity="relu"), numbers(4, 2, 5)),
    "rnn both ways": (Recurrent("RNN", bidirectional=True, batch_first=True), numbers(2, 4, 5)),
    "gru": (Recurrent("GRU"), numbers(4, 2, 5)),
    "gru no bias, both ways": (Recurrent("GRU", bias=False, bidirectional=True, num_layers=2), numbers(4, 2, 5)),
    "lstm": (Recurrent("LSTM"), numbers(4, 2, 5)),
    "lstm of layers": (Recurrent("LSTM", num_layers=2, bidirectional=True, batch_first=True), numbers(2, 4, 5)),
    "lstm no bias": (Recurrent("LSTM", bias=False), numbers(4, 2, 5)),
    "lstm projected": (Recurrent("LSTM", proj_size=3), numbers(4, 2, 5)),
    "lstm cell": (nn.LSTMCell(5, 6), SMALL),
    "gru cell": (nn.GRUCell(5, 6), SMALL),
    "rnn cell": (nn.RNNCell(5, 6), SMALL),
    "attention": (heads, numbers(1, 2, 3, 4)),
    "multihead attention": (Attention(), numbers(4, 2, 6)),
    "transformer layer": (nn.TransformerEncoderLayer(6, 2, 8), numbers(4, 2, 6)),
    "transformer decoder layer": (nn.TransformerDecoderLayer(6, 2, 8), numbers(4, 2, 6), numbers(3, 2, 6)),
    # Losses.
    "l1 loss": (nn.L1Loss(), SMALL, SMALL.flip(0)),
    "l1 loss sum": (nn.L1Loss(reduction="sum"), SMALL, SMALL.flip(0)),
    "mse loss": (nn.MSELoss(), SMALL, SMALL.flip(0)),
    "mse loss of each": (nn.MSELoss(reduction="none"), SMALL, SMALL.flip(0)),
    "cross entropy": (nn.CrossEntropyLoss(), SMALL, whole(3)),
    "cross entropy weighted": (lambda x, t, w: F.cross_entropy(x, t, w), SMALL, whole(3), numbers(5).abs()),
    "cross entropy of probabilities": (nn.CrossEntropyLoss(), SMALL, SMALL.softmax(1)),
    "nll loss": (lambda x, t: F.nll_loss(x, t), SMALL, whole(3)),
    "nll loss 2d": (lambda x, t: F.nll_loss(x, t), IMAGE, whole(1, 10, 10, most=4)),
    "nll loss weighted": (lambda x, t, w: F.nll_loss(x, t, w, reduction="sum"), SMALL, whole(3), numbers(5).abs()),
    "kl_div": (nn.KLDivLoss(), SMALL.log_softmax(1), SMALL.softmax(1)),
    "smooth l1": (nn.SmoothL1Loss(), SMALL, SMALL.flip(0)),
    "huber": (nn.HuberLoss(), SMALL, SMALL.flip(0)),
    "bce": (nn.BCELoss(), SMALL.sigmoid(), SMALL.flip(0).sigmoid()),
    "bce with logits": (nn.BCEWithLogitsLoss(), SMALL, SMALL.flip(0).sigmoid()),
    "pairwise distance": (nn.PairwiseDistance(), SMALL, SMALL.flip(0)),
    "cosine similarity": (nn.CosineSimilarity(dim=1), SMALL, SMALL.flip(0)),
}


@pytest.mark.parametrize("name", CASES)
def test_layers(name: str):
    function, *arguments = CASES[name]
    module = module_of(function)
    check(traced(module, *arguments), module, *arguments)
