"""relay-bind-sizes: symbolic sizes become numbers, and so a program for all sizes one for some."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    TupleType,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ...dialects.int_lists import numbers_of
from ...dialects.relay.attributes import Ints, ints_attr, to_attribute
from ...dialects.relay.core import FuncOp
from ...dialects.relay.index_bounds import bind_index_bounds
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.size_ranges import SIZES, required_of, set_required
from ...dialects.relay.sorting import TopKOp
from ...dialects.relay.transform import ReshapeOp
from ...dialects.relay.types import tuple_type
from ...dialects.sizes import Size, SizeExpr, holds_zero, substitute
from ...dialects.sizes.types import SizesAttr, extents_of, sizes_attr, tensor_of
from ...provenance.diagnostics import message
from ...provenance.numbers import number_alike
from ...support.errors import PipelineError
from .cloning import Retype, clone_op


def bind_sizes(module: ModuleOp, values: Mapping[str, Size]) -> None:
    """Put numbers, or other sizes, in the place of symbols, in types and attributes; those that `values` lacks stay."""
    block = module.body.block
    for op in list(block.ops):
        copy = resized(op, lambda size: substitute(size, values))
        number_alike(op, copy)
        for inner in copy.walk():
            if isinstance(inner, FuncOp):
                _drop_ranges(inner, values)
                _bind_required(inner, values)
                bind_index_bounds(inner, values)
        block.insert_op_before(copy, op)
        op.detach()


def resized(op: Operation, change: Callable[[Size], Size]) -> Operation:
    """A copy of an op and what is in it, with other sizes in types and attributes."""
    # By identity, as attributes are shared; each entry holds its attribute.
    cache: dict[int, tuple[Attribute, Attribute]] = {}

    def bound(attribute: Attribute) -> Attribute:
        if (hit := cache.get(id(attribute))) is None:
            hit = cache[id(attribute)] = attribute, _bound(attribute, change, bound)
        return hit[1]

    copy = clone_op(op, {}, bound)
    for inner in copy.walk():
        _bind_attributes(inner, bound)
    return copy


def _bind_attributes(op: Operation, bound: Retype) -> None:
    for name, attribute in op.properties.items():
        if (new := bound(attribute)) is not attribute:
            op.properties[name] = _as_declared(op, name, new)
            if isinstance(op, ReshapeOp) and holds_zero(shape := shape_of(op.result)):
                # A 0 that a size has become would copy an extent.
                op.properties |= {"newshape": to_attribute(shape), "allowzero": IntegerAttr(1, i64)}


def _as_declared(op: Operation, name: str, attribute: Attribute) -> Attribute:
    """A list of one number as the number that an operator has in its place."""
    default = op.declared_attributes()[name].default_value if isinstance(op, Operator) else None
    if not isinstance(attribute, DenseArrayBase) or not isinstance(default, FloatAttr | IntegerAttr):
        return cast(Attribute, attribute)
    (number,) = numbers_of(cast(Ints, attribute))
    if isinstance(default, FloatAttr):
        return FloatAttr(float(number), f64)
    # As a number, no k at all is that of all elements.
    return sizes_attr([number]) if isinstance(op, TopKOp) and not number else IntegerAttr(number, i64)


def _drop_ranges(func: FuncOp, gone: Container[str]) -> None:
    """Forget the ranges of symbols that are gone."""
    if isinstance(ranges := func.attributes.get(SIZES), DictionaryAttr):
        left = {name: range_ for name, range_ in ranges.data.items() if name not in gone}
        if left:
            func.attributes[SIZES] = DictionaryAttr(left)
        else:
            del func.attributes[SIZES]


def _bind_required(func: FuncOp, values: Mapping[str, Size]) -> None:
    """Keep of the sizes that a function requires those that are still open."""
    bound = [(size, substitute(size, values), location) for size, location in required_of(func)]
    for size, number, location in bound:
        if isinstance(number, int) and number < 0:
            raise PipelineError(message("relay-bind-sizes", f"{size} of at least 0", str(number), location))
    set_required(func, [(size, location) for _, size, location in bound if isinstance(size, SizeExpr)])


def _bound(attribute: Attribute, change: Callable[[Size], Size], bound: Retype) -> Attribute:
    match attribute:
        case TensorType(encoding=SizesAttr()):
            return tensor_of(attribute.element_type, [_changed(size, change) for size in extents_of(attribute)])
        case SizesAttr():
            sizes = [_changed(size, change) for size in attribute.sizes]
            numbers = [size for size in sizes if isinstance(size, int)]
            return ints_attr(numbers) if len(numbers) == len(sizes) else sizes_attr(sizes)
        case TupleType():
            return tuple_type([bound(type_) for type_ in attribute.types])
        case FunctionType():
            lists = ([bound(type_) for type_ in types] for types in (attribute.inputs, attribute.outputs))
            return FunctionType.from_lists(*lists)
        case ArrayAttr():
            new = [bound(item) for item in attribute]
            return attribute if all(a is b for a, b in zip(new, attribute, strict=True)) else ArrayAttr(new)
        case _:
            return attribute


def _changed(size: Size, change: Callable[[Size], Size]) -> Size:
    return change(size) if isinstance(size, SizeExpr) else size


@dataclass(frozen=True)
class BindSizesPass(ModulePass):
    """Puts numbers in the place of symbolic sizes.

    sizes: what they are, `seq:128,batch:1`.

    Before: any relay module.
    After: none of these symbols in a type or an attribute; what only they decided is left to `relay-fold-constant`.
    Locations: every op is the one it was.

    ```mlir
    relay.func @main(%x: tensor<?x8xf32, #relay.sizes<seq>> loc("x")) -> (tensor<?x2x4xf32, #relay.sizes<seq>>) {
      // with sizes=seq:4
      %0 = relay.reshape %x {newshape = #relay.sizes<seq, 2, 4>}
          : (tensor<?x8xf32, #relay.sizes<seq>>) -> tensor<?x2x4xf32, #relay.sizes<seq>> loc("split")
      relay.return %0 : tensor<?x2x4xf32, #relay.sizes<seq>> loc("end")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4x8xf32> loc("x")) -> (tensor<4x2x4xf32>) {
      %0 = relay.reshape %x {newshape = [4, 2, 4]} : (tensor<4x8xf32>) -> tensor<4x2x4xf32> loc("split")
      relay.return %0 : tensor<4x2x4xf32> loc("end")
    } loc("main")
    ```
    """

    name = "relay-bind-sizes"
    sizes: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        values: dict[str, int] = {}
        for part in self.sizes.split(",") if self.sizes else ():
            name, _, number = part.partition(":")
            if not number.isdecimal():
                raise PipelineError(f"{self.name}: expected sizes such as seq:128,batch:1, got {self.sizes!r}")
            values[name] = int(number)
        bind_sizes(op, values)
