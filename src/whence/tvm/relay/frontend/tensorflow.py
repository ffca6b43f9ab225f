"""Graphs of TensorFlow as Relay, with TVM's name: `relay.frontend.from_tensorflow`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence.compiler.load import import_at
from whence.reading.input_shapes import InputShapes
from whence.relay.frontend.spans_off import forget_places
from whence.relay.module import IRModule
from whence.support.context import PassContext, spans_enabled
from whence.support.doors import door
from whence.support.dtypes import Array
from whence.support.errors import FrontendError


@door()
def from_tensorflow(
    graph: Any,
    layout: str = "NHWC",
    shape: InputShapes | None = None,
    outputs: Sequence[str] | None = None,
    convert_config: Mapping[str, bool] | None = None,
) -> tuple[IRModule, dict[str, Array]]:
    """Return the module of a TensorFlow graph, and the values of its constants as parameters.

    graph: a GraphDef, its bytes, or the path of a frozen graph or of the folder of a saved model. layout: NCHW to
    transpose images in NHWC. shape: shapes of placeholders, as in `from_onnx`.
    outputs: nodes, as `node` or `node:slot`; by default the last node of a graph, or those of the default signature.
    convert_config: `use_dense`, whether products are nn.dense, else nn.matmul; `use_nt_batch_matmul` has no effect.
    Constants are variables with the names of their nodes; scalars stay constants.

    Raises FrontendError if the graph is bad, uses unsupported operators, or does not fit the shapes.
    """
    from whence.frontends.importing.parameters import as_parameters
    from whence.frontends.tensorflow.context import Conversion
    from whence.frontends.tensorflow.model import model_of
    from whence.frontends.tensorflow.source import read

    config = dict(convert_config or {})
    if layout not in ("NHWC", "NCHW") or config.keys() - {"use_dense", "use_nt_batch_matmul"}:
        wanted = "layout NHWC or NCHW, and use_dense or use_nt_batch_matmul in convert_config"
        raise FrontendError(f"from_tensorflow: expected {wanted}, got {layout!r} and {sorted(config)}")
    source = read(graph, None)
    if outputs is None and source.signature is None:
        outputs = list(source.main.nodes)[-1:]
    opened = model_of(source, outputs, conversion=Conversion(layout, config.get("use_dense", True)))
    spans = spans_enabled()
    with PassContext(config={"relay.frontend.fill_span": True}):  # parameters are found by the names of layers
        module = import_at(opened, shape)
    constants = opened.region.constants

    def name_of(layers: tuple[str, ...]) -> str | None:
        return layers[0] if len(layers) == 1 and layers[0] in constants and constants[layers[0]].ndim else None

    params = as_parameters(module, name_of)
    if not spans:
        forget_places(module)
    return IRModule.of(module), params
