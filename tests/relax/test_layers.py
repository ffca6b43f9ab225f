"""Layers and functions of `relax.frontend.nn` on random data, as numpy computes them, at sizes that calls decide."""
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf, sqrt
from typing import Any, cast

import numpy as np
import pytest

import whence
from whence import relax, te, tir
from whence.provenance.span import layer_names
from whence.relax.frontend import nn
from whence.support.errors import FrontendError, PipelineError

SIZES = (1, 2, 3, 5, 8)


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def run(layer: nn.Module, spec: Sequence[nn.spec.Tensor], *inputs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the results of a layer, and the weights that it had, at random."""
    mod, params = layer.export_tvm({"forward": dict(zip(_arguments(layer), spec, strict=False))})
    weights = {name: normal(*param.shape, seed=7 + index) for index, (name, param) in enumerate(params)}
    result = relax.VirtualMachine(relax.build(mod))["forward"](*inputs, *weights.values())
    results: list[Any] = list(result) if isinstance(result, list | tuple) else [result]  # pyright: ignore
    return [np.asarray(item) for item in results], weights


def _arguments(layer: nn.Module) -> list[str]:
    code = cast(Any, type(layer)).forward.__code__
    return list(code.co_varnames[1 : code.co_argcount])


def convolution(x: Any, w: Any, stride: int = 1, pad: int = 0, dilation: int = 1, groups: int = 1) -> Any:
    """Return the convolution of (N, C, ..) with (O, C / groups, ..), by windows."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pad, pad)] * rank)
    spans = [(extent - 1) * dilation + 1 for extent in w.shape[2:]]
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(2, 2 + rank)))
    windows = windows[
        (slice(None), slice(None), *[slice(None, None, stride)] * rank, *[slice(None, None, dilation)] * rank)
    ]
    axes = "xyz"[:rank]
    taps = "klm"[:rank]
    parts = [
        np.einsum(f"nc{axes}{taps},oc{taps}->no{axes}", one, other)
        for one, other in zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


def normalised(x: Any, axes: Any, eps: float = 1e-5) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def grouped(x: Any, groups: int) -> Any:
    flat = x.reshape(x.shape[0], groups, -1)
    return normalised(flat, 2).reshape(x.shape)


def column(x: Any, rank: int) -> Any:
    return x.reshape(1, -1, *[1] * rank)


def transposed(x: Any, w: Any, stride: int) -> Any:
    """Return the transposed convolution of (N, C, W) with (C, O, K)."""
    result = np.zeros((x.shape[0], w.shape[1], (x.shape[2] - 1) * stride + w.shape[2]), np.float32)
    for position in range(x.shape[2]):
        result[:, :, position * stride : position * stride + w.shape[2]] += np.einsum(
            "nc,cok->nok", x[:, :, position], w
        )
    return result


gelu: Callable[[Any], Any] = np.vectorize(lambda x: 0.5 * x * (1 + erf(x / sqrt(2))), otypes=[np.float32])
LAYERS: dict[str, tuple[nn.Module, tuple[Any, ...], Callable[..., Any]]] = {
    "relu": (nn.ReLU(), (4,), lambda x, w: np.maximum(x, 0)),
    "silu": (nn.SiLU(), (4,), lambda x, w: x / (1 + np.exp(-x))),
    "gelu": (nn.GELU(), (4,), lambda x, w: gelu(x)),
    "identity": (nn.Identity(), (4,), lambda x, w: x),
    "linear": (nn.Linear(4, 6), (4,), lambda x, w: x @ w["weight"].T + w["bias"]),
    "linear without bias": (nn.Linear(4, 6, bias=False), (3, 4), lambda x, w: x @ w["weight"].T),
    "conv1d": (
        nn.Conv1D(4, 6, 3, stride=2, padding=1, groups=2),
        (4, 9),
        lambda x, w: convolution(x, w["weight"], 2, 1, 1, 2) + column(w["bias"], 1),
    ),
    "conv2d": (
        nn.Conv2D(3, 4, [3, 2], padding=1, dilation=2),
        (3, 8, 7),
        lambda x, w: convolution(x, w["weight"], 1, 1, 2) + column(w["bias"], 2),
    ),
    "conv3d": (
        nn.Conv3D(2, 3, 2, stride=2, bias=False),
        (2, 4, 5, 6),
        lambda x, w: convolution(x, w["weight"], 2),
    ),
    "conv1d_transpose": (
        nn.ConvTranspose1D(3, 4, 3, stride=2),
        (3, 5),
        lambda x, w: transposed(x, w["weight"], 2) + column(w["bias"], 1),
    ),
    "layer_norm": (nn.LayerNorm(6), (3, 6), lambda x, w: normalised(x, -1) * w["weight"] + w["bias"]),
    "layer_norm without weights": (
        nn.LayerNorm(6, eps=0.5, elementwise_affine=False),
        (3, 6),
        lambda x, w: normalised(x, -1, 0.5),
    ),
    "rms_norm": (
        nn.RMSNorm(6, axes=-1, bias=False),
        (3, 6),
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w["weight"],
    ),
    "rms_norm with bias": (
        nn.RMSNorm(6, [-1], 0.1),
        (6,),
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1) * w["weight"] + w["bias"],
    ),
    "group_norm": (
        nn.GroupNorm(2, 4),
        (4, 3, 2),
        lambda x, w: grouped(x, 2) * column(w["weight"], 2) + column(w["bias"], 2),
    ),
    "group_norm without weights": (nn.GroupNorm(2, 4, affine=False), (4, 3, 2), lambda x, w: grouped(x, 2)),
    "attention": (
        nn.Attention(6, heads=2, dim_head=4),
        (5, 6),
        lambda x, w: attention(x, w, 2),
    ),
    "timestep_embedding": (
        nn.TimestepEmbedding(4, 6, out_dim=3),
        (4,),
        lambda x, w: (
            silu(x @ w["linear_1.weight"].T + w["linear_1.bias"]) @ w["linear_2.weight"].T + w["linear_2.bias"]
        ),
    ),
    "list": (
        nn.ModuleList([nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2, bias=False)]),
        (4,),
        lambda x, w: np.maximum(x @ w["0.weight"].T + w["0.bias"], 0) @ w["2.weight"].T,
    ),
}


def dense(x: Any, w: Any, name: str) -> Any:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def attention(x: Any, w: Any, heads: int) -> Any:
    q, k, v = ((x @ w[f"to_{name}.weight"].T).reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for name in "qkv")
    mixed = softmax(q @ k.transpose(0, 1, 3, 2) / sqrt(q.shape[-1])) @ v
    flat = mixed.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
    return flat @ w["to_out.0.weight"].T + w["to_out.0.bias"]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_what_numpy_does_at_five_sizes(name: str):
    layer, rest, expected = LAYERS[name]
    argument = _arguments(layer)[0]
    mod, params = layer.export_tvm({"forward": {argument: nn.spec.Tensor(("n", *rest), "float32")}})
    weights = {label: normal(*param.shape, seed=7 + index) for index, (label, param) in enumerate(params)}
    forward = relax.VirtualMachine(relax.build(mod))["forward"]
    for size in SIZES:
        x = normal(size, *rest, seed=size)
        got = np.asarray(forward(x, *weights.values()))
        np.testing.assert_allclose(got, expected(x, weights), rtol=2e-4, atol=1e-5)


class Of(nn.Module):
    """A function of nn.op as a model."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    def forward(self, x: Any, y: Any) -> Any:
        """Return what the function does."""
        return self.function(x, y)


def _pair(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def of_two(x: Any, y: Any) -> Any:
        del y
        return function(x)

    return of_two


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (nn.op.add, np.add),
    "subtract": (lambda x, y: 1.5 - nn.op.subtract(x, y), lambda x, y: 1.5 - (x - y)),
    "multiply": (lambda x, y: x * y * 2, lambda x, y: x * y * 2),
    "divide": (lambda x, y: 2 / x + nn.op.divide(x, y), lambda x, y: 2 / x + x / y),
    "maximum": (lambda x, y: nn.op.maximum(x.maximum(y), 0.25), lambda x, y: np.maximum(np.maximum(x, y), 0.25)),
    "minimum": (lambda x, y: x.minimum(nn.op.minimum(y, 0.5)), lambda x, y: np.minimum(x, np.minimum(y, 0.5))),
    "less": (lambda x, y: (x < y, x <= 0, x > y, x >= 0.5), lambda x, y: (x < y, x <= 0, x > y, x >= 0.5)),
    "equal": (lambda x, y: (nn.op.equal(x, x), nn.op.not_equal(x, y)), lambda x, y: (x == x, x != y)),
    "where": (lambda x, y: nn.op.where(x < y, x, 3.0), lambda x, y: np.where(x < y, x, np.float32(3))),
    "matmul": (lambda x, y: nn.op.matmul(x, nn.op.permute_dims(y)), lambda x, y: x @ y.T),
    "unsqueeze": (lambda x, y: nn.op.unsqueeze(x, 1), lambda x, y: x[:, None]),
    "squeeze": (lambda x, y: nn.op.squeeze(nn.op.unsqueeze(x, -1)), lambda x, y: x),
    "concat": (lambda x, y: nn.op.concat([x, y], dim=1), lambda x, y: np.concatenate([x, y], 1)),
    "split": (lambda x, y: nn.op.split(x, [1, 3], axis=1), lambda x, y: np.split(x, [1, 3], 1)),
    "chunk": (lambda x, y: nn.op.chunk(y, 3, dim=1), lambda x, y: np.split(y, 3, 1)),
    "sum": (lambda x, y: nn.op.sum(x, axis=1, keepdims=True), lambda x, y: x.sum(1, keepdims=True)),
    "max": (lambda x, y: nn.op.max(x, axis=[0, 1]), lambda x, y: x.max()),
    "min": (lambda x, y: nn.op.min(x, axis=-1), lambda x, y: x.min(-1)),
    "broadcast_to": (lambda x, y: nn.op.broadcast_to(x, [2, *x.shape]), lambda x, y: np.stack([x, x])),
    "permute": (lambda x, y: nn.op.permute(x, [1, 0]) + y.permute_dims(1, 0), lambda x, y: x.T + y.T),
    "reshape": (lambda x, y: nn.op.reshape(x, [-1, 2]) + y.reshape(-1, 2), lambda x, y: (x + y).reshape(-1, 2)),
    "reshape by sizes": (
        lambda x, y: nn.op.reshape(x, (x.shape[0] * 2, x.shape[1] // 2)),
        lambda x, y: x.reshape(-1, 3),
    ),
    "repeat": (lambda x, y: nn.op.repeat(x, 2, axis=1) + y.repeat(2, 1), lambda x, y: (x + y).repeat(2, 1)),
    "take": (
        lambda x, y: nn.op.take(x, nn.Tensor.from_const(np.array([2, 0], "int32")), axis=1),
        lambda x, y: x[:, [2, 0]],
    ),
    "astype": (lambda x, y: nn.op.astype(x, "int32") + y.astype("int32"), lambda x, y: np.trunc(x) + np.trunc(y)),
    "relu6": (lambda x, y: nn.op.relu6(x * 8), lambda x, y: np.clip(x * 8, 0, 6)),
    "gelu of tanh": (
        lambda x, y: nn.op.gelu(x, approximate="tanh"),
        lambda x, y: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "sigmoid": (_pair(nn.op.sigmoid), lambda x, y: 1 / (1 + np.exp(-x))),
    "softmax": (lambda x, y: nn.op.softmax(x, axis=-1), lambda x, y: softmax(x)),
    "softplus": (
        lambda x, y: nn.op.softplus(x, beta=2.0, threshold=1.0),
        lambda x, y: np.where(x * 2 > 1, x, np.log1p(np.exp(2 * x)) / 2),
    ),
    "prelu": (
        lambda x, y: nn.op.prelu(x, nn.Tensor.from_const(np.full(6, 0.25, "float32"))),
        lambda x, y: np.where(x < 0, x / 4, x),
    ),
    "functions": (
        lambda x, y: [getattr(nn.op, name)(x) for name in ("tanh", "exp", "floor", "negative", "square")],
        lambda x, y: [np.tanh(x), np.exp(x), np.floor(x), -x, x * x],
    ),
    "roots": (
        lambda x, y: (nn.op.sqrt(nn.op.square(x)), nn.op.log(nn.op.exp(x))),
        lambda x, y: (np.abs(x), x),
    ),
    "arange": (lambda x, y: x + nn.op.arange(0, 6), lambda x, y: x + np.arange(6, dtype=np.float32)),
    "triu": (lambda x, y: nn.op.triu(x, diagonal=1), lambda x, y: np.triu(x, 1)),
    "full": (
        lambda x, y: x + nn.op.full((6,), 2.5) + nn.op.zeros((6,)) + nn.op.ones((6,)),
        lambda x, y: x + 3.5,
    ),
    "pad": (
        lambda x, y: nn.op.pad(x, [0, 0, 1, 2], value=4.0),
        lambda x, y: np.pad(x, ((0, 0), (1, 2)), constant_values=4),
    ),
    "cumsum": (lambda x, y: nn.op.cumsum(x, axis=1), lambda x, y: np.cumsum(x, 1)),
    "sort": (
        lambda x, y: (nn.op.sort(x, axis=1, descending=True), nn.op.argsort(y, axis=-1)),
        lambda x, y: (-np.sort(-x, 1), np.argsort(y, -1)),
    ),
    "topk": (lambda x, y: nn.op.topk(x, k=2, axis=1)[0], lambda x, y: -np.sort(-x, 1)[:, :2]),
    "mean": (lambda x, y: nn.op.mean(x, axis=[1]), lambda x, y: x.mean(1)),
    "tensor_expr_op": (
        lambda x, y: nn.op.tensor_expr_op(
            lambda a, b: te.compute(a.shape, lambda i, j: a[i, j] * b[i, j] + 1.0), "fma", [x, y]
        ),
        lambda x, y: x * y + 1,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_computes_what_numpy_does(name: str):
    function, expected = FUNCTIONS[name]
    x, y = normal(4, 6), normal(4, 6, seed=1)
    spec = [nn.spec.Tensor(("n", 6), "float32")] * 2
    got, _ = run(Of(function), spec, x, y)
    wanted = expected(x, y)
    for one, other in zip(got, wanted if isinstance(wanted, list | tuple) else [wanted], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_an_embedding_takes_rows_by_number():
    model = nn.Embedding(7, 3)
    mod, _ = model.export_tvm({"forward": {"x": nn.spec.Tensor(("n", 2), "int32")}})
    table, forward = normal(7, 3), relax.VirtualMachine(relax.build(mod))["forward"]
    for size in SIZES:
        ids = np.random.default_rng(size).integers(0, 7, (size, 2)).astype("int32")
        np.testing.assert_array_equal(np.asarray(forward(ids, table)), table[ids])


def test_timesteps_are_waves():
    x = np.array([0, 3, 7], "float32")
    got, _ = run(nn.Timesteps(5, downscale_freq_shift=0), [nn.spec.Tensor(("n",), "float32")], x)
    angles = x[:, None] * np.exp(-np.log(10000) * np.arange(2) / 2)[None]
    expected = np.concatenate([np.sin(angles), np.cos(angles), np.zeros((3, 1))], 1)
    np.testing.assert_allclose(got[0], expected, rtol=1e-5, atol=1e-6)


def test_interpolation_of_images():
    def forward(x: Any, y: Any) -> Any:
        return nn.op.interpolate(x, scale_factor=2.0, mode="bilinear"), nn.op.interpolate(
            x, (2, 2), align_corners=True, mode="bilinear"
        )

    x = normal(1, 2, 3, 3)
    got, _ = run(Of(forward), [nn.spec.Tensor((1, 2, 3, 3), "float32"), nn.spec.Tensor((1,), "float32")], x, normal(1))
    at = np.clip((np.arange(6) + 0.5) / 2 - 0.5, 0, 2)
    weights = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(3)[None])).astype("float32")
    np.testing.assert_allclose(got[0], np.einsum("hi,ncij,wj->nchw", weights, x, weights), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], x[:, :, ::2, ::2], rtol=1e-6)


class Two(nn.Module):
    """Two layers, and two methods that use them."""

    def __init__(self) -> None:
        self.layers = nn.ModuleDict({"first": nn.Linear(4, 3), "second": nn.Linear(3, 2, bias=False)})
        self.scales = nn.ParameterList([nn.Parameter((3,)), nn.Parameter((2,))])

    def forward(self, x: Any) -> Any:
        """Return both layers, scaled."""
        return self.layers["second"](self.first(x)) * self.scales[1]

    def first(self, x: Any) -> Any:
        """Return the first layer, scaled."""
        return self.layers["first"](x) * self.scales[0]

    def pair(self, pair: Any) -> Any:
        """Return sum and difference."""
        assert isinstance(pair, tuple)
        return pair[0] + pair[1], pair[0] - pair[1]


def test_methods_share_parameters_and_may_pack_them():
    model = Two()
    described = nn.spec.Tensor(("n", 4), "float32")
    mod, params = model.export_tvm(
        {"forward": {"x": described, "$": {"param_mode": "packed"}}, "first": {"x": described}}
    )
    names = "layers.first.weight layers.first.bias layers.second.weight scales.0 scales.1"
    assert [name for name, _ in params] == names.split()
    weights = [normal(*param.shape, seed=seed) for seed, (_, param) in enumerate(params)]
    vm, x = relax.VirtualMachine(relax.build(mod)), normal(2, 4)
    first = (x @ weights[0].T + weights[1]) * weights[3]
    np.testing.assert_allclose(np.asarray(vm["first"](x, *weights)), first, rtol=1e-5, atol=1e-6)
    second = first @ weights[2].T * weights[4]
    np.testing.assert_allclose(np.asarray(vm["forward"](x, tuple(weights))), second, rtol=1e-5, atol=1e-6)
    layers = {name for op in mod.module.walk() for name in layer_names(op.location)}
    assert {"layers.first", "layers.second"} <= layers


def test_a_compiled_model_has_its_weights():
    model = Two()
    spec = {"forward": {"x": nn.spec.Tensor((2, 4), "float32")}, "pair": {"pair": (nn.spec.Tensor((3,)),) * 2}}
    with pytest.raises(FrontendError, match=r"jit: expected data for each parameter.*none for layers\.first\.weight"):
        model.jit(spec, out_format="numpy")
    values = {name: normal(*param.shape, seed=1) for name, param in model.named_parameters()}
    model.load_state_dict(values)
    compiled = model.jit(spec, out_format="numpy")
    x, a, b = normal(2, 4), normal(3), normal(3, seed=1)
    first = (x @ values["layers.first.weight"].T + values["layers.first.bias"]) * values["scales.0"]
    expected = first @ values["layers.second.weight"].T * values["scales.1"]
    np.testing.assert_allclose(compiled["forward"](x), expected, rtol=1e-5, atol=1e-6)
    for got, wanted in zip(compiled.pair((a, b)), (a + b, a - b), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    with pytest.raises(FrontendError, match="expected a method among forward, pair, got forwards"):
        compiled["forwards"]
    with pytest.raises(FrontendError, match="forward: expected 1 arguments, x, got 2"):
        compiled["forward"](x, x)


def test_kernels_and_registered_functions_are_layers():
    @whence.register_func("tests.layers.halve", override=True)
    def halve(x: Any, result: Any) -> None:
        result.copyfrom(np.asarray(x) / 2)

    A = te.placeholder((4, 6), name="A")
    kernel = tir.PrimFunc.of(te.create_prim_func([A, te.compute((4, 6), lambda i, j: A[i, j] + 1.0, name="B")]).op)

    def forward(x: Any, y: Any) -> Any:
        plus = nn.op.tensor_ir_op(kernel, "plus", [x], out=nn.Tensor.placeholder((4, 6), "float32"))
        return plus, nn.op.extern("tests.layers.halve", [y], out=nn.Tensor.placeholder((4, 6), "float32"))

    x, y = normal(4, 6), normal(4, 6, seed=1)
    got, _ = run(Of(forward), [nn.spec.Tensor((4, 6), "float32")] * 2, x, y)
    np.testing.assert_allclose(got[0], x + 1, rtol=1e-6)
    np.testing.assert_allclose(got[1], y / 2, rtol=1e-6)


def test_names_without_a_meaning_say_why():
    for name, reason in (("KVCache", "no state"), ("SourceModule", "register_func"), ("SubroutineMixin", "parts")):
        with pytest.raises(AttributeError, match=reason):
            getattr(nn, name)
    with pytest.raises(AttributeError, match="there is one machine"):
        _ = nn.op.ccl_allreduce
    with pytest.raises(AttributeError, match="did you mean"):
        _ = nn.op.softmxa


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"forwards": {}}, "expected the name of a method, got forwards"),
        ({"forward": {"z": nn.spec.Tensor((1,))}}, "expected arguments among x, got z"),
        ({"forward": {"x": int}}, "a size is an extent of a tensor's spec"),
        ({"forward": {"x": 3}}, r"expected spec\.Tensor or a tuple of them, got int"),
        (
            {"forward": {"x": nn.spec.Tensor((1,)), "$": {"param_mode": "odd"}}},
            "expected plain, packed or none, got 'odd'",
        ),
        ({"forward": {"x": nn.spec.Tensor((1, 5))}}, "linear|matmul"),
    ],
)
def test_a_wrong_spec_is_refused(spec: Any, error: str):
    with pytest.raises(FrontendError, match=error):
        Two().export_tvm(spec)


def test_numbers_that_are_none_of_the_dtype_are_refused():
    with pytest.raises(FrontendError, match=r"R\.add: expected a number of int32, got 0\.5"):
        Of(lambda x, y: x + 0.5).export_tvm(
            {"forward": {"x": nn.spec.Tensor((2,), "int32"), "y": nn.spec.Tensor((2,))}}
        )
    with pytest.raises(FrontendError, match="expected a module that is exported"):
        nn.op.relu(nn.Tensor.placeholder((2,), "float32"))


def test_wrong_inputs_of_the_machine_are_refused_by_name():
    mod, _ = nn.ReLU().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 4), "float32")}})
    vm = relax.VirtualMachine(relax.build(mod))
    with pytest.raises((FrontendError, PipelineError), match=r"\bx\b"):
        vm["forward"](normal(2, 5))
