"""QMoE, and WordConvEmbedding, of com.microsoft, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from against_onnxruntime import Array, check_node

RNG = np.random.default_rng(0)
EXPERTS, SIZE, TOKENS = 4, 32, 5


def real(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def layer(outputs: int, bits: int, block: int, bias: bool) -> list[Array | None]:
    """Weights of so many bits, a scale for each block of a row, or for each row, and biases."""
    packed = RNG.integers(0, 256, (EXPERTS, outputs, SIZE * bits // 8)).astype(np.uint8)
    blocks = (SIZE // block,) if block else ()
    scales = (RNG.random((EXPERTS, outputs, *blocks)) / 20 / (1 << (bits - 4))).astype(np.float32)
    return [packed, scales, real(EXPERTS, outputs) if bias else None]


def zero_points(outputs: int, bits: int, block: int) -> Array:
    shape = (outputs, max(1, SIZE // block * bits // 8)) if block else (outputs * bits // 8,)
    return RNG.integers(0, 256, (EXPERTS, *shape)).astype(np.uint8)


def agree(inputs: Sequence[Array | None], **attributes: Any) -> None:
    known = [at for at in range(2, 14) if at < len(inputs) and inputs[at] is not None]
    # Products of blocks of 8 bits are of data that onnxruntime rounds to 8 bits.
    atol = 0.02 if attributes.get("expert_weight_bits") == 8 and "block_size" in attributes else 1e-4
    check_node("QMoE", *inputs, domain="com.microsoft", known=known, rtol=1e-4, atol=atol, **attributes)


@pytest.mark.parametrize("kind", ["relu", "silu", "gelu", "identity"])
def test_kinds_of_activations(kind: str):
    weights = [*layer(SIZE, 4, 0, True), *layer(SIZE, 4, 0, True)]
    agree([real(TOKENS, SIZE), real(TOKENS, EXPERTS), *weights], k=2, activation_type=kind)


@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("bits", [4, 8])
def test_numbers_of_bits_and_blocks(bits: int, block: int):
    attributes: dict[str, Any] = {"expert_weight_bits": bits, "k": 1} | ({"block_size": block} if block else {})
    weights = [*layer(SIZE, bits, block, False), *layer(SIZE, bits, block, False)]
    data = real(1, TOKENS, SIZE), real(TOKENS, EXPERTS)
    agree([*data, *weights], activation_type="relu", **attributes)
    points = [zero_points(SIZE, bits, block), zero_points(SIZE, bits, block)]
    agree([*data, *weights, *[None] * 3, *points], activation_type="relu", **attributes)


@pytest.mark.parametrize("normalize", [0, 1])
def test_gates_and_weights_beside_the_choice(normalize: int):
    weights = [*layer(2 * SIZE, 4, 0, True), *layer(SIZE, 4, 0, True)]
    gates: dict[str, Any] = {"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 3.0, "swiglu_fusion": 1}
    chosen = [real(TOKENS, SIZE), real(TOKENS, EXPERTS), *weights, *[None] * 6, abs(real(TOKENS, EXPERTS))]
    agree(chosen, k=2, activation_type="swiglu", normalize_routing_weights=normalize, **gates)


def test_words_end_where_0_is():
    words = [1, 2, 3, 0, 0], [1, 0, 0, 0, 0], [1, 2, 0, 0, 0], [1, 2, 3, 4, 5], [1, 0, 3, 4, 5]
    inputs = np.array(words, np.int32), real(6, 1, 3, 4), real(6), real(9, 4)
    check_node("WordConvEmbedding", *inputs, domain="com.microsoft")
    check_node("WordConvEmbedding", *inputs, domain="com.microsoft", embedding_size=6, conv_window_size=3)
