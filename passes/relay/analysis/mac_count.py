"""The number of multiplications with additions that the products of a program take."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from ....dialects.relay.convolution import Conv
from ....dialects.relay.convolution_transpose import ConvTranspose
from ....dialects.relay.layout import axes_of, logical_shape
from ....dialects.relay.matmul import BatchMatmulOp, ContribDensePackOp, DenseOp, MatmulOp
from ....dialects.relay.operator import shape_of
from .traversal import pre_order


def get_total_mac_number(root: Operation) -> int:
    """The multiply-accumulates of convolutions, dense layers and matrix products in `root`, each op counted once.

    Of a transposed convolution each element of the result counts with the whole window, as TVM counts it.
    """
    return sum(map(_of, pre_order(root)))


def _of(op: Operation) -> int:
    match op:
        case Conv():
            kernel = logical_shape(shape_of(op.operands[1]), axes_of(op.signature, "kernel_layout", "OI" + op.SPATIAL))
            return prod(shape_of(op.results[0])) * prod(kernel.values()) // kernel["O"]
        case ConvTranspose():
            kernel = logical_shape(shape_of(op.weight), axes_of(op.signature, "kernel_layout", "IO" + op.SPATIAL))
            return prod(shape_of(op.result)) * prod(kernel.values()) // (kernel["O"] * op.signature.int("groups"))
        case DenseOp() | ContribDensePackOp():
            return prod(shape_of(op.result)) * shape_of(op.data)[-1]
        case MatmulOp():
            return prod(shape_of(op.result)) * shape_of(op.tensor_a)[-2 if op.signature.get("transpose_a") else -1]
        case BatchMatmulOp():
            return prod(shape_of(op.result)) * shape_of(op.x)[-2 if op.signature.get("transpose_a") else -1]
        case _:
            return 0
