# pyright: basic
"""StableHLO programs written as text, in generic form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Value
from whence.frontends.stablehlo import from_stablehlo

__all__ = ["Net", "load"]

_ELEMENTS = {"bool": "i1", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16"}


def element(dtype: np.dtype[Any]) -> str:
    """Return the text of an element type."""
    name = dtype.name
    return _ELEMENTS.get(name) or name.replace("uint", "ui").replace("int", "i")


def tensor(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    """Return the text of a tensor type."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element(dtype)}>"


class Net:
    """A program under construction; a call adds an op."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.lines: list[str] = []
        self.inputs: list[Value] = []
        self.expected: Sequence[Array] = ()
        """The results of the case that is being written: the types of ops that state none."""

    def input(self, array: Array) -> Value:
        self.inputs.append(Value(f"%x{len(self.inputs)}", array.shape, array.dtype))
        return self.inputs[-1]

    def const(self, array: Any, dtype: str = "") -> Value:
        array = np.asarray(array, dtype or None)
        value = Value(f"%c{len(self.lines)}", array.shape, array.dtype, array)
        raw = array.astype(np.uint8) * 255 if array.dtype == np.bool_ else np.ascontiguousarray(array)
        data = f'"0x{raw.tobytes().hex().upper()}"' if array.size > 1 or array.dtype.kind == "f" else _literal(array)
        text = tensor(array.shape, array.dtype)
        self.lines.append(f'{value.name} = "stablehlo.constant"() <{{value = dense<{data}> : {text}}}> : () -> {text}')
        return value

    def __call__(
        self,
        op: str,
        *values: Value,
        types: Any = None,
        regions: str = "",
        **attributes: Any,
    ) -> Any:
        """Add an op; returns its result, or a tuple of them.

        types: arrays or values of the types of the results; by default those of the case. attributes: their text.
        """
        self.operators.add(op)
        results = self.expected if types is None else types if isinstance(types, list) else [types]
        names = [f"%y{len(self.lines)}_{at}" for at in range(len(results))]
        made = [Value(name, item.shape, item.dtype) for name, item in zip(names, results, strict=True)]
        entries = ", ".join(f"{key} = {value}" for key, value in attributes.items())
        inner, outer = (", ".join(tensor(x.shape, x.dtype) for x in listed) for listed in (values, made))
        stated = f" <{{{entries}}}>" if entries else ""
        arguments = ", ".join(value.name for value in values)
        body = f" ({regions})" if regions else ""
        self.lines.append(f'{", ".join(names)} = "stablehlo.{op}"({arguments}){stated}{body} : ({inner}) -> ({outer})')
        return made[0] if len(made) == 1 else tuple(made)

    def region(self, op: str, dtype: np.dtype[Any]) -> str:
        """Return a body of two numbers that an op makes one of."""
        text = tensor((), dtype)
        inner = f'%z = "stablehlo.{op}"(%a, %b) : ({text}, {text}) -> {text}'
        return f'{{ ^bb0(%a: {text}, %b: {text}): {inner} "stablehlo.return"(%z) : ({text}) -> () }}'

    def build(self, outputs: Sequence[Value], expected: Sequence[Array]) -> bytes:
        parameters = ", ".join(f"{x.name}: {tensor(x.shape, x.dtype)}" for x in self.inputs)
        types = ", ".join(tensor(x.shape, x.dtype) for x in outputs)
        body = "\n    ".join(self.lines)
        returned = f"return {', '.join(x.name for x in outputs)} : {types}"
        main = f"func.func public @main({parameters}) -> ({types}) {{\n    {body}\n    {returned}\n  }}"
        return f"module @net {{\n  {main}\n}}".encode()


def _literal(array: Array) -> str:
    return str(array.reshape(-1)[0]).lower() if array.size else ""


def load(model: bytes) -> Any:
    return from_stablehlo(model)
