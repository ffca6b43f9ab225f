"""Kernels at other sizes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...provenance.copies import copy_of, empty_copy
from ..sizes import Size, SizeExpr, substitute, symbols_of
from ..sizes.kernel import affine_map, kernel_size, lifted, number_of, size_attribute, size_in
from .buffer import BufferType, extent_in, strides_attribute
from .control import PrimFuncOp

_EXTENTS = ("extent", "extents")
"""The properties of ops that are sizes, or lists of them."""


def at_sizes(func: PrimFuncOp, values: Sequence[Size]) -> PrimFuncOp:
    """Return a kernel with other sizes in the places of s0, s1, ..: numbers, or sizes of a kernel around it."""
    copy = _Copy(values).of(func, {})
    assert isinstance(copy, PrimFuncOp)
    copy.properties.pop("sizes", None)
    numbers = [number_of(name) for size in values if isinstance(size, SizeExpr) for name in symbols_of(size)]
    if names := [str(kernel_size(number)) for number in range(max(numbers, default=-1) + 1)]:
        copy.properties["sizes"] = ArrayAttr(map(StringAttr, names))
    return copy


class _Copy:
    def __init__(self, values: Sequence[Size]):
        self.values = {str(kernel_size(number)): size for number, size in enumerate(values)}
        self.symbols = [lifted(size) for size in values]

    def of(self, op: Operation, copies: dict[SSAValue, SSAValue]) -> Operation:
        regions: list[Region] = []
        for region in op.regions:
            regions.append(twin := Region())
            for block in region.blocks:
                twin.add_block(new := empty_copy(block, copies, self._type))
                new.add_ops([self.of(inner, copies) for inner in block.ops])
        copy = copy_of(
            op,
            [copies[value] for value in op.operands],
            [self._type(type_) for type_ in op.result_types],
            regions,
            {name: self._property(name, value) for name, value in op.properties.items()},
        )
        copies.update(zip(op.results, copy.results, strict=True))
        return copy

    def _size(self, size: Size) -> Size:
        return substitute(size, self.values)

    def _type(self, type_: Attribute) -> Attribute:
        if not isinstance(type_, BufferType) or type_.is_static:
            return type_
        return BufferType.of([self._size(extent) for extent in type_.get_shape()], type_.element_type, type_.scope.data)

    def _property(self, name: str, value: Attribute) -> Attribute:
        match value:
            case AffineMapAttr() if name in _EXTENTS:
                return size_attribute(self._size(size_in(value)))
            case AffineMapAttr() if value.data.num_symbols:
                return AffineMapAttr(affine_map(value.data.num_dims, tuple(map(self._moved, value.data.results))))
            case ArrayAttr() if name == "strides":
                return strides_attribute([self._size(extent_in(item)) for item in value])
            case ArrayAttr():
                return ArrayAttr([self._property(name, item) for item in value])
            case _:
                return value

    def _moved(self, expr: AffineExpr) -> AffineExpr:
        return expr.replace_dims_and_symbols([], self.symbols)
