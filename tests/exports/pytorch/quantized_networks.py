# pyright: basic, reportMissingImports=false
"""Networks as quantising tools leave them: weights of int8, and data (de)quantised between the layers."""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed
import torch.nn.functional as F
from torch import Tensor, nn

quantized = torch.ops.quantized_decomposed


def fake(x: Tensor, scale: float, zero_point: int, least: int = -128, most: int = 127) -> Tensor:
    """Data quantised to int8, and dequantised."""
    steps = quantized.quantize_per_tensor(x, scale, zero_point, least, most, torch.int8)
    return quantized.dequantize_per_tensor(steps, scale, zero_point, least, most, torch.int8)


class Weight(nn.Module):
    """A weight in steps of int8, with a scale for each output channel."""

    def __init__(self, *shape: int):
        super().__init__()
        weight = torch.randn(shape) * 0.3
        scales = weight.abs().amax(tuple(range(1, len(shape)))) / 127
        steps = (weight / scales.reshape(-1, *(1,) * (len(shape) - 1))).round().clamp(-127, 127)
        self.register_buffer("steps", steps.to(torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zero_points", torch.zeros(shape[0], dtype=torch.int64))

    def forward(self) -> Tensor:
        return quantized.dequantize_per_channel(self.steps, self.scales, self.zero_points, 0, -127, 127, torch.int8)


class QuantizedCNN(nn.Module):
    """Convolutions, a sum, a mean and a dense layer on int8."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = Weight(16, 3, 3, 3), Weight(16, 16, 3, 3), Weight(5, 16)
        self.bias = nn.Parameter(torch.randn(16) * 0.1)

    def forward(self, image: Tensor) -> Tensor:
        x = fake(image, 0.03, 3)
        x = fake(F.relu(F.conv2d(x, self.first(), self.bias, padding=1)), 0.025, -128)
        y = fake(F.conv2d(x, self.second(), padding=1), 0.06, 5)
        x = fake(F.relu(x + y), 0.05, -128)
        x = fake(F.adaptive_avg_pool2d(F.max_pool2d(x, 2), 1), 0.04, -128)
        return fake(F.linear(x.flatten(1), self.head()), 0.05, 1)


class DynamicallyQuantized(nn.Module):
    """Dense layers whose data are quantised by the range that each call, or each row of it, has."""

    def __init__(self):
        super().__init__()
        self.up, self.down = Weight(12, 8), Weight(4, 12)

    def forward(self, x: Tensor) -> Tensor:
        scale, zero_point = quantized.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8)
        steps = quantized.quantize_per_tensor.tensor(x, scale, zero_point, -128, 127, torch.int8)
        x = quantized.dequantize_per_tensor.tensor(steps, scale, zero_point, -128, 127, torch.int8)
        x = F.linear(x, self.up())
        scale, zero_point = quantized.choose_qparams_per_token_asymmetric(x, torch.int8)
        steps = quantized.quantize_per_token(x, scale, zero_point, -128, 127, torch.int8)
        x = quantized.dequantize_per_token(steps, scale, zero_point, -128, 127, torch.int8, torch.float32)
        return F.linear(x, self.down())
