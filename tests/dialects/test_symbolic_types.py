"""Type rules on symbolic extents: for any numbers in the place of symbols they say what they say of these numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, Builtin, TensorType, f32, i8, i32, i64
from xdsl.ir import Attribute, Block
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay import OPERATORS, Relay
from whence.dialects.relay.core import FuncOp
from whence.dialects.relay.operator import Operator, shape_of
from whence.dialects.relay.types import fits
from whence.dialects.sizes import Size, evaluate, only, same, symbol
from whence.dialects.sizes.types import extents_of, tensor_of
from whence.support.identity import by_identity, while_alive

BY_NAME = {operator.name.removeprefix("relay."): operator for operator in OPERATORS}

Shapes = list[tuple[Size, ...]]
Case = Callable[[Size, Size], tuple[Shapes, dict[str, object]]]

CASES: dict[str, list[Case]] = {
    "add": [
        lambda b, s: ([(b, s, 8), (s, 8)], {}),
        lambda b, s: ([(b, 1, s, 1), (12, s, s)], {}),
        lambda b, s: ([(b, s), ()], {}),
    ],
    "exp": [lambda b, s: ([(b, s)], {})],
    "cast": [lambda b, s: ([(b, s)], {"dtype": "int64"})],
    "less": [lambda b, s: ([(b, s), (b, 1)], {})],
    "reshape": [
        lambda b, s: ([(b, s, 96)], {"newshape": (0, 0, 12, 8)}),
        lambda b, s: ([(b, s, 96)], {"newshape": (-1, 96)}),
        lambda b, s: ([(b * s, 96)], {"newshape": (b, s, 12, 8)}),
        lambda b, s: ([(b, 12, s, 8)], {"newshape": (b, -1, 96)}),
        lambda b, s: ([(b, 1, s)], {"newshape": (-1,)}),
        lambda b, s: ([(b, 6 * s)], {"newshape": (0, -4, -1, 3)}),
        lambda b, s: ([(b * s, 8)], {"newshape": (-4, b, -1, -2)}),
    ],
    "transpose": [lambda b, s: ([(b, s, 12, 8)], {"axes": (0, 2, 1, 3)}), lambda b, s: ([(b, s)], {})],
    "squeeze": [lambda b, s: ([(b, 1, s)], {"axis": (1,)})],
    "expand_dims": [lambda b, s: ([(b, s)], {"axis": 1, "num_newaxis": 2})],
    "concatenate": [lambda b, s: ([(b, s, 8), (b, 1, 8), (b, s + 3, 8)], {"axis": 1})],
    "broadcast_to": [lambda b, s: ([(1, s)], {"shape": (b, 1, s)})],
    "strided_slice": [
        lambda b, s: ([(b, s, 8)], {"begin": (0,), "end": (1,), "strides": (1,), "axes": (1,)}),
        lambda b, s: ([(b, s, 8)], {"begin": (-1,), "end": ((1 << 63) - 1,), "strides": (1,), "axes": (1,)}),
        lambda b, s: ([(b, s)], {"begin": (1, 2), "end": (-1, -2)}),
        lambda b, s: ([(1, 512)], {"begin": (0,), "end": (s,), "axes": (1,)}),
        lambda b, s: ([(b, 512)], {"begin": (s,), "end": (s + b,), "strides": (3,), "axes": (1,)}),
        lambda b, s: ([(b, s, 8)], {"begin": (-1,), "end": (-(1 << 63),), "strides": (-1,), "axes": (1,)}),
        lambda b, s: ([(b, s)], {"begin": (7, -3), "end": (2, -9), "strides": (-2, -3)}),
        lambda b, s: ([(b, 512)], {"begin": (s + b,), "end": (b,), "strides": (-2,), "axes": (1,)}),
    ],
    "split": [
        lambda b, s: ([(b, 3 * s)], {"indices_or_sections": (3,), "sections": True, "axis": 1}),
        lambda b, s: ([(b, s + 5)], {"indices_or_sections": (2, 5), "axis": -1}),
    ],
    "dft": [lambda b, s: ([(b, s), (b, s)], {})],
    "take": [lambda b, s: ([(1000, 16), (b, s)], {"axis": 0}), lambda b, s: ([(b, s, 16), ()], {"axis": 1})],
    "nn.pad": [lambda b, s: ([(b, s), ()], {"pad_width": (0, 0, 2, 3)})],
    "nn.batch_flatten": [lambda b, s: ([(b, s, 8)], {})],
    "nn.dense": [lambda b, s: ([(b * s, 16), (24, 16)], {"units": 24})],
    "nn.matmul": [lambda b, s: ([(b, s, 16), (16, 24)], {})],
    "nn.batch_matmul": [
        lambda b, s: ([(b, 12, s, 16), (b, 12, s + 1, 16)], {}),
        lambda b, s: ([(b, 12, s, 16), (1, 12, 16, s)], {"transpose_b": False}),
    ],
    "nn.bias_add": [lambda b, s: ([(b, s, 16), (16,)], {"axis": -1})],
    "nn.softmax": [lambda b, s: ([(b, 12, s, s)], {"axis": -1})],
    "nn.layer_norm": [lambda b, s: ([(b, s, 16), (16,), (16,)], {"axis": -1})],
    "sum": [lambda b, s: ([(b, s, 8)], {"axis": (1,)}), lambda b, s: ([(b, s, 8)], {"axis": (1,), "keepdims": True})],
    "mean": [lambda b, s: ([(b, s, 8)], {"axis": (-1,), "keepdims": True})],
    "argmax": [lambda b, s: ([(b, s, 8)], {"axis": (1,)})],
    "nn.conv2d": [
        lambda b, s: ([(b, 3, s + 5, 2 * s + 7), (16, 3, 3, 3)], {"strides": (2, 2), "padding": (1, 1)}),
        lambda b, s: ([(b, 4, s + 5, s + 5), (4, 1, 5, 5)], {"groups": 4}),
    ],
    "nn.conv1d": [lambda b, s: ([(b, 3, s + 5), (16, 3, 3)], {"dilation": (2,)})],
    "nn.conv2d_transpose": [lambda b, s: ([(b, 3, s + 5, 9), (3, 4, 2, 2)], {"strides": (2, 2)})],
    "nn.max_pool2d": [
        lambda b, s: ([(b, 3, s + 5, 9)], {"pool_size": (3, 3), "strides": (2, 2), "ceil_mode": True}),
    ],
    "nn.global_avg_pool2d": [lambda b, s: ([(b, 3, s, s)], {})],
    "nn.adaptive_avg_pool2d": [lambda b, s: ([(b, 3, s, s)], {"output_size": (1, 1)})],
    "layout_transform": [lambda b, s: ([(b, 32, s, s)], {"src_layout": "NCHW", "dst_layout": "NCHW16c"})],
    "zeros": [lambda b, s: ([], {"shape": (b, s), "dtype": "float32"})],
    "tile": [lambda b, s: ([(b, s)], {"reps": (2, 3)})],
    "stack": [lambda b, s: ([(b, s), (b, s)], {"axis": 1})],
    "cumsum": [lambda b, s: ([(b, s)], {"axis": 1})],
    "one_hot": [lambda b, s: ([(b, s), (), ()], {"depth": 7, "axis": -1, "dtype": "float32"})],
    "gather": [lambda b, s: ([(b, s, 8), (b, s, 8)], {"axis": 1})],
}
ELEMENTS = {
    "take": {1: i64},
    "gather": {1: i64},
    "gather_nd": {1: i64},
    "one_hot": {0: i64},
    "qnn.dequantize": {0: i8, 2: i32},
}
PAIRS = [(name, index) for name, cases in CASES.items() for index in range(len(cases))]


def _made(name: str, shapes: Shapes, attributes: dict[str, object]) -> Operator:
    elements = ELEMENTS.get(name, {})
    types = [tensor_of(elements.get(i, f32), shape) for i, shape in enumerate(shapes)]
    return BY_NAME[name](*Block(arg_types=types).args, **attributes)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("name", "index"), PAIRS, ids=[f"{name}-{index}" for name, index in PAIRS])
def test_a_rule_says_of_symbols_what_it_says_of_numbers(name: str, index: int):
    case = CASES[name][index]
    general = _made(name, *case(symbol("b"), symbol("s")))
    general.verify()
    for b, s in itertools.product((1, 2, 3, 16), (1, 2, 5, 40)):
        special = _made(name, *case(b, s))
        for wide, narrow in zip(general.results, special.results, strict=True):
            found = tuple(evaluate(size, {"b": b, "s": s}) for size in extents_of(wide.type))  # pyright: ignore
            assert found == shape_of(narrow), f"{general} at b = {b}, s = {s}"


@pytest.mark.parametrize(("name", "index"), PAIRS, ids=[f"{name}-{index}" for name, index in PAIRS])
def test_a_rule_says_of_open_extents_what_fits_all_numbers(name: str, index: int):
    case = CASES[name][index]
    named, attributes = case(symbol("b"), symbol("s"))
    shapes: Shapes = [tuple(n if isinstance(n, int) else DYNAMIC_INDEX for n in shape) for shape in named]
    general = _made(name, shapes, attributes)
    general.verify()
    for b, s in itertools.product((1, 2, 3, 16), (1, 2, 5, 40)):
        special = _made(name, *case(b, s))
        for wide, narrow in zip(general.results, special.results, strict=True):
            assert fits(wide.type, narrow.type), f"{general} at b = {b}, s = {s}"


OPEN: list[tuple[str, list[tuple[int | None, ...]], dict[str, object], str]] = [
    ("add", [(None, 4), (3, 1)], {}, "tensor<3x4xf32>"),
    ("add", [(None, 4), (None, None)], {}, "tensor<?x4xf32>"),
    ("reshape", [(None, 6)], {"newshape": (2, 3, 6)}, "tensor<2x3x6xf32>"),
    ("reshape", [(None, 4)], {"newshape": (3, -1)}, "tensor<3x?xf32>"),
    ("reshape", [(None, None)], {"newshape": (-4, -1, 7, 0)}, "tensor<?x7x?xf32>"),
    ("strided_slice", [(None, 9)], {"begin": (0, 8), "end": (1, 0), "strides": (1, -1)}, "tensor<?x8xf32>"),
    ("strided_slice", [(None,)], {"begin": (-1,), "end": (-4,), "strides": (-1,)}, "tensor<?xf32>"),
    ("nn.conv2d", [(None, None, 8, 8), (4, 3, None, None)], {}, "tensor<?x4x?x?xf32>"),
    ("nn.dense", [(None, None), (24, 16)], {}, "tensor<?x24xf32>"),
    ("stack", [(None, 5), (3, None)], {"axis": 1}, "tensor<3x2x5xf32>"),
    ("split", [(None, 5)], {"indices_or_sections": (2,), "sections": True}, "tensor<?x5xf32>"),
    ("concatenate", [(None, 4), (3, None)], {"axis": 1}, "tensor<3x?xf32>"),
    ("nn.gru", [(None,) * 3, (None, 8, 3, 4), (None, 8), (None,)], {}, "tensor<?x?x8xf32>"),
    ("qnn.dequantize", [(None,) * 5, (None,) * 5, ()], {}, "tensor<?x?x?x?x?xf32>"),
]


@pytest.mark.parametrize(("name", "shapes", "attributes", "expected"), OPEN)
def test_what_an_open_extent_has_to_be_it_is(
    name: str, shapes: list[tuple[int | None, ...]], attributes: dict[str, object], expected: str
):
    known: Shapes = [tuple(DYNAMIC_INDEX if n is None else n for n in shape) for shape in shapes]
    assert str(_made(name, known, attributes).results[0].type) == expected


@pytest.mark.parametrize(
    ("name", "shapes", "error"),
    [
        ("squeeze", [(1, DYNAMIC_INDEX)], "operands that fit each other for some extents"),
        ("gather_nd", [(3, 5), (DYNAMIC_INDEX, 4)], "extents that are numbers"),
        ("add", [(DYNAMIC_INDEX, 4), (DYNAMIC_INDEX, 3)], "operands that fit each other for some extents"),
    ],
)
def test_open_extents_that_no_rule_takes(name: str, shapes: Shapes, error: str):
    with pytest.raises(VerifyException, match=f"relay.{name}: expected {error}"):
        _made(name, shapes, {})


def test_a_symbol_that_divides_is_no_certain_number():
    b, s = symbol("b"), symbol("s")
    assert only("s", (b % s) * s, b) is None
    assert only("s", b // (s - 1) * s, b) is None


def test_names_are_kept_beside_open_extents():
    block = Block(arg_types=[tensor_of(f32, [symbol("any0"), DYNAMIC_INDEX, 4]), tensor_of(f32, [4])])
    assert str(BY_NAME["add"](*block.args).results[0].type) == "tensor<?x?x4xf32, #relay.sizes<any0, ?>>"


def test_attributes_with_sizes_are_text():
    flat, parted = "tensor<?x8xf32, #relay.sizes<b*s>>", "tensor<?x?x2x4xf32, #relay.sizes<b, s>>"
    text = f"""
relay.func @main(%x: {flat}) -> ({parted}) {{
  %0 = relay.reshape %x {{newshape = #relay.sizes<b, s, 2, 4>}} : ({flat}) -> {parted}
  relay.return %0 : {parted}
}}"""
    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Relay)
    module = Parser(ctx, text).parse_module()
    module.verify()
    again = Parser(ctx, str(module)).parse_module()
    assert str(again) == str(module)
    (func,) = again.ops
    assert isinstance(func, FuncOp)
    reshape = func.body.block.first_op
    assert isinstance(reshape, Operator)
    assert all(map(same, reshape.signature.ints("newshape"), (symbol("b"), symbol("s"), 2, 4)))


def test_what_symbols_leave_undecided_is_open():
    block = Block(arg_types=[tensor_of(f32, [symbol("a"), 4]), tensor_of(f32, [symbol("b"), 4])])
    assert str(BY_NAME["add"](*block.args).results[0].type) == "tensor<?x4xf32>"


def test_what_is_kept_of_a_type_is_not_told_of_one_that_takes_its_place_in_memory():
    known = by_identity(8)(extents_of)
    assert [known(TensorType(f32, [n])) for n in range(64)] == [(n,) for n in range(64)]


def test_what_is_kept_of_a_type_is_found_again():
    asked: list[object] = []
    known = by_identity(8)(asked.append)
    type_ = TensorType(f32, [3])
    known(type_)
    known(type_)
    assert asked == [type_]


def _needs(name: str, tensors: Sequence[tuple[Attribute, tuple[Size, ...]]], **attributes: object) -> list[str]:
    operands = Block(arg_types=[tensor_of(element, shape) for element, shape in tensors]).args
    op = BY_NAME[name](*operands, **attributes)  # pyright: ignore[reportArgumentType]
    return [str(size) for size in op.check_sizes()]


def test_what_a_rule_needs_every_call_is_checked_for():
    w = symbol("w")
    trees = [(f32, (4, w)), (i32, (3, 1)), (i32, (3,)), (i32, (8,)), (f32, (8,)), (i32, (8, 2))]
    assert _needs("ml.tree_ensemble", trees, targets=1) == ["w - 1"]
    assert _needs("dynamic_time_warping", [(f32, (w, 5))]) == ["5*w - 1"]
    assert set(_needs("split", [(f32, (w,))], indices_or_sections=(3,))) == {"w - 3"}
    assert _needs("reshape", [(f32, (6 * w,))], newshape=(-4, w, -1)) == ["w - 1"]


@pytest.mark.parametrize("newshape", [(0, -1), (-1, 0, 2), (3, -1, 0)])
def test_what_is_left_of_no_elements_is_nothing_certain(newshape: tuple[int, ...]):
    with pytest.raises(VerifyException, match="a newshape that divides 0 elements"):
        _made("reshape", [(0, 0, 3)], {"newshape": newshape, "allowzero": 1})


def test_what_is_left_beside_a_copied_extent_of_none_is_the_rest():
    assert shape_of(_made("reshape", [(0, 3, 5)], {"newshape": (0, -1)}).results[0]) == (0, 15)
    assert shape_of(_made("reshape", [(4, 0, 6)], {"newshape": (2, 0, -1)}).results[0]) == (2, 0, 12)


def test_a_result_is_kept_as_long_as_its_argument_lives():
    class Thing:
        pass

    asked: list[int] = []

    @while_alive
    def name(thing: Thing) -> str:
        asked.append(id(thing))
        return f"thing {len(asked)}"

    first, second = Thing(), Thing()
    assert [name(first), name(second), name(first)] == ["thing 1", "thing 2", "thing 1"]
    del first
    # Whatever has the identity now is another thing.
    third = Thing()
    assert name(third) == "thing 3"
    assert len(asked) == 3
