"""Pieces of verification that the dialects with index maps share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, TypedAttribute
from xdsl.ir.affine import AffineConstantExpr, AffineMap

from ..provenance.diagnostics import fail
from .affine import flatten, malformed, simplify
from .sizes import Size


def plural(count: int, word: str) -> str:
    """`1 index`, `2 indices`."""
    forms = {"index": "indices"}
    return f"{count} {word if count == 1 else forms.get(word, word + 's')}"


def check_map(op: Operation, map: AffineMap, operands: int, results: int | None = None, what: str = "index") -> None:
    """Fail unless `map` takes as many dims as there are index operands, gives `results`, and is affine in them.

    Factors and divisors may be sizes of the kernel, its symbols.

    what: the noun for one result. results: how many there should be; any number when None.
    """
    if results is not None and len(map.results) != results:
        fail(op, plural(results, what), f"{len(map.results)}: {map}")
    if map.num_dims != operands:
        fail(op, f"a map over {plural(operands, 'index')}, as many as there are operands", str(map))
    for expr in map.results:
        if (problem := malformed(expr)) is not None:
            fail(op, "sums of indices times constants, divided by positive constants", problem)
        if beyond := [position for position in expr.used_dims() if position >= operands]:
            fail(op, f"dims below d{operands}", f"d{beyond[0]}")


def check_value(op: Operation, type: Attribute, element: Attribute, stride: int) -> int:
    """The lanes of `type`, 0 for a scalar; fail unless it is `element` or a vector of it; only those stride."""
    if isinstance(type, VectorType):
        vector = cast(VectorType[Attribute], type)
        if vector.element_type != element or len(vector.get_shape()) != 1:
            fail(op, f"{element} or a 1-d vector of {element}", str(vector))
        return vector.get_shape()[0]
    if type != element:
        fail(op, f"{element} or a 1-d vector of {element}", str(type))
    if stride != 1:
        fail(op, "a stride of 1, as a scalar has one lane", str(stride))
    return 0


def check_bounds(
    op: Operation, map: AffineMap, shape: Sequence[Size], strides: Sequence[Size], lanes: int, stride: int
) -> None:
    """Fail when a constant index, or the last lane of a vector at constant indices, lies outside of the buffer."""
    exprs = [simplify(expr, ()) for expr in map.results if not expr.used_dims()]
    indices = iter(exprs)
    for dim, (expr, extent) in enumerate(zip(map.results, shape, strict=True)):
        if expr.used_dims():
            continue
        index = next(indices)
        if isinstance(index, AffineConstantExpr) and isinstance(extent, int) and not 0 <= index.value < extent:
            fail(op, f"an index in [0, {extent}) of dimension {dim}", str(index.value))
    if not lanes or len(exprs) != len(shape):
        return
    first = simplify(flatten(exprs, strides), ())
    size = shape[0] * strides[0] if shape else 1
    if not isinstance(size, int):
        return
    if isinstance(first, AffineConstantExpr) and not 0 <= (last := first.value + stride * (lanes - 1)) < size:
        fail(op, f"all {lanes} lanes inside the {size} elements of the buffer", f"the last lane at element {last}")


def check_else(op: Operation, value: Attribute, type: Attribute) -> None:
    """Fail unless `value` is a constant of `type`."""
    if not isinstance(value, TypedAttribute) or value.get_type() != type:
        fail(op, f"an else value of type {type}", str(value))
