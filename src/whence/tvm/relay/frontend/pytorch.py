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
    shape of each input, in order, `("x", (1, 3))` or `("x", ((1, 3), "int64"))`; tuples and lists of tensors have
    tuples and lists of shapes. custom_convert_map: operator, such as "aten::foo" -> a function of its arguments, which
    are expressions, numbers and lists, and of their element types, that returns an expression or a list of expressions;
    it takes precedence over our converters. default_dtype: the dtype of inputs without one in the graph and the infos.
    use_parser_friendly_name: whether names of layers have `_` in place of `:` and `.`. preserve_pytorch_scopes: whether
    layers and weights are named after their modules. export_renamed_c_graph_path: the folder in which to write the
    graph to a file. keep_quantized_weight: has no effect, because quantized operators are refused.
    Weights are variables named after the first operator that reads them, `aten::_convolution_0.weight`.

    Raises InputInfosError, a RuntimeError, for unfitting infos; OperatorsMissing, a NotImplementedError, which names
    all operators without a converter; and FrontendError where values decide control flow or shapes.
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
