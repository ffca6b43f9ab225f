"""The gradient of one operator, as a function of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import is_integer
from whence.dialects.relay.types import fields_of
from whence.frontends.relay.expr import Call, Expr, Function, Op, Tuple, TupleGetItem, Var
from whence.frontends.relay.type_view import plain
from whence.relay.module import IRModule


def operator_gradient(call: Call, types: Sequence[Attribute], first_order: Callable[[IRModule], IRModule]) -> Function:
    """Of a call of an operator, the function from its operands, and a gradient for each result of floats, to the tuple
    of the gradients of the operands of floats. Operands and results in tuples count one by one.

    types: of the arguments. first_order: the pass that makes gradients.
    """
    params: list[Var] = []

    def operand(type_: Attribute) -> Expr:
        if (fields := fields_of(type_)) is not None:
            return Tuple([operand(field) for field in fields])
        params.append(Var(f"x{len(params)}", type_))
        return params[-1]

    args = [operand(type_) for type_ in types]
    value = Call(call.op, args, call.attrs, span=call.span)
    output = call.inferred
    fields = fields_of(output)
    results: list[tuple[Expr, Attribute]] = [(value, output)]
    if fields is not None:
        results = [(TupleGetItem(value, index), field) for index, field in enumerate(fields)]
    seeds = [(result, Var(f"g{index}", type_)) for index, (result, type_) in enumerate(results) if _is_float(type_)]
    weighted = [Call(Op("multiply"), [result, seed], span=call.span) for result, seed in seeds]
    whole = weighted[0] if len(weighted) == 1 else Tuple(weighted)
    function = Function([*params, *(seed for _, seed in seeds)], whole, span=call.span)
    made = first_order(IRModule.from_expr(function))["main"]
    gradients = _field(made.body, 1)
    found = [_field(gradients, index) for index, param in enumerate(params) if _is_float(plain(param.type_annotation))]
    return Function(made.params, Tuple(found), span=call.span)


def _field(value: Expr, index: int) -> Expr:
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)


def _is_float(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and not is_integer(cast("TensorType[Attribute]", type_).element_type)
