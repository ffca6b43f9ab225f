"""Parts of a function between marks: the external compiler of each op, and the parts that may become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xdsl.ir import Block, Operation

from ...dialects.relay.annotation import CompilerBeginOp, CompilerEndOp
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.functions import FnOp, GlobalOp, YieldOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...provenance.diagnostics import message
from ...support.errors import PipelineError
from .analysis.traversal import pre_order

DEFAULT = "default"
"""The compiler of what no external one takes."""


@dataclass(eq=False)
class Region:
    """The ops between marks that belong together."""

    compiler: str
    ops: list[Operation] = field(default_factory=lambda: list[Operation]())
    """In order, marks apart."""
    begins: list[CompilerBeginOp] = field(default_factory=lambda: list[CompilerBeginOp]())
    ends: list[CompilerEndOp] = field(default_factory=lambda: list[CompilerEndOp]())

    @property
    def members(self) -> list[Operation]:
        return [*self.begins, *self.ops, *self.ends]


def blocks_of(func: FuncOp) -> list[Block]:
    """The blocks of a function, those of branches, closures and let-blocks in it included, outer ones first."""
    return [block for op in pre_order(func) for region in op.regions for block in region.blocks]


class _Sets:
    """Disjoint sets of numbers."""

    def __init__(self, size: int):
        self._parents = list(range(size))

    def find(self, member: int) -> int:
        while self._parents[member] != member:
            self._parents[member] = member = self._parents[self._parents[member]]
        return member

    def join(self, member: int, other: int) -> None:
        """Make the set of `other` a part of that of `one`."""
        self._parents[self.find(other)] = self.find(member)


def find_regions(block: Block) -> list[Region]:
    """The regions of a block, in order.

    Raises PipelineError when an op reads what is marked for different compilers.
    """
    ops = list(block.ops)
    position = {op: index for index, op in enumerate(ops)}
    sets = _Sets(len(ops))
    compilers: dict[int, str] = {}

    def enter(op: Operation, compiler: str, inner: Iterable[Operation]) -> None:
        here = position[op]
        for producer in inner:
            sets.join(here, position[producer])
            if compilers.setdefault(position[producer], compiler) != compiler:
                both = f"{compilers[position[producer]]} and {compiler}"
                raise PipelineError(message(op.name, "operands marked for one compiler", both, op.location))
        compilers[here] = compiler

    for op in ops:
        # Values of the blocks around this one cannot belong to its regions.
        producers = [value.owner for value in op.operands if value.owner in position]
        if isinstance(op, CompilerBeginOp):
            enter(op, op.compiler.data, ())
        elif isinstance(op, CompilerEndOp):
            inside = [producer for producer in producers if isinstance(producer, Operation)]
            enter(op, op.compiler.data, [producer for producer in inside if not isinstance(producer, ConstantOp)])
        elif not isinstance(op, ReturnOp | YieldOp):
            inside = [
                producer
                for producer in producers
                if isinstance(producer, Operation) and not isinstance(producer, CompilerEndOp)
            ]
            marked = [producer for producer in inside if position[producer] in compilers]
            if marked:
                enter(op, compilers[position[marked[0]]], marked)
    regions: dict[int, Region] = {}
    for index, op in enumerate(ops):
        if index in compilers:
            region = regions.setdefault(sets.find(index), Region(compilers[index]))
            if isinstance(op, CompilerBeginOp):
                region.begins.append(op)
            elif isinstance(op, CompilerEndOp):
                region.ends.append(op)
            else:
                region.ops.append(op)
    return list(regions.values())


class Parts:
    """A block as a graph of parts: regions, and single ops outside of them. Parts may be merged."""

    def __init__(self, block: Block, regions: Sequence[Region]):
        self.members: list[list[Operation]] = [region.members for region in regions]
        part_of = {op: number for number, members in enumerate(self.members) for op in members}
        self.first: list[int] = [0] * len(regions)
        """The position in the block at which each part begins."""
        for index, op in enumerate(block.ops):
            if op not in part_of:
                part_of[op] = len(self.members)
                self.members.append([op])
                self.first.append(index)
        for index, op in reversed(list(enumerate(block.ops))):
            self.first[part_of[op]] = index
        self.part_of: Mapping[Operation, int] = part_of
        self.reads: list[set[int]] = [set() for _ in self.members]
        """Part -> those that it reads."""
        for op, part in part_of.items():
            read = op.operands if not op.regions else [value for reader in pre_order(op) for value in reader.operands]
            for value in read:
                owner = part_of.get(value.owner) if isinstance(value.owner, Operation) else None
                if owner is not None and owner != part:
                    self.reads[part].add(owner)
        # Ops that may touch references, or call functions that do, stay in order.
        before: int | None = None
        for op in block.ops:
            if isinstance(op, Operator | ConstantOp | TupleOp | TupleGetItemOp | ReturnOp | YieldOp | FnOp | GlobalOp):
                continue
            part = part_of[op]
            if isinstance(op, CallOp) and part < len(regions):
                continue
            if before is not None and before != part:
                self.reads[part].add(before)
            before = part
        self._sets = _Sets(len(self.members))
        self._clean: dict[int, set[int]] = {}
        """Part -> parts that do not depend on it, as far as the question came up."""
        self._merged: set[int] = set()

    def find(self, part: int) -> int:
        """The part that one is merged into."""
        return self._sets.find(part)

    def order(self) -> list[int]:
        """The parts, each behind those that it reads, else as they begin in the block.

        Raises PipelineError when some read each other: no order of whole parts computes them.
        """
        users: list[list[int]] = [[] for _ in self.members]
        missing = [len(read) for read in self.reads]
        for part, read in enumerate(self.reads):
            for producer in read:
                users[producer].append(part)
        ready: list[tuple[int, int]] = []
        for part, count in enumerate(missing):
            if not count:
                heappush(ready, (self.first[part], part))
        ordered: list[int] = []
        while ready:
            _, part = heappop(ready)
            ordered.append(part)
            for user in users[part]:
                missing[user] -= 1
                if not missing[user]:
                    heappush(ready, (self.first[user], user))
        if len(ordered) != len(self.members):
            stuck = next(part for part, count in enumerate(missing) if count and len(self.members[part]) > 1)
            where = self.members[stuck][0]
            expected = "regions of which none reads what is computed of it outside"
            raise PipelineError(message("compiler regions", expected, "a cycle", where.location))
        return ordered

    def merge(self, part: int, other: int) -> bool:
        """Merge `other` into `part` unless that would make a cycle; whether it was, or they are one already.

        Parts are merged in the order of `order`: nothing reads `part` or what is behind it so far.
        """
        one, two = self.find(part), self.find(other)
        if one == two:
            return True
        direct = {self.find(read) for read in self.reads[one]} - {one, two}
        if self._descends(direct, two):
            return False
        # Nothing is computed yet from a part that is not merged with others.
        if one in self._merged and self._descends({self.find(read) for read in self.reads[two]} - {two}, one):
            return False
        self._sets.join(two, one)
        small, large = sorted((self.reads[one], self.reads[two]), key=len)
        large |= small
        self.reads[two], self.reads[one] = large, set()
        if one in self._merged:
            self._clean.clear()
        elif direct:
            # Readers of the grown part may descend from other parts now.
            self._clean = {two: self._clean[two]}
        self._merged |= {one, two}
        return True

    def _descends(self, starts: Iterable[int], target: int) -> bool:
        """Return whether some of these parts is computed from `target`."""
        clean = self._clean.setdefault(target, set())
        seen: set[int] = set()
        stack = list(starts)
        while stack:
            part = self.find(stack.pop())
            if part == target:
                return True
            if part not in clean and part not in seen:
                seen.add(part)
                stack += self.reads[part]
        clean |= seen
        return False
