"""The lines that read what an instruction computes: the flow of values through a function of a listing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .registers import Cell, effect, sets_up

_JUMP = re.compile(r"j\w+ (\.L\w+)$")
_MOVES_STACK = re.compile(r"(push|pop)\w?|(add|sub)q \$(-?\w+), %rsp$")

_NEXT = "next"
"""The cell of the next instruction: jumps write it, and every instruction reads it."""

Readers = dict[Cell, int]
"""Cell -> the lines that read it before something else is written there, as bits: 1 << line."""


@dataclass
class Block:
    """Instructions behind a label: their texts, and the lines that are known of them, else 0."""

    label: str
    texts: list[str] = field(default_factory=list[str])
    lines: list[int] = field(default_factory=list[int])


class _Step(NamedTuple):
    """An instruction as the flow of values sees it."""

    jump: str | None
    """The label that it may jump to; `*` for any."""
    ends: bool
    """True where nothing behind it runs, unless something jumps there."""
    moves_on: bool
    """True for jumps and returns, which are for what runs next."""
    reads: tuple[Cell, ...]
    writes: tuple[Cell, ...]
    own: int
    """The lines that it is for, if its readers do not decide that; else 0."""


def readers(blocks: Sequence[Block]) -> list[list[int]]:
    """Per instruction of a function's blocks the lines that its result is for, as bits.

    These are the lines of the instructions that read it, or, where those have none and set up (see `sets_up`), the
    lines that they are for. A jump is for what comes next, a return for the whole function. Bit 0 stands for what is
    unknown: what has no line and computes, LLVM merged from several lines.
    """
    whole = 0
    for block in blocks:
        for line in block.lines:
            whole |= 1 << line
    steps = [_steps(block, depths) for block, depths in zip(blocks, _depths(blocks), strict=True)]
    entering: dict[str, Readers] = {block.label: {} for block in blocks}
    result: list[list[int]] = [[] for _ in blocks]
    changed = True
    while changed:
        changed = False
        live: Readers = {}
        for number in reversed(range(len(blocks))):
            block = blocks[number]
            result[number] = _backwards(steps[number], live, entering, whole & ~1)
            if live != entering[block.label]:
                entering[block.label], changed = dict(live), True
    return result


def _steps(block: Block, depths: Sequence[int]) -> list[_Step]:
    """The instructions of a block, the last one first, with places of the stack as far from %rsp as it was at first."""
    steps: list[_Step] = []
    for text, line, depth in zip(reversed(block.texts), reversed(block.lines), reversed(depths), strict=True):
        jump = match[1] if (match := _JUMP.match(text)) else "*" if text.startswith("jmpq *") else None
        reads, writes = (
            tuple(cell - depth if isinstance(cell, int) else cell for cell in cells) for cells in effect(text)
        )
        own = 1 << line if line or not sets_up(text) else 0
        steps.append(
            _Step(jump, text.startswith(("jmp", "ret", "ud2")), text.startswith(("j", "ret")), reads, writes, own)
        )
    return steps


def _backwards(steps: Sequence[_Step], live: Readers, entering: Mapping[str, Readers], whole: int) -> list[int]:
    """The lines that each instruction is for. `live` is what is read behind the block, and then, what before it."""
    result: list[int] = []
    for jump, ends, moves_on, reads, writes, own in steps:
        if ends:
            live.clear()
            if jump is None or jump == "*":
                live[_NEXT] = whole
        if jump is not None:
            for target in entering.values() if jump == "*" else [entering.get(jump, {})]:
                for cell, lines in target.items():
                    live[cell] = live.get(cell, 0) | lines
        lines = live.get(_NEXT, 0) if moves_on else 0
        for cell in writes:
            lines |= live.pop(cell, 0)
        lines = own or lines
        for cell in reads:
            live[cell] = live.get(cell, 0) | lines
        live[_NEXT] = lines or live.get(_NEXT, 0)
        result.append(lines)
    result.reverse()
    return result


def _depths(blocks: Sequence[Block]) -> list[list[int]]:
    """Per instruction how far %rsp is below where it was at first, in bytes."""
    at_label: dict[str, int] = {}
    depth = 0
    result: list[list[int]] = []
    for block in blocks:
        depth = at_label.get(block.label, depth)
        result.append([])
        for text in block.texts:
            result[-1].append(depth)
            if (jump := _JUMP.match(text)) is not None:
                at_label.setdefault(jump[1], depth)
            elif (move := _MOVES_STACK.match(text)) is not None:
                size = int(move[3], 0) if move[3] else 8
                depth += size if (move[1] or move[2]) in ("push", "sub") else -size
    return result
