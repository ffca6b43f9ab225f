# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Reductions that nobody tagged have the schedules of what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import DictionaryAttr, StringAttr

import whence
from whence import te
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategy import CHOSEN, schedule_by_rows
from whence.lowering.relay_to_te.structure import structural_tag
from whence.te import Tensor
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
Element: TypeAlias = Any


def tensors(*shapes: Sequence[int], dtype: str = "float32") -> list[Tensor]:
    return [te.placeholder(tuple(shape), dtype, f"x{number}") for number, shape in enumerate(shapes)]


def over(*extents: int) -> Any:
    axes = [te.reduce_axis((0, extent), name=f"r{number}") for number, extent in enumerate(extents)]
    return axes if len(axes) > 1 else axes[0]


def summed(inputs: list[Tensor], shape: Sequence[int], element: Element, axes: Any) -> list[Tensor]:
    return [*inputs, te.compute(tuple(shape), lambda *i: te.sum(element(*i), axis=axes), name="out")]


def product(first: Sequence[int], second: Sequence[int], shape: Sequence[int], depth: int, element: Element) -> Any:
    a, b = tensors(first, second)
    k = over(depth)
    return summed([a, b], shape, lambda *i: element(a, b, k, *i), k)


def windows(images: int, weights: Sequence[int] | None, element: Element, steps: int = 1, kind: str = "sum") -> Any:
    """Windows of 3 x 3 on an image of 10 channels and 17 x 21 pixels."""
    channels = over(10, 3, 3) if weights is not None and len(weights) == 4 else over(3, 3)
    inputs = tensors((2, 10, 17, 21), *([] if weights is None else [weights]))
    shape = (2, images, 14 // steps + 1, 18 // steps + 1)
    reducer = getattr(te, kind)
    out = te.compute(shape, lambda *i: reducer(element(*inputs, *channels, *i), axis=channels), name="out")
    return [*inputs, out]


KINDS: dict[str, tuple[Callable[[], list[Tensor]], str]] = {
    "nn": (lambda: product((9, 40), (40, 33), (9, 33), 40, lambda a, b, k, i, j: a[i, k] * b[k, j]), "dense"),
    "nt": (lambda: product((9, 40), (33, 40), (9, 33), 40, lambda a, b, k, i, j: a[i, k] * b[j, k]), "dense"),
    "tn": (lambda: product((40, 9), (40, 33), (9, 33), 40, lambda a, b, k, i, j: a[k, i] * b[k, j]), "dense"),
    "other order": (lambda: product((9, 40), (40, 33), (9, 33), 40, lambda a, b, k, i, j: b[k, j] * a[i, k]), "dense"),
    "crossed": (lambda: product((33, 40), (40, 9), (9, 33), 40, lambda a, b, k, i, j: a[j, k] * b[k, i]), "dense"),
    "batched": (
        lambda: product((3, 9, 40), (3, 40, 33), (3, 9, 33), 40, lambda a, b, k, n, i, j: a[n, i, k] * b[n, k, j]),
        "dense",
    ),
    "shared": (
        lambda: product((3, 9, 40), (40, 33), (3, 9, 33), 40, lambda a, b, k, n, i, j: a[n, i, k] * b[k, j]),
        "dense",
    ),
    "one row": (lambda: product((1, 40), (40, 33), (1, 33), 40, lambda a, b, k, i, j: a[i, k] * b[k, j]), "dense"),
    "a square": (lambda: product((9, 40), (9, 40), (9, 9), 40, lambda a, b, k, i, j: a[i, k] * a[j, k]), "dense"),
    "rows of both": (lambda: product((9, 40), (9, 40), (9, 9), 40, lambda a, b, k, i, j: a[i, k] * b[i, k]), ""),
    "a term alone": (lambda: product((9, 40), (33, 40), (9, 33), 40, lambda a, b, k, i, j: a[i, k] * b[j, 0]), ""),
    "a sum": (lambda: product((9, 40), (40, 33), (9, 33), 40, lambda a, b, k, i, j: a[i, k] + b[k, j]), ""),
    "reversed": (
        lambda: product((9, 40), (40, 33), (9, 33), 40, lambda a, b, k, i, j: a[i, 39 - k] * b[k, j]),
        "dense",
    ),
    "conv": (
        lambda: windows(6, (6, 10, 3, 3), lambda x, w, c, r, s, n, o, y, z: x[n, c, y + r, z + s] * w[o, c, r, s]),
        "conv2d_nchw",
    ),
    "strides": (
        lambda: windows(
            6, (6, 10, 3, 3), lambda x, w, c, r, s, n, o, y, z: w[o, c, r, s] * x[n, c, 2 * y + r, 2 * z + s], 2
        ),
        "conv2d_nchw",
    ),
    "pixels": (
        lambda: product((2, 40, 5, 7), (6, 40), (2, 6, 5, 7), 40, lambda x, w, c, n, o, y, z: x[n, c, y, z] * w[o, c]),
        "conv2d_nchw",
    ),
    "channels last": (
        lambda: product(
            (2, 5, 9, 40), (40, 33), (2, 5, 7, 33), 40, lambda x, w, c, n, y, z, o: x[n, y, z + 2, c] * w[c, o]
        ),
        "dense",
    ),
    "depthwise": (
        lambda: windows(10, (10, 3, 3), lambda x, w, r, s, n, o, y, z: x[n, o, y + r, z + s] * w[o, r, s]),
        "depthwise_conv2d_nchw",
    ),
    "weights of pixels": (
        lambda: windows(10, (10, 17, 21), lambda x, w, r, s, n, o, y, z: x[n, o, y + r, z + s] * w[o, y, z]),
        "",
    ),
    "greatest": (lambda: windows(10, None, lambda x, r, s, n, o, y, z: x[n, o, y + r, z + s], kind="max"), "pool_max"),
    "mean": (lambda: windows(10, None, lambda x, r, s, n, o, y, z: x[n, o, 2 * y + r, 2 * z + s], 2), "pool_sum"),
    "least": (lambda: windows(10, None, lambda x, r, s, n, o, y, z: x[n, o, y + r, z + s], kind="min"), ""),
    "turned": (lambda: windows(10, None, lambda x, r, s, n, o, y, z: x[n, o, z - z + r, y + s], kind="max"), ""),
}


def rows_of(schedule: Schedule) -> set[str]:
    chosen = cast("DictionaryAttr", schedule.sequence.attributes[CHOSEN])
    return {cast("StringAttr", value).data for value in chosen.data.values()}


def built(args: list[Tensor], *, plain: bool = False) -> Any:
    schedule = te.create_schedule(args[-1].op)
    if not plain:
        schedule_by_rows(schedule, Target.native().hardware)
    return whence.build(schedule, args, name="f")


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_reduction_is_in_its_structure(name: str):
    make, tag = KINDS[name]
    args = make()
    (stage,) = te.create_schedule(args[-1].op).computes
    assert structural_tag(stage.compute) == tag
    rng = np.random.default_rng(len(name))
    arrays = [rng.integers(-4, 5, [int(cast(Any, extent)) for extent in one.shape]).astype(one.dtype) for one in args]
    plain = arrays[-1].copy()
    # Loops as they are written sum these numbers without rounding.
    built(args)(*arrays)
    built(args, plain=True)(*arrays[:-1], plain)
    np.testing.assert_array_equal(arrays[-1], plain)


def test_a_product_of_the_users_is_a_matrix_product_of_numpys():
    rng = np.random.default_rng(0)
    args = KINDS["batched"][0]()
    a, b = (
        rng.standard_normal([int(cast(Any, extent)) for extent in one.shape]).astype(np.float32) for one in args[:2]
    )
    out = np.zeros((3, 9, 33), np.float32)
    built(args)(a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)


def test_the_row_of_a_structure_schedules_it_and_what_reads_it():
    a, b = tensors((64, 64), (64, 64))
    k = over(64)
    total = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="total")
    out = te.compute((64, 64), lambda i, j: te.max(total[i, j], 0.0), name="out")
    schedule = schedule_by_rows(te.create_schedule(out.op), Target.native().hardware)
    assert rows_of(schedule) == {"dense"}


def test_a_tag_goes_before_the_structure():
    a, b = tensors((64, 64), (64, 64))
    k = over(64)
    out = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="out", tag="comm_reduce")
    schedule = schedule_by_rows(te.create_schedule(out.op), Target.native().hardware)
    assert rows_of(schedule) == {"reduce"}
