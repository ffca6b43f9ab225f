"""`relay.call_dps_packed`: tensors that a registered Python function fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def, var_result_def

from ...runtime.values.ndarray import view as as_ndarray
from ...runtime.values.registry import global_function
from ..element_types import DTYPES, numpy_dtype
from ..sizes import same
from ..sizes.types import tensor_of
from .attributes import ints, required_ints, required_string
from .operator import Operator
from .signature import Signature, Tensor
from .traits import OPAQUE, Stateful


@irdl_op_definition
class CallDpsPackedOp(Operator):
    """Results of a function of `whence.register_func`, called with the operands and with tensors for the results.

    `shape` has the extents of the results, one result behind the other, `ndims` the number of extents of each if there
    are several, `dtype` their dtypes.

    ```mlir
    %0:2 = relay.call_dps_packed %x {callee = "mine.sort", shape = array<i64: 4, 8, 4, 8>, ndims = array<i64: 2, 2>,
        dtype = "float32, int32"} : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    ```
    """

    name = "relay.call_dps_packed"
    data = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    callee = required_string()
    shape = required_ints()
    ndims = ints()
    dtype = required_string()
    # A function may give another result in another run.
    traits = traits_def(OPAQUE, Stateful())

    @classmethod
    def gives_tuple(cls, count: int) -> bool:
        return count != 1

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        dtypes = [text.strip() for text in sig.str("dtype").split(",")]
        extents = list(sig.ints("shape"))
        ndims = sig.ints("ndims") or (len(extents),)
        if len(ndims) != len(dtypes) or sum(ndims) != len(extents) or min(ndims) < 0:
            sig.fail(
                f"ndims and a dtype for each of {len(ndims)} results of {len(extents)} extents",
                f"ndims {list(ndims)} and {sig.str('dtype')}",
            )
        if unknown := [dtype for dtype in dtypes if dtype not in DTYPES]:
            sig.fail(f"a dtype among {', '.join(DTYPES)}", unknown[0])
        if any(same(extent, DYNAMIC_INDEX) for extent in extents):
            sig.fail("known extents of the results", str(extents))
        rest = iter(extents)
        return [
            tensor_of(DTYPES[dtype], [next(rest) for _ in range(ndim)])
            for dtype, ndim in zip(dtypes, ndims, strict=True)
        ]

    @classmethod
    def evaluate(cls, sig: Signature, data: Sequence[Any]) -> Any:
        return filled(sig, registered(sig), data)


def registered(sig: Signature) -> Callable[..., object]:
    """The function that a call names. Raises VerifyException when there is none."""
    name = sig.str("callee")
    function = global_function(name)
    if function is None:
        sig.fail("the name of a function that whence.register_func knows", f"'{name}'")
    return function


def filled(sig: Signature, function: Callable[..., object], data: Sequence[Any]) -> tuple[Any, ...]:
    """Return the tensors that a function fills, zeros where it writes nothing. The operands are read-only to it."""
    operands: list[Any] = []
    for array in data:
        operand = np.asarray(array).view()
        operand.flags.writeable = False
        operands.append(as_ndarray(operand))
    results = [np.zeros(type_.get_shape(), numpy_dtype(type_.element_type)) for type_ in CallDpsPackedOp.infer(sig)]
    function(*operands, *map(as_ndarray, results))
    return tuple(results)
