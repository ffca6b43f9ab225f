"""Random passes from elsewhere under the audit: right ones are accepted, those that tamper with locations refused.

    python -m tests.support.random_foreign_passes [--cases 1000] [--seed 0]

A net of unary and binary operators is drawn, and a pass over it that knows no ledger: one that replaces operators by
others, merges equal ones, clones, fuses, unfolds, commutes, outlines or puts casts between, with the locations that
these should have. In every second draw it tampers with a location besides.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable

import numpy as np
from relay_nets import Net, main_of
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter  # noqa: TID251  # as passes from elsewhere do

from whence.dialects.relay import elementwise as e
from whence.dialects.relay.core import CallOp, FuncOp, ReturnOp
from whence.dialects.relay.operator import Operator
from whence.passes.runner import run_passes
from whence.provenance.diagnostics import LocationError
from whence.provenance.span import fuse, layer_location, leaves

UNARY = (e.ReluOp, e.TanhOp, e.ExpOp, e.SigmoidOp, e.NegativeOp)
BINARY = (e.AddOp, e.MultiplyOp, e.MaximumOp)


class NothingToDo(Exception):
    """The net has nothing of what a draw needs."""


def net_of(dice: random.Random) -> Net:
    """A net of 6 to 14 operators, some of them twins."""
    net = Net(np.ones(6, np.float32))
    values = [*net.inputs]
    for _ in range(dice.randint(6, 14)):
        x, y = values[-1], dice.choice(values)
        draw = dice.random()
        if draw < 0.5:
            values.append(net(dice.choice(UNARY), x))
        elif draw < 0.8:
            values.append(net(dice.choice(BINARY), x, y))
        else:
            twin = dice.choice(UNARY)
            values.append(net(e.AddOp, net(twin, x), net(twin, x)))
    net.finish(values[-1], *dice.sample(values, 1))
    return net


def operators(module: ModuleOp) -> list[Operation]:
    """The operators of `@main`."""
    return [op for op in main_of(module).block.ops if isinstance(op, Operator)]


def sole_reader(op: Operation) -> Operation | None:
    """The one op that reads a result, once."""
    uses = list(op.results[0].uses)
    return uses[0].operation if len(uses) == 1 else None


def insert(op: Operation, before: Operation, location: LocationAttr) -> SSAValue:
    """Put a new op in, as a pass from elsewhere does, and return its result."""
    op.location = location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.results[0]


def take_place(old: Operation, value: SSAValue) -> None:
    """Let `value` be read instead of the result of an op, which goes."""
    old.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(old)


def replaced(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """Each operator of a kind by another of the same location."""
    old, new = dice.sample(UNARY, 2)
    made: list[Operation] = []
    for op in operators(module):
        if isinstance(op, old):
            made.append(new(op.operands[0]))
            take_place(op, insert(made[-1], op, op.location))
    return made


def merged(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """Equal operators become the first, located at both."""
    survivors: list[Operation] = []
    for op in operators(module):
        for survivor in operators(module):
            if survivor is op:
                break
            if type(survivor) is type(op) and [*survivor.operands] == [*op.operands]:
                survivor.location = fuse([survivor.location, op.location])
                take_place(op, survivor.results[0])
                survivors.append(survivor)
                break
    return survivors


def cloned(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """A clone for each reader of an operator but the first."""
    clones: list[Operation] = []
    for op in operators(module):
        for use in list(op.results[0].uses)[1:]:
            clones.append(op.clone())
            use.operation.operands[use.index] = insert(clones[-1], use.operation, op.location)
    return clones


def fused(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """An operator and the only one that reads it become one."""
    made: list[Operation] = []
    for op in operators(module):
        reader = sole_reader(op)
        if isinstance(reader, UNARY) and dice.random() < 0.5:
            one = type(op)(*op.operands)
            value = insert(one, reader, fuse([reader.location, op.location]))
            take_place(reader, value)
            Rewriter.erase_op(op)
            made.append(one)
            break
    return made


def unfolded(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """An operator becomes several."""
    made: list[Operation] = []
    for op in operators(module):
        if isinstance(op, UNARY) and dice.random() < 0.6:
            first = e.TanhOp(op.operands[0])
            second = e.ExpOp(insert(first, op, op.location))
            third = e.MultiplyOp(insert(second, op, op.location), op.operands[0])
            take_place(op, insert(third, op, op.location))
            made += [first, second, third]
    return made


def dropped(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """An operator that is none goes into what it reads."""
    for op in operators(module):
        producer = op.operands[0].owner
        if isinstance(op, UNARY) and isinstance(producer, Operation) and dice.random() < 0.5:
            producer.location = fuse([producer.location, op.location])
            take_place(op, op.operands[0])
            return [producer]
    return []


def commuted(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """Two operators change places."""
    for op in operators(module):
        reader = sole_reader(op)
        if isinstance(op, UNARY) and isinstance(reader, UNARY) and type(op) is not type(reader):
            first = type(reader)(op.operands[0])
            second = type(op)(insert(first, reader, reader.location))
            take_place(reader, insert(second, reader, op.location))
            Rewriter.erase_op(op)
            return [first, second]
    return []


def outlined(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """An operator goes into a function of its own."""
    made: list[Operation] = []
    for op in operators(module):
        if isinstance(op, UNARY) and dice.random() < 0.4:
            function = FuncOp(f"part{len(made)}", [op.operands[0].type], [op.results[0].type], location=op.location)
            function.block.args[0].location = op.location
            body = type(op)(function.block.args[0])
            body.location = op.location
            end = ReturnOp(body.results[0])
            end.location = op.location
            function.block.add_ops([body, end])
            module.body.block.add_op(function)
            call = CallOp(f"part{len(made)}", [op.operands[0]], [op.results[0].type])
            take_place(op, insert(call, op, op.location))
            made.append(body)
    return made


def helped(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """What one reader asks for is put before it."""
    made: list[Operation] = []
    for op in operators(module):
        if isinstance(op, UNARY) and dice.random() < 0.4:
            helper = e.CopyOp(op.operands[0])
            op.operands[0] = insert(helper, op, op.location)
            made.append(helper)
    return made


RIGHT: tuple[Callable[[ModuleOp, random.Random], list[Operation]], ...] = (
    *(replaced, merged, cloned, fused, unfolded, dropped, commuted, outlined, helped),
)


def chain(module: ModuleOp, dice: random.Random) -> list[Operation]:
    """New operators for two in a row, each at the location of the one in whose place it is."""
    for op in operators(module):
        reader = sole_reader(op)
        if isinstance(op, UNARY) and isinstance(reader, UNARY):
            first = e.SqrtOp(op.operands[0])
            second = e.LogOp(insert(first, op, op.location))
            take_place(reader, insert(second, reader, reader.location))
            Rewriter.erase_op(op)
            return [first, second]
    raise NothingToDo


def far(module: ModuleOp, dice: random.Random, *near: Operation) -> LocationAttr:
    """The location of an operator that has nothing to do with these, nor with what they read or what reads them."""
    around = [*near]
    for op in near:
        around += [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        around += [use.operation for result in op.results for use in result.uses]
    taken = {leaf for op in around for leaf in leaves(op.location)}
    others = [op.location for op in operators(module) if taken.isdisjoint(leaves(op.location))]
    if not others:
        raise NothingToDo
    return dice.choice(others)


def of_another(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    op = dice.choice(made)
    op.location = far(module, dice, op)


def of_one_more(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    op = dice.choice(made)
    op.location = fuse([op.location, far(module, dice, op)])


def stays_elsewhere(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    of_another(module, dice, [op for op in operators(module) if op not in made] or made)


def stays_and_more(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    of_one_more(module, dice, [op for op in operators(module) if op not in made] or made)


def swapped(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    one, other = dice.sample([op for op in operators(module) if op not in made], 2)
    one.location, other.location = other.location, one.location


def all_everything(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    everything = fuse(op.location for op in operators(module))
    for op in operators(module):
        op.location = everything


def invented(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    dice.choice(made).location = layer_location("invented", "net", 99)


def nowhere(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    dice.choice(operators(module)).location = UnknownLoc()


def vanished(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    op = dice.choice(operators(module))
    producer = op.operands[0].owner
    if len(op.operands) > 1 or not isinstance(producer, Operation):
        raise NothingToDo
    if sum(other.location == op.location for other in module.walk()) > 1 or len(leaves(op.location)) > 1:
        raise NothingToDo
    take_place(op, op.operands[0])


def rotated(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    ops = operators(module)
    locations = [op.location for op in ops]
    for op, location in zip(ops, locations[3:] + locations[:3], strict=True):
        op.location = location


def of_the_reader(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    """New code that blames who reads it, in the place of what was read."""
    first, second = chain(module, dice)
    first.location = fuse([first.location, far(module, dice, first, second)])


def of_the_first_too(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    """The last of new ones in a row names what only the one before the last is in the place of."""
    first, second = chain(module, dice)
    last = next(use.operation for use in second.results[0].uses)
    if last.location == first.location or isinstance(last, ReturnOp):
        raise NothingToDo
    last.location = fuse([last.location, first.location])


def added_nothing(module: ModuleOp, dice: random.Random, made: list[Operation]) -> None:
    """An op that nobody reads, at any layer."""
    op = dice.choice(operators(module))
    location = far(module, dice, op)
    insert(e.CopyOp(op.results[0]), main_of(module).return_op, location)


TAMPERING = (
    *(of_another, of_one_more, stays_elsewhere, stays_and_more, swapped, all_everything, invented),
    *(nowhere, vanished, rotated, of_the_reader, of_the_first_too, added_nothing),
)


class Foreign(ModulePass):
    """The drawn pass."""

    name = "foreign"

    def __init__(self, right: Callable[..., list[Operation]], tamper: Callable[..., None] | None, dice: random.Random):
        self.right, self.tamper, self.dice = right, tamper, dice

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = self.right(op, self.dice)
        if not made:
            raise NothingToDo
        if self.tamper is not None:
            before = {other: other.location for other in op.walk()}
            self.tamper(op, self.dice, made)
            if before == {other: other.location for other in op.walk()}:
                raise NothingToDo
        op.verify()


def verdict(seed: int) -> tuple[str, str]:
    """Return what draw number `seed` is, and what is wrong with the audit's answer; "" if nothing is."""
    for attempt in range(100):
        dice = random.Random(f"{seed}.{attempt}")
        right = dice.choice(RIGHT)
        tamper = dice.choice(TAMPERING) if seed % 2 else None
        net, what = net_of(dice), right.__name__ + (f" and {tamper.__name__}" if tamper is not None else "")
        try:
            run_passes(net.module, [Foreign(right, tamper, dice)], audit=True)
        except NothingToDo:
            continue
        except LocationError as error:
            return what, "" if tamper is not None else f"refused: {error}"
        return what, "" if tamper is None else "accepted"
    raise AssertionError(f"seed {seed}: no draw")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=0)
    chosen = arguments.parse_args()
    wrong = 0
    for seed in range(chosen.seed, chosen.seed + chosen.cases):
        what, complaint = verdict(seed)
        if complaint:
            wrong += 1
            print(f"seed {seed}: {what}: {complaint}", flush=True)
    print(f"{chosen.cases} passes, every second of which tampers: {wrong} wrong verdicts")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
