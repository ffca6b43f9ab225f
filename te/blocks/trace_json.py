"""TVM's form of a record as JSON: `[[kind, inputs, attributes, outputs], ..], [[number, decision], ..]`, both ways.

Values are named by their kind and number: `b0` a block, `l1` a loop, `v2` a number. A text is in quotes of its own,
what is left open is `"None"`. A knob is a `SampleCategorical`, decided by the position of its number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, FloatAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects.schedule import ArithOp, KnobOp, SequenceOp
from ...dialects.schedule.base import NUMBER
from ...dialects.schedule.blocks import BLOCK, KINDS, Instruction, Kind
from ...dialects.schedule.inputs import Input
from ...provenance.diagnostics import message
from ...support.errors import ScheduleError
from ...support.names import did_you_mean
from ..schedule.choices import repeated
from . import trace_maps
from .record import arguments_of, constant_in

Json: TypeAlias = list[Any]
VERSIONS = ("0.27", "0.14")
SAMPLE = "SampleCategorical"
_BY_NAME = {spelling: kind for kind in KINDS for spelling in kind.spellings.values()}
_SIDES = ("read", "write")
_LAYOUTS = ("transform_layout", "transform_block_layout", "reindex_cache_read", "reindex_cache_write")
_CACHES = _LAYOUTS[2:]
_PROBABILITIES = "probs"
"""The attribute of a knob that has the likelihoods of its candidates."""


def handle_names(sequence: SequenceOp) -> dict[SSAValue, str]:
    """The name of each value of a sequence that a primitive gives, by TVM's rule."""
    names: dict[SSAValue, str] = {}
    for op in sequence.block.ops:
        for value in () if isinstance(op, ArithOp) else op.results:
            letter = "v" if value.type == NUMBER else "b" if value.type == BLOCK else "l"
            names[value] = f"{letter}{len(names)}"
    return names


def probabilities(op: KnobOp) -> list[float]:
    """The likelihoods of a knob's candidates: those that it has, or equal ones."""
    given = op.attributes.get(_PROBABILITIES)
    if isinstance(given, ArrayAttr):
        return [each.value.data for each in cast("ArrayAttr[FloatAttr]", given)]
    return [1 / len(op.values)] * len(op.values)


def to_json(sequence: SequenceOp, version: str, remove_postproc: bool) -> Json:
    """The record of a sequence. Numbers computed of knobs are written as what they are decided to be.

    version: whose names it has, "0.27" or "0.14". Raises ScheduleError for another one, and for what has no form there.
    """
    if version not in VERSIONS:
        raise ScheduleError(message("as_json", f"a version among {', '.join(VERSIONS)}", repr(version)))
    names = handle_names(sequence)
    numbers: dict[SSAValue, Any] = {}
    instructions: Json = []
    decisions: Json = []
    for op in sequence.block.ops:
        match op:
            case KnobOp():
                decision = op.values.index(op.decision.value.data)
                decisions.append([len(instructions), decision])
                instructions.append([SAMPLE, [], [list(op.values), probabilities(op)], [names[op.value]]])
                numbers[op.value] = op.decision.value.data
            case ArithOp():
                numbers[op.value] = int(repeated(op, numbers))
            case Instruction():
                if op.KIND.name == "enter_postproc" and remove_postproc:
                    break
                if op.KIND.decided:
                    decision = constant_in(op.attrs.data["decision"])
                    decisions.append([len(instructions), decision])
                    if isinstance(decision, list):
                        numbers.update(zip(op.outputs, cast("list[int]", decision), strict=False))
                instructions.append(_written(op, names, numbers, version))
            case _:
                raise ScheduleError(message("as_json", "primitives on blocks", op.name, op.location))
    return [instructions, decisions]


def _written(op: Instruction, names: Mapping[SSAValue, str], numbers: Mapping[SSAValue, Any], version: str) -> Json:
    kind = op.KIND

    def item(value: Input) -> Any:
        if isinstance(value, SSAValue):
            return names[value] if value in names else numbers[value]
        return _constant(constant_in(value))

    inputs = [item(each) for each in op.inputs]
    if kind.nested:
        inputs = [*inputs[: len(kind.inputs) - 1], inputs[len(kind.inputs) - 1 :]]
    attrs = [_attribute(op, key) for key in kind.attrs]
    if kind.name == "reindex":
        attrs = _reindexed(op, constant_in(op.attrs.data["buffer"]))
    if kind.name in _LAYOUTS:
        if version == "0.14":
            raise ScheduleError(message("as_json", "version 0.27 for index maps", version, op.location))
        inputs, attrs = _with_layout(op, inputs)
    attrs += [0] * len(kind.newer) if version != "0.14" else []
    return [kind.spellings[version], inputs, attrs, [names[value] for value in op.outputs]]


def _constant(value: Any) -> Any:
    if isinstance(value, Attribute):
        raise ScheduleError(message("as_json", "numbers, texts and lists of them", str(value)))
    if isinstance(value, list):
        return [_constant(each) for each in cast("list[Any]", value)]
    return "None" if value is None else json.dumps(value) if isinstance(value, str) else value


def _attribute(op: Instruction, key: str) -> Any:
    value = constant_in(op.attrs.data[key])
    return int(value) if isinstance(value, bool) else value


def _reindexed(op: Instruction, buffer: Any) -> Json:
    if not isinstance(buffer, list):
        raise ScheduleError(message("as_json", "a buffer by its number", repr(buffer), op.location))
    side, index = cast("list[Any]", buffer)
    return [index, _SIDES.index(side)]


def _with_layout(op: Instruction, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    """The inputs and attributes of a primitive that has an index map, which is among either."""
    layout = cast("AffineMapAttr", op.attrs.data["index_map"]).data
    if op.KIND.name == "transform_block_layout":
        return inputs, [trace_maps.text_of(layout)]
    if op.KIND.name in _CACHES:
        return [*inputs, trace_maps.text_of(layout)], [_attribute(op, key) for key in op.KIND.attrs[1:]]
    padding = trace_maps.padding_text(constant_in(op.attrs.data["pad_value"]), len(layout.results))
    index, side = _reindexed(op, constant_in(op.attrs.data["buffer"]))
    return [*inputs, trace_maps.text_of(layout)], [index, side, padding, 0]


def apply_json(entry: object, schedule: Any) -> None:
    """Apply TVM's record, as JSON text or what it holds, to a schedule of blocks.

    Raises ScheduleError for what is no record, a primitive that there is not, and one that does not fit.
    """
    if isinstance(entry, str):
        try:
            entry = json.loads(entry)
        except ValueError as error:
            raise ScheduleError(message("trace", "JSON", str(error))) from None
    instructions, decided = _lists(entry, 2, "two lists, of instructions and of decisions")
    decisions: dict[int, Any] = {}
    for pair in _lists(decided, None, "a list of decisions"):
        number, decision = _lists(pair, 2, "the number of an instruction and its decision")
        decisions[_int(number)] = decision
    values: dict[str, Any] = {}
    for number, each in enumerate(_lists(instructions, None, "a list of instructions")):
        name, inputs, attrs, outputs = _lists(each, 4, "a kind, inputs, attributes and outputs")
        inputs, attrs, outputs = (_lists(part, None, "a list") for part in (inputs, attrs, outputs))
        results = _applied(schedule, name, inputs, attrs, decisions.get(number), values)
        if len(results) != len(outputs):
            raise ScheduleError(message(f"trace: {name}", f"{len(outputs)} results", str(len(results))))
        values.update(zip(map(str, outputs), results, strict=True))


def _lists(entry: object, count: int | None, expected: str) -> list[Any]:
    if not isinstance(entry, list | tuple) or (count is not None and len(cast("Sequence[Any]", entry)) != count):
        raise ScheduleError(message("trace", expected, json.dumps(entry, default=repr)[:80]))
    return list(cast("Sequence[Any]", entry))


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise ScheduleError(message("trace", "a number", repr(value)))
    return value


def _read(item: Any, values: Mapping[str, Any]) -> Any:
    """An input: a value that was given before, a constant, or a list of them."""
    if isinstance(item, list):
        return [_read(each, values) for each in cast("list[Any]", item)]
    if not isinstance(item, str):
        return item
    if item == "None":
        return None
    if trace_maps.is_map(item):
        return AffineMapAttr(trace_maps.map_of(item))
    if item.startswith('"') and item.endswith('"') and len(item) > 1:
        try:
            return json.loads(item)
        except ValueError:
            raise ScheduleError(message("trace", "a text in quotes", item)) from None
    if item not in values:
        raise ScheduleError(message("trace", "a value that an instruction before gave", item))
    return values[item]


def _applied(
    schedule: Any, name: object, inputs: list[Any], attrs: list[Any], decision: Any, values: Mapping[str, Any]
) -> list[Any]:
    """Apply one instruction, and return what it gives."""
    kind = _BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None and name != SAMPLE:
        likely = did_you_mean(str(name), [*_BY_NAME, SAMPLE])
        raise ScheduleError(message("trace", "a primitive that there is", f"{name!r}{likely}"))
    read = [_read(item, values) for item in inputs]
    try:
        if kind is None:
            candidates, probs = attrs
            return [schedule.sample_categorical(candidates, probs, decision)]
        positional, keywords = _arguments(kind, read, attrs)
        if kind.decided:
            keywords["decision"] = decision
        result = getattr(schedule, kind.name)(*positional, **keywords)
    except (TypeError, ValueError, AttributeError) as error:
        raise ScheduleError(message(f"trace: {name}", "arguments that fit", str(error))) from None
    return [] if result is None else list(cast("list[Any]", result)) if isinstance(result, list) else [result]


def _arguments(kind: Kind, inputs: list[Any], attrs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    if kind.nested and len(inputs) == len(kind.inputs) and isinstance(inputs[-1], list):
        inputs = [*inputs[:-1], *inputs[-1]]
    if kind.name == "reindex" and len(attrs) == 2:
        attrs = [[_SIDES[bool(attrs[1])], attrs[0]]]
    if kind.name == "transform_block_layout" and len(attrs) == 1:
        attrs = [AffineMapAttr(trace_maps.map_of(attrs[0]))]
    if kind.name in _CACHES and len(inputs) == 2 and len(attrs) == 2:
        attrs = [inputs.pop(), *attrs]
    if kind.name == "transform_layout" and len(inputs) == 2 and len(attrs) in (3, 4):
        layout, (index, side, padding) = inputs.pop(), attrs[:3]
        attrs = [[_SIDES[bool(side)], index], layout, trace_maps.number_of(padding)]
    keys = [*kind.attrs, *kind.newer]
    if len(attrs) not in (len(kind.attrs), len(keys)):
        raise ScheduleError(message(f"trace: {kind.tvm}", f"attributes {', '.join(keys)}", str(attrs)))
    return arguments_of(kind, inputs, {key: _flag(key, value) for key, value in zip(keys, attrs, strict=False)})


def _flag(key: str, value: Any) -> Any:
    return bool(value) if key.startswith(("preserve", "disable")) else value
