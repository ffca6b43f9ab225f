"""State that is kept from call to call: resource variables, and tensors that recurrent operators write to.

Handles are followed while regions are made, so that a variable is a value like others: it enters a region, operators
give it new values, and the last of them leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...support.dtypes import Array
from .model import ModelFile, OperatorInfo, Subgraph, TensorInfo
from .values import dtype_of

HANDLE, READ, ASSIGN, ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
WRITTEN: Mapping[str, Sequence[int]] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": (35, 36, 37, 38),
    "BIDIRECTIONAL_SEQUENCE_RNN": (4, 8),
    "LSTM": (18, 19),
    "RNN": (4,),
    "SVDF": (4,),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19),
    "UNIDIRECTIONAL_SEQUENCE_RNN": (4,),
}
"""Operator -> its inputs that it writes to; its converter gives what they become after the outputs."""

_BASIC_LSTM = ("data", "state", "weights", "bias", "cell")
"""The inputs of the basic kind of LSTM, which writes to the second and the last."""

Key: TypeAlias = tuple[object, ...]
"""The container and name of a variable, or the subgraph and number of a tensor."""


@dataclass(eq=False)
class Variable:
    """A variable that a subgraph, or one that it runs, reads or writes."""

    name: str
    info: TensorInfo
    """A tensor of its type."""
    written: bool = False


def run_by(operator: OperatorInfo) -> dict[str, int]:
    """The subgraphs that an operator runs, by the role that it has for it."""
    if operator.options is None:
        return {}
    roles = {
        "CALL": ("Subgraph",),
        "STABLEHLO_COMPOSITE": ("DecompositionSubgraphIndex",),
        "IF": ("ThenSubgraphIndex", "ElseSubgraphIndex"),
        "WHILE": ("CondSubgraphIndex", "BodySubgraphIndex"),
        ONCE: ("InitSubgraphIndex",),
    }
    known = (name for name in roles.get(operator.op, ()) if hasattr(operator.options, name))
    return {name: int(getattr(operator.options, name)()) for name in known}


def handle(operator: OperatorInfo) -> Key:
    """The variable that a VAR_HANDLE names."""
    options = operator.options
    if options is None or not hasattr(options, "SharedName"):
        return "", f"variable {operator.outputs}"
    return (options.Container() or b"").decode(), (options.SharedName() or b"").decode()


def written_tensors(graph: Subgraph, operator: OperatorInfo) -> list[tuple[int, int]]:
    """The inputs of an operator that it writes to, each with its tensor."""
    found: list[tuple[int, int]] = []
    basic = operator.op == "LSTM" and len(operator.inputs) == len(_BASIC_LSTM)
    for at in (1, 4) if basic else WRITTEN.get(operator.op, ()):
        place = operator.inputs[at] if at < len(operator.inputs) else -1
        if place >= 0 and graph.tensors[place].is_variable:
            found.append((at, place))
    return found


def operands(operator: OperatorInfo) -> Sequence[int]:
    """Return the tensors that an operator hands to the subgraph that it runs."""
    return () if operator.op == ONCE else operator.inputs[operator.op == "IF" :]


def variables(model: ModelFile, graph: Subgraph, given: Sequence[Key | None]) -> dict[Key, Variable]:
    """Return the variables that a subgraph and those it runs read or write, for the handles it gets, in order."""
    reached: dict[Key, Variable] = {}
    waiting: list[tuple[Subgraph, tuple[Key | None, ...]]] = [(graph, tuple(given))]
    seen: set[tuple[int, tuple[Key | None, ...]]] = set()
    while waiting:
        current, keys = waiting.pop()
        if (current.index, keys) in seen:
            continue
        seen.add((current.index, keys))
        handles = dict(zip(current.inputs, keys, strict=False))
        for operator in current.operators:
            if operator.op == HANDLE and operator.outputs:
                handles[operator.outputs[0]] = handle(operator)
            for at, place in written_tensors(current, operator):
                info = current.tensors[place]
                name = info.name or f"{operator.op}_{operator.index}:{at}"
                reached.setdefault((current.index, place), Variable(name, info)).written = True
            key = handles.get(operator.inputs[0]) if operator.inputs else None
            if operator.op == READ and key is not None and operator.outputs:
                reached.setdefault(key, Variable(str(key[-1]), current.tensors[operator.outputs[0]]))
            elif operator.op == ASSIGN and key is not None and len(operator.inputs) > 1:
                info = current.tensors[operator.inputs[1]]
                reached.setdefault(key, Variable(str(key[-1]), info)).written = True
            if operator.op == ONCE:
                continue
            inside = tuple(handles.get(place) for place in operands(operator))
            waiting += [(model.subgraph(index), inside) for index in run_by(operator).values()]
            if operator.op == "WHILE":
                handles.update(zip(operator.outputs, inside, strict=False))
    return reached


def run_once(model: ModelFile, main: Subgraph) -> list[tuple[OperatorInfo, Subgraph]]:
    """The subgraphs that are called once, in order and none twice, each with an operator that calls it."""
    graphs: dict[int, tuple[OperatorInfo, Subgraph]] = {}
    waiting, seen = [main.index], {main.index}
    while waiting:
        for operator in model.subgraph(waiting.pop()).operators:
            inner = run_by(operator).values()
            if operator.op == ONCE:
                graphs |= {index: (operator, model.subgraph(index)) for index in inner if index not in graphs}
                continue
            waiting += [index for index in dict.fromkeys(inner) if index not in seen]
            seen.update(inner)
    return list(graphs.values())


def zeros(info: TensorInfo) -> Array:
    """Return the first value of a tensor that nothing sets; for int8 its zero point, as the interpreter has it."""
    kept = info.type == "INT8" and info.quantization is not None
    return np.full(info.shape, info.quantization.zero_point[0] if kept and info.quantization else 0, dtype_of(info))
