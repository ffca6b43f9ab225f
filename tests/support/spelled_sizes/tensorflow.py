# pyright: basic
"""Sizes in TensorFlow graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow_graphs


class Net:
    """Sizes are scalars of int32."""

    CALLS = {
        "abs": "Abs", "add": "AddV2", "and": "LogicalAnd", "at_least": "GreaterEqual", "ceil": "Ceil",
        "clamp": "ClipByValue", "divide": "RealDiv", "equal": "Equal", "floor": "Floor", "floor_divide": "FloorDiv",
        "floor_mod": "FloorMod", "greatest": "Max", "less": "Less", "max": "Maximum", "min": "Minimum", "mul": "Mul",
        "neg": "Neg", "not": "LogicalNot", "not_equal": "NotEqual", "or": "LogicalOr", "product": "Prod",
        "sign": "Sign", "sub": "Sub", "times": "Mul", "total": "Sum", "trunc_divide": "TruncateDiv",
        "trunc_mod": "TruncateMod", "where": "SelectV2",
    }  # fmt: skip

    def __init__(self) -> None:
        self.net = tensorflow_graphs.Net()
        self.net.placeholder("x", (-1, -1))
        self.types: dict[str, str] = {}
        self.results: list[str] = []

    def op(self, op: str, *inputs: str, dtype: Any = "", **attributes: Any) -> str:
        result = f"y{len(self.types)}"
        known = self.types.get(inputs[1 if op == "SelectV2" else 0], "float32")
        self.types[result] = dtype or known
        if op not in ("LogicalAnd", "LogicalOr", "LogicalNot", "Cast", "Range"):
            attributes.setdefault("T", known)
        return self.net.op(op, result, *inputs, **attributes)

    def const(self, value: Any, dtype: str = "int32") -> str:
        result = f"y{len(self.types)}"
        self.types[result] = dtype
        return self.net.const(result, np.asarray(value, dtype))

    def number(self, value: float) -> str:
        return self.const(value, "float32" if isinstance(value, float) else "int32")

    def extents(self) -> tuple[Any, ...]:
        shape = self.op("Shape", "x", dtype="int32", out_type="int32")
        return tuple(self.item(shape, at) for at in range(2))

    def call(self, name: str, *sizes: Any) -> Any:
        if name in ("real", "whole"):
            to = "float32" if name == "real" else "int32"
            return self.op("Cast", *sizes, dtype=to, SrcT=self.types[sizes[0]], DstT=to)
        if name in ("product", "total", "greatest"):
            return self.op(self.CALLS[name], *sizes, self.const([0]), keep_dims=False, Tidx="int32")
        truth = name in ("equal", "not_equal", "less", "at_least")
        return self.op(self.CALLS[name], *sizes, dtype="bool" if truth else "")

    def vector(self, *sizes: Any) -> Any:
        return self.op("Pack", *sizes, axis=0, N=len(sizes))

    def item(self, values: Any, at: int) -> Any:
        return self._strided(values, at, at + 1, shrink_axis_mask=1)

    def part(self, values: Any, begin: int, end: int) -> Any:
        return self._strided(values, begin, end)

    def _strided(self, values: Any, begin: int, end: int, **masks: int) -> Any:
        bounds = [self.const([number]) for number in (begin, end, 1)]
        return self.op("StridedSlice", values, *bounds, Index="int32", **masks)

    def joined(self, *parts: Any) -> Any:
        return self.op("ConcatV2", *parts, self.const(0), N=len(parts), Tidx="int32")

    def filled(self, *sizes: Any) -> None:
        value = self.const(0.5, "float32")
        self.results.append(self.op("Fill", self.vector(*sizes), value, dtype="float32", T="float32"))

    def reshaped(self, *sizes: Any) -> None:
        self.results.append(self.op("Reshape", "x", self.vector(*sizes), Tshape="int32"))

    def tiled(self, *sizes: Any) -> None:
        self.results.append(self.op("Tile", "x", self.vector(*sizes), Tmultiples="int32"))

    def cut(self, rows: Any) -> None:
        sizes = [self.const([0, 0]), self.vector(rows, self.const(-1))]
        self.results.append(self.op("Slice", "x", *sizes, Index="int32"))

    def counted(self, size: Any) -> None:
        self.results.append(self.op("Range", self.const(0), size, self.const(1), dtype="int32", Tidx="int32"))

    def build(self) -> bytes:
        for at, result in enumerate(self.results):
            self.net.op("Identity", f"z{at}", result, T=self.types[result])
        return self.net.build()
