"""Keras models -> relay, read without Keras.

The h5py package is imported when a model is read, not before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...support.doors import door

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@door()
def from_keras(
    model: bytes | str | os.PathLike[str] | Any, *, shapes: Mapping[str, Sequence[int]] | None = None
) -> ModuleOp:
    """The relay module of a Keras model; `@main` has its inputs and outputs, in order.

    model: a `.keras` or `.h5` file by its path or its bytes, or a Keras model in memory.
    shapes: input name -> shape, for dimensions that the model leaves open, as it does batches.

    Each op is located at `NameLoc(layer, FileLineColLoc(file, number of the call, 0))`, where the layer is the name
    that the user gave it: `outer/inner` in a model that is a layer, `layer#1` for its second call. Inputs have the
    names of their InputLayers, weights those of layer and variable, `dense.kernel`. `@main` keeps the names of inputs
    and outputs in its attributes `input_names` and `output_names`.

    Raises FrontendError when the model is bad, holds code, uses unsupported layers, or leaves a shape open.
    """
    from ..importing.whole_models import import_model
    from .graph import open_model

    return import_model(open_model(model), shapes or {})
