"""Vectors wider than the machine's registers in pieces: C compilers keep wider ones in memory, gcc all the time.

An op that works lane by lane becomes one for each piece. A reduction first joins the halves of the lanes, as it does
anyway. Other ops get their wide operands put together again, and their results are cut where somebody wants pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects.tir import (
    CallExternOp,
    Dot2Op,
    Dot4Op,
    DotBf16Op,
    IndexOp,
    JoinBytesOp,
    LoadOp,
    PrimFuncOp,
    StoreOp,
    WidenPairsOp,
    buffer_of,
)
from ...dialects.tir.lanes import CastOp, CompareOp, SelectOp
from ...dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ...provenance.copies import copy_of
from ...provenance.walk import walk
from ..tir_to_llvm.types import lanes, vector_type
from .math_ops import MATH
from .types import c_type

_ACCESSES = (LoadOp, StoreOp, MaskedLoadOp, MaskedStoreOp)
_BY_LANE = (
    *(CastOp, CompareOp, SelectOp, Dot2Op, Dot4Op, DotBf16Op, JoinBytesOp, WidenPairsOp, MaskOp, IndexOp),
    *(*_ACCESSES, *MATH),
)
_FLOATS: dict[str, Callable[[SSAValue, SSAValue], Operation]] = {"add": arith.AddfOp, "mul": arith.MulfOp}
_JOINED: dict[str, Callable[[SSAValue, SSAValue], Operation]] = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
    "maxsi": arith.MaxSIOp,
    "minsi": arith.MinSIOp,
    "maxui": arith.MaxUIOp,
    "minui": arith.MinUIOp,
    "maximumf": arith.MaximumfOp,
    "minimumf": arith.MinimumfOp,
    "maxnumf": arith.MaxnumfOp,
    "minnumf": arith.MinnumfOp,
}
"""The op that joins two vectors as a kind of reduction joins two numbers; of floats that of `_FLOATS` comes first."""


def split_vectors(func: PrimFuncOp, register_bits: int) -> None:
    """Rewrite a kernel, in the form that C is printed of, so that as few vectors as can be exceed a register.

    The bits of results stay. All vectors have lengths that are powers of 2.
    """
    splitter = _Splitter(register_bits)
    for op in list(walk(func)):
        splitter.visit(op)
    splitter.clean()


class _Splitter:
    def __init__(self, register_bits: int):
        self._register = register_bits
        self._parts: dict[SSAValue, list[SSAValue]] = {}
        """The pieces of values, of equal lengths."""
        self._replaced: list[Operation] = []

    def visit(self, op: Operation) -> None:
        vectors = [value for value in (*op.operands, *op.results) if vector_type(value.type) is not None]
        length = min((self._length(op, value) for value in vectors), default=0)
        if not any(lanes(value.type) > length for value in vectors):
            return
        if isinstance(op, vector.BroadcastOp | arith.ConstantOp) and not any(v in vectors for v in op.operands):
            self._repeat(op, length)
        elif isinstance(op, vector.ReductionOp):
            self._reduce(op)
        elif isinstance(op, vector.ExtractOp):
            self._extract(op)
        elif _is_by_lane(op) and len({lanes(value.type) for value in vectors}) == 1:
            self._split(op, lanes(vectors[0].type), length)
        else:
            for number, operand in enumerate(op.operands):
                op.operands[number] = self._whole(operand, op)

    def clean(self) -> None:
        """Remove the ops that pieces replace."""
        for op in reversed(self._replaced):
            op.detach()
            op.erase()

    def _length(self, op: Operation, value: SSAValue) -> int:
        """Return how many lanes of a value one op may work on."""
        if (parts := self._parts.get(value)) is not None:
            return lanes(parts[0].type)
        return max(self._register // c_type(op, value.type).bits, 1)

    def _pieces(self, value: SSAValue, length: int, before: Operation) -> list[SSAValue]:
        """Return the pieces of a value; shorter ones than it has are cut of them."""
        parts = self._parts.get(value, [value])
        have = lanes(parts[0].type)
        if have == length:
            return parts
        cut: list[SSAValue] = []
        for part in parts:
            for first in range(0, have, length):
                cut.append(_shuffled(part, part, range(first, first + length), before))
        return cut

    def _whole(self, value: SSAValue, before: Operation) -> SSAValue:
        """Return a value in one piece."""
        parts = self._parts.get(value)
        while parts is not None and len(parts) > 1:
            every = range(2 * lanes(parts[0].type))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [_shuffled(first, second, every, before) for first, second in pairs]
        return parts[0] if parts is not None else value

    def _repeat(self, op: Operation, length: int) -> None:
        """Make a scalar, or a constant, as many lanes of a piece; equal pieces are one."""
        (result,) = op.results
        count = lanes(result.type)
        pieces: list[SSAValue] = []
        for first in range(0, count, length):
            properties = dict(op.properties)
            if isinstance(op, arith.ConstantOp):
                properties["value"] = _sliced(op.value, first, length, count)
                if pieces and properties["value"] == cast("arith.ConstantOp", pieces[0].owner).value:
                    pieces.append(pieces[0])
                    continue
            elif pieces:
                pieces.append(pieces[0])
                continue
            pieces += self._like(op, list(op.operands), [_shortened(result.type, length)], properties).results
        self._parts[result] = pieces
        self._replaced.append(op)

    def _split(self, op: Operation, count: int, length: int) -> None:
        columns = [
            self._pieces(value, length, op) if vector_type(value.type) is not None else [value] * (count // length)
            for value in op.operands
        ]
        rows = list(zip(*columns, strict=True)) if columns else [()] * (count // length)
        pieces: dict[SSAValue, list[SSAValue]] = {result: [] for result in op.results}
        for number, operands in enumerate(rows):
            types = [_shortened(result.type, length) for result in op.results]
            properties = _moved(op, number * length, length, count)
            piece = self._like(op, operands, types, properties)
            for result, part in zip(op.results, piece.results, strict=True):
                pieces[result].append(part)
        self._parts |= pieces
        self._replaced.append(op)

    def _reduce(self, op: vector.ReductionOp) -> None:
        kind, type_ = op.kind.data.value, c_type(op, op.dest.type)
        join = (_FLOATS if type_.is_float or type_.is_half else {}).get(kind) or _JOINED[kind]
        parts = self._parts.get(op.vector) or self._pieces(op.vector, self._length(op, op.vector), op)
        while len(parts) > 1:
            half, before = len(parts) // 2, parts
            parts = list[SSAValue]()
            for first, second in zip(before[:half], before[half:], strict=True):
                joined = join(first, second)
                joined.location = op.location
                _insert(joined, op)
                parts.append(joined.results[0])
        op.operands[0] = parts[0]

    def _extract(self, op: vector.ExtractOp) -> None:
        (place,) = cast("DenseArrayBase[Any]", op.properties["static_position"]).get_values()
        parts = self._parts.get(op.vector)
        if parts is None or place < 0:
            op.operands[0] = self._whole(op.vector, op)
            return
        part, lane = divmod(place, lanes(parts[0].type))
        op.operands[0] = parts[part]
        op.properties["static_position"] = DenseArrayBase.from_list(i64, [lane])

    @staticmethod
    def _like(
        op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute], properties: dict[str, Attribute]
    ) -> Operation:
        """Return an op of the same kind before `op`, for whom that is."""
        piece = copy_of(op, operands, types, properties=properties)
        _insert(piece, op)
        return piece


def _insert(new: Operation, before: Operation) -> None:
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(new, before)


def _shuffled(first: SSAValue, second: SSAValue, places: Sequence[int], before: Operation) -> SSAValue:
    type_ = _shortened(first.type, len(places))
    op = vector.ShuffleOp.create(
        operands=[first, second], result_types=[type_], properties={"mask": DenseArrayBase.from_list(i64, list(places))}
    )
    op.location = before.location
    _insert(op, before)
    return op.results[0]


def _is_by_lane(op: Operation) -> bool:
    """Return whether each lane of the results depends on the same lane of the operands only."""
    if isinstance(op, _ACCESSES):
        strides = buffer_of(op.buffer).strides
        return bool(strides) and strides[-1] == 1
    if isinstance(op, CallExternOp):
        return op.callee.data.startswith("llvm.lrint.")
    return isinstance(op, _BY_LANE) or op.name.startswith("arith.") or isinstance(op, vector.FMAOp)


def _moved(op: Operation, by: int, length: int, count: int) -> dict[str, Attribute]:
    """Return the properties of the piece of an op that begins `by` lanes on."""
    properties = dict(op.properties)
    if isinstance(op, _ACCESSES):
        properties["map"] = _shifted(op.map.data, {-1: by * op.step})
        if isinstance(op, LoadOp | MaskedLoadOp) and op.otherwise is not None:
            properties["otherwise"] = _sliced(op.otherwise, by, length, count)
    elif isinstance(op, MaskOp):
        properties["map"] = _shifted(op.map.data, {at: by * step for at, step in enumerate(op.by_lane)})
    elif isinstance(op, IndexOp):
        properties["map"] = _shifted(op.map.data, {0: by * op.stride.value.data})
    return properties


def _shifted(map_: AffineMap, by: dict[int, int]) -> AffineMapAttr:
    results: list[AffineExpr] = list(map_.results)
    for at, number in by.items():
        if number:
            results[at] = results[at] + number
    return AffineMapAttr(AffineMap(map_.num_dims, map_.num_symbols, tuple(results)))


def _sliced(value: Attribute, first: int, length: int, count: int) -> Attribute:
    """Return some lanes of a constant of so many."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return value
    dense = cast("DenseIntOrFPElementsAttr[Any]", value)
    numbers = list(dense.get_values())
    type_ = cast("VectorType[Any]", _shortened(dense.type, length))
    chosen = numbers if len(numbers) == 1 else numbers[first : first + length]
    assert len(numbers) in (1, count)
    return DenseIntOrFPElementsAttr.from_list(type_, chosen)


def _shortened(type_: Attribute, length: int) -> Attribute:
    """Return a vector type with another length; other types as they are."""
    vector_ = vector_type(type_)
    return type_ if vector_ is None else VectorType(cast(Any, vector_).element_type, [length])
