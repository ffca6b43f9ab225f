"""Relay modules to graphs of MSC and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import PropertyDef, VerificationContext
from xdsl.utils.exceptions import VerifyException

from whence.contrib.msc.graph import MSCGraph, MSCJoint, MSCPrim, MSCTensor
from whence.dialects.element_types import dtype_name, element_type
from whence.dialects.relay import OPERATORS
from whence.dialects.relay.attributes import to_attribute, to_python
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.operator import Operator, element_of, shape_of
from whence.dialects.relay.size_ranges import (
    Required,
    parse_ranges,
    ranges_of,
    required_of,
    set_ranges,
    set_required,
    spell_ranges,
    symbols_in,
)
from whence.dialects.sizes import Ranges, SizeExpr, known_ranges, same_shape, symbols_of
from whence.dialects.sizes.intervals import Range
from whence.dialects.sizes.text import parse_size
from whence.dialects.sizes.types import tensor_of
from whence.provenance.builder import LocatedBuilder
from whence.provenance.diagnostics import fail
from whence.provenance.span import layer_location, layer_names
from whence.relay.executors import bound_params
from whence.relay.module import IRModule
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError, expectation

_LAYOUTS = ("out_layout", "data_layout", "layout")
_OMITTED = "omitted"
"""The attribute of a node that lists operands which it could have and has not."""
_KINDS: Mapping[str, type[Operator]] = {op.name.removeprefix("relay."): op for op in OPERATORS}


def from_relay(
    mod: IRModule | ModuleOp, params: Mapping[str, Array] | None = None
) -> tuple[MSCGraph, dict[str, Array]]:
    """Return `@main` of a module as a graph, and its weights by the names of their tensors.

    A node has the name of its layer, and a number behind where the layer has several. Raises VerifyException, in the
    name of the layer, for what is no operator on tensors of known shapes.
    """
    module = mod.module if isinstance(mod, IRModule) else mod
    module = bound_params(module, params) if params else module
    main = next((op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main"), None)
    if main is None:
        raise PipelineError(expectation("from_relay", "a module with a function main", "none"))
    return _Writer(module, main).run()


class _Writer:
    def __init__(self, module: ModuleOp, main: FuncOp):
        self._module, self._main = module, main
        self._nodes: list[MSCJoint] = []
        self._weights: dict[str, Array] = {}
        self._names: dict[SSAValue, str] = {}
        self._taken: set[str] = set()

    def run(self) -> tuple[MSCGraph, dict[str, Array]]:
        for number, argument in enumerate(self._main.block.args):
            self._add(argument.name_hint or f"input{number}", "input", [], [argument], "")
        inputs = [node.outputs[0].name for node in self._nodes]
        for op in self._main.block.ops:
            if isinstance(op, ReturnOp):
                break
            if isinstance(op, ConstantOp):
                continue
            if not isinstance(op, Operator):
                fail(op, "an operator on tensors", op.name)
            self._operator(op)
        outputs = [self._tensor(value) for value in self._main.return_op.values]
        listed = self._main.attributes.get("output_names")
        names = [name.data for name in cast("ArrayAttr[StringAttr]", listed)] if isinstance(listed, ArrayAttr) else []
        for name, value in zip(names, outputs, strict=False):
            tensor = next(t for node in self._nodes for t in node.outputs if t.name == value)
            tensor.alias = tensor.alias or name
        return MSCGraph("main", inputs, outputs, self._nodes, self._prims()), self._weights

    def _prims(self) -> list[MSCPrim]:
        """Return the symbols of the extents, and what the function requires of them."""
        ranges = ranges_of(self._main)
        prims: list[MSCPrim] = []
        for symbol in sorted(symbols_in(self._main)):
            bounds = spell_ranges({symbol: ranges[symbol]}) if symbol in ranges else ""
            prims.append(MSCPrim(len(prims), symbol, "Var", [], {"dtype": "int64", "bounds": bounds}))
        for size, location in required_of(self._main):
            layers = ", ".join(layer_names(location))
            prims.append(MSCPrim(len(prims), str(size), "Required", sorted(symbols_of(size)), {"layers": layers}))
        return prims

    def _operator(self, op: Operator) -> None:
        name = self._unique(", ".join(layer_names(op.location)[:1]) or op.name.removeprefix("relay."))
        weights: dict[str, MSCTensor] = {}
        inputs: list[str] = []
        omitted: list[str] = []
        for group, values in zip(op.operand_groups(), op.signature.arguments(list(op.operands)), strict=True):
            listed: Sequence[SSAValue] = values if isinstance(values, tuple) else [] if values is None else [values]
            if values is None:
                omitted.append(group.name)
            for value in listed:
                if isinstance(value.owner, ConstantOp) and not isinstance(values, tuple):
                    weights[group.name] = self._weight(f"{name}.{group.name}", value)
                else:
                    inputs.append(self._tensor(value))
        attrs = {key: _spelled(value) for key, value in op.properties.items() if key in op.declared_attributes()}
        attrs |= {_OMITTED: ",".join(omitted)} if omitted else {}
        layout = next((attrs[key] for key in _LAYOUTS if attrs.get(key)), "")
        node = self._add(name, op.name.removeprefix("relay."), inputs, op.results, layout)
        node.attrs, node.weights = attrs, weights

    def _add(self, name: str, kind: str, inputs: Sequence[str], results: Sequence[SSAValue], layout: str) -> MSCJoint:
        self._taken.add(name)
        outputs: list[MSCTensor] = []
        for number, value in enumerate(results):
            self._names[value] = f"{name}:{number}"
            outputs.append(_described(f"{name}:{number}", value, layout))
        parents = list(dict.fromkeys(tensor.rpartition(":")[0] for tensor in inputs))
        node = MSCJoint(len(self._nodes), name, "", kind, parents, list(inputs), outputs, {}, {})
        self._nodes.append(node)
        return node

    def _tensor(self, value: SSAValue) -> str:
        """Return the name of a value; a constant that is nobody's weight becomes a node."""
        if value not in self._names:
            assert isinstance(value.owner, ConstantOp)
            name = self._unique(value.owner.hint or "constant")
            node = self._add(name, "constant", [], [value], "")
            node.weights = {"const": self._weight(f"{name}.const", value)}
        return self._names[value]

    def _weight(self, name: str, value: SSAValue) -> MSCTensor:
        owner = value.owner
        assert isinstance(owner, ConstantOp)
        self._weights[name] = owner.value(self._module)
        return _described(name, value, "")

    def _unique(self, wanted: str) -> str:
        name, count = wanted.replace(":", "_"), 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name


def _described(name: str, value: SSAValue, layout: str) -> MSCTensor:
    shape: tuple[Any, ...] = shape_of(value)
    if not all(isinstance(extent, SizeExpr) or extent >= 0 for extent in shape):
        fail(value.owner, "tensors whose extents are numbers or sizes", str(value.type))  # type: ignore[arg-type]
    layers = ", ".join(layer_names(value.owner.location)) if isinstance(value.owner, Operator) else ""
    numbers = [-1 if isinstance(extent, SizeExpr) else int(extent) for extent in shape]
    prims = list(map(str, shape)) if -1 in numbers else []
    return MSCTensor(name, layers, dtype_name(element_of(value)), layout, numbers, prims)


def _spelled(attribute: Attribute) -> str:
    """Return an attribute as text: numbers of a list with commas between; lists in lists and sizes as JSON."""
    value = to_python(attribute)
    if isinstance(value, tuple):
        parts = cast("tuple[Any, ...]", value)
        if any(isinstance(one, SizeExpr) for one in parts):
            return json.dumps([one if isinstance(one, int | float) else str(one) for one in parts])
        plain = all(isinstance(one, int | float) for one in parts)
        return ",".join(map(repr, parts)) if plain else json.dumps(parts)
    return str(value) if isinstance(value, str | SizeExpr) else repr(value)


def to_relay(graph: MSCGraph, weights: Mapping[str, Array]) -> IRModule:
    """Return the module of a graph, whose weights are given by the names of their tensors.

    Raises FrontendError, with the name of the node, for an unknown operator, tensor or attribute, a missing weight, and
    a shape or dtype that the operator does not give.
    """
    module = ModuleOp([])
    names = {name: number for number, name in enumerate(graph.inputs)}
    given = [graph.find_tensor(name) for name in names]
    types = [tensor_of(element_type(np.dtype(t.dtype)), t.sizes) for t in given]
    main = FuncOp("main", types, [], location=layer_location(graph.name, "msc", 0))
    module.body.block.add_op(main)
    values: dict[str, SSAValue] = {}
    for name, argument in zip(names, main.block.args, strict=True):
        argument.name_hint = name.rpartition(":")[0]
        values[name] = argument
    reader = _Reader(module, LocatedBuilder(main.block), weights, values)
    ranges, required = _facts(graph)
    with known_ranges(ranges):
        for node in graph.nodes:
            if node.optype != "input":
                reader.add(node)
    builder = LocatedBuilder(main.block, layer_location(graph.name, "msc", len(graph.nodes)))
    builder.add(ReturnOp(*(reader.value(graph.name, name) for name in graph.outputs)))
    main.update_type()
    set_ranges(main, ranges)
    set_required(main, required)
    return IRModule.of(module)


def _facts(graph: MSCGraph) -> tuple[Ranges, list[Required]]:
    """Return the bounds of symbols, and the sizes that no call may make negative."""
    ranges: dict[str, Range] = {}
    required: list[Required] = []
    for prim in graph.prims:
        try:
            if prim.optype == "Required":
                layers = prim.attrs.get("layers") or graph.name
                required.append((parse_size(prim.name), layer_location(layers, "msc", prim.index)))
            else:
                ranges |= parse_ranges(prim.attrs.get("bounds", ""))
        except ValueError as error:
            raise FrontendError(expectation(f"prim {prim.name}", "sizes and their bounds", str(error))) from error
    return ranges, required


class _Reader:
    def __init__(
        self, module: ModuleOp, builder: LocatedBuilder, weights: Mapping[str, Array], values: dict[str, SSAValue]
    ):
        self._module, self._builder, self._weights, self._values = module, builder, weights, values

    def value(self, where: str, name: str) -> SSAValue:
        if name not in self._values:
            raise FrontendError(expectation(where, "a tensor of a node before", repr(name)))
        return self._values[name]

    def add(self, node: MSCJoint) -> None:
        """Add the ops of a node."""
        with self._builder.located(layer_location(node.outputs[0].alias or node.name, "msc", node.index)):
            if node.optype == "constant":
                self._values[node.outputs[0].name] = self._constant(node, node.weight_at("const"), node.name)
                return
            if (kind := _KINDS.get(node.optype)) is None:
                raise FrontendError(expectation(node.name, "an operator of relay", repr(node.optype)))
            try:
                attributes = {k: _read(node, kind, k, v) for k, v in node.attrs.items() if k != _OMITTED}
                op = self._builder.add(kind(*self._operands(node, kind), **attributes))
            except VerifyException as error:
                raise FrontendError(f"{node.name}: {error}") from error
        for tensor, result in zip(node.outputs, op.results, strict=True):
            sizes = tensor.sizes
            found = (list(shape_of(result)), dtype_name(element_of(result)))
            if not same_shape(found[0], sizes) or found[1] != tensor.dtype:
                expected = f"{tensor.dtype} of shape {sizes} as '{tensor.name}'"
                raise FrontendError(expectation(node.name, expected, f"{found[1]} of shape {found[0]}"))
            self._values[tensor.name] = result

    def _operands(self, node: MSCJoint, kind: type[Operator]) -> list[Any]:
        omitted = node.get_attr(_OMITTED).split(",")
        inputs = [self.value(node.name, name) for name in node.inputs]
        groups = kind.operand_groups()
        single = [g for g in groups if not g.variadic and g.name not in omitted and g.name not in node.weights]
        spare = len(inputs) - len(single)
        operands: list[Any] = []
        for group in groups:
            if group.name in omitted:
                operands.append(None)
            elif group.name in node.weights:
                operands.append(self._constant(node, node.weights[group.name]))
            elif len(inputs) < (spare if group.variadic else 1):
                raise FrontendError(expectation(node.name, f"an input '{group.name}'", "none"))
            elif group.variadic:
                operands.append(tuple(inputs[:spare]))
                del inputs[:spare]
            else:
                operands.append(inputs.pop(0))
        return operands

    def _constant(self, node: MSCJoint, tensor: MSCTensor, hint: str = "") -> SSAValue:
        if tensor.name not in self._weights:
            raise FrontendError(expectation(node.name, f"a weight '{tensor.name}'", "none"))
        array = np.asarray(self._weights[tensor.name])
        if list(array.shape) != tensor.shape or array.dtype.name != tensor.dtype:
            expected = f"{tensor.dtype} of shape {tensor.shape} as weight '{tensor.name}'"
            raise FrontendError(expectation(node.name, expected, f"{array.dtype} of shape {list(array.shape)}"))
        return self._builder.add(ConstantOp.of(array, self._module, hint or tensor.name)).result


def _read(node: MSCJoint, kind: type[Operator], name: str, text: str) -> Any:
    """Return an attribute as the operator declares it."""
    declared = kind.declared_attributes().get(name)
    if declared is None:
        expected = f"attributes among {', '.join(kind.declared_attributes())}"
        raise FrontendError(expectation(node.name, expected, name))
    for value in _candidates(text):
        if _fits(declared, value):
            return value
    raise FrontendError(expectation(node.name, f"a value of attribute '{name}'", repr(text)))


def _candidates(text: str) -> list[Any]:
    """Return what a text may stand for, text last."""
    found: list[Any] = [text == "True"] if text in ("True", "False") else []
    for number in (int, float):
        try:
            found.append(number(text))
        except ValueError:
            pass
    for number in (int, float):
        try:
            found.append(tuple(map(number, text.split(","))) if text else ())
        except ValueError:
            pass
    if text.startswith("["):
        found.append(_with_sizes(json.loads(text)))
    return [*found, text, _with_sizes([text])[0]]


def _with_sizes(value: Any) -> Any:
    """Return a list in which texts that are sizes are these."""
    if isinstance(value, list):
        return [_with_sizes(item) for item in cast("list[Any]", value)]
    try:
        return parse_size(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _fits(declared: PropertyDef, value: Any) -> bool:
    try:
        declared.constr.verify(to_attribute(value), VerificationContext())
    except VerifyException:
        return False
    return True
