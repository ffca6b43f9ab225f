"""Bases for what looks at a program, and for what makes another of it: each op once, let-blocks flat.

Neither recurses: a program may be as long as it likes, and nest as deep as it likes. A let-block is met once, and its
bindings one after the other; nobody meets the bindings before one again to get at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.relay.binding import LetOp
from ....dialects.relay.constants import has_pool, pool_of, set_pool
from ....dialects.relay.core import FuncOp, ReturnOp
from ....provenance.builder import fill
from ....provenance.copies import copy_of, empty_copy
from .traversal import inside, is_binding


class Visitor:
    """Sees each op of a program once. Override what you want to hear of.

    >>> class Count(Visitor):
    ...     total = 0
    ...     def visit(self, op):
    ...         self.total += 1
    >>> count = Count()
    >>> count.run(module)
    """

    def enter(self, op: Operation) -> None:
        """An op with regions, before what is in them."""

    def visit(self, op: Operation) -> None:
        """An op that is no let-block, after what is in its regions."""

    def enter_let(self, let: LetOp) -> None:
        """A let-block, before its bindings."""

    def visit_binding(self, op: Operation, let: LetOp) -> None:
        """A named op of a let-block; by default an op as any other."""
        self.visit(op)

    def leave_let(self, let: LetOp) -> None:
        """A let-block, after its bindings; by default an op as any other."""
        self.visit(let)

    def run(self, root: Operation) -> None:
        """Visit `root` and all that is in it."""
        stack = [(root, self._begin(root))]
        while stack:
            op, rest = stack[-1]
            if (inner := next(rest, None)) is not None:
                if inner.regions:
                    stack.append((inner, self._begin(inner)))
                else:
                    self._meet(inner)
                continue
            stack.pop()
            if isinstance(op, LetOp):
                self.leave_let(op)
            else:
                self._meet(op)

    def _begin(self, op: Operation) -> Iterator[Operation]:
        if isinstance(op, LetOp):
            self.enter_let(op)
        else:
            self.enter(op)
        return inside(op)

    def _meet(self, op: Operation) -> None:
        let = op.parent_op()
        if isinstance(let, LetOp) and is_binding(op):
            self.visit_binding(op, let)
        else:
            self.visit(op)


Result = Operation | Sequence[SSAValue] | None
"""The replacement of an op: another op, values that are there, or (None) a copy of it."""


class Mutator:
    """Makes another program of one, which stays as it is. Override what is to become something else.

    An op is rewritten when its regions are: `rewrite` gets the op with its new operands. New ops are located at the op
    that they stand for, unless they have a location.

    >>> class ExpForLog(Mutator):
    ...     def rewrite(self, op, operands):
    ...         return LogOp(operands[0]) if isinstance(op, ExpOp) else None
    >>> other = ExpForLog().run(module)
    """

    def __init__(self) -> None:
        self.memo: dict[SSAValue, SSAValue] = {}
        """Each value of the old program -> what stands for it in the new one."""
        self.block = Block()
        """The block to which `add` appends ops."""

    def rewrite(self, op: Operation, operands: Sequence[SSAValue]) -> Result:
        """Return the replacement of an op without regions."""
        return None

    def rewrite_region_op(self, op: Operation, operands: Sequence[SSAValue], regions: list[Region]) -> Result:
        """Return the replacement of an op with regions, which are new already."""
        return None

    def rewrite_let(self, let: LetOp, body: Region) -> Result:
        """Return the replacement of a let-block."""
        return self.rewrite_region_op(let, (), [body])

    def rewrite_binding(self, op: Operation, operands: Sequence[SSAValue], let: LetOp) -> Result:
        """Return the replacement of a binding without regions; by default as for any other op."""
        return self.rewrite(op, operands)

    def rewrite_type(self, type_: Attribute) -> Attribute:
        """Return the replacement of the type of a block's argument."""
        return type_

    def add(self, op: Operation) -> Operation:
        """Put an op before what takes the place of the current one."""
        self.block.add_op(op)
        return op

    def run(self, module: ModuleOp) -> ModuleOp:
        """The new module, which shares the pool of constants."""
        new = ModuleOp([], dict(module.attributes))
        new.location = module.location
        if has_pool(module):
            set_pool(new, pool_of(module))
        for op in module.ops:
            self.block = new.body.block
            self._copy(op)
        return new

    def run_function(self, func: FuncOp) -> FuncOp:
        """The new function."""
        self.block = Block()
        self._copy(func)
        result = self.block.last_op
        assert isinstance(result, FuncOp)
        result.detach()
        return result

    def _copy(self, root: Operation) -> None:
        """Put what takes the place of `root` at the end of the current block."""
        stack = [_Frame(root, self.block, regions := list[Region](), self._blocks(root, regions))]
        while stack:
            frame = stack[-1]
            if (inner := next(frame.rest, None)) is None:
                stack.pop()
                self.block = frame.home
                self._put(frame.op, frame.regions)
            elif inner.regions:
                stack.append(_Frame(inner, self.block, regions := list[Region](), self._blocks(inner, regions)))
            else:
                self._put(inner, [])

    def _blocks(self, op: Operation, regions: list[Region]) -> Iterator[Operation]:
        """The ops in `op`; before those of a block, a new one for what takes their place becomes the current one."""
        for region in op.regions:
            regions.append(new_region := Region())
            for block in region.blocks:
                new_region.add_block(new := empty_copy(block, self.memo, self.rewrite_type))
                self.block = new
                yield from block.ops

    def _put(self, op: Operation, regions: list[Region]) -> None:
        operands = [self.memo.get(value, value) for value in op.operands]
        last = self.block.last_op
        result = self._ask(op, operands, regions)
        if result is None:
            result = _copied(op, operands, regions)
        if isinstance(result, Operation):
            if result.parent is None:
                self.block.add_op(result)
            result = result.results
        for old, value in zip(op.results, result, strict=True):
            self.memo[old] = value
            if value.name_hint is None:
                value.name_hint = old.name_hint
        added = self.block.first_op if last is None else last.next_op
        while added is not None:
            fill(added, op.location)
            added = added.next_op

    def _ask(self, op: Operation, operands: Sequence[SSAValue], regions: list[Region]) -> Result:
        if isinstance(op, LetOp):
            return self.rewrite_let(op, regions[0])
        if regions:
            return self.rewrite_region_op(op, operands, regions)
        let = op.parent_op()
        if isinstance(let, LetOp) and is_binding(op):
            return self.rewrite_binding(op, operands, let)
        return self.rewrite(op, operands)


class _Frame(NamedTuple):
    op: Operation
    home: Block
    """The new block for what takes its place."""
    regions: list[Region]
    rest: Iterator[Operation]


def _copied(op: Operation, operands: Sequence[SSAValue], regions: list[Region]) -> Operation:
    types = list(op.result_types)
    if isinstance(op, LetOp) and (last := regions[0].block.last_op) is not None:
        types = list(last.operand_types)
    copy = copy_of(op, operands, types, regions)
    if isinstance(copy, FuncOp) and isinstance(copy.block.last_op, ReturnOp):
        copy.update_type()
    return copy
