"""The steps that Python does on sequences: of texts, and of tensors of different lengths that loops carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .flow import Value, computed, tensor

Attributes: TypeAlias = Mapping[str, Any]
Inputs: TypeAlias = Sequence[Any]


def _at(attributes: Attributes, inputs: Inputs) -> Value:
    return inputs[0][_position(inputs[1], len(inputs[0]))]


def _construct(attributes: Attributes, inputs: Inputs) -> Value:
    return list(inputs)


def _length(attributes: Attributes, inputs: Inputs) -> Value:
    return np.asarray(len(inputs[0]), np.int64)


def _insert(attributes: Attributes, inputs: Inputs) -> Value:
    """Insert an item at a position, by default at the end."""
    items: list[Value] = list(inputs[0])
    has_position = len(inputs) > 2 and inputs[2] is not None
    items.insert(_position(inputs[2], len(items), 1) if has_position else len(items), inputs[1])
    return items


def _erase(attributes: Attributes, inputs: Inputs) -> Value:
    """Remove the item at a position, by default the last."""
    items: list[Value] = list(inputs[0])
    del items[_position(inputs[1], len(items)) if len(inputs) > 1 and inputs[1] is not None else -1]
    return items


def _concatenated(attributes: Attributes, inputs: Inputs) -> Value:
    items = [tensor(computed(item), "item") for item in inputs[0]]
    if not items:
        raise ValueError("expected a sequence with items, got an empty one")
    axis: int = attributes.get("axis", 0)
    return np.stack(items, axis) if attributes.get("new_axis", 0) else np.concatenate(items, axis)


def _position(index: Any, length: int, extra: int = 0) -> int:
    """Return a position, counted from the end if it is negative; `extra` positions after the end are allowed."""
    position = int(index.reshape(()))
    if not -length <= position < length + extra:
        raise ValueError(f"expected a position in [{-length}, {length + extra}), got {position}")
    return position


TABLE: dict[str, Callable[[Attributes, Inputs], Value]] = {
    "ConcatFromSequence": _concatenated,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
}
"""Operators of sequences."""
