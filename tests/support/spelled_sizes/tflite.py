# pyright: basic
"""Sizes in TFLite models."""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite_builder


class Net:
    """Sizes are scalars of int32."""

    CALLS = {
        "abs": "ABS", "add": "ADD", "and": "LOGICAL_AND", "at_least": "GREATER_EQUAL", "ceil": "CEIL", "divide": "DIV",
        "equal": "EQUAL", "floor": "FLOOR", "floor_divide": "FLOOR_DIV", "floor_mod": "FLOOR_MOD",
        "greatest": "REDUCE_MAX", "less": "LESS", "max": "MAXIMUM", "min": "MINIMUM", "mul": "MUL", "neg": "NEG",
        "not": "LOGICAL_NOT", "not_equal": "NOT_EQUAL", "or": "LOGICAL_OR", "product": "REDUCE_PROD", "sign": "SIGN",
        "sub": "SUB", "times": "MUL", "total": "SUM", "trunc_divide": "DIV", "where": "SELECT_V2",
    }  # fmt: skip
    OPTIONS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}

    def __init__(self) -> None:
        self.net = tflite_builder.Net()
        self.x = self.net.input("x", (1, 1))
        self.net.tensors[self.x].shapeSignature = [-1, -1]
        self.types: dict[int, str] = {self.x: "float32"}
        self.results: list[int] = []

    def op(self, op: str, *inputs: int, shape: tuple[int, ...] = (), dtype: str = "", options: str = "", **fields: Any):
        dtype = dtype or self.types[inputs[1 if op == "SELECT_V2" else 0]]
        result = self.net.tensor(f"y{len(self.net.tensors)}", shape, dtype)
        self.types[result] = dtype
        self.net.op(op, list(inputs), [result], options or self.OPTIONS.get(op, ""), **fields)
        return result

    def const(self, value: Any, dtype: str = "int32") -> int:
        result = self.net.const(f"c{len(self.net.tensors)}", np.asarray(value, dtype))
        self.types[result] = dtype
        return result

    def number(self, value: float) -> int:
        return self.const(value, "float32" if isinstance(value, float) else "int32")

    def extents(self) -> tuple[Any, ...]:
        shape = self.op("SHAPE", self.x, shape=(2,), dtype="int32", options="ShapeOptions", outType=2)
        return tuple(self.item(shape, at) for at in range(2))

    def call(self, name: str, *sizes: Any) -> Any:
        if name in ("real", "whole"):
            return self.op("CAST", *sizes, dtype="float32" if name == "real" else "int32")
        if name in ("product", "total", "greatest"):
            return self.op(self.CALLS[name], *sizes, self.const([0]), options="ReducerOptions", keepDims=False)
        truth = name in ("equal", "not_equal", "less", "at_least")
        return self.op(self.CALLS[name], *sizes, dtype="bool" if truth else "")

    def vector(self, *sizes: Any) -> Any:
        return self.op("PACK", *sizes, shape=(len(sizes),), options="PackOptions", valuesCount=len(sizes), axis=0)

    def item(self, values: Any, at: int) -> Any:
        bounds = [self.const([number]) for number in (at, at + 1, 1)]
        return self.op("STRIDED_SLICE", values, *bounds, options="StridedSliceOptions", shrinkAxisMask=1)

    def part(self, values: Any, begin: int, end: int) -> Any:
        return self.op("SLICE", values, self.const([begin]), self.const([end - begin]), shape=(end - begin,))

    def joined(self, *parts: Any) -> Any:
        return self.op("CONCATENATION", *parts, shape=(1,), options="ConcatenationOptions", axis=0)

    def filled(self, *sizes: Any) -> None:
        shape = (1,) * len(sizes)
        self.results.append(
            self.op("FILL", self.vector(*sizes), self.const(0.5, "float32"), shape=shape, dtype="float32")
        )

    def reshaped(self, *sizes: Any) -> None:
        shape = (1,) * len(sizes)
        self.results.append(self.op("RESHAPE", self.x, self.vector(*sizes), shape=shape, options="ReshapeOptions"))

    def tiled(self, *sizes: Any) -> None:
        self.results.append(self.op("TILE", self.x, self.vector(*sizes), shape=(1, 1)))

    def cut(self, rows: Any) -> None:
        sizes = [self.const([0, 0]), self.vector(rows, self.const(-1))]
        self.results.append(self.op("SLICE", self.x, *sizes, shape=(1, 1)))

    def counted(self, size: Any) -> None:
        limits = [self.const(0), size, self.const(1)]
        self.results.append(self.op("RANGE", *limits, shape=(1,), options="RangeOptions"))

    def build(self) -> bytes:
        return self.net.build(self.results)
