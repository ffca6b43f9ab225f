"""The spellings in TVMScript of ops that the te language has no expression for: vectors, masks, shuffles, intrinsics.

Facts about what TVM 0.27 reads, and compiles bit for bit, are noted where they decide a spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from whence.dialects import tir
from whence.support.dtypes import BOOL, INT, element_of, fail, is_float, lanes_of
from whence.te.language.affine_forms import AFFINE
from whence.te.language.expr import Binary, Call, Const, Var
from whence.te.language.operators import OF_FLOATS, OF_FUNCTIONS, OF_INTEGERS, OF_UNSIGNED
from whence.te.language.statements import Buffer
from whence.te.language.text import ATOM, COMPARED, COMPARISONS, PRODUCT, SUM, infix, spell

Spelling: TypeAlias = tuple[str, int]
"""A text, and how tightly it binds."""


class Operand(NamedTuple):
    """An operand of an op: a value with its text, or a buffer."""

    spelling: Spelling
    dtype: str
    """`float32x8` of a vector."""
    buffer: Buffer | None = None


class Writer(Protocol):
    """The part of the printer that spellings use."""

    sizes: list[str]
    """The names of the sizes of the function."""

    def buffer(self, buffer: Buffer) -> str: ...
    def flat_name(self, buffer: Buffer) -> str: ...
    def named_value(self, dtype: str, text: str) -> str: ...


LLVM = {
    "math.fma": "fma",
    "math.absf": "fabs",
    "math.floor": "floor",
    "math.ceil": "ceil",
    "math.trunc": "trunc",
    "math.sqrt": "sqrt",
    "math.roundeven": "rint",
    "math.round": "round",
    "math.copysign": "copysign",
    "math.ctpop": "ctpop",
    "arith.minnumf": "minnum",
    "arith.maxnumf": "maxnum",
    "arith.minimumf": "minimum",
    "arith.maximumf": "maximum",
}
"""Ops that are an intrinsic of LLVM's. TVM's own functions of these names round otherwise, or lose a NaN."""


def refuse(op: Operation) -> Any:
    """Raise ScheduleError for an op without a spelling."""
    fail(f"script: expected ops that TVMScript can say, got {op.name} at {op.location}")


def spelled(op: Operation, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    """Return the text of an op of operands; raises ScheduleError for one without a spelling."""
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(op, dtype, parts, writer)
    texts = [part.spelling for part in parts]
    if op.name in LLVM:
        return exactly(LLVM[op.name], dtype, texts)
    if (name := OF_FUNCTIONS.get(type(op))) is not None:
        return spell(Call(name, Var("", dtype)), texts)
    if (name := (OF_FLOATS | OF_INTEGERS).get(type(op))) is not None:
        if element_of(dtype) == BOOL:
            # `!=` of vectors of bools is read, and is not compiled.
            return infix("!=", COMPARED, texts) if name == "xor" else _call(name.capitalize(), texts)
        return _operation(name, dtype, texts)
    if (name := OF_UNSIGNED.get(type(op))) is not None:
        wide = _unsigned(dtype)
        return _cast(dtype, _operation(name, wide, [_cast(wide, text) for text in texts]))
    if op.name.startswith("arith.") and len(texts) == 1:
        return _converted(op, op.name.removeprefix("arith."), dtype, parts[0])
    return refuse(op)


def stored(op: Operation, parts: Sequence[Operand], writer: Writer) -> list[str]:
    """Return the lines of an op without a result; raises ScheduleError for one without a spelling."""
    match op:
        case tir.PrefetchOp():
            return []
        case tir.StoreOp():
            value, buffer, *dims = parts
            place = _place(op, buffer, dims, value.dtype, writer)
            return [f"{place} = {value.spelling[0]}"]
        case tir.MaskedStoreOp():
            value, mask, buffer, *dims = parts
            if op.step == 1 and buffer.buffer is not None:
                name, point = _point(op, buffer, dims, value.dtype, writer)
                kept = _kept(buffer, value.dtype)
                text, _ = value.spelling if value.dtype == kept else _cast(kept, value.spelling)
                return [f"T.masked_store({', '.join([name, text, *point, mask.spelling[0]])})"]
            # With a stride it makes invalid code: lane by lane.
            lines: list[str] = []
            for lane, place in enumerate(_lanes(op, buffer, dims, value.dtype, writer)):
                lines += [f"if {_lane(mask, lane)}:", f"    {place} = {_lane(value, lane)}"]
            return lines
        case _:
            return refuse(op)


def elements_of(data: object) -> list[Any]:
    """The numbers of a constant: of each element, or one that all have."""
    if isinstance(data, DenseIntOrFPElementsAttr):
        return list(cast("DenseIntOrFPElementsAttr[Any]", data).get_values())
    assert isinstance(data, FloatAttr | IntegerAttr)
    return [cast("Any", data).value.data]


# Pieces


def _call(name: str, words: Sequence[Spelling]) -> Spelling:
    return f"T.{name}({', '.join(text for text, _ in words)})", ATOM


def _operation(name: str, dtype: str, parts: Sequence[Spelling]) -> Spelling:
    """An operator by its name in te."""
    return spell(Binary(name, *(Var("", dtype) for _ in parts)), parts)


def _word(text: str) -> Spelling:
    return text, ATOM


def _cast(dtype: str, value: Spelling) -> Spelling:
    return _call("Cast", [_word(repr(dtype)), value])


def exactly(name: str, dtype: str, words: Sequence[Spelling]) -> Spelling:
    """Return the call of an intrinsic of LLVM's, where TVM's own function has other bits for some numbers."""
    return _call("call_llvm_pure_intrin", [_word(repr(dtype)), _word(repr(f"llvm.{name}")), *words])


def _unsigned(dtype: str) -> str:
    return dtype if dtype.startswith(("u", BOOL)) else f"u{dtype}"


def _number(value: Any, element: str) -> Spelling:
    if element == BOOL:
        return f"T.bool({bool(value)})", ATOM
    number = float(value) if is_float(element) else int(value)
    return spell(Const(number, element), [])


def _numbers(values: Sequence[Any], dtype: str) -> Spelling:
    """A vector of numbers."""
    words = [_number(value, element_of(dtype)) for value in values]
    if lanes_of(dtype) == 1:
        return words[0]
    if len({text for text, _ in words}) == 1:
        return _call("Broadcast", [words[0], _word(str(lanes_of(dtype)))])
    return _shuffle([text for text, _ in words], range(len(words)))


def _shuffle(texts: Sequence[str], lanes: Sequence[int]) -> Spelling:
    return f"T.Shuffle([{', '.join(texts)}], [{', '.join(map(str, lanes))}])", ATOM


def _lane(value: Operand, lane: int) -> str:
    return value.spelling[0] if lanes_of(value.dtype) == 1 else _shuffle([value.spelling[0]], [lane])[0]


def affine(expr: AffineExpr, dims: Sequence[Spelling], sizes: Sequence[str]) -> Spelling:
    """The text of an index."""
    match expr:
        case AffineConstantExpr(value):
            return str(value), ATOM if value >= 0 else PRODUCT
        case AffineDimExpr(position):
            return dims[position]
        case AffineSymExpr(position):
            return sizes[position], ATOM
        case AffineBinaryOpExpr(kind, lhs, rhs):
            return _operation(AFFINE[kind], INT, [affine(lhs, dims, sizes), affine(rhs, dims, sizes)])
        case _:
            fail(f"script: expected an affine index, got {expr}")


def _indices(op: Any, dims: Sequence[Operand], writer: Writer) -> list[Spelling]:
    texts = [dim.spelling for dim in dims]
    return [affine(result, texts, writer.sizes) for result in op.map.data.results]


def _flat(op: Any, buffer: Operand, dims: Sequence[Operand], writer: Writer) -> tuple[str, Spelling]:
    """The flat view of the buffer of an access, and the index in it of the first lane."""
    assert buffer.buffer is not None
    if len(buffer.buffer.shape) == 1:
        return writer.buffer(buffer.buffer), _indices(op, dims, writer)[0]
    total: Spelling = ("0", ATOM)
    extents: list[Spelling] = []
    for extent in buffer.buffer.shape:
        if not isinstance(extent, int):
            refuse(op)
        extents.append((str(extent), ATOM))
    for index, extent in zip(_indices(op, dims, writer), extents, strict=True):
        total = infix("+", SUM, [infix("*", PRODUCT, [total, extent]), index]) if total[0] != "0" else index
    return writer.flat_name(buffer.buffer), total


def _point(op: Any, buffer: Operand, dims: Sequence[Operand], dtype: str, writer: Writer) -> tuple[str, list[str]]:
    """The buffer and the indices of an access; vectors are only allowed in the last one."""
    assert buffer.buffer is not None
    width = lanes_of(dtype)
    if width == 1 and element_of(dtype) == element_of(buffer.buffer.dtype).removeprefix("u"):
        return writer.buffer(buffer.buffer), [text for text, _ in _indices(op, dims, writer)] or ["()"]
    if element_of(dtype).removeprefix("u") != buffer.buffer.dtype.removeprefix("u"):
        refuse(op)
    if op.step == 1:
        *outer, last = _indices(op, dims, writer)
        return writer.buffer(buffer.buffer), [*(text for text, _ in outer), f"T.Ramp({last[0]}, 1, {width})"]
    name, first = _flat(op, buffer, dims, writer)
    if op.step == 0:
        return name, [f"T.Broadcast({first[0]}, {width})"]
    return name, [f"T.Ramp({first[0]}, {op.step}, {width})"]


def _place(op: Any, buffer: Operand, dims: Sequence[Operand], dtype: str, writer: Writer) -> str:
    name, indices = _point(op, buffer, dims, dtype, writer)
    return f"{name}[{', '.join(indices)}]"


def _lanes(op: Any, buffer: Operand, dims: Sequence[Operand], dtype: str, writer: Writer) -> list[str]:
    """The places of the lanes of an access."""
    name, first = _flat(op, buffer, dims, writer)
    return [f"{name}[{infix('+', SUM, [first, _word(str(lane * op.step))])[0]}]" for lane in range(lanes_of(dtype))]


# Single ops


def _attribute(value: Attribute, dtype: str) -> Spelling:
    """A constant, the same in all lanes if it is one number."""
    numbers = elements_of(value)
    return _numbers(numbers * lanes_of(dtype) if len(numbers) == 1 else numbers, dtype)


def _constant(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    return _attribute(op.value, dtype)


def _load(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    buffer, *dims = parts
    assert buffer.buffer is not None
    text = _place(op, buffer, dims, dtype, writer)
    read: Spelling = (text, ATOM)
    if buffer.buffer.dtype.startswith("u"):
        read = _cast(dtype, read)
    if op.guard is None:
        return read
    dims_text = [dim.spelling for dim in dims]
    holds = _all(
        [infix(">=", COMPARED, [affine(g, dims_text, writer.sizes), _word("0")]) for g in op.guard.data.results]
    )
    return _call("if_then_else", [holds, read, _attribute(op.otherwise, dtype)])


def _kept(buffer: Operand, dtype: str) -> str:
    """The dtype of lanes of a buffer, which may be without sign."""
    assert buffer.buffer is not None
    return _unsigned(dtype) if buffer.buffer.dtype.startswith("u") else dtype


def _all(conditions: Sequence[Spelling]) -> Spelling:
    total = conditions[0]
    for condition in conditions[1:]:
        total = _call("And", [total, condition])
    return total


def _masked_load(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    mask, buffer, *dims = parts
    if op.step == 1:
        # Lanes that are not set have any value.
        name, point = _point(op, buffer, dims, dtype, writer)
        kept = _kept(buffer, dtype)
        read = _call("masked_load", [_word(repr(kept)), *map(_word, [name, *point]), mask.spelling])
        read = read if kept == dtype else _cast(dtype, read)
        return _call("Select", [mask.spelling, read, _attribute(op.otherwise, dtype)])
    values = elements_of(op.otherwise)
    lanes = [
        _call(
            "if_then_else",
            [_word(_lane(mask, lane)), _word(place), _number(values[lane % len(values)], element_of(dtype))],
        )[0]
        for lane, place in enumerate(_lanes(op, buffer, dims, dtype, writer))
    ]
    return _shuffle(lanes, range(len(lanes)))


def _mask(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    dims, width = [part.spelling for part in parts], lanes_of(dtype)
    conditions: list[Spelling] = []
    for result, step in zip(op.map.data.results, op.by_lane, strict=True):
        first = affine(result, dims, writer.sizes)
        if step:
            ramp = _call("Ramp", [first, _word(str(step)), _word(str(width))])
            conditions.append(infix(">=", COMPARED, [ramp, _word(f"T.Broadcast(0, {width})")]))
        else:
            conditions.append(_call("Broadcast", [infix(">=", COMPARED, [first, _word("0")]), _word(str(width))]))
    return _all(conditions)


def _index(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    first, width = affine(op.map.data.results[0], [part.spelling for part in parts], writer.sizes), lanes_of(dtype)
    step = op.stride.value.data
    if width > 1:
        count = _word(str(width))
        first = _call("Ramp", [first, _word(str(step)), count]) if step else _call("Broadcast", [first, count])
    return _cast(dtype, first)


def _broadcast(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    if lanes_of(parts[0].dtype) != 1:
        return refuse(op)
    return _call("Broadcast", [parts[0].spelling, _word(str(lanes_of(dtype)))])


def _mixed(op: vector.ShuffleOp, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    lanes = cast("DenseArrayBase[IntegerType]", op.mask).get_values()
    return _shuffle([part.spelling[0] for part in parts], [int(lane) for lane in lanes])


def _extract(op: vector.ExtractOp, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    position = op.static_position.get_values()
    if len(parts) != 1 or len(position) != 1 or lanes_of(dtype) != 1:
        return refuse(op)
    return _shuffle([parts[0].spelling[0]], [int(position[0])])


def _inserted(op: vector.InsertOp, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    position, width = op.static_position.get_values()[0], lanes_of(dtype)
    lanes = [width if lane == position else lane for lane in range(width)]
    return _shuffle([parts[1].spelling[0], parts[0].spelling[0]], lanes)


REDUCTIONS = {
    "add": ("fadd", "add"),
    "mul": ("fmul", "mul"),
    "maximumf": ("fmaximum", ""),
    "minimumf": ("fminimum", ""),
} | {
    "maxnumf": ("fmax", ""),
    "minnumf": ("fmin", ""),
    "maxsi": ("", "smax"),
    "minsi": ("", "smin"),
    "maxui": ("", "umax"),
    "minui": ("", "umin"),
    "and": ("", "and"),
    "or": ("", "or"),
    "xor": ("", "xor"),
}
"""Kinds of reductions, as LLVM calls them for floats and for integers."""
_PAIRS = {"fadd": ("+", SUM), "fmul": ("*", PRODUCT)}
"""The operators of reductions whose order is left open."""


def _reduction(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    kind = str(op.kind.data)
    of_floats, of_integers = REDUCTIONS.get(kind, ("", ""))
    name = of_floats if is_float(dtype) else of_integers
    if not name or element_of(dtype) == BOOL:
        return refuse(op)
    start = [part.spelling for part in parts[1:]]
    if name in ("fadd", "fmul"):
        if (width := lanes_of(parts[0].dtype)).bit_count() == 1:
            total = _halved(*_PAIRS[name], parts[0], width, writer)
            return infix(*_PAIRS[name], [*start, total]) if start else total
        start = start or [_number(-0.0 if name == "fadd" else 1.0, dtype)]
        return exactly(f"vector.reduce.{name}", dtype, [*start, parts[0].spelling])
    reduced = exactly(f"vector.reduce.{name}", dtype, [parts[0].spelling])
    if not start:
        return reduced
    pair = {"fmaximum": "maximum", "fminimum": "minimum", "fmax": "maxnum", "fmin": "minnum"}.get(name)
    return exactly(pair, dtype, [*start, reduced]) if pair is not None else refuse(op)


def _halved(symbol: str, level: int, vector: Operand, width: int, writer: Writer) -> Spelling:
    """The lower half of the lanes with the upper one, until one is left: the order of the code that LLVM makes."""
    text, bound = vector.spelling
    while width > 1:
        half = width // 2
        name = text if text.isidentifier() else writer.named_value(f"{element_of(vector.dtype)}x{width}", text)
        ends = [_shuffle([name], range(0, half)), _shuffle([name], range(half, width))]
        text, bound = infix(symbol, level, ends)
        width = half
    return text, bound


def _compared(op: Any, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    if isinstance(op, tir.CompareOp):
        word = op.predicate.data
    else:
        names = arith.CMPF_COMPARISON_OPERATIONS if isinstance(op, arith.CmpfOp) else arith.CMPI_COMPARISON_OPERATIONS
        word = names[op.predicate.value.data]
    a, b = (part.spelling for part in parts)
    kind, other = element_of(parts[0].dtype), word[1:]
    if word in ("eq", "ne", "oeq", "une"):
        return infix(COMPARISONS[word.removeprefix("o").removeprefix("u")], COMPARED, [a, b])
    if other in COMPARISONS and (word[0] == "o" or word[0] == "s"):
        return infix(COMPARISONS[other], COMPARED, [a, b])
    is_nan = _call("Or", [infix("!=", COMPARED, [a, a]), infix("!=", COMPARED, [b, b])])
    if not is_float(kind) and word[0] == "u":
        wide = _unsigned(parts[0].dtype)
        return infix(COMPARISONS[other], COMPARED, [_cast(wide, a), _cast(wide, b)])
    match word:
        case "uno":
            return is_nan
        case "ord":
            return _call("And", [infix("==", COMPARED, [a, a]), infix("==", COMPARED, [b, b])])
        case "one":
            return _call("Or", [infix("<", COMPARED, [a, b]), infix(">", COMPARED, [a, b])])
        case _ if word[0] == "u" and other in COMPARISONS:
            return _call("Or", [infix(COMPARISONS[other], COMPARED, [a, b]), is_nan])
        case _:
            return refuse(op)


def _chosen(op: Operation, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    condition = parts[0].spelling
    if lanes_of(dtype) > 1 and lanes_of(parts[0].dtype) == 1:
        condition = _call("Broadcast", [condition, _word(str(lanes_of(dtype)))])
    return _call("Select", [condition, *(part.spelling for part in parts[1:])])


def _converted(op: Operation, kind: str, dtype: str, part: Operand) -> Spelling:
    """A conversion by its name in arith."""
    value, source, target = part.spelling, element_of(part.dtype), element_of(dtype)
    if kind == "bitcast":
        return _call("reinterpret", [_word(repr(dtype)), value])
    if kind == "negf":
        return infix("*", PRODUCT, [value, _numbers([-1.0] * lanes_of(dtype), dtype)])
    if kind in ("uitofp", "extui"):
        return _cast(dtype, value if source == BOOL else _cast(_unsigned(part.dtype), value))
    if kind == "fptoui":
        return _cast(dtype, _cast(_unsigned(dtype), value))
    if kind == "trunci" and target == BOOL:
        one, zero = (_numbers([number] * lanes_of(dtype), part.dtype) for number in (1, 0))
        return infix("!=", COMPARED, [_call("bitwise_and", [value, one]), zero])
    if kind in ("sitofp", "fptosi", "extf", "truncf", "trunci", "extsi", "index_cast") and source != BOOL:
        return _cast(dtype, value)
    return refuse(op)


def _tir_cast(op: tir.CastOp, dtype: str, parts: Sequence[Operand], writer: Writer) -> Spelling:
    return _converted(op, op.kind.data, dtype, parts[0])


_SPECIAL: dict[str, Callable[..., Spelling]] = {
    "arith.constant": _constant,
    "arith.cmpi": _compared,
    "arith.cmpf": _compared,
    "arith.select": _chosen,
    "tir.compare": _compared,
    "tir.select": _chosen,
    "tir.cast": _tir_cast,
    "tir.load": _load,
    "tir.masked_load": _masked_load,
    "tir.mask": _mask,
    "tir.index": _index,
    "vector.broadcast": _broadcast,
    "vector.shuffle": _mixed,
    "vector.extract": _extract,
    "vector.insert": _inserted,
    "vector.reduction": _reduction,
}
