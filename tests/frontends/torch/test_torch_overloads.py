"""The overloads that programs may have: each has a row, or its error says why not and what is nearest."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import pytest

from whence.frontends.importing.unsupported import Call, nearest, refusal
from whence.frontends.torch.convert import CONVERTERS
from whence.frontends.torch.load import overloads, without_overload
from whence.frontends.torch.unsupported import REASONS, reason_of
from whence.frontends.torch.views import functional

ROWS = frozenset(CONVERTERS)
NAMES = """
__and__.Tensor _adaptive_avg_pool2d.default _grouped_mm.default _native_multi_head_attention.default
_transformer_encoder_layer_fwd.default _unique2.default _upsample_bilinear2d_aa.vec _upsample_nearest_exact2d.vec
adaptive_avg_pool2d.default adaptive_max_pool2d.default add_.Tensor addcdiv.default all.dim alpha_dropout.default
argsort.default baddbmm.default batch_norm.default broadcast_to.default bucketize.Tensor celu.default
channel_shuffle.default chunk.default clamp_.default contiguous.default conv1d.padding conv2d.default conv3d.default
conv_transpose2d.input copy_.default cosine_similarity.default cross_entropy_loss.default cumprod.default
detach_.default diff.default div_.Tensor dropout.default einsum.default erfinv.default eye.default fill_.Scalar
flatten.using_ints floor_divide.default glu.default group_norm.default gru.input hann_window.default
hardswish_.default histc.default im2col.default index_add.default index_put_.default instance_norm.default
isfinite.default isin.Tensor_Tensor item.default layer_norm.default lerp.Scalar lift_fresh_copy.default
linalg_vector_norm.default linear.default linspace.default log_sigmoid.default log_softmax.int logaddexp.default
logit.default logsumexp.default lstm.input masked_fill_.Scalar masked_select.default matmul.default max.other
max_pool2d.default median.dim meshgrid.indexing mish.default movedim.intlist mse_loss.default mul_.Tensor
narrow.default new_full.default nll_loss_nd.default norm.ScalarOpt_dim numpy_T.default one_hot.default outer.default
pad.default pixel_shuffle.default prelu.default relu6.default relu_.default repeat_interleave.self_int
replication_pad1d.default reshape.default rms_norm.default rnn_tanh.input roll.default rsub.Scalar
scaled_dot_product_attention.default searchsorted.Tensor selu.default silu_.default softmax.int softplus.default
split.Tensor square.default stack.default std.correction sub_.Tensor t.default take_along_dim.default
tensor_split.sections tile.default to.dtype transpose.int tril.default true_divide.Tensor type_as.default unbind.int
unflatten.int unfold.default upsample_bicubic2d.vec upsample_trilinear3d.vec view_as.default xlogy.Tensor zero_.default
zeros_like.default
""".split()
"""Overloads that models export without a decomposition."""


@pytest.mark.parametrize("name", NAMES)
def test_what_models_export_has_a_row(name: str):
    overload = f"aten.{name}"
    assert overload in ROWS or functional(overload) in ROWS


def test_what_has_a_reason_has_no_row():
    for name in REASONS:
        operator = name if "." in name else f"{name}."
        assert not [row for row in ROWS if row.removeprefix("aten.").startswith(operator)]


def test_errors_say_the_reason_or_name_the_nearest_form():
    layers = {"aten.sum.dim_DimnameList": ["a/sum"], "aten.rrelu.default": ["rrelu", "rrelu_1"]}
    calls = [Call(operator, layer, ("net.py", 3)) for operator, names in layers.items() for layer in names]
    error = str(refusal("net.pt2", "PyTorch", calls, overloads(), without_overload, reason=reason_of))
    assert "aten.sum.dim_DimnameList (1 layer: a/sum at net.py:3; aten.sum.dim_IntList is supported)" in error
    assert "aten.rrelu.default (2 layers: rrelu at net.py:3, rrelu_1 at net.py:3; gradients are no part" in error


def test_every_core_operator_has_a_row_or_a_reason():
    torch = pytest.importorskip("torch")
    core = 0
    for whole in torch._C._dispatch_get_all_op_names():
        package, _, rest = whole.partition("::")
        name, _, overload = rest.partition(".")
        if package != "aten":
            continue
        try:
            operator = getattr(getattr(torch.ops.aten, name), overload or "default")
        except (AttributeError, RuntimeError):
            continue
        if torch.Tag.core in operator.tags:
            core += 1
            assert str(operator) in ROWS or functional(str(operator)) in ROWS or known(str(operator)), operator
    assert core > 180


def known(name: str) -> str | None:
    return reason_of(name) or nearest(name, overloads(), without_overload)


DECOMPOSED = {
    "block_diag": "lambda x: torch.block_diag(x, x)",
    "multi_margin_loss": "lambda x: torch.nn.functional.multi_margin_loss(x, torch.tensor([0, 2]))",
    "renorm": "lambda x: x.renorm(2, 0, 1.0)",
    "vander": "lambda x: torch.vander(x[0], 3)",
}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_decompositions_are_those_that_reasons_promise():
    torch = pytest.importorskip("torch")
    promised = [name for name, reason in REASONS.items() if reason.startswith("program.run_decompositions")]
    assert sorted(promised) == sorted(DECOMPOSED)
    for name, source in DECOMPOSED.items():
        function = eval(source, {"torch": torch})

        class Network(torch.nn.Module):
            def forward(self, x, function=function):
                return function(x)

        program = torch.export.export(Network(), (torch.randn(2, 3),)).run_decompositions()
        operators = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
        assert f"aten.{name}.default" not in operators
        assert all(operator in ROWS for operator in operators if operator.startswith("aten.")), (name, operators - ROWS)
