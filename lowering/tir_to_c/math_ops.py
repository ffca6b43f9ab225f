"""The math dialect: functions of the C library, and instructions for vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import math, vector
from xdsl.ir import Operation

from .arithmetic import by_floats, narrowed, whole, widened
from .context import Handler, Printing
from .types import CType, c_type

_FUNCTIONS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.Atan2Op: "atan2",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.FloorOp: "floor",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "rint",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
_MACROS = frozenset({"floor", "ceil", "trunc", "rint", "sqrt"})
"""Functions that vectors of floats have."""


def _f(type_: CType) -> str:
    """The letter behind the name of a function of C: halves are computed as floats."""
    return "" if type_.scalar == "double" else "f"


def _function(name: str) -> Handler:
    def lower(ctx: Printing, op: Operation) -> None:
        type_ = c_type(op, op.results[0].type)
        if whole(ctx, op) and name in _MACROS:
            ctx.let(op, f"{ctx.vector(type_)}_{name}({ctx.texts(op)[0].text})")
        elif whole(ctx, op) and name in ("fabs", "copysign"):
            ctx.let(op, _signs(ctx, name, [value.text for value in ctx.texts(op)], type_))
        else:
            by_floats(ctx, op, lambda x: f"{name}{_f(type_)}({', '.join(x)})")

    return lower


def _signs(ctx: Printing, name: str, x: Sequence[str], type_: CType) -> str:
    """The magnitude of a vector, with no sign or with another one's."""
    same, integers = ctx.vector(type_), ctx.vector(type_.integer)
    highest = f"{integers}_of(INT{type_.bits}_MAX)"
    magnitude = f"(({integers})({x[0]}) & {highest})"
    return f"({same}){magnitude}" if name == "fabs" else f"({same})({magnitude} | (({integers})({x[1]}) & ~{highest}))"


def _fma(ctx: Printing, op: Operation) -> None:
    type_ = c_type(op, op.results[0].type)
    if whole(ctx, op):
        ctx.let(op, f"{ctx.vector(type_)}_fma({', '.join(name.text for name in ctx.texts(op))})")
    else:
        by_floats(ctx, op, lambda x: f"fma{_f(type_)}({', '.join(x)})")


def _rsqrt(ctx: Printing, op: Operation) -> None:
    type_ = c_type(op, op.results[0].type)
    one = "1.0f" if _f(type_) else "1.0"

    def formula(x: Sequence[str]) -> str:
        root = f"sqrt{_f(type_)}({widened(x[0], type_)})"
        # As two operations: the root of a half is a half.
        root = widened(narrowed(root, type_), type_)
        return narrowed(f"{one} / {root}", type_)

    if whole(ctx, op):
        name = ctx.vector(type_)
        ctx.let(op, f"{name}_of({one}) / {name}_sqrt({ctx.texts(op)[0].text})")
    else:
        ctx.by_lane(op, formula, op.operands)


def _absi(ctx: Printing, op: Operation) -> None:
    type_ = c_type(op, op.results[0].type)
    unsigned = "uint64_t" if type_.bits == 64 else "uint32_t"
    ctx.by_lane(
        op, lambda x: f"({type_.scalar})({x[0]} < 0 ? 0 - ({unsigned}){x[0]} : ({unsigned}){x[0]})", op.operands
    )


def _counted(function: str, *, bits: bool) -> Handler:
    def lower(ctx: Printing, op: Operation) -> None:
        type_ = c_type(op, op.results[0].type)
        more = f", {type_.bits}" if bits else ""
        formula = f"({type_.scalar}){function}(({type_.unsigned.scalar})"
        ctx.by_lane(op, lambda x: f"{formula}{x[0]}{more})", op.operands)

    return lower


def _powi(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, math.FPowIOp)
    type_ = c_type(op, op.result.type)
    ctx.by_lane(
        op,
        lambda x: narrowed(f"__builtin_powi{_f(type_)}({widened(x[0], type_)}, {x[1]})", type_),
        (op.lhs, op.rhs),
    )


MATH: Mapping[type[Operation], Handler] = {
    **{kind: _function(name) for kind, name in _FUNCTIONS.items()},
    math.FmaOp: _fma,
    vector.FMAOp: _fma,
    math.RsqrtOp: _rsqrt,
    math.AbsIOp: _absi,
    math.CtPopOp: _counted("whence_ones", bits=False),
    math.CountLeadingZerosOp: _counted("whence_leading_zeros", bits=True),
    math.CountTrailingZerosOp: _counted("whence_trailing_zeros", bits=True),
    math.FPowIOp: _powi,
}
