"""Branches, loops and lists of TorchScript, scripted as TVM's users do: held against eager torch."""

# pyright: basic, reportMissingImports=false, reportInvalidTypeForm=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.support.errors import FrontendError, FrontendWarning

torch = pytest.importorskip("torch")

from torch_scripts import array, check, numbers, scripted, traced  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
nn, Tensor = torch.nn, torch.Tensor
X = numbers(10, 20)


class IfByRank(nn.Module):
    def forward(self, x: Tensor):
        return x * 2 if x.dim() == 2 else x * 3


class IfBySize(nn.Module):
    def forward(self, x: Tensor):
        if x.size(0) > 5 and x.shape[1] == 20:
            y = x + 1
        else:
            y = x - 1
        return y


class ForByConstant(nn.Module):
    def forward(self, x: Tensor):
        for i in range(5):
            x = x + i
        return x


class ForByShape(nn.Module):
    def forward(self, x: Tensor):
        y = torch.zeros(x.size(1))
        for i in range(x.size(0)):
            y = y + x[i]
        return y


class WhileByNumber(nn.Module):
    def forward(self, x: Tensor):
        i = 0
        while i < x.size(0) // 2:
            x = x * 1.5
            i += 1
        return x, i


class GrowingList(nn.Module):
    def forward(self, x: Tensor):
        rows = []
        for i in range(x.size(0)):
            rows.append(x[i] * i)
        rows.reverse()
        return torch.stack(rows[1:-1]), torch.cat([rows[0], rows[-1]]), len(rows)


class ListOfParts(nn.Module):
    def forward(self, x: Tensor):
        parts = x.split(5, 1)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        first, second = x.chunk(2, 0)
        return total, first - second


class Dictionary(nn.Module):
    def forward(self, x: Tensor):
        table = {"a": x + 1}
        table["b"] = table["a"] * 2
        return table["b"] if "b" in table else x


class OptionalArgument(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(20) * 3)

    def shifted(self, x: Tensor, by: Tensor | None = None) -> Tensor:
        if by is None:
            return x * self.scale
        return x + by

    def forward(self, x: Tensor):
        return self.shifted(self.shifted(x), x)


class Modules(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(20, 20) for _ in range(3)])
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.drop(x)


class Interpolated(nn.Module):
    def forward(self, x: Tensor):
        image = x.view(1, 1, x.size(0), x.size(1))
        return nn.functional.interpolate(image, scale_factor=2.0, mode="bilinear", align_corners=False)


class Raising(nn.Module):
    def forward(self, x: Tensor):
        if x.dim() != 2:
            raise ValueError("expected a matrix")
        assert x.size(1) == 20
        return x.t()


class Ternaries(nn.Module):
    def forward(self, x: Tensor):
        n = max(3, min(x.size(0), 4))
        scale = float(n) / 2 if n % 2 == 0 else math_of(n)
        return x[:n] * scale


def math_of(n: int) -> float:
    return 1.0 / n


class Written(nn.Module):
    def forward(self, x: Tensor):
        y = x.clone()
        for i in range(3):
            y[i] += y[i + 1]
            y[:, i].mul_(2)
        return y


KNOWN = (
    *(IfByRank, IfBySize, ForByConstant, ForByShape, WhileByNumber, GrowingList, ListOfParts, Dictionary),
    *(OptionalArgument, Modules, Interpolated, Raising, Ternaries, Written),
)


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: kind.__name__)
def test_what_sizes_and_constants_decide(kind: Any):
    module = kind().eval()
    check(scripted(module), module, X)


class IfByValue(nn.Module):
    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            y = x + 1
        else:
            y = x - 1
        return y


class IfThatWrites(nn.Module):
    def forward(self, x: Tensor):
        y = x * 2
        part = y[0]
        if bool(x.sum() > 0):
            y = y + 1
            z = y.mean(1)
        else:
            y[:, 0] = 7.0
            z = x.sum(1)
        return y, z, part + 0


class NestedIf(nn.Module):
    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            if bool(x.max() > 5):
                y = x.relu()
            else:
                y = x.sigmoid()
        elif bool(x.min() < -2):
            y = x.tanh()
        else:
            y = x
        return y * 2


class IfOfNumbers(nn.Module):
    def forward(self, x: Tensor):
        n = 2 if bool(x.sum() > 0) else 3
        return x * n


class WhileByValue(nn.Module):
    def forward(self, x: Tensor):
        i = 0
        y = x
        while bool(y.sum() < 1000.0) and i < 50:
            y = y + 1 + i
            i += 1
        return y, y * i


class WhileOfAFlag(nn.Module):
    def forward(self, x: Tensor):
        going = True
        while going:
            x = x * 0.5
            going = bool(x.abs().max() > 0.1)
        return x


class ForByValue(nn.Module):
    def forward(self, x: Tensor):
        y = x
        for i in range(int(x.abs().sum()) % 4):
            y = y * 2 - i
        return y


class RaisingByValue(nn.Module):
    def forward(self, x: Tensor):
        if bool(x.sum() == 12345.0):
            raise ValueError("not this one")
        return x + 1


class IfOfLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(20, 3), nn.Linear(20, 3)

    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            y = self.a(x)
        else:
            y = self.b(x)
        return y


DECIDED = (IfOfLayers, IfByValue, IfThatWrites, NestedIf, IfOfNumbers, WhileByValue, WhileOfAFlag, ForByValue)


class Around(nn.Module):
    """A scripted module in one that is traced, so that shapes are known."""

    def __init__(self, module: Any):
        super().__init__()
        self.module = module

    def forward(self, x: Tensor):
        return self.module(x)


@pytest.mark.parametrize("kind", DECIDED, ids=lambda kind: kind.__name__)
def test_what_a_call_decides(kind: Any):
    """Compiled without shapes from the user: a traced module around the scripted one has them."""
    module = kind().eval()
    executable = whence.compile(traced(Around(scripted(module)), X))
    for argument in (X, X.abs(), -X.abs() * 3, X * 0.01):
        results = executable(array(argument))
        expected = module(argument.clone())
        results, expected = (value if isinstance(value, tuple | list) else (value,) for value in (results, expected))
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(np.asarray(result), array(torch.as_tensor(wanted)), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", DECIDED, ids=lambda kind: kind.__name__)
def test_branches_and_loops_of_the_language(kind: Any):
    """The same as a module of Relay, run by the virtual machine."""
    module = kind().eval()
    lowered, params = relay.frontend.from_pytorch(scripted(module), [("x", (10, 20))])
    text = str(lowered["main"])
    assert "if (" in text
    assert ("let %" in text) == kind.__name__.startswith(("While", "For"))
    assert len(params) == len(module.state_dict())
    function = relay.create_executor("vm", lowered).evaluate()
    for argument in (X, X.abs(), -X.abs() * 3, X * 0.01):
        results = function(array(argument), **params)
        expected = module(argument.clone())
        results, expected = (value if isinstance(value, tuple | list) else (value,) for value in (results, expected))
        assert len(results) == len(expected)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result.numpy(), array(torch.as_tensor(wanted)), rtol=2e-5, atol=2e-5)


def test_an_error_that_a_call_decides_is_ignored_with_a_warning():
    script = traced(Around(scripted(RaisingByValue())), X)
    with pytest.warns(FrontendWarning, match="raising exceptions is ignored"):
        executable = whence.compile(script)
    np.testing.assert_allclose(executable(array(X)), array(X + 1))


class ListByValue(nn.Module):
    def forward(self, x: Tensor):
        rows = [x]
        while bool(rows[-1].sum() < 5):
            rows.append(rows[-1] + 1)
        return torch.stack(rows)


def test_a_list_whose_length_values_decide_is_refused():
    with pytest.raises(FrontendError, match="lists of a length that sizes and constants decide"):
        whence.compile(traced(Around(scripted(ListByValue())), X))
