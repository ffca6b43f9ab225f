"""relay-canonicalize-cast: operators that read a widened tensor widen it themselves."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.operator import Operator, OpPattern, element_of
from ...provenance.rewrite import rewrite, stands_for


def _takes_in(op: Operation) -> bool:
    return isinstance(op, Operator) and op.pattern() <= OpPattern.BROADCAST


class CastPerReader(RewritePattern):
    """Each further reader that a cast would fuse into gets a cast of its own."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        if op.result.first_use is None or op.result.has_one_use():
            return
        if numpy_dtype(element_of(op.result)).itemsize <= numpy_dtype(element_of(op.data)).itemsize:
            return
        readers = list(dict.fromkeys(use.operation for use in op.result.uses))
        places = [reader for reader in readers if _takes_in(reader)]
        if len(places) == len(readers):
            places.remove(next(reader for reader in reversed(readers)))
        copies: list[Operation] = []
        for reader in places:
            copies.append(copy := stands_for(CastOp(op.data, dtype=op.dtype.data), op))
            for index, operand in enumerate(reader.operands):
                if operand is op.result:
                    reader.operands[index] = copy.result
        if copies:
            rewriter.insert(copies)


@dataclass(frozen=True)
class CanonicalizeCastPass(ModulePass):
    """Gives each operator that reads a widened tensor a cast of its own, as TVM's CanonicalizeCast (level 3).

    Each fuses with its cast, then, and what lies between two kernels is the narrow tensor.

    Before: any relay module.
    After: no cast to a wider dtype is read by two operators that work on elements or broadcast them.
    Locations: copies of a cast have its location.

    ```mlir
    %0 = relay.cast %x {dtype = "int32"} : (tensor<4xi8>) -> tensor<4xi32> loc("wide")
    %1 = relay.add %0, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("left")
    %2 = relay.add %0, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("right")
    // becomes
    %0 = relay.cast %x {dtype = "int32"} : (tensor<4xi8>) -> tensor<4xi32> loc("wide")
    %1 = relay.cast %x {dtype = "int32"} : (tensor<4xi8>) -> tensor<4xi32> loc("wide")
    %2 = relay.add %1, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("left")
    %3 = relay.add %0, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32> loc("right")
    ```
    """

    name = "relay-canonicalize-cast"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [CastPerReader()], recursive=False)
