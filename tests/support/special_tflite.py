# pyright: basic
"""Rows of TFLite on special numbers, judged by LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from litert_worker import Judge
from random_tflite_parts import one
from special_numbers import Array, Rules, rows, tuples

_UNARY = """
    ABS CEIL COS ELU EXP FLOOR GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC NEG RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND
    RSQRT SIGN SIN SQRT SQUARE TANH
""".split()
_BINARY = """
    ADD ATAN2 DIV EQUAL FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL MAXIMUM MINIMUM MUL NOT_EQUAL POW
    PRELU SQUARED_DIFFERENCE SUB
""".split()
_ROWS = "SOFTMAX LOG_SOFTMAX SUM MEAN REDUCE_PROD REDUCE_MAX REDUCE_MIN ARG_MAX ARG_MIN CUMSUM L2_NORMALIZATION".split()
_COMPARED = frozenset(
    """
        EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL NOT_EQUAL
    """.split()
)
_SHORT = {"MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin"}
_WITHOUT = frozenset(
    """
    CEIL ELU FLOOR LOG LOGISTIC RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT SIN SQRT TANH PRELU ATAN2
""".split()
)
_UNSIGNED = frozenset(
    """
        MAXIMUM MINIMUM REDUCE_MAX REDUCE_MIN RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 FLOOR_MOD ROUND SUM MEAN
        CUMSUM SIGN ELU
    """.split()
)
_CANCELLING = {"ELU": 1.0, "GELU": 1.0}
_OVERFLOWING = frozenset(
    """
        SUM MEAN REDUCE_PROD CUMSUM L2_NORMALIZATION SQUARED_DIFFERENCE HARD_SWISH
    """.split()
)
_SUBNORMAL = frozenset(
    """
        FLOOR_DIV FLOOR_MOD DIV L2_NORMALIZATION REDUCE_PROD RSQRT
    """.split()
)
_OTHERWISE: dict[str, Callable[..., Any]] = {
    "REDUCE_MAX": lambda x: x.max(-1),
    "REDUCE_MIN": lambda x: x.min(-1),
    "ARG_MAX": lambda x: x.argmax(-1).astype(np.int32),
    "ARG_MIN": lambda x: x.argmin(-1).astype(np.int32),
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "RELU": lambda x: np.maximum(x, 0),
    "RELU6": lambda x: np.clip(x, 0, 6),
    "RELU_0_TO_1": lambda x: np.clip(x, 0, 1),
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "DIV": lambda x, y: np.divide(x, y).astype(x.dtype),
    "HARD_SWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}
"""What is right, too: NaN stays, which the kernels of LiteRT keep or drop by the order of what they compare, and so do
infinities, of which those make the largest numbers."""
_judge = Judge()


def close() -> None:
    """End the process of the judge."""
    _judge.close()


def _options(op: str) -> str:
    if op in _WITHOUT:
        return ""
    if op.startswith("REDUCE_") or op in ("SUM", "MEAN"):
        return "ReducerOptions"
    if op == "L2_NORMALIZATION":
        return "L2NormOptions"
    return f"{_SHORT.get(op) or op.title().replace('_', '')}Options"


RULES = Rules(_UNSIGNED, _CANCELLING, _OVERFLOWING, _SUBNORMAL, _OTHERWISE)


def table() -> Iterator[tuple[str, str, Any, list[Array]]]:
    yield from ((op, "float32", op, tuples("float32")) for op in _UNARY)
    for op in _BINARY:
        a, b = tuples("float32", "float32")
        fit = np.isnan(b) | (np.abs(b) > 1e-30) if op.startswith("FLOOR_") else np.full(b.shape, True)
        yield op, "float32", op, [a[fit], b[fit]]
    yield from ((op, "float32", op, [rows("float32")]) for op in _ROWS)
    for dtype in ("int32", "int64"):
        for op in "ADD SUB MUL DIV FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM EQUAL LESS POW SQUARED_DIFFERENCE".split():
            a, b = tuples(dtype, dtype)
            fit = b == b
            if op in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
                fit = (b != 0) & ~((a == a.min()) & (b == -1))
            if op == "POW":
                fit = (b >= 0) & (np.abs(a.astype(np.float64)) < 4) & (b < 10)
            yield op, dtype, op, [a[fit], b[fit]]
        for op in "SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN ARG_MAX CUMSUM".split():
            yield op, dtype, op, [rows(dtype)]


def case(function: Any, inputs: list[Array]) -> tuple[bytes, Any] | None:
    op, dtype = function, inputs[0].dtype.name
    more: list[Array] = []
    fields: dict[str, Any] = {}
    result = "bool" if op in _COMPARED else "int32" if op in ("ARG_MAX", "ARG_MIN") else dtype
    if op in ("SUM", "MEAN", "ARG_MAX", "ARG_MIN", "CUMSUM") or op.startswith("REDUCE_"):
        more = [np.array(-1 if op.startswith("ARG") or op == "CUMSUM" else [-1], np.int32)]
    if op.startswith("ARG"):
        fields = {"outputType": 2}
    if op == "SOFTMAX":
        fields = {"beta": 1.0}
    if op == "LEAKY_RELU":
        fields = {"alpha": 0.2}
    data = one(op, [*((dtype, x.shape) for x in inputs), *more], [result], _options(op), **fields)

    def judge(*values: Array) -> Array:
        results = _judge(data, list(values))
        if not isinstance(results, list):
            raise RuntimeError(str(results))
        return results[0]

    try:
        judge(*inputs)
    except RuntimeError:
        return None
    return data, judge
