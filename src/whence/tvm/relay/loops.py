"""Loops as functions that call themselves, TVM's `relay.loops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whence.syntax.relay.expr import Call, Expr, Function, If, Let, Tuple, Var


def while_loop(
    cond: Callable[..., Expr], loop_vars: Sequence[Var], loop_bodies: Callable[..., Expr | Sequence[Expr]]
) -> Expr:
    """A function from the first values of loop variables to a tuple of the last ones.

    cond: of the variables, whether there is another turn. loop_bodies: of the variables, their next values.

    >>> loop = while_loop(lambda i: relay.less(i, relay.const(10)), [i], lambda i: [i + relay.const(1)])
    """
    loop = Var("while_loop")
    fresh = [Var(var.name_hint, var.type_annotation) for var in loop_vars]
    results = loop_bodies(*fresh)
    following = [results] if isinstance(results, Expr) else list(results)
    body = If(cond(*fresh), Call(loop, following), Tuple(list(fresh)))
    return Let(loop, Function(fresh, body), loop)
