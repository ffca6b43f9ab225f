"""Networks that choose and repeat: their exported programs have graphs that nodes run."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Gate(nn.Module):
    """One of two layers, as the sum of the input says."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        def kept(x: Tensor) -> Tensor:
            y = self.dense(x)
            return y * 2

        def turned(x: Tensor) -> Tensor:
            z = torch.zeros_like(x)
            z[:, ::2] = x[:, 1::2]  # a write inside of a branch
            return z.sin()

        return torch.cond(x.sum() > 0, kept, turned, (x,))


class Branches(nn.Module):
    """A branch in a branch, in a module of its own."""

    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x: Tensor) -> Tensor:
        def small(x: Tensor) -> Tensor:
            return self.gate(x)

        def large(x: Tensor) -> Tensor:
            return x.clamp(max=1)

        return torch.cond(x.max() > 2, large, small, (x,)) + 1


class Loops(nn.Module):
    """Halves until what is left is small, then adds up from row to row."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        def going(count: Tensor, x: Tensor) -> Tensor:
            return (x.abs().max() > 0.5) & (count < 9)

        def half(count: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return count + 1, x * self.scale / 2

        def added(total: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            following = total + row
            return following, following * self.scale

        count, small = while_loop(going, half, (torch.zeros((), dtype=torch.int64), x))
        total, rows = scan(added, torch.zeros(4), small)
        return count, small, total, rows, mapped(lambda row, scale: row.softmax(0) * scale, small, self.scale)


class Sized(nn.Module):
    """A branch that sizes of the call decide."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x * 3, (x,))


class Marked(nn.Module):
    """Parts that are computed without gradients."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            y = x * 2
        return y, y + x


# pyright: basic, reportMissingImports=false
