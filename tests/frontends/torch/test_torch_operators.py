"""Rows of the tables held against eager torch, where torch is installed: through the door for programs in memory."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any

import pytest

from whence.frontends.torch import from_exported_program
from whence.frontends.torch.convert import CONVERTERS
from whence.frontends.torch.views import VIEWS
from whence.support.errors import FrontendError, FrontendWarning

torch = pytest.importorskip("torch")

from against_eager import Function, check, exported, numbers, whole  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")

F = torch.nn.functional
X, N, B = numbers(3, 4, 5), whole(3, 4, 5), whole(3, 4, 5) > 1


def put_apart(x: Any, index: Any) -> Any:
    y = x * 1
    y[index, :, index] = 1
    y[:, index] += 2
    return y


CASES: dict[str, tuple[Any, ...]] = {
    "int and float meet in float32": (lambda a: a + 2.5, N),
    "a scalar tensor is weaker": (lambda a, b: a * b, X.half(), torch.tensor(2.5, dtype=torch.float64)),
    "a scalar of a higher kind": (lambda a, b: a * b, N, torch.tensor(2.5)),
    "integers divide to floats": (lambda a, b: a / (b + 1), N, N),
    "truth values add up": (lambda a, b: (a + b, a * b, a.sum(0), a & ~b), B, B.flip(0)),
    "alpha": (lambda a, b: torch.add(a, b, alpha=3) - torch.sub(b, a, alpha=0.5), X, X.flip(0)),
    "rounding downwards": (lambda a: torch.div(a * 10, -3, rounding_mode="floor"), X),
    "divided by 0": (lambda a: torch.div(a, 0.0, rounding_mode="floor"), torch.tensor([5.0, -5.0])),
    "remainders": (lambda a, b: (torch.remainder(a, b), torch.fmod(a, b)), X * 5, X.flip(0)),
    "the sign of NaN is 0": (torch.sign, torch.tensor([float("nan"), -2.0, 0.0])),
    "powers": (lambda a: (a**2, a**3, a.abs() ** 0.5, 2**a), X),
    "clamp of integers by a fraction": (lambda a: a.clamp(1.5, 3), N),
    "reflected borders": (lambda a: F.pad(a, (2, 1), mode="reflect"), X),
    "borders cut off": (lambda a: F.pad(a, (-1, 2), value=3.0), X),
    "steps": (lambda a: a[:, 1:-1, ::2], X),
    "parts": (lambda a: (*a.chunk(3, -1), *a.split([1, 3], 1), *a.tensor_split(3, -1)), X),
    "rolled": (lambda a: a.roll((1, -1), (0, 2)), X),
    "windows": (lambda a: a.unfold(2, 3, 1), X),
    "diagonals": (lambda a: (a.diagonal(1, 0, 2), torch.diagonal_scatter(a, a[:, :, 0], 0, 1, 2)), X),
    "indices apart move to the front": (lambda a, i: a[i, :, i + 1], X, torch.tensor([0, 2])),
    "indices together stay": (lambda a, i: a[:, i, i + 1], X, torch.tensor([0, 2])),
    "indices from the end": (lambda a, i: a[:, -i - 1], X, torch.tensor([[0, 2], [1, 1]])),
    "index_put of axes apart": (put_apart, X, torch.tensor([0, 2])),
    "index_put that adds": (lambda a, i: a.index_put((i,), a[:2], accumulate=True), X, torch.tensor([1, 1])),
    "scatter": (lambda a, i: a.scatter_add(1, i, a * 2), X, whole(3, 2, 5, most=4)),
    "masked_scatter": (lambda a, m: a.masked_scatter(m, a * 10), X, B),
    "places of extremes": (lambda a: (a.max(1)[1], a.argmin(), a.topk(2)[0], a.sort(1)[1]), X),
    "sums of int32 are int64": (lambda a: (a.int().sum(1), a.int().cumsum(0), a.prod(2)), N),
    "variances": (lambda a: (a.var(1), a.var((0, 2), correction=0), a.std(), torch.var_mean(a, 1)), X),
    "norms": (lambda a: (a.norm(dim=1), torch.linalg.vector_norm(a, 1, dim=(0, 2)), F.normalize(a)), X),
    "group heads": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        numbers(1, 4, 3, 8),
        numbers(1, 2, 5, 8),
    ),
    "a row that sees nothing": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, m),
        numbers(1, 2, 3, 4),
        torch.tensor([[True, False, True], [False, False, False], [True, True, True]]),
    ),
    "pools rounded up": (
        lambda a: (F.max_pool2d(a, 3, 2, 1, 1, True), F.avg_pool2d(a, 3, 2, 1, True)),
        numbers(1, 2, 7, 8),
    ),
    "a divisor of its own": (lambda a: F.avg_pool2d(a, 3, 2, 1, divisor_override=5), numbers(1, 2, 7, 8)),
    "a loss of weighed truths": (
        lambda a: F.binary_cross_entropy_with_logits(a, (a > 0.3).float(), pos_weight=torch.tensor(3.0)),
        numbers(3, 4),
    ),
    "a loss at a margin": (lambda a: F.hinge_embedding_loss(a, torch.where(a > 0, 1.0, -1.0)), numbers(3, 4)),
    "variances of a correction": (lambda a: torch.var(a, 1, correction=3), numbers(3, 7)),
    "windows of an axis": (lambda a: (a.unfold(3, 4, 2), a.unfold(2, 2, 3), a.unfold(-1, 3, 3)), numbers(1, 2, 7, 8)),
    "a divisor rounded up": (lambda a: F.avg_pool2d(a, 3, 2, 1, True, divisor_override=5), numbers(1, 2, 7, 8)),
    "indices of a pool": (lambda a: F.max_pool2d(a, 3, 2, 1, return_indices=True), numbers(2, 3, 7, 8)),
    "adaptive pools": (lambda a: F.adaptive_avg_pool2d(a, (3, 5)), numbers(1, 2, 7, 8)),
    "the same size": (lambda a, w: F.conv2d(a, w, padding="same"), numbers(1, 4, 9, 8), numbers(6, 4, 4, 3)),
    "no batch": (lambda a, w: F.conv2d(a, w), numbers(4, 9, 8), numbers(6, 4, 2, 3)),
    "nearest": (lambda a: F.interpolate(a, scale_factor=(1.5, 0.7), mode="nearest"), numbers(1, 2, 5, 6)),
    "nearest-exact": (lambda a: F.interpolate(a, size=(7, 4), mode="nearest-exact"), numbers(1, 2, 5, 6)),
    "cubic": (lambda a: F.interpolate(a, size=(7, 4), mode="bicubic", align_corners=True), numbers(1, 2, 5, 6)),
    "sampled": (lambda a, g: F.grid_sample(a, g.tanh(), align_corners=False), numbers(1, 2, 5, 6), numbers(1, 3, 4, 2)),
    "columns": (lambda a: (F.unfold(a, 2, padding=1), F.fold(F.unfold(a, 2), (5, 6), 2)), numbers(1, 2, 5, 6)),
    "einsum": (lambda a, b: torch.einsum("...ij, kj -> ...ik", a, b), X, numbers(6, 5)),
    "losses": (lambda a, t: (F.cross_entropy(a, t), F.nll_loss(a.log_softmax(1), t)), numbers(3, 5), whole(3)),
    "cells": (lambda a, h, w: torch.gru_cell(a, h, w, w), numbers(3, 6), numbers(3, 6), numbers(18, 6)),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str):
    function, *arguments = CASES[name]
    check(function, *arguments)


def write_column(x: Any) -> Any:
    y = x.clone()
    y[:, 1] = 5
    return y


def write_through_transposed(x: Any) -> Any:
    y = x * 1
    y.t()[0].add_(y[:, 1])
    return y, y.sum()


def write_through_two_views(x: Any) -> Any:
    y = x * 1
    a, b = y.view(-1), y[1:]
    a[2:5].mul_(3)
    b[0, 0] = 9
    return y, a, b


def read_between(x: Any) -> Any:
    y = x * 1
    before = y[0] * 1
    y[0].zero_()
    return before, y[0], y


def write_to_a_copy(x: Any) -> Any:
    y = x.t().reshape(-1)  # a copy: x.t() is not contiguous
    y.add_(1)
    return x, y


def write_to_a_view(x: Any) -> Any:
    y = x * 1
    y.reshape(-1).add_(1)
    y.contiguous().mul_(2)
    return y


def write_in_strides(x: Any) -> Any:
    y = x * 1
    y[::2, 1:4:2].sub_(1)
    y.unbind(1)[2].neg_()
    return y


def write_ranks(x: Any) -> Any:
    y = x * 1
    y.unsqueeze(0).squeeze(0).unflatten(1, (2, 2))[:, 0].exp_()
    y.to(y.dtype).clamp_(max=2)
    return y


WRITES = [
    *(write_column, write_through_transposed, write_through_two_views, read_between),
    *(write_to_a_copy, write_to_a_view, write_in_strides, write_ranks),
]


@pytest.mark.parametrize("function", WRITES, ids=lambda function: function.__name__)
def test_writes(function: Function):
    check(function, numbers(3, 4))


def test_inputs_that_are_written_to_stay_and_are_named():
    program = exported(lambda x: x.add_(1) * 2, numbers(3))
    with pytest.warns(FrontendWarning, match="got writes to"):
        from_exported_program(program)


def test_training_is_refused():
    norm = torch.nn.BatchNorm1d(4)
    program = torch.export.export(norm.train(), (numbers(3, 4),))
    with pytest.raises(FrontendError, match=r"\.eval\(\)"):
        from_exported_program(program)


def test_views_are_those_of_the_operators_schemas():
    """Each row whose schema says that a result shares memory with an argument is known as a view, and no other."""
    unannotated = {"aten.dropout", "aten.feature_dropout", "aten.reshape", "aten.contiguous"}
    unannotated |= {"aten.ravel", "aten.type_as"}
    for overload in CONVERTERS:
        package, _, rest = overload.partition(".")
        name, _, kind = rest.rpartition(".")
        if package != "aten" or not hasattr(torch.ops.aten, name) or not hasattr(getattr(torch.ops.aten, name), kind):
            continue
        schema = getattr(getattr(torch.ops.aten, name), kind)._schema
        shares = any(result.alias_info is not None for result in schema.returns)
        writes = any(argument.alias_info is not None and argument.alias_info.is_write for argument in schema.arguments)
        operator = f"aten.{name}"
        if shares and not writes:
            assert operator in VIEWS, overload
        elif operator in VIEWS and not writes:
            assert operator in unannotated, overload
