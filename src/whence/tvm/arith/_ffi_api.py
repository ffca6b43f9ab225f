"""Functions that TVM has in its registry alone."""

from whence.arith.narrow import narrow_predicate_expression as NarrowPredicateExpression

__all__ = ["NarrowPredicateExpression"]
