"""TensorFlow models -> relay: frozen graphs and saved models, without TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...support.doors import door

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@door()
def from_tensorflow(
    model: bytes | str | os.PathLike[str] | Any,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    signature: str | None = None,
) -> ModuleOp:
    """The relay module of a TensorFlow model; `@main` has its inputs and outputs, in order.

    model: the path of a frozen graph or of the folder of a saved model, the bytes of a GraphDef, or the GraphDef.
    shapes: input name -> shape, of inputs that the model leaves open.
    signature: the key of the saved model's signature that is wanted, whose names inputs and outputs have.

    Each op is located at `NameLoc(layer, FileLineColLoc(file, node number, 0))`, where the layer is the name of the
    node, behind the scopes of the calls that it is in. `@main` keeps the names of inputs and outputs in its attributes
    `input_names` and `output_names`. Nodes evaluated at import are written to the open ledger.

    Raises FrontendError when the model is bad or uses unsupported operators.
    """
    from ..importing.whole_models import import_model
    from .model import open_model

    return import_model(open_model(model, signature), shapes or {})
