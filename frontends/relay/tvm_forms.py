"""Attributes as TVM writes them, where operators here have others that say the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...dialects.relay.dynamic import Dynamic
from .attrs import operators

Attributes = dict[str, Any]

_LAST = 2**63 - 1
"""The end of a slice of all that is left."""
_FOR_TUNING = ("auto_scheduler_rewritten_layout", "meta_schedule_original_shape")
"""What TVM's tuners say of weights, where they said nothing."""


def own_attributes(name: str, attrs: Mapping[str, Any]) -> Attributes:
    """The attributes of a call, in this operator's words."""
    found = {key: value for key, value in attrs.items() if key not in _FOR_TUNING or value}
    if (form := _FORMS.get(name)) is not None:
        return form(found)
    if name.startswith("dyn."):
        return _dynamic(name, found)
    return found


def _dynamic(name: str, attrs: Attributes) -> Attributes:
    """Without what operands say: in TVM it stands beside them, as they were when they were known, or open."""
    operator = operators().get(name)
    if operator is None or not issubclass(operator, Dynamic):
        return attrs
    decided = {*operator.STANDS_FOR.deciding, *_BESIDE.get(name, ())} - set(operator.declared_attributes())
    if name == "dyn.strided_slice" and attrs.get("slice_mode") in (None, "end"):
        decided.add("slice_mode")
    return {key: value for key, value in attrs.items() if key not in decided}


_BESIDE = {"dyn.broadcast_to": ("shape", "dtype"), "dyn.image.resize2d": ("out_dtype",)}


def _without(*names: str) -> Callable[[Attributes], Attributes]:
    return lambda attrs: {key: value for key, value in attrs.items() if key not in names}


def _broadcast_to(attrs: Attributes) -> Attributes:
    attrs.pop("dtype", None)
    if "shape" in attrs:
        attrs["new_shape"] = attrs.pop("shape")
    return attrs


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
    """Of slices of other lengths than others, the missing ones take all; mode "size" has sizes for ends."""
    mode = attrs.pop("slice_mode", "end")
    lists = [attrs.get(key) for key in ("begin", "end", "strides")]
    if mode not in ("end", "size"):
        return {**attrs, "slice_mode": mode}
    if not all(one is None or isinstance(one, list | tuple) for one in lists):
        return attrs
    begin, end, strides = (list(cast("Sequence[Any]", one or ())) for one in lists)
    if mode == "size":
        end = [_after(first, size) for first, size in zip(begin, end, strict=False)]
        strides = []
    axes = attrs.get("axes")
    count = len(cast("Sequence[Any]", axes)) if axes is not None else max(len(begin), len(end), len(strides))
    if not axes:
        attrs.pop("axes", None)
    strides += [1] * (count - len(strides))
    for places, (forward, backward) in ((begin, (0, _LAST)), (end, (_LAST, -_LAST))):
        missing = strides[len(places) : count]
        places += [forward if isinstance(step, int) and step > 0 else backward for step in missing]
    attrs |= {"begin": begin, "end": end}
    if attrs.pop("strides", None) is not None and strides != [1] * count:
        attrs["strides"] = strides
    return attrs


def _after(first: Any, size: Any) -> Any:
    """The end of a slice of a size; -1 is all that is left."""
    if isinstance(size, int) and size < 0:
        return _LAST
    reaches_end = isinstance(first, int) and first < 0 and isinstance(size, int) and first + size >= 0
    return _LAST if reaches_end else first + size


_FORMS: dict[str, Callable[[Attributes], Attributes]] = {
    "broadcast_to": _broadcast_to,
    "matrix_set_diag": _matrix_set_diag,
    "strided_slice": _strided_slice,
    "nn.space_to_depth": _without("mode"),
}
