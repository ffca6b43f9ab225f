"""Convolution, products, pooling, softmax: compiled, against their definitions in numpy."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice, product
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from whence.dialects.relay import nn
from whence.dialects.relay.operator import Operator

Array = NDArray[Any]
Check = Callable[..., None]
MakeNet = Callable[..., Any]

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int8", "int32", "int64", "uint8")
INF, NAN = np.inf, np.nan


class Case(NamedTuple):
    kind: type[Operator]
    inputs: tuple[Array, ...]
    attributes: dict[str, Any]
    name: str


CASES: list[Case] = []


def random(shape: tuple[int, ...], dtype: str) -> Array:
    """Small integers, so that sums of products stay exact; floats of both signs."""
    rng = np.random.default_rng(zlib.crc32(f"{shape}{dtype}".encode()))
    if "int" in dtype:
        return rng.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def case(kind: type[Operator], *inputs: tuple[int, ...] | Array, dtype: str = "float32", **attributes: Any) -> None:
    arrays = [random(given, dtype) if isinstance(given, tuple) else given for given in inputs]
    spelled = [f"{array.dtype.name}[{'x'.join(map(str, array.shape))}]" for array in arrays]
    spelled += [f"{name}={value}" for name, value in attributes.items()]
    name = f"{kind.name.removeprefix('relay.nn.')} {' '.join(spelled)}".replace(" ", "_")
    CASES.append(Case(kind, tuple(arrays), attributes, name))


# Convolution


def conv(image: tuple[int, int, int, int], outputs: int, kernel: tuple[int, int], **more: Any) -> None:
    dtype = more.pop("dtype", "float32")
    weight = (outputs, image[1] // more.get("groups", 1), *kernel)
    case(nn.Conv2DOp, image, weight, dtype=dtype, **more)


# Windows in turn: each meets channels that fill vectors and such that do not.
for k, (channels, outputs) in enumerate(((1, 1), (3, 5), (3, 16), (16, 32), (7, 13), (8, 24), (6, 20), (5, 64))):
    if k % 3 == 0:
        conv((1, channels, 7, 7), outputs, (1, 1))
    elif k % 3 == 1:
        conv((1, channels, 7, 9), outputs, (3, 3), padding=(1, 1))
    else:
        conv((2, channels, 8, 5), outputs, (3, 3), strides=(2, 2), padding=(1, 1))
conv((1, 3, 13, 13), 8, (5, 3), strides=(2, 1), padding=(2, 1, 0, 3))
conv((1, 16, 13, 13), 16, (3, 3), dilation=(2, 3), padding=(2, 3))
conv((1, 16, 13, 13), 16, (3, 3), dilation=(2, 2), strides=(2, 3), padding=(4, 4))
conv((1, 3, 30, 30), 16, (7, 7), strides=(2, 2), padding=(3, 3))
conv((1, 16, 1, 1), 16, (1, 1))
conv((1, 16, 3, 3), 16, (3, 3))
conv((1, 16, 5, 17), 32, (1, 7), padding=(0, 3))
conv((1, 16, 14, 15), 16, (1, 1), strides=(2, 2))
conv((1, 16, 6, 6), 16, (2, 2), strides=(3, 3))
conv((1, 16, 11, 11), 16, (11, 11), padding=(5,))
conv((3, 16, 19, 23), 48, (3, 3), padding=(1, 1))
conv((1, 32, 5, 5), 32, (5, 5), padding=(4, 4, 4, 4), groups=32)
for k, (channels, outputs, groups) in enumerate(
    (
        *((16, 16, 2), (32, 64, 2), (12, 6, 3), (32, 8, 4), (24, 24, 3), (33, 33, 11)),
        *((3, 3, 3), (7, 7, 7), (16, 16, 16), (48, 48, 48), (16, 32, 16), (6, 12, 6)),
    )
):
    if k % 3 == 0:
        conv((1, channels, 7, 7), outputs, (3, 3), padding=(1, 1), groups=groups)
    elif k % 3 == 1:
        conv((2, channels, 9, 6), outputs, (1, 1), groups=groups)
    else:
        conv((1, channels, 9, 9), outputs, (3, 3), strides=(2, 2), padding=(0, 1, 1, 0), dilation=(1, 2), groups=groups)
for k, dtype in enumerate(DTYPES[1:]):
    conv((1, 3, 7, 7), 5, (2, 2), padding=(1, 1), dtype=dtype)
    if k % 2 == 0:
        conv((1, 5, 7, 7), 5, (2, 3), padding=(1, 1), groups=5, dtype=dtype)
blocked: dict[str, Any] = {"data_layout": "NCHW16c", "out_layout": "NCHW16c"}
case(
    nn.ContribConv2DNCHWcOp,
    (1, 2, 7, 9, 16),
    (3, 2, 3, 3, 16, 16),
    kernel_layout="OIHW16i16o",
    padding=(1, 1),
    strides=(2, 1),
    **blocked,
)
case(
    nn.ContribDepthwiseConv2DNCHWcOp,
    (2, 3, 7, 9, 16),
    (3, 1, 3, 3, 1, 16),
    kernel_layout="OIHW1i16o",
    padding=(1, 0, 2, 1),
    groups=48,
    **blocked,
)

# Products

for k, dtype in enumerate(DTYPES):
    case(nn.DenseOp, (5, 7), (13, 7), dtype=dtype)
    if k % 2:
        case(nn.ContribDensePackOp, (5, 7), (2, 7, 16), dtype=dtype, weight_layout="NC16n")
    else:
        case(nn.BatchMatmulOp, (3, 5, 7), (3, 13, 7), dtype=dtype)
for m, n, k in (
    (1, 1, 1),
    (1, 16, 7),
    (3, 64, 33),
    (17, 48, 5),
    (6, 1000, 64),
    (13, 31, 1),
    (128, 128, 128),
    (64, 7, 3),
):
    case(nn.DenseOp, (m, k), (n, k))
for m, n, k in ((1, 16, 7), (17, 48, 5), (13, 31, 1), (64, 7, 33)):
    case(nn.BatchMatmulOp, (2, m, k), (2, k, n), transpose_b=False)
for flip_a, flip_b, left, right in ((True, True, 3, 3), (False, True, 3, 1), (True, False, 1, 3)):
    x, y = ((left, 7, 5) if flip_a else (left, 5, 7)), ((right, 16, 7) if flip_b else (right, 7, 16))
    case(nn.BatchMatmulOp, x, y, transpose_a=flip_a, transpose_b=flip_b)

# Normalisation

EXTREME = np.array([[1e4, -1e4, 0], [INF, 1, 2], [NAN, 1, 2], [-INF, 0, 1], [-INF, -INF, -INF]], np.float32)
for k, kind in enumerate((nn.SoftmaxOp, nn.LogSoftmaxOp)):
    for dtype in FLOATS[k:]:
        case(kind, (3, 7), dtype=dtype)
    # Shapes in turn: both have one schedule, which test_operator_schedules tries on more.
    for shape, axis in (((1000,), -1), ((1, 1), 1), ((2, 16, 3, 3), 1), ((3, 5, 7), 1), ((3, 5, 7), 0))[k::2]:
        case(kind, shape, axis=axis)
    case(kind, EXTREME, axis=1)
for dtype in FLOATS:
    case(nn.LayerNormOp, (3, 7), (7,), (7,), dtype=dtype)
for shape, axis in (((4, 64), -1), ((19,), 0), ((3, 5, 16), 0), ((3, 5, 16), 1)):
    case(nn.LayerNormOp, shape, (shape[axis],), (shape[axis],), axis=axis, epsilon=1e-3)
for scale, center in ((True, False), (False, True)):
    case(nn.LayerNormOp, (5, 48), (48,), (48,), scale=scale, center=center)
for size, beta, axis in ((1, 0.75, 1), (2, 0.5, -1), (5, 0.75, 1), (8, 0.5, 1)):
    case(nn.LRNOp, (2, 7, 3, 5), size=size, alpha=0.1, beta=beta, bias=1.5, axis=axis)
for dtype in FLOATS[1:]:
    case(nn.LRNOp, (1, 7, 3, 3), size=3, alpha=0.1, dtype=dtype)

# Pooling

for kind, ceil_mode in product((nn.MaxPool2DOp, nn.AvgPool2DOp), (False, True)):
    for k, (image, size, strides, padding, dilation) in enumerate(
        (
            ((1, 3, 7, 7), (2, 2), (2, 2), (0, 0), (1, 1)),
            ((2, 5, 13, 7), (3, 3), (2, 2), (1, 1), (1, 1)),
            ((1, 16, 9, 9), (3, 5), (1, 3), (1, 2, 0, 1), (1, 1)),
            ((1, 1, 5, 5), (5, 5), (1, 1), (2, 2), (1, 1)),
            ((1, 3, 9, 9), (2, 3), (1, 2), (1, 1), (2, 3)),
            ((1, 3, 11, 8), (3, 3), (3, 2), (0, 1, 2, 0), (1, 1)),
            ((1, 3, 6, 6), (3, 3), (3, 3), (2, 2), (2, 2)),
            ((1, 2, 14, 14), (3, 3), (2, 2), (0,), (1, 1)),
        )
    ):
        window: dict[str, Any] = {"pool_size": size, "strides": strides, "padding": padding, "dilation": dilation}
        # In turn, but where the last window leaves the image: there it matters. What is outside both take alike.
        if (k % 2 != ceil_mode and (k < 6 or kind is nn.MaxPool2DOp)) or (kind is nn.MaxPool2DOp and k in (0, 3)):
            continue
        if kind is nn.AvgPool2DOp:
            case(kind, image, ceil_mode=ceil_mode, count_include_pad=k % 4 == 1, **window)
        else:
            case(kind, image, ceil_mode=ceil_mode, **window)
    window = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "ceil_mode": ceil_mode}
    if ceil_mode == (kind is nn.MaxPool2DOp):
        case(kind, (1, 7, 8, 5), layout="NHWC", **window)
    else:
        case(kind, (1, 2, 8, 7, 16), layout="NCHW16c", **window)
for kind, dtype in (*product((nn.MaxPool2DOp,), DTYPES[1::2]), *product((nn.AvgPool2DOp,), DTYPES[::2])):
    case(kind, (1, 3, 7, 9), dtype=dtype, pool_size=(3, 2), strides=(2, 1), padding=(1, 0, 1, 1))
case(nn.MaxPool2DOp, np.full((1, 2, 5, 5), -INF, np.float32), pool_size=(3, 3), padding=(1, 1))
case(nn.MaxPool2DOp, np.array([[[[1, NAN, 2, 3, 4]]]], np.float32), pool_size=(1, 2))
for dtype in (*FLOATS, "int32"):
    case(nn.GlobalAvgPool2DOp, (2, 3, 7, 5), dtype=dtype)
for dtype in ("float32", "bfloat16", "int32"):
    case(nn.GlobalMaxPool2DOp, (2, 3, 7, 5), dtype=dtype)
case(nn.GlobalMaxPool2DOp, (1, 7, 7, 32), layout="NHWC")
case(nn.GlobalAvgPool2DOp, (1, 7, 7, 9), layout="NHWC")
case(nn.GlobalMaxPool2DOp, (1, 2, 7, 7, 16), layout="NCHW16c")


def of_one_model(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """The cases of each operator, 16 at most: kernels of one model, which is faster."""

    def kind(case: Case) -> str:
        return case.kind.name

    for _, found in groupby(sorted(cases, key=kind), kind):
        while several := list(islice(found, 16)):
            yield several


def text(group: list[Case]) -> str:
    return f"{group[0].name}_and_{len(group) - 1}_more"


def check(cases: Sequence[Case], level: int, make_net: MakeNet, check_model: Check, *, constant: bool = False) -> None:
    """Compile cases as one model; the last input of each is constant, or all are inputs of the model."""
    given = [case.inputs[:-1] if constant else case.inputs for case in cases]
    arrays = [array for inputs in given for array in inputs]
    net = make_net(*arrays)
    values = iter(net.inputs)
    results = [
        net.add(case.kind, *islice(values, len(inputs)), *case.inputs[len(inputs) :], **case.attributes)
        for case, inputs in zip(cases, given, strict=True)
    ]
    check_model(net.finish(*results), *arrays, levels=(level,))


WEIGHTED = [found for found in CASES if found.kind in (nn.Conv2DOp, nn.DenseOp)]
"""Level 3 lays the data and constant weights of these out anew; of the others it makes the kernel that level 0 does."""
PACKED = [found for found in WEIGHTED if found.inputs[0].dtype == np.float32][::2]
"""What is tried at level 3: of one dtype, as no other is packed."""
PLAIN = [found for found in CASES if not any(found is other for other in PACKED)]


@pytest.mark.parametrize("group", list(of_one_model(PLAIN)), ids=text)
def test_operator(group: list[Case], make_net: MakeNet, check_model: Check):
    check(group, 0 if group[0].kind in (nn.Conv2DOp, nn.DenseOp) else 3, make_net, check_model)


@pytest.mark.parametrize("group", list(of_one_model(WEIGHTED[1::6])), ids=text)
def test_computed_weights_stay_as_they_are(group: list[Case], make_net: MakeNet, check_model: Check):
    check(group, 3, make_net, check_model)


@pytest.mark.parametrize("group", list(of_one_model(PACKED)), ids=text)
def test_constant_weights_are_packed_at_compile_time(group: list[Case], make_net: MakeNet, check_model: Check):
    check(group, 3, make_net, check_model, constant=True)


def test_a_product_of_two_numbers(make_net: MakeNet, check_model: Check):
    """Its kernel reads no tensor: both numbers are in it where nothing folds them before."""
    net = make_net()
    numbers = np.array([[1.5]], np.float32), np.array([[-0.25]], np.float32)
    check_model(net.finish(net.add(nn.DenseOp, *numbers)), levels=(1,))
