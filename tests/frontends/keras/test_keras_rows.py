# pyright: basic, reportMissingImports=false
"""Every layer and operation of the installed Keras has a row, or a reason why not in docs/keras.md."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from pathlib import Path
from typing import Any

import pytest

from whence.frontends.keras.convert import row_of

os.environ.setdefault("KERAS_BACKEND", "numpy")
keras: Any = pytest.importorskip("keras")
PAGE = (Path(__file__).parents[3] / "docs" / "keras.md").read_text()


def unread(names: set[str], is_layer: bool) -> set[str]:
    return {name for name in names if row_of(name, is_layer) is None}


def test_layers_have_rows_or_reasons():
    names = {name for name, kind in vars(keras.layers).items() if inspect.isclass(kind)} - {"InputLayer"}
    assert len(names) > 150
    assert {name for name in unread(names, True) if f"`{name}`" not in PAGE} == set()


def test_operations_have_rows_or_reasons():
    package = importlib.import_module("keras.src.ops")
    base = importlib.import_module("keras.src.ops.operation").Operation
    names: set[str] = set()
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.endswith("_test"):
            module = importlib.import_module(f"keras.src.ops.{info.name}")
            classes = [kind for kind in vars(module).values() if inspect.isclass(kind) and issubclass(kind, base)]
            names |= {kind.__name__ for kind in classes if kind.__module__ == module.__name__ and kind is not base}
    assert len(names) > 250
    assert {name for name in unread(names, False) if f"`{name}`" not in PAGE} == set()
