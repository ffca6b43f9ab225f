"""The one rewrite driver: every pattern of every pass runs under it, and none of them mentions a location.

Around each match the driver watches what the pattern inserts, replaces and erases, and then
- gives new ops the location of what they stand for: the replaced root first, then the ops the match consumed;
- keeps layers of ops that died with the match (operands nobody else uses);
- writes one entry into the open ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern
from xdsl.traits import ConstantLike, IsTerminator, Pure, SymbolOpInterface
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from .builder import fill
from .ledger import current_ledger
from .span import fuse, is_known

_DEAD_OPERANDS_LIMIT = 256


def _operations() -> list[Operation]:
    return []


def _replaced() -> list[tuple[Operation, LocationAttr, tuple[SSAValue, ...]]]:
    return []


def _erased() -> list[tuple[str, LocationAttr]]:
    return []


@dataclass(eq=False)
class _Match:
    """What one match did so far."""

    inserted: list[Operation] = field(default_factory=_operations)
    modified: list[Operation] = field(default_factory=_operations)
    replaced: list[tuple[Operation, LocationAttr, tuple[SSAValue, ...]]] = field(default_factory=_replaced)
    erased: list[tuple[str, LocationAttr]] = field(default_factory=_erased)

    def on_insertion(self, op: Operation) -> None:
        self.inserted.append(op)

    def on_modification(self, op: Operation) -> None:
        self.modified.append(op)

    def on_replacement(self, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        self.replaced.append((op, op.location, tuple(op.operands)))

    def on_removal(self, op: Operation) -> None:
        self.erased.append((op.name, op.location))
        if self.replaced and self.replaced[-1][0] is op:
            return
        # Erased without being replaced: its operands may have died with it, too.
        self.replaced.append((op, op.location, tuple(op.operands)))

    def clear(self) -> None:
        self.inserted.clear()
        self.modified.clear()
        self.replaced.clear()
        self.erased.clear()

    def _died(self) -> list[Operation]:
        """Operands' owners that only the replaced ops used, pre-order: they were consumed by the match."""
        new = set(map(id, self.inserted))
        dead: dict[int, Operation] = {}
        stack = [value for _, _, operands in reversed(self.replaced) for value in reversed(operands)]
        while stack and len(dead) < _DEAD_OPERANDS_LIMIT:
            owner = stack.pop().owner
            if not isinstance(owner, Operation) or id(owner) in dead or id(owner) in new or owner.parent is None:
                continue
            users = (use.operation for result in owner.results for use in result.uses)
            if all(id(user) in dead for user in users) and is_trivially_dead_when_unused(owner):
                dead[id(owner)] = owner
                stack.extend(reversed(owner.operands))
        return list(dead.values())

    def finish(self, root: Operation, root_location: LocationAttr, pattern: str) -> None:
        """Locate what the match made and record it."""
        before = [root_location] if self.replaced and not self.inserted else []
        if self.inserted:
            gone = [location for _, location, _ in self.replaced] + [location for _, location in self.erased]
            before = gone or [root_location]
            location = fuse([*before, *(op.location for op in self._died())])
            for op in self.inserted:
                fill(op, location)
        elif self.erased and root.parent is not None and any(op is root for op in self.modified):
            # The root was changed in place and absorbed the erased ops.
            root.location = fuse([root_location, *(location for _, location in self.erased)])
        if (ledger := current_ledger()) is not None:
            ledger.record(
                pattern,
                removed=[name for name, _ in self.erased],
                created=[op.name for op in self.inserted],
                before=[location for _, location in self.erased] or before or [root_location],
                after=[op.location for op in self.inserted],
            )


def is_trivially_dead_when_unused(op: Operation) -> bool:
    """Whether `op` may be dropped once nobody reads its results."""
    return op.has_trait(Pure) and not op.has_trait(IsTerminator) and not op.has_trait(SymbolOpInterface)


@dataclass
class _Applier(RewritePattern):
    patterns: Sequence[RewritePattern]
    match: _Match

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        location = op.location
        for pattern in self.patterns:
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                self.match.finish(op, location, type(pattern).__name__)
                self.match.clear()
                return


def rewrite(
    target: ModuleOp | Region,
    patterns: Sequence[RewritePattern],
    *,
    recursive: bool = True,
    reverse: bool = False,
) -> bool:
    """Apply `patterns`, the first that matches an op winning, and carry every location through.

    target: a module or a region; rewritten in place.
    recursive: also visit new and changed ops, until nothing matches; else every op of the input once.
    reverse: users before producers.
    Returns whether anything changed.
    """
    match = _Match()
    walker = PatternRewriteWalker(
        _Applier(patterns, match),
        apply_recursively=recursive,
        walk_reverse=reverse,
        listener=PatternRewriterListener(
            operation_insertion_handler=[match.on_insertion],
            operation_modification_handler=[match.on_modification],
            operation_replacement_handler=[match.on_replacement],
            operation_removal_handler=[match.on_removal],
        ),
    )
    return walker.rewrite_region(target.body if isinstance(target, ModuleOp) else target)


def _name(item: tuple[str, Attribute]) -> str:
    return item[0]


def _value_number(op: Operation) -> tuple[object, ...]:
    attributes = tuple(sorted(op.properties.items(), key=_name)) + tuple(sorted(op.attributes.items(), key=_name))
    return (type(op), tuple(map(id, op.operands)), tuple(op.result_types), attributes)


def eliminate_common_subexpressions(region: Region, skip: Iterable[type[Operation]] = ()) -> bool:
    """Merge equal pure ops of each block of `region`, nested ones included. The survivor is located at both.

    Two ops are equal when class, operands, properties, attributes and result types are. Returns whether any merged.
    """
    ledger = current_ledger()
    skipped = tuple(skip)
    changed = False
    for block in region.blocks:
        known: dict[tuple[object, ...], Operation] = {}
        for op in list(block.ops):
            for inner in op.regions:
                changed |= eliminate_common_subexpressions(inner, skipped)
            if op.regions or not op.has_trait(Pure) or op.has_trait(IsTerminator) or isinstance(op, skipped):
                continue
            survivor = known.setdefault(_value_number(op), op)
            if survivor is op:
                continue
            before = (survivor.location, op.location)
            survivor.location = fuse(before)
            for mine, twin in zip(survivor.results, op.results, strict=True):
                twin.replace_all_uses_with(mine)
            if ledger is not None:
                ledger.record(
                    "CommonSubexpression",
                    removed=[op.name],
                    created=[survivor.name],
                    before=before,
                    after=[survivor.location],
                    reason="equal ops merged",
                )
            op.detach()
            op.erase()
            changed = True
    return changed


def eliminate_dead_code(region: Region) -> bool:
    """Erase pure ops whose results nobody reads, users first. Returns whether any went."""
    ledger = current_ledger()
    changed = False
    for block in region.blocks:
        for op in reversed(list(block.ops)):
            for inner in op.regions:
                changed |= eliminate_dead_code(inner)
            if not is_trivially_dead(op):
                continue
            if ledger is not None:
                ledger.record("DeadCode", removed=[op.name], before=[op.location], reason="nobody reads its result")
            op.detach()
            op.erase()
            changed = True
    return changed


def replace_with_constant(op: Operation, constants: Sequence[Operation], rewriter: PatternRewriter) -> None:
    """Replace `op` by `constants`, one per result, located at the op and at the constants they were made of."""
    made_of = [op.location, *(o.owner.location for o in op.operands if isinstance(o.owner, Operation))]
    location = fuse(made_of)
    for constant in constants:
        if is_known(location):
            constant.location = location
    rewriter.replace(op, constants, [constant.results[0] for constant in constants])


def is_constant(op: Operation | object) -> bool:
    return isinstance(op, Operation) and op.has_trait(ConstantLike)
