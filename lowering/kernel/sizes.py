"""The sizes of a kernel: what a primitive function has of the program's, under names of its own.

A kernel calls its sizes `s0`, `s1`, .. in the order in which they are met, so that equal functions up to the names of
sizes share it. Sizes that are met as one expression only, `batch*seq` of the rows of a product, are one size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.ir import Attribute

from ...dialects.relay.core import FuncOp
from ...dialects.relay.signature import Tensor
from ...dialects.relay.size_ranges import set_ranges
from ...dialects.sizes import Size, SizeExpr, bounds, substitute, symbol, symbols_of
from ...dialects.sizes.kernel import kernel_size
from ...dialects.sizes.types import SizesAttr, extents_of
from ...passes.relay.bind_sizes import resized


def sizes_of(func: FuncOp) -> tuple[SizeExpr, ...]:
    """Return the values that a call gives for `s0`, `s1`, ..: sizes of the program."""
    met = list(dict.fromkeys(_met(func)))
    if not met:
        return ()
    parts = [(size, set(symbols_of(size))) for size in met]
    sizes: dict[SizeExpr, None] = {}
    for size, names in parts:
        alone = all(other is size or not names & used for other, used in parts)
        if alone:
            sizes[size] = None
            continue
        for factor in symbols_of(size):
            sizes[symbol(factor)] = None
    return tuple(sizes)


def is_sized(func: FuncOp) -> bool:
    """Return whether a function has symbolic sizes."""
    return next(_met(func), None) is not None


def with_kernel_sizes(func: FuncOp) -> FuncOp:
    """A copy of a function, under the kernel's names of its sizes; their ranges, of `known_ranges`, stand on it."""
    sizes = sizes_of(func)
    kernel_sizes: dict[str, Size] = {str(size): kernel_size(number) for number, size in enumerate(sizes)}

    def renamed(size: Size) -> Size:
        return kernel_sizes[str(size)] if str(size) in kernel_sizes else substitute(size, kernel_sizes)

    copy = cast(FuncOp, resized(func, renamed))
    set_ranges(copy, {str(kernel_size(number)): bounds(size) for number, size in enumerate(sizes)})
    return copy


def _met(func: FuncOp) -> Iterator[SizeExpr]:
    """The sizes with symbols of a function, in types and attributes."""
    for argument in func.block.args:
        yield from _in(argument.type)
    for op in func.block.ops:
        for result in op.results:
            yield from _in(result.type)
        for attribute in op.properties.values():
            yield from _in(attribute)


def _in(attribute: Attribute) -> Iterator[SizeExpr]:
    if isinstance(attribute, SizesAttr):
        sizes = attribute.sizes
    elif isinstance(getattr(attribute, "encoding", None), SizesAttr):
        sizes = extents_of(cast(Tensor, attribute))
    else:
        return
    yield from (size for size in sizes if isinstance(size, SizeExpr))
