"""Numbers that a program computes of the sizes of its inputs, and single elements of tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any, cast

import numpy as np

from ...dialects.relay.elementwise import CopyOp
from ...dialects.sizes import Size, SizeExpr, proves, size_max, size_min
from ...provenance.diagnostics import message
from ..importing.converter import Converter, Result
from ..importing.decisions import Decision, compared, decided
from ..importing.sizes import counted, objects, sizes_array
from ..importing.tensor import TRUTH, Undecided
from .context import Context, Number
from .shaping import shaped

Function = Callable[..., Any]


def result(ctx: Context, number: Number) -> Result:
    """A number as the value that a node gives."""
    if isinstance(number, Decision):
        return counted(ctx, objects([number], ()), TRUTH)
    if isinstance(number, bool):
        return np.asarray(number)
    if isinstance(number, float):
        return np.asarray(number, np.float64)
    return sizes_array(number)


def _operands(ctx: Context) -> list[Number]:
    return [ctx.number(name, 0) for name in ctx.arguments()]


def of_numbers(function: Function) -> Converter[Context]:
    """A function of numbers, as Python has it."""
    return Converter(lambda ctx: result(ctx, function(*_operands(ctx))))


def of_whole(function: Function, name: str) -> Converter[Context]:
    """A function that computes with numbers only: of open sizes, each program is for those of a call."""

    def convert(ctx: Context) -> Result:
        numbers = _operands(ctx)
        for number in numbers:
            if isinstance(number, SizeExpr):
                raise Undecided(message(name, "numbers known at import", str(number), ctx.leaf), None)
        return result(ctx, function(*numbers))

    return Converter(convert)


def relation(sign: str) -> Converter[Context]:
    """A comparison, which may be for the call to decide."""

    def convert(ctx: Context) -> Result:
        a, b = _operands(ctx)
        if isinstance(a, float) or isinstance(b, float):
            signs = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
            return np.asarray(signs[sign](a, b))
        return result(ctx, compared(cast(Size, a), sign, cast(Size, b)))

    return Converter(convert)


def _not_equal(ctx: Context) -> Result:
    a, b = (cast(Size, number) for number in _operands(ctx))
    equal = compared(a, "==", b)
    return result(ctx, not equal if isinstance(equal, bool) else decided(1 - equal))


def _negation(ctx: Context) -> Result:
    (a,) = _operands(ctx)
    return result(ctx, decided(1 - a) if isinstance(a, SizeExpr) else not a)


def _both(ctx: Context) -> Result:
    a, b = (cast(Size, number) for number in _operands(ctx))
    return result(ctx, decided(a * b))


def _either(ctx: Context) -> Result:
    a, b = (cast(Size, number) for number in _operands(ctx))
    return result(ctx, decided(a + b - a * b))


def _power(a: float, b: float) -> float:
    return a**b


def _quotient(a: Any, b: Any) -> Any:
    return a / b


def _floor_quotient(a: Any, b: Any) -> Any:
    if isinstance(a, SizeExpr) and isinstance(b, int) and b < 0:
        return -(a // -b) if proves(a % -b, "==", 0) else -((a - b - 1) // -b)
    return a // b


def _size(ctx: Context) -> Result:
    """The extent of an axis, or all of them."""
    shape = ctx.shape_of("self")
    return result(ctx, shape[ctx.axis("dim", len(shape))])


def _count(ctx: Context) -> Result:
    return result(ctx, prod(ctx.shape_of("self")))


def _stride(ctx: Context) -> Result:
    """Of elements in row-major order: no other is there."""
    shape = ctx.shape_of("self")
    return result(ctx, reduce(operator.mul, shape[ctx.axis("dim", len(shape)) + 1 :], 1))


def _item(ctx: Context) -> Result:
    """The one element of a tensor; what needs to know it at import asks for it."""
    tensor = ctx.input_tensor("self")
    if tensor.array is not None:
        ctx.read.append(tensor)
        return tensor.array.reshape(())
    return shaped(ctx, ctx.of("self"), ()) if ctx.shape_of("self") else ctx.emit(CopyOp, ctx.of("self"))


def _asserted(ctx: Context) -> tuple[()]:
    """A fact that every call has to keep to: a comparison of sizes that is true, or checked."""
    number = ctx.number("self", True)
    if isinstance(number, SizeExpr):
        ctx.require(number - 1)
    elif not number:
        ctx.fail("what the program asserts", ctx.text("assert_msg") or "the contrary")
    return ()


def _nothing(ctx: Context) -> tuple[()]:
    """A condition that nobody waits for."""
    return ()


_BOUNDS: dict[str, str] = dict.fromkeys(("min", "max"), "checked by what needs a number that only values decide")


def _bounded(ctx: Context) -> tuple[()]:
    """The bounds of a number: checked where it is known, and else by what needs it."""
    tensor = ctx.tensor(0) if ctx.inputs else None
    if tensor is not None and tensor.array is None:
        return ()
    number = ctx.number("size", 0)
    for bound, sign in ((ctx.number("min"), "<="), (ctx.number("max"), ">=")):
        if isinstance(bound, int) and not isinstance(number, float | bool):
            holds = compared(bound, sign, number)
            if holds is False:
                ctx.fail(f"a number of at {'least' if sign == '<=' else 'most'} {bound}", str(number))
            if isinstance(holds, SizeExpr):
                ctx.require(holds - 1)
    return ()


# Every value is a storage of its own here, so that `sym_storage_offset` is 0.
TABLE: dict[str, Converter[Context]] = {
    "_operator.add": of_numbers(operator.add),
    "_operator.and_": Converter(_both),
    "_operator.eq": relation("=="),
    "_operator.floordiv": of_numbers(_floor_quotient),
    "_operator.ge": relation(">="),
    "_operator.gt": relation(">"),
    "_operator.le": relation("<="),
    "_operator.lt": relation("<"),
    "_operator.mod": of_numbers(operator.mod),
    "_operator.mul": of_numbers(operator.mul),
    "_operator.ne": Converter(_not_equal),
    "_operator.neg": of_numbers(operator.neg),
    "_operator.or_": Converter(_either),
    "_operator.pow": of_whole(_power, "pow"),
    "_operator.sub": of_numbers(operator.sub),
    "_operator.truediv": of_whole(_quotient, "truediv"),
    "aten._assert_async.msg": Converter(_nothing),
    "aten._assert_scalar.default": Converter(_asserted),
    "aten._local_scalar_dense.default": Converter(_item),
    "aten.item.default": Converter(_item),
    "aten.sym_constrain_range.default": Converter(_bounded, unread=_BOUNDS),
    "aten.sym_constrain_range_for_size.default": Converter(_bounded, unread=_BOUNDS),
    "aten.sym_numel.default": Converter(_count),
    "aten.sym_size.int": Converter(_size),
    "aten.sym_storage_offset.default": Converter(lambda ctx: sizes_array(0)),
    "aten.sym_stride.int": Converter(_stride),
    "math.ceil": of_whole(math.ceil, "ceil"),
    "math.floor": of_whole(math.floor, "floor"),
    "math.trunc": of_whole(math.trunc, "trunc"),
    "torch.sym_float": of_whole(float, "sym_float"),
    "torch.sym_int": of_whole(int, "sym_int"),
    "torch.sym_max": of_numbers(size_max),
    "torch.sym_min": of_numbers(size_min),
    "torch.sym_not": Converter(_negation),
}
