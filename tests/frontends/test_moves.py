"""Moves whose extents a call decides, and element types that meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_graphs
from meanings.formats import keras, torch

import whence

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def _graph(*shapes: tuple[int, ...]) -> tuple[tensorflow_graphs.Net, list[str]]:
    net = tensorflow_graphs.Net()
    return net, [net.placeholder(f"x{at}", shape) for at, shape in enumerate(shapes)]


def _sized(model: Any) -> Any:
    """Compile a model to one program for all extents."""
    compiled = whence.compile(model)
    assert str(compiled.choice).startswith("sized")
    return compiled


def _joined() -> bytes:
    net, (a, b) = _graph((-1, 3), (-1, 3))
    net.op("ConcatV2", "y", a, b, net.const("axis", 1, "int32"), T="float32", Tidx="int32", N=2)
    return net.build()


def test_tensors_of_open_extents_are_joined_where_the_call_says_that_they_are_equal():
    compiled = _sized(_joined())
    np.testing.assert_array_equal(compiled(X, -X), np.concatenate([X, -X], 1))


def test_tensors_of_other_extents_are_refused_at_the_call():
    compiled = _sized(_joined())
    with pytest.raises(whence.WhenceError, match=r"x1"):
        compiled(X, X[:1])


@pytest.mark.parametrize(("start", "step"), [(0, 1), (3, 1), (1, 2)])
def test_a_range_up_to_an_open_extent(start: int, step: int):
    net, (x,) = _graph((-1, 3))
    shape = net.op("Shape", "shape", x, T="float32", out_type="int32")
    ends = [net.const(name, [number], "int32") for name, number in (("zero", 0), ("one", 1))]
    rows = net.op("StridedSlice", "rows", shape, *ends, ends[1], T="int32", Index="int32", shrink_axis_mask=1)
    numbers = [net.const(name, number, "int32") for name, number in (("start", start), ("step", step))]
    net.op("Range", "y", numbers[0], rows, numbers[1], Tidx="int32")
    compiled = _sized(net.build())
    for count in (2, 7):
        result = compiled(np.zeros((count, 3), np.float32))
        np.testing.assert_array_equal(result, np.arange(start, count, step, dtype=np.int32))


def test_shapes_of_open_extents_broadcast():
    net, (x, y) = _graph((-1, 1), (1, -1))
    shapes = [net.op("Shape", f"shape {part}", part, T="float32", out_type="int32") for part in (x, y)]
    both = net.op("BroadcastArgs", "both", *shapes, T="int32")
    net.op("BroadcastTo", "z", x, both, T="float32", Tidx="int32")
    compiled = _sized(net.build())
    np.testing.assert_array_equal(compiled(X[:, :1], X[:1]), np.broadcast_to(X[:, :1], (2, 3)))


class _Open(keras.Net):
    """A model whose inputs have an open first axis."""

    def input(self, array: Any) -> Any:
        value = super().input(array)
        self.layers[-1]["config"]["batch_shape"][0] = None
        return value


def test_an_open_axis_is_rolled(tmp_path: Path):
    net = _Open()
    model = tmp_path / "rolled.keras"
    model.write_bytes(net.build([net("Roll", net.input(X), shift=1, axis=0)], [X]))
    compiled = _sized(model)
    np.testing.assert_array_equal(compiled(X), np.roll(X, 1, 0))


@pytest.mark.parametrize("operator", ["hstack", "vstack", "dstack", "column_stack"])
def test_stacked_tensors_meet_in_an_element_type(operator: str):
    net = torch.Net()
    whole = np.arange(6, dtype=np.int64).reshape(2, 3)
    expected = getattr(np, operator)([whole, X]).astype(np.float32)
    result = net(f"aten.{operator}.default", tensors=[net.input(whole), net.input(X)])
    compiled: Any = whence.compile(net.build([result], [expected]))
    np.testing.assert_array_equal(compiled(whole, X), expected)
