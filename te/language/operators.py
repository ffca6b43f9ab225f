"""The operators of the te language and the ops of arith and math that they become, by sort of number."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import Operation

from ...dialects.tir import Dot2Op, Dot4Op

FLOATS: dict[str, type[Operation] | None] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
    "pow": math.PowFOp,
    "atan2": math.Atan2Op,
    "copysign": math.CopySignOp,
    # Several ops each.
    "floordiv": None,
    "floormod": None,
    "truncdiv": None,
}
INTEGERS: dict[str, type[Operation] | None] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "div": arith.DivSIOp,
    "truncdiv": arith.DivSIOp,
    "truncmod": arith.RemSIOp,
    "floordiv": arith.FloorDivSIOp,
    "floormod": None,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
    "shl": arith.ShLIOp,
    "shr": arith.ShRSIOp,
    # Functions of words of several small integers each.
    "dot2": Dot2Op,
    "dot4": Dot4Op,
}
UNSIGNED: dict[str, type[Operation] | None] = INTEGERS | {
    "div": arith.DivUIOp,
    "truncdiv": arith.DivUIOp,
    "truncmod": arith.RemUIOp,
    "floordiv": arith.DivUIOp,
    "floormod": arith.RemUIOp,
    "max": arith.MaxUIOp,
    "min": arith.MinUIOp,
    "shr": arith.ShRUIOp,
}


def _names_of(table: dict[str, type[Operation] | None]) -> dict[type[Operation], str]:
    # The first name of several.
    return {op: name for name, op in reversed(table.items()) if op is not None}


OF_FLOATS, OF_INTEGERS, OF_UNSIGNED = map(_names_of, (FLOATS, INTEGERS, UNSIGNED))
"""The operators that ops are."""
BITWISE = frozenset({"and", "or", "xor", "shl", "shr"})
LOGIC = frozenset({"and", "or", "xor"})
"""The operators that may combine bools."""

PREDICATES: dict[str, tuple[str, str, str]] = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
}
"""Comparisons of floats, of signed and of unsigned integers."""

MATH: dict[str, type[Operation]] = {
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "cbrt": math.CbrtOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.ExpM1Op,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    # Halves away from zero; `nearbyint` takes them to the even neighbour.
    "round": math.RoundOp,
    "nearbyint": math.RoundEvenOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}
"""Functions of one float."""
ROUNDING = frozenset({"ceil", "floor", "nearbyint", "round", "trunc"})
"""Functions that leave integers unchanged."""
BITS: dict[str, type[Operation]] = {"popcount": math.CtPopOp, "clz": math.CountLeadingZerosOp}
"""Functions of one integer."""
OF_FUNCTIONS = {op: name for name, op in (MATH | BITS).items()}
"""The functions that ops are."""
