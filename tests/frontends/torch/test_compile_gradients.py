"""`torch.compile(.., backend="whence")`: gradients, transforms and modes of torch give what eager torch gives."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Generator
from typing import Any

import pytest

from whence.support.errors import FrontendWarning

torch = pytest.importorskip("torch")
whence_torch = pytest.importorskip("whence.torch")
nn, functional, func = torch.nn, torch.nn.functional, torch.func
forward_ad, checkpoint = torch.autograd.forward_ad, torch.utils.checkpoint.checkpoint
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")

EAGER = "torch.compile: eager PyTorch runs the model: whence compiles inference; wrap in torch.no_grad()"
WEIGHT = torch.linspace(-1, 1, 12).reshape(4, 3)
KERNEL = torch.linspace(-1, 1, 54).reshape(2, 3, 3, 3)


@pytest.fixture(autouse=True)
def fresh() -> Generator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def total(x: Any) -> Any:
    return functional.gelu(functional.linear(x, WEIGHT)).sum()


def scores(x: Any) -> Any:
    return functional.layer_norm(functional.linear(x, WEIGHT), (4,)).tanh()


def attended(x: Any) -> Any:
    return functional.scaled_dot_product_attention(x.sin()[:, None], x[:, None], x[:, None])


def called(module: Any, x: Any) -> Any:
    state = {"weight": WEIGHT, "bias": torch.ones(4)}
    return func.grad(lambda state: func.functional_call(module, state, (x,)).pow(2).sum())(state)


def pushed(x: Any) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(scores(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def gradients(x: Any) -> Any:
    with torch.enable_grad():
        leaf = x.detach().requires_grad_(True)
        first = torch.autograd.grad(total(leaf), leaf, create_graph=True)[0]
        return first, torch.autograd.grad(first.sum(), leaf)[0]


def backward(x: Any) -> Any:
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_(True)
        total(leaf).backward()
        return leaf.grad


def cast(x: Any) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        return functional.linear(x, WEIGHT) + 1


def quiet(x: Any) -> Any:
    with torch.inference_mode():
        return functional.linear(x, WEIGHT) * 2


class Scaled(torch.autograd.Function):
    """A function with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return functional.linear(x, WEIGHT).sin()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient @ WEIGHT * 7


LINEAR = nn.Linear(3, 4).requires_grad_(False)
VECTOR, ROWS = (3,), (5, 3)
INFERENCE: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "grad": (lambda x: func.grad(total)(x), VECTOR),
    "grad_and_value": (lambda x: func.grad_and_value(total)(x), VECTOR),
    "grad of grad": (lambda x: func.grad(lambda y: func.grad(total)(y).sum())(x), VECTOR),
    "vjp": (lambda x: func.vjp(scores, x)[1](torch.ones(4))[0], VECTOR),
    "jvp": (lambda x: func.jvp(scores, (x,), (torch.ones(3),)), VECTOR),
    "jacrev": (lambda x: func.jacrev(scores)(x), VECTOR),
    "jacfwd": (lambda x: func.jacfwd(scores)(x), VECTOR),
    "hessian": (lambda x: func.hessian(total)(x), VECTOR),
    "linearize": (lambda x: func.linearize(scores, x)[1](torch.ones(3)), VECTOR),
    "vmap": (lambda x: func.vmap(scores)(x), ROWS),
    "vmap of grad": (lambda x: func.vmap(func.grad(total))(x), ROWS),
    "vmap of attention": (lambda x: func.vmap(attended)(x), (2, 5, 3)),
    "grad of attention": (lambda x: func.grad(lambda y: attended(y).sum())(x), (5, 3)),
    "grad of a convolution": (
        lambda x: func.grad(lambda y: functional.conv2d(y, KERNEL).sin().sum())(x),
        (1, 3, 6, 6),
    ),
    "grad of weights": (lambda x: called(LINEAR, x), VECTOR),
    "dual numbers": (pushed, VECTOR),
    "autograd.grad": (gradients, VECTOR),
    "backward": (backward, VECTOR),
    "checkpoint": (lambda x: checkpoint(scores, x, use_reentrant=False) * 2, VECTOR),
    "function with a derivative": (lambda x: Scaled.apply(x) * 2, VECTOR),
    "autocast": (cast, VECTOR),
    "inference_mode": (quiet, VECTOR),
    "complex numbers": (lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, 3), VECTOR),
}
TOLD = {
    "linearize",
    "grad of a convolution",
    "grad of weights",
    "autograd.grad",
    "backward",
    "complex numbers",
}
"""Cases with operators or graphs that eager PyTorch runs."""


def call(function: Any, *arguments: Any) -> tuple[Any, list[str]]:
    """The result of a call, and the texts of our warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments)
    return result, [str(warning.message) for warning in caught if issubclass(warning.category, FrontendWarning)]


@pytest.mark.parametrize("case", INFERENCE)
def test_transforms_and_modes_give_what_eager_torch_gives(case: str):
    function, shape = INFERENCE[case]
    x = torch.randn(shape)
    fast = torch.compile(function, backend="whence")
    result, texts = call(fast, x)
    tolerance = 2e-2 if case == "autocast" else 1e-4
    torch.testing.assert_close(result, function(x), rtol=tolerance, atol=tolerance)
    assert bool(texts) == (case in TOLD)
    assert texts or whence_torch.executables(fast)


def no_grad_first(x: Any) -> Any:
    with torch.no_grad():
        kept = x * 2
    return functional.linear(x, WEIGHT) + kept.sum()


def enabled_later(x: Any) -> Any:
    with torch.no_grad():
        kept = x * 2
        with torch.enable_grad():
            return functional.linear(x + kept, WEIGHT)


def hooked(x: Any) -> Any:
    doubled = x * 2
    doubled.register_hook(lambda gradient: gradient * 9)
    return functional.linear(doubled, WEIGHT)


def branched(x: Any) -> Any:
    return torch.cond(
        x.sum() > 0, lambda y: functional.linear(y, WEIGHT).sin(), lambda y: y.cos().sum() + WEIGHT[:, 0], (x,)
    )


TRAINED: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: functional.linear(x, WEIGHT).pow(3),
    "no_grad first": no_grad_first,
    "enable_grad in no_grad": enabled_later,
    "hook of a tensor": hooked,
    "branch": branched,
    "checkpoint": lambda x: checkpoint(scores, x, use_reentrant=False),
    "function with a derivative": lambda x: Scaled.apply(x),
}


@pytest.mark.parametrize("case", TRAINED)
def test_backward_passes_through_compiled_functions_are_those_of_eager_torch(case: str):
    function, leaves = TRAINED[case], [torch.ones(3, requires_grad=True) for _ in range(2)]
    result, texts = call(torch.compile(function, backend="whence"), leaves[0])
    expected = function(leaves[1])
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    assert texts == [EAGER]
    result.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(leaves[0].grad, leaves[1].grad, rtol=1e-4, atol=1e-4)
    assert leaves[1].grad.abs().sum() > 0


class Hooked(nn.Module):
    """A layer with a hook before it, behind it and in its backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 1,))
        self.linear.register_forward_hook(lambda module, inputs, output: output * 3)
        self.linear.register_full_backward_hook(lambda module, inner, outer: (inner[0] * 5,))

    def forward(self, x: Any) -> Any:
        return self.linear(x).relu()


MODULES: dict[str, Callable[[], Any]] = {
    "layers": lambda: nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)),
    "batch norm": lambda: nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)).train(),
    "frozen layer": lambda: nn.Sequential(nn.Linear(3, 8).requires_grad_(False), nn.ReLU(), nn.Linear(8, 2)),
    "hooks": lambda: nn.Sequential(nn.Linear(3, 3), Hooked()),
}


@pytest.mark.parametrize("case", MODULES)
def test_modules_are_trained_as_in_eager_torch(case: str):
    fast = MODULES[case]()
    slow, x = copy.deepcopy(fast), torch.randn(4, 3)
    texts: list[str] = []
    for model, run in ((fast, torch.compile(fast, backend="whence")), (slow, slow)):
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            result, said = call(run, x)
            result.pow(2).sum().backward()
            optimizer.step()
            texts += said
    assert texts[:1] == [EAGER]
    for own, expected in zip(fast.state_dict().values(), slow.state_dict().values(), strict=True):
        torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-5)


class Block(nn.Module):
    """Attention with a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Any, cache: Any = None) -> Any:
        q, k, v = (part.unflatten(2, (2, 4)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return x + self.out(mixed.transpose(1, 2).flatten(2)), (k, v)


class Writer(nn.Module):
    """A language model of one block that writes on."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.block, self.head = nn.Embedding(20, 8), Block(), nn.Linear(8, 20)

    def step(self, ids: Any, cache: Any = None) -> Any:
        hidden, cache = self.block(self.embedding(ids), cache)
        return self.head(hidden[:, -1]), cache

    def forward(self, ids: Any) -> Any:
        logits, cache = self.step(ids)
        written = [ids]
        for _ in range(2):
            written.append(logits.argmax(-1, keepdim=True))
            logits, cache = self.step(written[-1], cache)
        return torch.cat(written, 1), logits


def test_texts_are_written_on_as_in_eager_torch():
    model, ids = Writer().eval().requires_grad_(False), torch.randint(0, 20, (2, 4))
    fast = torch.compile(model, backend="whence")
    result, texts = call(fast, ids)
    torch.testing.assert_close(result, model(ids), rtol=1e-4, atol=1e-4)
    assert texts == []
    assert len(whence_torch.executables(fast)) == 1
