"""Locations of JAX: the path of modules to an op, and the lines of Python that called it.

`"jit(f)/CNN/bn/add"(callsite("_normalize"("flax/linen/normalization.py":216:2) at callsite(.. at "f"("net.py":8:12))))`
is layer `CNN/bn/add` at net.py, line 8. A location in a function that is called is relative: `"max"` in `relu`, which
`"jit(f)/CNN/jit(relu)"` calls, is `CNN/relu/max`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc

from ..importing.frames import Frame

_WRAPPED = re.compile(r"(\w+)\((.*)\)")
_CALLS = frozenset(
    {
        "closed_call",
        "core_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "pjit",
        "jit",
        "checkpoint",
    }
)
"""Primitives that only run others."""
_MOST = 1000
"""Frames of one op."""


@dataclass(frozen=True)
class Origin:
    """The modules and the calls that an op comes from."""

    path: tuple[str, ...] = ()
    """Modules, then the primitive."""
    frames: tuple[Frame, ...] = ()
    """File, line and function of each call, the outermost first."""

    def inside(self, outer: Origin) -> Origin:
        """The place of an op in a function whose call is at `outer`."""
        return Origin((*outer.path, *self.path), (*outer.frames, *self.frames))


def origin_of(location: LocationAttr, *, nested: bool = False) -> Origin:
    """The path and the frames that a location says.

    nested: whether it is of a call in a function that is called: `"jit(f)"` alone is what it calls, not the program.
    """
    if isinstance(location, FusedLoc):
        parts = _parts(location)
        named = [part for part in parts if isinstance(part, NameLoc)]
        return origin_of((named or parts)[0], nested=nested) if parts else Origin()
    if isinstance(location, NameLoc):
        return Origin(_path(location.desc.data, nested), _frames(location.location))
    return Origin((), _frames(location))


def _parts(location: FusedLoc) -> list[LocationAttr]:
    return list(cast("ArrayAttr[Any]", location.locations))


def _frames(location: object) -> tuple[Frame, ...]:
    """The calls of a location, the outermost first."""
    frames: list[Frame] = []
    stack: list[tuple[object, str]] = [(location, "")]
    while stack and len(frames) < _MOST:
        part, function = stack.pop()
        match part:
            case CallSiteLoc():
                stack += [(part.caller, ""), (part.callee, "")]
            case NameLoc():
                stack.append((part.location, part.desc.data))
            case FileLineColLoc():
                frames.append(Frame(part.filename.data, part.line.data, function))
            case FusedLoc():
                stack += [(inner, function) for inner in _parts(part)[:1]]
            case _:
                pass
    return tuple(reversed(frames))


def _path(name: str, nested: bool) -> tuple[str, ...]:
    """The parts of a name, without what only runs others: the outermost `jit(f)` goes, others are `f`."""
    parts = _split(name.rstrip(":"))
    outermost = parts[0].startswith(("jit(", "pjit(")) and _WRAPPED.fullmatch(parts[0]) is not None
    inner = parts[1:] if outermost and not (nested and len(parts) == 1) else parts
    return tuple(part for part in map(_unwrapped, inner) if part and part not in _CALLS)


def _unwrapped(part: str) -> str:
    while (match := _WRAPPED.fullmatch(part)) is not None:
        part = match[2]
    return part


def _split(name: str) -> list[str]:
    """The parts between slashes that no bracket holds."""
    parts, depth, begin = list[str](), 0, 0
    for at, character in enumerate(name):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "/" and depth == 0:
            parts.append(name[begin:at])
            begin = at + 1
    return [*parts, name[begin:]]


class LayerNames:
    """Names of layers that no other has."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def named(self, wanted: str) -> str:
        """`wanted`, with a number behind it where others have it."""
        if wanted not in self._taken:
            self._taken[wanted] = 0
            return wanted
        while True:
            self._taken[wanted] += 1
            name = f"{wanted}_{self._taken[wanted]}"
            if name not in self._taken:
                self._taken[name] = 0
                return name


_KEY = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\"|(\d+))\]|\.(\w+)")


def argument_name(text: str) -> str:
    """The name of an input that JAX calls by its path in the arguments: `p['conv']['kernel']` is `p.conv.kernel`."""
    head, keys = re.match(r"[^\[.]*", text), list[str]()
    assert head is not None
    for match in _KEY.finditer(text, head.end()):
        keys.append(next(key for key in match.groups() if key is not None))
    return ".".join([head.group(), *keys])
