"""Operators, attributes and texts in the form in which TVM has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np
import pytest

from whence import relay
from whence.support.errors import WhenceError

ops: Any = relay
Array = np.ndarray[Any, Any]
VERSION = '#[version = "0.0.5"]\n'
RNG = np.random.default_rng(23)
X = RNG.standard_normal((4, 6)).astype(np.float32)
IMAGES = RNG.standard_normal((1, 2, 4, 4)).astype(np.float32)
INDICES = RNG.integers(0, 6, (4, 3)).astype(np.int32)
MASK = X > 0
COUNTS = np.array([3, 1, 3, 2, 1, 7], np.int32)
SUMS = RNG.integers(-9999, 9999, (2, 3, 4)).astype(np.int32)
FACTORS = tuple(np.array(row, np.int32) for row in ([1 << 30, 1717986919, -12345], [2, 0, 1], [0, 3, 0]))
_PRODUCTS = SUMS * (FACTORS[0].astype(np.int64) << FACTORS[1])[:, None]
_DROPPED = (31 + FACTORS[2].astype(np.int64))[:, None]
MULTIPLIED = ((_PRODUCTS + (1 << (_DROPPED - 1))) >> _DROPPED).astype(np.int32)
"""Each channel of the sums times its factor."""
BITS = RNG.integers(0, 256, (4, 16)).astype(np.uint8)
_PLANES = (BITS & 1).reshape(4, 4, 4).astype(np.int32)
_AROUND = np.pad(_PLANES, ((0, 0), (1, 1), (1, 1)))
_WINDOWS = sum(_AROUND[:, y : y + 4, x : x + 4] for y in range(3) for x in range(3))
CENTRED = np.stack([np.sum(2 * _PLANES - _WINDOWS, 0)] * 2)[None].astype(np.int32)
"""Of each pixel its bit less those around it, over four planes."""
BOXES = np.array(
    [
        [
            [0, 0.8, 1, 20, 25, 45],
            [1, 0.7, 30, 60, 50, 80],
            [0, 0.4, 4, 21, 19, 40],
            [2, 0.9, 35, 61, 52, 79],
            [1, 0.5, 100, 60, 70, 110],
        ]
    ],
    np.float32,
)


def given(array: Array, name: str) -> relay.Var:
    return relay.var(name, shape=array.shape, dtype=array.dtype.name)


def run(mod: Any, *arrays: Array, kind: str = "vm") -> Any:
    return relay.create_executor(kind, mod).evaluate()(*arrays)


def same(found: Any, wanted: Any) -> None:
    several = isinstance(cast(object, wanted), tuple)
    for one, other in zip(found, wanted, strict=True) if several else [(found, wanted)]:
        assert (np.shape(one), np.asarray(one).dtype) == (np.shape(other), np.asarray(other).dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


TEXTS: dict[str, tuple[str, list[Array], Any]] = {
    "strides for all axes": (
        'strided_slice(%a, begin=[0, 1], end=[4, 5], strides=[2], axes=None, slice_mode="end")',
        [X],
        X[0:4:2, 1:5],
    ),
    "sizes of a slice": (
        'strided_slice(%a, begin=[1, -2], end=[2, -1], strides=[1], slice_mode="size")',
        [X],
        X[1:3, -2:],
    ),
    "a shape with a dtype": ('broadcast_to(%a, shape=[2, 4, 6], dtype="")', [X], np.broadcast_to(X, (2, 4, 6))),
    "batches of indices": (
        'take(%a, %b, batch_dims=1, axis=1, mode="clip")',
        [X, INDICES],
        np.take_along_axis(X, INDICES, 1),
    ),
    "indices into all elements": ("take(%a, %b)", [X, INDICES], np.take(X, INDICES)),
    "diagonals": (
        "matrix_set_diag(%a, %b, k1=1, k2=1, super_diag_right_align=True, sub_diag_right_align=False)",
        [X[:, :4], X[0, :3]],
        np.where(np.eye(4, k=1, dtype=bool), np.append(X[0, :3], np.float32(0))[:, None], X[:, :4]),
    ),
    "a mode that changes nothing": (
        'nn.space_to_depth(%a, block_size=2, layout="NCHW", mode="")',
        [IMAGES],
        IMAGES.reshape(1, 2, 2, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 2),
    ),
    "three operands": ('arange(1, 9, 2, dtype="int32")', [], np.arange(1, 9, 2, dtype=np.int32)),
    "an operand that a run decides": (
        'arange(0, %a, 1, start=0, dtype="int32")',
        [np.array(4, np.int32)],
        np.arange(4, dtype=np.int32),
    ),
    "points": ("argwhere(%a)", [MASK], np.argwhere(MASK).astype(np.int32)),
    "distinct numbers": (
        "unique(%a, sorted=True, return_counts=True)",
        [COUNTS],
        tuple(
            np.array(row, np.int32)
            for row in ([1, 2, 3, 7, 0, 0], [1, 3, 0, 5, 0, 0], [2, 0, 2, 1, 0, 3], [4], [2, 1, 2, 1, 0, 0])
        ),
    ),
    "a number of another dtype around": (
        "nn.pad(%a, 2, pad_width=[[1, 0], [0, 1]])",
        [X],
        np.pad(X, ((1, 0), (0, 1)), constant_values=2),
    ),
    "attributes beside a shape": (
        'dyn.broadcast_to(%a, %b, shape=None, dtype="")',
        [X, np.array([2, 4, 6])],
        np.broadcast_to(X, (2, 4, 6)),
    ),
    "attributes beside slices": (
        'dyn.strided_slice(%a, %b, %c, %d, begin=None, end=None, strides=None, slice_mode="end", axes=None)',
        [X, *(np.array(row) for row in ([1, 0], [3, 6], [1, 2]))],
        X[1:3, 0:6:2],
    ),
    "sizes that a run decides": (
        'dyn.strided_slice(%a, %b, %c, %d, begin=None, end=None, strides=None, slice_mode="size", axes=None)',
        [X, *(np.array(row) for row in ([1, -4], [2, -1], [1, 1]))],
        X[1:3, 2:],
    ),
    "boxes that no better one covers": (
        "vision.non_max_suppression(%a, %b, %b, 2, 0.5f, force_suppress=True, top_k=2, coord_start=2, score_index=1, "
        "id_index=0, return_indices=False, invalid_to_bottom=True)",
        [BOXES, np.array([4], np.int32)],
        np.stack([np.concatenate([BOXES[0, [3, 0]], np.full((3, 6), -1, np.float32)])]),
    ),
    "a product of bits": (
        'nn.bitserial_dense(%a, %b, units=4, data_bits=2, weight_bits=3, pack_dtype="uint32", out_dtype="int32", '
        "unipolar=False)",
        [BITS, BITS[::-1].copy()],
        (BITS & 3).astype(np.int32) @ (BITS[::-1] & 7).astype(np.int32).T,
    ),
    "packed bits": (
        'nn.bitpack(%a, bits=1, pack_axis=1, bit_axis=1, pack_type="uint8", name="BitPack")',
        [BITS],
        np.packbits(BITS & 1, axis=1)[:, None],
    ),
    "a convolution of bits": (
        "nn.bitserial_conv2d(%a, %b, strides=[1, 1], padding=[1, 1], channels=2, kernel_size=[3, 3], "
        'activation_bits=1, weight_bits=1, data_layout="NCHW", kernel_layout="OIHW", pack_dtype="uint32", '
        'out_dtype="int32", unipolar=True)',
        [BITS.reshape(1, 4, 4, 4), np.eye(9, dtype=np.uint8).reshape(1, 9, 3, 3)[:, [4, 4, 4, 4]].repeat(2, 0)],
        CENTRED,
    ),
    "boxes with a score": (
        "vision.get_valid_counts(%a, 0.6f, id_index=0, score_index=1)",
        [BOXES],
        (
            np.array([3], np.int32),
            np.stack([np.concatenate([BOXES[0, [0, 1, 3]], np.full((2, 6), -1, np.float32)])]),
            np.array([[0, 1, 3, -1, -1]], np.int32),
        ),
    ),
    "anchors": (
        "vision.multibox_prior(%a, sizes=[0.5f], ratios=[1f, 4f], steps=[-1f, -1f], offsets=[0.5f, 0.5f], clip=False)",
        [X[None, None, :1, :1]],
        np.array([[[0.25, 0.25, 0.75, 0.75], [0, 0.375, 1, 0.625]]], np.float32),
    ),
    "factors of channels": (
        "fixed_point_multiply_per_axis(%a, %b, %c, %d, is_lshift_required=True, is_rshift_required=True, axes=[1])",
        [SUMS, *FACTORS],
        MULTIPLIED,
    ),
    "attributes beside numbers": (
        'dyn.topk(%a, %b, k=None, axis=1, ret_type="values")',
        [X, np.array(2)],
        -np.sort(-X, 1)[:, :2],
    ),
    "a weight for the last axis": (
        'nn.dense(%a, %b, units=2, auto_scheduler_rewritten_layout="")',
        [IMAGES, X[:2, :4]],
        IMAGES @ X[:2, :4].T,
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    call, arrays, wanted = TEXTS[name]
    params = [
        f"%{letter}: Tensor[({', '.join(map(str, one.shape))}), {one.dtype}]"
        for letter, one in zip("abcd", arrays, strict=False)
    ]
    text = f"{VERSION}def @main({', '.join(params)}) {{ {call} }}"
    mod = relay.fromtext(text)
    same(run(mod, *arrays), wanted)
    same(run(mod, *arrays, kind="debug"), wanted)
    same(run(relay.fromtext(mod.astext()), *arrays, kind="debug"), wanted)


SYNTAX = {
    "a block as an argument": ("add(%x, { %0 = add(%x, 1); multiply(%0, %0) })", 19),
    "a block in a block": ("{ { add(%x, 1) } }", 4),
    "a let as an argument": ("add(%x, let %y = add(%x, 1); multiply(%y, %y))", 19),
    "a let that hides another one": ("let %y = 5; add(let %y = add(%x, 1); multiply(%y, %y), %y)", 21),
    "a let in a tuple": ("%0 = (%x, let %y = add(%x, 1); %y); add(%0.0, %0.1)", 7),
    "a match without parentheses": ("match Some(%x) { Some(%y) => %y, None => 0, }", 3),
    "a partial match without them": ("match? Some(%x) { Some(%y) => %y }", 3),
    "an arm of statements": ("match (Some(%x)) { Some(%y) => %0 = add(%y, 1); multiply(%0, %0), None => 0 }", 16),
    "an arm of lets": ("match (Some(%x)) { Some(%y) => let %z = add(%y, 1); multiply(%z, %z), None => 0 }", 16),
}


@pytest.mark.parametrize("name", SYNTAX)
def test_syntax(name: str) -> None:
    body, wanted = SYNTAX[name]
    mod = relay.fromtext(f"{VERSION}type Option[A] {{ Some(A), None, }}\ndef @main(%x: int32) -> int32 {{ {body} }}")
    assert run(mod, np.array(3, np.int32), kind="debug") == wanted


_Build = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
BUILDERS: dict[str, tuple[_Build, list[Array], Any]] = {
    "points": (ops.argwhere, [X], np.argwhere(X).astype(np.int32)),
    "points of a mask": (ops.argwhere, [MASK], np.argwhere(MASK).astype(np.int32)),
    "rows of a batch": (
        lambda x, i: ops.take(x, i, axis=1, batch_dims=1),
        [X, INDICES],
        np.take_along_axis(X, INDICES, 1),
    ),
    "few strides": (lambda x: ops.strided_slice(x, [0, 1], [4], [2]), [X], X[0:4:2, 1:]),
    "halves with zeros around": (
        lambda x: ops.nn.pad(x, ((0, 1), (1, 0))),
        [X.astype(np.float16)],
        np.pad(X.astype(np.float16), ((0, 1), (1, 0))),
    ),
    "a dense layer on images": (lambda x, w: ops.nn.dense(x, w), [IMAGES, X[:, :4]], IMAGES @ X[:, :4].T),
    "names of operands": (
        lambda x, y: ops.nn.batch_matmul(tensor_a=x, tensor_b=y),
        [IMAGES[0], IMAGES[0]],
        IMAGES[0] @ IMAGES[0].swapaxes(1, 2),
    ),
    "windows": (
        lambda x: ops.sliding_window(x, 0, [2, 3], [1, 2]),
        [X],
        np.lib.stride_tricks.sliding_window_view(X, (2, 3))[:, ::2],
    ),
    "factors of channels": (
        lambda x: ops.fixed_point_multiply_per_axis(x, *map(ops.const, FACTORS), True, True, [-2]),
        [SUMS],
        MULTIPLIED,
    ),
    "sizes of a slice that a run decides": (
        lambda x, b, s: ops.strided_slice(x, b, s, slice_mode="size"),
        [X, np.array([1, 0]), np.array([2, 3])],
        X[1:3, :3],
    ),
    "boxes that no better one covers": (
        lambda x: ops.vision.non_max_suppression(x, ops.const([4], "int32"), x, 2, 0.5, True, 2, return_indices=False),
        [BOXES],
        np.stack([np.concatenate([BOXES[0, [3, 0]], np.full((3, 6), -1, np.float32)])]),
    ),
    "the numbers of boxes": (
        lambda x: ops.vision.non_max_suppression(
            x, ops.const([4], "int32"), ops.const([[0, 1, 3, 4, -1]], "int32"), -1, 0.5, True, 2
        ).astuple(),
        [BOXES],
        (np.array([[4, 0, -1, -1, -1]], np.int32), np.array([[2]], np.int32)),
    ),
    "moved anchors": (
        lambda c, m, a: ops.vision.multibox_transform_loc(cls_prob=c, loc_pred=m, anchor=a)[1],
        [np.full((1, 3, 2), 0.5, np.float32), np.zeros((1, 8), np.float32), np.zeros((1, 2, 4), np.float32)],
        np.array([2], np.int32),
    ),
    "a product of bits": (
        lambda x, w: ops.nn.bitserial_dense(x, w, data_bits=2, weight_bits=1),
        [BITS, BITS[::-1].copy()],
        ((BITS & 3).astype(np.int16) @ (2 * (BITS[::-1] & 1).astype(np.int16) - 1).T),
    ),
    "a buffer": (lambda x, b: ops.nn.fifo_buffer(x, b, 1), [X[:, :2], X], np.concatenate([X[:, 2:], X[:, :2]], 1)),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_builders(name: str) -> None:
    build, arrays, wanted = BUILDERS[name]
    builder: Any = build
    params = [given(one, letter) for letter, one in zip("xyz", arrays, strict=False)]
    mod = relay.IRModule.from_expr(relay.Function(params, builder(*params)))
    same(run(mod, *arrays), wanted)


def test_printed_attributes_have_tvms_names() -> None:
    mod = relay.IRModule.from_expr(ops.broadcast_to(given(X, "x"), (2, 4, 6)))
    text = relay.transform.InferType()(mod).astext()
    assert "broadcast_to(%x, shape=[2, 4, 6])" in text
    assert ", shape=[2, 4, 6])" in relay.fromtext(text).astext()


def test_slices_are_by_ends_or_sizes() -> None:
    call = 'dyn.strided_slice(%x, %b, %b, slice_mode="middle")'
    with pytest.raises(WhenceError, match="expected slice_mode end or size, got 'middle'"):
        relay.fromtext(f"{VERSION}def @main(%x: Tensor[(4), int32], %b: Tensor[(1), int64]) {{ {call} }}")


def test_points_have_as_many_columns_as_axes() -> None:
    mod = relay.IRModule.from_expr(ops.argwhere(given(X, "x")))
    assert str(relay.transform.InferType()(mod)["main"].ret_type) == "Tensor[(?, 2), int32]"


def test_windows_of_another_rank_are_refused() -> None:
    with pytest.raises(WhenceError, match="sliding_window: expected 2 extents and strides of a window"):
        ops.sliding_window(given(X, "x"), 0, [2], [1])
    with pytest.raises(WhenceError, match="sliding_window: expected a tensor of known shape"):
        ops.sliding_window(ops.var("x", relay.TensorType((relay.Any(), 2))), 0, [2, 1], [1, 1])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_compiled_takes(axis: int | None, mode: Literal["clip", "wrap"]) -> None:
    places = np.array([[-3, 2, 99], [0, 1, 5]], np.int32)
    mod = relay.IRModule.from_expr(
        relay.Function([x := given(X, "x"), i := given(places, "i")], ops.take(x, i, axis, mode=mode))
    )
    same(run(mod, X, places, kind="graph"), np.take(X, places, axis, mode=mode))


def test_the_gradient_of_elements_in_row_major_order() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float64")
    places = relay.const(np.array([1, 5, 1], np.int32))
    relay.testing.check_grad(relay.Function([x], ops.take(x * x, places)))


def test_dtypes_without_bits_have_32() -> None:
    for short, whole in (("int", "int32"), ("uint", "uint32"), ("float", "float32"), ("uint1", "bool")):
        assert relay.TensorType((2,), short) == relay.TensorType((2,), whole)
        assert ops.var("x", shape=(2,), dtype=short).type_annotation == relay.TensorType((2,), whole)
