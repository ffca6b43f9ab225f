"""An interpreter of kernels in tir, which knows no pass.

An op is read once, and becomes a step, which runs as often as the op does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, VectorType
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from whence.dialects import tir
from whence.dialects.tir import lanes as tir_lanes
from whence.dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp

Value = Any
"""A number, or a numpy array with one per lane."""


def lane_count(type: Attribute) -> int:
    return cast(VectorType[Attribute], type).get_shape()[0] if isinstance(type, VectorType) else 0


def number(attribute: Attribute, type: Attribute) -> Value:
    if (values := getattr(attribute, "get_values", None)) is not None:
        return np.array(values(), np.float32 if "f32" in str(type) else np.int64)
    data = cast(FloatAttr | IntegerAttr, attribute).value.data
    return np.float32(data) if isinstance(attribute, FloatAttr) else np.int64(data)


COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {"ogt": np.greater, "olt": np.less, "slt": np.less}


WHERE: Callable[[Value, Value, Value], Value] = np.where


def select(condition: Value, first: Value, second: Value) -> Value:
    if np.ndim(condition):
        return WHERE(condition, first, second)
    return first if condition else second


def _same(value: Value) -> Value:
    return value


def _floats(value: Value) -> Value:
    return np.asarray(value, np.float32)


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.addi": np.add,
    "arith.andi": np.logical_and,
    "arith.xori": np.logical_xor,
}


Array = NDArray[Any]
Step = Callable[[], None]


_FORMS = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.CeilDiv: "-(-{} // {})",
}


def python_of(expr: AffineExpr) -> str:
    if isinstance(expr, AffineBinaryOpExpr):
        return _FORMS[expr.kind].format(python_of(expr.lhs), python_of(expr.rhs))
    return str(expr)


@cache
def calculation(affine: AffineMap) -> Callable[..., list[int]]:
    """The function of ints that a map is: a tree that is walked for each element takes most of a run."""
    names = ", ".join(f"d{number}" for number in range(affine.num_dims))
    return eval(f"lambda {names}: [{', '.join(map(python_of, affine.results))}]")


class Interpreter:
    """Runs one kernel; every element that is touched must be there."""

    def __init__(self, func: tir.PrimFuncOp, arrays: Sequence[np.ndarray]):
        self.values: dict[SSAValue, Value] = {}
        self.steps: dict[Block, list[Step]] = {}
        for argument, array in zip(func.block.args, arrays, strict=True):
            assert tir.buffer_of(argument).size == array.size
            self.values[argument] = array.reshape(-1).copy()
        self.run(func.block)
        self.arrays = [self.values[argument] for argument in func.block.args]

    def run(self, block: Block) -> None:
        if block not in self.steps:
            self.steps[block] = [self.step(op) for op in block.ops]
        for step in self.steps[block]:
            step()

    def point(self, map: AffineMap, indices: Sequence[SSAValue]) -> Callable[[], list[int]]:
        values, function, indices = self.values, calculation(map), tuple(indices)
        return lambda: function(*[int(values[index]) for index in indices])

    def holds(self, map: AffineMap, indices: Sequence[SSAValue]) -> Callable[[], bool]:
        point = self.point(map, indices)
        return lambda: all(value >= 0 for value in point())

    def some(self, op: MaskedLoadOp | MaskedStoreOp) -> Callable[[], tuple[Value, Value]]:
        """The lanes that take part, and the places of those, each of which must be there."""
        values, mask, step, point = self.values, op.mask, op.step, self.point(op.map.data, op.indices)
        size = math.prod(tir.buffer_of(op.buffer).get_shape())
        strides = tir.buffer_of(op.buffer).strides

        def taken() -> tuple[Value, Value]:
            running = np.flatnonzero(values[mask])
            places = sum(x * stride for x, stride in zip(point(), strides, strict=True)) + step * running
            assert np.all((places >= 0) & (places < size)), str(op)
            return running, places

        return taken

    def elements(self, op: tir.LoadOp | tir.StoreOp, type: Attribute) -> Callable[[], Value]:
        """The place, or the places of the lanes, that an access touches."""
        buffer, point = tir.buffer_of(op.buffer), self.point(op.map.data, op.indices)
        shape, size = buffer.get_shape(), buffer.size
        strides = [math.prod(map(int, shape[axis + 1 :])) for axis in range(len(shape))]
        lanes: Array = int(op.step) * np.arange(lane_count(type))

        def touched() -> Value:
            indices = point()
            assert all(0 <= x < extent for x, extent in zip(indices, shape, strict=True)), (str(op), indices)
            flat = int(sum(x * stride for x, stride in zip(indices, strides, strict=True)))
            if not lanes.size:
                return flat
            places: Array = flat + lanes
            assert places.min() >= 0
            assert places.max() < size
            return places

        return touched

    def sets(self, result: SSAValue, function: Callable[..., Value], *operands: SSAValue) -> Step:
        """The step that gives a result what a function makes of operands."""
        values = self.values

        def step() -> None:
            values[result] = function(*[values[operand] for operand in operands])

        return step

    def loop(self, op: tir.ForOp) -> Step:
        values, var, count, block = self.values, op.var, op.trip_count, op.block

        def step() -> None:
            for i in range(count):
                values[var] = i
                self.run(block)

        return step

    def branch(self, op: tir.IfOp) -> Step:
        holds, block = self.holds(op.guard.data, op.indices), op.block
        orelse = op.orelse.block if op.orelse is not None else None

        def step() -> None:
            if holds():
                self.run(block)
            elif orelse is not None:
                self.run(orelse)

        return step

    def load(self, op: tir.LoadOp) -> Callable[[Value], Value]:
        elements = self.elements(op, op.result.type)
        if op.guard is None:
            return lambda buffer: buffer[elements()]
        assert op.otherwise is not None
        holds, otherwise = self.holds(op.guard.data, op.indices), number(op.otherwise, op.result.type)
        return lambda buffer: buffer[elements()] if holds() else otherwise

    def store(self, op: tir.StoreOp) -> Step:
        values, buffer, value, elements = self.values, op.buffer, op.value, self.elements(op, op.value.type)

        def step() -> None:
            places = elements()
            assert np.size(np.unique(places)) == np.size(values[value])
            values[buffer][places] = values[value]

        return step

    def masked_load(self, op: MaskedLoadOp) -> Callable[[Value], Value]:
        some = self.some(op)
        lanes, otherwise = lane_count(op.result.type), number(op.otherwise, op.result.type)

        def load(buffer: Value) -> Value:
            running, places = some()
            result = np.full(lanes, otherwise)
            result[running] = buffer[places]
            return result

        return load

    def masked_store(self, op: MaskedStoreOp) -> Step:
        values, buffer, value, some = self.values, op.buffer, op.value, self.some(op)

        def step() -> None:
            running, places = some()
            assert np.unique(places).size == places.size
            values[buffer][places] = values[value][running]

        return step

    def mask(self, op: MaskOp) -> Callable[[], Value]:
        lane, steps = np.arange(lane_count(op.result.type)), list(op.by_lane)
        point = self.point(op.map.data, op.indices)

        def mask() -> Value:
            bits = [first + step * lane >= 0 for first, step in zip(point(), steps, strict=True)]
            return np.all(bits, axis=0) if bits else lane >= 0

        return mask

    def index(self, op: tir.IndexOp) -> Callable[[], Value]:
        lanes, point = lane_count(op.result.type), self.point(op.map.data, op.indices)
        steps = op.stride.value.data * np.arange(lanes)
        return lambda: point()[0] + steps if lanes else point()[0]

    def step(self, op: Operation) -> Step:
        """What running an op is."""
        match op:
            case tir.ForOp():
                return self.loop(op)
            case tir.IfOp():
                return self.branch(op)
            case tir.AllocOp():
                size = op.result.type.size
                return self.sets(op.result, lambda: np.full(size, np.nan, np.float32))
            case tir.LoadOp():
                return self.sets(op.result, self.load(op), op.buffer)
            case tir.StoreOp():
                return self.store(op)
            case MaskOp():
                return self.sets(op.result, self.mask(op))
            case MaskedLoadOp():
                return self.sets(op.result, self.masked_load(op), op.buffer)
            case MaskedStoreOp():
                return self.masked_store(op)
            case tir.IndexOp():
                return self.sets(op.result, self.index(op))
            case arith.ConstantOp():
                constant = number(op.value, op.result.type)
                return self.sets(op.result, lambda: constant)
            case BroadcastOp():
                return self.sets(op.vector, partial(np.full, lane_count(op.vector.type)), op.source)
            case arith.CmpfOp():
                name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
                return self.sets(op.result, COMPARISONS[name], op.lhs, op.rhs)
            case tir_lanes.CompareOp():
                return self.sets(op.result, COMPARISONS[op.predicate.data], op.first, op.second)
            case arith.SelectOp() | tir_lanes.SelectOp():
                return self.sets(op.results[0], select, *op.operands)
            case arith.IndexCastOp():
                return self.sets(op.result, _same, op.input)
            case arith.SIToFPOp():
                return self.sets(op.result, np.float32, op.input)
            case tir_lanes.CastOp():
                floats = op.kind.data == "sitofp"
                return self.sets(op.result, _floats if floats else _same, op.source)
            case _:
                a, b = op.operands
                return self.sets(op.results[0], BINARY[op.name], a, b)
