# pyright: basic
"""Sizes in StableHLO programs."""

from __future__ import annotations

from typing import Any


class Net:
    """Sizes are scalars of i32."""

    CALLS = {
        "abs": "abs", "add": "add", "and": "and", "ceil": "ceil", "divide": "divide", "floor": "floor",
        "max": "maximum", "min": "minimum", "mul": "multiply", "neg": "negate", "not": "not", "or": "or",
        "sign": "sign", "sub": "subtract", "times": "multiply", "trunc_divide": "divide", "trunc_mod": "remainder",
        "where": "select",
    }  # fmt: skip
    RELATIONS = {"equal": "EQ", "not_equal": "NE", "less": "LT", "at_least": "GE"}
    REDUCED = {"product": "multiply", "total": "add", "greatest": "maximum"}

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.types: dict[str, str] = {"%x": "?x?xf32"}
        self.results: list[str] = []

    def op(self, op: str, *inputs: str, type_: str = "", region: str = "", **attributes: Any) -> str:
        result = f"%y{len(self.lines)}"
        self.types[result] = type_ or self.types[inputs[-1]]
        entries = ", ".join(f"{key} = {value}" for key, value in attributes.items())
        stated = f" <{{{entries}}}>" if entries else ""
        types = ", ".join(f"tensor<{self.types[name]}>" for name in inputs)
        text = f'{result} = "stablehlo.{op}"({", ".join(inputs)}){stated}{region} : ({types})'
        self.lines.append(f"{text} -> tensor<{self.types[result]}>")
        return result

    def const(self, value: Any, type_: str) -> str:
        return self.op("constant", type_=type_, value=f"dense<{value}> : tensor<{type_}>")

    def number(self, value: float) -> str:
        return self.const(value, "f32" if isinstance(value, float) else "i32")

    def extents(self) -> tuple[Any, ...]:
        return tuple(self.op("get_dimension_size", "%x", type_="i32", dimension=f"{at} : i64") for at in range(2))

    def call(self, name: str, *sizes: Any) -> Any:
        if name in ("real", "whole"):
            return self.op("convert", *sizes, type_="f32" if name == "real" else "i32")
        if name in self.RELATIONS:
            direction = f"#stablehlo<comparison_direction {self.RELATIONS[name]}>"
            return self.op("compare", *sizes, type_="i1", comparison_direction=direction)
        if name == "clamp":
            value, low, high = sizes
            return self.op("clamp", low, value, high)
        if name in self.REDUCED:
            start = self.number({"product": 1, "total": 0, "greatest": 0}[name])
            inner = f'%c = "stablehlo.{self.REDUCED[name]}"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>'
            ends = '"stablehlo.return"(%c) : (tensor<i32>) -> ()'
            region = f" ({{ ^bb0(%a: tensor<i32>, %b: tensor<i32>): {inner} {ends} }})"
            return self.op("reduce", *sizes, start, type_="i32", region=region, dimensions="array<i64: 0>")
        return self.op(self.CALLS[name], *sizes)

    def vector(self, *sizes: Any) -> Any:
        return self.joined(*(self.op("reshape", size, type_="1xi32") for size in sizes))

    def item(self, values: Any, at: int) -> Any:
        return self.op("reshape", self.part(values, at, at + 1), type_="i32")

    def part(self, values: Any, begin: int, end: int) -> Any:
        bounds = {"start_indices": begin, "limit_indices": end, "strides": 1}
        written = {key: f"array<i64: {value}>" for key, value in bounds.items()}
        return self.op("slice", values, type_=f"{end - begin}xi32", **written)

    def joined(self, *parts: Any) -> Any:
        count = sum(int(self.types[part].partition("x")[0]) for part in parts)
        return self.op("concatenate", *parts, type_=f"{count}xi32", dimension="0 : i64")

    def _open(self, rank: int, element: str = "f32") -> str:
        return f"{'?x' * rank}{element}"

    def filled(self, *sizes: Any) -> None:
        inputs = [self.const(0.5, "f32"), self.vector(*sizes)]
        type_ = self._open(len(sizes))
        self.results.append(
            self.op("dynamic_broadcast_in_dim", *inputs, type_=type_, broadcast_dimensions="array<i64>")
        )

    def reshaped(self, *sizes: Any) -> None:
        self.results.append(self.op("dynamic_reshape", "%x", self.vector(*sizes), type_=self._open(len(sizes))))

    def cut(self, rows: Any) -> None:
        starts, strides = self.const([0, 0], "2xi32"), self.const([1, 1], "2xi32")
        columns = self.op("get_dimension_size", "%x", type_="i32", dimension="1 : i64")
        bounds = [starts, self.vector(rows, columns), strides]
        self.results.append(self.op("real_dynamic_slice", "%x", *bounds, type_="?x?xf32"))

    def counted(self, size: Any) -> None:
        self.results.append(self.op("dynamic_iota", self.vector(size), type_="?xi32", iota_dimension="0 : i64"))

    def build(self) -> bytes:
        types = ", ".join(f"tensor<{self.types[name]}>" for name in self.results)
        body = "\n    ".join(self.lines)
        returned = f"return {', '.join(self.results)} : {types}"
        main = f"func.func public @main(%x: tensor<?x?xf32>) -> ({types}) {{\n    {body}\n    {returned}\n  }}"
        return f"module @net {{\n  {main}\n}}".encode()
