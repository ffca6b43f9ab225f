"""A checked model -> module: names the tensors, converts node by node, accounts for what vanished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from onnx import NodeProto
from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.relay.core import FuncOp, ReturnOp
from ...provenance.audit import surviving_leaves
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import describe, message
from ...provenance.ledger import current_ledger
from ...provenance.span import fuse, layer_location, leaves
from ...support.context import spans_enabled
from ...support.errors import FrontendError
from .context import Context, Tensor
from .convert import converter_of
from .converter import Narrowed, Result
from .fold import folded
from .inputs import input_types
from .load import Source
from .names import value_name
from .tensors import to_array


def import_model(source: Source, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
    """The relay module of a loaded model; `shapes` are those of `from_onnx`."""
    return _Importer(source).run(shapes)


def _strings(names: Iterable[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(name) for name in names])


def _location_of(value: SSAValue) -> LocationAttr:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner.location
    return next(argument.location for argument in owner.args if argument is value)


class _Importer:
    """The state of one import."""

    def __init__(self, source: Source):
        self.source = source
        self.graph = source.model.graph
        self.spans = spans_enabled()
        self.module = ModuleOp([])
        self.tensors: dict[str, Tensor] = {}
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self.first_use: dict[str, int] = {}
        for index, node in enumerate(self.graph.node):
            for name in node.input:
                self.first_use.setdefault(name, index)
        self.reads: list[tuple[Tensor, LocationAttr]] = []
        """Known tensors whose values were looked at, and the layers that did."""

    def run(self, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
        types = input_types(self.source, shapes)
        main = FuncOp("main", list(types.values()), [], location=self.leaf(self.graph.name or "main", 0))
        self.module.body.block.add_op(main)
        for argument, name in zip(main.block.args, types, strict=True):
            argument.location = self.tensor_leaf(name)
            argument.name_hint = value_name(name)
            self.tensors[name] = Tensor(name, value=argument, leaf=argument.location)
        builder = LocatedBuilder(main.block)
        layers = [layer_location(name, self.source.file, index) for index, name in enumerate(self.source.layers)]
        for node, layer in zip(self.graph.node, layers, strict=True):
            self.convert(node, layer, builder)
        outputs = [output.name for output in self.graph.output]
        values = [self.lookup(name, None).materialise(builder, self.module) for name in outputs]
        with builder.located(fuse(map(_location_of, values))):
            builder.add(ReturnOp(*values))
        main.update_type()
        main.attributes |= {"input_names": _strings(types), "output_names": _strings(outputs)}
        if self.spans:
            self.account(main, layers)
        return self.module

    def leaf(self, name: str, index: int) -> LocationAttr:
        return layer_location(name, self.source.file, index) if self.spans else UNKNOWN_LOC

    def tensor_leaf(self, name: str) -> LocationAttr:
        """The leaf of an input or initializer: `<layer>.<tensor>` of its first consumer."""
        index = self.first_use.get(name)
        return self.leaf(name, 0) if index is None else self.leaf(f"{self.source.layers[index]}.{name}", index)

    def lookup(self, name: str, reader: tuple[NodeProto, LocationAttr] | None) -> Tensor:
        """The tensor of a name; an initializer is decoded when it is first asked for."""
        if (tensor := self.tensors.get(name)) is not None:
            return tensor
        if (proto := self.initializers.get(name)) is None:
            where = f"{reader[0].op_type} ({describe(reader[1])})" if reader else self.source.file
            raise FrontendError(f"{where}: expected outputs that exist at inference, got '{name}'")
        array = to_array(proto, self.source.folder, f"{self.source.file}: initializer '{name}'")
        tensor = self.tensors[name] = Tensor(name, array, leaf=self.tensor_leaf(name))
        return tensor

    def convert(self, node: NodeProto, layer: LocationAttr, builder: LocatedBuilder) -> None:
        """Emit what a node stands for, or evaluate it, and bind its outputs."""
        location = layer if self.spans else UNKNOWN_LOC
        inputs = [self.lookup(name, (node, layer)) if name else None for name in node.input]
        while inputs and inputs[-1] is None:
            inputs.pop()
        context = Context(node, self.source.opset, layer, inputs, builder, self.module, self.source.folder)
        converter = converter_of(node.domain, node.op_type)
        assert converter is not None
        try:
            with builder.located(location), np.errstate(over="ignore", divide="raise", invalid="raise"):
                results = folded(context, converter.convert) or converter.convert(context)
        except VerifyException as error:
            raise FrontendError(f"{error} ({describe(layer)})") from error
        except (ValueError, IndexError, ArithmeticError) as error:
            raise FrontendError(message(node.op_type, "inputs that can be evaluated", str(error), layer)) from error
        # A node may name fewer outputs than there are, or more than exist at inference.
        for name, result in zip(node.output, results if isinstance(results, tuple) else (results,), strict=False):
            self.bind(name, result, location, context.read)

    def bind(self, name: str, result: Result, location: LocationAttr, read: list[Tensor]) -> None:
        """Note what an output is, and where the known values went that it was made with."""
        if isinstance(result, Narrowed):
            raise FrontendError(message(name, "an extent that shapes decide", "one that values decide", location))
        if not isinstance(result, SSAValue):
            self.tensors[name] = Tensor(name, result, leaf=location, made_of=tuple(read))
            return
        self.tensors[name] = Tensor(name, value=result, leaf=location)
        self.reads.extend((tensor, location) for tensor in read)
        if result.name_hint is None:
            result.name_hint = value_name(name)

    def account(self, main: FuncOp, layers: Sequence[LocationAttr]) -> None:
        """Tell the open ledger the types of nodes, and which left no op, with the layers that took up their values."""
        if (ledger := current_ledger()) is None:
            return
        ledger.op_types |= {layer: node.op_type for node, layer in zip(self.graph.node, layers, strict=True)}
        readers: dict[LocationAttr, dict[LocationAttr, None]] = {}
        for tensor, reader in self.reads:
            for leaf in leaves(tensor.location):
                readers.setdefault(leaf, {})[reader] = None
        surviving = surviving_leaves(main)
        for node, layer in zip(self.graph.node, layers, strict=True):
            if layer not in surviving:
                ledger.record(
                    node.op_type,
                    removed=[f"onnx.{node.op_type}"],
                    before=[layer],
                    after=list(readers.get(layer, ())),
                    reason="evaluated at import",
                )
