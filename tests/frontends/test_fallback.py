"""Single operators that a library computes, where Whence has no row for them or the row refuses a node."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from numpy.typing import NDArray

import whence
from whence.dialects.relay.index_bounds import IndexBound
from whence.frontends.importing import context as contexts
from whence.frontends.onnx.convert import converter_of
from whence.support.errors import FrontendError, FrontendWarning, PipelineError

Array = NDArray[Any]
HASH = "[first] a = Neg (x) [hash] y = com.microsoft.MurmurHash3 <positive = 1> (a)"
X = np.random.default_rng(0).integers(-99, 99, (2, 3)).astype(np.int32)


def model(body: str, inputs: str = "int32[2, 3] x", outputs: str = "uint32[2, 3] y") -> onnx.ModelProto:
    opsets = '"": 20, "com.microsoft": 1'
    return onnx.parser.parse_model(
        f"<ir_version: 8, opset_import: [{opsets}]> net ({inputs}) => ({outputs}) {{ {body} }}"
    )


def judged(model: onnx.ModelProto, **feeds: Array) -> Array:
    session: Any = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, feeds)[0]


def test_onnxruntime_computes_an_operator_without_a_row_as_a_kernel_of_its_layer():
    source = model(HASH)
    exe = whence.compile(source, fallback="onnxruntime", audit=True)
    np.testing.assert_array_equal(exe(X), judged(source, x=X))
    assert str(exe.choice).endswith("; onnxruntime computes 1 layer: hash (MurmurHash3)")
    assert str(exe.choice) in exe.report()
    assert "run by  onnxruntime fallback" in str(exe.where("hash"))
    assert "run by" not in str(exe.where("first"))


def test_without_it_the_model_is_refused_and_the_way_out_is_said():
    with pytest.raises(FrontendError, match=r'layer: hash\).*fallback="onnxruntime" that library'):
        whence.compile(model(HASH))
    exe = whence.compile(model("y = Neg (x)", outputs="int32[2, 3] y"), fallback="onnxruntime")
    assert str(exe.choice) == "static: all sizes are numbers"


def test_known_inputs_are_constants_of_the_node_or_its_outcome():
    body = "[hash] h = com.microsoft.MurmurHash3 (k) [cast] f = Cast <to = 6> (h) [end] y = Add (x, f)"
    source = model(body, outputs="int32[2, 3] y")
    source.graph.initializer.append(onnx.numpy_helper.from_array(X[0], "k"))
    exe = whence.compile(source, fallback="onnxruntime", audit=True)
    np.testing.assert_array_equal(exe(X), judged(source, x=X))
    assert "hash (MurmurHash3)" in str(exe.choice)
    assert not any("fallback" in kernel for kernel in exe.kernels)


def test_open_sizes_have_a_program_for_each_set_and_name_the_layer():
    source = model(HASH, "int32[n, 3] x", "uint32[n, 3] y")
    exe = whence.compile(source, fallback="onnxruntime")
    np.testing.assert_array_equal(exe(X), judged(source, x=X))
    more = np.resize(X, (5, 3))
    with pytest.warns(FrontendWarning, match="MurmurHash3: expected sizes that are numbers.*layer 'hash'"):
        results = exe(more)
    np.testing.assert_array_equal(results, judged(source, x=more))
    assert exe.report().endswith("onnxruntime computes 1 layer: hash (MurmurHash3)")


def test_a_node_that_its_row_refuses_falls_back(monkeypatch: pytest.MonkeyPatch):
    source = model("[e] y = Elu (x)", "float[2, 3] x", "float[2, 3] y")
    converter = converter_of("", "Elu")
    assert converter is not None

    def refuse(ctx: contexts.Context) -> Any:
        ctx.emit(_operator("relay.tanh"), ctx.value(0))
        ctx.bounds.append(IndexBound(0, (1,), ctx.leaf, None))  # no call here would be right
        ctx.fail("another node", "this")

    def refusing(domain: str, op_type: str) -> Any:
        return type(converter)(refuse)

    monkeypatch.setattr("whence.frontends.onnx.graph.converter_of", refusing)
    with pytest.raises(FrontendError, match="Elu: expected another node, got this"):
        whence.compile(source)
    exe = whence.compile(source, fallback="reference", audit=True)
    x = X.astype(np.float32)
    np.testing.assert_allclose(exe(x), judged(source, x=x), rtol=1e-6)
    assert exe.kernels == ("reference_fallback_Elu_0",), "what the row emitted before it refused is gone"


def _operator(name: str) -> Any:
    from whence.dialects.relay.elementwise import TanhOp

    assert TanhOp.name == name
    return TanhOp


@pytest.mark.parametrize(
    ("library", "body", "expected"),
    [
        ("torch", HASH, "expected onnxruntime or reference, for a model of onnx, got 'torch', which is for pytorch"),
        ("tvm", HASH, "expected one of onnxruntime, reference, torch, got 'tvm'"),
        (
            "onnxruntime",
            "[bad] y = com.microsoft.NoSuchThing (x)",
            r"NoSuchThing: expected a node that onnxruntime computes, got .*not a registered.*\(layer 'bad', <memory>",
        ),
        ("reference", HASH, r"MurmurHash3: expected a node that reference computes, got .*layer 'hash'"),
    ],
)
def test_what_no_library_computes_is_one_error(library: Any, body: str, expected: str):
    with pytest.raises((FrontendError, PipelineError), match=expected):
        whence.compile(model(body), fallback=library)


def test_other_formats_have_no_library():
    with pytest.raises(PipelineError, match="fallback: expected the file of a framework's model, got a relay module"):
        whence.compile(whence.load(model("y = Neg (x)", outputs="int32[2, 3] y")), fallback="reference")


def test_torch_computes_operators_of_a_program():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # pyright: ignore[reportUntypedBaseClass]
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return torch.relu(torch.special.bessel_j0(self.linear(x)))

    net, x = Net().eval(), torch.randn(4, 8)
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(net, (x,)), buffer)
    exe = whence.compile(buffer.getvalue(), fallback="torch", audit=True)
    np.testing.assert_allclose(exe(x.numpy()), net(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert str(exe.choice).endswith("torch computes 1 layer: special_bessel_j0 (aten.special_bessel_j0.default)")
