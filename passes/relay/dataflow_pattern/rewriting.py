"""Matches of patterns replaced by what a callback makes of them; locations come by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ....dialects.relay.core import FuncOp
from ....provenance.rewrite import rewrite as drive
from ....support.errors import PipelineError
from ....syntax.relay import expr as relay
from ....syntax.relay.equal import structural_equal
from ...functions import is_closed
from ...runner import pass_context
from ..infer_type import InferTypePass
from .expressions import Fields, Node, infer_written
from .groups import Group, find_groups
from .patterns import DFPattern
from .written import HoldsFunctions

NodeMap: TypeAlias = Mapping[DFPattern, Sequence[Node]]
"""Pattern -> what it stands for."""

TargetT = TypeVar("TargetT", bound=ModuleOp | relay.Expr | HoldsFunctions)

_ROUNDS = 100


class DFPatternCallback:
    """A pattern, and what becomes of its matches. A subclass sets `pattern` and defines `callback`.

    require_type: types are inferred anew before each round.
    rewrite_once: one round; else as many as change something, 100 at most.

    >>> class Twice(DFPatternCallback):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.x = wildcard()
    ...         self.pattern = self.x + self.x
    ...
    ...     def callback(self, pre, post, node_map):
    ...         return MultiplyOp(node_map[self.x][0], two)
    """

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False):
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, target: TargetT) -> TargetT:
        """A new module, or expression, without matches of the pattern, as far as the callback takes them away."""
        return rewrite(self, target)

    def callback(self, pre: Any, post: Any, node_map: NodeMap) -> Any:
        """Return the replacement of a match: a value, or values where the match is an op that gives several.

        It may be made of new ops, which go where the match was. pre, post: the root of the match, before and after what
        it reads was rewritten, which is the same value here; to return `post` leaves it as it is. node_map: what each
        part of the pattern stands for.
        """
        raise NotImplementedError("Unimplemented")


def rewrite(callbacks: DFPatternCallback | Sequence[DFPatternCallback], target: TargetT, mod: object = None) -> TargetT:
    """A new module, in which all matches are replaced, callback by callback, until nothing changes.

    target: a module; or an expression of `whence.relay` or its IRModule, for which callbacks give expressions.
    mod: the functions that an expression calls; nothing looks into them.
    The new ops have the locations of what the match computed with. Functions that are primitive, or closed, stay.
    Raises PipelineError when a callback gives something else than values of the right number, and for types that do
    not fit.
    """
    all_callbacks = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    if isinstance(target, relay.Expr):
        return cast(TargetT, _rewritten(all_callbacks, target))
    if isinstance(target, HoldsFunctions):
        return cast(TargetT, target.map_functions(lambda func: _rewritten(all_callbacks, func)))
    copy = target.clone()
    for _ in range(_ROUNDS):
        changed = False
        for callback in all_callbacks:
            if callback.require_type:
                InferTypePass().apply(pass_context(), copy)
            changed |= _round(callback, copy)
        if not changed or any(callback.rewrite_once for callback in all_callbacks):
            break
    return copy


def _rewritten(callbacks: Sequence[DFPatternCallback], top: relay.Expr) -> relay.Expr:
    for _ in range(_ROUNDS):
        before = top
        for callback in callbacks:
            if callback.require_type:
                infer_written(top)
            top = callback.pattern.rewrite(callback.callback, top)
        if top is before or any(callback.rewrite_once for callback in callbacks) or structural_equal(before, top):
            break
    return top


def _round(callback: DFPatternCallback, module: ModuleOp) -> bool:
    """Replace the matches that there are; whether there were any."""
    changed = retyped = False
    for func in [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None and not is_closed(op)]:
        groups = {group.anchor: group for group in find_groups(callback.pattern, func)}
        if groups:
            replacing = _Replace(callback, groups)
            changed |= drive(func.body, [replacing], recursive=False)
            retyped |= replacing.retyped
    if retyped:
        InferTypePass().apply(pass_context(), module)
    return changed


class _Replace(RewritePattern):
    """Calls the callback at the root of each group."""

    def __init__(self, callback: DFPatternCallback, groups: Mapping[Operation, Group]):
        self._callback = callback
        self._groups = groups
        self._moved: dict[SSAValue, SSAValue] = {}
        self.reason = type(callback).__name__
        self.retyped = False

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        group = self._groups.get(op)
        if group is None:
            return
        node_map = {
            part: [self._now(node) for node in nodes]
            for part, nodes in group.memo.items()
            if isinstance(part, DFPattern)
        }
        answer: object = self._callback.callback(group.root, group.root, node_map)
        values = self._values(answer, group)
        if values == list(group.results):
            return
        for new in _detached(values):
            rewriter.insert(new, InsertPoint.before(op))
        self.retyped |= [value.type for value in values] != [value.type for value in group.results]
        by_result = dict(zip(group.results, values, strict=True))
        self._moved.update(by_result)
        rewriter.replace(op, [], [by_result.get(result) for result in op.results])
        for inner in group.ops:
            if inner is not op and all(result.first_use is None for result in inner.results):
                rewriter.erase(inner)

    def _now(self, node: Node) -> Node:
        """Return the current form of an expression, as earlier matches were replaced."""
        if isinstance(node, SSAValue):
            return self._moved.get(node, node)
        if isinstance(node, Fields):
            return Fields(node.op, node.index, tuple(self._moved.get(value, value) for value in node.values))
        return node

    def _values(self, answer: object, group: Group) -> list[SSAValue]:
        """Return the result of a callback, as values."""
        if isinstance(answer, Operation):
            items: Sequence[object] = answer.results
        elif isinstance(answer, Sequence):
            items = cast("Sequence[object]", answer)
        else:
            items = [answer]
        values: list[SSAValue] = [value for value in items if isinstance(value, SSAValue)]
        if len(values) != len(items) or len(values) != len(group.results):
            wanted = f"{len(group.results)} value{'s' * (len(group.results) != 1)}"
            name = type(self._callback).__name__
            raise PipelineError(f"{name}.callback: expected {wanted}, got {', '.join(map(str, items))}")
        return values


def _detached(values: Sequence[SSAValue]) -> list[Operation]:
    """The ops behind values that are in no block yet, producers first."""
    ops: dict[Operation, None] = {}
    seen: set[Operation] = set()
    stack = [(value.owner, False) for value in reversed(values)]
    while stack:
        op, complete = stack.pop()
        if not isinstance(op, Operation) or op.parent is not None:
            continue
        if complete:
            ops[op] = None
        elif op not in seen:
            seen.add(op)
            stack.append((op, True))
            stack += [(value.owner, False) for value in reversed(op.operands)]
    return list(ops)
