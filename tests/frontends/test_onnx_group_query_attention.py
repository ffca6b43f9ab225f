"""GroupQueryAttention with rows of different lengths, caches, positions, sinks and quantised keys, as onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from against_onnxruntime import Array, check_node, one_node, onnxruntime_outputs

import whence
from whence.frontends.onnx import from_onnx
from whence.support.errors import FrontendError

RNG = np.random.default_rng(0)
SEQLENS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK, K_SCALE, V_SCALE = range(5, 14)


def real(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def operands(lengths: list[int], new: int, past: int | None, total: int, more: dict[int, Array]) -> list[Array | None]:
    """Inputs of 4 heads of queries and 2 of keys. lengths: the keys of each row, with the new ones."""
    batch = len(lengths)
    inputs: list[Array | None] = [real(batch, new, 64), real(batch, new, 32), real(batch, new, 32), *[None] * 11]
    if past is not None:
        inputs[3:5] = real(batch, 2, past, 16), real(batch, 2, past, 16)
    inputs[SEQLENS] = np.array(lengths, np.int32) - 1
    inputs[TOTAL] = np.array([total], np.int32)
    for index, array in more.items():
        inputs[index] = array
    while inputs[-1] is None:
        inputs.pop()
    return inputs


def agree(
    lengths: list[int], new: int, past: int | None, total: int, more: dict[int, Array] | None = None, **attributes: Any
) -> None:
    given = operands(lengths, new, past, total, more or {})
    outputs = (True, True, True)
    arguments: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, "domain": "com.microsoft", "outputs": outputs}
    check_node("GroupQueryAttention", *given, known=[TOTAL], **arguments, **attributes, rtol=1e-4, atol=1e-5)


TABLES = {COS: real(32, 8), SIN: real(32, 8)}


@pytest.mark.parametrize("attributes", [{}, {"do_rotary": 1}, {"local_window_size": 3}])
@pytest.mark.parametrize(
    ("lengths", "new", "past", "total"),
    [
        ([10, 6], 1, 12, 10),  # a cache as large as it may become
        ([10, 6], 1, 9, 10),  # one that grows
        ([8], 3, 5, 8),
        ([8], 3, 9, 8),
        ([6, 3], 6, None, 6),  # a first prompt, of which a row is padded
        ([6, 6], 6, 9, 6),
    ],
)
def test_rows_of_different_lengths(lengths: list[int], new: int, past: int | None, total: int, attributes: Any):
    if attributes and min(lengths) < max(lengths) and past is None:
        lengths = [max(lengths)] * len(lengths)  # what a query behind the end of its row sees is nowhere stated
    agree(lengths, new, past, total, TABLES if "do_rotary" in attributes else {}, **attributes)


@pytest.mark.parametrize(("new", "past", "total"), [(1, 5, 6), (3, 5, 8), (6, None, 6)])
def test_positions_are_those_given(new: int, past: int | None, total: int):
    positions = RNG.integers(0, 20, (1, new))
    agree([total], new, past, total, {**TABLES, POSITIONS: positions}, do_rotary=1)
    agree([total], new, past, total, {POSITIONS: positions})


@pytest.mark.parametrize(
    ("more", "attributes"),
    [
        ({SINK: real(4)}, {}),
        ({SINK: real(4)}, {"smooth_softmax": 1, "softcap": 2.0}),
        ({}, {"smooth_softmax": 1, "scale": 0.4}),
        ({}, {"causal": 0}),
        ({}, {"local_window_size": 0}),
        ({BIAS: real(1, 4, 3, 8)}, {"qk_output": 0}),
    ],
)
def test_scores(more: dict[int, Array], attributes: Any):
    agree([8], 3, 5, 8, more, **attributes)
    agree([8], 3, 10, 8, more, **attributes)


@pytest.mark.parametrize(("mode", "shape"), [("PER_TENSOR", (1,)), ("PER_CHANNEL", (1, 2, 1, 16))])
def test_keys_and_values_of_8_bits(mode: str, shape: tuple[int, ...]):
    more: dict[int, Array] = {K_SCALE: np.abs(real(*shape)) / 20 + 0.01, V_SCALE: np.abs(real(*shape)) / 20 + 0.01}
    more |= {index: RNG.integers(-100, 100, (2, 2, 9, 16)).astype(np.int8) for index in (3, 4)}
    agree([10, 6], 1, 9, 10, more, k_quant_type=mode, v_quant_type=mode, kv_cache_bit_width=8)


def test_machine_code_takes_the_lengths_of_each_call():
    """The lengths of the rows are an input; keys behind them are never seen."""
    given = operands([10, 6], 1, 12, 10, {})
    attributes: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, "domain": "com.microsoft"}
    model, feeds = one_node("GroupQueryAttention", given, known=[TOTAL], outputs=(True,) * 3, **attributes)
    executable = whence.compile(model)
    for lengths in ([10, 6], [2, 10], [10, 10]):
        feeds["x5"] = np.array(lengths, np.int32) - 1
        for mine, theirs in zip(executable(*feeds.values()), onnxruntime_outputs(model, feeds), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    with pytest.raises(FrontendError, match="expected a number from 0 to 11, got 12"):
        executable(*{**feeds, "x5": np.array([12, 3], np.int32)}.values())


def test_what_onnxruntime_refuses_is_refused():
    attributes: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, "domain": "com.microsoft"}
    for total, text in ((9, "expected a total_sequence_length of 8, or at most 5, got 9"), (6, "at most 5, got 6")):
        model, _ = one_node("GroupQueryAttention", operands([8], 3, 5, total, {}), known=[TOTAL], **attributes)
        with pytest.raises(FrontendError, match=text):
            from_onnx(model)
    model, _ = one_node("GroupQueryAttention", [*operands([8], 3, 5, 8, {}), *[None] * 7, real(16)], **attributes)
    with pytest.raises(FrontendError, match=r"expected no input 14 \(q_norm_weight\), which is not supported"):
        from_onnx(model)
