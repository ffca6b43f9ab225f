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
    ModuleOp,
    TensorType,
    TupleType,
    f64,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ...dialects.int_lists import numbers_of
from ...dialects.relay.attributes import Ints, ints_attr
from ...dialects.relay.core import FuncOp
from ...dialects.relay.creation import ArangeOp
from ...dialects.relay.size_ranges import SIZES
from ...dialects.relay.types import tuple_type
from ...dialects.size_types import SizesAttr, extents_of, sizes_attr, tensor_of
from ...dialects.sizes import Size, SizeExpr, substitute
from ...support.errors import PipelineError
from .cloning import Retype, clone_op


def bind_sizes(module: ModuleOp, values: Mapping[str, int]) -> None:
    """Put numbers in the place of symbols, in types and attributes; symbols that `values` lacks stay."""
    block = module.body.block
    for op in list(block.ops):
        copy = resized(op, lambda size: substitute(size, values))
        for inner in copy.walk():
            if isinstance(inner, FuncOp):
                _drop_ranges(inner, values)
        block.insert_op_before(copy, op)
        op.detach()


def resized(op: Operation, change: Callable[[Size], Size]) -> Operation:
    """A copy of an op and what is in it, with other sizes in types and attributes."""
    known: dict[Attribute, Attribute] = {}

    def bound(attribute: Attribute) -> Attribute:
        if attribute not in known:
            known[attribute] = _bound(attribute, change, bound)
        return known[attribute]

    copy = clone_op(op, {}, bound)
    for inner in copy.walk():
        _bind_attributes(inner, bound)
    return copy


def _bind_attributes(op: Operation, bound: Retype) -> None:
    for name, attribute in op.properties.items():
        if (new := bound(attribute)) is not attribute:
            op.properties[name] = new
    if isinstance(op, ArangeOp) and isinstance(stop := op.properties.get("stop"), DenseArrayBase):
        (count,) = numbers_of(cast(Ints, stop))
        op.properties["stop"] = FloatAttr(float(count), f64)


def _drop_ranges(func: FuncOp, gone: Container[str]) -> None:
    """Forget the ranges of symbols that are gone."""
    if isinstance(ranges := func.attributes.get(SIZES), DictionaryAttr):
        left = {name: range_ for name, range_ in ranges.data.items() if name not in gone}
        if left:
            func.attributes[SIZES] = DictionaryAttr(left)
        else:
            del func.attributes[SIZES]


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
    """Puts numbers in the place of symbolic sizes: `relay-bind-sizes{sizes=seq,batch values=128,1}`.

    Before: any relay module. After: none of these symbols in a type or an attribute; constants that only they decided
    are left to `relay-fold-constant`. Locations: every op is the one it was.

    ```mlir
    relay.func @main(%x: tensor<?x4xf32, #relay.sizes<n>> loc("x")) -> (tensor<?x4xf32, #relay.sizes<n>>) {
      // with sizes=n, values=8,
      %y = relay.nn.relu %x : (tensor<?x4xf32, #relay.sizes<n>>) -> tensor<?x4xf32, #relay.sizes<n>> loc("act")
      relay.return %y : tensor<?x4xf32, #relay.sizes<n>> loc("return")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<8x4xf32> loc("x")) -> (tensor<8x4xf32>) {
      %y = relay.nn.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("act")
      relay.return %y : tensor<8x4xf32> loc("return")
    } loc("main")
    ```
    """

    name = "relay-bind-sizes"
    sizes: tuple[str, ...] = ()
    values: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if len(self.sizes) != len(self.values):
            raise PipelineError(f"{self.name}: expected a value for each of {self.sizes}, got {self.values}")
        bind_sizes(op, dict(zip(self.sizes, self.values, strict=True)))
