"""relay-to-mixed-precision: operators that gain by it compute on halves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ...dialects.element_types import DTYPES, is_integer
from ...dialects.relay.convolution import CONV_LAYOUTS, Conv, Conv2DOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.matmul import BatchMatmulOp, DenseOp
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.sizes import SizeExpr, proves, same
from ...dialects.sizes.kernel import known
from ...frontends.meanings.products import is_constant
from ...provenance.diagnostics import fail, message
from ...support.context import PassContext
from ...support.errors import PipelineError
from ...support.machine import CHANNEL_BLOCK
from ...syntax.relay.op_attrs import MIXED_PRECISION, op_attr
from .blocking import SMALLEST_BLOCK, tile_words
from .precision_lists import ALWAYS, FOLLOW, NEVER
from .retyping import Retype, called_in, functions_of, retype


class Category(Enum):
    """The treatment of an operator (TVM's names)."""

    ALWAYS = 0
    FOLLOW = 1
    NEVER = 2
    MISSING = 3


def _is_float(value: SSAValue, *elements: Attribute) -> bool:
    """Return whether a value is a tensor of one of these element types."""
    return element_of(value) in elements


def _operators() -> dict[str, Operator]:
    return {}


_ROWS = 16
"""Rows that share the work of packing the right operand of a product, at least."""


def _fits_tiles(op: Operator) -> bool:
    """Return whether there are schedules of tiles for a product: its sizes are known, its sum is made of their rows."""
    if not isinstance(op, DenseOp | BatchMatmulOp | Conv):
        return False
    right = shape_of(op.operands[1])
    if any(isinstance(size, SizeExpr) for size in (*shape_of(op.results[0]), *right)):
        return False
    depth = known(right[1])
    # The words of a convolution are in blocks of channels, powers of 2.
    return tile_words((depth & -depth if isinstance(op, Conv) else depth) // 2) > 0


def _sums_of_halves(op: Operator) -> bool:
    """Return whether a convolution can sum products of float16 as such: channels of a group fill blocks of vectors."""
    if not isinstance(op, Conv2DOp):
        return False
    outputs, depth = shape_of(op.weight)[:2]
    return depth % CHANNEL_BLOCK == 0 and outputs // op.signature.int("groups") % (2 * CHANNEL_BLOCK) == 0


def _gains(op: Operator, half: str, tiles: bool, sums: bool) -> bool:
    """Return whether an operator is a product that gains by halves: of bfloat16 by summing pairs of numbers.

    Weights are constants, which are packed at compile time; other right operands serve many rows. Of float16 dense
    layers have kernels that gain and, where there are `sums` of such, convolutions. With `tiles`, nothing else is
    faster than float32.
    """
    if half == "float16" and not isinstance(op, DenseOp) and not (sums and _sums_of_halves(op)):
        return False
    if tiles and not _fits_tiles(op):
        return False
    if isinstance(op, BatchMatmulOp):
        rows, depth = shape_of(op.x)[-2:]
        plain = not op.signature.get("transpose_a") and not op.signature.get("transpose_b")
        return plain and proves(rows, ">=", _ROWS) and same(depth % 2, 0)
    if isinstance(op, Conv):
        groups, channels = op.signature.int("groups"), shape_of(op.operands[1])[1]
        plain = "NC" + op.SPATIAL, "OI" + op.SPATIAL, "NC" + op.SPATIAL
        fits = CONV_LAYOUTS.of(op) == plain and channels % 2 == 0 and shape_of(op.operands[1])[0] > groups
    elif isinstance(op, DenseOp):
        fits = same(shape_of(op.data)[1] % 2, 0) and shape_of(op.weight)[0] >= SMALLEST_BLOCK
    else:
        return False
    return fits and is_constant(op.operands[1])


@dataclass
class Convert(Retype):
    """Operators on operands of the dtype that is theirs."""

    half: str
    """Its dtype."""
    categories: dict[str, Category]
    products: bool
    """True where only products that gain by it compute on halves."""
    tiles: bool
    """True where of these only products of tiles gain."""
    sums: bool
    """True where convolutions of float16 gain, too."""
    missing: dict[str, Operator] = field(default_factory=_operators)

    def wanted(self, op: Operator) -> list[Attribute]:
        if self.products and not _gains(op, self.half, self.tiles, self.sums):
            return [self.original(value) for value in op.operands]
        computed = self._computed(op)
        if computed is None:
            return [self.original(value) for value in op.operands]
        halves = f32, DTYPES[self.half]
        if self.products and computed == DTYPES[self.half]:
            op.properties["out_dtype"] = StringAttr("float32")
        return [computed if _is_float(value, *halves) else self.original(value) for value in op.operands]

    def _computed(self, op: Operator) -> Attribute | None:
        """The dtype that an operator computes floats in; None where it is left as it is."""
        half = DTYPES[self.half]
        floats = [value for value in op.operands if not is_integer(element_of(value))]
        if not floats or any(not _is_float(value, f32, half) for value in floats):
            return None
        name = op.name.removeprefix("relay.")
        category = self.categories.get(name, Category.MISSING)
        if (hook := op_attr(name, MIXED_PRECISION)) is not None:
            category = self._asked(op, hook)
        if category is Category.MISSING:
            self.missing.setdefault(op.name, op)
        if category is Category.FOLLOW:
            free = (element_of(v) == half or isinstance(v.owner, ConstantOp | Block) for v in floats)
            category = Category.ALWAYS if all(free) else Category.NEVER
        return half if category is Category.ALWAYS else f32

    def _asked(self, op: Operator, hook: Callable[..., Sequence[object]]) -> Category:
        """Return the answer of a user's function for an operator: the category first, as a number."""
        from .op_hooks import written

        try:
            return Category(hook(written(op).call, self.half)[0])
        except (ValueError, IndexError, TypeError) as error:
            fail(op, "a category from 0 to 3 of what is registered for mixed precision", str(error))


@dataclass(frozen=True)
class ToMixedPrecisionPass(ModulePass):
    """Lets operators that gain by it compute on halves, others on float32, as TVM's ToMixedPrecision (level 0).

    Convolutions, dense layers and products always do; their sums are kept in float32, and rounded once. Operators that
    are as good on halves do where all floats that they read are halves, constants or arguments of the function.
    Softmax, exponentials, norms and long sums never do. `passes/relay/precision_lists.py` has TVM's lists.

    Before: any relay module.
    After: each operator on float32 computes in the dtype that its list says. What others than operators read, a call
    for example, has the type that it had, as have the results of functions that are called or are to keep them.
    Locations: operators keep theirs; a cast has those of all operators that read it, or of the one whose result is
    brought back.

    mixed_precision_type: float16 or bfloat16.
    missing_op_mode: for an operator in no list, which then never computes on halves, 0 is an error, 1 (the default) a
    warning, and 2 nothing.
    keep_orig_output_dtype: cast results of functions back; by default the option
    relay.ToMixedPrecision.keep_orig_output_dtype of the PassContext says, which is false.
    products: only products that gain by it compute on halves, and give the float32 in which they are summed: on
    bfloat16 convolutions and dense layers with constant weights, and products of many rows, where numbers are summed in
    pairs; on float16 dense layers and, with `sums`, convolutions of two axes. All others stay as they are.
    tiles: of these only products that tiles can multiply, on machines where no other product of halves is faster.
    sums: the machine multiplies and adds vectors of float16.
    always, follow, never: operators that are in those lists besides, or instead.

    ```mlir
    // with missing_op_mode=0 keep_orig_output_dtype=true
    %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc("fc")
    %1 = relay.nn.relu %0 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("act")
    %2 = relay.nn.softmax %1 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("prob")
    relay.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
    // becomes
    %0 = relay.cast %w {dtype = "float16"} : (tensor<3x4xf32>) -> tensor<3x4xf16> loc("fc")
    %1 = relay.cast %x {dtype = "float16"} : (tensor<2x4xf32>) -> tensor<2x4xf16> loc("fc")
    %2 = relay.nn.dense %1, %0 : (tensor<2x4xf16>, tensor<3x4xf16>) -> tensor<2x3xf16> loc("fc")
    %3 = relay.nn.relu %2 : (tensor<2x3xf16>) -> tensor<2x3xf16> loc("act")
    %4 = relay.cast %3 {dtype = "float32"} : (tensor<2x3xf16>) -> tensor<2x3xf32> loc(fused["act", "prob"])
    %5 = relay.nn.softmax %4 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("prob")
    relay.return %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>
    ```
    """

    name = "relay-to-mixed-precision"
    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1
    keep_orig_output_dtype: bool | None = None
    always: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    products: bool = False
    tiles: bool = False
    sums: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mixed_precision_type not in ("float16", "bfloat16"):
            found = f"{self.mixed_precision_type!r}"
            raise PipelineError(message(self.name, "mixed-precision-type float16 or bfloat16", found))
        if self.missing_op_mode not in range(3):
            raise PipelineError(message(self.name, "missing-op-mode 0, 1 or 2", str(self.missing_op_mode)))
        option = PassContext.current().option("relay.ToMixedPrecision.keep_orig_output_dtype")
        keep = bool(option) if self.keep_orig_output_dtype is None else self.keep_orig_output_dtype
        functions, called = functions_of(op), called_in(op)
        kept = {func for func in functions if keep or func.sym_name.data in called}
        pattern = Convert(kept, self.mixed_precision_type, self._categories(), self.products, self.tiles, self.sums)
        retype(functions, pattern)
        self._complain(pattern.missing)

    def _categories(self) -> dict[str, Category]:
        lists = (Category.ALWAYS, ALWAYS, self.always), (Category.FOLLOW, FOLLOW, self.follow)
        found: dict[str, Category] = {}
        for category, names, _ in (*lists, (Category.NEVER, NEVER, self.never)):
            found |= dict.fromkeys(names, category)
        for category, _, names in (*lists, (Category.NEVER, NEVER, self.never)):
            found |= dict.fromkeys(names, category)
        return found

    def _complain(self, missing: dict[str, Operator]) -> None:
        if not missing or self.missing_op_mode == 2:
            return
        if self.missing_op_mode == 0:
            fail(next(iter(missing.values())), "an operator that a list names", "one in none")
        names = ", ".join(sorted(name.removeprefix("relay.") for name in missing))
        warnings.warn(f"{self.name}: computed in float32, as no list names them: {names}", stacklevel=2)
