"""Passes by TVM's names, and passes of Python functions: `tvm.transform` and `relay.transform` in one.

>>> from whence import transform
>>> passes = transform.Sequential([transform.SimplifyInference(), transform.FoldConstant()])
>>> better = passes(module)

A function for each relay pass of the registry, with TVM's name and the pass's options as keyword arguments, makes the
pass. `dir(transform)` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from xdsl.ir import Operation

from whence.dialects.relay.attributes import to_python
from whence.passes.classes import pass_class
from whence.passes.registry import PASSES, Row
from whence.passes.relay.convert_layout import ConvertLayoutPass
from whence.passes.relay.convert_layout import LayoutConfig as LayoutConfig
from whence.passes.relay.eliminate_common_subexpr import EliminateCommonSubexprPass, EliminateOthers
from whence.passes.relay.fake_quantization_to_integer import FakeQuantizationToIntegerPass
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.fold_scale_axis import FoldScaleAxisPass
from whence.passes.relay.fuse_ops import FuseOpsPass
from whence.passes.relay.merge_composite import MergeCompositePass, MergeGivenComposites
from whence.passes.relay.pattern_table import Table
from whence.passes.relay.remove_unused_functions import RemoveUnusedFunctionsPass
from whence.passes.transform.passes import FunctionPass as FunctionPass
from whence.passes.transform.passes import ModulePass as ModulePass
from whence.passes.transform.passes import Pass as Pass
from whence.passes.transform.passes import PrintIR as PrintIR
from whence.passes.transform.passes import Sequential as Sequential
from whence.passes.transform.passes import function_pass as function_pass
from whence.passes.transform.passes import module_pass as module_pass
from whence.passes.transform.passes import named
from whence.support.context import PassContext as PassContext
from whence.support.errors import PipelineError
from whence.support.instrument import PassInfo as PassInfo
from whence.syntax.relay.expr import Call, Op, Var


def _name(row: Row) -> str:
    """`FoldConstant`: TVM's name without dots, or the class's without `Pass`."""
    return row.tvm if row.tvm.isidentifier() else row.home.rpartition(":")[2].removesuffix("Pass")


_ROWS = {_name(row): row for row in PASSES if row.name.startswith("relay-")}


def maker(name: str, row: Row) -> Callable[..., Pass]:
    def make(*arguments: Any, **options: Any) -> Pass:
        kind = pass_class(row)
        names = [field.name for field in fields(kind)]
        positional = dict(zip(names, arguments, strict=False))
        wrong = sorted(set(options) - set(names)) or sorted(set(options) & set(positional))
        if wrong or len(arguments) > len(names):
            expected, got = ", ".join(names) or "none", ", ".join(wrong) or f"{len(arguments)} values"
            raise PipelineError(f"transform.{name}: expected options among {expected}, got {got}")
        values: dict[str, Any] = {}
        for key, value in (positional | options).items():
            # As options of passes are, which have a text form.
            values[key] = tuple(cast("list[object]", value)) if isinstance(value, list) else value
        try:
            return named(kind(**values), name)
        except TypeError as error:
            raise PipelineError(
                f"transform.{name}: expected all of its options, got {', '.join(values) or 'none'}"
            ) from error

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The pass {row.name}: {row.help}."
    return make


def MergeComposite(pattern_table: Table | str) -> Pass:
    """Operators that an external compiler takes together become composite functions.

    pattern_table: (name, pattern) or (name, pattern, check) for each, the first ones tried first; or the name of a
    compiler, whose registered table it is then.
    """
    if isinstance(pattern_table, str):
        return named(MergeCompositePass(pattern_table))
    return named(MergeGivenComposites(pattern_table))


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """Replace operators on constants by constants; with `fold_qnn`, operators on quantised tensors, too."""
    return named(FoldConstantPass(fold_qnn))


def EliminateCommonSubexpr(fskip: Callable[[Call], bool] | None = None) -> Pass:
    """Merge equal operators; `fskip` gets each as a call of variables, and returns True for those that stay."""
    if fskip is None:
        return named(EliminateCommonSubexprPass())

    def skip(op: Operation) -> bool:
        operands = [Var(value.name_hint or f"p{k}", value.type) for k, value in enumerate(op.operands)]
        attributes = {key: to_python(value) for key, value in op.properties.items()}
        return fskip(Call(Op(op.name.removeprefix("relay.")), operands, attributes))

    return named(EliminateOthers(skip))


def FuseOps(fuse_opt_level: int = -1, max_depth: int = -1) -> Pass:
    """Operators that make one kernel become a primitive function; at level 0 each on its own."""
    return named(FuseOpsPass(max_depth, fuse_opt_level))


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]] | str) -> Pass:
    """Operators compute in the layouts that are asked for: of data, and of weights where a second one is given.

    desired_layouts: by TVM's names of operators, or as the pass's option is written.
    """
    if not isinstance(desired_layouts, str):
        desired_layouts = ";".join(f"{op}:{','.join(layouts)}" for op, layouts in desired_layouts.items())
    return named(ConvertLayoutPass(desired_layouts))


def FakeQuantizationToInteger(
    hard_fail: bool = False, use_qat: bool = False, optional_qnn_ops: Sequence[str] | None = None
) -> Pass:
    """Make operators on dequantised tensors compute on the integers, as far as there are rules for it.

    hard_fail: raise an error for operators between them without a rule, or whose rule fails. use_qat: include operators
    that no quantisation follows, if they keep the steps. optional_qnn_ops: operators such as `nn.softmax` to compute on
    integers, too, although their values then differ from floats.
    """
    optional = tuple(optional_qnn_ops or ())
    return named(
        FakeQuantizationToIntegerPass(complete=True, hard_fail=hard_fail, use_qat=use_qat, optional_qnn_ops=optional)
    )


def ForwardFoldScaleAxis() -> Pass:
    """Constant factors per channel move into the weights behind them."""
    return named(FoldScaleAxisPass("forward"), "ForwardFoldScaleAxis")


def BackwardFoldScaleAxis() -> Pass:
    """Constant factors per channel move into the weights before them."""
    return named(FoldScaleAxisPass("backward"), "BackwardFoldScaleAxis")


def RemoveUnusedFunctions(entry_functions: Sequence[str] | None = None) -> Pass:
    """Remove functions that none of the entries, by default `main`, reaches."""
    return named(RemoveUnusedFunctionsPass(tuple(entry_functions or ("main",))))


_SPARSE = "no operator takes sparse weights"
_WITHOUT: dict[str, str] = {
    "PlanDevices": "all runs on one CPU, so that no device is there to be chosen",
    "FlexibleShapeDispatch": "one program serves all sizes that are named or left open, without a branch for each",
    "ManifestLifetimes": "the executors plan memory themselves",
    "MetaScheduleApplyDatabase": "records are applied in the scope of autotvm.apply_history_best",
    "Conv2dToSparse": _SPARSE,
    "Conv2dToSparse2": _SPARSE,
    "DenseToSparse": _SPARSE,
}
"""Passes of TVM that have nothing to do here, and why."""


def __getattr__(name: str) -> Callable[..., Pass]:
    if name in _ROWS:
        return maker(name, _ROWS[name])
    reason = f": {_WITHOUT[name]}" if name in _WITHOUT else ""
    raise AttributeError(f"module 'whence.transform' has no attribute '{name}'{reason}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROWS])
