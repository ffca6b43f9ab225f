"""A relay function as an ONNX model: what the operators of one are as nodes.

Operators are those whose meaning ONNX has as it is; `exports` says which, attributes and dtypes included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue

from ...dialects.element_types import dtype_name, numpy_dtype
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import StridedSliceOp, TakeOp
from ...provenance.diagnostics import fail
from ...provenance.span import layer_names
from ...support.dtypes import Array, limits

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

OPSET = 17
_IR_VERSION = 10
"""The first with metadata of nodes."""
LAYERS = "whence.layers"
"""The key of a node's metadata that names the layers which it serves."""


@dataclass
class Graph:
    """Nodes so far, and the names of values."""

    nodes: list[NodeProto] = field(default_factory=lambda: list["NodeProto"]())
    initializers: list[TensorProto] = field(default_factory=lambda: list["TensorProto"]())
    names: dict[SSAValue, str] = field(default_factory=lambda: dict[SSAValue, str]())
    layers: str = ""
    """The layers of the current operator."""
    taken: set[str] = field(default_factory=lambda: set[str]())

    def unique(self, wanted: str) -> str:
        """A name that no other value has, the wanted one if that is free."""
        name = next(name for name in chain([wanted], (f"{wanted}_{k}" for k in count())) if name not in self.taken)
        self.taken.add(name)
        return name

    def constant(self, array: Array) -> str:
        """The name of a constant."""
        from onnx import numpy_helper

        name = self.unique(f"c{len(self.initializers)}")
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def shape(self, extents: Sequence[int]) -> str:
        """The name of a constant list of ints."""
        return self.constant(np.array(extents, np.int64))

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add a node of one output; its name."""
        return self.several(kind, inputs, 1, **attributes)[0]

    def several(self, kind: str, inputs: Sequence[str], outputs: int, **attributes: Any) -> list[str]:
        """Add a node; the names of its outputs."""
        from onnx import helper

        number = len(self.nodes)
        names = [self.unique(f"v{number}") for _ in range(outputs)]
        new = helper.make_node(kind, list(inputs), names, name=f"{kind}_{number}")
        new.metadata_props.add(key=LAYERS, value=self.layers)
        new.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(new)
        return names


Emit: TypeAlias = Callable[[Graph, Operator, Sequence[str]], str]
Holds: TypeAlias = Callable[[Operator], bool]
Row: TypeAlias = tuple[Callable[[Graph, Operator, Sequence[str]], Sequence[str]], Holds]
"""How an operator becomes nodes with an output for each result, and whether an op of the kind can."""
NO_ROWS: Mapping[str, Row] = {}


def _anything(op: Operator) -> bool:
    return True


def _plain(kind: str, *copied: str) -> Emit:
    """A node of the same operands; `copied` are attributes of the same name and meaning."""

    def emit(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
        return graph.node(kind, inputs, **{name: op.signature.get(name) for name in copied})

    return emit


def _reshaped(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    return graph.node("Reshape", [inputs[0], graph.shape(shape_of(op.results[0]))])


def _expanded(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    return graph.node("Expand", [inputs[0], graph.shape(shape_of(op.results[0]))])


def _transposed(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    rank = len(shape_of(op.operands[0]))
    axes = op.signature.get("axes")
    return graph.node("Transpose", inputs, perm=[a % rank for a in axes] if axes else list(range(rank))[::-1])


def _clip(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    dtype = numpy_dtype(element_of(op.results[0]))
    low, high = float(op.signature.get("a_min")), float(op.signature.get("a_max"))
    if dtype.kind in "iu":
        # A bound between two integers binds at the one inside.
        least, most = limits(dtype.name)
        low, high = (float(np.clip(number, least, most)) for number in (np.ceil(low), np.floor(high)))
    bounds = [graph.constant(np.array(bound).astype(dtype)) for bound in (low, high)]
    return graph.node("Clip", [inputs[0], *bounds])


def _conv(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    sig = op.signature
    return graph.node(
        "Conv",
        inputs,
        strides=sig.ints("strides"),
        dilations=sig.ints("dilation"),
        pads=_pads(op),
        group=sig.int("groups"),
    )


def _pads(op: Operator) -> list[int]:
    """Before every axis, then behind every axis."""
    rank, padding = len(shape_of(op.operands[0])) - 2, op.signature.ints("padding")
    if len(padding) == 1:
        return [*padding] * (2 * rank)
    return [*padding, *padding] if len(padding) == rank else [*padding]


def _unblocked(op: Operator) -> bool:
    """Return whether all layouts are channels first, one axis each."""
    spatial = "DHW"[-(len(shape_of(op.operands[0])) - 2) :]
    layouts = {
        "data_layout": f"NC{spatial}",
        "layout": f"NC{spatial}",
        "kernel_layout": f"OI{spatial}",
        "out_layout": f"NC{spatial}",
    }
    values = {name: op.signature.get(name) for name in layouts if name in op.declared_attributes()}
    return all(value in ("", layouts[name]) for name, value in values.items())


def _inside(op: Operator) -> bool:
    """Return whether layouts fit, and no window begins behind the image: ONNX omits those that `ceil_mode` makes."""
    if not _unblocked(op):
        return False
    pads, strides = _pads(op), op.signature.ints("strides")
    axes = zip(shape_of(op.operands[0])[2:], shape_of(op.results[0])[2:], strides, pads, strict=False)
    return all((count - 1) * stride < extent + before for extent, count, stride, before in axes)


def _undilated(op: Operator) -> bool:
    return _inside(op) and set(op.signature.ints("dilation")) == {1}


def _dense(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    return graph.node("Gemm", inputs, transB=1)


def _matmul(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    operands = list(inputs)
    for index, name in enumerate(("transpose_a", "transpose_b")):
        if op.signature.get(name):
            rank = len(shape_of(op.operands[index]))
            perm = [*range(rank - 2), rank - 1, rank - 2]
            operands[index] = graph.node("Transpose", [operands[index]], perm=perm)
    return graph.node("MatMul", operands)


def _bias_add(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    rank = len(shape_of(op.operands[0]))
    axis = op.signature.int("axis") % rank
    shape = [-1 if at == axis else 1 for at in range(rank)]
    return graph.node("Add", [inputs[0], graph.node("Reshape", [inputs[1], graph.shape(shape)])])


def _pool(kind: str, *more: str) -> Emit:
    def emit(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
        sig = op.signature
        extra = {name: int(sig.get(name)) for name in more}
        if kind == "MaxPool":
            extra["dilations"] = sig.get("dilation")
        ceil = int(sig.get("ceil_mode"))
        window = {"kernel_shape": sig.ints("pool_size"), "strides": sig.ints("strides"), "pads": _pads(op)}
        return graph.node(kind, inputs, ceil_mode=ceil, **window, **extra)

    return emit


def _reduced(kind: str) -> Emit:
    def emit(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
        sig, rank = op.signature, len(shape_of(op.operands[0]))
        axes = sig.get("axis")
        chosen = list(range(rank)) if axes is None else sorted(axis % rank for axis in axes)
        if sig.get("exclude"):
            chosen = [axis for axis in range(rank) if axis not in chosen]
        keep = int(sig.get("keepdims"))
        if kind == "ReduceSum":
            return graph.node(kind, [inputs[0], graph.shape(chosen)], keepdims=keep)
        return graph.node(kind, inputs, axes=chosen, keepdims=keep)

    return emit


def _reduces(op: Operator) -> bool:
    """Return whether it reduces something: of no axes at all ONNX makes all."""
    axes = op.signature.get("axis")
    return not op.signature.get("exclude") and (axes is None or len(axes) > 0)


def _layer_norm(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    return graph.node("LayerNormalization", inputs, axis=-1, epsilon=op.signature.get("epsilon"))


def _of_last_axis(op: Operator) -> bool:
    sig = op.signature
    return sig.int("axis") in (-1, len(sig.shape(0)) - 1) and sig.get("center") and sig.get("scale")


def _taken(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    """Gather refuses indices that are outside, which take brings into range."""
    place, extents = TakeOp.place(op.signature), shape_of(op.operands[0])
    data, indices = inputs
    if place is None:
        data = graph.node("Reshape", [data, graph.shape([-1])])
    axis, extent = (0, prod(extents)) if place is None else (place[0], extents[place[0]])
    dtype = numpy_dtype(element_of(op.operands[1]))
    match op.signature.str("mode"):
        case "clip":
            bounds = [graph.constant(np.array(bound, dtype)) for bound in (0, extent - 1)]
            indices = graph.node("Clip", [indices, *bounds])
        case "wrap":
            indices = graph.node("Mod", [indices, graph.constant(np.array(extent, dtype))])
        case _:
            pass
    return graph.node("Gather", [data, indices], axis=axis)


def _takes(op: Operator) -> bool:
    """Return whether no dimension of the indices is one of the data, and data and indices have dtypes of ONNX's."""
    place = TakeOp.place(op.signature)
    data, indices = (dtype_name(element_of(value)) for value in op.operands)
    return (place is None or place[1] == 0) and data in _ORDERED | {"bool"} and indices in ("int32", "int64")


def _sliced(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    spans = StridedSliceOp.ranges(op.signature)
    extents = shape_of(op.operands[0])
    # An end before the first element counts from the end, unless it lies before all.
    ends = [indices.stop if indices.stop >= 0 else -extent - 1 for indices, extent in zip(spans, extents, strict=True)]
    lists = ([one.start for one in spans], ends, list(range(len(spans))), [one.step for one in spans])
    return graph.node("Slice", [inputs[0], *map(graph.shape, lists)])


def _padded(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    sig = op.signature
    width, mode = sig.ints("pad_width"), sig.str("pad_mode")
    pads = graph.shape([*width[::2], *width[1::2]])
    values = [graph.node("Reshape", [inputs[1], graph.shape([])])] if mode == "constant" else []
    return graph.node("Pad", [inputs[0], pads, *values], mode=mode)


def _pads_alike(op: Operator) -> bool:
    """Return whether ONNX has the mode, and no reflection is of one."""
    sig = op.signature
    width, extents = sig.ints("pad_width"), shape_of(op.operands[0])
    sides = zip(width[::2], width[1::2], extents, strict=True)
    inside = all(max(before, after) < extent for before, after, extent in sides)
    return sig.str("pad_mode") in ("constant", "edge") or (sig.str("pad_mode") == "reflect" and inside)


def _conv_transpose(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    strides, dilations, more = _steps(op)
    lists = {"strides": strides, "dilations": dilations, "output_padding": more}
    return graph.node("ConvTranspose", inputs, pads=_pads(op), group=op.signature.int("groups"), **lists)


def _steps(op: Operator) -> list[list[int]]:
    """Strides, dilations and output paddings, of each axis of an image."""
    rank = len(shape_of(op.operands[0])) - 2
    lists = [op.signature.ints(name) for name in ("strides", "dilation", "output_padding")]
    return [[*numbers] * (rank if len(numbers) == 1 else 1) for numbers in lists]


def _transposes(op: Operator) -> bool:
    """Return whether channels are first, and no output padding is as long as a step, as onnxruntime requires."""
    spatial = "DHW"[-(len(shape_of(op.operands[0])) - 2) :]
    sig = op.signature
    layouts = sig.str("data_layout") == f"NC{spatial}" and sig.str("out_layout") in ("", f"NC{spatial}")
    kernels = sig.str("kernel_layout") in (f"IO{spatial}", f"OI{spatial}")
    return layouts and kernels and all(more < max(steps) for *steps, more in zip(*_steps(op), strict=True))


def _instance_norm(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    return graph.node("InstanceNormalization", inputs, epsilon=op.signature.get("epsilon"))


def _of_channels(op: Operator) -> bool:
    sig = op.signature
    return sig.int("axis") == 1 and len(sig.shape(0)) > 2 and sig.get("center") and sig.get("scale")


def _blocks(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    sig = op.signature
    return graph.node("DepthToSpace", inputs, blocksize=sig.int("block_size"), mode=sig.str("mode"))


_UNARY = {
    **{"abs": "Abs", "ceil": "Ceil", "cos": "Cos", "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log"},
    **{"negative": "Neg", "nn.relu": "Relu", "sigmoid": "Sigmoid", "sin": "Sin", "sqrt": "Sqrt", "tanh": "Tanh"},
}
_BINARY = {
    **{"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div"},
    **{"maximum": "Max", "minimum": "Min", "power": "Pow"},
}

_COMPARISONS = {
    **{"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual"},
    "equal": "Equal",
}


def _cast(graph: Graph, op: Operator, inputs: Sequence[str]) -> str:
    return graph.node("Cast", inputs, to=element_kind(op.results[0]))


def _casts(op: Operator) -> bool:
    """Not from floats to integers, which do not hold all of them."""
    kinds = [numpy_dtype(element_of(value)).kind for value in (op.operands[0], op.results[0])]
    return kinds[0] != "f" or kinds[1] == "f"


def _compares(op: Operator) -> bool:
    return dtype_name(element_of(op.operands[0])) in _WIDE


EXPORTED: Mapping[str, tuple[Emit, Holds]] = {
    **{name: (_plain(kind), _anything) for name, kind in (*_UNARY.items(), *_BINARY.items())},
    **{name: (_reshaped, _anything) for name in ("reshape", "squeeze", "expand_dims", "nn.batch_flatten")},
    **{f"nn.conv{rank}d": (_conv, _unblocked) for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": (_pool("MaxPool"), _inside) for rank in (1, 2, 3)},
    **{f"nn.avg_pool{rank}d": (_pool("AveragePool", "count_include_pad"), _undilated) for rank in (1, 2, 3)},
    **{name: (_reduced(f"Reduce{name.title()}"), _reduces) for name in ("sum", "mean", "max", "min", "prod")},
    **{name: (_plain(kind), _compares) for name, kind in _COMPARISONS.items()},
    "cast": (_cast, _casts),
    "where": (_plain("Where"), lambda op: dtype_name(element_of(op.operands[1])) in _WIDE),
    "broadcast_to": (_expanded, _anything),
    "clip": (_clip, _anything),
    "concatenate": (_plain("Concat", "axis"), _anything),
    "nn.batch_matmul": (_matmul, _anything),
    "nn.bias_add": (_bias_add, _anything),
    "nn.dense": (_dense, _anything),
    "nn.global_avg_pool2d": (_plain("GlobalAveragePool"), _unblocked),
    "nn.global_max_pool2d": (_plain("GlobalMaxPool"), _unblocked),
    "nn.layer_norm": (_layer_norm, _of_last_axis),
    "nn.leaky_relu": (_plain("LeakyRelu", "alpha"), _anything),
    "nn.log_softmax": (_plain("LogSoftmax", "axis"), _anything),
    "nn.matmul": (_matmul, _anything),
    "nn.softmax": (_plain("Softmax", "axis"), _anything),
    "transpose": (_transposed, _anything),
    "copy": (_plain("Identity"), _anything),
    "take": (_taken, _takes),
    "strided_slice": (_sliced, _anything),
    "nn.pad": (_padded, _pads_alike),
    **{f"nn.conv{rank}d_transpose": (_conv_transpose, _transposes) for rank in (1, 2, 3)},
    "nn.instance_norm": (_instance_norm, _of_channels),
    "nn.depth_to_space": (_blocks, lambda op: op.signature.str("layout") == "NCHW"),
}
"""Operator -> how it becomes nodes, and whether an op of the kind can."""

_HALVES = frozenset({"float16", "float32"})
_FLOATS = _HALVES | {"float64"}
_WIDE = _FLOATS | {"int32", "int64"}
_ORDERED = _WIDE | {"int8", "uint8"}
_SINGLE = {
    "erf",
    *(f"nn.{kind}{rank}d" for kind in ("conv", "avg_pool") for rank in (1, 2, 3)),
    *(f"nn.global_{kind}_pool2d" for kind in ("avg", "max")),
}
"""Operators that onnxruntime has no code on doubles for."""
_MOVING = {
    *("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "broadcast_to", "concatenate", "transpose"),
    *("copy", "strided_slice"),
}
DTYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(_SINGLE, _HALVES),
    **dict.fromkeys(_MOVING, _ORDERED | {"bool"}),
    **dict.fromkeys(("abs", "maximum", "minimum", "max", "min", "clip"), _ORDERED),
    **dict.fromkeys(("add", "subtract", "multiply", "nn.bias_add", "sum", "nn.batch_matmul", "nn.matmul"), _WIDE),
    **dict.fromkeys(("negative", "nn.relu"), _FLOATS | {"int32"}),
    **{f"nn.max_pool{rank}d": _FLOATS | {"int8", "uint8"} for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": frozenset({"float32"}) for rank in (1, 2, 3)},
    **{"nn.instance_norm": frozenset({"float32"}), "nn.depth_to_space": frozenset({"float32", "float64"})},
    "nn.pad": _WIDE,
}
"""Operator -> the dtypes that onnxruntime has it on, if these are not all floats."""
_CONVERTING = {"cast", *_COMPARISONS, "where", "take"}
"""Operators whose operands and results may be of several dtypes."""


def exports(op: Operator) -> bool:
    """Return whether an op can be part of a model: in the table, of dtypes in it, of known shapes with elements."""
    name = op.name.removeprefix("relay.")
    row = EXPORTED.get(name)
    values = (*op.operands, *op.results)
    if row is None or not all(extent > 0 for value in values for extent in shape_of(value)):
        return False
    dtypes = {dtype_name(element_of(value)) for value in values}
    if name in _CONVERTING:
        return dtypes <= _ORDERED | {"bool"} and row[1](op)
    return len(dtypes) == 1 and dtypes <= DTYPES.get(name, _FLOATS) and row[1](op)


def export(module: ModuleOp, name: str | None = None, more: Mapping[str, Row] = NO_ROWS) -> ModelProto:
    """The ONNX model of `@main` of a module, calls of other functions included.

    more: rows of operators beside the table. name: of the model, whose inputs and outputs have the names of the
    function's then; without it, inputs are `x0`, .., outputs `y0`, .., as equal functions have equal models. Nodes have
    the layers that they serve as metadata. Raises VerifyException for an op that ONNX does not have.
    """
    from onnx import helper

    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    main, graph = functions["main"], Graph()
    values = main.return_op.values
    hints = [None if name is None else argument.name_hint for argument in main.block.args]
    inputs = [graph.unique(hint or f"x{number}") for number, hint in enumerate(hints)]
    outputs = [graph.unique(hint) for hint in _output_names(main, named=name is not None)]
    graph.names.update(zip(main.block.args, inputs, strict=True))
    for output, result in zip(outputs, _emit(graph, main, module, functions, more), strict=True):
        graph.nodes.append(helper.make_node("Identity", [result], [output]))

    def infos(names: Sequence[str], of: Sequence[SSAValue]) -> list[ValueInfoProto]:
        pairs = zip(names, of, strict=True)
        return [helper.make_tensor_value_info(one, element_kind(value), shape_of(value)) for one, value in pairs]

    whole = helper.make_graph(
        graph.nodes, name or "main", infos(inputs, main.block.args), infos(outputs, values), graph.initializers
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=_IR_VERSION)


def _output_names(main: FuncOp, *, named: bool) -> list[str]:
    count = len(main.return_op.values)
    listed = main.attributes.get("output_names") if named else None
    names = cast("ArrayAttr[StringAttr]", listed).data if isinstance(listed, ArrayAttr) else ()
    return [name.data for name in names] if len(names) == count else [f"y{number}" for number in range(count)]


def element_kind(value: SSAValue) -> int:
    """Return ONNX's number of a value's dtype."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(numpy_dtype(element_of(value)))


def _emit(
    graph: Graph, func: FuncOp, module: ModuleOp, functions: Mapping[str, FuncOp], more: Mapping[str, Row]
) -> list[str]:
    """The nodes of a function whose parameters have names; the names of what it returns."""
    for op in func.block.ops:
        graph.layers = ", ".join(layer_names(op.location))
        operands = [graph.names[value] for value in op.operands]
        if isinstance(op, ReturnOp):
            return operands
        if isinstance(op, ConstantOp):
            graph.names[op.result] = graph.constant(op.value(module))
        elif isinstance(op, CallOp) and op.callee.string_value() in functions:
            callee = functions[op.callee.string_value()]
            # A function may be called again: its values get new names then.
            graph.names.update(zip(callee.block.args, operands, strict=True))
            graph.names.update(zip(op.outputs, _emit(graph, callee, module, functions, more), strict=True))
        elif isinstance(op, Operator) and exports(op):
            graph.names[op.results[0]] = EXPORTED[op.name.removeprefix("relay.")][0](graph, op, operands)
        elif isinstance(op, Operator) and (row := more.get(op.name.removeprefix("relay."))) is not None and row[1](op):
            graph.names.update(zip(op.results, row[0](graph, op, operands), strict=True))
        else:
            fail(op, "an operator that ONNX has as it is", op.name)
    fail(func, "a body that ends in relay.return", "none")
