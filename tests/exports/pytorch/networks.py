"""The networks whose exported programs are checked in: small ones of every family, and ones that write to tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """Convolution, normalisation and activation."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)))


class CNN(nn.Module):
    """A residual network of one stage."""

    def __init__(self):
        super().__init__()
        self.stem = Block(3, 8)
        self.down = Block(8, 16, stride=2)
        self.body = nn.Sequential(Block(16, 16), Block(16, 16))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(16, 5)

    def forward(self, image: Tensor) -> Tensor:
        x = F.max_pool2d(self.down(self.stem(image)), 3, 2, 1)
        x = x + self.body(x)
        return self.head(self.pool(x).flatten(1))


class Layer(nn.Module):
    """Attention under a causal mask, then two dense layers."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, size))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A decoder of tokens."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(40, 16), nn.Embedding(32, 16)
        self.layers = nn.ModuleList(Layer(16, 4) for _ in range(2))
        self.norm = nn.LayerNorm(16)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.tokens.weight.T


class Recurrent(nn.Module):
    """Layers of each kind, one of both directions."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, 2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(12, 5, batch_first=True)
        self.rnn = nn.RNN(5, 3, batch_first=True)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x, (h, _) = self.lstm(x)
        x, _ = self.gru(x)
        x, last = self.rnn(x)
        return {"steps": x, "last": last, "hidden": h}


class Writes(nn.Module):
    """Writes to tensors, to parts of them, and through views of views."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = x * 2
        row = y[:, 0]
        row.add_(1)  # the first column of y, and what is read of it below
        halves = y.split(2, dim=1)
        halves[1].mul_(3)
        flat = y.view(-1)
        flat[1:4] = 7
        turned = y.t()
        turned[2].sub_(row)
        z = torch.zeros(4, 4)
        z[:, 1::2] = y[:4, :2]
        z.diagonal().fill_(-1)
        w = z.clone()
        w[torch.tensor([0, 2])] += 10
        w.masked_fill_(w > 9, 0.5)
        return y, row, halves[1], flat.sum(), z, w


class Counter(nn.Module):
    """Counts its calls, and keeps a running mean of what it sees."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        self.mean.copy_(self.mean * 0.5 + x.mean(0) * 0.5)
        return x - self.mean + self.calls


class Cache(nn.Module):
    """Keys that are kept from call to call, each at its place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(6, 4))

    def forward(self, place: Tensor, key: Tensor) -> Tensor:
        self.keys[place] = key
        return self.keys @ key[0]


class Mixed(nn.Module):
    """Operators of many families."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 4, 2, 2)
        self.norm = nn.GroupNorm(2, 4)
        self.slope = nn.PReLU(4)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        a = self.slope(self.norm(self.up(x)))
        b = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        c = torch.cat([a, F.pad(b, (0, 0, 0, 0))], 1)
        values, places = c.mean((2, 3)).topk(3)
        picked = torch.gather(c.flatten(2), 1, places[:, :, None].expand(-1, -1, 4))
        shares = torch.einsum("bchw,bdhw->bcd", a, b).softmax(-1)
        total = torch.cumsum((c > 0).sum((1, 2)), -1)
        mask = torch.where(c[:, 0] > c[:, 1], 1, -1)
        return values, picked, shares, total, mask, c[:, [1, 0], ::2, -1], x.std(1), F.avg_pool2d(x, 3, 2, 1, True)


class Chosen(nn.Module):
    """Shapes that only values decide."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x[x > 0] * 2, (x < 0).nonzero()


class Unknown(nn.Module):
    """Operators that there is no row for."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.special.bessel_j0(x)
        return torch.igamma(y.abs(), x.abs()) + torch.special.bessel_j0(y)


# pyright: basic, reportMissingImports=false
