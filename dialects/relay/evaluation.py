"""Evaluation of one operator in numpy, for folding, interpreting and checking; `interpret` runs programs.

Values have exactly the dtype the IR states; half precision is computed in float32 and rounded once per operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import Block, SSAValue

from ...provenance.diagnostics import fail
from ...support.dtypes import Array
from ..element_types import is_small, numpy_dtype, tensor_type
from ..sizes.types import is_open
from .numerics import AnyArray
from .operator import Operator, element_of, shape_of
from .signature import as_tensor


def evaluate(op: Operator, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of `op` for arrays of its operands' element types. Results may be views of the inputs.

    Raises VerifyException where their shapes are not those of its types, and the operator takes no others.
    """
    shapes = [as_tensor(value).get_shape() for value in op.operands]
    if any(map(is_open, op.result_types)) or shapes != [array.shape for array in inputs]:
        op = op.at_types(operands_of(inputs))
    sig, elementwise = op.signature, op.is_pointwise()
    with np.errstate(all="ignore"):
        try:
            output: Any = op.evaluate(sig, *sig.arguments(_distinct(inputs) if elementwise else inputs))
        except (TypeError, ValueError):
            # As lowering says of what is computed with numbers that numpy does not know.
            if small := [value.type for value in op.operands if is_small(element_of(value))]:
                fail(op, "operands that a cast has made numbers of", str(small[0]))
            raise
        results = cast(tuple[AnyArray, ...], output) if isinstance(output, tuple) else (output,)
        typed = [
            np.asarray(array).astype(numpy_dtype(element_of(value)), copy=False)
            for array, value in zip(results, op.results, strict=True)
        ]
    if elementwise:
        return tuple(np.broadcast_to(array, shape_of(value)) for array, value in zip(typed, op.results, strict=True))
    return tuple(typed)


def operands_of(arrays: Sequence[Array]) -> Sequence[SSAValue]:
    """Return values of the types of arrays, to make an operator of."""
    return Block(arg_types=[tensor_type(array) for array in arrays]).args


def _distinct(inputs: Sequence[Array]) -> list[AnyArray]:
    """The inputs of an elementwise operator, cut to extent 1 along axes where all of them repeat one value.

    A weight that is a broadcast view stays small that way.
    """
    rank = max(x.ndim for x in inputs)
    cut = list(inputs)
    for axis in range(-rank, 0):
        here = [x for x in inputs if -axis <= x.ndim]
        if all(x.strides[axis] == 0 or x.shape[axis] == 1 for x in here) and any(x.shape[axis] > 1 for x in here):
            cut = [x[(..., slice(0, 1), *[slice(None)] * (-axis - 1))] if -axis <= x.ndim else x for x in cut]
    return cut
