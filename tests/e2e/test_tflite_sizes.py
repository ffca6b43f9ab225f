"""One program for all sizes of TFLite models that leave dimensions open, against LiteRT resized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter as _Interpreter
from numpy.typing import NDArray
from tflite_builder import Net

import whence
from whence.executables.executable import Executable
from whence.executables.sized import SizedExecutable
from whence.support.errors import FrontendError

Array = NDArray[Any]
Interpreter: Any = _Interpreter
RNG = np.random.default_rng(9)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int32)


def judged(model: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    judge = Interpreter(model_content=model)
    for one in judge.get_input_details():
        judge.resize_tensor_input(one["index"], inputs[one["name"]].shape)
    judge.allocate_tensors()
    for one in judge.get_input_details():
        judge.set_tensor(one["index"], inputs[one["name"]])
    judge.invoke()
    return [judge.get_tensor(one["index"]) for one in judge.get_output_details()]


def heads() -> bytes:
    """Sequences whose channels are parted, turned and given positions, by shapes that are computed; the last row."""
    net = Net()
    x = net.input("tokens", (1, 1, 8))
    net.tensors[x].shapeSignature = [-1, -1, 8]
    shape = net.tensor("shape", (3,), "int32")
    net.op("SHAPE", [x], [shape], "ShapeOptions", outType=2)
    sizes: list[int] = []
    for at in range(2):
        places = [net.const(f"{what}{at}", ints(at + k)) for k, what in enumerate(("begin", "end"))]
        sizes.append(net.tensor(f"size{at}", (), "int32"))
        inputs = [shape, *places, net.const(f"step{at}", ints(1))]
        net.op("STRIDED_SLICE", inputs, [sizes[at]], "StridedSliceOptions", shrinkAxisMask=1)
    wanted = net.tensor("wanted", (4,), "int32")
    numbers = [net.const(f"n{n}", np.array(n, np.int32)) for n in (2, 4)]
    net.op("PACK", [*sizes, *numbers], [wanted], "PackOptions", valuesCount=4)
    parted = net.tensor("parted", (1, 1, 2, 4))
    net.op("RESHAPE", [x, wanted], [parted], "ReshapeOptions")
    turned = net.tensor("turned", (1, 2, 1, 4))
    net.op("TRANSPOSE", [parted, net.const("order", ints(0, 2, 1, 3))], [turned], "TransposeOptions")
    places = net.tensor("places", (1,), "int32")
    limits = [net.const("zero", np.array(0, np.int32)), sizes[1], net.const("one", np.array(1, np.int32))]
    net.op("RANGE", limits, [places], "RangeOptions")
    last = net.tensor("last", (1, 8))
    cut = [net.const(name, ints(0, at, 0)) for name, at in (("from", -1), ("to", 0))]
    inputs = [x, *cut, net.const("by", ints(1, 1, 1))]
    net.op("STRIDED_SLICE", inputs, [last], "StridedSliceOptions", shrinkAxisMask=2, beginMask=5, endMask=5)
    return net.build([turned, places, last])


@pytest.mark.parametrize(
    ("shapes", "named"), [(None, "tokens_0, tokens_1"), ("tokens:[batch,seq<=40,8]", "batch, seq")]
)
def test_open_dimensions_are_sizes(shapes: str | None, named: str):
    model = heads()
    executable = whence.compile(model, input_shapes=shapes, audit=True, threads=1)
    assert isinstance(executable, SizedExecutable)
    assert str(executable.inputs[0]) == f"float32[{named}, 8] 'tokens'"
    for batch, length in ((1, 1), (2, 7), (3, 33)):
        inputs = {"tokens": floats(batch, length, 8)}
        for found, expected in zip(executable.run(inputs).values(), judged(model, inputs), strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found, expected)
    length = named.split(", ")[1]
    with pytest.raises(FrontendError, match=f"{length}( <= 40| - 1)"):
        executable.run({"tokens": floats(1, 41 if shapes else 0, 8)})


def windows(stride: int) -> bytes:
    net = Net()
    x = net.input("image", (1, 4, 4, 1))
    net.tensors[x].shapeSignature = [-1, -1, -1, 1]
    y = net.tensor("pool", (1, 4, 4, 1))
    sides: dict[str, Any] = {"strideH": stride, "strideW": stride, "filterHeight": 3, "filterWidth": 3}
    net.op("MAX_POOL_2D", [x], [y], "Pool2DOptions", padding=0, **sides)
    return net.build([y])


@pytest.mark.parametrize("stride", [1, 2])
def test_windows_pad_images_of_any_size(stride: int):
    model = windows(stride)
    executable = whence.compile(model, threads=1, tier="symbolic")
    for shape in ((1, 4, 4, 1), (2, 7, 10, 1), (1, 33, 1, 1)):
        inputs = {"image": floats(*shape)}
        np.testing.assert_array_equal(executable.run(inputs)["pool"], judged(model, inputs)[0])


def test_numbers_and_the_static_tier_have_certain_sizes():
    model = windows(1)
    given = whence.compile(model, input_shapes="image:[2,5,5,1]", threads=1)
    static = whence.compile(model, tier="static", threads=1)
    assert [one.inputs[0].shape for one in (given, static)] == [(2, 5, 5, 1), (1, 4, 4, 1)]
    assert not any(isinstance(one, SizedExecutable) for one in (given, static))
    assert isinstance(static, Executable)
    with pytest.raises(FrontendError, match=r"agrees with the model's \[1, 4, 4, 1\], got \[n, 4\]"):
        whence.compile(model, input_shapes="image:[n,4]", tier="symbolic")
