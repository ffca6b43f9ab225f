"""TFLite models -> relay.

The tflite package is imported when a model is read, not before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...support.doors import door

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@door()
def from_tflite(
    model: bytes | str | os.PathLike[str] | Any,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    signature: str | None = None,
) -> ModuleOp:
    """The relay module of a TFLite model; `@main` has its inputs and outputs, in order.

    model: a path, the bytes of a model file, or a `tflite.Model`.
    shapes: input name -> shape, where it is not the one in the file.
    signature: the key of the model's signature that is wanted, whose names inputs and outputs have; without, the first
    subgraph is what runs. What the model keeps from call to call has its initial value.

    Each op is located at `NameLoc(layer, FileLineColLoc(file, operator index, 0))`, where the layer is the name of the
    operator's output, those of several joined by ", "; a fused activation is part of it. Inputs and constants have the
    names of their tensors. `@main` keeps those of inputs and outputs in its attributes `input_names` and
    `output_names`. Operators evaluated at import are written to the open ledger.

    Raises FrontendError when the model is bad or uses unsupported operators.
    """
    from ..importing.whole_models import import_model
    from .graph import open_model

    return import_model(open_model(model, signature), shapes or {})
