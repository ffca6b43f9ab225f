"""The arith dialect and the lane-by-lane ops of tir: integers wrap around, floats are rounded at every op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from ...dialects.tir.lanes import CastOp, CompareOp, SelectOp
from ...provenance.diagnostics import fail
from .context import Handler, Name, Printing
from .memory import chosen, constant_of
from .types import I32, CType, c_type, literal, numbers


def widened(text: str, type_: CType) -> str:
    """A half as a float; other numbers as they are."""
    return f"whence_from_{type_.short}({text})" if type_.is_half else text


def narrowed(text: str, type_: CType) -> str:
    """A float as a half; other numbers as they are."""
    return f"whence_to_{type_.short}({text})" if type_.is_half else text


def by_floats(ctx: Printing, op: Operation, formula: Callable[[Sequence[str]], str]) -> None:
    """A formula of floats, lane by lane; that of halves is computed in float32, and rounded."""
    type_ = c_type(op, op.operands[0].type)
    ctx.by_lane(op, lambda x: narrowed(formula([widened(text, type_) for text in x]), type_), op.operands)


def whole(ctx: Printing, op: Operation, *, halves: bool = False) -> bool:
    """Return whether the result of an op is a vector of GNU's that a formula of vectors makes."""
    type_ = c_type(op, op.results[0].type)
    return bool(type_.lanes) and ctx.vectors and (halves or not type_.is_half)


def _constant(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp)
    type_ = c_type(op, op.result.type)
    values = numbers(op.value, max(type_.lanes, 1))
    if ctx.vectors or not type_.lanes:
        text = constant_of(ctx, values, type_)
        ctx.names[op.result] = Name(text, f"({text})[l]")
        if type_.lanes and isinstance(op.value, DenseIntOrFPElementsAttr):
            ctx.let(op, text)
        return
    name = ctx.unused(op.result.name_hint)
    texts = ", ".join(literal(value, type_) for value in values)
    ctx.emit(f"static const {type_.scalar} {name}[{len(values)}] = {{{texts}}};")
    ctx.names[op.result] = Name(name, f"{name}[l]")


def _floats(sign: str) -> Handler:
    """A sum, difference, product or quotient."""

    def lower(ctx: Printing, op: Operation) -> None:
        if whole(ctx, op):
            first, second = ctx.texts(op)
            ctx.let(op, f"{first.text} {sign} {second.text}")
        else:
            by_floats(ctx, op, lambda x: f"{x[0]} {sign} {x[1]}")

    return lower


def _negf(ctx: Printing, op: Operation) -> None:
    type_ = c_type(op, op.results[0].type)
    if type_.is_half:
        ctx.by_lane(op, lambda x: f"(uint16_t)({x[0]} ^ 0x8000)", op.operands)
    elif whole(ctx, op):
        ctx.let(op, f"-({ctx.texts(op)[0].text})")
    else:
        ctx.by_lane(op, lambda x: f"-({x[0]})", op.operands)


def integers(sign: str, *, unsigned: bool = True) -> Handler:
    """An infix operator on integers. unsigned: it is computed on unsigned numbers, and so wraps around."""

    def lower(ctx: Printing, op: Operation) -> None:
        type_ = c_type(op, op.results[0].type)
        if whole(ctx, op):
            first, second = (name.text for name in ctx.texts(op))
            if type_.is_bool:
                ctx.let(op, f"{first} {sign} {second}")
                return
            name, other = ctx.vector(type_), ctx.vector(type_.unsigned)
            plain = f"{first} {sign} {second}"
            ctx.let(op, f"({name})(({other}){first} {sign} ({other}){second})" if unsigned else plain)
            return
        # C computes shorter numbers as int, whose products may be too large.
        wide = "uint64_t" if type_.bits == 64 else "uint32_t"
        own = type_.unsigned.scalar if sign in (">>", "/", "%") else wide

        def formula(x: Sequence[str]) -> str:
            if type_.is_bool:
                return f"({x[0]} {sign} {x[1]}) & 1"
            if unsigned:
                return f"({type_.scalar})(({own}){x[0]} {sign} ({own}){x[1]})"
            return f"({type_.scalar})({x[0]} {sign} {x[1]})"

        ctx.by_lane(op, formula, op.operands)

    return lower


def _rounded_division(name: str) -> Handler:
    def lower(ctx: Printing, op: Operation) -> None:
        scalar = c_type(op, op.results[0].type).scalar
        sign = "-" if name == "ceil" else ""
        ctx.by_lane(op, lambda x: f"({scalar}){sign}whence_floordiv({sign}(int64_t){x[0]}, {x[1]})", op.operands)

    return lower


def _extreme(sign: str, *, unsigned: bool = False) -> Handler:
    """The larger or smaller of two integers."""

    def lower(ctx: Printing, op: Operation) -> None:
        type_ = c_type(op, op.results[0].type)
        if whole(ctx, op) and not type_.is_bool:
            first, second = (name.text for name in ctx.texts(op))
            other = f"({ctx.vector(type_.unsigned)})" if unsigned else ""
            same = ctx.vector(type_.integer)
            test = f"({other}{first} {sign} {other}{second})"
            ctx.let(op, f"WHENCE_SELECT({ctx.vector(type_)}, {same}, {test}, {first}, {second})")
            return
        cast_ = f"({type_.unsigned.scalar})" if unsigned and not type_.is_bool else ""
        ctx.by_lane(op, lambda x: f"{cast_}{x[0]} {sign} {cast_}{x[1]} ? {x[0]} : {x[1]}", op.operands)

    return lower


def _number(value: SSAValue) -> float | None:
    """The float that a value is in all lanes, where that is known beforehand."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    data = owner.value
    values = [data.value.data] if isinstance(data, FloatAttr) else numbers(data, 1)
    return float(cast(float, values[0])) if len(set(map(repr, values))) == 1 else None


def _extreme_of_floats(larger: bool, *, propagates: bool) -> Handler:
    """The larger or smaller float, with the zero and the NaN that x86's instructions give.

    propagates: NaN if one of them is; else the other one.
    """
    sign, kind = (">", "larger") if larger else ("<", "smaller")
    function = f"whence_{'maximum' if larger else 'minimum'}"

    def lower(ctx: Printing, op: Operation) -> None:
        type_ = c_type(op, op.results[0].type)
        number = _number(op.operands[1])
        known = number is not None and number == number
        nsz = FastMathFlag.NO_SIGNED_ZEROS in cast("arith.FastMathFlagsAttr", op.properties["fastmath"]).data
        zeros = not nsz and not (known and (number != 0 or str(number).startswith("-") != larger))

        def scalar(x: Sequence[str]) -> str:
            first, second = x
            if not propagates:
                known_ = f"{first} {sign} {second} ? {first} : {second}"
                return known_ if known else f"{first} != {first} || {second} {sign} {first} ? {second} : {first}"
            if zeros:
                return f"{function}_{'f64' if type_.scalar == 'double' else 'f32'}({first}, {second})"
            if known and nsz:
                return f"{second} {sign} {first} ? {second} : {first}"
            return f"{first} {sign} {second} || {first} != {first} ? {first} : {second}"

        if not whole(ctx, op):
            by_floats(ctx, op, scalar)
            return
        x, y = (name.text for name in ctx.texts(op))
        name = ctx.vector(type_)
        same = ctx.vector(type_.integer)
        if not propagates:
            text = f"{name}_{kind}({x}, {y})"
            if not known:
                text = f"WHENCE_SELECT({name}, {same}, {x} != {x}, {y}, {name}_{kind}({y}, {x}))"
        elif known and nsz:
            text = f"{name}_{kind}({y}, {x})"
        else:
            text = f"WHENCE_SELECT({name}, {same}, {x} != {x}, {x}, {name}_{kind}({x}, {y}))"
            if zeros:
                joined = f"({name})(({same}){x} {'&' if larger else '|'} ({same}){y})"
                text = f"WHENCE_SELECT({name}, {same}, {x} == {y}, {joined}, {text})"
        ctx.let(op, text)

    return lower


_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _comparison(predicate: str, type_: CType) -> Callable[[str, str], str]:
    """The condition that two scalars, or vectors, compare so."""
    floats = type_.is_float or type_.is_half
    kind = predicate if predicate in ("eq", "ne") else predicate[1:]

    def spell(x: str, y: str) -> str:
        unordered = f"({x} != {x}) | ({y} != {y})"
        match predicate:
            case "uno":
                return unordered
            case "ord":
                return f"({x} == {x}) & ({y} == {y})"
            case "one":
                return f"({x} < {y}) | ({x} > {y})"
            case "une":
                return f"{x} != {y}"
            case _ if floats and predicate[0] == "u":
                return f"({x} {_SIGNS[kind]} {y}) | {unordered}"
            case _:
                return f"{x} {_SIGNS[kind]} {y}"

    return spell


def _compared(ctx: Printing, op: Operation) -> None:
    if isinstance(op, CompareOp):
        predicate = op.predicate.data
    else:
        assert isinstance(op, arith.CmpiOp | arith.CmpfOp)
        floats = isinstance(op, arith.CmpfOp)
        names = arith.CMPF_COMPARISON_OPERATIONS if floats else arith.CMPI_COMPARISON_OPERATIONS
        predicate = names[op.predicate.value.data]
    type_ = c_type(op, op.operands[0].type)
    if predicate in ("true", "false"):
        fail(op, "a comparison of its operands", predicate)
    spell = _comparison(predicate, type_)
    unsigned = predicate[0] == "u" and predicate not in ("une", "uno") and not type_.is_float and not type_.is_half
    if type_.lanes and ctx.vectors and not type_.is_half:
        other = f"({ctx.vector(type_.unsigned)})" if unsigned and not type_.is_bool else ""
        first, second = (f"{other}{name.text}" for name in ctx.texts(op))
        if all(_chosen_extreme(ctx, use.operation) for use in op.results[0].uses):
            return
        test = spell(first, second)
        ctx.let(op, f"({test})" if type_.bits == I32.bits else ctx.converted(test, type_.integer, I32.of(type_.lanes)))
        return
    cast_ = f"({type_.unsigned.scalar})" if unsigned and not type_.is_bool else ""
    ctx.by_lane(
        op, lambda x: spell(*(f"{cast_}{widened(text, type_)}" for text in x)), (op.operands[0], op.operands[1])
    )


def _select(ctx: Printing, op: Operation) -> None:
    type_ = c_type(op, op.results[0].type)
    if extreme := _chosen_extreme(ctx, op):
        ctx.let(op, f"{ctx.vector(type_)}_{extreme}({', '.join(ctx.names[x].text for x in op.operands[1:])})")
        return
    condition, first, second = ctx.texts(op)
    by_lane = c_type(op, op.operands[0].type).lanes
    if whole(ctx, op, halves=True):
        if by_lane:
            ctx.let(op, chosen(ctx, condition.text, first.text, second.text, type_))
        else:
            ctx.let(op, f"{condition.text} ? {first.text} : {second.text}")
        return
    ctx.by_lane(op, lambda x: f"{x[0]} ? {x[1]} : {x[2]}", op.operands)


def _chosen_extreme(ctx: Printing, op: Operation) -> str:
    """Return which of two vectors a choice by their comparison is, "larger" or "smaller"; empty if it is neither."""
    if not isinstance(op, SelectOp | arith.SelectOp) or not whole(ctx, op):
        return ""
    compared, first, second = op.operands[0].owner, op.operands[1], op.operands[2]
    if not isinstance(compared, CompareOp) or compared.predicate.data not in ("olt", "ogt"):
        return ""
    sides = list(compared.operands)
    if sides not in ([first, second], [second, first]):
        return ""
    return "larger" if (compared.predicate.data == "ogt") == (sides == [first, second]) else "smaller"


_KINDS: dict[type[Operation], str] = {
    arith.SIToFPOp: "sitofp",
    arith.UIToFPOp: "uitofp",
    arith.FPToSIOp: "fptosi",
    arith.FPToUIOp: "fptoui",
    arith.TruncIOp: "trunci",
    arith.ExtSIOp: "extsi",
    arith.ExtUIOp: "extui",
    arith.IndexCastOp: "index_cast",
    arith.ExtFOp: "extf",
    arith.TruncFOp: "truncf",
}


def _cast(ctx: Printing, op: Operation) -> None:
    kind = op.kind.data if isinstance(op, CastOp) else _KINDS[type(op)]
    source, target = c_type(op, op.operands[0].type), c_type(op, op.results[0].type)
    unsigned = kind in ("uitofp", "extui")
    if target.is_half and source.scalar == "double":
        fail(op, f"a conversion to {target.short} that rounds once", f"one from {source.short}")
    if whole(ctx, op) and not source.is_half:
        ctx.let(op, _whole_cast(ctx, kind, ctx.texts(op)[0].text, source, target))
        return

    def formula(x: Sequence[str]) -> str:
        value = widened(x[0], source)
        if kind == "trunci" and target.is_bool:
            return f"{value} & 1"
        if kind in ("extsi", "sitofp") and source.is_bool:
            return f"-({target.scalar}){value}"
        if unsigned and not source.is_bool:
            value = f"({source.unsigned.scalar}){value}"
        if target.is_half:
            return narrowed(f"(float){value}", target)
        if kind == "fptoui":
            return f"({target.scalar})({target.unsigned.scalar}){value}"
        return f"({target.scalar}){value}"

    ctx.by_lane(op, formula, op.operands)


def _whole_cast(ctx: Printing, kind: str, value: str, source: CType, target: CType) -> str:
    """A conversion of vectors of GNU's."""
    name, given = ctx.vector(target), source
    if kind == "trunci" and target.is_bool:
        one = f"(({value} & 1) != 0)"
        return one if source.bits == I32.bits else ctx.converted(one, source.integer, target)
    if source.is_bool:
        # Its lanes are 0 and -1.
        value = f"-{value}" if kind in ("extui", "uitofp") else value
    elif kind in ("uitofp", "extui"):
        given = source.unsigned
        value = f"(({ctx.vector(given)}){value})"
    if kind in ("fptosi", "fptoui") and target.bits < source.bits:
        # As the machine does it, in two steps.
        wide = ctx.converted(value, source, source.integer)
        return ctx.converted(wide, source.integer, target)
    if kind in ("sitofp", "uitofp") and source.bits < I32.bits:
        # In two steps, too: gcc converts bytes to floats one by one.
        value, given = ctx.converted(value, given, I32.of(source.lanes)), I32.of(source.lanes)
    if kind == "fptoui":
        return f"({name}){ctx.converted(value, given, target.unsigned)}"
    return ctx.converted(value, given, target)


def bitcast(ctx: Printing, op: Operation) -> None:
    """The same bits as another type, perhaps in another number of lanes."""
    source, target = c_type(op, op.operands[0].type), c_type(op, op.results[0].type)
    if source.is_bool or target.is_bool:
        fail(op, "numbers of whole bytes", f"{op.operands[0].type}")
    (value,) = ctx.texts(op)
    (result,) = op.results
    if source.lanes and target.lanes and ctx.vectors:
        ctx.let(op, f"({ctx.vector(target)}){value.text}")
        return
    if target.lanes:
        name = ctx.declare(result, target)
    else:
        name = ctx.unused(result.name_hint)
        ctx.emit(f"{target.scalar} {name};")
        ctx.names[result] = Name(name, name)
    at = value.text
    if not source.lanes:
        at = ctx.unused("bits")
        ctx.emit(f"const {source.scalar} {at} = {value.text};")
    ctx.emit(f"memcpy(&{name}, &{at}, sizeof {name});")


ARITHMETIC: Mapping[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    arith.AddfOp: _floats("+"),
    arith.SubfOp: _floats("-"),
    arith.MulfOp: _floats("*"),
    arith.DivfOp: _floats("/"),
    arith.NegfOp: _negf,
    arith.AddiOp: integers("+"),
    arith.SubiOp: integers("-"),
    arith.MuliOp: integers("*"),
    arith.ShLIOp: integers("<<"),
    arith.ShRSIOp: integers(">>", unsigned=False),
    arith.ShRUIOp: integers(">>"),
    arith.DivSIOp: integers("/", unsigned=False),
    arith.DivUIOp: integers("/"),
    arith.RemSIOp: integers("%", unsigned=False),
    arith.RemUIOp: integers("%"),
    arith.AndIOp: integers("&", unsigned=False),
    arith.OrIOp: integers("|", unsigned=False),
    arith.XOrIOp: integers("^", unsigned=False),
    arith.FloorDivSIOp: _rounded_division("floor"),
    arith.CeilDivSIOp: _rounded_division("ceil"),
    arith.MaxSIOp: _extreme(">"),
    arith.MinSIOp: _extreme("<"),
    arith.MaxUIOp: _extreme(">", unsigned=True),
    arith.MinUIOp: _extreme("<", unsigned=True),
    arith.MaximumfOp: _extreme_of_floats(True, propagates=True),
    arith.MinimumfOp: _extreme_of_floats(False, propagates=True),
    arith.MaxnumfOp: _extreme_of_floats(True, propagates=False),
    arith.MinnumfOp: _extreme_of_floats(False, propagates=False),
    arith.CmpiOp: _compared,
    arith.CmpfOp: _compared,
    arith.SelectOp: _select,
    arith.BitcastOp: bitcast,
    CompareOp: _compared,
    SelectOp: _select,
    CastOp: _cast,
    **dict.fromkeys(_KINDS, _cast),
}
