"""Matrix products, and the bias that follows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes import broadcast_sizes, same
from ..sizes.types import tensor_of
from .attributes import boolean, integer, optional_integer, string
from .channels import DENSE_CHANNELS
from .layout_traits import ON_AXIS
from .numerics import AnyArray, along, factor
from .operator import Operator, Signature, Tensor
from .pairs import parts_of, unpacked
from .traits import BROADCAST, OUT_ELEMWISE_FUSABLE

FEW_ROWS = 4
"""Rows of a result for which a second operand `(n, k)` is best read as it is; for more, it is transposed first."""
LONG_ROW = 512
"""Terms of a sum for which it is read so, too, for any number of rows: its lanes are summed when all is multiplied."""


@irdl_op_definition
class DenseOp(Operator):
    """`data (m, k)` times the transpose of `weight (n, k)`."""

    name = "relay.nn.dense"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    units = optional_integer()
    out_dtype = string("")
    traits = traits_def(OUT_ELEMWISE_FUSABLE, DENSE_CHANNELS)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        n, depth = sig.rank(1, 2)
        if depth != k:
            sig.fail(f"a weight of {k} columns", str(sig.types[1]))
        if (units := sig.get("units")) is not None and units != n:
            sig.fail(f"units = {n} as the weight has rows", str(units))
        return [tensor_of(sig.product_element(), (m, n))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        return np.matmul(factor(data, sig.str("out_dtype")), factor(weight, sig.str("out_dtype")).T)


@irdl_op_definition
class ContribDensePackOp(Operator):
    """`data (m, k)` times a weight packed as `(n / b, k, b)`; `weight_layout` names the block, `NC16n`.

    The weight may be words of two neighbours along k (see pairs.py). With fewer `units` than the panels have columns,
    those beyond are no part of the result.

    partial: so many products each are summed in the dtype of the operands first; 0 for none.
    """

    name = "relay.nn.contrib_dense_pack"
    data = operand_def(TensorType)
    weight = operand_def(TensorType)
    result = result_def(TensorType)
    weight_layout = string("NC")
    units = optional_integer()
    out_dtype = string("")
    partial = integer(0)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        m, k = sig.rank(0, 2)
        panels, depth, block = sig.rank(1, 3)
        if depth * parts_of(sig) != k:
            sig.fail(f"a packed weight of {k} rows", str(sig.types[1]))
        if (partial := sig.int("partial")) and (partial < 0 or not same(depth % partial, 0)):
            sig.fail(f"partial sums that divide {depth} products", str(partial))
        units = sig.get("units") or panels * block
        if not (panels - 1) * block < units <= panels * block:
            sig.fail(f"units of {panels} panels of {block}", str(units))
        return [tensor_of(sig.product_element(), (m, units))]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, weight: AnyArray) -> AnyArray:
        weight = unpacked(weight, 1) if parts_of(sig) > 1 else weight
        panels, depth, block = weight.shape
        rows = factor(weight, sig.str("out_dtype")).transpose(0, 2, 1).reshape(panels * block, depth)
        return np.matmul(factor(data, sig.str("out_dtype")), rows[: sig.get("units") or panels * block].T)


@irdl_op_definition
class MatmulOp(Operator):
    """`tensor_a (.., m, k)` times `tensor_b (k, n)`, either with its last two dimensions swapped if said so."""

    name = "relay.nn.matmul"
    tensor_a = operand_def(TensorType)
    tensor_b = operand_def(TensorType)
    result = result_def(TensorType)
    units = optional_integer()
    out_dtype = string("")
    transpose_a = boolean(False)
    transpose_b = boolean(False)
    traits = traits_def(OUT_ELEMWISE_FUSABLE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if len(sig.shape(0)) < 2:
            sig.fail("a first operand of at least 2 dimensions", str(sig.types[0]))
        *batch, m, k = sig.shape(0)
        depth, n = sig.rank(1, 2)
        if sig.get("transpose_a"):
            m, k = k, m
        if sig.get("transpose_b"):
            depth, n = n, depth
        if depth != k:
            sig.fail("operands that multiply", f"{sig.types[0]} and {sig.types[1]}")
        if (units := sig.get("units")) is not None and units != n:
            sig.fail(f"units = {n} as the second operand has", str(units))
        return [tensor_of(sig.product_element(), (*batch, m, n))]

    @classmethod
    def evaluate(cls, sig: Signature, a: AnyArray, b: AnyArray) -> AnyArray:
        left = a.swapaxes(-1, -2) if sig.get("transpose_a") else a
        return np.matmul(
            factor(left, sig.str("out_dtype")), factor(b.T if sig.get("transpose_b") else b, sig.str("out_dtype"))
        )


@irdl_op_definition
class BatchMatmulOp(Operator):
    """Per batch `x` times `y`, either transposed if said so; `transpose_b` is the default, as in TVM.

    Operands have any number of batch dimensions, which broadcast as numpy's; TVM has one.
    """

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
        for index in (0, 1):
            if len(sig.shape(index)) < 3:
                sig.fail(f"an operand {index} of at least 3 dimensions", str(sig.types[index]))
        (*bx, m, k), (*by, depth, n) = sig.shape(0), sig.shape(1)
        if sig.get("transpose_a"):
            m, k = k, m
        if sig.get("transpose_b"):
            depth, n = n, depth
        batch = broadcast_sizes(bx, by) if depth == k else None
        if batch is None:
            sig.fail("operands that multiply", f"{sig.types[0]} and {sig.types[1]}")
        return [tensor_of(sig.product_element(), cast("tuple[int, ...]", (*batch, m, n)))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, y: AnyArray) -> AnyArray:
        left = x.swapaxes(-1, -2) if sig.get("transpose_a") else x
        right = y.swapaxes(-1, -2) if sig.get("transpose_b") else y
        return np.matmul(factor(left, sig.str("out_dtype")), factor(right, sig.str("out_dtype")))


@irdl_op_definition
class BiasAddOp(Operator):
    """Adds the 1-d `bias` along `axis`."""

    name = "relay.nn.bias_add"
    data = operand_def(TensorType)
    bias = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(1)
    traits = traits_def(BROADCAST, ON_AXIS)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.vector(1, sig.axis(sig.int("axis"), len(sig.shape(0))), "a bias")
        sig.same_element()
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, bias: AnyArray) -> AnyArray:
        return data + along(bias, sig.int("axis"), data.ndim)
