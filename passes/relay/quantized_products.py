"""Products of a float module get operands that are quantised and dequantised again, by scales that calibration found.

`relay-fake-quantization-to-integer` makes products of integers of these. Each new op is located at the product that
reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use

from ...dialects.element_types import dtype_name
from ...dialects.relay.canonicalization.constant_operands import constant_value
from ...dialects.relay.convolution import Conv2DOp
from ...dialects.relay.core import ConstantOp, FuncOp
from ...dialects.relay.matmul import BatchMatmulOp, DenseOp
from ...dialects.relay.operator import Operator, element_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp
from ...dialects.relay.resize import Resized
from ...dialects.relay.traits import Selects
from ...provenance.builder import fill
from ...support.dtypes import Array


@dataclass
class Products:
    """The float32 products of a function that are to compute on integers, in order."""

    main: FuncOp
    skip_conv: Collection[int] = ()
    """The numbers of convolutions that stay on floats."""
    skip_dense: bool = False
    ops: list[Operator] = field(init=False)

    def __post_init__(self) -> None:
        self.ops = []
        convolutions = 0
        for op in self.main.block.ops:
            is_convolution = isinstance(op, Conv2DOp)
            skipped = convolutions in self.skip_conv if is_convolution else self.skip_dense
            convolutions += is_convolution
            if isinstance(op, Conv2DOp | DenseOp | BatchMatmulOp) and not skipped and self._fits(op):
                self.ops.append(op)

    def _fits(self, op: Operator) -> bool:
        is_weighted = isinstance(op, BatchMatmulOp) or self.weight(op) is not None
        return is_weighted and all(dtype_name(element_of(value)) == "float32" for value in (*op.operands, *op.results))

    @property
    def module(self) -> ModuleOp:
        return cast("ModuleOp", self.main.parent_op())

    def weight(self, op: Operator) -> Array | None:
        """Return the right operand of a product, if it is a constant."""
        return constant_value(op.operands[1], self.module)

    def sources(self) -> list[SSAValue]:
        """The values that are to be quantised: operands that are no constants, before what only moves elements."""
        return list(dict.fromkeys(use.operation.operands[use.index] for op in self.ops for use in self._uses(op)))

    def _uses(self, op: Operator) -> list[Use]:
        """The uses of sources behind the operands of a product."""
        uses = [Use(op, 0)] if self.weight(op) is not None else [Use(op, 0), Use(op, 1)]
        return [_first_move(use) for use in uses]

    def quantize(self, scales: Mapping[SSAValue, float], weights: Mapping[Operator, tuple[Array, Array]]) -> None:
        """Quantise the operands as int8, with zero point 0.

        scales: of the sources. weights: the integers (int8) of each weight, and their scales (float32): one, or one for
        each output channel, which is axis 0.
        """
        rounded: dict[SSAValue, SSAValue] = {}
        for op in self.ops:
            for use in self._uses(op):
                value = use.operation.operands[use.index]
                if value not in rounded:
                    rounded[value] = self._rounded(value, scales[value], op)
                use.operation.operands[use.index] = rounded[value]
            if (weight := weights.get(op)) is not None:
                old = op.operands[1]
                integers = self._constant(weight[0], old.name_hint or "weight")
                integers.location = cast("Operation", old.owner).location
                parameters = [self._constant(weight[1], "scale"), self._constant(np.array(0, np.int32), "zero_point")]
                result = DequantizeOp(integers, *parameters, axis=0)
                self._insert([integers, *parameters, result], op, op)
                op.operands[1] = result.result
                if old.first_use is None:
                    cast("Operation", old.owner).detach()
                    cast("Operation", old.owner).erase()

    def _rounded(self, value: SSAValue, scale: float, op: Operator) -> SSAValue:
        """Quantise and dequantise a value for a product, right behind its maker."""
        steps = np.array(scale, np.float32), np.array(0, np.int32)
        parameters = [self._constant(array, name) for array, name in zip(steps, ("scale", "zero_point"), strict=True)]
        integers = QuantizeOp(value, *parameters, out_dtype="int8")
        result = DequantizeOp(integers, *parameters)
        maker = value.owner
        behind = maker.next_op if isinstance(maker, Operation) else self.main.block.first_op
        assert behind is not None
        self._insert([*parameters, integers, result], op, behind)
        return result.result

    def _constant(self, array: Array, name: str) -> ConstantOp:
        return ConstantOp.of(array, self.module, name)

    def _insert(self, ops: Sequence[Operation], product: Operator, behind: Operation) -> None:
        for op in ops:
            fill(op, product.location)
        self.main.block.insert_ops_before(ops, behind)


def _first_move(use: Use) -> Use:
    """Return the use by the first of the operators before it that only move elements, if nothing else reads them."""
    while True:
        maker = use.operation.operands[use.index].owner
        if not isinstance(maker, Operator) or not maker.has_trait(Selects):
            return use
        if isinstance(maker, Resized) and not maker.selects(maker.signature):
            return use
        if len(list(maker.results[0].uses)) != 1:
            return use
        use = Use(maker, 0)
