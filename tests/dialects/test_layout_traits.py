"""What operators say about their layouts, asked without a pass."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.utils.test_value import create_ssa_value

from whence.dialects.relay import OPERATORS
from whence.dialects.relay.layout_traits import Arrangement, InLayout, Layout, OwnLayouts
from whence.dialects.relay.nn import MaxPool2DOp, SoftmaxOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.reduce import ArgMaxOp, MeanOp
from whence.dialects.relay.traits import OpPattern
from whence.dialects.relay.transform import ExpandDimsOp, PadOp, SqueezeOp, StridedSliceOp
from whence.dialects.relay.vision import RoiAlignOp
from whence.dialects.sizes.types import tensor_of

NHWC, BLOCKS = Arrangement("NHWC", "NCHW"), Arrangement("NCHW16c", "NCHW")


def tensor(*shape: int) -> SSAValue:
    return create_ssa_value(tensor_of(f32, shape))


NC = Arrangement("NC", "NC")
X = tensor(1, 32, 6, 8)
ANSWERS: list[tuple[Operator, Arrangement, InLayout | None]] = [
    (SoftmaxOp(X, axis=-3), NHWC, InLayout(NHWC, {"axis": 3})),
    (SoftmaxOp(X, axis=1), BLOCKS, None),
    (MeanOp(X, axis=[2, 3]), NHWC, InLayout(NC, {"axis": [1, 2], "exclude": False})),
    (MeanOp(X, axis=[1], keepdims=True), BLOCKS, None),
    (ArgMaxOp(X, axis=[1, 2]), NHWC, None),
    (PadOp(X, tensor(), pad_width=range(8)), NHWC, InLayout(NHWC, {"pad_width": [0, 1, 4, 5, 6, 7, 2, 3]})),
    (PadOp(X, tensor(), pad_width=[0, 0, 1, 0, 0, 0, 0, 0]), BLOCKS, None),
    (
        StridedSliceOp(X, begin=[-16], end=[99], axes=[1]),
        BLOCKS,
        InLayout(BLOCKS, {"begin": [1], "end": [2], "axes": [1]}),
    ),
    (StridedSliceOp(X, begin=[8], end=[24], axes=[1]), BLOCKS, None),
    (SqueezeOp(tensor(1, 32, 1, 1), axis=[2, 3]), NHWC, InLayout(NC, {"axis": [1, 2]})),
    (MaxPool2DOp(X), BLOCKS, InLayout(BLOCKS, {"layout": "NCHW16c", "out_layout": ""})),
    (RoiAlignOp(X, tensor(3, 5)), BLOCKS, None),
    (RoiAlignOp(X, tensor(3, 5)), NHWC, InLayout(NHWC, {"layout": "NHWC"})),
]


@pytest.mark.parametrize(("op", "layout", "expected"), ANSWERS)
def test_answers(op: Operator, layout: Arrangement, expected: InLayout | None) -> None:
    trait = op.get_trait(Layout)
    assert trait is not None
    assert trait.rule(op, layout) == expected


def test_the_nearest_class_decides() -> None:
    """Of several traits of one kind; xDSL keeps them in a set."""
    assert ExpandDimsOp.pattern() is OpPattern.BROADCAST
    assert ArgMaxOp.get_trait(Layout) != MeanOp.get_trait(Layout)
    for operator in OPERATORS:
        own = [trait for trait in operator.traits.gen_traits() if isinstance(trait, Layout)]
        assert operator.get_trait(Layout) == (own[0] if own else None)


def test_own_layouts_are_the_defaults() -> None:
    """What an operator's attributes are by default, it computes in."""
    named = {operator: trait for operator in OPERATORS if (trait := operator.get_trait(OwnLayouts)) is not None}
    assert len(named) > 20
    for operator, trait in named.items():
        for attribute in trait.attributes:
            assert trait.allows(operator, attribute, trait.plain(operator, attribute)), operator.name
        assert not trait.allows(operator, trait.attributes[0], "NC")
