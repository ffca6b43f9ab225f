"""Operators of TorchScript that move, make and index: held against eager torch."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_scripts import check, module_of, numbers, traced, whole  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
F = torch.nn.functional
X, IMAGE, SQUARE = numbers(2, 3, 4), numbers(1, 4, 6, 6), numbers(4, 5)
N, B = whole(2, 3, 4), whole(2, 3, 4) > 1
AT = torch.tensor([[2, 0], [1, 3]])


def put(x: Any, *index: Any, value: Any = 1.0, accumulate: bool = False) -> Any:
    return x.clone().index_put_(tuple(index), torch.as_tensor(value, dtype=x.dtype), accumulate=accumulate)


CASES: dict[str, tuple[Any, ...]] = {
    # Other shapes.
    "reshape": (lambda x: x.reshape(3, 8), X),
    "reshape with -1": (lambda x: x.reshape([-1, 4]), X),
    "reshape by sizes": (lambda x: x.reshape(x.size(0), x.shape[1] * x.shape[2]), X),
    "reshape by size arithmetic": (lambda x: x.view(-1, x.size(2) // 2, 2).view(x.size(0) * 3, -1), X),
    "reshape_as": (lambda x, y: x.reshape_as(y), X, numbers(4, 6)),
    "view": (lambda x: x.view(6, 4), X),
    "view_as": (lambda x, y: x.view_as(y), X, numbers(4, 6)),
    "flatten": (lambda x: (x.flatten(), torch.flatten(x, 1), torch.flatten(x, 0, 1)), X),
    "ravel": (lambda x: x.ravel(), X),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)), X),
    "squeeze": (lambda x: (x.squeeze(), x.squeeze(0), x.squeeze(1)), numbers(1, 3, 1, 4)),
    "squeeze of axes": (lambda x: x.squeeze((0, 2)), numbers(1, 3, 1, 4)),
    "unsqueeze": (lambda x: (x.unsqueeze(0), x.unsqueeze(2), x.unsqueeze(-1)), X),
    "transpose": (lambda x: (x.transpose(2, 0), x.transpose(-2, -1)), X),
    "t": (lambda x: (x.t(), x.T), SQUARE),
    "mT": (lambda x: x.mT, X),
    "permute": (lambda x: x.permute(0, 2, 1), X),
    "movedim": (lambda x: x.movedim(0, 2), X),
    "swapaxes": (lambda x: x.swapaxes(0, 2), X),
    "expand": (lambda x: x.expand(3, -1, 4), numbers(3, 5, 1)),
    "expand more axes": (lambda x: x.expand(2, 3, 5, 4), numbers(3, 5, 1)),
    "expand_as": (lambda x, y: x.expand_as(y), numbers(3, 5, 1), numbers(3, 5, 4)),
    "broadcast_tensors": (lambda x, y: torch.broadcast_tensors(x, y), numbers(3, 1, 1), numbers(1, 3, 2)),
    "broadcast_to": (lambda x: x.broadcast_to(2, 2, 3, 4), X),
    "repeat": (lambda x: (x.repeat(1, 3, 1), x.repeat(4, 2, 1, 2)), X),
    "tile": (lambda x: x.tile(2, 1), X),
    "repeat_interleave": (lambda x: (x.repeat_interleave(2), x.repeat_interleave(3, dim=1)), X),
    "repeat_interleave by a tensor": (lambda x: x.repeat_interleave(torch.tensor([1, 2, 3]), dim=1), X),
    "flip": (lambda x: (x.flip(0), x.flip([1, 2]), x.flip(-1)), X),
    "roll": (lambda x: (x.roll(1, 0), x.roll((1, -1), (0, 2)), x.roll(2)), X),
    "rot90": (lambda x: x.rot90(1, (1, 2)), X),
    "tril": (lambda x: (x.tril(), x.tril(1), x.tril(-1)), SQUARE),
    "triu": (lambda x: (x.triu(), x.triu(1), x.triu(-2)), X),
    "diagonal": (lambda x: x.diagonal(0, 1, 2), X),
    "diag": (lambda x: x.diag(), SQUARE),
    "meshgrid": (lambda x, y: torch.meshgrid([x, y], indexing="ij"), numbers(3), numbers(4)),
    "meshgrid xy": (lambda x, y: torch.meshgrid(x, y, indexing="xy"), numbers(3), numbers(4)),
    "contiguous": (lambda x: x.transpose(0, 1).contiguous().view(3, 8), X),
    "clone, detach": (lambda x: x.clone().detach() + 1, X),
    "unfold": (lambda x: x.unfold(2, 3, 1), X),
    # Parts and lists.
    "cat": (lambda x, y: (torch.cat([x, y], 0), torch.cat((x, y), dim=-1)), X, X * 2),
    "cat of kinds": (lambda x, y: torch.cat([x, y]), X, N),
    "stack": (lambda x, y: (torch.stack([x, y]), torch.stack((x, y), dim=-1)), X, X * 2),
    "hstack": (lambda x: (torch.hstack([x, x]), torch.vstack([x, x]), torch.column_stack([x, x])), SQUARE),
    "chunk": (lambda x: x.chunk(3, 2), IMAGE),
    "chunk of a longer list": (lambda x: sum(x.chunk(4, 2)[:2]), numbers(1, 2, 8)),
    "split": (lambda x: torch.split(x, 2, 2), IMAGE),
    "split into odd parts": (lambda x: torch.split(x, 4, 2), IMAGE),
    "split by sizes": (lambda x: torch.split(x, [2, 3, 1], 3), IMAGE),
    "split_with_sizes": (lambda x: x.split_with_sizes([1, 3], 1), IMAGE),
    "tensor_split": (lambda x: (*x.tensor_split(4, 2), *x.tensor_split((1, 4), 3)), IMAGE),
    "unbind": (lambda x: (x.unbind(0), x.unbind(2)), X),
    "narrow": (lambda x: x.narrow(1, 1, 2), X),
    "select": (lambda x: (x.select(1, 1), x[0], x[:, -1]), X),
    "slice": (lambda x: (x[:, 1:3], x[:, :, ::2], x[..., -2:], x[1:, :, 1:-1]), X),
    "slice past the end": (lambda x: x[:, 1:99], X),
    "slice new axis": (lambda x: x[:, None, ..., None], X),
    # Indices.
    "gather": (lambda x, i: torch.gather(x, 2, i), X, whole(2, 3, 2, most=4)),
    "take": (lambda x, i: torch.take(x, i), X, AT),
    "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, 1), SQUARE, whole(4, 2, most=5)),
    "index_select": (lambda x, i: torch.index_select(x, 1, i), X, torch.tensor([2, 0])),
    "index": (lambda x, i: (x[i], x[:, i], x[:, :, i]), numbers(4, 4, 4), AT),
    "index of two": (lambda x, i: x[i, i + 0], numbers(4, 4, 4), AT),
    "index apart": (lambda x, i: x[i, :, i], numbers(4, 4, 4), AT),
    "index by constants": (lambda x: x[[0, 1], [2, 0]], X),
    "index_put": (lambda x, i: put(x, i), numbers(4, 4), torch.tensor([0, 2])),
    "index_put of two": (lambda x, i: put(x, i, i, value=3.0), numbers(4, 4), torch.tensor([0, 2])),
    "index_put that adds": (
        lambda x, i: put(x, i, value=[1.0, 2.0, 3.0, 4.0], accumulate=True),
        numbers(4, 4),
        torch.tensor([1, 1]),
    ),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2] * 2), SQUARE, torch.tensor([1, 3])),
    "index_copy": (lambda x, i: x.index_copy(0, i, x[:2] * 2), SQUARE, torch.tensor([1, 3])),
    "index_fill": (lambda x, i: x.index_fill(1, i, 9.0), SQUARE, torch.tensor([1, 3])),
    "scatter": (lambda x, i: x.scatter(1, i, x * 2), SQUARE, whole(4, 2, most=5).sort(1)[0] * 2 % 5),
    "scatter a number": (lambda x, i: x.scatter(1, i, 3.0), SQUARE, AT),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x * 2), SQUARE, whole(3, 5, most=4)),
    "scatter that multiplies": (lambda x, i: x.scatter(0, i, x * 2, reduce="multiply"), SQUARE, whole(3, 5, most=4)),
    **{
        f"scatter_reduce {kind}": (
            lambda x, i, kind=kind: torch.scatter_reduce(x, 0, i, x * 2, kind),
            SQUARE,
            whole(3, 5, most=4),
        )
        for kind in ("sum", "prod", "amin", "amax", "mean")
    },
    "scatter_reduce without itself": (
        lambda x, i: torch.scatter_reduce(x, 0, i, x * 2, "sum", include_self=False),
        SQUARE,
        whole(3, 5, most=4),
    ),
    "one_hot": (lambda x: F.one_hot(x, num_classes=6), N),
    # Types.
    "casts": (lambda x: (x.float(), x.double(), x.half(), x.int(), x.long(), x.bool()), X * 3),
    "more casts": (lambda x: (x.short(), x.char(), x.abs().byte()), X * 3),
    "to": (lambda x: (x.to(torch.float64), x.to("cpu"), x.to(torch.int32)), X),
    "to another's": (lambda x, y: x.to(y), X, N),
    "type_as": (lambda x, y: x.type_as(y), X, N),
    "to of whole numbers": (lambda x: x.to(torch.float32) / 2, N),
    "bfloat16": (lambda x: (x.bfloat16() * 2).float(), X),
    # Tensors out of nothing.
    "zeros": (lambda x: x + torch.zeros(3, 4), X),
    "ones": (lambda x: x + torch.ones((2, 3, 4)), X),
    "full": (lambda x: x + torch.full((3, 4), 2.5), X),
    "full of whole numbers": (lambda x: x + torch.full((3, 4), 2, dtype=torch.int32), X),
    "empty": (lambda x: torch.empty(x.shape).fill_(2.0) + x, X),
    "zeros_like": (lambda x: (torch.zeros_like(x), torch.zeros_like(x, dtype=torch.int64)), X),
    "ones_like": (lambda x: (torch.ones_like(x), torch.ones_like(x, dtype=torch.float64)), X),
    "full_like": (lambda x: (torch.full_like(x, 2.5), torch.full_like(x, 3, dtype=torch.int32)), X),
    "new_zeros": (lambda x: (x.new_zeros(2, 3), x.new_ones((2,)), x.new_full((2, 2), 5)), X),
    "new_empty": (lambda x: x.new_empty(2, 3).zero_(), X),
    "arange": (lambda x: x + torch.arange(4), X),
    "arange from, by": (lambda x: (torch.arange(1, 10, 2) + x.sum(), torch.arange(0.5, 3, 0.5) + x.sum()), X),
    "arange of a size": (lambda x: x + torch.arange(x.size(2)) * torch.arange(0, x.size(2), dtype=x.dtype), X),
    "linspace": (lambda x: x + torch.linspace(1, 2, 4), X),
    "eye": (lambda x: x @ torch.eye(4), X),
    "scalar_tensor": (lambda x: x + torch.scalar_tensor(2.5), X),
    "tensor": (lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]), X),
    "tensor of a size": (lambda x: x * torch.tensor(x.shape[-1], dtype=torch.float32), X),
    "shape as a tensor": (lambda x: x * torch._shape_as_tensor(x)[1], X),
    "numel": (lambda x: x / x.numel(), X),
    "scaled by a size": (lambda x: x * (x.size(-1) ** -0.5), X),
    "zero_ and fill_": (lambda x: ((x * 1).zero_(), (x * 1).fill_(3.0)), X),
    "hann_window": (lambda x: x * torch.hann_window(4), X),
    "triu_indices": (lambda x: x[:, torch.triu_indices(3, 3)[0]], X),
    # Writes.
    "write a part": (lambda x: write(x, lambda y: y[:, 1].add_(5)), X),
    "write a slice": (lambda x: write(x, lambda y: y[:, 1:, ::2].mul_(3)), X),
    "write through a view": (lambda x: write(x, lambda y: y.view(-1)[3:7].zero_()), X),
    "write through a transposed view": (lambda x: write(x, lambda y: y.transpose(0, 2)[1].sub_(2)), X),
    "write by indices": (lambda x, i: put_rows(x, i), SQUARE, torch.tensor([0, 2])),
    "write by a mask": (lambda x, m: write(x, lambda y: y.masked_fill_(m, 7.0)), X, B),
    "copy_": (lambda x: write(x, lambda y: y[0].copy_(y[1])), X),
    "write, then read the view": (lambda x: view_and_whole(x), X),
}


def write(x: Any, change: Any) -> Any:
    """What a change of a copy leaves, seen from the copy and from a view made before."""
    y = x * 1
    view = y[1:]
    change(y)
    return y + 1, view * 2


def put_rows(x: Any, index: Any) -> Any:
    y = x * 1
    y[index] = 4.0
    y[:, 1] += y[:, 2]
    return y


def view_and_whole(x: Any) -> Any:
    y = x * 1
    part = y[:, 0]
    y.add_(1)
    part.mul_(2)
    return y, part, y.relu_()


@pytest.mark.parametrize("name", CASES)
def test_shapes(name: str):
    function, *arguments = CASES[name]
    module = module_of(function)
    check(traced(module, *arguments), module, *arguments)
