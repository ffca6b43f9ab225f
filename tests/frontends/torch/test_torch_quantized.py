"""Quantised exports: what eager torch gives within a step, on integers from end to end, with weights of int8."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context

import whence
from whence.dialects.relay.core import ConstantOp
from whence.dialects.relay.size_ranges import main_of
from whence.executables.sized import SizedExecutable
from whence.frontends.torch import from_exported_program
from whence.passes.relay.fake_quantization_to_integer import FakeQuantizationToIntegerPass

PROGRAMS = Path(__file__).parents[2] / "exports" / "pytorch"
STEP = {"quantized": 0.05, "dynamically_quantized": 0.005}
"""Program -> the step of its results, or of a row of them as far as dequantised data decide it."""
SHAPES = {"quantized": {"image": [2, 3, 12, 12]}, "dynamically_quantized": {"x": [3, 8]}}


@pytest.mark.parametrize("name", STEP)
def test_results_are_those_of_eager_within_a_step(name: str):
    executable = whence.compile(PROGRAMS / f"{name}.pt2")
    assert isinstance(executable, SizedExecutable)
    with np.load(PROGRAMS / f"{name}.npz") as arrays:
        for call in (0, 1):
            result: Any = executable(arrays[f"{call}.in0"])
            np.testing.assert_allclose(result, arrays[f"{call}.out0"], rtol=0, atol=1.01 * STEP[name])


@pytest.mark.parametrize("name", STEP)
def test_every_layer_is_kept(name: str):
    with np.load(PROGRAMS / f"{name}.npz") as arrays:
        data, expected = arrays["0.in0"], arrays["0.out0"]
    result: Any = whence.compile(PROGRAMS / f"{name}.pt2", input_shapes=SHAPES[name], audit=True)(data)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1.01 * STEP[name])


def test_layers_between_quantised_data_compute_on_integers():
    module = from_exported_program(PROGRAMS / "quantized.pt2", shapes=SHAPES["quantized"])
    weights = [op.result.type for op in main_of(module).block.ops if isinstance(op, ConstantOp)]
    assert sum("xi8>" in str(type_) for type_ in weights) == 3
    assert not any("x3x3xf32>" in str(type_) for type_ in weights)
    FakeQuantizationToIntegerPass().apply(Context(), module)
    kinds = Counter(op.name.removeprefix("relay.") for op in main_of(module).block.ops)
    assert (kinds["qnn.conv2d"], kinds["qnn.dense"], kinds["nn.conv2d"], kinds["nn.dense"]) == (2, 1, 0, 0)


def test_operators_give_what_eager_gives():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    from whence.dialects.relay.interpret import evaluate_module

    q: Any = torch.ops.quantized_decomposed
    x = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0)) * 3
    scales, zeros = torch.tensor([0.02, 0.05, 0.03, 0.1]), torch.tensor([1, -3, 0, 7])
    groups = torch.full((12, 2), 0.04), torch.ones(12, 2, dtype=torch.int64)

    class Operators(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            narrow = q.quantize_per_tensor(x, 0.05, 2, -7, 100, torch.int8)
            wide = q.quantize_per_tensor(x, 0.001, 300, 0, 65535, torch.uint16)
            rows = q.quantize_per_channel(x, scales, zeros, 1, -127, 127, torch.int8)
            grouped = q.quantize_per_channel_group(x.flatten(0, 1), *groups, -8, 7, torch.int8, 4)
            symmetric = q.choose_qparams_symmetric(x, -127, 127, 1e-5, torch.int8)
            each = q.choose_qparams_per_token(x, torch.int8)
            return (
                narrow,
                wide.int(),
                rows,
                grouped,
                *q.choose_qparams(x, 0, 255, 1e-5, torch.uint8),
                *symmetric,
                *(part.double() for part in each),
                *q.choose_qparams_per_token_asymmetric(x, torch.int8),
                q.dequantize_per_tensor(narrow, 0.05, 2, -7, 100, torch.int8),
                q.dequantize_per_channel(rows, scales, zeros, 1, -127, 127, torch.int8),
                q.dequantize_per_channel(rows, scales, None, 1, -127, 127, torch.int8, out_dtype=torch.float16),
                q.dequantize_per_channel_group(grouped, *groups, -8, 7, torch.int8, 4, torch.float32),
                q.fake_quant_per_channel(x, scales, zeros, 1, -8, 7),
                torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255),
                torch.fake_quantize_per_channel_affine(x, scales, zeros.int(), 1, -128, 127),
            )

    network = Operators().eval()
    results = evaluate_module(from_exported_program(torch.export.export(network, (x,))), [x.numpy()])
    for result, expected in zip(results, network(x), strict=True):
        wanted = expected.numpy()
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        # Halves of a step may fall either way, as the quotient is one or a product with the inverse.
        step = 1 if wanted.dtype.kind in "iu" else 0
        off = np.abs(result.astype(np.float64) - wanted.astype(np.float64))
        assert off.max() <= max(step, 0.101)
        assert (off > 1e-3).mean() < 0.02
