# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
"""Nodes of the graphs that tests keep, an attribute of each of another value, judged by TensorFlow."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import tensorflow as tf
from dropped_arguments import Array, Change
from tensorflow.python.framework.op_def_registry import get as definition_of  # type: ignore[import-not-found]

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.whole_models import import_model
from whence.frontends.tensorflow.convert import CONVERTERS
from whence.frontends.tensorflow.model import model_of
from whence.frontends.tensorflow.source import read

_DATA = Path(__file__).parents[1] / "frontends" / "tensorflow" / "data"
_LEFT_OUT = frozenset(
    ("Const", "Placeholder", "Identity", "NoOp", "Assert", "StatefulPartitionedCall", "PartitionedCall")
)
KNOWN = {r"TopKV2: sorted: .* -> b: false": "the order is nobody's, and only TensorFlow's is another than the sorted"}
"""Where we differ from TensorFlow, and why."""


class _Case(NamedTuple):
    graph: Any
    inputs: dict[str, Array]
    outputs: list[str]


@cache
def operators() -> dict[str, list[_Case]]:
    """The graphs that tests keep, by the operators with rows that they have."""
    found: dict[str, list[_Case]] = {}
    for path in sorted(_DATA.glob("operators_*.npz")):
        cases: dict[str, dict[str, Array]] = {}
        with np.load(path) as arrays:
            for key in arrays:
                case, part = key.split("|", 1)
                cases.setdefault(case, {})[part] = arrays[key]
        for parts in cases.values():
            graph = tf.compat.v1.GraphDef.FromString(parts["graph"].tobytes())
            inputs = {key[3:]: array for key, array in parts.items() if key.startswith("in|")}
            case = _Case(graph, inputs, [key[4:] for key in parts if key.startswith("out|")])
            for operator in {node.op for node in graph.node} & set(CONVERTERS) - _LEFT_OUT:
                found.setdefault(operator, []).append(case)
    return found


def _change(dice: random.Random, attribute: Any, value: Any) -> bool:
    """Give the value of an attribute another one that its definition allows; false where there is none."""
    match attribute.type:
        case "bool":
            value.b = not value.b
        case "int":
            value.i = dice.choice([number for number in (-1, 0, 1, 2, 3) if number != value.i])
        case "float":
            value.f = dice.choice([number for number in (0.0, 0.5, -0.5, 2.0) if number != value.f])
        case "string":
            words = [word for word in attribute.allowed_values.list.s if word != value.s]
            if not words:
                return False
            value.s = dice.choice(words)
        case "list(int)" if value.list.i:
            at = dice.randrange(len(value.list.i))
            value.list.i[at] += dice.choice((-1, 1))
        case _:
            return False
    return True


def draw(dice: random.Random, operator: str) -> Change | None:
    """A graph, an attribute of a node of which has another value; None where TensorFlow refuses it."""
    case = dice.choice(operators()[operator])
    graph = tf.compat.v1.GraphDef()
    graph.CopyFrom(case.graph)
    node = dice.choice([node for node in graph.node if node.op == operator])
    definition = definition_of(operator)
    if definition is None or not definition.attr:
        return None
    attribute = dice.choice(list(definition.attr))
    value = node.attr[attribute.name]
    if not value.WhichOneof("value") and attribute.HasField("default_value"):
        value.CopyFrom(attribute.default_value)
    before = str(value).strip()
    if not _change(dice, attribute, value):
        return None
    data = graph.SerializeToString()

    def ours() -> list[Array]:
        model = model_of(read(data, None), case.outputs)
        return evaluate_module(import_model(model, {}), [case.inputs[item.name] for item in model.inputs.specs])

    def theirs() -> list[Array]:
        with tf.Graph().as_default() as imported:
            tf.graph_util.import_graph_def(graph, name="")
            with tf.compat.v1.Session(graph=imported) as session:
                names = [name if ":" in name else f"{name}:0" for name in case.outputs]
                feeds = {f"{name}:0": array for name, array in case.inputs.items()}
                return [np.asarray(array) for array in session.run(names, feeds)]

    text = f"{attribute.name}: {before} -> {str(value).strip()}".replace("\n", " ")
    return Change(operator, text, ours, theirs)
