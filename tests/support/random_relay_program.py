"""Random well-typed Relay programs: functions of the module, and a `@main` of arrays with numbers for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from random_relay_language import Language
from random_relay_types import BOOL, CONSTRUCTORS, INT, A, B, first_order
from random_relay_values import Array, Redraw, Value, limits
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute

from whence import relay
from whence.dialects.relay.types import Forall, adt_type, function_type, signature_of, tuple_type
from whence.syntax.relay.expr import Clause, Expr, Function, GlobalVar, Pattern, Program, Var


@dataclass(frozen=True)
class Sample:
    """A program, and what its `@main` is called with."""

    program: Program
    inputs: Sequence[Array]
    operators: frozenset[str]


def random_program(seed: int, size: int = 12) -> Sample:
    """A program of about `size` steps; the same for the same seed."""
    d = Language(seed, size)
    if not d.plain:
        for name in d.dice.sample(tuple(GENERIC), d.dice.randint(1, 1 + size // 5)):
            GENERIC[name](d, name)
    if not d.plain and d.chance(0.6):
        for _ in range(d.dice.randint(1, 2)):
            try:
                _global(d)
            except Redraw:
                continue
    d.tensor()
    d.grow(d.dice.randint(max(1, size // 2), size))
    result = _result(d)
    params = [var for var, _ in d.inputs]
    body = d.body(result)
    d.program.functions["main"] = Function(params, body, result.type if d.chance(0.3) else None)
    if d.chance(0.5):
        # What is called may stand behind what calls it.
        d.program.functions = dict(reversed(d.program.functions.items()))
    return Sample(d.program, [array for _, array in d.inputs], frozenset(d.operators))


def _result(d: Language) -> Value:
    """Some values of the program, those that were made last first."""
    found = [value for value in d.scopes[0] if first_order(value.type)]
    chosen = list(dict.fromkeys([*found[-2:], *d.dice.sample(found, min(2, len(found)))]))
    chosen = [value for value in chosen if not isinstance(value.expr, Var) or d.chance(0.8)] or chosen
    if len(chosen) == 1 or d.chance(0.2):
        return chosen[0]
    made = relay.Tuple([value.expr for value in chosen])
    return Value(d.typed(made, tuple_type([value.type for value in chosen])), tuple_type([v.type for v in chosen]))


# Functions of the module.


def _global(d: Language) -> None:
    """A function of its own, in half of all cases one that calls itself a number of times."""
    inputs = [d.some_type(1) for _ in range(d.dice.randint(0, 2))]
    counts = d.chance(0.5)
    name = d.name("again" if counts else "f")
    before = set(d.program.functions)
    with d.alone():
        params = [Var(d.name("a"), type_) for type_ in inputs]
        values = [Value(d.typed(p, t), t, *limits(t)) for p, t in zip(params, inputs, strict=True)]
        body, output = d.inner(3, None, values)
        if counts:
            number = Var(d.name("n"), INT)
            d.typed(number, INT)
            less = relay.subtract(number, relay.const(1))
            d.busy = True
            with d.scope([Value(number, INT, 0.0, 8.0, True), *values]):
                d.grow(2)
                given = [d.make(type_).expr for type_ in inputs]
                once = d.node(relay.Call(GlobalVar(name), [less, *given]), output)
                on = d.body(once if d.chance(0.5) else d.make(output))
            d.busy = False
            body = relay.If(relay.less_equal(number, relay.const(0)), body, on)
            params, inputs = [number, *params], [INT, *inputs]
    assert set(d.program.functions) >= before
    d.program.functions[name] = Function(params, body, output)
    type_ = function_type((), inputs, output)
    if counts:
        _counted(d, name, type_)
        return
    for _ in range(2):
        var = GlobalVar(name)
        d.scopes[0].append(Value(d.typed(var, type_), type_))


def _counted(d: Language, name: str, type_: Attribute) -> None:
    """A function that calls the one that counts, a few times."""
    signature = signature_of(type_)
    assert signature is not None
    output = signature.outputs.data[0]
    params = [Var(d.name("b"), one) for one in signature.inputs.data[1:]]
    number = relay.const(d.dice.randint(0, 4))
    body = relay.Call(GlobalVar(name), [number, *params])
    outer = d.name("few")
    d.program.functions[outer] = Function(params, body, output)
    whole = FunctionType.from_lists(list(signature.inputs.data[1:]), [output])
    d.scopes[0].append(Value(d.typed(GlobalVar(outer), whole), whole))


# Functions for all types.

LIST_A, LIST_B = adt_type("List", [A]), adt_type("List", [B])


def _generic(
    d: Language, name: str, inputs: Sequence[Attribute], output: Attribute, body: Expr, params: list[Var]
) -> None:
    names = ["A", "B"] if any("B" in str(one) for one in (*inputs, output)) else ["A"]
    d.program.functions[name] = Function(params, body, output, names)
    type_ = function_type(names, inputs, output)
    assert isinstance(type_, Forall)
    d.generic.append((GlobalVar(name), type_))


def _vars(*types: Attribute) -> list[Var]:
    return [Var(f"x{index}", type_) for index, type_ in enumerate(types)]


def _cons(head: Expr, tail: Expr) -> Expr:
    return relay.Call(CONSTRUCTORS["Cons"], [head, tail])


def _nil() -> Expr:
    return relay.Call(CONSTRUCTORS["Nil"], [])


def _fits(name: str, *inner: Pattern) -> Pattern:
    return relay.PatternConstructor(CONSTRUCTORS[name], list(inner))


def _bound(*variables: Var) -> list[Pattern]:
    return [relay.PatternVar(var) for var in variables]


def identity(d: Language, name: str) -> None:
    (x,) = _vars(A)
    _generic(d, name, [A], A, x, [x])


def swap(d: Language, name: str) -> None:
    pair = tuple_type([A, B])
    (x,) = _vars(pair)
    body = relay.Tuple([relay.TupleGetItem(x, 1), relay.TupleGetItem(x, 0)])
    _generic(d, name, [pair], tuple_type([B, A]), body, [x])


def twice(d: Language, name: str) -> None:
    function = FunctionType.from_lists([A], [A])
    f, x = _vars(function, A)
    _generic(d, name, [function, A], A, relay.Call(f, [relay.Call(f, [x])]), [f, x])


def compose(d: Language, name: str) -> None:
    """It gives a closure."""
    first, second = FunctionType.from_lists([A], [B]), FunctionType.from_lists([B], [A])
    f, g = _vars(first, second)
    x = Var("y", A)
    body = Function([x], relay.Call(g, [relay.Call(f, [x])]), A)
    _generic(d, name, [first, second], FunctionType.from_lists([A], [A]), body, [f, g])


def either(d: Language, name: str) -> None:
    c, x, y = _vars(BOOL, A, A)
    _generic(d, name, [BOOL, A, A], A, relay.If(c, x, y), [c, x, y])


def length(d: Language, name: str) -> None:
    (xs,) = _vars(LIST_A)
    rest = Var("rest")
    more = relay.add(relay.const(1), relay.Call(GlobalVar(name), [rest]))
    clauses = [
        Clause(_fits("Cons", relay.PatternWildcard(), *_bound(rest)), more),
        Clause(_fits("Nil"), relay.const(0)),
    ]
    d.use_type(LIST_A)
    _generic(d, name, [LIST_A], INT, relay.Match(xs, clauses), [xs])


def mapped(d: Language, name: str) -> None:
    function = FunctionType.from_lists([A], [B])
    f, xs = _vars(function, LIST_A)
    head, rest = Var("head"), Var("rest")
    more = _cons(relay.Call(f, [head]), relay.Call(GlobalVar(name), [f, rest]))
    clauses = [Clause(_fits("Nil"), _nil()), Clause(_fits("Cons", *_bound(head, rest)), more)]
    d.use_type(LIST_A)
    _generic(d, name, [function, LIST_A], LIST_B, relay.Match(xs, clauses), [f, xs])


def folded(d: Language, name: str) -> None:
    function = FunctionType.from_lists([B, A], [B])
    f, start, xs = _vars(function, B, LIST_A)
    head, rest = Var("head"), Var("rest")
    more = relay.Call(GlobalVar(name), [f, relay.Call(f, [start, head]), rest])
    clauses = [Clause(_fits("Cons", *_bound(head, rest)), more), Clause(relay.PatternWildcard(), start)]
    d.use_type(LIST_A)
    _generic(d, name, [function, B, LIST_A], B, relay.Match(xs, clauses), [f, start, xs])


def joined(d: Language, name: str) -> None:
    xs, ys = _vars(LIST_A, LIST_A)
    head, rest = Var("head"), Var("rest")
    more = _cons(head, relay.Call(GlobalVar(name), [rest, ys]))
    clauses = [Clause(_fits("Cons", *_bound(head, rest)), more), Clause(_fits("Nil"), ys)]
    d.use_type(LIST_A)
    _generic(d, name, [LIST_A, LIST_A], LIST_A, relay.Match(xs, clauses), [xs, ys])


def second_or(d: Language, name: str) -> None:
    """A pattern within a pattern."""
    xs, other = _vars(LIST_A, A)
    x = Var("second")
    inner = _fits("Cons", *_bound(x), relay.PatternWildcard())
    clauses = [
        Clause(_fits("Cons", relay.PatternWildcard(), inner), x),
        Clause(relay.PatternWildcard(), other),
    ]
    d.use_type(LIST_A)
    _generic(d, name, [LIST_A, A], A, relay.Match(xs, clauses), [xs, other])


def first(d: Language, name: str) -> None:
    option = adt_type("Option", [A])
    (xs,) = _vars(LIST_A)
    x = Var("first")
    clauses = [
        Clause(_fits("Cons", *_bound(x), relay.PatternWildcard()), relay.Call(CONSTRUCTORS["Some"], [x])),
        Clause(_fits("Nil"), relay.Call(CONSTRUCTORS["None"], [])),
    ]
    d.use_type(LIST_A)
    d.use_type(option)
    _generic(d, name, [LIST_A], option, relay.Match(xs, clauses), [xs])


GENERIC = {
    "identity": identity,
    "swap": swap,
    "twice": twice,
    "compose": compose,
    "either": either,
    "length": length,
    "map": mapped,
    "fold": folded,
    "join": joined,
    "second_or": second_or,
    "first": first,
}
