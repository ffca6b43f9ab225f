"""relay-to-mixed-precision: what gains by it is computed on halves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ...dialects.element_types import DTYPES, dtype_name, is_integer
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.operator import Operator, element_of
from ...frontends.relay.op_attrs import MIXED_PRECISION, op_attr
from ...provenance.diagnostics import fail, message
from ...provenance.rewrite import rewrite
from ...provenance.span import fuse
from ...support.context import PassContext
from ...support.errors import PipelineError
from .precision_lists import ALWAYS, FOLLOW, NEVER


class Category(Enum):
    """The treatment of an operator (TVM's names)."""

    ALWAYS = 0
    FOLLOW = 1
    NEVER = 2
    MISSING = 3


def _is_float(value: SSAValue, *elements: Attribute) -> bool:
    """Return whether a value is a tensor of one of these element types."""
    return element_of(value) in elements


def _casts() -> dict[tuple[SSAValue, Attribute], CastOp]:
    return {}


def _types() -> dict[SSAValue, Attribute]:
    return {}


def _operators() -> dict[str, Operator]:
    return {}


@dataclass
class Convert(RewritePattern):
    """Operators in program order, on operands of the dtype that is theirs; other ops read what they did."""

    half: str
    """Its dtype."""
    categories: dict[str, Category]
    keep: set[FuncOp]
    """Functions that return what they did."""
    casts: dict[tuple[SSAValue, Attribute], CastOp] = field(default_factory=_casts)
    originals: dict[SSAValue, Attribute] = field(default_factory=_types)
    """Value of another type -> the type that it had."""
    missing: dict[str, Operator] = field(default_factory=_operators)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator):
            return
        wanted = self._wanted(op)
        changed = False
        for index, value in enumerate(op.operands):
            element = wanted if wanted is not None and _is_float(value, f32, DTYPES[self.half]) else None
            element = element or element_of(self.originals.get(value, value.type))
            if element != element_of(value):
                op.operands[index] = self._cast(value, element, op, rewriter)
                changed = True
        if not changed:
            # What it reads may have changed its type before.
            changed = any(value in self.originals for value in op.operands)
        if changed:
            rewriter.notify_op_modified(op)
            for result, type_ in zip(op.results, op.inferred(op.signature), strict=True):
                if result.type != type_:
                    original = result.type
                    new = rewriter.replace_value_with_new_type(result, type_)
                    self.originals[new] = original
                    self._restore(new, original, op, rewriter)

    def _wanted(self, op: Operator) -> Attribute | None:
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

    def _cast(self, value: SSAValue, element: Attribute, op: Operation, rewriter: PatternRewriter) -> SSAValue:
        """`value` as another dtype, cast once, right behind what makes it, for all that ask."""
        if (known := self.casts.get((value, element))) is not None:
            known.location = fuse([known.location, op.location])
            return known.result
        made = CastOp(value, dtype=dtype_name(element), location=op.location)
        owner = value.owner
        place = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
        rewriter.insert(made, place)
        self.casts[value, element] = made
        return made.result

    def _restore(self, value: SSAValue, original: Attribute, op: Operation, rewriter: PatternRewriter) -> None:
        """Have what is no operator read `value` as it was."""
        for use in list(value.uses):
            user = use.operation
            if isinstance(user, Operator) or (isinstance(user, ReturnOp) and user.parent_op() not in self.keep):
                continue
            user.operands[use.index] = self._cast(value, element_of(original), op, rewriter)


@dataclass(frozen=True)
class ToMixedPrecisionPass(ModulePass):
    """Computes on float16 or bfloat16 what gains by it, and the rest on float32, as TVM's ToMixedPrecision (level 0).

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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mixed_precision_type not in ("float16", "bfloat16"):
            found = f"{self.mixed_precision_type!r}"
            raise PipelineError(message(self.name, "mixed-precision-type float16 or bfloat16", found))
        if self.missing_op_mode not in range(3):
            raise PipelineError(message(self.name, "missing-op-mode 0, 1 or 2", str(self.missing_op_mode)))
        option = PassContext.current().option("relay.ToMixedPrecision.keep_orig_output_dtype")
        keep = bool(option) if self.keep_orig_output_dtype is None else self.keep_orig_output_dtype
        functions = [func for func in op.ops if isinstance(func, FuncOp) and func.primitive is None]
        called = {call.callee.string_value() for call in op.walk() if isinstance(call, CallOp)}
        kept = {func for func in functions if keep or func.sym_name.data in called}
        pattern = Convert(self.mixed_precision_type, self._categories(), kept)
        for func in functions:
            rewrite(func.body, [pattern], recursive=False)
            func.update_type()
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
