"""The syntax of patterns, under TVM's names: `is_op("nn.conv2d")(wildcard(), is_constant())`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute

from ....syntax.relay.type_view import TypeView
from .expressions import Expr
from .patterns import (
    AttrPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    IfPattern,
    LetPattern,
    OpPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)


def is_op(op_name: str) -> OpPattern:
    """An operator, by TVM's name. Raises PipelineError for one that there is none of."""
    return OpPattern(op_name)


def is_var(name: str = "") -> VarPattern:
    """A parameter of a function, of a name if one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: Expr) -> ExprPattern:
    """This one expression, or a constant equal to it."""
    return ExprPattern(expr)


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """A tuple of fields that match; of any for None."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple that matches; any field for None."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """The value of one of two branches, of which the condition and what they give match."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A let, as it is written, of which all three match."""
    return LetPattern(var, value, body)


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def has_attr(attrs: Mapping[str, object], pattern: DFPattern | None = None) -> AttrPattern:
    """A call, operator or function with these attributes."""
    return (pattern if pattern is not None else wildcard()).has_attr(attrs)


def has_type(ttype: Attribute | TypeView, pattern: DFPattern | None = None) -> TypePattern:
    """A value of a type."""
    return (pattern if pattern is not None else wildcard()).has_type(ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """A tensor of a dtype."""
    return (pattern if pattern is not None else wildcard()).has_dtype(dtype)


def has_shape(shape: Sequence[int | None], pattern: DFPattern | None = None) -> ShapePattern:
    """A tensor of a shape."""
    return (pattern if pattern is not None else wildcard()).has_shape(shape)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """`child` where all that is computed of `parent` leads to it, through what matches `path`."""
    return DominatorPattern(parent, path, child)
