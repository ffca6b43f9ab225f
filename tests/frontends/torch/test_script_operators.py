"""Operators of TorchScript held against eager torch: the cases that TVM tries, and more."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_scripts import check, module_of, numbers, traced, whole  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
F = torch.nn.functional
X, Y, POSITIVE = numbers(2, 3, 4), numbers(2, 3, 4).flip(0), numbers(2, 3, 4).abs() + 0.1
SMALL, SQUARE = numbers(3, 5), numbers(4, 4)
N, B = whole(2, 3, 4), whole(2, 3, 4) > 1
ODD = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.5, -2.0])


CASES: dict[str, tuple[Any, ...]] = {
    # Arithmetic.
    "add": (lambda x, y: x + y, X, Y),
    "add a number": (lambda x: x + 1, X),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=2.5), X, Y),
    "add spread": (lambda x, y: x + y, X, numbers(1, 1, 4)),
    "add a scalar tensor": (lambda x, y: x + y, X, torch.tensor(2.0)),
    "int plus float": (lambda x: x + 1.5, N),
    "int plus float tensor": (lambda x, y: x + y, N, X),
    "sub": (lambda x, y: x - y, X, Y),
    "rsub": (lambda x: 3.5 - x, X),
    "rsub alpha": (lambda x, y: torch.rsub(x, y, alpha=2), X, Y),
    "mul": (lambda x, y: x * y, X, Y),
    "mul a number": (lambda x: x * 2.5, X),
    "int times float": (lambda x: x * 2.5, N),
    "div": (lambda x, y: x / y, X, POSITIVE),
    "div of whole numbers": (lambda x: x / 2, N),
    "div floor": (lambda x: torch.div(x, 0.3, rounding_mode="floor"), X),
    "div trunc": (lambda x: torch.div(x, 0.3, rounding_mode="trunc"), X),
    "true_divide": (lambda x: torch.true_divide(x, 3), N),
    "floor_divide": (lambda x: torch.floor_divide(x, 0.3), X),
    "floordiv of whole numbers": (lambda x: x // 2, N - 3),
    "remainder": (lambda x: torch.remainder(x, 0.7), X),
    "fmod": (lambda x: torch.fmod(x, 0.7), X),
    "mod of whole numbers": (lambda x: x % 3, N - 3),
    "pow": (lambda x: x**3, X),
    "pow of tensors": (lambda x, y: x**y, POSITIVE, Y),
    "pow of a number": (lambda x: 2**x, X),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), X, Y, POSITIVE),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.5), X, Y, POSITIVE),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), X, Y),
    "lerp of tensors": (lambda x, y, z: torch.lerp(x, y, z), X, Y, POSITIVE),
    "float16": (lambda x: (x * 2 + 1).relu(), X.half()),
    "float64": (lambda x: (x * 2 + 1).relu(), X.double()),
    # Functions of one tensor.
    **{
        name: (lambda x, f=getattr(torch, name): f(x), X)
        for name in (
            *("abs", "neg", "ceil", "floor", "round", "trunc", "frac", "sign", "sgn", "exp", "expm1", "exp2", "erf"),
            *("erfc", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "square", "sigmoid", "deg2rad"),
        )
    },
    **{
        name: (lambda x, f=getattr(torch, name): f(x), POSITIVE)
        for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal")
    },
    **{name: (lambda x, f=getattr(torch, name): f(x), X.tanh()) for name in ("asin", "acos", "atanh")},
    "acosh": (lambda x: torch.acosh(x), POSITIVE + 1),
    "atan2": (lambda x, y: torch.atan2(x, y), X, Y),
    "logit": (lambda x: torch.logit(x, eps=1e-3), X.sigmoid()),
    "clamp": (lambda x: torch.clamp(x, -0.5, 0.5), X),
    "clamp from below": (lambda x: torch.clamp(x, min=0.5), X),
    "clamp from above": (lambda x: torch.clamp(x, max=0.5), X),
    "clamp of whole numbers": (lambda x: torch.clamp(x, min=2, max=3), N),
    "clamp by tensors": (lambda x, y: torch.clamp(x, min=y), X, Y),
    "clamp_min": (lambda x: torch.clamp_min(x, 0.5), X),
    "clamp_max": (lambda x: torch.clamp_max(x, 0.5), X),
    "isnan": (lambda x: torch.isnan(x), ODD),
    "isinf": (lambda x: torch.isinf(x), ODD),
    "isfinite": (lambda x: torch.isfinite(x), ODD),
    "nan_to_num": (lambda x: torch.nan_to_num(x, 1.0, 9.0, -9.0), ODD),
    # Comparisons and logic.
    **{
        name: (lambda x, y, f=getattr(torch, name): (f(x, y), f(x, 0.3)), X, Y)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    "comparison of kinds": (lambda x, y: x > y, N, X),
    "logical_not": (lambda x: torch.logical_not(x), B),
    "logical_not of numbers": (lambda x: torch.logical_not(x), N),
    "logical_and": (lambda x, y: torch.logical_and(x, y), B, N),
    "logical_or": (lambda x, y: torch.logical_or(x, y), B, N),
    "logical_xor": (lambda x, y: torch.logical_xor(x, y), B, N),
    "bitwise_not": (lambda x: torch.bitwise_not(x), N),
    "bitwise_not of truth": (lambda x: ~x, B),
    "bitwise_and": (lambda x, y: x & y, N, N.flip(0)),
    "bitwise_or": (lambda x, y: x | y, N, N.flip(0)),
    "bitwise_xor": (lambda x, y: torch.bitwise_xor(x, y), N, N.flip(0)),
    "shifts": (lambda x: (x << 2, x >> 1), N),
    "and in place": (lambda x, y: x.clone().__iand__(y), B, B.flip(0)),
    "or in place": (lambda x, y: x.clone().__ior__(y), B, B.flip(0)),
    "xor in place": (lambda x, y: x.clone().__ixor__(y), B, B.flip(0)),
    "maximum": (lambda x, y: torch.maximum(x, y), X, Y),
    "minimum": (lambda x, y: torch.minimum(x, y), X, Y),
    "where": (lambda c, x, y: torch.where(c, x, y), B, X, Y),
    "where numbers": (lambda c, x: (torch.where(c, x, 0.0), torch.where(c, 1.0, x)), B, X),
    "where scalars": (lambda c: torch.where(c, 1.0, 2.0), B),
    "where of kinds": (lambda c, x, y: torch.where(c, x, y), B, X, X.double()),
    "masked_fill": (lambda x, m: x.masked_fill(m, -1e4), X, B),
    "masked_fill in place": (lambda x, m: (x * 1).masked_fill_(m, 2.0), X, B),
    "masked_scatter": (lambda x, m: x.masked_scatter(m, x * 3), X, B),
    "is floating": (lambda x: x + 1 if torch.is_floating_point(x) else x * 2, X),
    # Reductions.
    **{
        f"{name} of all": (lambda x, f=getattr(torch, name): f(x), X)
        for name in ("sum", "mean", "prod", "std", "var", "max", "min", "argmax", "argmin", "amax", "amin")
    },
    **{
        f"{name} of an axis": (lambda x, f=getattr(torch, name): f(x, dim=1), X)
        for name in ("sum", "mean", "prod", "std", "var", "argmax", "argmin", "amax", "amin", "logsumexp", "cumsum")
    },
    **{
        f"{name} keeps the axis": (lambda x, f=getattr(torch, name): f(x, dim=-1, keepdim=True), X)
        for name in ("sum", "mean", "prod", "std", "var", "argmax", "argmin", "amax", "amin", "logsumexp")
    },
    "sum of axes": (lambda x: x.sum((0, 2)), X),
    "sum as another type": (lambda x: x.sum(1, dtype=torch.float64), X),
    "sum of whole numbers": (lambda x: x.sum(1), N.int()),
    "mean of axes": (lambda x: x.mean([0, 1]), X),
    "std, not unbiased": (lambda x: (x.std(unbiased=False), x.std(1, unbiased=False), x.std((0, 2), True, True)), X),
    "var, not unbiased": (lambda x: (x.var(unbiased=False), x.var(1, unbiased=False), x.var((0, 2), True, True)), X),
    "var_mean": (lambda x: (*torch.var_mean(x), *torch.var_mean(x, 1), *torch.var_mean(x, (0, 2), False, True)), X),
    "std_mean": (lambda x: torch.std_mean(x, 1), X),
    "max of an axis": (lambda x: torch.max(x, 1), X),
    "min of an axis": (lambda x: torch.min(x, 1, keepdim=True), X),
    "max of two": (lambda x, y: torch.max(x, y), X, Y),
    "min of two": (lambda x, y: torch.min(x, y), X, Y),
    "all": (lambda x: (x.all(), x.all(1), x.all(-1, keepdim=True)), B),
    "any": (lambda x: (x.any(), x.any(1), x.any(-1, keepdim=True)), B),
    "norm": (lambda x: (x.norm(), x.norm(p=1, dim=1), x.norm(p=2, dim=(0, 1), keepdim=True)), X),
    "norm of infinity": (lambda x: (x.norm(p=float("inf"), dim=1), x.norm(p=-float("inf"), dim=1)), X),
    "norm, odd": (lambda x: (x.norm(p=3, dim=1), x.norm(p=0.5, dim=1), x.norm(p=0, dim=1)), X),
    "frobenius": (lambda x: (torch.norm(x, p="fro"), torch.norm(x, p="fro", dim=1)), SQUARE),
    "linalg norms": (lambda x: (torch.linalg.norm(x), torch.linalg.vector_norm(x, 3, dim=1)), X),
    "cumsum": (lambda x: (x.cumsum(0), torch.cumsum(x, 2, dtype=torch.float64)), X),
    "cumsum of whole numbers": (lambda x: x.int().cumsum(0), N),
    "cumprod": (lambda x: x.cumprod(1), X),
    "median": (lambda x: torch.median(x, 1), X),
    "count_nonzero": (lambda x: torch.count_nonzero(x, 1), N),
    "logsumexp of axes": (lambda x: torch.logsumexp(x, (0, 1)), X),
    # Products.
    "matmul": (lambda x, y: torch.matmul(x, y), SQUARE, numbers(4, 5)),
    "matmul of batches": (lambda x, y: torch.matmul(x, y), X, numbers(2, 4, 5)),
    "matmul, one batch": (lambda x, y: torch.matmul(x, y), X, numbers(4, 5)),
    "matmul, second batch": (lambda x, y: torch.matmul(x, y), numbers(5, 3), X),
    "matmul of spread batches": (lambda x, y: torch.matmul(x, y), numbers(3, 1, 2, 4), numbers(1, 5, 4, 2)),
    "matmul with vectors": (lambda x, y: (torch.matmul(x, y), torch.matmul(y, SQUARE)), X, numbers(4)),
    "dot": (lambda x, y: torch.dot(x, y), numbers(4), numbers(4).flip(0)),
    "mv": (lambda x, y: torch.mv(x, y), SQUARE, numbers(4)),
    "mm": (lambda x, y: torch.mm(x, y), SQUARE, numbers(4, 5)),
    "bmm": (lambda x, y: torch.bmm(x, y), X, numbers(2, 4, 5)),
    "addmm": (lambda x, y, z: torch.addmm(x, y, z, beta=0.5, alpha=2), numbers(5), SQUARE, numbers(4, 5)),
    "addmv": (lambda x, y, z: torch.addmv(x, y, z), numbers(4), SQUARE, numbers(4).flip(0)),
    "baddbmm": (lambda x, y, z: torch.baddbmm(x, y, z, beta=0.2), numbers(2, 3, 5), X, numbers(2, 4, 5)),
    "outer": (lambda x, y: torch.outer(x, y), numbers(4), numbers(3)),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), X, X.flip(0)),
    "einsum of three": (lambda x, y, z: torch.einsum("bn,anm,bm->ba", x, y, z), SQUARE, numbers(3, 4, 4), SQUARE),
    "tensordot": (lambda x, y: torch.tensordot(x, y, dims=([1, 0], [0, 1])), numbers(3, 4, 5), numbers(4, 3, 2)),
    "cdist": (lambda x, y: torch.cdist(x, y), SQUARE, numbers(3, 4)),
    "cross": (lambda x, y: torch.linalg.cross(x, y, dim=1), X, Y),
    # Sorted, searched and counted.
    "topk": (lambda x: x.topk(2), X),
    "topk of the least": (lambda x: x.topk(2, dim=1, largest=False, sorted=True), X),
    "topk, values": (lambda x: x.topk(2, dim=0)[0], X),
    "sort": (lambda x: torch.sort(x), X),
    "sort from above": (lambda x: torch.sort(x, dim=1, descending=True), X),
    "argsort": (lambda x: torch.argsort(x, dim=0, descending=True), X),
    "searchsorted": (lambda x, v: torch.searchsorted(x, v), SMALL.sort(1)[0], numbers(3, 2)),
    "searchsorted right": (
        lambda x, v: (torch.searchsorted(x, v, right=True), torch.searchsorted(x, v, side="right", out_int32=True)),
        SMALL.sort(1)[0],
        numbers(3, 2),
    ),
    "bucketize": (lambda x, v: (torch.bucketize(x, v), torch.bucketize(x, v, right=True)), X, numbers(6).sort()[0]),
    "isin": (lambda x, y: torch.isin(x, y), N, torch.tensor([1, 3])),
    "inverse": (lambda x: torch.linalg.inv(x), SQUARE + 4 * torch.eye(4)),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str):
    function, *arguments = CASES[name]
    module = module_of(function)
    check(traced(module, *arguments), module, *arguments)
