"""Operators of which operands decide the shape of the result, as TVM's `dyn.*`.

Each stands for an operator that has attributes in the place of these operands, and is that where they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ...runtime.interpreting.dynamic import end_after
from ...support.dtypes import Array
from ..element_types import DTYPES
from ..sizes import SizeExpr, UndecidedSize
from ..sizes.types import tensor_of
from .attributes import Value, integer, optional_ints, required_string, string
from .creation import ArangeOp, FullOp, OnesOp, ZerosOp
from .evaluation import evaluate, operands_of
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .rearrange import TileOp
from .traits import ANY, INTEGERS, OPAQUE, Flat, Kind
from .transform import BroadcastToOp, ReshapeOp, StridedSliceOp

T = TypeVar("T")


@dataclass(frozen=True)
class StandsFor:
    """The static form of an operator, for where the operands that decide are known."""

    static: type[Operator]
    deciding: tuple[str, ...]
    """These operands: the attributes of the static one, of the same names."""
    extents: str = ""
    """The operand that has an extent for each dimension of the result; "" when the result has the first one's rank."""
    numbers: Kind = INTEGERS
    """The kind of the elements of these operands."""


class Dynamic(Operator):
    """Base of these operators. The other operands are those of the static operator, in its order."""

    STANDS_FOR: ClassVar[StandsFor]
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for name in cls.STANDS_FOR.deciding:
            for type_ in sig.operand(name):
                if not cls.STANDS_FOR.numbers.holds(type_.element_type):
                    sig.fail(f"{cls.STANDS_FOR.numbers.noun} {name}", str(type_))
        return [tensor_of(cls.element(sig), cls.extents(sig))]

    @classmethod
    def inferred(cls, sig: Signature) -> Sequence[Tensor]:
        return cls.infer(sig)

    @classmethod
    def element(cls, sig: Signature) -> Attribute:
        """The element type of the result."""
        return sig.types[0].element_type

    @classmethod
    def extents(cls, sig: Signature) -> list[int]:
        """The extents of the result, as far as they are known."""
        return [DYNAMIC_INDEX] * cls.rank(sig)

    @classmethod
    def rank(cls, sig: Signature) -> int:
        """Return the number of dimensions of the result."""
        return cls.length(sig) if cls.STANDS_FOR.extents else len(sig.shape(0))

    @classmethod
    def length(cls, sig: Signature) -> int:
        """Return the number of extents."""
        (type_,) = sig.operand(cls.STANDS_FOR.extents)
        shape = list(type_.get_shape())
        if len(shape) != 1 or shape[0] == DYNAMIC_INDEX:
            sig.fail(f"a vector of known length for {cls.STANDS_FOR.extents}", str(type_))
        return shape[0]

    def parted(self, operands: Sequence[SSAValue]) -> tuple[list[SSAValue], list[SSAValue | None]]:
        """The operands of the static operator, and what decides its attributes, None where that is left out."""
        return self._parted(self.signature, operands)

    @classmethod
    def _parted(cls, sig: Signature, values: Sequence[T]) -> tuple[list[T], list[T | None]]:
        """Split one value for each operand into those of the static operator and those that decide the shape."""
        named: dict[str, T | None] = {}
        for group, value in zip(cls.operand_groups(), sig.arguments(values), strict=True):
            named[group.name] = None if isinstance(value, tuple) else value
        deciding = [named.pop(name) for name in cls.STANDS_FOR.deciding]
        return [value for value in named.values() if value is not None], deciding

    @classmethod
    def static(cls, sig: Signature, operands: Sequence[SSAValue], values: Sequence[Array | None]) -> Operator:
        """The static operator, for values of the operands that decide; of one that is missing None.

        Raises VerifyException when they do not fit.
        """
        attributes: dict[str, Value] = {
            name: sig.get(name) for name in sig.attributes if name in cls.STANDS_FOR.static.declared_attributes()
        }
        for name, value in zip(cls.STANDS_FOR.deciding, values, strict=True):
            if value is not None:
                attributes[name] = cast(Value, tuple(value.ravel().tolist()) if value.ndim else value.item())
        return cls.STANDS_FOR.static(*operands, location=sig.location, **cls.completed(attributes))

    @classmethod
    def completed(cls, known: dict[str, Value]) -> dict[str, Value]:
        """The attributes of the static operator."""
        return known

    @classmethod
    def evaluate(cls, sig: Signature, *arrays: AnyArray | None) -> Any:
        inputs, values = cls._parted(sig, [array for array in arrays if array is not None])
        results = evaluate(cls.static(sig, operands_of(inputs), values), inputs)
        return results[0] if len(results) == 1 else results


class Single(Dynamic):
    """Base of operators whose deciding operands are one number each: scalars, or vectors of one element."""

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for name in cls.STANDS_FOR.deciding:
            for type_ in sig.operand(name):
                if DYNAMIC_INDEX not in type_.get_shape() and prod(type_.get_shape()) != 1:
                    sig.fail(f"one number as {name}", str(type_))
        return super().infer(sig)

    @classmethod
    def completed(cls, known: dict[str, Value]) -> dict[str, Value]:
        return {key: value[0] if isinstance(value, tuple) else value for key, value in known.items()}  # type: ignore[misc]


@irdl_op_definition
class DynReshapeOp(Dynamic):
    name = "relay.dyn.reshape"
    data = operand_def(TensorType)
    newshape = operand_def(TensorType)
    result = result_def(TensorType)
    allowzero = integer(0)
    STANDS_FOR: ClassVar = StandsFor(ReshapeOp, ("newshape",), extents="newshape")


@irdl_op_definition
class DynBroadcastToOp(Dynamic):
    name = "relay.dyn.broadcast_to"
    data = operand_def(TensorType)
    shape = operand_def(TensorType)
    result = result_def(TensorType)
    STANDS_FOR: ClassVar = StandsFor(BroadcastToOp, ("shape",), extents="shape")


@irdl_op_definition
class DynTileOp(Dynamic):
    name = "relay.dyn.tile"
    data = operand_def(TensorType)
    reps = operand_def(TensorType)
    result = result_def(TensorType)
    STANDS_FOR: ClassVar = StandsFor(TileOp, ("reps",), extents="reps")

    @classmethod
    def rank(cls, sig: Signature) -> int:
        return max(len(sig.shape(0)), cls.length(sig))


@irdl_op_definition
class DynStridedSliceOp(Dynamic):
    """The result of `strided_slice`; with mode "size" `end` says how many indices are taken, by steps of 1."""

    name = "relay.dyn.strided_slice"
    data = operand_def(TensorType)
    begin = operand_def(TensorType)
    end = operand_def(TensorType)
    strides = opt_operand_def(TensorType)
    result = result_def(TensorType)
    axes = optional_ints()
    slice_mode = string("end")
    STANDS_FOR: ClassVar = StandsFor(StridedSliceOp, ("begin", "end", "strides"))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if (mode := sig.str("slice_mode")) not in ("end", "size"):
            sig.fail("slice_mode end or size", repr(mode))
        return super().infer(sig)

    @classmethod
    def static(cls, sig: Signature, operands: Sequence[SSAValue], values: Sequence[Array | None]) -> Operator:
        begin, size, _ = values
        if sig.str("slice_mode") == "size" and begin is not None and size is not None:
            pairs = zip(begin.ravel().tolist(), size.ravel().tolist(), strict=True)
            values = [begin, np.array([end_after(first, count) for first, count in pairs], object), None]
        return super().static(sig, operands, values)

    @classmethod
    def extents(cls, sig: Signature) -> list[int]:
        shape = list(sig.shape(0))
        (begin,) = sig.operand("begin")
        (count,) = begin.get_shape() if len(begin.get_shape()) == 1 else (DYNAMIC_INDEX,)
        if count == DYNAMIC_INDEX:
            return super().extents(sig)
        cut = {sig.axis(axis, len(shape), "axes") for axis in sig.get("axes") or range(min(count, len(shape)))}
        return [DYNAMIC_INDEX if axis in cut else extent for axis, extent in enumerate(shape)]


class _Filled(Dynamic):
    """A tensor of the dtype that an attribute says."""

    @classmethod
    def element(cls, sig: Signature) -> Attribute:
        if sig.str("dtype") not in DTYPES:
            sig.fail("a dtype", repr(sig.str("dtype")))
        return DTYPES[sig.str("dtype")]


@irdl_op_definition
class DynFullOp(_Filled):
    name = "relay.dyn.full"
    fill_value = operand_def(TensorType)
    shape = operand_def(TensorType)
    result = result_def(TensorType)
    dtype = required_string()
    STANDS_FOR: ClassVar = StandsFor(FullOp, ("shape",), extents="shape")


@irdl_op_definition
class DynZerosOp(_Filled):
    name = "relay.dyn.zeros"
    shape = operand_def(TensorType)
    result = result_def(TensorType)
    dtype = required_string()
    traits = traits_def(Flat())
    STANDS_FOR: ClassVar = StandsFor(ZerosOp, ("shape",), extents="shape")


@irdl_op_definition
class DynOnesOp(_Filled):
    name = "relay.dyn.ones"
    shape = operand_def(TensorType)
    result = result_def(TensorType)
    dtype = required_string()
    traits = traits_def(Flat())
    STANDS_FOR: ClassVar = StandsFor(OnesOp, ("shape",), extents="shape")


@irdl_op_definition
class DynArangeOp(_Filled, Single):
    """`start`, `start + step` and so on, below `stop`: TVM's `arange` of three operands."""

    name = "relay.dyn.arange"
    start = operand_def(TensorType)
    stop = operand_def(TensorType)
    step = operand_def(TensorType)
    result = result_def(TensorType)
    dtype = string("float32")
    STANDS_FOR: ClassVar = StandsFor(ArangeOp, ("start", "stop", "step"), numbers=ANY)

    @classmethod
    def rank(cls, sig: Signature) -> int:
        return 1

    @classmethod
    def completed(cls, known: dict[str, Value]) -> dict[str, Value]:
        known = super().completed(known)
        if isinstance(stop := known["stop"], SizeExpr):
            if (known["start"], known["step"]) != (0, 1):
                raise UndecidedSize(f"arange: expected to count from 0 by 1 to {stop}, got another start or step")
            return {**known, "start": 0.0, "stop": cast(Value, (stop,)), "step": 1.0}
        return {
            name: float(cast(float, value)) if name in cls.STANDS_FOR.deciding else value
            for name, value in known.items()
        }
