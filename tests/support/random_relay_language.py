"""How what is no operator is drawn: tuples, lets, branches, closures, calls, references, data types and matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import random_relay_elementwise
import random_relay_layout
import random_relay_nets
from random_relay_types import BOOL, CONSTRUCTORS, DATA, INT, applied, first_order, inputs_of
from random_relay_values import FLOATS, INTEGERS, LIMIT, Draw, Redraw, Value, limits
from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute

from whence import relay
from whence.dialects.element_types import DTYPES
from whence.dialects.relay.types import (
    AdtType,
    Forall,
    RefType,
    adt_type,
    fields_of,
    function_type,
    signature_of,
    substituted,
    tuple_type,
    types_in,
)
from whence.syntax.relay.expr import Constructor, Expr, Function, Pattern, Var
from whence.syntax.relay.nodes import pattern_vars

Step = Callable[["Language"], object]

OPERATORS = {**random_relay_elementwise.RECIPES, **random_relay_layout.RECIPES, **random_relay_nets.RECIPES}
_FAMILIES = tuple(
    tuple(module.RECIPES) for module in (random_relay_elementwise, random_relay_layout, random_relay_nets)
)
DEPTH = 3
"""How deep scopes nest."""


class Language(Draw):
    """A program that grows by steps. `plain`: only of operators, tuples and lets."""

    def __init__(self, seed: int, size: int = 12):
        super().__init__(seed)
        self.plain = self.chance(0.25)
        if self.plain and self.chance(0.7):
            self.lets = 0.0
        self.size_left = size
        self.depth = 0
        self.busy = False
        """Whether the place is run several times, so that nothing there should run anything several times."""
        self.generic: list[tuple[Expr, Forall]] = []
        """Polymorphic functions that can be seen everywhere."""
        self.spans = 0

    def add(self, value: Value) -> Value:
        if value.expr.span is None and not isinstance(value.expr, Var) and self.chance(0.25):
            self.spans += 1
            one = relay.Span(relay.SourceName(f"layer{self.spans}"), self.spans, self.spans, 4, 4)
            value.expr.span = one
            if self.chance(0.2):
                value.expr.span = relay.SequentialSpan([one, relay.Span(relay.SourceName("net"), 1, 1, self.spans, 9)])
        return super().add(value)

    def node(self, expr: Expr, type_: Attribute) -> Value:
        """The value of an expression of the language, new in the scope."""
        low, high, exact = limits(type_)
        return self.add(Value(self.typed(expr, type_), type_, low, high, exact))

    def named(self, expr: Expr, type_: Attribute, stem: str = "r") -> Value:
        """As `node`, but always named by a let: what happens there happens there."""
        low, high, exact = limits(type_)
        value = self.bind(Value(self.typed(expr, type_), type_, low, high, exact), stem)
        self.scopes[-1].append(value)
        return value

    def crossing(self, value: Value) -> Value:
        """A value, tame enough to leave the scope."""
        return self.bounded(value, *limits(value.type)[:2])

    # Types.

    def some_type(self, depth: int = 0) -> Attribute:
        draw = self.dice.random()
        if depth > 1 or draw < 0.55:
            return TensorType(DTYPES[self.dtype(("float32", "int32", "bool"))], self.shape(0, 2, empty=False))
        if draw < 0.75:
            return tuple_type([self.some_type(depth + 1) for _ in range(self.dice.randint(1, 3))])
        if draw < 0.95:
            name = self.choice(tuple(DATA))
            self.program.types.setdefault(name, DATA[name])
            return adt_type(name, [self.some_type(depth + 1) for _ in DATA[name].type_vars])
        return FunctionType.from_lists([self.some_type(2)], [self.some_type(2)])

    def seen_type(self) -> Attribute:
        """The type of a value in scope, functions and references apart; else another."""
        found = self.visible(lambda value: first_order(value.type))
        return self.choice(found).type if found and self.chance(0.7) else self.some_type()

    def use_type(self, type_: Attribute) -> None:
        """Have the program define the data types that a type names."""
        for one in types_in(type_):
            if isinstance(one, AdtType):
                name = one.definition.string_value()
                self.program.types.setdefault(name, DATA[name])

    # Values of a type.

    def make(self, type_: Attribute, depth: int = 0, exact: bool = False) -> Value:
        """A value of a type, of what is in scope as far as that goes."""
        self.use_type(type_)
        if (found := self.like(type_, exact)) is not None and self.chance(0.8):
            return self.crossing(found)
        match type_:
            case TensorType():
                return self.crossing(self._tensor(type_, exact))
            case TupleType():
                fields = [self.make(field, depth + 1) for field in type_.types]
                return self.node(relay.Tuple([field.expr for field in fields]), type_)
            case FunctionType():
                return closure(self, type_.inputs.data, type_.outputs.data[0], 1 if depth else 2)
            case RefType():
                return self.named(relay.RefCreate(self.make(type_.value, depth + 1).expr), type_)
            case AdtType():
                return construct(self, type_, depth)
            case _:
                if found is None:
                    raise Redraw
                return found

    def _tensor(self, type_: TensorType[Attribute], exact: bool) -> Value:
        low, high, _ = limits(type_)
        dtype, shape = Value(relay.Tuple([]), type_).dtype, type_.get_shape()
        if self.chance(0.3) or (dtype == "bool" and shape):
            return self.fresh(shape, dtype, max(low, -3.0), min(high, 3.0), constant=0.7)
        if dtype == "bool":
            x = self.tensor(INTEGERS[:2], (0, 2))
            total = relay.sum(x.expr) if x.rank else x.expr
            return self.emit(relay.greater(total, relay.const(self.dice.randint(-2, 4), x.dtype)), 0.0, 1.0)
        x = self.tensor((dtype,) if dtype in INTEGERS else FLOATS, (0, 3), exact=exact, empty=False)
        found = relay.max(x.expr) if x.rank else x.expr
        if x.dtype != dtype:
            found = relay.cast(found, dtype)
        value = self.emit(found, x.low, x.high, x.exact)
        if not shape:
            return value
        return self.emit(relay.broadcast_to(value.expr, shape), value.low, value.high, value.exact)

    def condition(self) -> Value:
        return self.make(BOOL, exact=True)

    def count(self, most: int = 3) -> Value:
        """A number of times to do something."""
        if self.chance(0.5):
            return self.given(np.asarray(self.dice.randint(0, most), np.int32), 1.0)
        value = self.make(INT)
        return self.emit(relay.clip(value.expr, 0.0, float(most)), 0.0, float(most))

    # Growing.

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            # A scope without any tensor says little.
            plain = self.plain or self.chance(0.55)
            step = _operator if plain else self.choice(QUIET if self.busy or self.depth >= DEPTH else STEPS)
            try:
                step(self)
            except Redraw:
                continue

    def inner(self, steps: int, type_: Attribute | None, values: Sequence[Value] = ()) -> tuple[Expr, Attribute]:
        """An expression with lets of its own, which sees what is around and `values`; of a type, or of some."""
        self.depth += 1
        try:
            with self.scope(values):
                self.grow(steps)
                if type_ is None:
                    own = [value for value in self.scopes[-1] if first_order(value.type)]
                    found = self.crossing(self.choice(own)) if own else self.make(self.some_type())
                else:
                    found = self.make(type_)
                return self.body(found), found.type
        finally:
            self.depth -= 1


# Steps.


def _operator(d: Language) -> None:
    OPERATORS[d.choice(d.choice(_FAMILIES))](d)


def tupled(d: Language) -> Value:
    fields = [d.crossing(value) for value in _picked(d, d.dice.randint(0 if d.chance(0.1) else 1, 3))]
    return d.node(relay.Tuple([field.expr for field in fields]), tuple_type([field.type for field in fields]))


def _picked(d: Language, count: int) -> list[Value]:
    found = d.visible(lambda value: not isinstance(value.type, Forall))
    return [d.choice(found[-8:]) for _ in range(count)]


def get(d: Language) -> Value:
    value: Value = d.choice(d.visible(lambda one: bool(fields_of(one.type))))
    fields = fields_of(value.type) or ()
    index = d.dice.randrange(len(fields))
    return d.node(relay.TupleGetItem(value.expr, index), fields[index])


def branch(d: Language) -> Value:
    condition, type_ = d.condition(), d.seen_type()
    yes, _ = d.inner(d.dice.randint(0, 2), type_)
    no, _ = d.inner(d.dice.randint(0, 2), type_)
    return d.node(relay.If(condition.expr, yes, no), type_)


def nested(d: Language) -> Value:
    """A let within the value of another."""
    return d.node(*d.inner(d.dice.randint(1, 3), None))


def unused(d: Language) -> None:
    """A let that nobody reads."""
    value = d.choice(d.scopes[-1])
    d.bindings[-1].append((Var("_" if d.chance(0.5) else d.name("unused")), value.expr))


def closure(
    d: Language, inputs: Sequence[Attribute], output: Attribute | None, steps: int, *, again: bool = False
) -> Value:
    """A function that sees what is around. again: it takes a number first, and calls itself as often as that says."""
    params = [Var(d.name("p"), type_) for type_ in inputs]
    values = [Value(d.typed(p, t), t, *limits(t)) for p, t in zip(params, inputs, strict=True)]
    if again:
        assert output is not None
        return _recursive(d, params, values, output, steps)
    body, found = d.inner(steps, output, values)
    type_ = function_type((), inputs, found)
    annotated = found if d.chance(0.5) else None
    return d.node(Function(params, body, annotated), type_)


def _recursive(d: Language, params: list[Var], values: list[Value], output: Attribute, steps: int) -> Value:
    type_ = function_type((), [INT, *(value.type for value in values)], output)
    itself, number = Var(d.name("again"), type_), Var(d.name("n"), INT)
    d.typed(itself, type_)
    d.typed(number, INT)
    here = [Value(number, INT, 0.0, LIMIT, True), *values]
    busy, d.busy = d.busy, True
    try:
        less = relay.subtract(number, relay.const(1))

        def more() -> tuple[Expr, Attribute]:
            d.depth += 1
            with d.scope(here):
                d.grow(steps)
                given = [d.make(value.type).expr for value in values]
                result = d.node(relay.Call(itself, [less, *given]), output)
                if d.chance(0.5):
                    d.grow(1)
                    result = d.crossing(result)
                found = d.body(result)
            d.depth -= 1
            return found, output

        end, _ = d.inner(1, output, here)
        on, _ = more()
    finally:
        d.busy = busy
    stop = relay.less_equal(number, relay.const(0))
    function = Function([number, *params], relay.If(stop, end, on), output if d.chance(0.5) else None)
    d.bindings[-1].append((itself, d.typed(function, type_)))
    value = Value(itself, type_)
    d.scopes[-1].append(value)
    return value


def local(d: Language) -> Value:
    inputs = [d.seen_type() for _ in range(d.dice.randint(0, 2))]
    if d.chance(0.25):
        value = closure(d, inputs, d.seen_type(), 2, again=True)
        return _apply(d, value, counted=True)
    if d.chance(0.15):
        # It gives a function.
        inner = FunctionType.from_lists([d.seen_type()], [d.seen_type()])
        return _apply(d, closure(d, inputs, inner, 2))
    value = closure(d, inputs, None, d.dice.randint(1, 3))
    return _apply(d, value) if d.chance(0.6) else value


def _apply(d: Language, function: Value, counted: bool = False) -> Value:
    signature = signature_of(function.type)
    assert signature is not None
    given: list[Value] = []
    for index, type_ in enumerate(signature.inputs):
        given.append(d.count() if counted and not index else d.make(type_))
    expr = relay.Call(function.expr, [value.expr for value in given])
    return d.node(expr, signature.outputs.data[0])


def call(d: Language) -> Value:
    """A call of a function in scope, one that counts apart."""
    found = d.visible(lambda value: isinstance(value.type, FunctionType) and not _counts(value))
    return _apply(d, d.choice(found))


def _counts(value: Value) -> bool:
    return isinstance(value.expr, Var) and value.expr.name_hint.startswith("again")


def immediate(d: Language) -> Value:
    types = [d.seen_type() for _ in range(d.dice.randint(0, 2))]
    params = [Var(d.name("p"), type_) for type_ in types]
    values = [Value(d.typed(p, t), t, *limits(t)) for p, t in zip(params, types, strict=True)]
    body, found = d.inner(2, None, values)
    function = Function(params, body)
    d.typed(function, function_type((), types, found))
    given = [d.make(type_).expr for type_ in types]
    return d.node(relay.Call(function, given), found)


def polymorphic(d: Language) -> Value:
    """A call of a function that is one for all types."""
    expr, type_ = d.choice(d.generic)
    given = {name.data: d.seen_type() for name in type_.params}
    signature = cast(FunctionType, substituted(type_.body, given))
    for one in (*signature.inputs, *signature.outputs):
        d.use_type(one)
    args = [d.make(input_).expr for input_ in signature.inputs]
    return d.node(relay.Call(expr, args), signature.outputs.data[0])


# References.


def create(d: Language) -> Value:
    value = d.make(d.seen_type())
    return d.named(relay.RefCreate(value.expr), RefType(cast(Any, value.type)), "ref")


def _reference(d: Language) -> Value:
    found = d.visible(lambda value: isinstance(value.type, RefType))
    return d.choice(found) if found else create(d)


def read(d: Language) -> Value:
    ref = _reference(d)
    return d.named(relay.RefRead(ref.expr), cast(RefType, ref.type).value)


def write(d: Language) -> Value:
    ref = _reference(d)
    value = d.make(cast(RefType, ref.type).value)
    return d.named(relay.RefWrite(ref.expr, value.expr), tuple_type([]), "_" if d.chance(0.3) else "u")


# Data types.


def construct(d: Language, type_: AdtType, depth: int = 0) -> Value:
    name = type_.definition.string_value()
    options = DATA[name].constructors
    if depth > 2:
        options = [one for one in options if not one.inputs] or options
    constructor: Constructor = d.choice(options)
    fields = [d.make(one, depth + 1).expr for one in inputs_of(constructor, type_)]
    return d.node(applied(constructor, fields, type_), type_)


def built(d: Language) -> Value:
    """A list of what is in scope."""
    type_ = d.seen_type()
    list_type = adt_type("List", [type_])
    d.use_type(list_type)
    value = d.node(applied(CONSTRUCTORS["Nil"], [], list_type), list_type)
    for _ in range(d.dice.randint(0, 3)):
        value = d.node(relay.Call(CONSTRUCTORS["Cons"], [d.make(type_).expr, value.expr]), list_type)
    return value


def pattern(d: Language, type_: Attribute, depth: int) -> Pattern:
    """A pattern for values of a type, which may not fit all."""
    draw = d.dice.random()
    if depth and draw < 0.65:
        match type_:
            case TupleType():
                return relay.PatternTuple([pattern(d, field, depth - 1) for field in type_.types])
            case AdtType():
                one: Constructor = d.choice(DATA[type_.definition.string_value()].constructors)
                return of_constructor(d, one, type_, depth)
            case _:
                pass
    if draw < 0.8:
        var = Var(d.name("m"))
        d.typed(var, type_)
        return relay.PatternVar(var)
    return relay.PatternWildcard()


def of_constructor(d: Language, one: Constructor, type_: AdtType, depth: int) -> Pattern:
    return relay.PatternConstructor(one, [pattern(d, field, depth - 1) for field in inputs_of(one, type_)])


def match(d: Language) -> Value:
    data: Value = d.choice(
        d.visible(lambda value: isinstance(value.type, AdtType | TupleType) and first_order(value.type))
    )
    d.use_type(data.type)
    output = d.seen_type()
    patterns = [pattern(d, data.type, 2) for _ in range(d.dice.randint(0, 2))]
    if isinstance(data.type, AdtType) and d.chance(0.6):
        # One after another, each once: together all values.
        every = DATA[data.type.definition.string_value()].constructors
        patterns += [of_constructor(d, one, data.type, 1) for one in d.dice.sample(every, len(every))]
    else:
        patterns.append(pattern(d, data.type, 0))
    clauses: list[relay.Clause] = []
    for one in patterns:
        bound = [Value(var, t, *limits(t)) for var in pattern_vars(one) for t in [d.type_of(var)]]
        body, _ = d.inner(d.dice.randint(0, 2), output, bound)
        clauses.append(relay.Clause(one, body))
    return d.node(relay.Match(data.expr, clauses, d.chance(0.8)), output)


QUIET: tuple[Step, ...] = (_operator, tupled, tupled, get, get, branch, nested, unused, read, write, match)
"""Steps that run nothing more than once."""
STEPS: tuple[Step, ...] = (
    tupled,
    get,
    get,
    branch,
    branch,
    nested,
    unused,
    local,
    local,
    call,
    call,
    immediate,
    polymorphic,
    polymorphic,
    create,
    create,
    read,
    read,
    write,
    write,
    write,
    built,
    built,
    match,
    match,
)
