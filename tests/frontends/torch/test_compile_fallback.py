"""`torch.compile(.., backend="whence")`: what Whence does not compute runs in eager PyTorch, and users are told so."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import Any

import pytest

from whence.frontends.importing.converter import Converter
from whence.frontends.torch import special
from whence.support.errors import FrontendError, FrontendWarning

torch = pytest.importorskip("torch")
whence_torch = pytest.importorskip("whence.torch")
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def inference() -> Generator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield
    torch._dynamo.reset()


class Bessel(nn.Module):
    """A network with two operators that have no rows."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 2)

    def forward(self, x: Any) -> Any:
        y = torch.special.bessel_j0(self.first(x).relu())
        z = torch.igamma(y.abs() + 1, y.abs() + 2)
        return self.last(z).sigmoid(), y * 2


LINE = Bessel.forward.__code__.co_firstlineno


def warned(model: Any, *arguments: Any) -> tuple[Any, list[str]]:
    """What a call returns, and the texts of our warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = model(*arguments)
    return result, [str(warning.message) for warning in caught if issubclass(warning.category, FrontendWarning)]


def test_operators_without_rows_run_in_eager_torch():
    model, x = Bessel().eval(), torch.randn(3, 4)
    fast = torch.compile(model, backend="whence")
    result, texts = warned(fast, x)
    torch.testing.assert_close(result, model(x), rtol=2e-5, atol=2e-5)
    (text,) = texts
    assert text.startswith(
        "torch.compile: The following operators are not supported for frontend PyTorch: "
        "aten.igamma.default (1 layer: igamma at "
    )
    assert f"test_compile_fallback.py:{LINE + 2}), aten.special_bessel_j0.default (1 layer: special_bessel_j0" in text
    assert text.endswith(f"test_compile_fallback.py:{LINE + 1}); eager PyTorch runs them")
    layers = [executable.layers for executable in whence_torch.executables(fast)]
    assert sorted(sum(layers, ())) == [
        "abs_1",
        "abs_2",
        "add",
        "add_1",
        "first/linear",
        "last/linear_1",
        "mul",
        "relu",
        "sigmoid",
    ]
    assert warned(fast, x)[1] == []


def test_weights_of_parts_are_watched():
    model, x = Bessel().eval(), torch.randn(3, 4)
    fast = torch.compile(model, backend="whence")
    warned(fast, x)
    model.last.weight.mul_(3)
    torch.testing.assert_close(fast(x), model(x), rtol=2e-5, atol=2e-5)


def test_open_sizes_pass_through_parts():
    model = Bessel().eval()
    fast = torch.compile(model, backend="whence", dynamic=True)
    for batch in (3, 5, 6):
        x = torch.randn(batch, 4)
        torch.testing.assert_close(warned(fast, x)[0], model(x), rtol=2e-5, atol=2e-5)
    kinds = {executable.choice.kind for executable in whence_torch.executables(fast)}
    assert kinds == {"sized"}


def test_an_error_names_all_operators_on_request():
    fast = torch.compile(Bessel().eval(), backend="whence", options={"fallback": "error"})
    with pytest.raises(Exception, match="The following operators are not supported") as caught:
        fast(torch.randn(3, 4))
    for name, line in (("aten.igamma.default", LINE + 2), ("aten.special_bessel_j0.default", LINE + 1)):
        assert name in str(caught.value)
        assert f"test_compile_fallback.py:{line}" in str(caught.value)


def test_complex_numbers_run_in_eager_torch():
    def function(x: Any) -> Any:
        return torch.fft.rfft(x * 2).abs() + 1

    x = torch.randn(3, 8)
    result, texts = warned(torch.compile(function, backend="whence"), x)
    torch.testing.assert_close(result, function(x), rtol=2e-5, atol=2e-5)
    assert len(texts) == 1
    assert "complex64 aten.abs.default (1 layer: abs_1 at " in texts[0]


def test_what_a_row_refuses_runs_in_eager_torch_with_its_layer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(
        special.TABLE, "aten.erfinv.default", Converter(lambda ctx: ctx.fail("small numbers", "others"))
    )

    def function(x: Any) -> Any:
        y = x.sigmoid() * 0.5
        return y.erfinv().sum(0) + y.sum()

    fast = torch.compile(function, backend="whence")
    x, line = torch.randn(3, 2), function.__code__.co_firstlineno + 2
    result, texts = warned(fast, x)
    torch.testing.assert_close(result, function(x), rtol=2e-5, atol=2e-5)
    assert len(texts) == 1
    assert texts[0].startswith("torch.compile: eager PyTorch runs what does not compile: ")
    assert "expected small numbers, got others (layer 'erfinv', " in texts[0]
    assert f"test_compile_fallback.py line {line})" in texts[0]
    assert sorted(sum((part.layers for part in whence_torch.executables(fast)), ())) == LAYERS_BESIDE
    assert warned(fast, x)[1] == []


LAYERS_BESIDE = ["add", "mul", "sigmoid", "sum_1", "sum_2"]


def test_training_runs_in_eager_torch_with_one_warning():
    model, x = Bessel().eval(), torch.randn(3, 4)
    fast = torch.compile(model, backend="whence")
    with torch.enable_grad():
        result, texts = warned(fast, x)
        result[0].sum().backward()
    assert model.last.weight.grad is not None
    assert texts == ["torch.compile: eager PyTorch runs the model: whence compiles inference; wrap in torch.no_grad()"]
    assert whence_torch.executables(fast) == []


def test_training_is_refused_on_request():
    fast = torch.compile(nn.Linear(3, 2), backend="whence", options={"fallback": "error"})
    with torch.enable_grad(), pytest.raises(Exception, match=r"whence compiles inference; wrap in torch\.no_grad"):
        fast(torch.randn(1, 3))


def test_gradients_that_nobody_asks_for_are_no_obstacle():
    model = nn.Linear(3, 2).requires_grad_(False).eval()
    fast = torch.compile(model, backend="whence")
    with torch.enable_grad():
        x = torch.randn(4, 3)
        torch.testing.assert_close(fast(x), model(x), rtol=2e-5, atol=2e-5)
    assert len(whence_torch.executables(fast)) == 1


def test_models_may_turn_gradients_off_themselves():
    class Quiet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 2)

        @torch.no_grad()
        def forward(self, x: Any) -> Any:
            return self.linear(x).relu()

    model, x = Quiet().eval(), torch.randn(4, 3)
    fast = torch.compile(model, backend="whence")
    with torch.enable_grad():
        result, texts = warned(fast, x)
    torch.testing.assert_close(result, model(x), rtol=2e-5, atol=2e-5)
    assert texts == []
    assert len(whence_torch.executables(fast)) == 1


def test_dropout_in_training_mode_stays_random():
    fast = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)), backend="whence")
    results = [warned(fast, torch.ones(64, 8))[0] for _ in range(2)]
    assert not torch.equal(*results)
    assert 0.3 < (results[0] == 0).float().mean() < 0.7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"fall_back": "eager"}, "options: expected some of fallback, weights, target, .*, got fall_back"),
        ({"fallback": "none"}, "fallback: expected eager or error, got 'none'"),
        ({"weights": "frozen"}, "weights: expected bound or arguments, got 'frozen'"),
        ({"opt_level": 7}, "opt_level: expected 0-4, got 7"),
        ({"tier": "fast"}, "tier: expected one of auto, symbolic, static, got 'fast'"),
        ({"threads": 0}, "threads: expected a whole number from 1 to 1024, got 0"),
        ({"target": "nvptx"}, "target"),
    ],
)
def test_bad_options_are_one_error(options: dict[str, Any], text: str):
    fast = torch.compile(nn.Linear(3, 2), backend="whence", options=options)
    with pytest.raises(Exception, match=text) as caught:
        fast(torch.randn(1, 3))
    assert "PipelineError" in type(caught.value).__name__ or "PipelineError" in str(caught.value)


def test_modes_are_refused():
    fast = torch.compile(nn.Linear(3, 2), backend="whence", mode="max-autotune")
    with pytest.raises(Exception, match="mode: expected none for backend 'whence', got 'max-autotune'"):
        fast(torch.randn(1, 3))


def test_what_is_not_compiled_has_no_executables():
    with pytest.raises(FrontendError, match=r"expected what torch\.compile returned, got Linear"):
        whence_torch.executables(nn.Linear(2, 2))


def test_branches_that_values_decide_are_compiled():
    def function(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: y.sin() * 2, lambda y: y.cos(), (x,)) + 1

    fast = torch.compile(function, backend="whence")
    for x in (torch.ones(3), -torch.ones(3)):
        result, texts = warned(fast, x)
        torch.testing.assert_close(result, function(x), rtol=2e-5, atol=2e-5)
        assert texts == []
    assert [executable.choice.kind for executable in whence_torch.executables(fast)] == ["interpreted"]


def test_branches_beside_what_has_no_rows_run_in_eager_torch():
    def function(x: Any) -> Any:
        chosen = torch.cond(x.sum() > 0, lambda y: y.sin() * 2, lambda y: y.cos(), (x,))
        return torch.special.bessel_j0(chosen) + 1

    x = torch.ones(3)
    result, texts = warned(torch.compile(function, backend="whence"), x)
    torch.testing.assert_close(result, function(x), rtol=2e-5, atol=2e-5)
    assert len(texts) == 1
