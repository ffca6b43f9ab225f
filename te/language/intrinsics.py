"""Intrinsics by TVM's names, `tir.exp`, and the rules of users by which they become other expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from ...support.dtypes import check_dtype, fail, is_float
from ...syntax.relay.op_attrs import EFFECT, INTRINSIC, LOWER_INTRINSIC, NUM_INPUTS, op_attr, register_op_attr
from ...syntax.relay.op_attrs import reset_op_attr as reset
from . import math
from .expr import Call, CallExtern, Expr, ExprLike, convert

if TYPE_CHECKING:
    from ...syntax.relay.expr import Op

Rule: TypeAlias = Callable[[Any], Any]
"""Makes of a call, which has `op.name`, `args` and `dtype`, an expression; or returns the call."""

_OTHERS = (
    *("abs", "atan2", "copysign", "exp10", "fma", "fmod", "hypot", "ldexp", "nextafter", "power", "sigmoid"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
    *("isnan", "isinf", "isfinite", "likely", "if_then_else"),
)
"""Functions of te that are intrinsics, beside those of one number."""
_KNOWN: dict[str, Callable[..., Any]] = {
    **math.FUNCTIONS,
    **{name: getattr(math, name) for name in _OTHERS},
    "fabs": math.abs,
    "pow": math.power,
}
_KEYS = {target: f"{target}.{LOWER_INTRINSIC}" for target in ("llvm", "cpu", "default")}
"""Target -> the attribute of operators that is a rule; the first target that has one decides."""


class CallEffectKind(IntEnum):
    """The effects of calls, by TVM's names; calls in expressions have none here, whatever is declared of them."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    Opaque = UpdateState
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6


def _register(name: str, inputs: int) -> None:
    register_op_attr(f"{INTRINSIC}{name}", EFFECT, CallEffectKind.Pure)
    register_op_attr(f"{INTRINSIC}{name}", NUM_INPUTS, inputs)


for _name, _function in _KNOWN.items():
    _register(_name, len(signature(_function).parameters))
_register("reinterpret", 1)


@dataclass(frozen=True, eq=False, repr=False)
class CallIntrin(CallExtern):
    """A call as rules see it; `callee` is the intrinsic's name, with its prefix, which no C function has."""

    @property
    def op(self) -> Op:
        from ...syntax.relay.expr import Op

        return Op(self.callee)

    @property
    def args(self) -> tuple[Expr, ...]:
        return self.arguments


def register_intrin_lowering(op_name: str, target: str, *, f: Rule | None = None, level: int = 10) -> Any:
    """Register the rule by which calls of an intrinsic are lowered; without `f` this is a decorator.

    op_name: as in TVM, `tir.exp`, or a name of your own, which `call_intrin` takes, as it takes `ir.Op.get` of it.
    level: of several rules of a target the highest level is used, and of one level the last; those of "default" only
    where there are no others. The rule is the attribute `llvm.FLowerIntrin` of the operator. Raises ScheduleError for a
    target that is not this machine's.
    """
    if target not in _KEYS:
        fail(f"register_intrin_lowering: expected a target among {', '.join(_KEYS)}, got {target}")
    return register_op_attr(op_name, _KEYS[target], f, level)


def remove_intrin_lowering(op_name: str) -> None:
    """Remove the rules of an intrinsic, if there are any."""
    for key in _KEYS.values():
        reset(op_name, key)


def lowered_intrinsic(expr: Call | CallExtern) -> Expr | None:
    """Return the expression that a rule makes of a call; None without a rule, and where the rule returns the call.

    Raises ScheduleError for an intrinsic that only a rule can lower.
    """
    if isinstance(expr, Call):
        call = CallIntrin(expr.dtype, f"{INTRINSIC}{expr.name}", (expr.a,))
    elif expr.callee.startswith(INTRINSIC):
        call = CallIntrin(expr.dtype, expr.callee, expr.arguments)
    else:
        return None
    rules = (op_attr(call.callee, key) for key in _KEYS.values())
    rule = next((rule for rule in rules if rule is not None), None)
    result = call if rule is None else rule(call)
    if result is not call:
        return convert(result)
    if isinstance(expr, CallExtern):
        actual = "none" if rule is None else "one that returns the call"
        fail(f"{call.callee}: expected a rule of register_intrin_lowering, got {actual}")
    return None


def call_intrin(dtype: str, func_name: Any, *args: ExprLike, span: object = None) -> Any:
    """The call of an intrinsic, given by TVM's name or its operator: te's function, or one that a rule will lower.

    Raises ScheduleError for a dtype that te's function does not return, and for another number of arguments.
    """
    del span
    full = str(getattr(func_name, "name", func_name))
    name = full.removeprefix(INTRINSIC)
    inputs = op_attr(f"{INTRINSIC}{name}", NUM_INPUTS)
    if inputs not in (None, len(args)):
        fail(f"call_intrin: expected {inputs} arguments of {full}, got {len(args)}")
    if name == "reinterpret":
        return math.reinterpret(dtype, *args)
    if name in _KNOWN:
        result = _KNOWN[name](*args)
        if result.dtype != dtype:
            fail(f"call_intrin: expected {full} as {result.dtype}, which its operands have, got {dtype}")
        return result
    return CallExtern(check_dtype(dtype, "call_intrin"), f"{INTRINSIC}{name}", tuple(map(convert, args)))


def call_llvm_pure_intrin(dtype: str, name: str, *args: ExprLike, span: object = None) -> Expr:
    """The call of a function of LLVM's without side effects, `llvm.fabs`, whose type suffix follows from the dtype.

    args: TVM's number of arguments that decide the overload, a constant of uint32, may be the first, and is not used.
    """
    del span
    values = [convert(arg) for arg in args]
    if values and values[0].dtype == "uint32" and len(values) > 1:
        del values[0]
    kind = check_dtype(dtype, "call_llvm_pure_intrin")
    bits = "".join(filter(str.isdigit, kind))
    suffix = f"{'f' if is_float(kind) else 'i'}{bits}"
    callee = name if name.endswith(f".{suffix}") else f"{name}.{suffix}"
    return CallExtern(kind, callee, tuple(values))


call_llvm_intrin = call_llvm_pure_intrin
"""As `call_llvm_pure_intrin`: values are computed where they are used."""
