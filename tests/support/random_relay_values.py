"""Random Relay programs as they are drawn: values in scope, with what is known of their elements.

Of every tensor it is known between which numbers its elements lie, and whether they are *exact*: on a grid so coarse
that no way of computing them rounds. What jumps (comparisons, roundings, sorting) is drawn on exact values only; so
numbers that differ by a rounding stay near each other, and every condition is the same for all who run the program.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import UNKNOWN_LOC, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from whence import relay
from whence.dialects.element_types import DTYPES, dtype_name, tensor_type
from whence.dialects.relay.types import fields_of, tuple_type
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Call, Constant, Expr, Op, Program, Tuple, TupleGetItem, Var
from whence.syntax.relay.infer import operand_types
from whence.syntax.relay.operators import attributes_of, is_absent, operator_named

Array = NDArray[Any]
Dice = random.Random

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int32", "int64", "int8", "uint8")
NUMBERS = (*FLOATS, *INTEGERS)
EVERY = (*NUMBERS, "bool")
_WEIGHTS = {"float32": 10, "float64": 2, "float16": 2, "int32": 5, "int64": 2, "int8": 1, "uint8": 1, "bool": 2}
LIMIT = 8.0
"""The greatest magnitude of elements that cross scopes: of arguments, results, what lists and references hold."""
ELEMENTS = 600
"""The most elements of a tensor."""


class Redraw(Exception):
    """What was drawn does not fit what there is."""


@dataclass(frozen=True, eq=False)
class Value:
    """A value in scope. `low` and `high` bound the elements of a tensor."""

    expr: Expr
    type: Attribute
    low: float = -LIMIT
    high: float = LIMIT
    exact: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return cast(TensorType[Attribute], self.type).get_shape()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype of a tensor; "" for another value."""
        return dtype_of(self.type)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.type, TensorType)

    @property
    def most(self) -> float:
        return max(abs(self.low), abs(self.high))


def dtype_of(type_: Attribute) -> str:
    """TVM's name of the dtype of a tensor type; "" for another type."""
    return dtype_name(cast("TensorType[Attribute]", type_).element_type) if isinstance(type_, TensorType) else ""


def limits(type_: Attribute) -> tuple[float, float, bool]:
    """Bounds and exactness of what came from another scope."""
    dtype = dtype_of(type_)
    low = 0.0 if dtype in ("uint8", "bool") else -LIMIT
    return low, 1.0 if dtype == "bool" else LIMIT, dtype not in FLOATS


class Draw:
    """What is drawn so far. `scopes` are those around the place where the program grows, innermost last."""

    def __init__(self, seed: int):
        self.dice = Dice(seed)
        self.numbers = np.random.default_rng(seed)
        self.program = Program()
        self.inputs: list[tuple[Var, Array]] = []
        """The tensors that `@main` takes."""
        self.scopes: list[list[Value]] = [[]]
        self.bindings: list[list[tuple[Var, Expr]]] = [[]]
        """The lets of the scopes."""
        self.operators: set[str] = set()
        self.lets = 0.35
        """How likely a value is named by a let."""
        self.closed = False
        """Whether what is drawn cannot read arguments of `@main`."""
        self._types: dict[Expr, Attribute] = {}
        self._counts: dict[str, int] = {}

    # Drawing.

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability

    def choice(self, options: Sequence[Any]) -> Any:
        if not options:
            raise Redraw
        return self.dice.choice(list(options))

    def name(self, stem: str) -> str:
        self._counts[stem] = self._counts.get(stem, 0) + 1
        return f"{stem}{self._counts[stem]}"

    def size(self, most: int = 7, least: int = 1) -> int:
        """An extent: odd ones, ones."""
        return least if self.chance(0.2) else self.dice.randint(least, max(least, most))

    def shape(self, least: int = 0, most: int = 4, empty: bool = True) -> tuple[int, ...]:
        """A shape, now and then one without any elements."""
        dims = [self.size(self.choice((3, 5, 7, 11))) for _ in range(self.dice.randint(least, most))]
        while int(np.prod(dims)) > ELEMENTS // 4:
            dims[dims.index(max(dims))] //= 2
        if empty and dims and self.chance(0.02):
            dims[self.dice.randrange(len(dims))] = 0
        return tuple(dims)

    def partner(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that broadcasts with this one."""
        dims = [1 if self.chance(0.3) else n for n in shape]
        return tuple(dims[self.dice.randint(0, len(dims)) :] if self.chance(0.3) else dims)

    def axis(self, rank: int) -> int:
        if not rank:
            raise Redraw
        return self.dice.randint(-rank, rank - 1)

    def dtype(self, among: Sequence[str] = EVERY) -> str:
        return self.dice.choices(among, [_WEIGHTS[one] for one in among])[0]

    # Values.

    def array(self, shape: Sequence[int], dtype: str, low: float = -3.0, high: float = 3.0) -> Array:
        """Random elements; floats are multiples of 1/4."""
        kind = np.dtype(dtype)
        if dtype == "bool":
            return self.numbers.random(shape) < 0.5
        if dtype in FLOATS:
            return np.asarray(
                self.numbers.integers(int(np.ceil(low * 4)), int(np.floor(high * 4)), shape, endpoint=True)
            ).astype(kind) / kind.type(4)
        low = max(low, 0) if dtype == "uint8" else low
        return np.asarray(self.numbers.integers(int(np.ceil(low)), int(np.floor(high)), shape, endpoint=True)).astype(
            kind
        )

    def given(self, array: Array, constant: float = 0.4) -> Value:
        """An argument of `@main`, or a constant."""
        exact = dict[str, Any](exact=True, low=float(array.min(initial=0)), high=float(array.max(initial=0)))
        if self.closed or self.chance(constant):
            return Value(self.typed(Constant(array), tensor_type(array)), tensor_type(array), **exact)
        type_ = tensor_type(array)
        var = Var(self.name("x"), type_)
        self.inputs.append((var, array))
        value = Value(self.typed(var, type_), type_, **exact)
        self.scopes[0].append(value)
        return value

    def fresh(
        self, shape: Sequence[int], dtype: str, low: float = -3.0, high: float = 3.0, constant: float = 0.4
    ) -> Value:
        return self.given(self.array(shape, dtype, low, high), constant)

    def visible(self, fits: Callable[[Value], bool]) -> list[Value]:
        return [value for scope in self.scopes for value in scope if fits(value)]

    def tensor(
        self,
        dtypes: Sequence[str] = NUMBERS,
        rank: tuple[int, int] = (0, 4),
        *,
        low: float = -LIMIT,
        high: float = LIMIT,
        exact: bool = False,
        empty: bool = True,
        fits: Callable[[Value], bool] | None = None,
    ) -> Value:
        """A tensor in scope if one fits, else a fresh one."""

        def suits(value: Value) -> bool:
            return (
                value.dtype in dtypes
                and rank[0] <= value.rank <= rank[1]
                and (value.exact or not exact)
                and (empty or 0 not in value.shape)
                and (fits is None or fits(value))
            )

        found = self.visible(suits)
        if found and self.chance(0.85):
            # What was made last is most likely to be read next.
            value = found[-1] if self.chance(0.5) else self.choice(found)
            return self.bounded(value, low, high)
        shape = self.shape(*rank, empty=empty)
        value = self.fresh(shape, self.dtype(dtypes), max(low, -3.0), min(high, 3.0))
        if fits is not None and not fits(value):
            raise Redraw
        return value

    def bounded(self, value: Value, low: float = -LIMIT, high: float = LIMIT) -> Value:
        """The value if its elements lie between bounds, else something made of it of which they do."""
        if not value.is_tensor or value.dtype == "bool" or (low <= value.low and value.high <= high):
            return value
        if value.dtype == "uint8":
            low = max(low, 0.0)
        if not value.exact and low <= -1 and high >= 1 and self.chance(0.4):
            return self.emit(relay.tanh(value.expr), -1.0, 1.0)
        if value.is_float:
            low, high = np.ceil(low * 4) / 4, np.floor(high * 4) / 4
        else:
            low, high = np.ceil(low), np.floor(high)
        bottom, top = float(max(low, -1e4)), float(min(high, 1e4))
        found = relay.clip(value.expr, bottom, top)
        return self.emit(found, max(bottom, min(value.low, top)), min(top, max(value.high, bottom)), value.exact)

    def like(self, type_: Attribute, exact: bool = False) -> Value | None:
        """A value of a type in scope."""
        found = self.visible(lambda value: value.type == type_ and (value.exact or not exact))
        return self.choice(found) if found else None

    # Types.

    def typed(self, expr: Expr, type_: Attribute) -> Expr:
        self._types[expr] = type_
        return expr

    def type_of(self, expr: Expr) -> Attribute:
        """The type of an expression made of typed ones and calls of operators; raises Redraw for an ill-typed one."""
        for node in _untyped(expr, self._types):
            match node:
                case Op():
                    continue
                case Constant():
                    found: Attribute = tensor_type(node.data)
                case Tuple():
                    found = tuple_type([self._types[field] for field in node.fields])
                case TupleGetItem():
                    found = (fields_of(self._types[node.tuple_value]) or ())[node.index]
                case Call(op=Op(name)):
                    found = self._result(node, name)
                    self.operators.add(name)
                case _:
                    raise AssertionError(f"expected an expression whose type is known, got {node}")
            self._types[node] = found
        return self._types[expr]

    def _result(self, call: Call, name: str) -> Attribute:
        operator = operator_named(name)
        try:
            types = [self._types[arg] for arg in call.args]
            groups = operand_types(operator, types, [is_absent(arg) for arg in call.args], UNKNOWN_LOC)
            attributes = attributes_of(operator, call.attrs)
            results = operator.inferred(operator.signature_for(groups, attributes))
        except (VerifyException, FrontendError, ZeroDivisionError, ValueError) as error:
            raise Redraw from error
        return tuple_type(results) if operator.gives_tuple(len(results)) else results[0]

    # Growing.

    def emit(self, found: Any, low: float, high: float, exact: bool | None = None) -> Value:
        """The value of an expression of operators, new in the scope; one with too many elements is redrawn."""
        expr = found.astuple() if isinstance(found, relay.TupleWrapper) else cast(Expr, found)
        type_ = self.type_of(expr)
        if dtype := dtype_of(type_):
            if int(np.prod(cast("TensorType[Attribute]", type_).get_shape())) > ELEMENTS:
                raise Redraw
            exact = dtype not in FLOATS if exact is None or dtype not in FLOATS else exact
            if dtype in INTEGERS and not (np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max):
                raise Redraw
            if exact and dtype in FLOATS and max(abs(low), abs(high)) > 256:
                exact = False
        return self.add(Value(expr, type_, low, high, bool(exact)))

    def add(self, value: Value) -> Value:
        """A value in scope: a node of the graph, or with some probability named by a let."""
        if self.chance(self.lets):
            value = self.bind(value)
        self.scopes[-1].append(value)
        return value

    def bind(self, value: Value, stem: str = "v", annotated: float = 0.2) -> Value:
        """The variable that names a value from here on."""
        var = Var(self.name(stem), value.type if self.chance(annotated) else None)
        self.bindings[-1].append((var, value.expr))
        return Value(self.typed(var, value.type), value.type, value.low, value.high, value.exact)

    @contextmanager
    def scope(self, values: Sequence[Value] = ()) -> Generator[None]:
        """Within it values and lets are of a scope of their own; who opens it takes its lets by `body`."""
        self.scopes.append(list(values))
        self.bindings.append([])
        try:
            yield
        finally:
            self.scopes.pop()
            self.bindings.pop()

    @contextmanager
    def alone(self) -> Generator[None]:
        """Within it nothing of the program around is in scope: a global function."""
        before, self.scopes, self.bindings, self.closed = (self.scopes, self.bindings, self.closed), [[]], [[]], True
        try:
            yield
        finally:
            self.scopes, self.bindings, self.closed = before

    def body(self, value: Value) -> Expr:
        """An expression within the lets of the scope."""
        expr = value.expr
        for var, bound in reversed(self.bindings[-1]):
            expr = self.typed(relay.Let(var, bound, expr), value.type)
        return expr


def scalar(dtype: str) -> TensorType[Attribute]:
    return TensorType(DTYPES[dtype], [])


def _untyped(root: Expr, known: dict[Expr, Attribute]) -> list[Expr]:
    """The nodes below a new expression whose types are not known, each behind what it is made of."""
    found: dict[Expr, None] = {}
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            found[node] = None
        elif node not in known and node not in found:
            stack.append((node, True))
            match node:
                case Tuple():
                    stack += [(field, False) for field in node.fields]
                case TupleGetItem():
                    stack.append((node.tuple_value, False))
                case Call():
                    stack += [(arg, False) for arg in node.args]
                case _:
                    continue
    return list(found)
