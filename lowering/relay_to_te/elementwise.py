"""Computes of the elementwise and broadcasting operators."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects import te
from ...dialects.relay import elementwise as relay
from ...dialects.relay.nn import BiasAddOp
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.transform import BroadcastToOp
from .body import Body, TeBuilder, Tensor, element

_Unary = Callable[[Body, Operator, SSAValue], SSAValue]


def _is_integer(value: SSAValue) -> bool:
    return te.is_integer(value.type)


def _call(kind: type[Operation]) -> _Unary:
    return lambda body, op, x: body.apply_fast(kind, x)


def _abs(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    return body.apply(math.AbsIOp, x) if _is_integer(x) else body.apply_fast(math.AbsFOp, x)


def _negative(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    if _is_integer(x):
        return body.add(arith.SubiOp(body.constant(0, x.type), x)).result
    return body.apply_fast(arith.NegfOp, x)


def _relu(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    # A comparison with NaN is false, so that NaN stays.
    zero = body.constant(0, x.type)
    return body.select(_less(body, x, zero), zero, x)


def _less(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
    return body.compare("slt" if _is_integer(x) else "olt", x, y)


def _leaky_relu(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    alpha = body.constant(op.signature.get("alpha"), x.type)
    return body.select(_less(body, x, body.constant(0, x.type)), body.add(arith.MulfOp(x, alpha)).result, x)


def _clip(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    low, high = (body.constant(op.signature.get(name), x.type) for name in ("a_min", "a_max"))
    raised = body.select(_less(body, x, low), low, x)
    return body.select(_less(body, high, raised), high, raised)


def _rsqrt(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    return body.add(arith.DivfOp(body.constant(1, x.type), body.apply_fast(math.SqrtOp, x))).result


def sigmoid(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    one = body.constant(1, x.type)
    grown = body.apply_fast(math.ExpOp, body.apply_fast(arith.NegfOp, x))
    return body.add(arith.DivfOp(one, body.add(arith.AddfOp(one, grown)).result)).result


def _copy(body: Body, op: Operator, x: SSAValue) -> SSAValue:
    return x


def convert(body: Body, x: SSAValue, target: Attribute) -> SSAValue:
    """A number converted to another scalar type, numpy's way: floats are truncated to integers, bool is 0 or 1."""
    source = x.type
    if source == target:
        return x
    is_from, is_to = te.is_integer(source), te.is_integer(target)
    if is_to and te.bit_width(target) == 1:
        return body.compare("ne" if is_from else "une", x, body.constant(0, source))
    if is_from and is_to:
        narrower = te.bit_width(target) < te.bit_width(source)
        widen = arith.ExtUIOp if te.bit_width(source) == 1 else arith.ExtSIOp
        kind = arith.TruncIOp if narrower else widen
    elif is_from:
        kind = arith.UIToFPOp if te.bit_width(source) == 1 else arith.SIToFPOp
    elif is_to:
        kind = arith.FPToSIOp
    else:
        widths = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
        kind = arith.ExtFOp if widths[str(target)] > widths[str(source)] else arith.TruncFOp
    return body.add(kind.create(operands=[x], result_types=[target])).results[0]


UNARY: dict[type[Operator], _Unary] = {
    relay.AbsOp: _abs,
    relay.CeilOp: _call(math.CeilOp),
    relay.ClipOp: _clip,
    relay.CopyOp: _copy,
    relay.ErfOp: _call(math.ErfOp),
    relay.ExpOp: _call(math.ExpOp),
    relay.FloorOp: _call(math.FloorOp),
    relay.LeakyReluOp: _leaky_relu,
    relay.LogOp: _call(math.LogOp),
    relay.NegativeOp: _negative,
    relay.ReluOp: _relu,
    relay.RoundOp: _call(math.RoundEvenOp),
    relay.RsqrtOp: _rsqrt,
    relay.SigmoidOp: sigmoid,
    relay.SqrtOp: _call(math.SqrtOp),
    relay.TanhOp: _call(math.TanhOp),
}

_Pair = tuple[type[Operation], type[Operation] | None]

ARITHMETIC: dict[type[Operator], _Pair] = {
    relay.AddOp: (arith.AddfOp, arith.AddiOp),
    relay.SubtractOp: (arith.SubfOp, arith.SubiOp),
    relay.MultiplyOp: (arith.MulfOp, arith.MuliOp),
    relay.DivideOp: (arith.DivfOp, arith.DivSIOp),
    relay.PowerOp: (math.PowFOp, None),
    relay.MaximumOp: (arith.MaximumfOp, arith.MaxSIOp),
    relay.MinimumOp: (arith.MinimumfOp, arith.MinSIOp),
}
"""Operator -> the op on floats and the op on integers."""

COMPARISON: dict[type[Operator], tuple[str, str]] = {
    relay.EqualOp: ("oeq", "eq"),
    relay.LessOp: ("olt", "slt"),
    relay.GreaterOp: ("ogt", "sgt"),
}
"""Operator -> the predicate on floats and on integers."""


def lower_unary(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    (x,) = inputs
    result = op.results[0]
    target = te.stored_type(element(result))

    def body(b: Body) -> SSAValue:
        value = b.read(x, b.axes)
        return convert(b, value, target) if isinstance(op, relay.CastOp) else UNARY[type(op)](b, op, value)

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def label(op: Operator) -> str:
    return op.name.removeprefix("relay.").removeprefix("nn.")


def lower_binary(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    x, y = inputs
    result = op.results[0]

    def body(b: Body) -> SSAValue:
        left, right = b.read_broadcast(x, b.axes), b.read_broadcast(y, b.axes)
        integer = _is_integer(left)
        if type(op) in COMPARISON:
            return b.compare(COMPARISON[type(op)][integer], left, right)
        kind = ARITHMETIC[type(op)][integer]
        if kind is None:
            raise VerifyException(f"{op.name}: expected float operands, got {left.type}")
        return b.apply(kind, left, right) if integer else b.apply_fast(kind, left, right)

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def lower_bias_add(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    x, bias = inputs
    result = op.results[0]
    axis = op.signature.int("axis") % len(shape_of(result))

    def body(b: Body) -> SSAValue:
        return b.add(arith.AddfOp(b.read(x, b.axes), b.read(bias, [b.axes[axis]]))).result

    return [builder.compute(label(op), shape_of(result), element(result), body)]


def lower_broadcast_to(builder: TeBuilder, op: Operator, inputs: list[Tensor]) -> list[SSAValue]:
    result = op.results[0]
    return [
        builder.compute(label(op), shape_of(result), element(result), lambda b: b.read_broadcast(inputs[0], b.axes))
    ]


TABLE = {
    **dict.fromkeys([*UNARY, relay.CastOp], lower_unary),
    **dict.fromkeys([*ARITHMETIC, *COMPARISON], lower_binary),
    BiasAddOp: lower_bias_add,
    BroadcastToOp: lower_broadcast_to,
}
