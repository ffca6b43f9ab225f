"""The findings of tuning, as compiling asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from ...support.context import PassContext
from ..llvm_to_native.target import Target

Source = Literal["exact", "borrowed"]


@dataclass(frozen=True)
class Applied:
    """Decisions that were measured to be better than the default."""

    decisions: Mapping[str, int] = field(default_factory=dict[str, int])
    source: Source = "exact"
    """Borrowed: they were measured on another machine, or with the code of another compiler."""
    ratio: float = 1.0
    """The measured speed relative to the default."""

    @property
    def text(self) -> str:
        """`rows = 4, vectors = 2`."""
        return ", ".join(f"{name} = {number}" for name, number in sorted(self.decisions.items()))

    @property
    def about(self) -> str:
        """`rows = 4, vectors = 2 (exact, 1.12 times as fast as the default when measured)`."""
        if not self.decisions:
            return f"the default ({self.source}, nothing was faster when measured)"
        return f"{self.text} ({self.source}, {self.ratio:.2f} times as fast as the default when measured)"


@runtime_checkable
class Tuned(Protocol):
    """The records of tuning."""

    def find(self, workload: str, target: Target, space: Callable[[], str]) -> Applied | None:
        """Return the decisions about a kernel, by its `workload_key`; None: nothing that fits.

        space: gives the key of its space, for decisions are for that only; it takes as long as a schedule.
        """
        ...

    def lines(self) -> list[str]:
        """The records that `find` looks at, as lines of a file, for another process."""
        ...


TUNED: ContextVar[Tuned | None] = ContextVar("tuned", default=None)
"""The records by which kernels are compiled where no others are named."""


def workload_key(text: str) -> str:
    """The name (hex sha256) of the printed anonymous function of a kernel, and of the options that shape its code."""
    return hashlib.sha256(f"{PassContext.current().shapes_code()}\n{text}".encode()).hexdigest()
