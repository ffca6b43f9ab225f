"""The vector dialect, products of packed integers, and instructions that kernels name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation

from ...dialects.tir import CallExternOp, Dot2Op, Dot4Op, DotBf16Op, JoinBytesOp, WidenPairsOp, buffer_of
from ...provenance.diagnostics import fail
from ...runtime.program.program import TILES_ALLOWED
from .arithmetic import bitcast, narrowed, whole, widened
from .context import Handler, Name, Printing
from .types import CType, c_type


def _broadcast(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, vector.BroadcastOp)
    type_ = c_type(op, op.vector.type)
    (value,) = ctx.texts(op)
    if c_type(op, op.source.type).lanes:
        ctx.names[op.vector] = value
    elif ctx.vectors:
        ctx.let(op, f"{ctx.vector(type_)}_of({'-' if type_.is_bool else ''}{value.text})")
    else:
        ctx.by_lane(op, lambda x: x[0], op.operands)


_SIGNS = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_COMPARED = {
    "maxsi": ">",
    "minsi": "<",
    "maxui": ">",
    "minui": "<",
}


def _joined(kind: str, type_: CType) -> Callable[[str, str], str]:
    """Two numbers as one, by a kind of reduction."""

    def join(x: str, y: str) -> str:
        if kind in _COMPARED:
            cast_ = f"({type_.unsigned.scalar})" if kind.endswith("ui") else ""
            return f"{cast_}{x} {_COMPARED[kind]} {cast_}{y} ? {x} : {y}"
        if kind in ("maximumf", "minimumf"):
            name = f"whence_{kind[:-1]}_{'f64' if type_.scalar == 'double' else 'f32'}"
            return narrowed(f"{name}({widened(x, type_)}, {widened(y, type_)})", type_)
        if kind in ("maxnumf", "minnumf"):
            sign = ">" if kind == "maxnumf" else "<"
            a, b = widened(x, type_), widened(y, type_)
            return f"{a} != {a} || {b} {sign} {a} ? {y} : {x}"
        if type_.is_float or type_.is_half:
            return narrowed(f"{widened(x, type_)} {_SIGNS[kind]} {widened(y, type_)}", type_)
        if type_.is_bool:
            return f"({x} {_SIGNS[kind]} {y}) & 1"
        wide = "uint64_t" if type_.bits == 64 else "uint32_t"
        return f"({type_.scalar})(({wide}){x} {_SIGNS[kind]} ({wide}){y})"

    return join


def _reduction(ctx: Printing, op: Operation) -> None:
    """The upper half of the lanes joins the lower one, until one lane is left; a start comes last."""
    assert isinstance(op, vector.ReductionOp)
    kind = op.kind.data.value
    type_, count = c_type(op, op.dest.type), c_type(op, op.vector.type).lanes
    if count.bit_count() != 1:
        fail(op, "a number of lanes that is a power of 2", str(count))
    join = _joined(kind, type_)
    text = ctx.names[op.vector].text
    while ctx.vectors and kind in ("add", "mul") and type_.is_float and count > 2:
        half = ctx.vector(type_.of(count // 2))
        name, low, high = ctx.unused("sum"), range(count // 2), range(count // 2, count)
        sides = [f"__builtin_shufflevector({text}, {text}, {', '.join(map(str, side))})" for side in (low, high)]
        ctx.emit(f"const {half} {name} = {sides[0]} {_SIGNS[kind]} {sides[1]};")
        text, count = name, count // 2
    parts = ctx.unused("parts")
    ctx.emit(f"{type_.scalar} {parts}[{count}];")
    lane = ctx.lane(op.vector).replace(ctx.names[op.vector].text, text, 1)
    ctx.emit(f"for (int l = 0; l < {count}; l++) {parts}[l] = {lane};")
    if count > 1:
        pair = join(f"{parts}[l]", f"{parts}[l + h]")
        ctx.emit(f"for (int h = {count // 2}; h; h /= 2) for (int l = 0; l < h; l++) {parts}[l] = {pair};")
    total = f"{parts}[0]"
    ctx.let(op, total if op.acc is None else join(ctx.names[op.acc].text, total))


def _position(op: Operation) -> int:
    static = cast("DenseArrayBase[IntegerType]", op.properties["static_position"]).get_values()
    if len(static) != 1 or static[0] < 0:
        fail(op, "one constant position", str(list(static)))
    return static[0]


def _extract(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    lane = f"({ctx.names[op.vector].text})[{_position(op)}]"
    mask = ctx.vectors and c_type(op, op.result.type).is_bool
    ctx.let(op, f"{lane} != 0" if mask else lane)


def _insert(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    type_ = c_type(op, op.result.type)
    value = ctx.names[op.dest]
    if ctx.vectors:
        name = ctx.declare(op.result, type_, value.text)
    else:
        name = ctx.declare(op.result, type_)
        ctx.fill(name, type_, value.lane)
    sign = "-" if type_.is_bool and ctx.vectors else ""
    ctx.emit(f"{name}[{_position(op)}] = {sign}{ctx.names[op.source].text};")


def _shuffle(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    type_, count = c_type(op, op.result.type), c_type(op, op.v1.type).lanes
    first, second = ctx.names[op.v1].text, ctx.names[op.v2].text
    places = [int(place) for place in cast("DenseArrayBase[IntegerType]", op.mask).get_values()]
    if ctx.vectors:
        ctx.let(op, f"__builtin_shufflevector({first}, {second}, {', '.join(map(str, places))})")
        return
    name = ctx.declare(op.result, type_)
    for lane, place in enumerate(places):
        of, at = (first, place) if place < count else (second, place - count)
        if place >= 0:
            ctx.emit(f"{name}[{lane}] = {of}[{at}];")


def _bits(text: str, low: int, width: int, *, signed: bool) -> str:
    """Some bits of a word as an int32_t."""
    kind = f"{'' if signed else 'u'}int{width}_t"
    return f"(int32_t)({kind})((uint32_t){text} >> {low})"


def _dot(width: int, *, signed: bool) -> Handler:
    """The sum of the products of the parts of words; the first word's are signed or not, the second's are."""

    def parts(ctx: Printing, text: str, type_: CType, low: int, *, signed: bool) -> str:
        """The part of each word as an int32_t."""
        kind = type_.integer if signed else type_.unsigned
        left = f"(({ctx.vector(type_.unsigned)}){text} << {32 - width - low})"
        return f"({ctx.vector(type_)})(({ctx.vector(kind)}){left} >> {32 - width})"

    def formula(x: Sequence[str]) -> str:
        products = (
            f"(uint32_t)({_bits(x[0], low, width, signed=signed)} * {_bits(x[1], low, width, signed=True)})"
            for low in range(0, 32, width)
        )
        return f"(int32_t)({' + '.join(products)})"

    def lower(ctx: Printing, op: Operation) -> None:
        if not whole(ctx, op):
            ctx.by_lane(op, formula, op.operands)
            return
        type_ = c_type(op, op.results[0].type)
        x, y = (name.text for name in ctx.texts(op))
        products = (
            f"{parts(ctx, x, type_, low, signed=signed)} * {parts(ctx, y, type_, low, signed=True)}"
            for low in range(0, 32, width)
        )
        # Of bytes no sum is too large for an int32_t; of two pairs it wraps around.
        unsigned = ctx.vector(type_.unsigned)
        total = " + ".join(f"({unsigned})({product})" for product in products)
        (result,) = op.results
        bits = 32 * type_.lanes
        known = _DOTS.get((width, bits))
        if known is None or result.first_use is None:
            ctx.let(op, f"({ctx.vector(type_)})({total})")
            return
        feature, call = known
        name = ctx.declare(result, type_)
        ctx.emit(f"#if {feature}")
        ctx.emit(f"{name} = ({ctx.vector(type_)}){call.format(x=f'(__m{bits}i){x}', y=f'(__m{bits}i){y}')};")
        ctx.emit("#else")
        ctx.emit(f"{name} = ({ctx.vector(type_)})({total});")
        ctx.emit("#endif")

    return lower


_VNNI = "defined(__AVX512VNNI__) && defined(__AVX512VL__)"
_DOTS = {
    (16, 128): ("defined(__SSE2__)", "_mm_madd_epi16({x}, {y})"),
    (16, 256): ("defined(__AVX2__)", "_mm256_madd_epi16({x}, {y})"),
    (16, 512): ("defined(__AVX512BW__)", "_mm512_madd_epi16({x}, {y})"),
    (8, 128): (_VNNI, "_mm_dpbusd_epi32(_mm_setzero_si128(), {x}, {y})"),
    (8, 256): (_VNNI, "_mm256_dpbusd_epi32(_mm256_setzero_si256(), {x}, {y})"),
    (8, 512): (_VNNI, "_mm512_dpbusd_epi32(_mm512_setzero_si512(), {x}, {y})"),
}
"""The width of the parts and the bits of a vector -> the features under which an instruction has the sum, and it."""


def _dot_bf16(ctx: Printing, op: Operation) -> None:
    if whole(ctx, op):
        type_ = c_type(op, op.results[0].type)
        floats, words = ctx.vector(type_), ctx.vector(type_.unsigned)
        x, y = (f"({words}){name.text}" for name in ctx.texts(op))
        low = f"({floats})({x} << 16) * ({floats})({y} << 16)"
        ctx.let(op, f"{low} + ({floats})({x} & 0xffff0000u) * ({floats})({y} & 0xffff0000u)")
        return

    def formula(x: Sequence[str]) -> str:
        low = " * ".join(f"whence_float((uint32_t){text} << 16)" for text in x)
        high = " * ".join(f"whence_float((uint32_t){text} & 0xffff0000)" for text in x)
        return f"{low} + {high}"

    ctx.by_lane(op, formula, op.operands)


def _widen_pairs(ctx: Printing, op: Operation) -> None:
    def formula(x: Sequence[str]) -> str:
        low, high = (f"(uint32_t)(int32_t)(int8_t)({x[0]}{shift})" for shift in ("", " >> 8"))
        return f"(int32_t)(({low} & 0xffff) | {high} << 16)"

    if not whole(ctx, op):
        ctx.by_lane(op, formula, op.operands)
        return
    type_ = c_type(op, op.results[0].type)
    count = 2 * type_.lanes
    bytes_, wide = (CType(f"int{bits}_t", f"i{bits}", bits, count) for bits in (8, 16))
    text = ctx.converted(f"({ctx.vector(bytes_)}){ctx.texts(op)[0].text}", bytes_, wide)
    ctx.let(op, f"({ctx.vector(type_)}){text}")


def _join_bytes(ctx: Printing, op: Operation) -> None:
    if whole(ctx, op):
        type_ = c_type(op, op.results[0].type)
        words: list[str] = []
        for number, operand in enumerate(op.operands):
            given = c_type(op, operand.type)
            bytes_ = f"({ctx.vector(given.unsigned)}){ctx.names[operand].text}"
            words.append(f"{ctx.converted(bytes_, given.unsigned, type_.unsigned)} << {8 * number}")
        ctx.let(op, f"({ctx.vector(type_)})({' | '.join(words)})")
        return

    def formula(x: Sequence[str]) -> str:
        parts = (f"(uint32_t)(uint8_t){text} << {8 * number}" for number, text in enumerate(x))
        return f"(int32_t)({' | '.join(parts)})"

    ctx.by_lane(op, formula, op.operands)


_PAIRS = ("llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw.d.512")
_FOURS = tuple(f"llvm.x86.avx512.vpdpbusd.{bits}" for bits in (128, 256, 512))
_X86: dict[str, tuple[str, str]] = {
    _PAIRS[0]: ("__SSE2__", "_mm_madd_epi16"),
    _PAIRS[1]: ("__AVX2__", "_mm256_madd_epi16"),
    _PAIRS[2]: ("__AVX512BW__", "_mm512_madd_epi16"),
    _FOURS[0]: ("defined(__AVX512VNNI__) && defined(__AVX512VL__)", "_mm_dpbusd_epi32"),
    _FOURS[1]: ("defined(__AVX512VNNI__) && defined(__AVX512VL__)", "_mm256_dpbusd_epi32"),
    _FOURS[2]: ("__AVX512VNNI__", "_mm512_dpbusd_epi32"),
}
"""Instructions by LLVM's names: the feature that has them, and the function of C compilers."""


def _instruction(name: str) -> Callable[[Sequence[str]], str] | None:
    """Return the formula of lane `l` of an instruction, if C source has it."""
    if name in _PAIRS:
        return lambda x: " + ".join(
            f"(uint32_t)((int32_t){x[0]}[2 * l + {part}] * {x[1]}[2 * l + {part}])" for part in (0, 1)
        )
    if name in _FOURS:
        return lambda x: " + ".join(
            [
                f"(uint32_t){x[0]}[l]",
                *(f"(uint32_t)((uint8_t){x[1]}[4 * l + {part}] * {x[2]}[4 * l + {part}])" for part in range(4)),
            ]
        )
    if name.startswith("llvm.lrint."):
        return lambda x: f"lrintf({x[0]}[l])"
    if name == "llvm.x86.avx512.permvar.sf.512":
        return lambda x: f"{x[0]}[{x[1]}[l] & 15]"
    return None


def _call_extern(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, CallExternOp)
    callee = op.callee.data
    if callee.startswith("llvm."):
        _call_instruction(ctx, op, callee)
        return
    if callee.startswith("whence_") and callee != TILES_ALLOWED:
        fail(op, "a kernel that calls nothing of the process that compiled it", callee)
    arguments: list[str] = []
    types: list[str] = []
    for number, value in enumerate(op.arguments):
        text = ctx.names[value].text
        if number in op.offset_of:
            text = f"{text} + {ctx.names[op.offset_of[number]].text}"
        arguments.append(text)
        buffer = str(value.type).startswith("!tir.buffer")
        type_ = c_type(op, buffer_of(value).element_type if buffer else value.type)
        if type_.lanes:
            fail(op, "arguments that are scalars or buffers", str(value.type))
        types.append(f"{type_.stored} *" if buffer else type_.scalar)
    result = c_type(op, op.outputs[0].type).scalar if op.outputs else "void"
    prototype = f"extern {result} {callee}({', '.join(types) or 'void'});"
    if ctx.externs.setdefault(callee, prototype) != prototype:
        fail(op, f"one signature of {callee}", f"{ctx.externs[callee]} and {prototype}")
    # Buffers that the kernel only reads are not const for what it calls.
    cast_ = [
        f"({type_}){argument}" if "*" in type_ else argument for type_, argument in zip(types, arguments, strict=True)
    ]
    call = f"{callee}({', '.join(cast_)})"
    if not op.outputs:
        ctx.emit(f"{call};")
        return
    name = ctx.unused(op.outputs[0].name_hint)
    ctx.emit(f"WHENCE_ANY const {result} {name} = {call};")
    ctx.names[op.outputs[0]] = Name(name, name)


def _call_instruction(ctx: Printing, op: CallExternOp, callee: str) -> None:
    formula = _instruction(callee)
    if formula is None or len(op.outputs) != 1:
        fail(op, "an instruction that C source has", callee)
    (result,) = op.outputs
    type_ = c_type(op, result.type)
    texts = [ctx.names[value].text for value in op.arguments]
    name = ctx.declare(result, type_)
    known = _X86.get(callee) if ctx.vectors else None
    if callee.startswith("llvm.lrint.") and ctx.vectors and type_.lanes in (4, 8, 16):
        bits = 32 * type_.lanes
        feature = {128: "__SSE2__", 256: "__AVX__", 512: "__AVX512F__"}[bits]
        call = f"_mm{bits if bits > 128 else ''}_cvtps_epi32((__m{bits}){texts[0]})"
        known = feature, ""
    elif known is not None:
        bits = 32 * type_.lanes
        call = f"{known[1]}({', '.join(f'(__m{bits}i){text}' for text in texts)})"
    else:
        call = ""
    if known is None:
        ctx.fill(name, type_, formula(texts))
        return
    feature = known[0] if " " in known[0] else f"defined({known[0]})"
    ctx.emit(f"#if {feature}")
    ctx.emit(f"{name} = ({ctx.vector(type_)}){call};")
    ctx.emit("#else")
    ctx.fill(name, type_, formula(texts))
    ctx.emit("#endif")


VECTORS: Mapping[type[Operation], Handler] = {
    vector.BroadcastOp: _broadcast,
    vector.ReductionOp: _reduction,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector.BitcastOp: bitcast,
    Dot2Op: _dot(16, signed=True),
    Dot4Op: _dot(8, signed=False),
    DotBf16Op: _dot_bf16,
    WidenPairsOp: _widen_pairs,
    JoinBytesOp: _join_bytes,
    CallExternOp: _call_extern,
}
