"""`set_span` fills what a conversion made, and nothing else."""

from __future__ import annotations

from typing import cast

import pytest
from xdsl.dialects.builtin import UNKNOWN_LOC, DenseIntOrFPElementsAttr, ModuleOp, TensorType, f32
from xdsl.ir import Block, Operation

from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.elementwise import AddOp, ExpOp, ReluOp, SqrtOp
from whence.dialects.relay.nn import BatchNormOp, DropoutOp
from whence.dialects.relay.transform import ConcatenateOp, ExpandDimsOp
from whence.provenance.set_span import Source, set_span
from whence.provenance.span import SequentialSpan, SourceName, Span, fuse, layer_location, layer_names
from whence.support.context import PassContext

T = TensorType(f32, [4])
A, B = layer_location("a", "m.onnx", 0), layer_location("b", "m.onnx", 1)


def block(*locations: str) -> Block:
    """A block with one argument per name, located at it."""
    made = Block(arg_types=[T] * len(locations))
    for argument, name in zip(made.args, locations, strict=True):
        argument.location = layer_location(name, "m.onnx", 0) if name else UNKNOWN_LOC
    return made


def names(*ops: Operation) -> list[tuple[str, ...]]:
    return [layer_names(op.location) for op in ops]


def test_one_to_many_conversion_is_filled():
    """The RFC's example: Pack of TensorFlow is some expand_dims and a concatenate."""
    (x,) = block("Shape").args
    parts = [ExpandDimsOp(x) for _ in range(3)]
    packed = ConcatenateOp(*parts)
    assert set_span(packed.result, "stack") is packed.result
    assert names(*parts, packed) == [("stack",)] * 4
    assert layer_names(x.location) == ("Shape",)


def test_filling_stops_at_ops_that_have_a_location():
    (x,) = block("x").args
    hidden = ExpOp(x)
    first = SqrtOp(hidden, location=A)
    second = ReluOp(first)
    set_span(second, B)
    assert names(hidden, first, second) == [(), ("a",), ("b",)]


def test_a_located_entry_stays():
    first = ExpOp(block("x").args[0])
    second = ReluOp(first, location=A)
    set_span(second, "late")
    assert names(first, second) == [(), ("a",)]


def test_function_arguments_are_filled_by_their_first_user():
    x, y = block("", "").args
    first, second = ExpOp(x), AddOp(x, y)
    set_span(first, "conv.x")
    set_span(second, "add")
    assert layer_names(x.location) == ("conv.x",)
    assert layer_names(y.location) == ("add",)


def test_a_list_or_tuple_of_values_and_ops():
    data, *params = block("x", "g", "b", "m", "v").args
    norm = BatchNormOp(ExpandDimsOp(data, location=A), *params)
    other = ExpOp(data)
    given = (norm.result, other, norm.new_mean)
    assert set_span(given, "bn") is given
    assert names(norm, other) == [("bn",), ("bn",)]
    assert set_span([], "nothing") == []


def test_all_results_of_an_op_as_one():
    """The RFC's TupleWrapper, alone and among other expressions."""
    data = block("x").args[0]
    first, second, third = (DropoutOp(data) for _ in range(3))
    assert set_span(first.results, "drop") is first.results
    set_span((second.results, third.mask, [ReluOp(data)]), "drops")
    assert names(first, second, third) == [("drop",), ("drops",), ("drops",)]


def test_the_operands_of_an_op():
    x, y = block("", "").args
    op = AddOp(x, y)
    set_span(op.operands, "inputs")
    assert [layer_names(value.location) for value in (x, y)] == [("inputs",)] * 2
    assert names(op) == [()]


def test_constants_and_functions():
    one = ConstantOp(T, literal=DenseIntOrFPElementsAttr.from_list(T, [1.0] * 4))
    func = FuncOp("f", [T], [T])
    assert set_span(one, "one") is one
    set_span([func, func.block.args[0]], "f")
    assert names(one, func) == [("one",), ("f",)]
    assert layer_names(func.block.args[0].location) == ("f",)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("conv", Span(SourceName("conv")).location),
        (SourceName("conv"), Span(SourceName("conv")).location),
        (Span(SourceName("conv"), 3, 3, 1, 1, "m"), layer_location("conv", "m", 3, 1)),
        (SequentialSpan([A, B, A]), fuse([A, B])),
        (A, A),
        (fuse([B, A]), fuse([B, A])),
    ],
)
def test_sources(source: Source, expected: object):
    op = ExpOp(block("x").args[0])
    set_span(op, source)
    assert op.location == expected


@pytest.mark.parametrize("source", [SequentialSpan([]), UNKNOWN_LOC])
def test_sources_of_no_layer_fill_nothing(source: Source):
    op = set_span(ExpOp(block("x").args[0]), source)
    set_span(op, A)
    assert op.location is A


def test_switched_off_it_does_nothing(monkeypatch: pytest.MonkeyPatch):
    op = ExpOp(block("x").args[0])
    with PassContext(config={"relay.frontend.fill_span": False}):
        assert set_span(op, "conv") is op
    monkeypatch.setenv("TVM_SPANFILLING", "0")
    set_span(op, "conv")
    assert op.location is UNKNOWN_LOC


@pytest.mark.parametrize("value", [None, "name", b"name", 3, [None], ["name"], ([3],), {1: 2}, iter(())])
def test_other_values_are_refused(value: object):
    with pytest.raises(TypeError, match="set_span: expected a value, an operation, or a list or tuple of them, got"):
        set_span(cast(Operation, value), "conv")


@pytest.mark.parametrize("source", [None, 3, b"conv", ["conv"]])
def test_other_sources_are_refused(source: object):
    with pytest.raises(TypeError, match="span: expected a layer name, a Span, a SequentialSpan or a location, got"):
        set_span(ExpOp(block("x").args[0]), cast(str, source))


def test_an_op_with_a_region_is_filled_inside():
    func = FuncOp("f", [T], [T])
    inner = ExpOp(func.block.args[0])
    func.block.add_ops([inner, ReturnOp(inner)])
    set_span(func, "f")
    assert all(layer_names(op.location) == ("f",) for op in func.walk())
    assert layer_names(func.block.args[0].location) == ("f",)


def test_a_long_chain_needs_no_recursion():
    func = FuncOp("f", [T], [T])
    value = func.block.args[0]
    for _ in range(5000):
        op = ExpOp.create(operands=[value], result_types=[T])
        func.block.add_op(op)
        value = op.results[0]
    set_span(value, "deep")
    module = ModuleOp([func])
    assert all(layer_names(op.location) == ("deep",) for op in func.block.ops)
    assert module.location is UNKNOWN_LOC
