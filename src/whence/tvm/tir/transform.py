"""The passes on tir by TVM's names, as `whence.transform` has those on relay: `tir.transform.Simplify()(func)`."""

from __future__ import annotations

from collections.abc import Callable

from whence.passes.registry import PASSES
from whence.passes.transform.passes import Pass
from whence.transform import maker

_ROWS = {row.tvm.removeprefix("tir."): row for row in PASSES if row.tvm.startswith("tir.")}


def __getattr__(name: str) -> Callable[..., Pass]:
    if name in _ROWS:
        return maker(name, _ROWS[name])
    raise AttributeError(f"module 'whence.tir.transform' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(_ROWS)
