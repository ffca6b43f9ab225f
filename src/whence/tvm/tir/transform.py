"""The passes on tir by TVM's names, as `whence.transform` has those on relay: `tir.transform.Simplify()(module)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.passes.registry import PASSES
from whence.support.rooms import homes_in, name_in
from whence.transform import maker

_ROWS = {row.tvm.removeprefix("tir."): row for row in PASSES if row.tvm.startswith("tir.")}


def __getattr__(name: str) -> Callable[..., Any]:
    return maker(name, _ROWS[name]) if name in _ROWS else name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted([*_ROWS, *homes_in(__name__)])
