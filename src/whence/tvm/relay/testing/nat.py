"""Natural numbers of `nat.rly` in Python: as values, as expressions, and back."""

from __future__ import annotations

from whence.relay.prelude import Prelude
from whence.runtime.interpreting.container import ConstructorValue
from whence.runtime.interpreting.flow import Adt
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Call, Expr


def count(prelude: Prelude, n: Adt) -> int:
    """The number that a value is."""
    _, _, successor = prelude.mod.get_type("nat")
    number = 0
    while n.name == successor.name_hint:
        n, number = n.fields[0], number + 1
    return number


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """A number as a value."""
    _, zero, successor = prelude.mod.get_type("nat")
    value = ConstructorValue(zero.tag, [], zero)
    for _ in range(_checked(n)):
        value = ConstructorValue(successor.tag, [value], successor)
    return value


def make_nat_expr(prelude: Prelude, n: int) -> Expr:
    """A number as an expression."""
    _, zero, successor = prelude.mod.get_type("nat")
    expr = Call(zero, [])
    for _ in range(_checked(n)):
        expr = Call(successor, [expr])
    return expr


def _checked(n: int) -> int:
    if n < 0:
        raise FrontendError(expectation("nat", "a number of at least 0", str(n)))
    return n
