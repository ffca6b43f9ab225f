"""Every operator, compiled, against its definition in numpy: dtypes, odd sizes, attributes, special values."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby, islice, product
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay import elementwise as ew
from whence.dialects.relay import nn
from whence.dialects.relay import transform as tr
from whence.dialects.relay.operator import Operator

Array = NDArray[Any]
Check = Callable[..., None]
MakeNet = Callable[..., Any]

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
EVERY = (*NUMBERS, "bool")
IN_TURN = (
    *(("float64", "float16", "int8", "uint64"), ("float64", "bfloat16", "int32", "uint16")),
    *(("float64", "float16", "int64", "uint8"), ("float64", "bfloat16", "int16", "uint32")),
)
"""Beside float32 of each kind one: what one operator does with a width, the next does with another."""
MOVED = (("float32", "bool", "bfloat16", "int64", "uint16"), ("float64", "int8", "float16", "int32", "uint8"))
"""Of what only moves elements: every width and kind of storage."""
INF, NAN = np.inf, np.nan


class Case(NamedTuple):
    kind: type[Operator]
    inputs: tuple[Array, ...]
    attributes: dict[str, Any]
    name: str
    constants: int = 0
    """How many operands, from the end, are constants of the model."""


def random(shape: Sequence[int], dtype: str = "float32") -> Array:
    """Numbers of both signs; integers use the whole range of their type."""
    rng = np.random.default_rng(zlib.crc32(f"{shape}{dtype}".encode()))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    numbers = rng.standard_normal(shape) * 2
    return numbers.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


CASES: list[Case] = []


def case(kind: type[Operator], *inputs: str | Array | np.generic, constants: int = 0, **attributes: Any) -> None:
    """Inputs are arrays, or texts such as `3x5 int8` (float32 when no dtype is given; `scalar` has no dimensions)."""
    arrays: list[Array] = []
    for given in inputs:
        if isinstance(given, str):
            shape, _, dtype = given.partition(" ")
            extents = [] if shape == "scalar" else [int(extent) for extent in shape.split("x")]
            given = random(extents, dtype or "float32")
        arrays.append(np.asarray(given))
    spelled = [f"{array.dtype.name}[{'x'.join(map(str, array.shape))}]" for array in arrays]
    spelled += [f"{name}={value}" for name, value in attributes.items()]
    name = f"{kind.name.removeprefix('relay.')} {' '.join(spelled)}" + " const" * bool(constants)
    CASES.append(Case(kind, tuple(arrays), attributes, name.replace(" ", "_"), constants))


# Elementwise

_ROUNDING = (ew.CeilOp, ew.FloorOp, ew.RoundOp, ew.TruncOp)
_FLOAT_ONLY = (
    *(ew.AcosOp, ew.AcoshOp, ew.AsinOp, ew.AsinhOp, ew.AtanOp, ew.AtanhOp, ew.CosOp, ew.CoshOp, ew.ErfOp, ew.ExpOp),
    *(ew.LogOp, ew.Log10Op, ew.Log2Op, ew.RsqrtOp, ew.SigmoidOp, ew.SinOp, ew.SinhOp, ew.SqrtOp, ew.TanOp, ew.TanhOp),
    *(ew.LeakyReluOp, ew.Log1pOp, ew.CbrtOp, ew.Exp2Op, ew.Expm1Op),
)
_NUMBERS = (ew.AbsOp, ew.CopyOp, ew.NegativeOp, ew.ReluOp, ew.SignOp, ew.ZerosLikeOp, ew.OnesLikeOp)
_PREDICATES = (ew.IsFiniteOp, ew.IsInfOp, ew.IsNanOp)
SPECIAL = np.array([-INF, -1000, -90.5, -1.5, -0.5, -0.0, 0, 0.5, 1.5, 2.5, 90.5, 1000, INF, NAN], np.float32)

# Sizes and dtypes in turn: how loops are made of them, no operator decides.
for k, unary in enumerate((*_ROUNDING, *_FLOAT_ONLY, *_NUMBERS, *_PREDICATES)):
    for dtype in ("float64", FLOATS[2 + k % 2]) if unary in _FLOAT_ONLY else IN_TURN[k % 4]:
        case(unary, f"3x5x7 {dtype}")
    case(unary, ("scalar", "3x5x7", "3x300x16", "1x13x1")[k % 4])
    case(unary, SPECIAL)
for dtype in (*INTEGERS, "bool"):
    case(ew.BitwiseNotOp, f"3x5x7 {dtype}")
for given in ("scalar bool", "64 bool", "3x5x7 bool"):
    case(ew.LogicalNotOp, given)
for dtype in NUMBERS:
    case(ew.ClipOp, f"5x16 {dtype}", a_min=-1.5, a_max=100.5)
case(ew.ClipOp, SPECIAL, a_min=0.0, a_max=6.0)
for source, target in product(EVERY, EVERY):
    # Of numbers to integers, and of integers, every third pair: wider, narrower and as wide, of each sign to each.
    pair = NUMBERS.index(source) + NUMBERS.index(target) if "bool" not in (source, target) else 0
    if (source in INTEGERS or target in INTEGERS) and pair % 3:
        continue
    # Floats of a size that every type can hold.
    positive = np.abs(random((5, 7), source)) if source in FLOATS else random((5, 7), source)
    if source not in INTEGERS or target not in ("float16", "bfloat16") or source.endswith("8"):
        case(ew.CastOp, positive, dtype=target)
case(ew.CastOp, SPECIAL[1:-2], dtype="int32")

_BINARY = (ew.AddOp, ew.SubtractOp, ew.MultiplyOp, ew.MaximumOp, ew.MinimumOp, ew.DivideOp)
_PAIRS = (("16x32", "scalar"), ("1", "13"), ("1x64x7x7", "64x1x1"), ("3x128x16", "3x128x16"))
for k, binary in enumerate((*_BINARY, ew.PowerOp, ew.EqualOp, ew.LessOp, ew.GreaterOp)):
    for dtype in IN_TURN[k % 4]:
        case(binary, f"3x1x7 {dtype}", f"5x7 {dtype}")
    case(binary, *_PAIRS[k % 4])
    case(binary, "5x16", np.float32(1.5), constants=1)
    case(binary, SPECIAL, SPECIAL[::-1].copy())
for binary in (ew.Atan2Op, ew.CopysignOp, ew.HypotOp):
    case(binary, np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL)))
    case(binary, "3x1x7 float64", "5x7 float64")
for binary in (ew.AddOp, ew.MultiplyOp, ew.MaximumOp, ew.MinimumOp, ew.EqualOp, ew.LessOp):
    case(binary, "7x5 bool", "5 bool")
LEAST = np.iinfo(np.int32).min
case(ew.DivideOp, np.array([7, -7, 7, -7, 5, 0, LEAST], np.int32), np.array([2, 2, -2, -2, 0, 0, -1], np.int32))
case(ew.DivideOp, np.array([7, 0], np.uint8), np.array([0, 0], np.uint8))
for dtype in ("float32", "float16", "int32"):
    case(nn.BiasAddOp, f"2x5x3x7 {dtype}", f"5 {dtype}")
case(nn.BiasAddOp, "2x5x3x7", "7", axis=-1)
case(nn.BiasAddOp, "2x16", "16", axis=-1, constants=1)

# Movement

for dtype in MOVED[0]:
    case(tr.ReshapeOp, f"3x5x7 {dtype}", newshape=(7, 15))
    case(tr.ConcatenateOp, f"3x5 {dtype}", f"3x7 {dtype}", f"3x1 {dtype}", axis=-1)
    case(tr.TakeOp, f"13x7 {dtype}", np.array([[0, 12, 5], [-3, 99, 7]]), axis=0)
    case(tr.PadOp, f"3x5 {dtype}", f"1 {dtype}", pad_width=(1, 2, 0, 3))
for dtype in MOVED[1]:
    case(tr.TransposeOp, f"3x5x7 {dtype}", axes=(2, 0, 1))
    case(tr.StridedSliceOp, f"13x7 {dtype}", begin=(1, -1), end=(12, -8), strides=(3, -2))
    case(tr.LayoutTransformOp, f"1x32x3x5 {dtype}", src_layout="NCHW", dst_layout="NCHW16c")
for dtype in MOVED[1]:
    case(tr.PadOp, f"3x5 {dtype}", f"scalar {dtype}", pad_width=(1, 2, 0, 3), constants=1)
for given, shape in (("scalar", (1, 1)), ("1", ()), ("2x3x4", (0, -1)), ("3x16x16", (48, 16)), ("5x7x13", (13, 7, 5))):
    case(tr.ReshapeOp, given, newshape=shape)
for given, axes in (("scalar", None), ("2x3x4x5", None), ("64x64", None), ("1x3x64x64", (0, -2, -1, 1))):
    case(tr.TransposeOp, given, axes=axes)
for given, axes in (("1x3x1x5", None), ("1x3x1x5", (-2,)), ("1x1", None)):
    case(tr.SqueezeOp, given, axis=axes)
for axis, count in ((-1, 2), (0, 1), (1, 0)):
    case(tr.ExpandDimsOp, "3x5", axis=axis, num_newaxis=count)
case(tr.BatchFlattenOp, "3x5x7x1")
case(tr.BatchFlattenOp, "3")
case(tr.BroadcastToOp, "3x1", shape=(5, 3, 7))
case(tr.BroadcastToOp, "scalar int64", shape=(5, 3))
case(tr.ConcatenateOp, "1x16x3x3", "1x32x3x3", axis=-3)
case(tr.ConcatenateOp, "5", axis=0)
case(tr.ConcatenateOp, "3x0", "3x4", axis=1)
case(tr.StridedSliceOp, "16x7", begin=(-3,), end=(100,))
case(tr.StridedSliceOp, "16x7", begin=(1,), end=(5,), strides=(2,), axes=(-1,))
case(tr.StridedSliceOp, "16x7", begin=(0, 3), end=(16, 7))
case(tr.StridedSliceOp, "16x7", begin=(2,), end=(-100,), strides=(-1,))
case(tr.StridedSliceOp, "16x7", begin=(3,), end=(3,))
for mode, indices in product(("clip", "wrap"), (np.int32(2), np.array([1, -1, 40], np.int32))):
    case(tr.TakeOp, "5x7x3", np.asarray(indices), axis=1, mode=mode)
case(tr.TakeOp, "5x256", np.array([200, 3], np.uint8), axis=-1)
for src, dst, given in (
    ("NCHW", "NHWC", "1x16x3x5"),
    ("NCHW8c", "NCHW16c", "1x4x3x5x8"),
    ("NCHW16c", "NCHW", "2x2x3x5x16"),
    ("OIHW", "OIHW4i16o", "32x8x3x3"),
    ("OIHW16i16o", "OIHW", "2x1x3x3x16x16"),
    ("NHWC", "NCHW8c", "1x5x3x24"),
    ("NC", "NC16n", "32x48"),
):
    case(tr.LayoutTransformOp, given, src_layout=src, dst_layout=dst)
for mode in ("constant", "edge", "reflect"):
    case(tr.PadOp, "1x3x5x7", np.float32(-1.5), pad_width=(0, 0, 0, 0, 2, 1, 3, 2), pad_mode=mode, constants=1)
    case(tr.PadOp, "16", np.float32(0), pad_width=(3, 13), pad_mode=mode, constants=1)

# Reductions

for k, reduction in enumerate((tr.SumOp, tr.MeanOp, tr.MaxOp, tr.MinOp)):
    for dtype in ("float32", *IN_TURN[k], *IN_TURN[k ^ 1][-1:]):
        case(reduction, f"3x5x7 {dtype}", axis=(1,))
    # In turn: of what is reduced no operator decides.
    for axis, keep, exclude in islice(
        product(((-1,), (0, 2), (0, 1, 2), ()), (False, True), (False, True)), (0, 3, 2, 1)[k], None, 4
    ):
        case(reduction, "3x5x16", axis=axis, keepdims=keep, exclude=exclude)
    for given, axis in (
        *(("scalar", None), ("64x1000", (1,)), ("1000x64", (0,)), ("7x3x5x5", (2, 3))),
        *(("1x1", None), ("1000x64", (0,)), ("64x1000", (1,)), ("7x3x5x5", (2, 3))),
    )[k % 2 :: 2]:
        case(reduction, given, axis=axis)
    case(reduction, SPECIAL.reshape(7, 2), axis=(0,))
for dtype in ("float16", "bfloat16"):
    case(tr.MeanOp, np.abs(random((1, 9000), dtype)) * 16, axis=(1,))
case(tr.MaxOp, "3x5 bool", axis=(1,))
case(tr.MinOp, "3x5 bool", axis=(0,))


def groups() -> Iterator[list[Case]]:
    """The cases of each operator, those with constants apart, 20 at most: kernels of one model, which is faster."""

    def alike(case: Case) -> tuple[str, bool]:
        return case.kind.name, case.constants > 0

    for _, found in groupby(sorted(CASES, key=alike), alike):
        while several := list(islice(found, 20)):
            yield several


def text(group: list[Case]) -> str:
    return f"{group[0].name}_and_{len(group) - 1}_more"


@pytest.mark.parametrize("group", list(groups()), ids=text)
def test_operator(group: list[Case], make_net: MakeNet, check_model: Check):
    given = [case.inputs[: len(case.inputs) - case.constants] for case in group]
    net = make_net(*chain.from_iterable(given))
    inputs = iter(net.inputs)
    results = [
        net.add(case.kind, *islice(inputs, len(mine)), *case.inputs[len(mine) :], **case.attributes)
        for case, mine in zip(group, given, strict=True)
    ]
    # An operator by itself gives one kernel at all levels; its constants are folded at some.
    check_model(net.finish(*results), *chain.from_iterable(given), levels=(0, 3) if group[0].constants else (3,))


@pytest.mark.parametrize("kind", _FLOAT_ONLY)
def test_a_float_operator_refuses_integers(kind: type[Operator], make_net: MakeNet):
    net = make_net(np.ones(3, np.int32))
    with pytest.raises(VerifyException, match=f"{kind.name}: expected a float operand, got tensor<3xi32>"):
        net.add(kind, *net.inputs)


def test_many_tensors_are_joined(make_net: MakeNet, check_model: Check):
    """No step recurses over the operands of one operator."""
    arrays = [random((1, 2), "float32") + i for i in range(700)]
    net = make_net(*arrays)
    check_model(net.finish(net.add(tr.ConcatenateOp, *net.inputs, axis=0)), *arrays, levels=(3,))


def test_numbers_of_a_group_wrap_as_others_do(make_net: MakeNet, check_model: Check):
    """Two constants of one element are added by the kernel where nothing folds them before."""
    x = random((5,), "int8")
    net = make_net(x)
    total = net.add(ew.AddOp, np.int8(100), np.int8(100))
    check_model(net.finish(net.add(ew.AddOp, *net.inputs, total)), x)
