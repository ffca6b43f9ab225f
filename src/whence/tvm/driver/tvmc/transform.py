"""Changes of a module before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

from whence import relay, transform
from whence.relay.module import IRModule
from whence.relay.op import MIXED_PRECISION
from whence.relay.testing.temp_op_attr import TempOpAttr
from whence.support.errors import PipelineError, expectation

_LAYOUT_OPS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")


def convert_graph_layout(
    mod: IRModule, desired_layouts: Sequence[str] | str, ops: Sequence[str] | None = None
) -> IRModule:
    """The module with operators in other layouts, and their constants folded.

    desired_layouts: `NHWC`, or of the weights as well `NHWC:HWIO`; one for all operators, or one for each of `ops`.
    Raises PipelineError where their numbers differ, and the errors of ConvertLayout.
    """
    layouts = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    names = list(ops) if ops else list(_LAYOUT_OPS)
    if len(layouts) not in (1, len(names)) or (len(layouts) > 1 and not ops):
        expected = "one layout, or one for each operator of desired_layout_ops"
        raise PipelineError(expectation("desired_layout", expected, f"{len(layouts)} for {len(names)}"))
    layouts = layouts * len(names) if len(layouts) == 1 else layouts
    wanted = {name: [*layout.split(":"), "default"][:2] for name, layout in zip(names, layouts, strict=True)}
    passes = [
        relay.transform.RemoveUnusedFunctions(),
        relay.transform.ConvertLayout(wanted),
        relay.transform.FoldConstant(),
    ]
    return transform.Sequential(passes)(mod)


class MixedPrecision(ExitStack):
    """A scope in which ToMixedPrecision converts operators to halves.

    acc_type: the dtype of sums, as programs name it; they are float32 here, and are rounded once.
    """

    def __init__(self, ops: Sequence[str], acc_type: str):
        super().__init__()
        self.ops, self.acc_type = ops, acc_type

    def __enter__(self) -> Self:
        for name in self.ops:
            self.enter_context(TempOpAttr(name, MIXED_PRECISION, self._conversion))
        return super().__enter__()

    def _conversion(self, call: object, dtype: str) -> list[object]:
        return [0, self.acc_type, dtype]


def convert_to_mixed_precision(
    mod: IRModule,
    ops: Sequence[str] | None = None,
    calculation_type: str = "float16",
    acc_type: str = "float16",
) -> IRModule:
    """The module with operators that compute on halves, by default `nn.conv2d` and `nn.dense`; its outputs keep dtypes.

    calculation_type: float16 or bfloat16. Raises PipelineError for others, and FrontendError for unknown operators.
    """
    for name, dtype, dtypes in (
        ("mixed_precision_calculation_type", calculation_type, ("float16", "bfloat16")),
        ("mixed_precision_acc_type", acc_type, ("float16", "bfloat16", "float32")),
    ):
        if dtype not in dtypes:
            raise PipelineError(expectation(name, f"one of {', '.join(dtypes)}", repr(dtype)))
    chosen = list(ops) if ops else ["nn.conv2d", "nn.dense"]
    config = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}
    passes = [relay.transform.InferType(), relay.transform.ToMixedPrecision(calculation_type)]
    with MixedPrecision(chosen, acc_type), transform.PassContext(opt_level=3, config=config):
        return transform.Sequential(passes)(mod)


def apply_graph_transforms(mod: IRModule, args: Mapping[str, Any] | None) -> IRModule:
    """The module after the changes that options ask for. Errors as those of the changes.

    args: `desired_layout` and `desired_layout_ops`; `mixed_precision`, and what it takes with that name before it.
    """
    options = dict(args or {})
    if options.get("desired_layout"):
        mod = convert_graph_layout(mod, options["desired_layout"], options.get("desired_layout_ops"))
    if options.get("mixed_precision"):
        mod = convert_to_mixed_precision(
            mod,
            options.get("mixed_precision_ops"),
            options.get("mixed_precision_calculation_type") or "float16",
            options.get("mixed_precision_acc_type") or "float16",
        )
    return mod
