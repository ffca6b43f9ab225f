"""Functions that TVM has in its registry alone."""

from whence.arith.int_inequalities import solve_inequalities_as_condition as SolveInequalitiesAsCondition
from whence.arith.narrow import narrow_predicate_expression as NarrowPredicateExpression
from whence.arith.regions import domain_touched as DomainTouched

__all__ = ["DomainTouched", "NarrowPredicateExpression", "SolveInequalitiesAsCondition"]
