"""Model files that are damaged, and models whose bytes are sound and whose graphs are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
from damaged_tflite import damaged, sources
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, defs, helper
from random_programs import random_program

import whence

Dice = random.Random
_BASES = 40
_LARGE = 1 << 20
_NUMBERS = (0, 1, -1, 2, 3, 7, -2, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 1 << 40)


@cache
def _program(seed: int) -> ModelProto:
    return random_program(seed).model()[0]


@cache
def _tflite(seed: int) -> list[bytes]:
    return sources(np.random.default_rng(seed))


def used(model: Any, dice: Dice, **options: Any) -> None:
    """Load a model, and now and then compile it and run it on numbers that say nothing."""
    if dice.random() < 0.4:
        whence.load(model)
        return
    executable = whence.compile(model, threads=1, opt_level=dice.choice((0, 3)), **options)
    shapes = [
        [size if size >= 0 else dice.choice((0, 1, 2, 3)) for size in spec.shape or ()] for spec in executable.inputs
    ]
    # A loop may be as long as a number of 64 bits says.
    is_loop = b"Loop" in (model.SerializeToString() if isinstance(model, ModelProto) else bytes(model))
    if not is_loop and all(np.prod(shape, dtype=np.float64) < _LARGE for shape in shapes):
        executable.run(
            {spec.name: np.ones(shape, spec.dtype) for spec, shape in zip(executable.inputs, shapes, strict=True)}
        )


def onnx_bytes(dice: Dice) -> Callable[[], object]:
    data = _program(dice.randrange(_BASES)).SerializeToString()
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        data = damaged(data, np.random.default_rng(dice.randrange(1 << 30))) if len(data) > 8 else data
    return lambda: used(data, dice)


def tflite_bytes(dice: Dice) -> Callable[[], object]:
    data = dice.choice(_tflite(dice.randrange(8)))
    data = damaged(data, np.random.default_rng(dice.randrange(1 << 30)))
    return lambda: used(data, dice)


def _node(dice: Dice, model: ModelProto) -> NodeProto:
    return dice.choice(list(model.graph.node))


def _name(dice: Dice, model: ModelProto) -> str:
    graph = model.graph
    names = [value.name for value in (*graph.input, *graph.initializer)]
    names += [name for node in graph.node for name in node.output]
    return dice.choice([*names, "", "no such", "x\n*/"])


def _number(dice: Dice) -> int:
    return dice.choice(_NUMBERS)


def _tensor(dice: Dice) -> TensorProto:
    """A tensor whose data may not be what its type says."""
    shape = [dice.choice((0, 1, 2, 3, -1, 1 << 40)) for _ in range(dice.randint(0, 4))]
    tensor = TensorProto(data_type=dice.randint(0, 25), dims=shape, name=dice.choice(("", "t")))
    tensor.raw_data = bytes(dice.randrange(256) for _ in range(dice.randint(0, 32)))
    return tensor


def _graph(dice: Dice) -> onnx.GraphProto:
    return _program(dice.randrange(_BASES)).graph


def _attribute(dice: Dice, name: str) -> AttributeProto:
    """An attribute of any type."""
    values: tuple[Callable[[], Any], ...] = (
        lambda: _number(dice),
        lambda: dice.choice((0.0, 1.5, float("nan"), float("inf"), -1e38)),
        lambda: dice.choice(("", "SAME_UPPER", "no such", "linear", "\x00")),
        lambda: [_number(dice) for _ in range(dice.randint(1, 5))],
        lambda: [1.0, float("nan")],
        lambda: ["a", "Tanh"],
        lambda: _tensor(dice),
        lambda: _graph(dice),
    )
    return helper.make_attribute(name, dice.choice(values)())


def _change_attribute(dice: Dice, model: ModelProto) -> None:
    node = _node(dice, model)
    known = node.op_type in _attributes() and _attributes()[node.op_type]
    schema = dice.choice(known or ["axis"])
    name = dice.choice([*(attribute.name for attribute in node.attribute), schema, "axis", "no_such"])
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, *([_attribute(dice, name)] if dice.random() < 0.9 else [])])


def _change_operator(dice: Dice, model: ModelProto) -> None:
    schemas = _schemas()
    _node(dice, model).op_type = dice.choice(schemas)


@cache
def _attributes() -> dict[str, list[str]]:
    """Operator -> its attributes, of the newest version."""
    return {schema.name: list(schema.attributes) for schema in defs.get_all_schemas() if schema.domain == ""}


@cache
def _schemas() -> list[str]:
    return [schema.name for schema in defs.get_all_schemas() if schema.domain == ""]


def _change_input(dice: Dice, model: ModelProto) -> None:
    node = _node(dice, model)
    draw = dice.random()
    if draw < 0.3 and node.input:
        del node.input[dice.randrange(len(node.input)) :]
    elif draw < 0.6 or not node.input:
        node.input.append(_name(dice, model))
    else:
        node.input[dice.randrange(len(node.input))] = _name(dice, model)


def _change_output(dice: Dice, model: ModelProto) -> None:
    node = _node(dice, model)
    if dice.random() < 0.5 and node.output:
        node.output[dice.randrange(len(node.output))] = _name(dice, model)
    elif dice.random() < 0.5:
        node.output.append(dice.choice(("more", "", _name(dice, model))))
    else:
        del node.output[:]


def _change_type(dice: Dice, model: ModelProto) -> None:
    ends = [*model.graph.input, *model.graph.output]
    if not ends:
        return
    value = dice.choice(ends)
    tensor = value.type.tensor_type
    draw = dice.random()
    if draw < 0.3:
        tensor.elem_type = dice.randint(0, 25)
    elif draw < 0.4:
        value.ClearField("type")
    elif draw < 0.5:
        value.type.sequence_type.elem_type.tensor_type.elem_type = dice.randint(0, 12)
    elif draw < 0.6:
        tensor.ClearField("shape")
    elif draw < 0.7 or not tensor.shape.dim:
        for _ in range(dice.choice((1, 2, 70))):
            tensor.shape.dim.add().dim_value = dice.choice((1, 2, 1 << 33))
    elif draw < 0.85:
        dice.choice(list(tensor.shape.dim)).dim_value = _number(dice)
    else:
        text = ("n", "2*n", "n//0", "(n", "n-n", "-n", "n\n*/", "max(n,2)", "")
        dice.choice(list(tensor.shape.dim)).dim_param = dice.choice(text)


def _change_initializer(dice: Dice, model: ModelProto) -> None:
    graph = model.graph
    if not graph.initializer or dice.random() < 0.2:
        tensor = _tensor(dice)
        tensor.name = _name(dice, model)
        graph.initializer.append(tensor)
        return
    tensor = dice.choice(list(graph.initializer))
    draw = dice.random()
    if draw < 0.3:
        tensor.data_type = dice.randint(0, 25)
    elif draw < 0.5 and tensor.dims:
        tensor.dims[dice.randrange(len(tensor.dims))] = _number(dice)
    elif draw < 0.6:
        tensor.dims.append(dice.choice((0, 1, 2)))
    elif draw < 0.8:
        tensor.raw_data = tensor.raw_data[: dice.randint(0, 8)]
    else:
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = (
            dice.choice(("location", "offset", "x")),
            dice.choice(("../../etc/passwd", "-1", "\x00", "")),
        )


def _change_order(dice: Dice, model: ModelProto) -> None:
    nodes = list(model.graph.node)
    dice.shuffle(nodes)
    if dice.random() < 0.5:
        nodes = nodes[: dice.randint(0, len(nodes))]
    if dice.random() < 0.3 and nodes:
        nodes.append(dice.choice(nodes))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _change_ends(dice: Dice, model: ModelProto) -> None:
    graph, draw = model.graph, dice.random()
    if draw < 0.3 and graph.input:
        graph.input.pop(dice.randrange(len(graph.input)))
    elif draw < 0.6:
        graph.output.add().name = _name(dice, model)
    elif draw < 0.8 and graph.output:
        graph.output.pop(dice.randrange(len(graph.output)))
    else:
        graph.input.add().CopyFrom(dice.choice([*graph.input, *graph.output, onnx.ValueInfoProto(name="")]))


def _change_opset(dice: Dice, model: ModelProto) -> None:
    if dice.random() < 0.2:
        del model.opset_import[:]
        return
    model.opset_import[0].version = dice.choice((0, 1, 6, 7, 9, 11, 13, 17, 18, 21, 25, 99, -1, 2**63 - 1))
    if dice.random() < 0.2:
        model.opset_import[0].domain = dice.choice(("com.microsoft", "no.such", "ai.onnx.ml"))


def _change_body(dice: Dice, model: ModelProto) -> None:
    """A loop, scan or branch around graphs that were not made for it."""
    kind = dice.choice(("If", "Loop", "Scan", "SequenceMap"))
    inputs = [_name(dice, model) for _ in range(dice.randint(0, 3))]
    names = {"If": ("then_branch", "else_branch")}.get(kind, ("body",))
    bodies: dict[str, Any] = {name: _graph(dice) for name in names if dice.random() < 0.9}
    node = helper.make_node(kind, inputs, ["loop"], **bodies)
    if kind == "Scan" and dice.random() < 0.9:
        node.attribute.append(helper.make_attribute("num_scan_inputs", dice.choice((0, 1, 2, -1, 2**40))))
    model.graph.node.insert(dice.randint(0, len(model.graph.node)), node)
    if dice.random() < 0.7:
        model.graph.output.add().name = "loop"


CHANGES = (
    _change_attribute,
    _change_attribute,
    _change_operator,
    _change_input,
    _change_output,
    _change_type,
    _change_initializer,
    _change_order,
    _change_ends,
    _change_opset,
    _change_body,
)


def onnx_graphs(dice: Dice) -> Callable[[], object]:
    model = ModelProto()
    model.CopyFrom(_program(dice.randrange(_BASES)))
    for _ in range(dice.choice((1, 1, 2, 3))):
        if model.graph.node and model.opset_import:
            dice.choice(CHANGES)(dice, model)
    return lambda: used(model, dice)


KINDS = {"onnx-bytes": onnx_bytes, "onnx-graphs": onnx_graphs, "tflite-bytes": tflite_bytes}
