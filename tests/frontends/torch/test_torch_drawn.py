"""Random numbers of torch programs: exported ones draw from the program's seed, those of torch.compile from torch's."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence.support.errors import FrontendWarning

torch = pytest.importorskip("torch")
functional = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore")


def in_place(x: Any) -> Any:
    return x.clone().uniform_(2, 4), torch.empty_like(x).normal_(3, 0.5), torch.empty_like(x).bernoulli_(0.25)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda x: torch.rand(60, 60) + x,
    "randn": lambda x: torch.randn(60, 60, dtype=torch.float64),
    "rand_like": lambda x: torch.rand_like(x),
    "randint": lambda x: torch.randint(3, 10, (60, 60)),
    "randint_like": lambda x: torch.randint_like(x, 5),
    "bernoulli": lambda x: torch.bernoulli(x),
    "multinomial": lambda x: torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 3600, replacement=True),
    "normal": lambda x: torch.normal(x, 2.0),
    "exponential": lambda x: torch.empty_like(x).exponential_(2.0),
    "dropout": lambda x: functional.dropout(x, 0.25, True),
    "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.25, True),
    "dropout2d": lambda x: functional.dropout2d(x[:, :, None, None].expand(60, 60, 2, 2), 0.25, True),
    "in place": in_place,
}


class Module(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def several(value: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(item, np.float64) for item in (value if isinstance(value, tuple) else (value,)))


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_exported_programs_draw_by_torchs_laws(name: str, decomposed: bool):
    function, x = PROGRAMS[name], torch.full((60, 60), 0.4)
    program = torch.export.export(Module(function).train(), (x,))
    program = program.run_decompositions() if decomposed else program
    executable: Any = whence.compile(program, seed=1)
    first, second = (several(executable(x.numpy())) for _ in range(2))
    torch.manual_seed(0)
    for own, after, peer in zip(first, second, several(function(x)), strict=True):
        assert (own != after).any()
        assert own.shape == peer.shape
        spread = max(peer.std(), 0.1)
        assert abs(own.mean() - peer.mean()) < 0.1 * spread
        assert abs(own.std() - peer.std()) < 0.1 * spread
    executable.reset()
    np.testing.assert_array_equal(several(executable(x.numpy())), first)


def test_permutations_and_samples_without_replacement_repeat_nothing():
    def function(x: Any) -> Any:
        return torch.randperm(100), torch.multinomial(x.softmax(-1), 3)

    program = torch.export.export(Module(function), (torch.zeros(50, 4),))
    order, classes = whence.compile(program)(np.zeros((50, 4), np.float32))
    assert sorted(order.tolist()) == list(range(100))
    assert all(len(set(row)) == 3 for row in classes.tolist())


@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_compile_has_the_numbers_of_torchs_generator(name: str):
    torch._dynamo.reset()
    function, x = PROGRAMS[name], torch.full((60, 60), 0.4)
    fast = torch.compile(lambda x: function(functional.gelu(x)), backend="whence")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.manual_seed(3)
        own = fast(x)
    torch.manual_seed(3)
    torch.testing.assert_close(own, function(functional.gelu(x)), rtol=1e-5, atol=1e-5)
    texts = [str(warning.message) for warning in caught if issubclass(warning.category, FrontendWarning)]
    assert len(texts) == 1
    assert "torch's generator gives the numbers" in texts[0]
