"""The public API: `load` a model, or `compile` it."""

from __future__ import annotations

from whence.compiler.compile import compile as compile
from whence.compiler.load import load as load
