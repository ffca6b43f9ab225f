"""The graph of a model's layers, as its source has them: weights are listed in the boxes of those that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from ...dialects.element_types import dtype_name
from ...dialects.relay.attributes import to_python
from ...dialects.relay.canonicalization.fold import is_foldable
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.operator import Operator
from ...dialects.sizes.types import extents_of
from ...planning.artifact import Artifact
from ...provenance.ledger import LayerFacts
from ...provenance.span import leaf_name, leaves, value_location
from ...support.names import shortened
from ..code import work_of
from ..layers import Layer, functions, op_types, owners, scope_of, snapshot
from ..report import some
from .boxes import Box, Read, drawn
from .builder import Builder
from .document import Graph
from .ordered_groups import groups_in_order

_WEIGHTS = 4
"""The number of weights that a box lists."""
_NO_FACTS = LayerFacts((), (), ())
_LONG = 200
"""Letters of an attribute."""


def type_text(type_: Attribute) -> str:
    """A type as graphs show it, `float32[1, 3, 224, 224]`."""
    if not isinstance(type_, TensorType):
        return str(type_)
    tensor = cast("TensorType[Attribute]", type_)
    return f"{dtype_name(tensor.element_type)}[{', '.join(map(str, extents_of(tensor)))}]"


def extents_text(type_: Attribute) -> str:
    """The extents of a tensor as boxes show them, `1x3x224x224`."""
    if not isinstance(type_, TensorType):
        return str(type_)
    return "x".join(map(str, extents_of(cast("TensorType[Attribute]", type_)))) or "1 number"


def layer_graph(builder: Builder, artifact: Artifact, program: int) -> Graph:
    """Return the graph of the layers of a program, as they were imported.

    Raises FrontendError where no module was kept.
    """
    main = functions(snapshot(artifact, "relay"))["main"]
    owner, types, work = owners(artifact), op_types(artifact), _layer_work(artifact)
    boxes: list[Box] = []
    box_of: dict[Operation | BlockArgument, int] = {}
    for index, argument in enumerate(main.block.args):
        label = _input_name(artifact, argument, index)
        boxes.append(Box(label, "input", builder.set_of(argument.location), [type_text(argument.type)]))
        box_of[argument] = len(boxes) - 1
    folded, ops = _constants(main, owner, artifact)
    constant = _known(ops, folded)
    for group in _in_order(ops, owner):
        layer = _layer_of(group[0], owner)
        number, names = len(boxes), [op.name.removeprefix("relay.") for op in group]
        box_of.update((op, number) for op in group)
        set_ = builder.set_of(layer.leaf) if layer is not None else builder.set_of(group[0].location)
        kind = "constant" if constant.issuperset(group) else "node"
        label = (types.get(layer.leaf) if layer is not None else "") or some(dict.fromkeys(names), 3)
        name = layer.name if layer is not None else ""
        scope = scope_of(name, layer.module if layer is not None else "")
        facts = artifact.ledger.facts.get(layer.leaf, _NO_FACTS) if layer is not None else _NO_FACTS
        box = Box(label, kind, set_, [name], scope, attributes=_attributes(group, name, facts))
        box.work = work.get(layer, (0, 0)) if layer is not None else (0, 0)
        _read(box, group, box_of, folded, _Roles(facts))
        boxes.append(box)
    outputs = artifact.outputs
    for index, value in enumerate(main.return_op.operands):
        label = outputs[index].name if index < len(outputs) else f"output {index}"
        source = box_of.get(value.owner if isinstance(value.owner, Operation) else cast(BlockArgument, value))
        box = Box(label, "output", boxes[source].set if source is not None else 0, [type_text(value.type)])
        box.inputs = [Read(source, type_text(value.type), _output_of(value))] if source is not None else []
        boxes.append(box)
    return drawn("model", "model", program, boxes)


def _input_name(artifact: Artifact, argument: BlockArgument, index: int) -> str:
    specs = artifact.inputs
    return specs[index].name if index < len(specs) else argument.name_hint or f"input {index}"


def _output_of(value: SSAValue) -> int:
    return value.index if isinstance(value, OpResult) else 0


def _layer_of(op: Operation, owner: Mapping[LocationAttr, Layer]) -> Layer | None:
    """The layer that an op stands for most: the first."""
    return next((owner[leaf] for leaf in leaves(op.location) if leaf in owner), None)


def _constants(
    main: FuncOp, owner: Mapping[LocationAttr, Layer], artifact: Artifact
) -> tuple[set[Operation], list[Operation]]:
    """Constants that boxes of their readers list, and the ops that get boxes: constants that are layers among them."""
    returned = {value.owner for value in main.return_op.operands}
    folded: set[Operation] = set()
    ops: list[Operation] = []
    for op in main.block.ops:
        if isinstance(op, ConstantOp) and op not in returned:
            layer = _layer_of(op, owner)
            own = layer is not None and layer.leaf in leaves(op.location) and layer.leaf in artifact.ledger.op_types
            if not own:
                folded.add(op)
                continue
        if not isinstance(op, ReturnOp):
            ops.append(op)
    return folded, ops


def _known(ops: Sequence[Operation], folded: set[Operation]) -> set[Operation]:
    """The constants, and the ops that depend on constants alone."""
    known = set(folded)
    for op in ops:
        is_known = isinstance(op, ConstantOp) or is_foldable(op, lambda value: value.owner in known)
        if is_known and known.issuperset(value.owner for value in op.operands):
            known.add(op)
    return known


def _in_order(ops: Sequence[Operation], owner: Mapping[LocationAttr, Layer]) -> list[list[Operation]]:
    """The ops of each layer together, in an order in which values flow forwards; an op of none is alone."""
    number = {op: index for index, op in enumerate(ops)}
    inputs = [
        [number[of] for value in op.operands if isinstance(of := value.owner, Operation) and of in number] for op in ops
    ]
    return [[ops[index] for index in group] for group in groups_in_order(inputs, [_layer_of(op, owner) for op in ops])]


def _read(
    box: Box,
    group: Sequence[Operation],
    box_of: Mapping[Operation | BlockArgument, int],
    folded: set[Operation],
    roles: _Roles,
) -> None:
    """Note what a box reads: values of others as edges, weights in its second line and its attributes."""
    values = dict.fromkeys(value for op in group for value in op.operands)
    weights: list[str] = []
    for value in values:
        key = value.owner if isinstance(value.owner, Operation) else cast(BlockArgument, value)
        if isinstance(key, ConstantOp) and key in folded:
            role = roles.of(value)
            weights.append(f"{role} {extents_text(value.type)}".lstrip())
            name = next(map(leaf_name, leaves(key.location)), key.hint)
            row = (role, f"{type_text(value.type)} {name}") if role else (name, type_text(value.type))
            box.attributes.append(row)
        elif key not in group and (source := box_of.get(key)) is not None:
            box.inputs.append(Read(source, type_text(value.type), _output_of(value), roles.of(value)))
    box.about += weights[:_WEIGHTS]
    if len(weights) > _WEIGHTS:
        box.about.append(f"{len(weights) - _WEIGHTS} more")
    box.attributes += [("gives", type_text(value.type)) for value in group[-1].results]


class _Roles:
    """The reader's names of what it reads."""

    def __init__(self, facts: LayerFacts):
        self._left: dict[LocationAttr, list[str]] = {}
        for role, leaf, _ in facts.inputs:
            self._left.setdefault(leaf, []).append(role)

    def of(self, value: SSAValue) -> str:
        """Return the role of a value; of several of one layer, that of the next one."""
        for leaf in leaves(value_location(value)):
            if roles := self._left.get(leaf):
                return roles.pop(0) if len(roles) > 1 else roles[0]
        return ""


def _attributes(group: Sequence[Operation], name: str, facts: LayerFacts) -> list[tuple[str, str]]:
    """The layer's name, its attributes in the model, its relay operators, and their attributes."""
    ops = [op for op in group if isinstance(op, Operator)]
    rows = [("name", name)] if name else []
    rows += [(key, shortened(value, _LONG)) for key, value in facts.attributes]
    if ops:
        rows.append(("relay", ", ".join(op.name.removeprefix("relay.") for op in ops)))
    calls = [op.callee.string_value() for op in group if isinstance(op, CallOp)]
    if calls:
        rows.append(("calls", ", ".join(calls)))
    several = bool(facts.attributes) or sum(bool(op.properties) for op in ops) > 1
    for op in ops:
        for key, value in op.properties.items():
            if key in type(op).declared_attributes():
                label = f"{op.name.removeprefix('relay.')}.{key}" if several else key
                rows.append((label, shortened(_plain(value), _LONG)))
    return rows


def _plain(attribute: Attribute) -> str:
    try:
        value = to_python(attribute)
    except TypeError:
        return str(attribute)
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def _layer_work(artifact: Artifact) -> dict[Layer, tuple[int, int]]:
    """Operations and bytes of each layer, over all calls; what serves several is divided evenly."""
    owner = owners(artifact)
    totals: dict[Layer, list[float]] = {}
    for call in artifact.calls:
        for row, location in zip(work_of(artifact, call), call.layers, strict=False):
            behind = list(dict.fromkeys(owner[leaf] for leaf in leaves(location) if leaf in owner))
            for layer in behind:
                total = totals.setdefault(layer, [0.0, 0.0])
                total[0] += row[0] / len(behind)
                total[1] += row[1] / len(behind)
    return {layer: (round(operations), round(moved)) for layer, (operations, moved) in totals.items()}
