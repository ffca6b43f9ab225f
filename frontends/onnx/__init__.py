"""ONNX models (opsets 7 to 24, others with a warning) -> relay.

The onnx package is imported when `from_onnx` is called, not before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...support.doors import door

if TYPE_CHECKING:
    import onnx
    from xdsl.dialects.builtin import ModuleOp


@door()
def from_onnx(
    model: onnx.ModelProto | bytes | str | os.PathLike[str], *, shapes: Mapping[str, Sequence[int]] | None = None
) -> ModuleOp:
    """The relay module of an ONNX model; `@main` has its inputs and outputs, in order.

    model: a path, the bytes of a model file, or a loaded model, which is not changed.
    shapes: input name -> shape, for inputs with dynamic dimensions.

    Each op is located at `NameLoc(layer, FileLineColLoc(file, node index, 0))`, where the layer is `node.name`, else
    `<op_type>_<k>`, k counting the unnamed nodes of that type. A node beside which PyTorch's exporter wrote a stack
    trace has the file and line of the user's innermost call instead of the model's file and the node's index. Inputs
    are named `<layer>.<tensor>` after their first consumer, initializers after each, which has a constant of its own.
    `@main` keeps the tensor names in its attributes `input_names` and `output_names`. Nodes evaluated at import are
    written to the open ledger.

    Raises FrontendError when the model is bad, uses unsupported operators, or leaves a shape open.
    """
    from ..importing.whole_models import import_model
    from .graph import open_model

    return import_model(open_model(model), shapes or {})
