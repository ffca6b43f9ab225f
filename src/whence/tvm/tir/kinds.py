"""TVM's classes of expressions, for those of te: `isinstance(a + b, tir.Add)` holds, and `tir.Add(a, b)` makes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.support.dtypes import BOOL, INT, check_dtype, check_lanes, element_of, fail, is_float
from whence.te.language import expr as language
from whence.te.language.blocks import IterVar
from whence.te.language.expr import (
    Axis,
    Binary,
    Compare,
    Const,
    Expr,
    ExprLike,
    Read,
    SizeVar,
    Var,
    constant,
    convert,
)
from whence.te.language.intrinsics import call_intrin
from whence.te.language.lanes import Let, Ramp, Shuffle
from whence.te.language.math import logical_not, size_var
from whence.te.language.math import select as select_of
from whence.te.language.reductions import Reduce
from whence.te.language.statements import BufferStore, load

Holds = Callable[[Any], bool]


class Kind(type):
    """The class of a kind of expressions: which nodes are of it, and how one is made."""

    def __new__(cls, name: str, holds: Holds, make: Callable[..., Any]) -> Kind:
        return super().__new__(cls, name, (), {"__module__": __package__, "__doc__": make.__doc__, "_holds": holds})

    def __init__(cls, name: str, holds: Holds, make: Callable[..., Any]):
        super().__init__(name, (), {})
        cls._is, cls._make = holds, make

    def __instancecheck__(cls, instance: object) -> bool:
        return cls._is(instance)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._make(*args, **kwargs)


def _binary(name: str, op: str, *others: str, logic: bool = False) -> Kind:
    """The kind of a binary operator, on bools or on numbers; as TVM's constructors, it does not fold."""

    def make(a: ExprLike, b: ExprLike, span: object = None) -> Expr:
        """Return the node of two operands of one dtype, which is not simplified."""
        del span
        left, right = language.pair(op, a, b)
        made = language.binary(op, left, right)
        # Whatever is legal is also written as it stands.
        return made if isinstance(made, Binary) else Binary(op, left, right)

    def holds(node: Any) -> bool:
        return isinstance(node, Binary) and node.op in (op, *others) and (not logic or element_of(node.dtype) == BOOL)

    return Kind(name, holds, make)


def _comparison(name: str, op: str) -> Kind:
    def make(a: ExprLike, b: ExprLike, span: object = None) -> Compare:
        """Return the comparison of two operands."""
        del span
        return language.compare(op, a, b)

    return Kind(name, lambda node: isinstance(node, Compare) and node.op == op, make)


def _int(dtype: str, value: int, span: object = None) -> Const:
    """Return an integer. Raises ScheduleError for a dtype that is not an integer type or cannot hold it."""
    del span
    if is_float(check_dtype(dtype, "tir.IntImm")):
        fail(f"tir.IntImm: expected a dtype of integers, got {dtype}")
    return constant(value, dtype)


def _float(dtype: str, value: float, span: object = None) -> Const:
    """Return a number of a dtype of floats; raises ScheduleError for another dtype."""
    del span
    if not is_float(check_dtype(dtype, "tir.FloatImm")):
        fail(f"tir.FloatImm: expected a dtype of floats, got {dtype}")
    return constant(value, dtype)


def _var(name: str, dtype: str = INT, span: object = None) -> Var:
    """Return a variable: of a loop, or a value that a `LetStmt` names; elsewhere a size of buffers."""
    del span
    return Var(name, dtype if dtype == "handle" else check_lanes(dtype, "tir.Var"))


def _cast(dtype: str, value: ExprLike, span: object = None) -> Expr:
    """Return an expression as another dtype."""
    del span
    return convert(value).astype(dtype)


def _not(a: ExprLike, span: object = None) -> Expr:
    """Return the negation of a condition."""
    del span
    return logical_not(a)


def _select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike, span: object = None) -> Expr:
    """Return the side that the condition takes; both are evaluated."""
    del span
    return select_of(condition, true_value, false_value)


def _call(dtype: str, op: Any, args: Sequence[ExprLike], span: object = None) -> Expr:
    """Return the call of an intrinsic; raises ScheduleError for another function."""
    return call_intrin(dtype, op, *args, span=span)


def _unmade(name: str, instead: str) -> Callable[..., Any]:
    def make(*args: object, **kwargs: object) -> Any:
        """Refuse: such nodes are made by functions."""
        del args, kwargs
        fail(f"tir.{name}: expected a function that makes it, such as {instead}")

    return make


_CALLS = (language.Call, language.CallExtern, language.Joint, language.Reinterpret)
_LANES: dict[str, type[Expr]] = {"Let": Let, "Ramp": Ramp, "Broadcast": language.Broadcast, "Shuffle": Shuffle}
_CALLED = frozenset({"xor", "shl", "shr", "pow", "atan2", "copysign", "dot2", "dot4"})


def _is_call(node: Any) -> bool:
    """Return whether TVM has a call where te has this node."""
    match node:
        case Binary():
            return node.op in _CALLED or (node.op in ("and", "or") and element_of(node.dtype) != BOOL)
        case language.Select():
            return node.guarded
        case _:
            return isinstance(node, _CALLS) and not isinstance(node, tuple(_LANES.values()))


def _is_buffer(read: Read) -> bool:
    return read.tensor.buffer is not None


def _is_producer_store(node: Any) -> bool:
    return isinstance(node, BufferStore) and node.producer.buffer is None


def _producer_load(producer: Any, indices: Sequence[ExprLike], span: object = None) -> Any:
    """Return an element of a tensor."""
    del span
    return producer(*indices)


def _is_number(node: Any, floats: bool) -> bool:
    return isinstance(node, Const) and is_float(node.dtype) == floats


KINDS: dict[str, type] = {
    "Add": _binary("Add", "add"),
    "Sub": _binary("Sub", "sub"),
    "Mul": _binary("Mul", "mul"),
    "Div": _binary("Div", "div", "truncdiv"),
    "Mod": _binary("Mod", "truncmod"),
    "FloorDiv": _binary("FloorDiv", "floordiv"),
    "FloorMod": _binary("FloorMod", "floormod"),
    "Min": _binary("Min", "min"),
    "Max": _binary("Max", "max"),
    "And": _binary("And", "and", logic=True),
    "Or": _binary("Or", "or", logic=True),
    **{name.upper(): _comparison(name.upper(), name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "EqualOp": _comparison("EqualOp", "eq"),
    "NotEqualOp": _comparison("NotEqualOp", "ne"),
    "Not": Kind("Not", lambda node: isinstance(node, language.Not), _not),
    "Select": Kind("Select", lambda node: isinstance(node, language.Select) and not node.guarded, _select),
    "Cast": Kind("Cast", lambda node: isinstance(node, language.Cast), _cast),
    "IntImm": Kind("IntImm", lambda node: _is_number(node, False), _int),
    "FloatImm": Kind("FloatImm", lambda node: _is_number(node, True), _float),
    "Var": Kind("Var", lambda node: isinstance(node, Var | Axis), _var),
    "SizeVar": Kind("SizeVar", lambda node: isinstance(node, SizeVar), size_var),
    "IterVar": Kind("IterVar", lambda node: isinstance(node, Axis | IterVar), IterVar),
    "Call": Kind("Call", _is_call, _call),
    "BufferLoad": Kind("BufferLoad", lambda node: isinstance(node, Read) and _is_buffer(node), load),
    "ProducerLoad": Kind("ProducerLoad", lambda node: isinstance(node, Read) and not _is_buffer(node), _producer_load),
    "ProducerStore": Kind("ProducerStore", _is_producer_store, _unmade("ProducerStore", "te.compute")),
    **_LANES,
    "Reduce": Kind("Reduce", lambda node: isinstance(node, Reduce), _unmade("Reduce", "te.sum")),
}
"""TVM's name -> its class."""
