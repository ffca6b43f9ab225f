"""The table of our dialects, each loaded when first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import cast

from xdsl.ir import Dialect


def _load(module: str, name: str) -> Dialect:
    return cast(Dialect, getattr(import_module(f".{module}", __package__), name))


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "relay": partial(_load, "relay", "Relay"),
    "te": partial(_load, "te", "Te"),
    "schedule": partial(_load, "schedule", "Schedule"),
    "tir": partial(_load, "tir", "Tir"),
    "llvm_ext": partial(_load, "llvm_ext", "LLVMExt"),
    "stablehlo": partial(_load, "stablehlo", "Stablehlo"),
    "chlo": partial(_load, "stablehlo", "Chlo"),
    "sdy": partial(_load, "stablehlo", "Sdy"),
}
