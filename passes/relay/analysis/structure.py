"""Structural equality and hash of programs: what two must have in common to compute the same, step by step.

Locations and names of values play no part. What is compared are the *tokens* of a program: its ops by data flow, each
once and numbered, so that a value computed once and read twice differs from one computed twice (graphs compare as
graphs). What only computes may stand anywhere before its readers; bindings of let-blocks, and what reads or writes
references, have their order. Neighbouring let-blocks that could be one are as good as one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import zip_longest
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, ParametrizedAttribute, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects.relay.binding import Flavour, LetOp
from ....dialects.relay.constants import has_pool, pool_of
from ....dialects.relay.core import ConstantOp, FuncOp
from ....dialects.relay.data_types import TypeDataOp
from ....dialects.relay.functions import FnOp, GlobalOp
from ....dialects.relay.types import Forall, TypeVar
from .traversal import functions_of, is_binding, pre_order

Token: TypeAlias = tuple[Hashable, ...]
_MISSING: Token = ("missing",)
_UNCOMPARED = ("sym_name", "function_type", "impure")
"""Properties that follow from others, and the name of the function itself."""


def structural_equal(lhs: Operation, rhs: Operation, map_free_vars: bool = False) -> bool:
    """Return whether two modules, functions or ops with all that they read are equal but for locations and names.

    map_free_vars: values from around them, which otherwise must be the same ones, may stand for each other one to one.
    """
    both = zip_longest(tokens(lhs, map_free_vars), tokens(rhs, map_free_vars), fillvalue=_MISSING)
    return all(mine == other for mine, other in both)


def structural_hash(op: Operation, map_free_vars: bool = False) -> int:
    """A hash that structurally equal ops have in common."""
    total = 0
    for token in tokens(op, map_free_vars):
        total = hash((total, token))
    return total


def tokens(root: Operation, map_free_vars: bool = False) -> Iterator[Token]:
    """Yield the tokens to compare, in an order that depends on data flow, bindings and effects only."""
    if not isinstance(root, ModuleOp):
        yield from _Numbering(root, map_free_vars).of(root)
        return
    for op in sorted((op for op in root.ops if isinstance(op, TypeDataOp)), key=lambda op: op.sym_name.data):
        yield ("type", op.sym_name.data, *_attributes(op))
    for name, func in sorted(functions_of(root).items()):
        yield ("function", name)
        yield from _Numbering(func, map_free_vars).of(func)


class _Numbering:
    """The tokens of one function or op, whose values get numbers when they are met."""

    def __init__(self, root: Operation, map_free_vars: bool):
        self.map_free_vars = map_free_vars
        self.inside = set(pre_order(root))
        self.numbers: dict[SSAValue, int] = {}
        self.done: set[Operation] = set()
        self.types: dict[str, Attribute] = {}
        """The types that stand for the type parameters met so far."""

    def of(self, root: Operation) -> Iterator[Token]:
        """A stack of what is to be done: an op is met twice, before and after what it reads."""
        todo: list[tuple[str, Operation | Block]] = [("op", root)]
        while todo:
            step, item = todo.pop()
            if isinstance(item, Block):
                if step == "open":
                    yield self._open(item)
                    todo += reversed([*(("op", op) for op in _ordered(item)), ("close", item)])
                else:
                    yield ("end",)
            elif step == "op":
                if item not in self.done:
                    self.done.add(item)
                    todo.append(("read", item))
                    todo += reversed(self._needs(item))
            elif step == "read":
                yield from self._close(item)
                if item.regions:
                    todo.append(("leave", item))
                    todo += reversed([("open", block) for region in item.regions for block in region.blocks])
                else:
                    self._number(item)
            else:
                self._number(item)

    def _needs(self, op: Operation) -> list[tuple[str, Operation | Block]]:
        owners = (resolved(value).owner for value in op.operands)
        return [("op", o) for o in owners if isinstance(o, Operation) and o in self.inside and o not in self.done]

    def _open(self, block: Block) -> Token:
        for argument in block.args:
            self.numbers[argument] = len(self.numbers)
        return ("block", *(self._type(argument.type) for argument in block.args))

    def _close(self, op: Operation) -> Iterator[Token]:
        if isinstance(op, FuncOp | FnOp):
            for name in op.type_names():
                self.types[name] = TypeVar(StringAttr(f"#{len(self.types)}"))
        if isinstance(op, LetOp) and not is_recursive(op):
            return
        operands = [self._value(value) for value in op.operands]
        types = [self._type(type_) for type_ in op.result_types]
        kind = "bound" if is_binding(op) and not is_recursive(op.parent_op()) else "shared"
        yield (op.name, kind, *operands, "->", *types, *_attributes(op))

    def _number(self, op: Operation) -> None:
        for result in op.results:
            self.numbers[result] = len(self.numbers)

    def _value(self, value: SSAValue) -> Hashable:
        value = resolved(value)
        owner = value.owner
        if isinstance(owner, ConstantOp):
            return _constant(owner)
        if isinstance(owner, GlobalOp):
            return ("global", owner.symbol.string_value())
        if value in self.numbers:
            return self.numbers[value]
        if not self.map_free_vars:
            return ("free", id(value))
        self.numbers[value] = len(self.numbers)
        return ("free", self.numbers[value], value.type)

    def _type(self, type_: Attribute) -> Attribute:
        return _renamed(type_, self.types)


def _renamed(type_: Attribute, bound: Mapping[str, Attribute]) -> Attribute:
    """A type with what stands for its type variables, which have numbers where the type itself binds them."""
    match type_:
        case TensorType():
            return type_
        case TypeVar():
            return bound.get(type_.hint.data, type_)
        case Forall():
            inner = {name.data: TypeVar(StringAttr(f"#{len(bound) + i}")) for i, name in enumerate(type_.params)}
            names = ArrayAttr(name.hint for name in inner.values())
            return Forall(names, cast(FunctionType, _renamed(type_.body, {**bound, **inner})))
        case ArrayAttr():
            return ArrayAttr(_renamed(inner, bound) for inner in type_)
        case ParametrizedAttribute():
            return type(type_).new([_renamed(inner, bound) for inner in type_.parameters])
        case _:
            return type_


def resolved(value: SSAValue) -> SSAValue:
    """The value that a let-block, other than a recursive one, yields for `value`."""
    while isinstance(value, OpResult) and isinstance(let := value.op, LetOp) and not is_recursive(let):
        last = let.block.last_op
        assert last is not None
        value = last.operands[value.index]
    return value


def _ordered(block: Block) -> Iterator[Operation]:
    """Yield the ops whose order in a block matters: effects, bindings, its end; of let-blocks, the ops inside."""
    stack = [iter(block.ops)]
    while stack:
        if (op := next(stack[-1], None)) is None:
            stack.pop()
        elif isinstance(op, LetOp) and not is_recursive(op):
            stack.append(iter(op.block.ops))
        elif op.next_op is None:
            if len(stack) == 1:
                yield op
        elif (is_binding(op) and not is_recursive(op.parent_op())) or not is_side_effect_free(op):
            yield op


def is_recursive(op: Operation | None) -> bool:
    """Return whether an op is a let-block whose functions see one another."""
    return isinstance(op, LetOp) and op.kind is Flavour.REC


def _attributes(op: Operation) -> tuple[Hashable, ...]:
    if isinstance(op, ConstantOp):
        return (_constant(op),)
    attributes = {name: value for name, value in op.properties.items() if name not in _UNCOMPARED}
    if isinstance(op, FuncOp | FnOp):
        attributes.pop("type_params", None)
    attributes |= op.attributes
    return tuple((name, attributes[name]) for name in sorted(attributes))


def _constant(op: ConstantOp) -> Hashable:
    """A constant by its value, where that is at hand; else by its key."""
    module = op.parent_op()
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    if op.literal is not None:
        return ("constant", op.literal.type, op.literal.data.data)
    assert op.key is not None
    if module is None or not has_pool(module) or op.key.data not in pool_of(module):
        return ("constant", op.result.type, op.key.data)
    array = pool_of(module)[op.key.data]
    return ("constant", op.result.type, array.tobytes())
