"""Operators of a function moved into one of their own, which is called in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr, LocationAttr, StringAttr, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...provenance.ledger import clone_of, current_ledger
from ...provenance.span import fuse


def function_attributes(given: Mapping[str, object]) -> dict[str, Attribute]:
    """Attributes of functions for Python values: texts, and numbers."""
    attributes: dict[str, Attribute] = {}
    for name, value in given.items():
        if isinstance(value, Attribute):
            attributes[name] = value
        elif isinstance(value, int):
            attributes[name] = IntegerAttr(int(value), i64)
        else:
            attributes[name] = StringAttr(str(value))
    return attributes


def pre_order(roots: Iterable[Operation], inside: Collection[Operation]) -> list[Operation]:
    """The roots, then what they consume of `inside`, each once."""
    ordered: dict[Operation, None] = {}
    stack = list(roots)[::-1]
    while stack:
        op = stack.pop()
        if op in ordered:
            continue
        ordered[op] = None
        producers = [value.owner for value in op.operands]
        stack += [
            producer for producer in reversed(producers) if isinstance(producer, Operation) and producer in inside
        ]
    return list(ordered)


class Outliner:
    """Moves groups of operators out, one after the other, in the order of the program.

    Locations: a function and its call get those of the members, the last one first; members keep theirs; a parameter
    gets that of the operator that computes its value.
    """

    def __init__(self) -> None:
        self._made_by: dict[SSAValue, LocationAttr] = {}
        """Per result of a call the location of the operator that computed it."""
        self._constants: dict[ConstantOp, None] = {}

    def outline(
        self,
        name: str,
        ops: Sequence[Operation],
        arguments: Sequence[SSAValue],
        results: Sequence[SSAValue],
        attributes: Mapping[str, object],
        pattern: str,
        *,
        primitive: bool = False,
    ) -> tuple[FuncOp, CallOp]:
        """Put a call in the place of `ops`, which are in order, behind the last of them; return both.

        arguments: what they read from outside. Constants that are none of these are copied into the function.
        results: those of their results that others read.
        pattern: what the ledger calls this.
        """
        last = ops[-1]
        makers = dict.fromkeys(value.owner for value in reversed(results) if isinstance(value.owner, Operation))
        location = fuse(op.location for op in pre_order(makers, dict.fromkeys(ops)))
        types = [value.type for value in results]
        func = FuncOp(name, [value.type for value in arguments], types, primitive=primitive, location=location)
        func.attributes.update(function_attributes(attributes))
        call = CallOp(name, list(arguments), types)
        call.location = location
        assert last.parent is not None
        last.parent.insert_op_after(call, last)
        members = set(ops)
        for old, new in zip(results, call.results, strict=True):
            old.replace_uses_with_if(new, lambda use: use.operation not in members)
            new.name_hint = old.name_hint
            assert isinstance(old.owner, Operation)
            self._made_by[new] = old.owner.location
        inner: dict[SSAValue, SSAValue] = {}
        for parameter, value in zip(func.block.args, arguments, strict=True):
            parameter.location = self._location(value)
            # A parameter is known by the name of what it stands for, where that is the program's own.
            named = isinstance(value, BlockArgument) and value.name_hint
            parameter.name_hint = value.name_hint if named else f"p{parameter.index}"
            inner[value] = parameter
        self._fill(func, ops, inner)
        end = ReturnOp(*(inner.get(value, value) for value in results))
        end.location = fuse(op.location for op in makers)
        func.block.add_op(end)
        if (ledger := current_ledger()) is not None:
            ledger.record(
                pattern,
                created=[func, call],
                before=[op.location for op in ops],
                reason=f"one function: @{name}",
            )
        return func, call

    def _location(self, value: SSAValue) -> LocationAttr:
        if isinstance(value, BlockArgument):
            return value.location
        assert isinstance(value.owner, Operation)
        return self._made_by.get(value, value.owner.location)

    def _fill(self, func: FuncOp, ops: Sequence[Operation], inner: dict[SSAValue, SSAValue]) -> None:
        """Move `ops` into a function, reading `inner` instead of what was outside."""
        for op in ops:
            for index, value in enumerate(op.operands):
                if value not in inner and isinstance(value.owner, ConstantOp) and value.owner.parent is not func.block:
                    self._constants[value.owner] = None
                    constant = clone_of(value.owner)
                    func.block.add_op(constant)
                    inner[value] = constant.result
                    constant.result.name_hint = value.name_hint
                if value in inner:
                    op.operands[index] = inner[value]
            op.detach()
            func.block.add_op(op)

    def tidy(self) -> None:
        """Erase the constants of which only copies are read now."""
        for constant in self._constants:
            if constant.result.first_use is None:
                constant.detach()
                constant.erase()
