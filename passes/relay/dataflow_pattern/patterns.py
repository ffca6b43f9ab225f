"""Declarative patterns of relay expressions: the kinds that there are, named as in TVM. `syntax.py` spells them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from ....dialects.element_types import DTYPES
from ....dialects.relay.core import FuncOp
from ....dialects.relay.functions import FnOp
from ....dialects.relay.operator import element_of, shape_of
from ....support.errors import PipelineError
from ....syntax.relay import expr as relay
from ....syntax.relay.attrs import operators
from ....syntax.relay.type_view import TypeView, view
from .expressions import (
    Expr,
    Node,
    arguments,
    as_expr,
    attribute,
    branching,
    call_of,
    callee,
    constant_of,
    field_of,
    function_of,
    plain,
    readers_in,
    same_constant,
    tuple_fields,
    types,
    variable_name,
)
from .groups import Check, always
from .matcher import Matcher, Pattern, all_parts
from .outlining import partition
from .written import HoldsFunctions, partition_written, rewrite_written

_EITHER_WAY = ("add", "multiply")


class DFPattern(Pattern):
    """A pattern. Calling it makes the pattern of a call of what it matches; `+ - * /` are calls of operators, `|`
    matches either side.
    """

    def __call__(self, *args: DFPattern | None) -> CallPattern:
        """A call with arguments that match; a single None stands for any arguments."""
        return CallPattern(self, None if args == (None,) else _patterns(args))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return CallPattern(OpPattern("add"), [self, other])

    def __sub__(self, other: DFPattern) -> CallPattern:
        return CallPattern(OpPattern("subtract"), [self, other])

    def __mul__(self, other: DFPattern) -> CallPattern:
        return CallPattern(OpPattern("multiply"), [self, other])

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return CallPattern(OpPattern("divide"), [self, other])

    def has_attr(self, attrs: Mapping[str, object]) -> AttrPattern:
        """This pattern, of a call or an operator whose attributes have these values."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Attribute | TypeView) -> TypePattern:
        """This pattern, of a value of a type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """This pattern, of a tensor of a dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[int | None]) -> ShapePattern:
        """This pattern, of a tensor of a shape; None stands for any extent."""
        return ShapePattern(self, shape)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This pattern, with or without what `option_constructor` makes of it."""
        return AltPattern(self, option_constructor(self))

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern, where all that is computed of what matches `parent` leads to it, through what matches `path`.

        path: of every expression between them; anything if left out.
        """
        return DominatorPattern(parent, path if path is not None else WildcardPattern(), self)

    def match(self, expr: Expr) -> bool:
        """Return whether an expression matches: a value, an op that gives several, or what `whence.relay` writes."""
        node = as_expr(expr)
        operator = operators().get(node.name) if isinstance(node, relay.Op) else None
        return Matcher(readers_in(node)).match(self, operator if operator is not None else node)

    def partition(
        self,
        target: ModuleOp | FuncOp | relay.Expr | HoldsFunctions,
        attrs: Mapping[str, object] | None = None,
        check: Check = always,
    ) -> Any:
        """A new module in which every match became a call of a function of its own; the one given stays as it is.

        target: a module, or the one function of a module in which to look; an expression of `whence.relay` gives one,
        and so does its IRModule.
        attrs: of the functions, besides `PartitionedFromPattern`, the names of what they are made of.
        check: asked about the root of each match whether it is wanted.
        Locations: a function and its call get those of the match, root first; what is inside keeps its own.
        """
        if isinstance(target, relay.Expr):
            return partition_written(self, target, attrs or {}, check)
        if isinstance(target, HoldsFunctions):
            return target.map_functions(lambda func: partition_written(self, func, attrs or {}, check))
        return partition(self, target, attrs or {}, check)

    def rewrite(self, callback: Callable[..., relay.Expr], expr: relay.Expr) -> relay.Expr:
        """An expression of `whence.relay` with what `callback(pre, post, node_map)` gives in the place of matches."""
        return rewrite_written(self, expr, callback)


def _patterns(values: Sequence[object]) -> list[DFPattern]:
    for value in values:
        if not isinstance(value, DFPattern):
            raise PipelineError(f"dataflow pattern: expected patterns, got {type(value).__name__}")
    return [value for value in values if isinstance(value, DFPattern)]


class ExprPattern(DFPattern):
    """A given expression, or a constant equal to it."""

    def __init__(self, expr: Expr):
        self.expr = as_expr(expr)
        self.embeds_constants = constant_of(self.expr) is not None

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        if node == self.expr:
            return True
        mine, other = constant_of(self.expr), constant_of(node)
        return mine is not None and other is not None and same_constant(mine, other)


class OpPattern(ExprPattern):
    """An operator."""

    def __init__(self, name: str):
        if name not in operators():
            raise PipelineError(f"is_op: expected the name of an operator, got '{name}'")
        super().__init__(relay.Op(name))
        self.name = name

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        return node is operators()[self.name] or node == self.expr


class VarPattern(DFPattern):
    """A parameter of a function, of a name unless that is empty."""

    def __init__(self, name: str = ""):
        self.name = name

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        name = variable_name(node)
        return name is not None and self.name in ("", name)


class ConstantPattern(DFPattern):
    """A constant."""

    embeds_constants = True

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        return constant_of(node) is not None


class WildcardPattern(DFPattern):
    """Anything."""

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pattern: DFPattern) -> None:
        """Match what another pattern does from now on."""
        self.pattern = pattern

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.pattern,) if self.pattern is not None else ()

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        return self.pattern is None or matcher.match(self.pattern, node)


class CallPattern(DFPattern):
    """A call of what matches `op` with arguments that match, in TVM's terms: sums and products either way round, and
    `a * b / c` also as `a / c * b`.

    args: None for any.
    """

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None):
        self.op = op
        self.args = list(args) if args is not None else None

    @property
    def parts(self) -> Sequence[Pattern]:
        return [self.op, *(self.args or ())]

    def calls(self, name: str) -> bool:
        """Return whether it is a call of this operator."""
        return isinstance(self.op, OpPattern) and self.op.name == name

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        call = call_of(node)
        called = callee(call) if call is not None else None
        if call is None or called is None:
            return False
        mark = matcher.mark()
        if matcher.match(self.op, called):
            if self.args is None:
                return True
            actual = arguments(call)
            if matcher.match_all(self.args, actual):
                return True
            commutes = isinstance(self.op, OpPattern) and self.op.name in _EITHER_WAY
            return commutes and matcher.match_all(self.args[::-1], actual)
        matcher.undo(mark)
        return any(matcher.match(other, node) for other in self._associated(called))

    def _associated(self, called: object) -> list[CallPattern]:
        """Forms of a product in a quotient, or a quotient in a product, that are calls of `called`."""
        if self.calls("divide") and called is operators()["multiply"]:
            numerator, denominator = self.args or (None, None)
            if isinstance(numerator, CallPattern) and numerator.calls("multiply") and denominator is not None:
                a, b = numerator.args or (None, None)
                return [
                    CallPattern(numerator.op, [kept, CallPattern(self.op, [divided, denominator])])
                    for divided, kept in ((a, b), (b, a))
                    if divided is not None and kept is not None
                ]
        if self.calls("multiply") and called is operators()["divide"]:
            a, b = self.args or (None, None)
            return [
                CallPattern(quotient.op, [CallPattern(self.op, [quotient.args[0], other]), quotient.args[1]])
                for quotient, other in ((a, b), (b, a))
                if isinstance(quotient, CallPattern)
                and quotient.calls("divide")
                and quotient.args
                and other is not None
            ]
        return []


class FunctionPattern(DFPattern):
    """A function: its parameters, None for any, and what it returns."""

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern):
        self.params = list(params) if params is not None else None
        self.body = body

    @property
    def parts(self) -> Sequence[Pattern]:
        return [*(self.params or ()), self.body]

    @property
    def fuzzy(self) -> Sequence[Pattern]:
        # Values inside a function are not inputs of a match.
        return all_parts(*self.parts)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        function = function_of(node)
        if function is None or (self.params is not None and not matcher.match_all(self.params, function[0])):
            return False
        return matcher.match(self.body, function[1])


class LetPattern(DFPattern):
    """A let, as it is written; among ops, what it binds is a value like others, so that none matches."""

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern):
        self.var, self.value, self.body = var, value, body

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.var, self.value, self.body)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        return isinstance(node, relay.Let) and matcher.match_all(self.parts, (node.var, node.value, node.body))


class IfPattern(DFPattern):
    """The value of one of two branches."""

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern):
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.cond, self.true_branch, self.false_branch)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        branches = branching(node)
        return branches is not None and matcher.match_all(self.parts, branches)


class TuplePattern(DFPattern):
    """A tuple: what `relay.tuple` makes, or `concatenate` reads as one operand. fields: None for any."""

    def __init__(self, fields: Sequence[DFPattern] | None):
        self.fields = list(fields) if fields is not None else None

    @property
    def parts(self) -> Sequence[Pattern]:
        return self.fields or ()

    @property
    def is_input(self) -> bool:
        # The fields are, as in TVM.
        return False

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        fields = tuple_fields(node)
        return fields is not None and (self.fields is None or matcher.match_all(self.fields, fields))


class TupleGetItemPattern(DFPattern):
    """A field of a tuple; each result of an op that has several is one. index: None for any."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None):
        self.tuple, self.index = tuple_value, index

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.tuple,)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        part = field_of(node)
        return part is not None and self.index in (None, -1, part[1]) and matcher.match(self.tuple, part[0])


class AltPattern(DFPattern):
    """Either of two patterns, the left one first."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left, self.right = left, right

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.left, self.right)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        return matcher.match(self.left, node) or matcher.match(self.right, node)


class _Restricted(DFPattern):
    """A pattern, and something more."""

    def __init__(self, pattern: DFPattern):
        self.pattern = pattern

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.pattern,)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        return matcher.match(self.pattern, node) and self.holds(node)

    def holds(self, node: Node) -> bool:
        """Return whether a node that fits the pattern also meets the further condition."""
        raise NotImplementedError


class AttrPattern(_Restricted):
    """A call, operator or function with attributes; `TOpPattern` is an operator's fusion pattern."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, object]):
        super().__init__(pattern)
        self.attrs = {name: plain(value) for name, value in attrs.items()}

    def holds(self, node: Node) -> bool:
        return all(value == attribute(node, name) for name, value in self.attrs.items())


class TypePattern(_Restricted):
    """A value of a type."""

    def __init__(self, pattern: DFPattern, ttype: Attribute | TypeView):
        super().__init__(pattern)
        self.type = view(ttype)

    def holds(self, node: Node) -> bool:
        return types(node) == (self.type,)


class DataTypePattern(_Restricted):
    """A tensor of a dtype."""

    def __init__(self, pattern: DFPattern, dtype: str):
        super().__init__(pattern)
        if dtype not in DTYPES:
            raise PipelineError(f"has_dtype: expected a dtype among {', '.join(DTYPES)}, got '{dtype}'")
        self.dtype = dtype
        self.element = DTYPES[dtype]

    def holds(self, node: Node) -> bool:
        kinds = types(node)
        return bool(kinds) and all(isinstance(t, TensorType) and element_of(t) == self.element for t in kinds)  # pyright: ignore[reportUnknownArgumentType]


class ShapePattern(_Restricted):
    """A tensor of a shape; None stands for any extent."""

    def __init__(self, pattern: DFPattern, shape: Sequence[int | None]):
        super().__init__(pattern)
        self.shape = tuple(shape)

    def holds(self, node: Node) -> bool:
        node_types = types(node)
        if len(node_types) != 1 or not isinstance(node_types[0], TensorType):
            return False
        shape = shape_of(node_types[0])  # pyright: ignore[reportUnknownArgumentType]
        return len(shape) == len(self.shape) and all(w in (None, s) for w, s in zip(self.shape, shape, strict=True))


class DominatorPattern(DFPattern):
    """A child to which all that is computed of the parent leads, through what matches the path."""

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern):
        self.parent, self.path, self.child = parent, path, child

    @property
    def parts(self) -> Sequence[Pattern]:
        return (self.child, self.path, self.parent)

    @property
    def fuzzy(self) -> Sequence[Pattern]:
        return (self.parent, self.path)

    def accepts(self, matcher: Matcher, node: Node) -> bool:
        if isinstance(node, type | FuncOp | FnOp) or not matcher.match(self.child, node):
            return False
        return matcher.dominated(node, self.parent, self.path)
