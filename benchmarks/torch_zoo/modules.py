"""Networks of torch's own layers: recurrent ones, a transformer, a U-Net, and a scan of a state."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .case import Case


class Tagger(nn.Module):
    """Words, two layers of LSTM in both directions, and a label for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 12)
        self.steps = nn.LSTM(12, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.steps(self.words(ids))[0]).log_softmax(-1)


class Projected(nn.Module):
    """An LSTM whose states are projected, then a GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 16, proj_size=8, batch_first=True)
        self.gru = nn.GRU(8, 12, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        steps, (hidden, cell) = self.lstm(x)
        result, last = self.gru(steps)
        return result, last, hidden, cell


class Translator(nn.Module):
    """torch's own transformer under a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(40, 16)
        self.body = nn.Transformer(16, 2, 1, 1, 32, batch_first=True, norm_first=True)
        self.head = nn.Linear(16, 40)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.head(self.body(self.words(source), self.words(target), tgt_mask=mask, tgt_is_causal=False))


class UNet(nn.Module):
    """Down and up again, with pooling, transposed convolutions and concatenations."""

    def __init__(self) -> None:
        super().__init__()

        def block(inputs: int, outputs: int) -> nn.Module:
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())

        self.down = nn.ModuleList([block(3, 8), block(8, 16)])
        self.middle = block(16, 32)
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.after = nn.ModuleList([block(32, 16), block(16, 8)])
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept: list[Tensor] = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, after in zip(self.up, self.after, strict=True):
            x = after(torch.cat([up(x), kept.pop()], 1))
        return self.head(x)


class Scan(nn.Module):
    """A selective state space, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 16)
        self.step = nn.Linear(16, 16)
        self.both = nn.Linear(16, 8)
        self.decay = nn.Parameter(torch.randn(16, 4))
        self.conv = nn.Conv1d(16, 16, 3, groups=16, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        u = F.silu(self.conv(self.inner(x).transpose(1, 2))[..., :length].transpose(1, 2))
        delta = F.softplus(self.step(u))
        b, c = self.both(u).chunk(2, -1)
        state = torch.zeros(x.shape[0], 16, 4)
        results: list[Tensor] = []
        for at in range(length):
            state = torch.exp(delta[:, at, :, None] * -self.decay.exp()) * state
            state = state + (delta[:, at] * u[:, at])[..., None] * b[:, at, None]
            results.append((state * c[:, at, None]).sum(-1))
        return torch.stack(results, 1)


def _ids(batch: int, length: int) -> Tensor:
    return torch.randint(0, 40, (batch, length))


NETWORKS: dict[str, Callable[[], Case]] = {
    "nn/lstm_tagger": lambda: Case(Tagger(), (_ids(2, 5),), (_ids(3, 5),), ((0,),)),
    "nn/lstm_projected_gru": lambda: Case(Projected(), (torch.randn(2, 5, 6),), (torch.randn(3, 5, 6),), ((0,),)),
    "nn/transformer": lambda: Case(Translator(), (_ids(2, 6), _ids(2, 5)), (_ids(3, 9), _ids(3, 7)), ((0, 1), (0, 1))),
    "nn/unet": lambda: Case(UNet(), (torch.randn(2, 3, 32, 32),), (torch.randn(3, 3, 48, 32),), ((0, 2, 3),)),
    "nn/selective_scan": lambda: Case(Scan(), (torch.randn(2, 6, 8),), (torch.randn(3, 6, 8),), ((0,),)),
}
