"""The sizes of a schedule that are open, and its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...dialects.sizes import SizeExpr
from ...dialects.sizes.kernel import kernel_size
from ..language.tensor import Tensor


@dataclass(frozen=True)
class OpenSizes:
    """The variables without a value, those with one, and the tensors of the function: its arguments, then results."""

    names: tuple[str, ...]
    given: Mapping[str, float]
    parameters: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    symbolic: bool
    """True when the schedule is of all sizes; else it is of nominal ones, and made again for those of a call."""


NOMINAL = 256
"""The value of an open size while primitives are chosen, where no code fits all sizes: loops end elsewhere then."""


class FunctionSizes(Mapping[str, "float | SizeExpr"]):
    """The sizes that are given, and one of the function (or a nominal one) for every other that is asked for.

    names: those that the function has already, in order.
    """

    def __init__(self, given: Mapping[str, float] | None = None, names: Iterable[str] = (), nominal: bool = False):
        self.given = given or {}
        self.nominal = nominal
        self.missing = {name: number for number, name in enumerate(names)}

    def __getitem__(self, name: str) -> float | SizeExpr:
        if name in self.given:
            return self.given[name]
        number = self.missing.setdefault(name, len(self.missing))
        return NOMINAL if self.nominal else kernel_size(number)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)
