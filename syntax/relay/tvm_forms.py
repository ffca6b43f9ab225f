"""TVM's attributes of operators that have different ones here with the same meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...dialects.relay.dynamic import Dynamic
from ...runtime.interpreting.dynamic import ALL, end_after
from .attrs import operators

Attributes = dict[str, Any]

_SAYS_NOTHING = ("auto_scheduler_rewritten_layout", "meta_schedule_original_shape", "keep_background")
"""The attributes that TVM writes even if they are empty."""


def own_attributes(name: str, attrs: Mapping[str, Any]) -> Attributes:
    """Return TVM's attributes of a call as those of our operator."""
    own = {key: value for key, value in attrs.items() if key not in _SAYS_NOTHING or value}
    if (form := _FORMS.get(name)) is not None:
        return form(own)
    if name.startswith("dyn."):
        return _dynamic(name, own)
    return own


def _dynamic(name: str, attrs: Attributes) -> Attributes:
    """Return the attributes without those that operands replace; TVM keeps both."""
    operator = operators().get(name)
    if operator is None or not issubclass(operator, Dynamic):
        return attrs
    decided = {*operator.STANDS_FOR.deciding, *_BESIDE.get(name, ())} - set(operator.declared_attributes())
    return {key: value for key, value in attrs.items() if key not in decided}


_BESIDE = {"dyn.broadcast_to": ("dtype",), "dyn.image.resize2d": ("out_dtype",)}


def _without(*names: str) -> Callable[[Attributes], Attributes]:
    return lambda attrs: {key: value for key, value in attrs.items() if key not in names}


def _matrix_set_diag(attrs: Attributes) -> Attributes:
    if "k1" in attrs or "k2" in attrs:
        attrs["k"] = [attrs.pop("k1", 0), attrs.pop("k2", 0)]
    sides = [attrs.pop(f"{side}_diag_right_align", None) for side in ("super", "sub")]
    if any(side is not None for side in sides):
        above, below = (
            default if side is None else bool(side) for side, default in zip(sides, (True, False), strict=True)
        )
        attrs["align"] = f"{_SIDES[above]}_{_SIDES[below]}"
    return attrs


_SIDES = {True: "RIGHT", False: "LEFT"}


def _strided_slice(attrs: Attributes) -> Attributes:
    """Complete lists that are shorter than others so that they take everything; in mode "size", ends are sizes."""
    mode = attrs.pop("slice_mode", "end")
    lists = [attrs.get(key) for key in ("begin", "end", "strides")]
    if mode not in ("end", "size"):
        return {**attrs, "slice_mode": mode}
    if not all(values is None or isinstance(values, list | tuple) for values in lists):
        return attrs
    begin, end, strides = (list(cast("Sequence[Any]", values or ())) for values in lists)
    if mode == "size":
        end = [end_after(first, size) for first, size in zip(begin, end, strict=False)]
        strides = []
    axes = attrs.get("axes")
    count = len(cast("Sequence[Any]", axes)) if axes is not None else max(len(begin), len(end), len(strides))
    if not axes:
        attrs.pop("axes", None)
    strides += [1] * (count - len(strides))
    for bounds, (forward, backward) in ((begin, (0, ALL)), (end, (ALL, -ALL))):
        missing = strides[len(bounds) : count]
        bounds += [forward if isinstance(step, int) and step > 0 else backward for step in missing]
    attrs |= {"begin": begin, "end": end}
    if attrs.pop("strides", None) is not None and strides != [1] * count:
        attrs["strides"] = strides
    return attrs


_FORMS: dict[str, Callable[[Attributes], Attributes]] = {
    "broadcast_to": _without("dtype"),
    "matrix_set_diag": _matrix_set_diag,
    "strided_slice": _strided_slice,
    "nn.space_to_depth": _without("mode"),
    "nn.bitpack": _without("name"),
}
