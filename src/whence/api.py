"""The public API: `load` a model, `compile` it, or `tune` it first."""

from __future__ import annotations

from whence.compiler.compile import compile as compile
from whence.compiler.load import load as load
from whence.compiler.tune import tune as tune
