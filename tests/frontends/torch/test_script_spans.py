"""Programs, spans and parameters of TorchScript as TVM's own tests have them."""

# pyright: basic, reportMissingImports=false, reportInvalidTypeForm=false

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence import relay
from whence.dialects.relay.interpret import evaluate_module
from whence.relay.spans import set_span
from whence.support.errors import FrontendError, FrontendWarning, InputInfosError, OperatorsMissing
from whence.syntax.relay.equal import structural_equal
from whence.transform import PassContext

torch = pytest.importorskip("torch")

from torch_scripts import array, numbers, scripted, traced  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn
IMAGE = numbers(1, 3, 5, 5)


class Reshape(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.reshape([3, 5, 5])


def variable(name: str, *shape: int) -> relay.Var:
    return relay.var(name, shape=shape, span=relay.Span(relay.SourceName(name), 0, 0, 0, 0))


def typed(*shape: int) -> relay.TensorType:
    return relay.TensorType(shape)


def spanned(expression: Any, name: str) -> Any:
    set_span(expression, name)
    return expression


def golden_convolution() -> relay.Function:
    layer = "aten::_convolution_0"
    image = relay.var("input0", shape=(1, 3, 5, 5), span=relay.Span(relay.SourceName(f"{layer}.input0"), 0, 0, 0, 0))
    weight, bias = variable(f"{layer}.weight", 6, 3, 2, 2), variable(f"{layer}.bias", 6)
    conv = relay.nn.conv2d(image, weight, padding=[0, 0, 0, 0], channels=6, kernel_size=[2, 2])
    return relay.Function(
        [image, weight, bias], spanned(relay.nn.bias_add(spanned(conv, layer), bias), layer), typed(1, 6, 4, 4)
    )


def golden_batch_norm() -> relay.Function:
    layer = "aten::batch_norm_0"
    image = relay.var("input0", shape=(1, 3, 5, 5), span=relay.Span(relay.SourceName(f"{layer}.input0"), 0, 0, 0, 0))
    names = ("weight", "bias", "running_mean", "running_var")
    weights = [variable(f"{layer}.{name}", 3) for name in names]
    norm = spanned(relay.nn.batch_norm(image, *weights).astuple(), layer)
    return relay.Function([image, *weights], spanned(relay.TupleGetItem(norm, 0), layer), typed(1, 3, 5, 5))


def golden_reshape() -> relay.Function:
    layer = "aten::reshape_0"
    image = relay.var("input0", shape=(1, 3, 5, 5), span=relay.Span(relay.SourceName(f"{layer}.input0"), 0, 0, 0, 0))
    return relay.Function([image], spanned(relay.reshape(image, newshape=[3, 5, 5]), layer), typed(3, 5, 5))


def golden_linear() -> relay.Function:
    layer = "aten::linear_0"
    image = relay.var("input0", shape=(3, 5), span=relay.Span(relay.SourceName(f"{layer}.input0"), 0, 0, 0, 0))
    weight, bias = variable(f"{layer}.weight", 7, 5), variable(f"{layer}.bias", 7)
    dense = spanned(relay.nn.dense(image, weight, units=None), layer)
    return relay.Function([image, weight, bias], spanned(relay.nn.bias_add(dense, bias, axis=-1), layer), typed(3, 7))


def spans(function: relay.Function) -> list[str]:
    """The spans of a program in the order of its text."""
    return re.findall(r"span=(.+?):0:0", str(function))


GOLDEN: dict[str, tuple[Any, Callable[[], relay.Function]]] = {
    "conv2d": (nn.Conv2d(3, 6, 2, bias=True), golden_convolution),
    "batch_norm": (nn.BatchNorm2d(3), golden_batch_norm),
    "reshape": (Reshape(), golden_reshape),
    "linear": (nn.Linear(5, 7), golden_linear),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_relay_as_tvm_has_it(name: str):
    module, golden = GOLDEN[name]
    argument = numbers(3, 5) if name == "linear" else IMAGE
    script = traced(module.eval(), argument)
    infos = [("input0", tuple(argument.shape))]
    with PassContext(config={"relay.frontend.fill_span": True}):
        filled, params = relay.frontend.from_pytorch(script, infos)
    main, expected = filled["main"], golden()
    assert structural_equal(main, expected)
    assert [span for span in spans(main) if span != "main"] == spans(expected)
    assert sorted(params) == sorted(str(param.name_hint) for param in main.params if param.name_hint != "input0")
    with PassContext(config={"relay.frontend.fill_span": False}):
        bare, again = relay.frontend.from_pytorch(script, infos)
    assert structural_equal(main, bare["main"])
    assert not structural_equal(main, bare["main"], spans=True)
    assert params.keys() == again.keys()


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1)
        self.rest = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU())

    def forward(self, x: Any) -> Any:
        return self.rest(self.conv(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.image_block1 = Block(4)
        self.image_block2 = Block(4)
        self.head = nn.Linear(4, 2)
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(2) * k) for k in (1, 2)])

    def forward(self, x: Any) -> Any:
        y = (self.image_block1(x) + self.image_block2(x)).mean((2, 3))
        return self.head(y) * self.scales[0] + self.scales[1]


def test_names_count_each_kind_of_operator():
    module, params = relay.frontend.from_pytorch(traced(Network(), IMAGE), [("x", (1, 3, 5, 5))])
    found = [span for span in spans(module["main"]) if span != "main"]
    operators = [span for span in dict.fromkeys(found) if "." not in span]
    assert operators == [
        *("aten::_convolution_0", "aten::batch_norm_0", "aten::relu_0"),
        *("aten::_convolution_1", "aten::batch_norm_1", "aten::relu_1"),
        *("aten::add_0", "aten::mean_0", "aten::linear_0", "aten::mul_0", "aten::add_1"),
    ]
    assert "aten::_convolution_0.x" in found
    assert {"aten::batch_norm_1.running_var", "aten::linear_0.bias"} <= params.keys()
    assert {"aten::mul_0.scales.0", "aten::add_1.scales.1"} <= params.keys()


def test_names_for_parsers():
    script = traced(Network(), IMAGE)
    module, params = relay.frontend.from_pytorch(script, [("x", (1, 3, 5, 5))], use_parser_friendly_name=True)
    assert "aten___convolution_0_weight" in params
    assert not any(mark in name for name in (*params, *spans(module["main"])) for mark in ":.")
    assert "aten__relu_1" in spans(module["main"])


def test_scopes_of_modules():
    script = traced(Network(), IMAGE)
    for _ in range(2):  # reading a program leaves it as it is
        module, params = relay.frontend.from_pytorch(script, [("x", (1, 3, 5, 5))], preserve_pytorch_scopes=True)
        names = {"image_block1.conv.weight", "image_block2.rest.0.running_mean", "head.bias", "scales.1"}
        assert names <= params.keys()
        found = [span for span in dict.fromkeys(spans(module["main"])) if span not in params and span != "main"]
        assert found == [
            *("image_block1.conv.x", "image_block1.conv", "image_block1.rest.0", "image_block1.rest.1"),
            *("image_block2.conv", "image_block2.rest.0", "image_block2.rest.1"),
            *("aten::add_0", "aten::mean_0", "head", "aten::mul_0", "aten::add_1"),
        ]


def test_layers_stand_at_the_lines_of_the_program():
    module, _ = relay.frontend.from_pytorch(traced(Network(), IMAGE), [("x", (1, 3, 5, 5))])
    text = Path(__file__).read_text().splitlines()
    line = next(at for at, code in enumerate(text, 1) if "* self.scales[0] + self.scales[1]" in code)
    places = [str(op.location) for op in module.module.walk() if op.name == "relay.multiply"]
    assert all(f"test_script_spans.py:{line}" in place.replace('"', "") for place in places)
    assert len(places) == 1


class Shared(nn.Module):
    """Two layers that one operator reads, and one tensor that two read."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return (self.a.weight + self.b.weight) @ x + self.a.weight


def test_parameters_of_one_attribute_are_told_apart():
    net, x = Shared(), numbers(4, 4)
    module, params = relay.frontend.from_pytorch(traced(net, x), [("x", (4, 4))])
    assert sorted(params) == ["aten::add_0.weight", "aten::add_0.weight_1"]
    (result,) = evaluate_module(module.module, [array(x), *params.values()])
    np.testing.assert_allclose(result, array(net(x)), rtol=2e-5, atol=2e-5)


# What the user says of inputs.


def test_element_types_of_inputs():
    function = scripted(Identity())
    infos = [("a", (2, 3)), ("b", ((2,), "int64"))]
    module, _ = relay.frontend.from_pytorch(function, infos, default_dtype="float64")
    assert "%a: Tensor[(2, 3), float64]" in str(module)
    assert "%b: Tensor[(2), int64]" in str(module)


class Identity(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor):
        return a + 1, b * 2


class Structured(nn.Module):
    def forward(self, pair: tuple[torch.Tensor, torch.Tensor], rest: list[torch.Tensor]):
        return pair[0] + pair[1], torch.cat(rest)


def test_tuples_and_lists_of_inputs():
    infos = [("pair", ((2, 3), (1, 3))), ("rest", [(2,), (2,)])]
    module, params = relay.frontend.from_pytorch(scripted(Structured()), infos)
    names = [param.name_hint for param in module["main"].params]
    assert names == ["pair_0", "pair_1", "rest_0", "rest_1"]
    arrays = [np.ones(shape, np.float32) for shape in ((2, 3), (1, 3), (2,), (2,))]
    total, joined = evaluate_module(module.module, arrays)
    assert (total == 2).all()
    assert joined.shape == (4,)
    assert not params


def doubled(x, y):
    return x * 2 + y


def test_functions_have_no_parameters():
    module, params = relay.frontend.from_pytorch(scripted(doubled), [("x", (2, 3)), ("y", (3,))])
    assert not params
    assert spans(module["main"])[:2] == ["aten::mul_0.x", "aten::add_0.y"]


INFOS: dict[str, tuple[Any, str]] = {
    "no list": ((("x", (1, 3, 5, 5)),), "Graph inputs input_infos should be a list"),
    "too many": ([("x", (1, 3, 5, 5)), ("y", (1,))], "PyTorch has 1 inputs and input_infos lists 2."),
    "no tuple": ([["x", (1, 3, 5, 5)]], "Graph input 0 is not a tuple"),
    "no name": ([((1, 3, 5, 5), "x")], r"is not valid, expected \('name', shape\) or \('name', \(shape, dtype\)\)"),
    "another rank": ([("x", (1, 3, 5))], "Shapes of input list and information in the graph do not match"),
    "another size": ([("x", (1, 3, 5, 6))], "Shapes of input list and information in the graph do not match"),
    "no shape": ([("x", (1, 3, 5, 5.5))], "Shape for Tensors must be lists of ints"),
}


@pytest.mark.parametrize("name", INFOS)
def test_infos_that_do_not_fit(name: str):
    infos, text = INFOS[name]
    with pytest.raises(InputInfosError, match=text) as caught:
        relay.frontend.from_pytorch(traced(Network(), IMAGE), infos)
    assert isinstance(caught.value, RuntimeError)


def test_infos_of_structures_that_do_not_fit():
    with pytest.raises(InputInfosError, match="Shapes for tuples must be tuples"):
        relay.frontend.from_pytorch(scripted(Structured()), [("pair", [(2,), (2,)]), ("rest", [(2,)])])
    with pytest.raises(InputInfosError, match="Shapes for lists must be lists"):
        relay.frontend.from_pytorch(scripted(Structured()), [("pair", ((2,), (2,))), ("rest", ((2,),))])
    with pytest.raises(InputInfosError, match="List elements need have identical types"):
        relay.frontend.from_pytorch(scripted(Structured()), [("pair", ((2,), (2,))), ("rest", [(2,), (3,)])])
    with pytest.raises(InputInfosError, match="non-batch dimensions to have positive length"):
        relay.frontend.from_pytorch(scripted(Identity()), [("a", (2, 0)), ("b", (2,))])


class Bessel(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.special.bessel_j0(x) + torch.igamma(x, x).relu() + torch.igamma(x, x)


def test_all_operators_without_a_converter_are_named_at_once():
    with pytest.raises(OperatorsMissing) as caught:
        relay.frontend.from_pytorch(traced(Bessel(), IMAGE.abs()), [("x", (1, 3, 5, 5))])
    text = "The following operators are not implemented: ['aten::igamma', 'aten::special_bessel_j0']"
    assert str(caught.value).startswith(text)
    assert isinstance(caught.value, NotImplementedError)


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv = nn.Conv2d(3, 4, 1)

    def forward(self, x: Any) -> Any:
        return self.dequant(self.conv(self.quant(x)))


def test_quantised_operators_are_named():
    net = Quantized().eval()
    net.qconfig = torch.ao.quantization.default_qconfig
    torch.ao.quantization.prepare(net, inplace=True)
    net(IMAGE)
    torch.ao.quantization.convert(net, inplace=True)
    with pytest.raises(OperatorsMissing, match=r"'aten::dequantize', 'aten::quantize_per_tensor', 'quantized::conv2d'"):
        relay.frontend.from_pytorch(traced(net, IMAGE), [("x", (1, 3, 5, 5))])


def test_what_is_no_script_is_refused():
    with pytest.raises(FrontendError, match=r"expected the result of .*, got Network"):
        relay.frontend.from_pytorch(Network(), [("x", (1, 3, 5, 5))])


def test_the_graph_can_be_written(tmp_path: Path):
    folder = tmp_path / "graphs"
    script = traced(Network(), IMAGE)
    relay.frontend.from_pytorch(script, [("x", (1, 3, 5, 5))], export_renamed_c_graph_path=str(folder))
    (file,) = folder.iterdir()
    assert any(line.startswith("aten::_convolution_1: ") for line in file.read_text().splitlines())


def test_untyped_tensors_are_warned_about():
    with pytest.warns(FrontendWarning, match="Untyped Tensor found, assume it is float32"):
        relay.frontend.from_pytorch(scripted(doubled), [("x", (2, 3)), ("y", (3,))])


# Operators that the user converts.


class Cubed(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return torch.igamma(x, y).relu() * 2 + torch.cat([x, y], 1)[:, :5]


def igamma(inputs: Any, input_types: Any) -> Any:
    """Another function than torch's, so that nobody else computes it."""
    assert input_types == ["float32", "float32"]
    return relay.add(relay.multiply(inputs[0], inputs[1]), relay.const(0.5))


def concatenate(inputs: Any, input_types: Any) -> Any:
    assert input_types == ["ListType", "int32"]
    tensors, axis = inputs
    return spanned(relay.concatenate([relay.negative(tensor) for tensor in tensors], axis=axis), "mine")


def test_operators_that_the_user_converts():
    x, y = numbers(3, 5).abs(), numbers(3, 5).flip(0).abs()
    module, params = relay.frontend.from_pytorch(
        traced(Cubed(), x, y),
        [("x", (3, 5)), ("y", (3, 5))],
        custom_convert_map={"aten::igamma": igamma, "aten::cat": concatenate},
    )
    assert not params
    (result,) = evaluate_module(module.module, [array(x), array(y)])
    expected = np.maximum(array(x * y) + 0.5, 0) * 2 - array(x)
    np.testing.assert_allclose(result, expected, rtol=2e-5)
    names = {op.name.removeprefix("relay."): str(op.location) for op in module.module.walk()}
    assert "aten::igamma_0" in str([str(op.location) for op in module.module.walk() if op.name == "relay.add"])
    assert names["concatenate"] == names["negative"] == 'loc("mine")'


def test_the_user_s_function_gives_expressions():
    x = numbers(3, 5).abs()
    with pytest.raises(FrontendError, match="expected an expression, or a list of them, from its function, got int"):
        relay.frontend.from_pytorch(
            traced(lambda x: torch.igamma(x, x), x), [("x", (3, 5))], custom_convert_map={"aten::igamma": lambda *_: 1}
        )
