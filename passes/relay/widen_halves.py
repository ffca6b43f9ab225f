"""relay-widen-halves: floats for which a machine has no arithmetic are computed in float32."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ...dialects.element_types import DTYPES
from ...dialects.relay.core import FuncOp
from ...dialects.relay.elementwise import CastLikeOp, ReinterpretOp
from ...dialects.relay.operator import Operator, OpPattern, element_of
from ...dialects.relay.pairs import PackPairsOp, parts_of
from ...dialects.relay.scatter import StridedSetOp
from ...dialects.relay.traits import Selects
from ...provenance.diagnostics import message
from ...provenance.moving import MovesElements
from ...support.errors import PipelineError
from .retyping import Retype, functions_of, retype

HALVES = ("float16", "bfloat16")


def _only_moves(op: Operator) -> bool:
    """Return whether an operator picks or moves elements, and computes nothing."""
    return op.pattern() <= OpPattern.INJECTIVE and (op.has_trait(Selects) or op.has_trait(MovesElements))


@dataclass
class Widen(Retype):
    """Operators on halves read them as float32; those that only move elements do where some are float32 already."""

    halves: dict[Attribute, str]
    """The types that are widened, and their names."""

    def wanted(self, op: Operator) -> list[Attribute]:
        elements = [element_of(value) for value in op.operands]
        if isinstance(op, ReinterpretOp | PackPairsOp) or (elements[1:] == [i32] and parts_of(op.signature) > 1):
            # The bits count, which are those of the dtype.
            return [self.original(value) for value in op.operands]
        if isinstance(op, StridedSetOp) and op.signature.get("in_place"):
            # The memory of an argument stays that.
            return [self.original(value) for value in op.operands]
        if isinstance(op, CastLikeOp):
            return [elements[0], self.original(op.dtype_like)]
        dtype = op.properties.get("out_dtype")
        if isinstance(dtype, StringAttr) and dtype.data in self.halves.values():
            op.properties["out_dtype"] = StringAttr("float32")
        if _only_moves(op) and not any(value in self.originals for value in op.operands):
            return elements
        return [f32 if element in self.halves else element for element in elements]


def _holds(func: FuncOp, elements: Container[Attribute]) -> bool:
    """Return whether a function computes anything of these element types."""
    values = (value for op in func.walk() for value in (*op.results, *op.operands))
    return any(isinstance(value.type, TensorType) and element_of(value) in elements for value in values)


@dataclass(frozen=True)
class WidenHalvesPass(ModulePass):
    """Computes on float32 what a model has in float16 or bfloat16, where the machine has no arithmetic for these.

    Weights are widened when constants are folded, activations once, and results of operators stay in float32 on the way
    to the next: kernels convert no operand in their innermost loops. So numbers between operators are rounded less than
    the model says. Rounded are those that a `cast` of the model rounds, and those that functions give and calls take.

    Before: any relay module.
    After: an operator that computes reads float32 in place of the halves. One that only picks or moves elements of
    halves still does, so that tables and arguments keep their size.
    Locations: operators keep theirs; a cast has those of all operators that read it, or of the one whose result is
    brought back.

    float16, bfloat16: 0 for a dtype that the machine computes in.

    ```mlir
    %0 = relay.nn.dense %x, %w : (tensor<2x4xf16>, tensor<3x4xf16>) -> tensor<2x3xf16> loc("fc")
    %1 = relay.nn.relu %0 : (tensor<2x3xf16>) -> tensor<2x3xf16> loc("act")
    relay.return %1 : tensor<2x3xf16>
    // becomes
    %0 = relay.cast %w {dtype = "float32"} : (tensor<3x4xf16>) -> tensor<3x4xf32> loc("fc")
    %1 = relay.cast %x {dtype = "float32"} : (tensor<2x4xf16>) -> tensor<2x4xf32> loc("fc")
    %2 = relay.nn.dense %1, %0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc("fc")
    %3 = relay.nn.relu %2 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("act")
    %4 = relay.cast %3 {dtype = "float16"} : (tensor<2x3xf32>) -> tensor<2x3xf16> loc("act")
    relay.return %4 : tensor<2x3xf16>
    ```
    """

    name = "relay-widen-halves"
    float16: int = 1
    bfloat16: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name in HALVES:
            if getattr(self, name) not in (0, 1):
                raise PipelineError(message(self.name, f"{name} of 0 or 1", str(getattr(self, name))))
        halves = {DTYPES[name]: name for name in HALVES if getattr(self, name)}
        functions = functions_of(op)
        pattern = Widen(set(functions), halves)
        retype([func for func in functions if _holds(func, halves)], pattern)
