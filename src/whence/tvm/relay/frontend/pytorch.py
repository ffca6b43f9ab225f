"""TorchScript programs as Relay, with TVM's names: `relay.frontend.from_pytorch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whence.relay.frontend.spans_off import forget_places
from whence.relay.module import IRModule
from whence.support.context import PassContext, spans_enabled
from whence.support.doors import door
from whence.support.dtypes import Array


@door()
def from_pytorch(
    script_module: Any,
    input_infos: Sequence[tuple[str, Any]],
    custom_convert_map: Mapping[str, Callable[..., Any]] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | None = None,
    preserve_pytorch_scopes: bool = False,
) -> tuple[IRModule, dict[str, Array]]:
    """Return the module of a TorchScript program, and the values of its weights as parameters.

    script_module: the result of `torch.jit.trace` or `torch.jit.script`, a module or function. input_infos: name and
    shape of each input, in order, `("x", (1, 3))` or `("x", ((1, 3), "int64"))`; of tuples and lists of tensors, those
    of shapes. custom_convert_map: operator, as "aten::foo" -> a function of its arguments, which are expressions,
    numbers and lists, and of their element types, that gives an expression or a list of them; it goes before our own.
    default_dtype: of inputs whose type neither the graph nor `input_infos` says.
    use_parser_friendly_name: whether names of layers have `_` in place of `:` and `.`. preserve_pytorch_scopes: whether
    layers and weights are called after their modules. export_renamed_c_graph_path: the folder of a file to write, with
    the graph as it is read. keep_quantized_weight: changes nothing, for quantized operators are refused.
    Weights are variables called after the first operator that reads them, `aten::_convolution_0.weight`.

    Raises InputInfosError, a RuntimeError, for infos that do not fit; OperatorsMissing, a NotImplementedError, that
    names all operators without a converter; FrontendError where values decide what is computed.
    """
    from whence.frontends.importing.parameters import as_parameters
    from whence.frontends.importing.whole_models import import_model
    from whence.frontends.torch.relay_control import choose_in_language
    from whence.frontends.torch.script import Options, graph_of, write_graph
    from whence.frontends.torch.script_inputs import input_specs
    from whence.frontends.torch.script_model import script_model

    options = Options(use_parser_friendly_name, preserve_pytorch_scopes, dict(custom_convert_map or {}))
    graph, inputs = graph_of(script_module)
    specs = input_specs(inputs, input_infos, default_dtype)
    if export_renamed_c_graph_path:
        write_graph(graph, options, export_renamed_c_graph_path)
    opened = script_model(script_module, specs, options)
    opened.model.control = choose_in_language
    spans = spans_enabled()
    with PassContext(config={"relay.frontend.fill_span": True}):  # parameters are found by the names of layers
        module = import_model(opened.model, {})
    names = opened.parameters()
    params = as_parameters(module, lambda layers: names.get(layers[0]) if len(layers) == 1 else None)
    if not spans:
        forget_places(module)
    return IRModule.of(module), params
