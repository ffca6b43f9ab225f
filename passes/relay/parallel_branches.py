"""Operators that read the same data, and what follows each of them, as one operator and one of each that follows.

Which operators, and how their weights come together, is told by the passes `relay-combine-parallel-..`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import Pure

from ...dialects.relay.attributes import to_attribute
from ...dialects.relay.canonicalization.constant_operands import sole_user
from ...dialects.relay.core import FuncOp
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.transform import BroadcastToOp, ConcatenateOp, StridedSliceOp
from ...dialects.sizes.types import is_open
from ...provenance.diagnostics import message
from ...provenance.rewrite import rewrite, stands_for
from ...support.errors import PipelineError
from .blocking import twin

_HOISTED = 64
"""The number of ops that may have to come earlier, so that all operands are there in time."""

Group: TypeAlias = list[list[Operator]]
"""Per branch the operator that reads the shared data, and those that follow it."""


@dataclass
class Made:
    """The ops that a group becomes, in order."""

    ops: list[Operation] = field(default_factory=lambda: list[Operation]())

    def add(self, op: Operation, *old: Operation) -> SSAValue:
        """`op`, which does the work of these old ones."""
        self.ops.append(stands_for(op, *old))
        return op.results[0]


@dataclass
class CombineBranches(RewritePattern):
    """At the first operator that reads some data: it and those beside it become one, if there are enough."""

    least: int
    """The least number of branches."""
    places: dict[Operation, int]
    """The position of an op in its function; an op that is inserted later has the number of its position."""
    seen: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())

    @abstractmethod
    def key(self, op: Operator) -> Hashable | None:
        """Operators of equal keys on the same data can be one; None for an operator that no other can be one with."""

    @abstractmethod
    def combined(self, roots: Sequence[Operator], made: Made) -> SSAValue:
        """The one operator of all."""

    @abstractmethod
    def joined(self, values: Sequence[SSAValue], branches: Sequence[Operator], made: Made) -> SSAValue | None:
        """Return one operand of a following operator for its operands in the branches; None if there is none."""

    @abstractmethod
    def biased(self, data: SSAValue, ops: Sequence[BiasAddOp], made: Made) -> SSAValue | None:
        """Return the sum that stands for several `nn.bias_add` on the combined data."""

    @abstractmethod
    def parted(self, value: SSAValue, lasts: Sequence[Operator], made: Made) -> list[SSAValue]:
        """The results of the branches."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or self.key(op) is None or op.operands[0] in self.seen:
            return
        data = op.operands[0]
        self.seen.add(data)
        groups: dict[Hashable, Group] = {}
        users = {use.operation: None for use in data.uses if use.index == 0 and use.operation.parent is op.parent}
        for user in sorted((user for user in users if user in self.places), key=self.places.__getitem__):
            if isinstance(user, Operator) and (key := self.key(user)) is not None:
                groups.setdefault(key, []).append([user])
        for group in groups.values():
            self._combine(group, rewriter)

    def _combine(self, group: Group, rewriter: PatternRewriter) -> None:
        early: dict[Operation, None] = {}
        first = group[0][0]
        kept: Group = []
        for branch in group:
            if (more := self._cone(branch[0].operands[1:], first, {*early}, (row[0] for row in group))) is not None:
                early.update(dict.fromkeys(more))
                kept.append(branch)
        if len(kept) < self.least:
            return
        made = Made()
        roots = [branch[0] for branch in kept]
        value = self.combined(roots, made)
        while (following := self._following(kept)) is not None:
            inside = [op for branch in kept for op in branch] + following
            others = [v for op in following for v in op.operands if v.owner not in inside]
            if (more := self._cone(others, first, {*early}, inside)) is None:
                break
            count = len(made.ops)
            if (result := self._follow(value, kept, following, made)) is None:
                for op in reversed(made.ops[count:]):
                    op.erase()
                del made.ops[count:]
                break
            early.update(dict.fromkeys(more))
            value = result
            for branch, op in zip(kept, following, strict=True):
                branch.append(op)
        results = self.parted(value, [branch[-1] for branch in kept], made)
        position = self.places[first]
        for op in sorted(early, key=self.places.__getitem__):
            # Not an event: the op stays what it was.
            op.detach()
            first.parent.insert_op_before(op, first) if first.parent is not None else None
            self.places[op] = position
        for op in made.ops:
            self.places[op] = position
        rewriter.insert(made.ops, InsertPoint.before(first))
        for branch, result in zip(kept, results, strict=True):
            rewriter.replace(branch[-1], [], [result])
            for op in reversed(branch[:-1]):
                rewriter.erase(op)

    def _following(self, group: Group) -> list[Operator] | None:
        """The next operator of each branch, if they are alike."""
        users: list[Operator] = []
        for branch in group:
            last = branch[-1].results[0]
            user = sole_user(last)
            if not isinstance(user, Operator) or not (user.is_pointwise() or isinstance(user, BiasAddOp)):
                return None
            if user not in self.places or shape_of(user.results[0]) != shape_of(last):
                return None
            users.append(user)
        first = users[0]
        index = list(first.operands).index(group[0][-1].results[0])
        for branch, op in zip(group, users, strict=True):
            if type(op) is not type(first) or op.properties != first.properties or op.attributes != first.attributes:
                return None
            if op.operands[index] is not branch[-1].results[0]:
                return None
        return users if len(set(users)) == len(users) else None

    def _follow(self, value: SSAValue, group: Group, ops: Sequence[Operator], made: Made) -> SSAValue | None:
        """Make one operator for `ops`, on the combined value."""
        biases = [op for op in ops if isinstance(op, BiasAddOp)]
        if biases:
            return self.biased(value, biases, made) if biases[0].data is group[0][-1].results[0] else None
        operands: list[SSAValue] = []
        for index, operand in enumerate(ops[0].operands):
            if operand is group[0][-1].results[0]:
                operands.append(value)
                continue
            others = [op.operands[index] for op in ops]
            if (joined := self.joined(others, ops, made)) is None:
                return None
            operands.append(joined)
        return made.add(twin(ops[0], *operands), *ops)

    def _cone(
        self, values: Iterable[SSAValue], first: Operation, known: set[Operation], inside: Iterable[Operation]
    ) -> list[Operation] | None:
        """The ops that make `values` and stand behind `first`: they have to come earlier.

        None where that cannot be: one depends on the group itself, or has effects, or they are too many.
        """
        forbidden = set(inside)
        cone: dict[Operation, None] = {}
        stack = [value.owner for value in values]
        while stack:
            owner = stack.pop()
            if not isinstance(owner, Operation) or owner in cone or owner in known or owner.parent is not first.parent:
                continue
            if self.places.get(owner, 0) <= self.places[first] and owner not in forbidden:
                continue
            if owner in forbidden or owner.regions or not owner.has_trait(Pure) or len(cone) == _HOISTED:
                return None
            cone[owner] = None
            stack += [operand.owner for operand in owner.operands]
        return list(cone)


@dataclass
class JoinAlongAxis(CombineBranches):
    """The combined result holds those of the branches one after the other along an axis."""

    _axis: int = field(init=False)
    """The axis of the results of the current group, and their rank."""
    _rank: int = field(init=False)
    _sizes: list[int] = field(init=False)
    """The extents of the branches' results along that axis."""

    @abstractmethod
    def axis(self, root: Operator) -> int:
        """The axis of the result."""

    @abstractmethod
    def weight_axis(self, root: Operator) -> int:
        """The axis of the second operand."""

    def combined(self, roots: Sequence[Operator], made: Made) -> SSAValue:
        first, axis = roots[0], self.weight_axis(roots[0])
        weight = made.add(ConcatenateOp(*(root.operands[1] for root in roots), axis=axis), *roots)
        total = shape_of(weight)[axis]
        self._axis, self._rank = self.axis(first), len(shape_of(first.results[0]))
        self._sizes = [shape_of(root.results[0])[self._axis] for root in roots]
        counts = {name: to_attribute(total) for name in ("channels", "units") if name in first.properties}
        product = type(first).create(
            operands=[first.operands[0], weight],
            result_types=[TensorType(element_of(first.results[0]), self._shape(first, sum(self._sizes)))],
            properties=first.properties | counts,
            attributes=dict(first.attributes),
        )
        return made.add(product, *roots)

    def _shape(self, root: Operator, extent: int) -> list[int]:
        shape = list(shape_of(root.results[0]))
        shape[self._axis] = extent
        return shape

    def joined(self, values: Sequence[SSAValue], branches: Sequence[Operator], made: Made) -> SSAValue | None:
        if any(is_open(value.type) for value in values):
            return None
        axis = self._axis - self._rank
        # The rank must include the axis.
        rank = max(-axis, *(len(shape_of(value)) for value in values))
        shapes = [(1,) * (rank - len(shape_of(value))) + shape_of(value) for value in values]
        if all(value is values[0] for value in values) and shapes[0][axis] == 1:
            return values[0]
        wanted: list[tuple[int, ...]] = []
        for shape, size in zip(shapes, self._sizes, strict=True):
            before, behind = shape[:axis], shape[axis:][1:]
            wanted.append((*before, size, *behind))
        rest = {shape[:axis] + shape[axis:][1:] for shape in shapes}
        if len(rest) > 1 or len({element_of(value) for value in values}) > 1:
            return None
        parts = [
            value if shape_of(value) == shape else made.add(BroadcastToOp(value, shape=shape), op)
            for value, shape, op in zip(values, wanted, branches, strict=True)
        ]
        return made.add(ConcatenateOp(*parts, axis=rank + axis), *branches)

    def biased(self, data: SSAValue, ops: Sequence[BiasAddOp], made: Made) -> SSAValue | None:
        if ops[0].signature.int("axis") % self._rank != self._axis:
            return None
        bias = made.add(ConcatenateOp(*(op.bias for op in ops), axis=0), *ops)
        return made.add(twin(ops[0], data, bias), *ops)

    def parted(self, value: SSAValue, lasts: Sequence[Operator], made: Made) -> list[SSAValue]:
        results: list[SSAValue] = []
        begin = 0
        for size, last in zip(self._sizes, lasts, strict=True):
            part = StridedSliceOp(value, begin=[begin], end=[begin + size], strides=[1], axes=[self._axis])
            results.append(made.add(part, last))
            begin += size
        return results


def combine(module: ModuleOp, pattern: type[CombineBranches], least: int, name: str) -> None:
    """Apply a pattern of this kind to each function of a module; `name` is the pass's."""
    if least < 2:
        raise PipelineError(message(name, "min-num-branches of at least 2", str(least)))
    for func in module.ops:
        if isinstance(func, FuncOp) and func.primitive is None:
            places = {op: position for position, op in enumerate(func.block.ops)}
            rewrite(func.body, [pattern(least, places)], recursive=False)
