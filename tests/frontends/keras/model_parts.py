"""Keras, and inputs of models that `make_models.py` writes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

keras: Any = importlib.import_module("keras")
L, ops = keras.layers, keras.ops
SEQUENCE, IMAGE, VOLUME = (6, 4), (7, 8, 4), (4, 5, 6, 4)


def inputs(*shapes: Sequence[int | None], **dtypes: str) -> list[Any]:
    """Inputs x0, x1, .. of these shapes behind the batch."""
    return [keras.Input(shape, name=f"x{at}", dtype=dtypes.get(f"x{at}", "float32")) for at, shape in enumerate(shapes)]


def model(tensors: Sequence[Any], outputs: Any, name: str) -> Any:
    return keras.Model(list(tensors), outputs, name=name)
