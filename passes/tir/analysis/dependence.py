"""Dependences between the iterations of loops, and the changes of loops that keep them.

A question is answered by a `Verdict`: it holds, or two iterations contradict it, or it is undecided (which callers take
as no). Two accesses depend on each other if they touch one element of a buffer and one of them writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ....dialects.affine import Range
from ....dialects.tir import ForOp, LoadOp, StoreOp
from .accesses import Element, Nest, Touch, alike, same_place
from .meetings import AFTER, BEFORE, DATA, EQUAL, Access, Answer, Apart, Pair, Undecided, Variable, Witness

_INEXACT = arith.AddfOp | arith.MulfOp
_COMBINING = (
    _INEXACT
    | arith.AddiOp
    | arith.MuliOp
    | arith.AndIOp
    | arith.OrIOp
    | arith.XOrIOp
    | arith.MaximumfOp
    | arith.MinimumfOp
    | arith.MaxnumfOp
    | arith.MinnumfOp
    | arith.MaxSIOp
    | arith.MinSIOp
    | arith.MaxUIOp
    | arith.MinUIOp
)
"""The ops whose results do not depend on the order in which they combine many values, but for rounding."""


class Conflict(NamedTuple):
    """Two iterations that touch one element, in an order that the question does not allow."""

    first: Touch
    second: Touch
    witness: Witness

    def __str__(self) -> str:
        """`iteration i=0, j=3 writes %c[0, 3] that i=1, j=2 reads`."""
        element = f"{self.first.name}{list(self.witness.element)}"
        sizes = "".join(f" with {name} = {value}" for name, value in sorted(self.witness.sizes.items()))
        if self.first.writes and self.second.writes:
            both = f"{point(self.witness.earlier)} and {point(self.witness.later)}"
            return f"iterations {both} write {element}{sizes}"
        did, does = ("writes", "reads") if self.first.writes else ("reads", "writes")
        there = f"that {point(self.witness.later)} {does}"
        return f"iteration {point(self.witness.earlier)} {did} {element} {there}{sizes}"


class Verdict(NamedTuple):
    """The answer to a question; true if it holds."""

    conflict: Conflict | None = None
    undecided: Undecided | None = None
    reassociates: bool = False
    """True if sums or products of floats are added up in another order, which rounds otherwise."""

    def __bool__(self) -> bool:
        return self.conflict is None and self.undecided is None


def point(values: Mapping[Variable, int]) -> str:
    """Return the text of an iteration: `i=0, j=3`."""
    named = [(cast(SSAValue, value), number) for value, number in values.items() if not isinstance(value, tuple)]
    return ", ".join(f"{value.name_hint or f'v{i}'}={number}" for i, (value, number) in enumerate(named))


def carried(loop: ForOp) -> Verdict:
    """Return whether no iteration of `loop` depends on another: it may run in parallel, or as lanes of vectors."""
    return _checked(Nest(loop), [loop], lambda _: [{loop.var: AFTER}])


def carriers(loops: Sequence[ForOp]) -> dict[ForOp, Verdict]:
    """Return the loops of a nest, outermost first, that carry a dependence, or may, and which.

    Iterations of a loop carry one where they depend on each other while the loops around it stand still.
    """
    verdicts = {loop: carried(loop) for loop in loops}
    return {loop: verdict for loop, verdict in verdicts.items() if not verdict}


def reordered(loops: Sequence[ForOp], order: Sequence[ForOp]) -> Verdict:
    """Return whether a perfect nest of `loops`, outermost first, may run in another order.

    Accumulations `x = x + term` may, as they stand for a sum; `reassociates` then tells that rounding changes.
    """
    old, new = [loop.var for loop in loops], [loop.var for loop in order]
    return _checked(Nest(loops[0]), loops, lambda _: orders(old, new), accumulate=True)


def fused(first: Sequence[ForOp], second: Sequence[ForOp]) -> Verdict:
    """Return whether two nests of equal extents, `second` behind `first` in one block, may become one.

    first, second: their loops, outermost first. Then iteration i of `second` runs before iteration i + 1 of `first`.
    """
    names = [loop.var for loop in first]
    aparts: list[Apart] = [{**dict.fromkeys(names[:level], EQUAL), name: BEFORE} for level, name in enumerate(names)]
    return _checked(
        Nest(first[0], second[0]),
        [first[0], second[0]],
        lambda pair: aparts if _inside(pair[0], first[0]) and _inside(pair[1], second[0]) else [],
        renamed={loop.var: name for loop, name in zip(second, names, strict=True)},
    )


def distributed(loops: Sequence[ForOp], ops: Collection[Operation]) -> Verdict:
    """Return whether `ops`, which run first in each pass of a perfect nest, may run in a nest of their own before it.

    loops: outermost first. ops: in the innermost loop, or in blocks there.
    """

    def is_first(touch: Touch) -> bool:
        return any(op.is_ancestor(touch.op) for op in ops)

    names = [loop.var for loop in loops]
    aparts: list[Apart] = [{**dict.fromkeys(names[:level], EQUAL), name: AFTER} for level, name in enumerate(names)]
    return _checked(
        Nest(loops[0]), loops[:1], lambda pair: aparts if not is_first(pair[0]) and is_first(pair[1]) else []
    )


def elementwise(accesses: Sequence[Element], nest: Operation) -> bool:
    """Return whether `accesses`, ops of one block, touch the same element or vector in each iteration of `nest`, and no
    other iteration touches that."""
    first = accesses[0]
    if not all(same_place(first, other) for other in accesses[1:]):
        return False
    loops: list[ForOp] = []
    parent = first.parent_op()
    while parent is not None and parent is not nest.parent_op():
        loops += [parent] if isinstance(parent, ForOp) else []
        parent = parent.parent_op()
    seen = Nest()
    touch = seen.touch(first)
    if touch is None or touch.access is None:
        return False
    names = [loop.var for loop in reversed(loops)]
    fixed = _outside([touch], loops[-1:])
    pair = Pair(touch.access, touch.access, seen.ranges, fixed, seen.data)
    return all(
        pair.meet({**dict.fromkeys(names[:level], EQUAL), name: AFTER}) is None for level, name in enumerate(names)
    )


def written_once(loop: ForOp, buffer: SSAValue) -> Verdict:
    """Return whether no two iterations of `loop` write one element of a buffer."""
    own = [touch for touch in Nest(loop).touches if touch.buffer is buffer and touch.writes]
    return _checked(Nest(loop), [loop], lambda pair: [{loop.var: AFTER}] if {*pair} <= {*own} else [])


def coincidence(
    variables: Sequence[Variable],
    exprs: Sequence[AffineExpr],
    ranges: Sequence[Range],
    conditions: Sequence[AffineExpr] = (),
    *,
    fixed: Sequence[Variable] = (),
    second: Sequence[AffineExpr] = (),
) -> Answer:
    """Return two points of a box, one behind the other, where expressions have the same values; dim i is variable i.

    conditions: expressions that are at least 0 at both. fixed: variables that are the same at both. second: expressions
    that are 0 at the second.
    """
    access = _access(variables, exprs, conditions)
    later = _access(variables, exprs, [*conditions, *second, *(expr * -1 for expr in second)])
    pair = Pair(access, later, dict(zip(variables, ranges, strict=True)), fixed)
    moved = [name for name in variables if name not in fixed]
    answers = (pair.meet({**dict.fromkeys(moved[:level], EQUAL), name: AFTER}) for level, name in enumerate(moved))
    return next((answer for answer in answers if answer is not None), None)


def occurrence(
    variables: Sequence[Variable],
    exprs: Sequence[AffineExpr],
    values: Sequence[int],
    ranges: Sequence[Range],
    conditions: Sequence[AffineExpr] = (),
) -> Answer:
    """Return a point of a box where expressions, of which dim i is variable i, have some values.

    conditions: expressions that are at least 0 there.
    """
    access = _access(variables, exprs, conditions)
    wanted = Access((), tuple(map(AffineConstantExpr, values)))
    return Pair(access, wanted, dict(zip(variables, ranges, strict=True))).meet({})


def _access(variables: Sequence[Variable], exprs: Sequence[AffineExpr], conditions: Sequence[AffineExpr]) -> Access:
    return Access(tuple(variables), tuple(exprs), tuple(((condition,),) for condition in conditions))


def orders(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[Apart]:
    """The ways in which one iteration is before another in the old order of loops, and behind it in the new one."""
    for level, name in enumerate(old):
        for other_level, other in enumerate(new):
            apart: dict[Hashable, tuple[int, int]] = dict.fromkeys(old[:level], EQUAL)
            apart[name] = AFTER
            if other in apart or any(each is name for each in new[:other_level]):
                continue
            apart |= dict.fromkeys(new[:other_level], EQUAL)
            apart[other] = BEFORE
            yield apart


def accumulation(store: Operation) -> tuple[LoadOp, Operation] | None:
    """Return the load and the op of `x = x + term`, if `store` ends one; also of a product, a minimum, .."""
    if not isinstance(store, StoreOp) or not isinstance(combined := store.value.owner, _COMBINING):
        return None
    for operand in (combined.operands[0], combined.operands[1]):
        load = operand.owner
        if (
            isinstance(load, LoadOp)
            and load.buffer is store.buffer
            and load.parent is store.parent
            and load.guard is None
            and same_place(load, store)
            and all(use.operation is combined for use in load.result.uses)
            and len(list(combined.results[0].uses)) == 1
        ):
            return load, combined
    return None


def _accumulating(touches: Iterable[Touch]) -> dict[Operation, Operation]:
    """The loads and stores of accumulations, with the ops that combine."""
    accumulating: dict[Operation, Operation] = {}
    for touch in touches:
        if (ends := accumulation(touch.op)) is not None:
            load, combined = ends
            accumulating[load] = accumulating[touch.op] = combined
    return accumulating


def _inside(touch: Touch, op: Operation) -> bool:
    return op.is_ancestor(touch.op)


def _checked(
    nest: Nest,
    loops: Sequence[ForOp],
    aparts: Callable[[tuple[Touch, Touch]], Iterable[Apart]],
    *,
    renamed: Mapping[Variable, Variable] | None = None,
    accumulate: bool = False,
) -> Verdict:
    """Answer for all pairs of accesses of which one writes: none may meet in iterations `apart` so far.

    renamed: variables that count as others. accumulate: let accumulations depend on each other.
    """
    undecided: Undecided | None = None
    reassociates = False
    combined = _accumulating(nest.touches) if accumulate else {}
    for touches in _of_buffers(nest, loops, combined):
        fixed = _outside(touches, loops)
        for first in touches:
            for second in touches:
                if not (first.writes or second.writes):
                    continue
                questions = list(aparts((first, second)))
                if not questions:
                    continue
                answer = _answer(nest, first, second, questions, fixed, renamed or {})
                if answer is None:
                    continue
                one, other = combined.get(first.op), combined.get(second.op)
                if one is not None and other is not None and type(one) is type(other):
                    reassociates = reassociates or isinstance(one, _INEXACT)
                elif isinstance(answer, Witness):
                    return Verdict(Conflict(first, second, answer))
                else:
                    undecided = undecided or answer
    return Verdict(None, undecided, reassociates)


def _of_buffers(nest: Nest, loops: Sequence[ForOp], combined: Mapping[Operation, Operation]) -> Iterator[list[Touch]]:
    """The accesses of each buffer that exists outside of the loops, of accesses that are alike one.

    combined: the ops of accumulations, by which accesses differ, too.
    """
    groups: dict[SSAValue, dict[object, Touch]] = {}
    for touch in nest.touches:
        if not any(loop.is_ancestor(touch.buffer.owner) for loop in loops):
            way = type(combined.get(touch.op))
            key = touch.op if touch.access is None else (touch.access, touch.certain, way, _root(touch.op, loops))
            groups.setdefault(touch.buffer, {}).setdefault(key, touch)
    for group in groups.values():
        if any(touch.writes for touch in group.values()):
            yield [*group.values()]


def _root(op: Operation, loops: Sequence[ForOp]) -> ForOp | None:
    return next((loop for loop in loops if loop.is_ancestor(op)), None)


def _outside(touches: Iterable[Touch], loops: Sequence[ForOp]) -> set[Variable]:
    """The variables that are the same in all iterations of the loops."""
    names = {name for touch in touches if touch.access is not None for name in touch.access.variables}
    return {
        name for name in names if isinstance(name, SSAValue) and not any(loop.is_ancestor(name.owner) for loop in loops)
    }


def _answer(
    nest: Nest,
    first: Touch,
    second: Touch,
    questions: Sequence[Apart],
    fixed: Collection[Variable],
    renamed: Mapping[Variable, Variable],
) -> Answer:
    if first.access is None or second.access is None:
        return Undecided(DATA)
    one, other = alike(first.access, second.access, first.buffer)
    if renamed:
        one, other = (
            Access(tuple(renamed.get(name, name) for name in a.variables), a.map, a.clauses, a.writes)
            for a in (one, other)
        )
    pair = Pair(one, other, nest.ranges, fixed, nest.data)
    undecided: Undecided | None = None
    for apart in questions:
        answer = pair.meet(apart)
        if isinstance(answer, Witness) and not (first.certain and second.certain):
            answer = Undecided(DATA)
        if isinstance(answer, Witness):
            return answer
        undecided = undecided or answer
    return undecided
