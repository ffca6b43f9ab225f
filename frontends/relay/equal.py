"""Structural equality of expressions and programs, as TVM has it: names do not count, sharing does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from ...dialects.relay.types import TypeVar, numbered, substituted
from ...support.dtypes import Array
from .defaults import completed, plain
from .expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    Program,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TypeData,
    Var,
)
from .type_view import plain as attribute_of

Written: TypeAlias = Attribute | None
Found: TypeAlias = Attribute | None
Task: TypeAlias = "tuple[Expr, Expr] | Callable[[], bool]"


_CLOSE = 1e-9
"""Attributes that differ by less are equal: 1e-5 is the float32 next to it."""


def structural_equal(
    lhs: Expr | Program, rhs: Expr | Program, map_free_vars: bool = False, spans: bool = False
) -> bool:
    """Return whether two expressions or programs are the same but for the names of variables.

    A graph is compared as one: what is read twice here is read twice there, so that `%0 = x + y; %0 + %0` is not
    `(x + y) + (x + y)`. Types that inference found count only where the other side has them written.

    map_free_vars: a free variable here may be another one there, the same everywhere; otherwise it is the same object.
    spans: whether spans count, those of names (operators, constructors, global functions) apart.
    """
    comparison = _Comparison(map_free_vars, spans)
    if isinstance(lhs, Program) and isinstance(rhs, Program):
        return comparison.programs(lhs, rhs)
    if isinstance(lhs, Program) or isinstance(rhs, Program):
        return False
    return comparison.run(lhs, rhs)


def _same_values(lhs: Any, rhs: Any) -> bool:
    """Return whether two attributes' values are the same; arrays bit by bit, so that nan is nan."""
    if isinstance(lhs, np.ndarray) or isinstance(rhs, np.ndarray):
        one, other = np.asarray(cast(Array, lhs)), np.asarray(cast(Array, rhs))
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(lhs, tuple) and isinstance(rhs, tuple):
        one, other = cast("tuple[Any, ...]", lhs), cast("tuple[Any, ...]", rhs)
        return len(one) == len(other) and all(map(_same_values, one, other))
    if isinstance(lhs, float) and isinstance(rhs, float) and abs(lhs - rhs) < _CLOSE:
        return True
    # An int where a float or a bool is declared becomes one.
    return bool(lhs == rhs)


def _both_sides(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes with padding before and after all axes, where it is written once for both."""
    padding, strides = attributes.get("padding"), attributes.get("strides")
    if isinstance(padding, list | tuple) and isinstance(strides, list | tuple):
        written, axes = list(cast("list[int]", padding)), len(cast("list[int]", strides))
        attributes["padding"] = written * (2 * axes // len(written)) if written else written
    return attributes


class _Comparison:
    """Two expressions side by side. What is still to compare is on a stack, first things on top."""

    def __init__(self, map_free_vars: bool, spans: bool):
        self.map_free_vars = map_free_vars
        self.spans = spans
        self.there: dict[Expr, Expr] = {}
        self.here: dict[Expr, Expr] = {}
        self.type_vars: dict[str, Attribute] = {}
        self.stack: list[Task] = []

    def programs(self, lhs: Program, rhs: Program) -> bool:
        if lhs.functions.keys() != rhs.functions.keys() or lhs.types.keys() != rhs.types.keys():
            return False
        return all(self.data(data, rhs.types[name]) for name, data in lhs.types.items()) and all(
            self.run(function, rhs.functions[name]) for name, function in lhs.functions.items()
        )

    def data(self, lhs: TypeData, rhs: TypeData) -> bool:
        if len(lhs.type_vars) != len(rhs.type_vars) or len(lhs.constructors) != len(rhs.constructors):
            return False
        self.type_vars = {a: TypeVar(StringAttr(b)) for a, b in zip(lhs.type_vars, rhs.type_vars, strict=True)}
        same = all(map(self.constructors, lhs.constructors, rhs.constructors))
        self.type_vars = {}
        return same

    def constructors(self, lhs: Constructor, rhs: Constructor) -> bool:
        return (
            lhs.name_hint == rhs.name_hint
            and lhs.belong_to == rhs.belong_to
            and len(lhs.inputs) == len(rhs.inputs)
            and all(map(self.types, lhs.inputs, rhs.inputs))
        )

    def types(self, lhs: Attribute | None, rhs: Attribute | None) -> bool:
        if lhs is rhs:
            return True
        if lhs is None or rhs is None:
            return False
        here = substituted(lhs, self.type_vars) if self.type_vars else lhs
        return here == rhs or numbered(here) == numbered(rhs)

    def run(self, lhs: Expr, rhs: Expr) -> bool:
        self.stack = [(lhs, rhs)]
        while self.stack:
            task = self.stack.pop()
            if not (task() if callable(task) else self.nodes(*task)):
                return False
        return True

    def then(self, *tasks: Task) -> bool:
        """Have these compared next, in this order."""
        self.stack.extend(reversed(tasks))
        return True

    def pairs(self, lhs: Sequence[Expr], rhs: Sequence[Expr]) -> bool:
        return len(lhs) == len(rhs) and self.then(*zip(lhs, rhs, strict=True))

    def same_span(self, lhs: Expr, rhs: Expr) -> bool:
        return not self.spans or lhs.span == rhs.span

    def define(self, lhs: Var, rhs: Var) -> bool:
        """Variables where they are bound."""
        self.there[lhs], self.here[rhs] = rhs, lhs
        same = lhs.virtual_device == rhs.virtual_device and self.same_span(lhs, rhs)
        return same and self.annotations((lhs.type_annotation, lhs.type), (rhs.type_annotation, rhs.type))

    def annotations(self, lhs: tuple[Written, Found], rhs: tuple[Written, Found]) -> bool:
        """Types as they were written; where one is left out, what was inferred there stands for it."""
        if lhs[0] is None and rhs[0] is None:
            return True
        return self.types(attribute_of(lhs[0] or lhs[1]), attribute_of(rhs[0] or rhs[1]))

    def nodes(self, lhs: Expr, rhs: Expr) -> bool:
        if type(lhs) is not type(rhs):
            return False
        match lhs:
            case Op():
                return lhs.name == cast(Op, rhs).name
            case GlobalVar():
                return lhs.name_hint == cast(GlobalVar, rhs).name_hint
            case Constructor():
                return self.names(lhs, cast(Constructor, rhs))
            case Constant():
                return self.same_span(lhs, rhs) and _same_values(lhs.data, cast(Constant, rhs).data)
            case Var():
                return self.variables(lhs, cast(Var, rhs))
            case _:
                pass
        if (known := self.there.get(lhs)) is not None or rhs in self.here:
            return known is rhs
        # The tuple of nothing is as good as another one.
        if not (isinstance(lhs, Tuple) and not lhs.fields):
            self.there[lhs], self.here[rhs] = rhs, lhs
        return self.same_span(lhs, rhs) and self.inner(lhs, rhs)

    def names(self, lhs: Constructor, rhs: Constructor) -> bool:
        return lhs.name_hint == rhs.name_hint and lhs.belong_to == rhs.belong_to

    def variables(self, lhs: Var, rhs: Var) -> bool:
        known, back = self.there.get(lhs), self.here.get(rhs)
        if known is not None or back is not None:
            return known is rhs and back is lhs
        return (self.map_free_vars or lhs is rhs) and self.define(lhs, rhs)

    def inner(self, lhs: Expr, rhs: Any) -> bool:
        """Return whether the parts of two nodes of one kind are equal."""
        match lhs:
            case Tuple():
                return self.pairs(lhs.fields, rhs.fields)
            case TupleGetItem():
                return lhs.index == rhs.index and self.then((lhs.tuple_value, rhs.tuple_value))
            case Call():
                return self.calls(lhs, rhs)
            case Function():
                return self.functions(lhs, rhs)
            case Let():
                return self.define(lhs.var, rhs.var) and self.then((lhs.value, rhs.value), (lhs.body, rhs.body))
            case If():
                there = (rhs.cond, rhs.true_branch, rhs.false_branch)
                return self.pairs((lhs.cond, lhs.true_branch, lhs.false_branch), there)
            case RefCreate():
                return self.then((lhs.value, rhs.value))
            case RefRead():
                return self.then((lhs.ref, rhs.ref))
            case RefWrite():
                return self.then((lhs.ref, rhs.ref), (lhs.value, rhs.value))
            case Match():
                if lhs.complete != rhs.complete or len(lhs.clauses) != len(rhs.clauses):
                    return False
                clauses = (self.clause(a, b) for a, b in zip(lhs.clauses, rhs.clauses, strict=True))
                return self.then((lhs.data, rhs.data), *clauses)
            case _:
                return lhs is rhs

    def calls(self, lhs: Call, rhs: Call) -> bool:
        # Type arguments are written by few, and found by inference: they count where both have them.
        name = lhs.op.name if isinstance(lhs.op, Op) else ""
        both = not name and lhs.type_args and rhs.type_args
        if both and not all(map(self.types, map(attribute_of, lhs.type_args), map(attribute_of, rhs.type_args))):
            return False
        same = self.attributes(_both_sides(completed(name, lhs.attrs)), _both_sides(completed(name, rhs.attrs)))
        return same and self.pairs((*lhs.args, lhs.op), (*rhs.args, rhs.op))

    def attributes(self, lhs: dict[str, Any], rhs: dict[str, Any]) -> bool:
        return lhs.keys() == rhs.keys() and all(_same_values(value, rhs[key]) for key, value in lhs.items())

    def functions(self, lhs: Function, rhs: Function) -> bool:
        if len(lhs.params) != len(rhs.params) or len(lhs.type_params) != len(rhs.type_params):
            return False
        here = {key: plain(value) for key, value in lhs.attrs.items()}
        outside = self.type_vars
        self.type_vars = outside | {
            a: TypeVar(StringAttr(b)) for a, b in zip(lhs.type_params, rhs.type_params, strict=True)
        }

        def leave() -> bool:
            self.type_vars = outside
            return True

        return (
            self.attributes(here, {key: plain(value) for key, value in rhs.attrs.items()})
            and all(map(self.define, lhs.params, rhs.params))
            and self.annotations((lhs.ret_type, lhs.body.type), (rhs.ret_type, rhs.body.type))
            and self.then((lhs.body, rhs.body), leave)
        )

    def clause(self, lhs: Clause, rhs: Clause) -> Task:
        return lambda: self.patterns(lhs.lhs, rhs.lhs) and self.then((lhs.rhs, rhs.rhs))

    def patterns(self, lhs: Pattern, rhs: Any) -> bool:
        if type(lhs) is not type(rhs):
            return False
        match lhs:
            case PatternVar():
                return self.define(lhs.var, rhs.var)
            case PatternConstructor():
                if not self.names(lhs.constructor, rhs.constructor):
                    return False
            case PatternTuple():
                pass
            case _:
                return True
        return len(lhs.patterns) == len(rhs.patterns) and all(map(self.patterns, lhs.patterns, rhs.patterns))
