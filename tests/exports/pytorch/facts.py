"""Networks whose exported programs say more than operators: guards, numbers, symbols from data, other results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


class Guarded(nn.Module):
    """A Python `if` on sizes: the export keeps the branch of its example, and a guard."""

    def forward(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Tensor:
        if x.shape[0] > pair[0].shape[0]:
            return x.sum() + pair[0].sum()
        return (x[:3] * pair[1]).sum(0) + pair[0].sum(0)


class Counted(nn.Module):
    """Sizes that the values of a tensor are."""

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, ...]:
        n = count.item()
        torch._check(n >= 1)
        torch._check(n <= 5)
        return x[:n].sum(0), torch.arange(n) * 2, x.new_ones(n, 2), n * 2 - 1  # pyright: ignore[reportReturnType]


@dataclass
class Answer:
    """A result with names."""

    total: Tensor
    rows: int


torch.export.register_dataclass(Answer, serialized_type_name="facts.Answer")


class Answers(nn.Module):
    """Results that are numbers, the module's own tensors, an input, nothing; and a number that a call gives."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(3.0))
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x: Tensor, factor: int, sign: float, shown: bool) -> dict[str, Any]:
        self.seen.add_(x.sum(0))
        return {
            "answer": Answer(x.sum() * factor, x.shape[0]),
            "own": self.weight,
            "same": x,
            "nothing": None,
            "twice": factor * 2,
            "constant": [sign, shown, "text"],
        }


# pyright: basic, reportMissingImports=false
