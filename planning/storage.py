"""Storage ids of a graph: which entries share memory, by TVM's rules.

An argument has memory of its own. The output of a call takes a block that is free: the smallest of up to 16 times its
size, else the largest that is smaller by no more than that, which then grows; else a new one. A block is free when
nobody reads it any more.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from ..runtime.program.graph import NOP, Node, Ref

_MATCH_RANGE = 16


@dataclass
class _Block:
    number: int
    size: int
    uses: int
    freed: int = 0

    def key(self) -> tuple[int, int]:
        return self.size, self.freed


class _Free:
    """The blocks nobody reads, by size; of equal ones the first that became free is first."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.count = 0

    def give(self, block: _Block) -> None:
        self.count += 1
        block.freed = self.count
        insort(self.blocks, block, key=_Block.key)

    def take(self, size: int) -> _Block | None:
        at = bisect_left(self.blocks, size, key=_size)
        if at < bisect_right(self.blocks, size * _MATCH_RANGE, key=_size):
            return self.blocks.pop(at)
        if at > bisect_left(self.blocks, size // _MATCH_RANGE, key=_size):
            return self.blocks.pop(at - 1)
        return None


def _size(block: _Block) -> int:
    return block.size


def storage_ids(nodes: Sequence[Node], sizes: Sequence[Sequence[int]], heads: Sequence[Ref]) -> list[int]:
    """The storage id of every entry. sizes: per node the bytes of its outputs."""
    uses = [[0] * len(outputs) for outputs in sizes]
    for ref in (*(ref for node in nodes for ref in node.inputs), *heads):
        uses[ref.node][ref.output] += 1
    free, blocks, count = _Free(), list[list[_Block]](), 0
    ids: list[int] = []
    for position, node in enumerate(nodes):
        outputs: list[_Block] = []
        for index, size in enumerate(sizes[position]):
            block = None
            if node.function == NOP:
                block = blocks[node.inputs[0].node][node.inputs[0].output]
                block.uses += uses[position][index]
            elif not node.is_argument and (block := free.take(size)) is not None:
                block.size, block.uses = max(block.size, size), uses[position][index]
            if block is None:
                # One more use than there are keeps an argument's block from ever being free.
                block = _Block(count, size, uses[position][index] + node.is_argument)
                count += 1
            outputs.append(block)
            ids.append(block.number)
        blocks.append(outputs)
        for ref in node.inputs:
            block = blocks[ref.node][ref.output]
            block.uses -= 1
            if not block.uses:
                free.give(block)
        if node.function != NOP:
            for block in outputs:
                if not block.uses:
                    free.give(block)
    return ids
