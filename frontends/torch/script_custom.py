"""Converts operators by the user's functions of expressions, TVM's `custom_convert_map`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import SSAValue

from ...dialects.relay.core import ConstantOp, ReturnOp
from ...dialects.relay.size_ranges import main_of
from ...support.errors import called
from ...syntax.relay.elaborate import elaborate
from ...syntax.relay.expr import Expr, Function, Program, Tuple, Var
from ...syntax.relay.places import span_of
from ..importing.tensor import dtype_of
from .calls import At, Operand
from .context import Context
from .schema import ScalarType, Unread
from .script_values import TORCH_CODES


def converted(ctx: Context, function: Callable[..., Any]) -> tuple[SSAValue, ...]:
    """Return the results of a function that is called with the arguments of an operator and their types.

    Tensors are variables, lists are lists, and numbers, texts and None are Python's; element types are torch's numbers.
    Expressions without a span of their own are located at the layer.
    """
    variables: dict[int, Var] = {}

    def argument(operand: Operand) -> Any:
        if isinstance(operand, At):
            if operand.index not in variables:
                variables[operand.index] = Var(f"input_{operand.index}", ctx.value(operand.index).type)
            return variables[operand.index]
        if isinstance(operand, tuple):
            return [argument(item) for item in operand]
        if isinstance(operand, ScalarType):
            return TORCH_CODES.index(operand.code)
        return operand.value if isinstance(operand, Unread) else operand

    operands = list(ctx.arguments().values())
    inputs = [argument(operand) for operand in operands]
    with called():
        result = function(inputs, [_type(ctx, operand) for operand in operands])
    return _added(ctx, _results(ctx, result), variables)


def _type(ctx: Context, operand: Operand) -> str:
    """Return TVM's name of the type of an argument."""
    match operand:
        case At():
            return dtype_of(ctx.value(operand.index)).name
        case tuple():
            return "ListType"
        case bool():
            return "bool"
        case int() | ScalarType():
            return "int32"
        case float():
            return "float32"
        case str():
            return "str"
        case _:
            return "UnsupportedType"


def _results(ctx: Context, result: Any) -> list[Expr]:
    """Return the expressions in the result of a function: one, or several in a list or tuple."""
    if isinstance(result, Tuple):
        return list(result.fields)
    parts = [result] if isinstance(result, Expr) or not isinstance(result, Iterable) else cast("Iterable[Any]", result)
    expressions = [part for part in parts if isinstance(part, Expr)]
    if not expressions:
        kind: str = type(cast(object, result)).__name__
        ctx.fail("an expression, or a list of them, from its function", kind)
    return expressions


def _added(ctx: Context, results: list[Expr], variables: dict[int, Var]) -> tuple[SSAValue, ...]:
    """Add the ops of expressions at the layer of a call; return their values."""
    body = results[0] if len(results) == 1 else Tuple(results)
    module = elaborate(Program({"main": Function(list(variables.values()), body)}))
    main = main_of(module)
    for index, value in zip(variables, main.block.args, strict=True):
        value.replace_all_uses_with(ctx.value(index))
    for op in list(main.walk()):
        if isinstance(op, ConstantOp):
            constant = ctx.constant(op.value(module), op.result.name_hint or "constant")
            op.result.replace_all_uses_with(constant)
            op.detach()
            op.erase()
    values: tuple[SSAValue, ...] = ()
    for op in list(main.block.ops):
        if isinstance(op, ReturnOp):
            values = tuple(op.operands)
            continue
        for inner in op.walk():
            if span_of(inner.location) is None:
                inner.location = UNKNOWN_LOC
        op.detach()
        ctx.builder.add(op)
    return values
