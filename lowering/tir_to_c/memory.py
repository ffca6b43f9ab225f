"""Buffers, indices, loads and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineDimExpr, AffineExpr, AffineMap

from ...dialects.affine import Linear, Range, below, bounds, linear, linear_bounds
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import at_least, negative
from ...dialects.tir import (
    AllocConstOp,
    AllocOp,
    IndexOp,
    LoadOp,
    PrefetchOp,
    StoreOp,
    TileLoadOp,
    TileStoreOp,
    buffer_of,
    index_ranges,
)
from ...dialects.tir.index_maps import flat_index
from ...dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ...provenance.diagnostics import fail
from ..tir_to_llvm.memory import SPARE, every_other
from .context import Handler, Printing, buffer_name
from .types import I8, I32, CType, c_type, literal, numbers

Access: TypeAlias = LoadOp | StoreOp | MaskedLoadOp | MaskedStoreOp | PrefetchOp | TileLoadOp | TileStoreOp


class Indices:
    """The index operands of an op, and expressions of them as text."""

    def __init__(self, ctx: Printing, operands: Sequence[SSAValue]):
        self.ctx = ctx
        self.operands = tuple(operands)
        self.ranges: tuple[Range, ...] = tuple(index_ranges(self.operands))

    def form(self, expr: AffineExpr) -> Linear:
        return linear(expr, self.ranges)

    def text(self, form: Linear) -> str:
        """A linear form as a sum."""
        parts = [self._term(atom, factor) for atom, factor in form.terms]
        if not same(form.constant, 0) or not parts:
            parts.append(self.ctx.size(form.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def _term(self, atom: AffineExpr, factor: Size) -> str:
        text = self._atom(atom)
        if same(factor, 1):
            return text
        return f"-{text}" if same(factor, -1) else f"{text} * {self.ctx.size(factor)}"

    def _atom(self, atom: AffineExpr) -> str:
        match atom:
            case AffineDimExpr():
                return self.ctx.names[self.operands[atom.position]].text
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
                value, by = self.text(self.form(lhs)), self.text(self.form(rhs))
                if not by.isdecimal():
                    by = f"whence_max({by}, 1)"
                quotient = kind is AffineBinaryOpKind.FloorDiv
                low, high = bounds(lhs, self.ranges)
                if at_least(low, 0) and by.isdecimal() and below(high, 1 << 31):
                    # Half as wide, and unsigned: the least instructions.
                    return f"(int64_t)((uint32_t)({value}) {'/' if quotient else '%'} {by}u)"
                if at_least(low, 0):
                    return f"(({value}) {'/' if quotient else '%'} {by})"
                return f"whence_floor{'div' if quotient else 'mod'}({value}, {by})"
            case _:
                raise ValueError(f"not an atom: {atom}")

    def guard(self, map: AffineMap) -> str:
        """The condition that all results are at least 0: "true" or "false" where the ranges decide it."""
        forms = [form for expr in map.results if not at_least(self._ends(form := self.form(expr))[0], 0)]
        if any(negative(self._ends(form)[1]) for form in forms):
            return "false"
        return " && ".join(f"{self.text(form)} >= 0" for form in forms) or "true"

    def _ends(self, form: Linear) -> Range:
        return linear_bounds(form, self.ranges)


class Place:
    """The point of an access, or the points of its lanes."""

    def __init__(self, ctx: Printing, op: Access, value: CType):
        self.ctx, self.op, self.value = ctx, op, value
        self.indices = Indices(ctx, op.indices)
        self.type = buffer_of(op.buffer)
        self.form = self.indices.form(flat_index(op.map.data.results, self.type.strides))
        self.base = ctx.names[op.buffer].text
        self.stored = c_type(op, self.type.element_type)
        self.const = "const " if op.buffer in ctx.readonly else ""
        self.words = self.stored.bits == I8.bits and value.bits == I32.bits and not value.is_bool

    def at(self, lane: str = "") -> str:
        """The element of the first lane, or of another one: a number, or `l`."""
        index, step = self.indices.text(self.form), self.op.step
        more = lane and (lane if step == 1 else f"{lane} * {step}" if lane == "l" else str(int(lane) * step))
        if index == "0":
            return f"{self.base}[{more or 0}]"
        return f"{self.base}[{index} + {more}]" if more else f"{self.base}[{index}]"

    def whole(self, count: int = 0, first: str = "") -> str:
        """The elements of all lanes, neighbours in memory, as a vector."""
        stored = I8 if self.stored.is_bool else self.value if self.words else self.stored
        name = self.ctx.vector(stored.of(count or self.value.lanes))
        return f"*({self.const}{name}_u *)&{self.at(first)}"

    def read(self) -> str:
        """A scalar, or a vector of GNU's."""
        count = self.value.lanes
        if not count:
            return self.lane()
        vector = self.ctx.vector(self.value)
        if self.op.step == (4 if self.words else 1):
            return self._mask(self.whole()) if self.value.is_bool else self.whole()
        if self.op.step == 0:
            return f"{vector}_of({'-' if self.value.is_bool else ''}{self.lane()})"
        if self.op.step == 2 and count > 2 and not self.value.is_bool and not self.words:
            halves = f"{self.whole()}, {_moved(self.whole(), count - 1)}"
            return f"__builtin_shufflevector({halves}, {', '.join(map(str, every_other(count)))})"
        sign = "-" if self.value.is_bool else ""
        return f"({vector}){{{', '.join(sign + self.lane(str(lane)) for lane in range(count))}}}"

    def _mask(self, bytes_: str) -> str:
        return self.ctx.converted(f"{bytes_} != 0", I8.of(self.value.lanes), self.value)

    def lane(self, lane: str = "") -> str:
        """The value of one lane."""
        if self.words:
            return f"whence_word(&{self.at(lane)})"
        return self.at(lane)

    def is_private(self) -> bool:
        """Return whether all lanes lie in a local buffer, where those masked out may be touched, too."""
        if self.type.scope.data != "local" or self.op.step != 1 or self.op.buffer in self.ctx.readonly:
            return False
        spare = 0 if self.type.is_static else SPARE * 8 // self.stored.bits
        low, high = linear_bounds(self.form, self.indices.ranges)
        return at_least(low, 0) and below(high + self.value.lanes - 1, self.type.size + spare)


def _moved(text: str, elements: int) -> str:
    """A vector that begins some elements later."""
    return f"{text.removesuffix(']')} + {elements}]"


def constant_of(ctx: Printing, values: Sequence[float], type_: CType) -> str:
    """A constant: a scalar, or a vector of GNU's."""
    if not type_.lanes:
        return literal(values[0], type_)
    name = ctx.vector(type_)
    texts = [str(-int(bool(value))) if type_.is_bool else literal(value, type_) for value in values]
    if len(set(texts)) == 1:
        return f"{name}_of({texts[0]})"
    return f"({name}){{{', '.join(texts)}}}"


def _load(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    type_ = c_type(op, op.result.type)
    place = Place(ctx, op, type_)
    condition = "true" if op.guard is None else place.indices.guard(op.guard.data)
    otherwise = [] if op.otherwise is None else numbers(op.otherwise, max(type_.lanes, 1))
    if not type_.lanes:
        other = literal(otherwise[0], type_) if otherwise else ""
        text = place.read() if condition == "true" else f"{condition} ? {place.read()} : {other}"
        ctx.let(op, other if condition == "false" else text)
    elif not ctx.vectors:
        name = ctx.declare(op.result, type_)
        lane = place.lane("l")
        if condition == "true":
            ctx.fill(name, type_, lane)
            return
        _fill_numbers(ctx, name, type_, otherwise)
        ctx.fill(name, type_, lane, condition)
    elif condition == "true":
        ctx.let(op, place.read())
    else:
        name = ctx.declare(op.result, type_, constant_of(ctx, otherwise, type_))
        ctx.emit(f"if ({condition}) {name} = {place.read()};")


def _fill_numbers(ctx: Printing, name: str, type_: CType, values: Sequence[float]) -> None:
    """Set the lanes of a vector to numbers."""
    if len(set(map(repr, values))) == 1:
        ctx.fill(name, type_, literal(values[0], type_))
        return
    sign = "-" if type_.is_bool and ctx.vectors else ""
    for lane, value in enumerate(values):
        ctx.emit(f"{name}[{lane}] = {sign}{literal(value, type_)};")


def _store(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    type_ = c_type(op, op.value.type)
    place, text = Place(ctx, op, type_), ctx.names[op.value].text
    if not type_.lanes:
        ctx.emit(f"{place.at()} = {text};")
        return
    if op.step == 0:
        fail(op, "a stride other than 0", "0")
    if not ctx.vectors or op.step != 1:
        ctx.emit(f"for (int l = 0; l < {type_.lanes}; l++) {place.at('l')} = {ctx.lane(op.value)};")
    else:
        ctx.emit(f"{place.whole()} = {_bytes(ctx, text, type_)};")


def _bytes(ctx: Printing, text: str, type_: CType) -> str:
    """A vector as it lies in memory: bytes of a mask."""
    return ctx.converted(f"-{text}", type_, I8.of(type_.lanes)) if type_.is_bool else text


def _mask(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, MaskOp)
    indices, type_ = Indices(ctx, op.indices), c_type(op, op.result.type)
    tests: list[str] = []
    firsts: list[str] = []
    for expr, step in zip(op.map.data.results, op.by_lane, strict=True):
        firsts.append(indices.text(indices.form(expr)))
        tests.append(f"{firsts[-1]} {'+' if step >= 0 else '-'} l * {abs(step)} >= 0" if step else f"{firsts[-1]} >= 0")
    if op.by_lane == (-1,):
        ctx.prefixes[op.result] = f"{firsts[0]} + 1"
    if not ctx.vectors:
        name = ctx.declare(op.result, type_)
        ctx.fill(name, type_, " && ".join(f"({test})" for test in tests) or "true")
        return
    if all(_by_prefix(ctx, use.operation) for use in op.result.uses):
        return
    vector, count = ctx.vector(type_), type_.lanes
    parts: list[str] = []
    for first, step in zip(firsts, op.by_lane, strict=True):
        # Beyond what the lanes take off all numbers are alike, but for their sign.
        reach = abs(step) * count
        start = f"{vector}_of((int32_t)whence_max(whence_min({first}, {reach}), {-reach - 1}))"
        parts.append(f"({start} >= ({vector}){{{', '.join(str(-step * lane) for lane in range(count))}}})")
    ctx.let(op, " & ".join(parts) or f"{vector}_of(-1)")


def _masked_load(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, MaskedLoadOp)
    type_ = c_type(op, op.result.type)
    place, values = Place(ctx, op, type_), numbers(op.otherwise, type_.lanes)
    if ctx.vectors and place.is_private():
        other = constant_of(ctx, values, type_)
        ctx.let(op, chosen(ctx, ctx.names[op.mask].text, place.read(), other, type_))
        return
    if _by_prefix(ctx, op):
        count = _prefix_lanes(ctx.prefixes[op.mask], type_)
        other = constant_of(ctx, values, type_)
        ctx.let(op, f"{ctx.prefixed(type_)}_load_first({other}, &{place.at()}, {count})")
        return
    if ctx.vectors:
        name = ctx.declare(op.result, type_, constant_of(ctx, values, type_))
    else:
        name = ctx.declare(op.result, type_)
        _fill_numbers(ctx, name, type_, values)
    ctx.fill(name, type_, place.lane("l"), ctx.lane(op.mask))


def _by_prefix(ctx: Printing, op: Operation) -> bool:
    """Return whether an access copies the bytes of leading lanes."""
    if not isinstance(op, MaskedLoadOp | MaskedStoreOp) or op.step != 1 or not ctx.vectors:
        return False
    mask = op.mask.owner
    if not isinstance(mask, MaskOp) or mask.parent_block() is not op.parent_block():
        return False
    value = op.result.type if isinstance(op, MaskedLoadOp) else op.value.type
    type_ = c_type(op, value)
    return op.mask in ctx.prefixes and not type_.is_bool and not Place(ctx, op, type_).is_private()


def _prefix_lanes(prefix: str, type_: CType) -> str:
    """The number of leading lanes of a vector that are set."""
    number = _number(prefix)
    if number is None:
        return f"whence_max(whence_min({prefix}, {type_.lanes}), 0)"
    return str(max(min(number, type_.lanes), 0))


def _number(text: str) -> int | None:
    """The number that `n + 1` is, if `n` is one."""
    first = text.removesuffix(" + 1")
    return int(first) + 1 if first.lstrip("-").isdecimal() else None


def _masked_store(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, MaskedStoreOp)
    if op.step == 0:
        fail(op, "a stride other than 0", "0")
    type_ = c_type(op, op.value.type)
    place, text = Place(ctx, op, type_), ctx.names[op.value].text
    if ctx.vectors and place.is_private() and not type_.is_bool:
        ctx.emit(f"{place.whole()} = {chosen(ctx, ctx.names[op.mask].text, text, place.read(), type_)};")
        return
    if _by_prefix(ctx, op):
        count = _prefix_lanes(ctx.prefixes[op.mask], type_)
        ctx.emit(f"{ctx.prefixed(type_)}_store_first(&{place.at()}, {text}, {count});")
        return
    ctx.emit(
        f"for (int l = 0; l < {type_.lanes}; l++) if ({ctx.lane(op.mask)}) {place.at('l')} = {ctx.lane(op.value)};"
    )


def chosen(ctx: Printing, mask: str, first: str, second: str, type_: CType) -> str:
    """In each lane of GNU's vectors the first where the mask is set, the second where not."""
    integers = ctx.vector(type_.integer)
    wide = mask if type_.bits == I32.bits else ctx.converted(mask, I32.of(type_.lanes), type_.integer)
    return f"WHENCE_SELECT({ctx.vector(type_)}, {integers}, {wide}, {first}, {second})"


def _prefetch(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, PrefetchOp)
    place = Place(ctx, op, c_type(op, buffer_of(op.buffer).element_type))
    ctx.emit(f"WHENCE_PREFETCH(&{place.at()}, {op.locality.value.data});")


def _alloc(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, AllocOp)
    if op.result in ctx.names:
        return  # of an open size: taken at the top of the function
    type_ = buffer_of(op.result)
    name, element = ctx.unused(op.result.name_hint), buffer_name(type_, op)
    if type_.scope.data == "local":
        read = any(isinstance(use.operation, LoadOp | MaskedLoadOp) for use in op.result.uses)
        unused = "" if read else "WHENCE_ANY "
        # Masked stores of whole vectors read what the other lanes hold.
        masked = any(isinstance(use.operation, MaskedStoreOp) for use in op.result.uses)
        start = " = {0}" if masked and ctx.vectors else ""
        ctx.emit(f"{unused}_Alignas(64) {element} {name}[{max(cast(int, type_.size), 1)}]{start};")
    else:
        if ctx.in_parallel:
            fail(op, "a global buffer outside of parallel loops", "one inside")
        offset, ctx.workspace = ctx.workspace, ctx.workspace + (cast(int, type_.nbytes) + 63) // 64 * 64
        ctx.emit(f"{element} *restrict {name} = ({element} *)((char *)workspace + {offset});")
    ctx.name_buffer(op.result, name)


def _alloc_const(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, AllocConstOp)
    type_ = buffer_of(op.result)
    element = c_type(op, type_.element_type)
    values = [literal(value, element) for value in numbers(op.value, cast(int, type_.size))]
    name = ctx.unused(op.result.name_hint or "table")
    ctx.readonly.add(op.result)
    ctx.emit(f"static const _Alignas(64) {element.stored} {name}[{len(values)}] = {{{', '.join(values)}}};")
    ctx.name_buffer(op.result, name)


def _index(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, IndexOp)
    indices, type_ = Indices(ctx, op.indices), c_type(op, op.result.type)
    first, step = indices.text(indices.form(op.map.data.results[0])), op.stride.value.data
    if not type_.lanes:
        ctx.let(op, first)
    elif not ctx.vectors:
        name = ctx.declare(op.result, type_)
        ctx.fill(name, type_, f"{first} + l * {step}")
    else:
        vector = ctx.vector(type_)
        ramp = f" + ({vector}){{{', '.join(str(step * lane) for lane in range(type_.lanes))}}}" if step else ""
        ctx.let(op, f"{vector}_of({first}){ramp}")


MEMORY: Mapping[type[Operation], Handler] = {
    LoadOp: _load,
    StoreOp: _store,
    MaskOp: _mask,
    MaskedLoadOp: _masked_load,
    MaskedStoreOp: _masked_store,
    PrefetchOp: _prefetch,
    AllocOp: _alloc,
    AllocConstOp: _alloc_const,
    IndexOp: _index,
}
