"""The lines of TVMScript with which a block begins: its variables, condition, regions, notes and views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol, cast

from xdsl.ir import Attribute

from whence.dialects.relay.attributes import to_python
from whence.te.language.blocks import Block, BufferRegion, IterVar, MatchBufferRegion
from whence.te.language.expr import Const, Expr, Extent, Range, Var
from whence.te.language.statements import Buffer

Regions = tuple[Sequence[BufferRegion], Sequence[BufferRegion]]
"""The regions that a block reads, and those that it writes."""
LETTERS = {"spatial": "S", "reduce": "R"}
"""The letters of `T.axis.remap`."""


class Names(Protocol):
    """The part of the printer that a block uses."""

    def name(self, node: Any, hint: str) -> str: ...
    def expr(self, root: Any) -> str: ...
    def buffer(self, buffer: Buffer) -> str: ...
    def shape(self, buffer: Buffer) -> str: ...


def axes(block: Block, values: Sequence[Expr], loops: Mapping[int, Extent], names: Names) -> Iterator[str]:
    """Give the lines of the variables; neighbours that are whole loops share one.

    loops: the extents of the loops around that begin at 0, by the ids of their variables.
    """

    def is_whole(pair: tuple[IterVar, Expr]) -> bool:
        (var, value), extent = pair, loops.get(id(pair[1]))
        same = extent is not None and names.expr(extent) == names.expr(var.dom.extent)
        return same and _is_zero(var.dom.min) and var.kind in LETTERS and isinstance(value, Var)

    for whole, pairs in groupby(zip(block.iter_vars, values, strict=True), is_whole):
        run = [(var, names.expr(value)) for var, value in pairs]
        heads = [names.name(var.var, var.var.name) for var, _ in run]
        if whole and len(run) > 1:
            letters = "".join(LETTERS[var.kind] for var, _ in run)
            yield f"{', '.join(heads)} = T.axis.remap({letters!r}, [{', '.join(text for _, text in run)}])"
        else:
            for head, (var, text) in zip(heads, run, strict=True):
                yield f"{head} = T.axis.{var.kind}({_domain(var.dom, names)}, {text})"


def regions(block: Block, computed: Regions | None, names: Names) -> Iterator[str]:
    """Give the lines of what the block says that it accesses, or else of what it does; hulls are named."""
    reads, writes = computed or (None, None)
    for word, declared, accessed in (("reads", block.reads, reads), ("writes", block.writes, writes)):
        boxes = accessed if declared is None else declared
        if boxes is not None:
            hulls = [names.buffer(box.buffer) for box in boxes if not box.exact]
            note = f"  # at most, of {', '.join(hulls)}" if hulls else ""
            yield f"T.{word}({', '.join(_region(box, names) for box in boxes)}){note}"


def notes(block: Block) -> dict[str, Any]:
    """Return the annotations in Python's terms."""
    return {key: _plain(value) for key, value in block.annotations.items()}


def matched(view: MatchBufferRegion, names: Names) -> str:
    """Return the line of a view of part of a buffer."""
    buffer = view.buffer
    words = [_region(view.source, names), names.shape(buffer), repr(buffer.dtype)]
    if buffer.scope() != "global":
        words.append(f"scope={buffer.scope()!r}")
    if buffer.strides:
        strides = [_stride(stride, names) for stride in buffer.strides]
        words.append(f"strides=({', '.join(strides)}{',' if len(strides) == 1 else ''})")
    return f"{names.buffer(buffer)} = T.match_buffer({', '.join(words)}, offset_factor=1)"


def _stride(stride: Extent, names: Names) -> str:
    return repr(names.name(stride, stride.name)) if isinstance(stride, Var) else names.expr(stride)


def _domain(dom: Range, names: Names) -> str:
    extent = names.expr(dom.extent)
    return extent if _is_zero(dom.min) else f"({names.expr(dom.min)}, {names.expr(dom.min + dom.extent)})"


def _region(box: BufferRegion, names: Names) -> str:
    words = [
        names.expr(one.min)
        if isinstance(one.extent, int) and one.extent == 1
        else f"{names.expr(one.min)}:{names.expr(one.min + one.extent)}"
        for one in box.region
    ]
    return f"{names.buffer(box.buffer)}[{', '.join(words) or '()'}]"


def _is_zero(value: Extent) -> bool:
    number = value.value if isinstance(value, Const) else value
    return isinstance(number, int) and number == 0


def _plain(value: Any) -> Any:
    value = to_python(value) if isinstance(value, Attribute) else value
    return [_plain(part) for part in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value
