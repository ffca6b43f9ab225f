"""Matrix products, and the bias that follows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from .attributes import boolean, integer, optional_integer, string
from .numerics import AnyArray, along, widened
from .operator import Operator, Signature, Tensor
from .traits import BROADCAST, OUT_ELEMWISE_FUSABLE


@irdl_op_definition
class DenseOp(Operator):
    """`data (m, k)` times the transpose of `weight (n, k)`."""

    name = "relay.nn.dense"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    units = optional_integer()
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        n, depth = sig.rank(1, 2)
        if depth != k:
            sig.fail(f"a weight of {k} columns", str(sig.types[1]))
        if (units := sig.get("units")) is not None and units != n:
            sig.fail(f"units = {n} as the weight has rows", str(units))
        return [TensorType(sig.same_element(), (m, n))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        return np.matmul(widened(data), widened(weight).T)


@irdl_op_definition
class ContribDensePackOp(Operator):
    """`data (m, k)` times a weight packed as `(n / b, k, b)`; `weight_layout` names the block, `NC16n`."""

    name = "relay.nn.contrib_dense_pack"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    weight_layout = string("NC")
    units = optional_integer()
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        panels, depth, block = sig.rank(1, 3)
        if depth != k:
            sig.fail(f"a packed weight of {k} rows", str(sig.types[1]))
        return [TensorType(sig.same_element(), (m, panels * block))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        panels, depth, block = weight.shape
        return np.matmul(widened(data), widened(weight).transpose(0, 2, 1).reshape(panels * block, depth).T)


@irdl_op_definition
class BatchMatmulOp(Operator):
    """Per batch `x` times `y`, either transposed if said so; `transpose_b` is the default, as in TVM."""

    name = "relay.nn.batch_matmul"
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    result = result_def(TensorType)
    transpose_a = boolean(False)
    transpose_b = boolean(True)
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        (bx, *x), (by, *y) = sig.rank(0, 3), sig.rank(1, 3)
        m, k = reversed(x) if sig.get("transpose_a") else x
        depth, n = reversed(y) if sig.get("transpose_b") else y
        if depth != k or (bx != by and 1 not in (bx, by)):
            sig.fail("operands that multiply", f"{sig.types[0]} and {sig.types[1]}")
        return [TensorType(sig.same_element(), (max(bx, by), m, n))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, y: AnyArray) -> AnyArray:
        left = x.transpose(0, 2, 1) if sig.get("transpose_a") else x
        right = y.transpose(0, 2, 1) if sig.get("transpose_b") else y
        return np.matmul(widened(left), widened(right))


@irdl_op_definition
class BiasAddOp(Operator):
    """Adds the 1-d `bias` along `axis`."""

    name = "relay.nn.bias_add"
    data = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(1)
    traits = traits_def(BROADCAST)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(shape))
        if sig.rank(1, 1) != (shape[axis],):
            sig.fail(f"a bias of {shape[axis]} elements", str(sig.types[1]))
        sig.same_element()
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, bias: AnyArray) -> AnyArray:
        return data + along(bias, sig.int("axis"), data.ndim)
