"""relay-alter-op-layout where images have one axis or three; and weights that no panel divides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_cases import Check, MakeNet, random
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from whence.dialects.relay import elementwise, nn, reduce, transform
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator
from whence.passes.relay.alter_op_layout import AlterOpLayoutPass, panel_width
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.provenance.audit import check_located


def transforms(module: ModuleOp) -> list[str]:
    """The transforms that run, as `NCW->NCW16c`."""
    found = (op for op in module.walk() if isinstance(op, transform.LayoutTransformOp))
    return [f"{op.src_layout.data}->{op.dst_layout.data}" for op in found]


@pytest.mark.parametrize(
    ("conv", "pool", "plain"), [(nn.Conv1DOp, nn.MaxPool1DOp, "NCW"), (nn.Conv3DOp, nn.AvgPool3DOp, "NCDHW")]
)
def test_a_region_computes_on_blocks(
    conv: type[Operator], pool: type[Operator], plain: str, make_net: MakeNet, check_model: Check
):
    rank = len(plain) - 2
    x, weight = random((1, 16, *[9] * rank)), random((16, 16, *[3] * rank)) / 8
    depthwise = random((16, 1, *[3] * rank)) / 4
    net = make_net(x)
    padding = [1] * rank
    y = net.add(conv, net.inputs[0], weight, padding=padding)
    y = net.add(elementwise.ReluOp, net.add(nn.BiasAddOp, y, random((16,))))
    y = net.add(conv, y, depthwise, padding=padding, groups=16)
    y = net.add(elementwise.AddOp, y, random((16, *[1] * rank)))
    y = net.add(pool, y, pool_size=[2] * rank, strides=[2] * rank)
    both = net.add(transform.ConcatenateOp, y, y, axis=1)
    module = net.finish(net.add(reduce.MeanOp, both, axis=list(range(2, 2 + rank))))
    check_model(module, x, levels=(3,))
    wanted: Any = evaluate_module(module, [x])[0]
    AlterOpLayoutPass().apply(Context(), module)
    FoldConstantPass().apply(Context(), module)
    check_located(module, AlterOpLayoutPass.name)
    module.verify()
    assert transforms(module) == [f"{plain}->{plain}16c", f"{plain}16c->{plain}"]
    found: Any = evaluate_module(module, [x])[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "width"), [(509, 64), (30522, 64), (131, 48), (67, 48), (43, 43), (1021, 64)])
def test_panels_with_columns_left_over(rows: int, width: int):
    assert panel_width(rows) == width


def test_weights_that_no_panel_divides(make_net: MakeNet, check_model: Check):
    x, weight = random((5, 7)), random((131, 7))
    net = make_net(x)
    module = net.finish(net.add(elementwise.ReluOp, net.add(nn.DenseOp, net.inputs[0], weight)))
    check_model(module, x, levels=(3,))
    AlterOpLayoutPass().apply(Context(), module)
    FoldConstantPass().apply(Context(), module)
    (dense,) = (op for op in module.walk() if isinstance(op, nn.ContribDensePackOp))
    assert dense.weight_layout.data == "NC48n"
    assert dense.signature.get("units") == 131
