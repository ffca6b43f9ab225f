"""The elementary functions of f32 as arithmetic: what writes the ops of each, and how far its results are off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from . import exponentials as exponentials
from . import logarithms as logarithms
from . import powers as powers
from . import trigonometry as trigonometry


@dataclass(frozen=True)
class Formula:
    """The formula that computes a function.

    Coefficients are minimax fits. Infinities, NaN, signed zeros and gradual underflow are those of IEEE 754 and C.
    """

    write: Callable[..., SSAValue]
    """Takes Floats and the operands; gives the result."""
    error: float
    """A bound of the error over the whole range, in units in the last place of the result."""


FORMULAS: Mapping[type[Operation], Formula] = {
    math.AcosOp: Formula(trigonometry.acos, 1.1),
    math.AcoshOp: Formula(logarithms.acosh, 1.9),
    math.AsinOp: Formula(trigonometry.asin, 2.3),
    math.AsinhOp: Formula(logarithms.asinh, 1.9),
    math.AtanOp: Formula(trigonometry.atan, 1.4),
    math.Atan2Op: Formula(trigonometry.atan2, 1.6),
    math.AtanhOp: Formula(logarithms.atanh, 2.2),
    math.CbrtOp: Formula(powers.cbrt, 0.8),
    math.CosOp: Formula(trigonometry.cos, 0.6),
    math.CoshOp: Formula(exponentials.cosh, 1.6),
    math.ErfOp: Formula(exponentials.erf, 1.0),
    math.ExpOp: Formula(exponentials.exp, 1.5),
    math.Exp2Op: Formula(exponentials.exp2, 1.0),
    math.ExpM1Op: Formula(exponentials.expm1, 1.5),
    math.LogOp: Formula(logarithms.log, 1.0),
    math.Log10Op: Formula(logarithms.log10, 1.0),
    math.Log1pOp: Formula(logarithms.log1p, 1.5),
    math.Log2Op: Formula(logarithms.log2, 1.1),
    math.PowFOp: Formula(powers.pow, 0.7),
    math.RsqrtOp: Formula(powers.rsqrt, 1.5),
    math.SinOp: Formula(trigonometry.sin, 0.6),
    math.SinhOp: Formula(exponentials.sinh, 2.2),
    math.TanOp: Formula(trigonometry.tan, 2.0),
    math.TanhOp: Formula(exponentials.tanh, 2.4),
}
