"""Common subexpressions: equal ops become one, which is located at all of them."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Attribute, Operation, Region
from xdsl.traits import ConstantLike, IsTerminator, Pure

from .ledger import current_ledger
from .span import fuse


def _name(item: tuple[str, Attribute]) -> str:
    return item[0]


def _value_number(op: Operation, skipped: tuple[type[Operation], ...]) -> tuple[object, ...]:
    attributes = tuple(sorted(op.properties.items(), key=_name)) + tuple(sorted(op.attributes.items(), key=_name))
    operands: list[object] = []
    for operand in op.operands:
        owner = operand.owner
        # Constants that are not merged are still the same operand when they are equal.
        if isinstance(owner, skipped) and owner.has_trait(ConstantLike):
            operands.append(_value_number(owner, ()))
        else:
            operands.append(id(operand))
    return (type(op), tuple(operands), tuple(op.result_types), attributes)


def eliminate_common_subexpressions(region: Region, skip: Iterable[type[Operation]] = ()) -> bool:
    """Merge equal pure ops of each block of `region`, nested ones included. The survivor is located at all of them.

    Two ops are equal when class, operands, properties, attributes and result types are. Ops of a class in `skip` are
    not merged; constants among them count as equal operands. Returns whether any merged.
    """
    ledger = current_ledger()
    skipped = tuple(skip)
    changed = False
    for block in region.blocks:
        known: dict[tuple[object, ...], Operation] = {}
        twins: dict[Operation, list[Operation]] = {}
        for op in list(block.ops):
            for inner in op.regions:
                changed |= eliminate_common_subexpressions(inner, skipped)
            if op.regions or not op.has_trait(Pure) or op.has_trait(IsTerminator) or isinstance(op, skipped):
                continue
            survivor = known.setdefault(_value_number(op, skipped), op)
            if survivor is op:
                continue
            for mine, twin in zip(survivor.results, op.results, strict=True):
                twin.replace_all_uses_with(mine)
            twins.setdefault(survivor, []).append(op)
            op.detach()
        for survivor, merged in twins.items():
            before = (survivor.location, *(op.location for op in merged))
            survivor.location = fuse(before)
            if ledger is not None:
                ledger.record(
                    "CommonSubexpression",
                    removed=[op.name for op in merged],
                    created=[survivor.name],
                    before=before,
                    after=[survivor.location],
                    reason="equal ops merged",
                )
            for op in merged:
                op.erase()
            changed = True
    return changed
