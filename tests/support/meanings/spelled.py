# pyright: basic
"""Spellings as rows of data: the operator of a format, how its arguments are called, and what it is always given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meanings.meaning import Spelling


def op(name: str, **fixed: Any) -> Spelling:
    """Return the spelling by one operator, its operands in order, options by their names."""
    return lambda net, *values, **options: net(name, *values, **fixed, **options)


def layer(kind: str, **config: Any) -> Spelling:
    """Return the spelling by a layer of Keras."""
    return lambda net, *values: net.layer(kind, *values, **config)


def aten(name: str, names: str = "self", **fixed: Any) -> Spelling:
    """Return the spelling by one operator of torch, with the names of the values in its schema."""
    target = name if "::" in name or name.startswith(("aten.", "torchvision.")) else f"aten.{name}"
    target = target if target.count(".") == 2 else f"{target}.default"
    return lambda net, *values, **options: net(
        target, **dict(zip(names.split(), values, strict=True)), **fixed, **options
    )


def spellings(
    names: str = "self",
    *,
    onnx: str = "",
    tflite: str = "",
    torch: str = "",
    keras: str = "",
    tensorflow: str = "",
    stablehlo: str = "",
    **others: Spelling,
) -> dict[str, Spelling]:
    """Return the spellings by one operator of each format, without options. names: those of values in torch's schema.

    others: `onnx_by` and so on, spellings that are more than the name of an operator; `keras_layer_by` is one more.
    """
    plain = {"onnx": onnx, "tflite": tflite, "keras": keras, "tensorflow": tensorflow, "stablehlo": stablehlo}
    table = {form: op(name) for form, name in plain.items() if name}
    if torch:
        table["torch"] = aten(torch, names)
    return table | {key.removesuffix("_by").replace("_", " "): spelling for key, spelling in others.items()}


# Windows.

LAST = ("tflite", "keras", "tensorflow")
"""The formats that have channels behind space, as these spellings have them."""
SAME = {"SAME_UPPER": 0, "VALID": 1}
"""Paddings of TFLite, TensorFlow and Keras, and the numbers of TFLite."""


def even_pads(padding: Any) -> list[int] | None:
    """Return the pads where they are the same before and behind."""
    if padding == "VALID":
        return []
    return None if isinstance(padding, str) or any(a != b for a, b in padding) else [a for a, _ in padding]


def onnx_padding(padding: Any) -> dict[str, Any]:
    """Return the padding of ONNX."""
    if isinstance(padding, str):
        return {"auto_pad": padding}
    return {"pads": [*(a for a, _ in padding), *(b for _, b in padding)]}


def hlo_ints(values: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, values))}>"


def hlo_pairs(pads: Sequence[tuple[int, int]]) -> str:
    return f"dense<{[list(pair) for pair in pads]}> : tensor<{len(pads)}x2xi64>"
