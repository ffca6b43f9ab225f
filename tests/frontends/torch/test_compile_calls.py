"""`torch.compile(.., backend="whence")`: sizes, weights, aliases, element types, and what calls leave behind."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from typing import Any

import pytest

import whence
from whence.support.errors import FrontendWarning

torch = pytest.importorskip("torch")
whence_torch = pytest.importorskip("whence.torch")
nn = torch.nn
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*Profiler.*:UserWarning"),
]


@pytest.fixture(autouse=True)
def inference() -> Generator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield
    torch._dynamo.reset()


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Linear(4, 5)

    def forward(self, image: Any) -> Any:
        return self.head(self.body(image).mean((2, 3)))


def small() -> Any:
    return Small().eval()


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, backend="whence", options=options or None)


def parts(model: Any) -> list[Any]:
    return whence_torch.backend.__globals__["_parts"](model)


def close(actual: Any, expected: Any, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def test_an_entry_point_names_the_backend():
    assert "whence" in torch._dynamo.list_backends()
    model, image = small(), torch.randn(2, 3, 8, 8)
    close(compiled(model)(image), model(image))


def test_layers_are_paths_of_modules_at_the_users_lines():
    model = compiled(small())
    model(torch.randn(2, 3, 8, 8))
    (executable,) = whence_torch.executables(model)
    names = ("body.0/conv2d", "body.1/_native_batch_norm_legit_no_training", "body.2/relu", "mean", "head/linear")
    assert executable.layers == names
    assert executable.inputs[0].name == "image"
    line = Small.forward.__code__.co_firstlineno + 1
    assert f"test_compile_calls.py:{line}" in str(executable.where("head/linear"))
    assert "body.0/conv2d" in str(executable.why(1))


def test_graphs_are_explored_as_models_are():
    model, image = small(), torch.randn(2, 3, 8, 8)
    fast = compiled(model)
    expected = fast(image)
    (source,) = whence_torch.sources(fast)
    close(torch.from_numpy(whence.compile(source)(image.numpy())), expected)
    assert "head/linear" in whence.explore(source).text("model")


def test_a_second_batch_size_is_the_last_compilation():
    model = small()
    fast = compiled(model)
    for batch in (2, 3, 4, 5, 7, 11):
        image = torch.randn(batch, 3, 8, 8)
        close(fast(image), model(image))
    assert [part.compilations for part in parts(fast)] == [1, 1]
    assert [executable.choice.kind for executable in whence_torch.executables(fast)] == ["static", "sized"]


def test_numbers_that_are_no_sizes_are_arguments():
    def scaled(x: Any, count: int) -> Any:
        return x * count + count, count * 2

    fast = torch.compile(scaled, backend="whence")
    x = torch.randn(3)
    for count in (3, 5, 6, 9):
        close(fast(x, count)[0], scaled(x, count)[0])
        assert fast(x, count)[1] == count * 2


def test_sizes_of_several_inputs_agree():
    def joined(a: Any, b: Any) -> Any:
        return torch.cat([a, b], 1).sum(1), a.shape[0] + 1, a[:, :-1] * 2

    fast = torch.compile(joined, backend="whence", dynamic=True)
    for rows, columns in ((3, 4), (5, 7), (6, 9)):
        a, b = torch.randn(rows, columns), torch.randn(rows, columns + 1)
        close(fast(a, b), joined(a, b))
    assert len(parts(fast)) == 1


# Weights.


def test_loaded_weights_are_packed_anew():
    model, other, image = small(), small(), torch.randn(2, 3, 8, 8)
    fast = compiled(model)
    fast(image)
    model.load_state_dict(other.state_dict())
    close(fast(image), other(image))
    assert [part.compilations for part in parts(fast)] == [2]


@pytest.mark.parametrize("change", ["in place", "data", "parameter", "buffer"])
def test_changed_weights_are_noticed(change: str):
    model, image = small(), torch.randn(2, 3, 8, 8)
    fast = compiled(model)
    before = fast(image)
    match change:
        case "in place":
            model.head.weight.mul_(2)
        case "data":
            model.head.weight.data = torch.randn(5, 4)
        case "parameter":
            model.head.weight = nn.Parameter(torch.randn(5, 4))
        case _:
            model.body[1].running_mean.add_(1)
    assert (fast(image) - before).abs().max() > 1e-3
    close(fast(image), model(image))


def test_weights_that_change_at_every_call_become_arguments():
    model, image = small(), torch.randn(2, 3, 8, 8)
    fast = compiled(model)
    for _ in range(8):
        model.head.bias.add_(1)
        close(fast(image), model(image))
    (part,) = parts(fast)
    assert part.compilations <= 5
    assert [spec.name for spec in part.programs[0][1].inputs] == ["image", "head_bias"]


def test_weights_may_be_arguments_from_the_first_call_on():
    model, image = small(), torch.randn(2, 3, 8, 8)
    fast = compiled(model, weights="arguments")
    close(fast(image), model(image))
    model.head.weight.mul_(2)
    close(fast(image), model(image))
    assert [part.compilations for part in parts(fast)] == [1]


def test_writes_that_torch_does_not_count_are_seen_after_repack():
    model, image = small(), torch.randn(2, 3, 8, 8)
    fast = compiled(model)
    fast(image)
    model.body[0].weight.data.mul_(3)
    whence_torch.repack(fast)
    close(fast(image), model(image))


# Writes and aliases.


def test_inputs_are_written_to():
    def step(cache: Any, place: Any, values: Any) -> Any:
        cache[place] = values
        values.add_(1)
        return cache.sum(0)

    fast = torch.compile(step, backend="whence")
    cache, values = torch.zeros(6, 3), torch.randn(2, 3)
    expected = [cache.clone(), values.clone()]
    place = torch.tensor([4, 1])
    close(fast(cache, place, values), step(expected[0], place, expected[1]))
    close([cache, values], expected)


def test_buffers_that_calls_change_are_no_weights():
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x * self.count

    model = Counter().eval()
    fast = compiled(model)
    for _ in range(5):
        close(fast(torch.ones(2)), torch.ones(2) * model.count)
    assert model.count == 5
    assert [part.compilations for part in parts(fast)] == [1]


def test_results_of_a_call_stay_as_they_are():
    model = small()
    fast = compiled(model)
    image, other = torch.randn(2, 3, 8, 8), torch.randn(2, 3, 8, 8)
    first = fast(image)
    kept = first.clone()
    for _ in range(5):
        fast(other).add_(1)
    assert torch.equal(first, kept)
    close(first, model(image))


def test_large_results_are_not_given_back_while_views_live():
    fast = torch.compile(lambda x: x + 1, backend="whence")
    x = torch.zeros(1000, 100)
    row = fast(x)[7]
    gc.collect()
    assert torch.equal(fast(x + 5)[0], torch.full((100,), 6.0))
    assert torch.equal(row, torch.ones(100))


def test_results_alias_as_in_eager_torch():
    def views(x: Any) -> Any:
        y = x * 2
        return x.view(-1), y, y[0], x

    fast = torch.compile(views, backend="whence")
    x = torch.randn(3, 4)
    flat, whole, row, same = fast(x)
    assert same is x
    assert flat.data_ptr() == x.data_ptr()
    whole.fill_(9)
    assert torch.equal(row, torch.full((4,), 9.0))


def test_results_have_the_strides_of_eager_torch():
    def turned(x: Any) -> Any:
        return (x + 1).transpose(0, 2), x.to(memory_format=torch.channels_last) * 2, x.permute(2, 3, 0, 1).relu()

    fast = torch.compile(turned, backend="whence")
    x = torch.randn(2, 3, 4, 5)
    for actual, expected in zip(fast(x), turned(x), strict=True):
        close(actual, expected)
        assert actual.stride() == expected.stride()


@pytest.mark.parametrize("kind", ["transposed", "channels last", "strided", "expanded", "offset"])
def test_inputs_lie_as_they_like(kind: str):
    x = torch.randn(2, 3, 8, 8)
    match kind:
        case "transposed":
            x = x.transpose(2, 3)
        case "channels last":
            x = x.to(memory_format=torch.channels_last)
        case "strided":
            x = torch.randn(4, 3, 16, 8)[::2, :, ::2]
        case "expanded":
            x = torch.randn(1, 3, 1, 8).expand(2, 3, 8, 8)
        case _:
            x = torch.randn(2 * 3 * 8 * 8 + 1)[1:].view(2, 3, 8, 8)
    model = small()
    before = x.clone()
    close(compiled(model)(x), model(x))
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
def test_element_types_pass(name: str):
    dtype = getattr(torch, name)
    x = torch.randint(0, 2, (3, 4)).to(dtype)

    def function(x: Any) -> Any:
        return torch.cat([x, x.flip(0)]), x == x[:1]

    for actual, expected in zip(torch.compile(function, backend="whence")(x), function(x), strict=True):
        assert actual.dtype == expected.dtype
        assert torch.equal(actual, expected)


def test_arguments_have_names_and_results_are_dictionaries():
    def forward(ids: Any, *, mask: Any = None, scale: float = 1.0) -> Any:
        return {"scores": ids * scale + mask, "pair": (mask.sum(), None), "text": "same"}

    fast = torch.compile(forward, backend="whence")
    ids, mask = torch.randn(3), torch.randn(3)
    actual, expected = (f(ids, mask=mask, scale=2.0) for f in (fast, forward))
    assert list(actual) == ["scores", "pair", "text"]
    close(actual["scores"], expected["scores"])
    close(actual["pair"][0], expected["pair"][0])
    assert (actual["pair"][1], actual["text"]) == (None, "same")
    assert [spec.name for spec in whence_torch.executables(fast)[0].inputs] == ["ids", "mask"]


def test_graphs_without_operators_are_not_compiled():
    fast = torch.compile(lambda x: (x, 3), backend="whence")
    x = torch.randn(3)
    assert fast(x)[0] is x
    assert whence_torch.executables(fast) == []


def test_inference_tensors_pass():
    with torch.inference_mode():
        model, image = small(), torch.randn(2, 3, 8, 8)
        fast = compiled(model)
        close(fast(image), model(image))
        model.head.weight.mul_(2)
        close(fast(image), model(image))


# Calls.


def test_threads_are_those_of_torch():
    model, image = small(), torch.randn(2, 3, 8, 8)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        first = compiled(model)
        first(image)
        assert whence_torch.executables(first)[0].pool.threads == 1
    finally:
        torch.set_num_threads(before)
    second = compiled(model, threads=2)
    second(image)
    assert whence_torch.executables(second)[0].pool.threads == 2


def test_calls_come_from_several_threads():
    model = small()
    fast = compiled(model)
    images = [torch.randn(2, 3, 8, 8) for _ in range(4)]
    expected = [model(image) for image in images]
    fast(images[0])
    problems: list[str] = []

    def calls(at: int) -> None:
        with torch.no_grad():
            for _ in range(50):
                if not torch.allclose(fast(images[at]), expected[at], atol=2e-5):
                    problems.append(f"call with image {at}")

    workers = [threading.Thread(target=calls, args=(at,)) for at in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems


def test_a_thousand_calls_leave_nothing_behind():
    model, image = small(), torch.randn(2, 3, 64, 64)
    fast = compiled(model)
    for _ in range(20):
        fast(image)
    gc.collect()
    objects, memory = len(gc.get_objects()), resident()
    for _ in range(1000):
        fast(image)
    gc.collect()
    assert len(gc.get_objects()) - objects < 50
    assert resident() - memory < 4 << 20


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_executables_go_with_what_was_compiled():
    model = compiled(small())
    model(torch.randn(2, 3, 8, 8))
    assert len(whence_torch.executables(model)) == 1
    captures = whence_torch.backend.__globals__["_captures"]
    before = len(captures)
    del model
    torch._dynamo.reset()
    gc.collect()
    assert len(captures) < before


def test_modules_alike_have_programs_of_their_own():
    """Dynamo runs one graph for them, with other weights."""
    models, image = [small() for _ in range(3)], torch.randn(2, 3, 8, 8)
    fast = [compiled(model) for model in models]
    for _ in range(6):
        for model, one in zip(models, fast, strict=True):
            close(one(image), model(image))
    assert [part.compilations for part in parts(fast[0])] == [3]
    del models, model, one, fast[1:]
    gc.collect()
    fast[0]._orig_mod.head.weight.mul_(2)
    close(fast[0](image), fast[0]._orig_mod(image))
    assert len(whence_torch.executables(fast[0])) == 1


def test_executables_are_those_of_one_model():
    first, second = compiled(small()), compiled(nn.Sequential(nn.Linear(8, 3), nn.ReLU()).eval())
    first(torch.randn(2, 3, 8, 8))
    assert whence_torch.executables(second) == []
    second(torch.randn(2, 8))
    names = [[spec.name for spec in whence_torch.executables(model)[0].inputs] for model in (first, second)]
    assert names == [["image"], ["args_0"]]


def test_a_model_that_is_compiled_again_has_the_same_executables():
    """Dynamo keeps the graphs of the first time."""
    model, image = small(), torch.randn(2, 3, 8, 8)
    compiled(model)(image)
    again = compiled(model)
    close(again(image), model(image))
    assert len(whence_torch.executables(again)) == 1


def test_modules_compile_themselves():
    model, image = small(), torch.randn(2, 3, 8, 8)
    expected = model(image)
    model.compile(backend="whence")
    close(model(image), expected)
    assert len(whence_torch.executables(model)) == 1


def test_a_graph_break_makes_two_graphs():
    def broken(x: Any) -> Any:
        y = x.relu() + 1
        torch._dynamo.graph_break()
        return y.sum(0)

    fast = torch.compile(broken, backend="whence")
    x = torch.randn(3, 4)
    close(fast(x), broken(x))
    assert [executable.layers for executable in whence_torch.executables(fast)] == [("relu", "add"), ("sum_1",)]


def test_no_warning_comes_where_all_is_compiled(recwarn: Any):
    compiled(small())(torch.randn(2, 3, 8, 8))
    assert not [warning for warning in recwarn if issubclass(warning.category, FrontendWarning)]
