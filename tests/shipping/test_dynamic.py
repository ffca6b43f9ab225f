"""Operators whose values decide the shape of their result: in a file as in the machine, and as of constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.utils.exceptions import VerifyException

import whence
from whence import relay
from whence.dialects.relay.dynamic import (
    Dynamic,
    DynArangeOp,
    DynBroadcastToOp,
    DynReshapeOp,
    DynStridedSliceOp,
    DynTileOp,
    DynZerosOp,
)
from whence.dialects.relay.dynamic_sizes import (
    DynExpandDimsOp,
    DynOneHotOp,
    DynPadOp,
    DynSparseToDenseOp,
    DynSqueezeOp,
    DynTopKOp,
)
from whence.dialects.relay.evaluation import evaluate, operands_of
from whence.executables.virtual_machine import VirtualExecutable
from whence.relay.build_module import bind_params_by_name
from whence.runtime import load_program
from whence.runtime.interpreting.dynamic import TABLE
from whence.runtime.interpreting.host import Task
from whence.support.errors import FrontendError

Array = NDArray[Any]


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def number(value: Any, dtype: str = "float32") -> Array:
    return np.array(value, dtype)


IMAGE = floats(1, 2, 5, 4)
WHOLE = np.arange(40).reshape(1, 2, 5, 4).astype(np.int32)
CASES: list[tuple[str, str, list[Array], list[Array]]] = [
    # An operator, its attributes, operands, and those that decide, behind the first one but in `_AT`.
    ("reshape", "", [floats(4, 6)], [ints(2, -1, 3)]),
    ("reshape", "", [floats(4, 6)], [ints(0, -4, 3, -1)]),
    ("reshape", "", [floats(2, 3, 4)], [ints(-3, -2)]),
    ("reshape", "", [floats(0, 6)], [ints(0, -1)]),
    ("reshape", "", [floats(0, 6)], [ints(0, 2, -1)]),
    ("broadcast_to", "", [floats(3, 1)], [ints(2, 3, 4)]),
    ("tile", "", [floats(2, 3)], [ints(2, 1, 2)]),
    ("strided_slice", "", [floats(6, 5)], [ints(-1, 4), ints(-7, 0), ints(-2, -1)]),
    ("strided_slice", "axes=[1]", [floats(6, 5)], [ints(1), ints(100), ints(3)]),
    ("strided_slice", 'slice_mode="size"', [floats(6, 5)], [ints(1, 2), ints(3, -1), ints(1, 1)]),
    ("full", 'dtype="int32"', [number(2.7)], [ints(2, 3)]),
    ("zeros", 'dtype="float16"', [], [ints(2, 0, 3)]),
    ("ones", 'dtype="bool"', [], [ints(2, 3)]),
    ("arange", 'dtype="float32"', [], [number(1.5), number(-2.25), number(-0.3)]),
    ("arange", 'dtype="int64"', [], [number(3, "int64"), number(11, "int64"), number(2, "int64")]),
    ("topk", "axis=0", [np.array([[3, 1], [3, np.nan], [0, 1]], np.float32)], [number(2, "int64")]),
    ("topk", 'is_ascend=True, ret_type="indices", dtype="int64"', [floats(3, 7)], [number(0, "int32")]),
    (
        "one_hot",
        'axis=0, dtype="int32"',
        [ints(1, 5, -1, 0), number(7, "int32"), number(-2, "int32")],
        [number(3, "int64")],
    ),
    ("nn.pad", "", [floats(2, 3)], [np.array([[1, 0], [2, 3]]), number(1.5)]),
    ("nn.pad", 'pad_mode="reflect"', [floats(4, 3)], [np.array([[1, 2], [0, 1]]), number(0)]),
    ("squeeze", "", [floats(1, 3, 1, 2)], [ints(-2, 0)]),
    ("expand_dims", "num_newaxis=2", [floats(3, 2)], [number(-1, "int64")]),
    ("sparse_to_dense", "", [np.array([[0, 1], [2, 2], [0, 1], [9, 0]])], [ints(3, 4), floats(4), number(0.5)]),
    ("nn.upsampling", "", [IMAGE], [number(2), number(1.5)]),
    ("nn.upsampling", 'method="bilinear", align_corners=True', [IMAGE], [number(1.5), number(2)]),
    ("image.resize2d", "", [IMAGE], [ints(7, 9), floats(0)]),
    ("image.resize2d", 'method="cubic"', [IMAGE], [ints(3, 9), floats(0)]),
    ("image.resize2d", 'method="linear"', [WHOLE], [ints(4, 6), floats(0)]),
    (
        "image.resize2d",
        'method="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9f',
        [IMAGE],
        [ints(4, 6), np.array([0.25, -0.5, 1.0, 0.75], np.float32)],
    ),
]


def program(name: str, attributes: str, given: list[Array], deciding: list[Array]) -> tuple[str, dict[str, Array]]:
    """Return a program in Relay's text, and its inputs; those that decide are called `d0` and so on."""
    inputs = {f"x{k}": array for k, array in enumerate(given)} | {f"d{k}": array for k, array in enumerate(deciding)}
    types = ", ".join(f"%{k}: Tensor[({', '.join(map(str, a.shape))}), {a.dtype.name}]" for k, a in inputs.items())
    operands = ", ".join([*(f"%{k}" for k in inputs), *filter(None, [attributes])])
    return f'#[version = "0.0.5"]\ndef @main({types}) {{ dyn.{name}({operands}) }}', inputs


def results(values: Any) -> list[Array]:
    return list(cast(Any, values)) if isinstance(values, tuple | list) else [values]


def test_the_cases_are_of_all_operators():
    assert {f"dyn.{name}" for name, *_ in CASES} == set(TABLE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_a_file_gives_what_the_machine_gives_and_what_constants_compile_to(case: Any, tmp_path: Path):
    text, inputs = program(*case)
    mod: Any = relay.parse(text)
    exe: Any = whence.compile(mod)
    assert isinstance(exe, VirtualExecutable)
    mine = results(exe(*inputs.values()))
    exe.export_library(tmp_path / "x.tar")
    loaded: Any = load_program(tmp_path / "x.tar")
    for got, wanted in zip(results(loaded(*inputs.values())), mine, strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    debug = relay.create_executor("debug", mod).evaluate()(*inputs.values())
    for got, wanted in zip(mine, results(debug), strict=True):
        np.testing.assert_array_equal(got, np.asarray(wanted))
        assert got.dtype == np.asarray(wanted).dtype
    decided = {name: array for name, array in inputs.items() if name[0] == "d"}
    static: Any = relay.transform.InferType()(mod)
    static["main"] = bind_params_by_name(static["main"], decided)
    compiled: Any = whence.compile(static, tier="static")
    given = [array for name, array in inputs.items() if name[0] == "x"]
    for got, wanted in zip(mine, results(compiled(*given)), strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def _drawn(rng: np.random.Generator) -> tuple[type[Dynamic], dict[str, Any], list[Array]]:
    """Return an operator, its attributes, and operands of which some do not fit."""
    x = rng.integers(0, 50, rng.integers(0, 4, int(rng.integers(0, 4)))).astype(np.float32)

    def numbers(least: int, most: int, count: int = 3) -> Array:
        return rng.integers(least, most, int(rng.integers(0, count + 1)))

    def axis() -> int:
        return int(rng.integers(-4, 4))

    def dividing() -> Array:
        shape = [int(n) for n in x.shape]
        for at in range(len(shape)):
            if rng.random() < 0.5:
                shape[at] = int(rng.choice([0, -1, -2, -3]))
        return np.array(shape, np.int64)

    count = int(rng.integers(0, 3))
    bounds = [rng.integers(-5, 6, count), rng.integers(-5, 6, count), rng.integers(-2, 3, count)]
    return cast(
        Any,
        [
            (DynReshapeOp, {}, [x, dividing() if rng.random() < 0.7 else numbers(-4, 5, 4)]),
            (DynReshapeOp, {"allowzero": 1}, [x, numbers(-1, 4)]),
            (
                DynBroadcastToOp,
                {},
                [x, np.array([*numbers(0, 3, 1), *(n + (n == 1) for n in x.shape)], np.int64)],
            ),
            (DynTileOp, {}, [x, numbers(-1, 4)]),
            (DynStridedSliceOp, {}, [x, *bounds]),
            (DynStridedSliceOp, {"axes": [axis() for _ in range(count)]}, [x, *bounds[:2]]),
            (DynStridedSliceOp, {"slice_mode": "size"}, [x, *bounds[:2]]),
            (DynZerosOp, {"dtype": "int8"}, [numbers(-1, 4)]),
            (DynArangeOp, {"dtype": "int32"}, list(rng.integers(-3, 9, 3).astype(np.float32))),
            (DynTopKOp, {"axis": axis()}, [x, numbers(-1, 5, 1)]),
            (DynOneHotOp, {"axis": axis()}, [x.astype(np.int32), number(1), number(0), np.int64(rng.integers(-1, 4))]),
            (
                DynPadOp,
                {"pad_mode": str(rng.choice(["constant", "edge", "reflect", "wrap", "none"]))},
                [x, rng.integers(-1 if rng.random() < 0.2 else 0, 3, (x.ndim, 2)), np.float32(1)],
            ),
            (DynSqueezeOp, {}, [x[..., None], numbers(-4, 4, 1)]),
            (DynExpandDimsOp, {"num_newaxis": int(rng.integers(-1, 3))}, [x, np.int64(axis())]),
            (DynSparseToDenseOp, {}, [rng.integers(0, 3, (2, count)), numbers(-1, 4), floats(2)]),
        ][int(rng.integers(15))],
    )


def test_numpy_takes_and_gives_what_the_static_operator_does():
    rng, taken, refused = np.random.default_rng(5), set[type](), set[type]()
    for _ in range(4_000):
        kind, attributes, operands = _drawn(rng)
        operands = [np.asarray(array) for array in operands]
        try:
            op = kind(*operands_of(operands), **attributes)
            attributes = {name: op.signature.get(name) for name in op.declared_attributes()}
        except VerifyException:
            # A type that does not fit is told before anything runs.
            continue
        task = Task(op.name.removeprefix("relay."), attributes, "here")
        try:
            wanted = evaluate(op, operands)
        except VerifyException:
            with pytest.raises(
                FrontendError, match="expected .*, got .* (here)".replace("(", r"\(").replace(")", r"\)")
            ):
                task.results(operands)
            refused.add(kind)
            continue
        for got, array in zip(task.results(operands), wanted, strict=True):
            np.testing.assert_array_equal(got, array)
            assert (got.dtype, got.shape) == (array.dtype, array.shape)
        taken.add(kind)
    assert len(taken) == 12
    assert len(refused) >= 10


def test_values_that_do_not_fit_are_told_with_the_layer(tmp_path: Path):
    text, inputs = program("reshape", "", [floats(4, 6)], [ints(5, -1)])
    exe: Any = whence.compile(cast(Any, relay.parse(text)))
    exe.export_library(tmp_path / "x.tar")
    loaded: Any = load_program(tmp_path / "x.tar")
    for run in (exe, loaded):
        with pytest.raises(
            FrontendError, match=r"dyn.reshape: expected a newshape that divides 24 elements, got \[5, -1\]"
        ):
            run(*inputs.values())
        with pytest.raises(FrontendError, match=r"dyn.reshape: expected .*from_string:2:"):
            run(inputs["x0"], ints(2**40, 2**40))
