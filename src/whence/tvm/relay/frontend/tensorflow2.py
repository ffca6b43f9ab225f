"""Graphs of TensorFlow 2 as Relay, with TVM's name: `relay.frontend.tensorflow2.from_tensorflow`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.reading.input_shapes import InputShapes
from whence.relay.frontend import tensorflow
from whence.relay.module import IRModule
from whence.support.doors import door
from whence.support.dtypes import Array


@door()
def from_tensorflow(
    graph_def: Any,
    layout: str = "NHWC",
    shape: InputShapes | None = None,
    outputs: Sequence[str] | None = None,
) -> tuple[IRModule, dict[str, Array]]:
    """The module of a graph with functions and lists of tensors, and the values of its parameters.

    Arguments, results and errors are those of `relay.frontend.from_tensorflow`, which takes such graphs, too.
    """
    return tensorflow.from_tensorflow(graph_def, layout, shape, outputs)
