"""Passes by Relax's names: those of relay that do the same, and reasons for those that have no meaning here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from whence.lowering.kernel.outline import OutlinePass
from whence.lowering.tir_to_te.fusion import note_patterns
from whence.passes.transform.passes import HoldsModule
from whence.relay import transform as passes
from whence.relay.module import IRModule
from whence.support.errors import PipelineError
from whence.syntax.relay.bind import bind_params
from whence.syntax.relay.expr import Function

_SAME: Mapping[str, tuple[str, ...]] = {
    "FoldConstant": ("FoldConstant",),
    "FuseOps": ("FuseOps",),
    "DeadCodeElimination": ("DeadCodeElimination",),
    "EliminateCommonSubexpr": ("EliminateCommonSubexpr",),
    "CanonicalizeBindings": ("ToGraphNormalForm",),
    "ToNonDataflow": ("ToANormalForm",),
    "ConvertToDataflow": ("ToGraphNormalForm",),
    "Normalize": ("InferType",),
    "LambdaLift": ("LambdaLift",),
    "InlinePrivateFunctions": ("Inline",),
    "FastMathTransform": ("FastMath",),
    "FoldBatchnormToConv2D": ("SimplifyInference", "FoldScaleAxis", "FoldConstant"),
    "DecomposeOpsForInference": ("SimplifyInference",),
    "CombineParallelMatmul": ("CombineParallelDense",),
}
"""The passes of relay that a pass of Relax is, in order; arguments go to the first one."""
_BUILD = "relax.build does this when it compiles"
_ABSENT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "RewriteDataflowReshape CallTIRRewrite StaticPlanBlockMemory "
            "LowerAllocTensor KillAfterLastUse LowerRuntimeBuiltin ComputePrimValue VMShapeLower AttachGlobalSymbol "
            "AlterOpImpl OptimizeLayoutTransform AllocateWorkspace DispatchSampling DispatchSortScan"
        ).split(),
        _BUILD,
    ),
    "RemovePurityChecking": "what a function may do is known from its ops",
    "FuseOpsByPattern": "relay.transform.MergeComposite does this, with patterns of relay.dataflow_pattern",
    "RunCodegen": "parts for other compilers are compiled with the rest, see docs/byoc.md",
    "MetaScheduleTuneIRMod": "whence.tune measures, and its records are applied when a model is compiled",
    "MetaScheduleTuneTIR": "whence.tune measures, and its records are applied when a model is compiled",
    "MetaScheduleApplyDatabase": "records of whence.tune are applied when a model is compiled",
    "UpdateVDevice": "there is one device",
    "RealizeVDevice": "there is one device",
    "RewriteCUDAGraph": "there is one device",
}


def ConvertLayout(desired_layouts: Mapping[str, Any]) -> Any:
    """Return the pass that converts operators to layouts, `{"nn.conv2d": ["NHWC", "HWIO"]}`."""
    names = {name.removeprefix("relax."): layouts for name, layouts in desired_layouts.items()}
    return passes.ConvertLayout(names)


def ToMixedPrecision(out_dtype: str = "float32", fp16_input_names: object = None) -> Any:
    """Return the pass that computes in float16 where that is safe; results of products are of `out_dtype`."""
    if fp16_input_names:
        raise PipelineError(f"ToMixedPrecision: expected no fp16_input_names, got {fp16_input_names}")
    del out_dtype
    return passes.ToMixedPrecision("float16")


def LegalizeOps(customize_legalize_map: Mapping[str, Any] | None = None, enable_warning: bool = False) -> Any:
    """Return the pass that makes a kernel of tir of each operator, as blocks that nobody scheduled, and calls it.

    Kernels fuse, and get their schedules, when the module is compiled. Raises PipelineError for kernels of one's own
    in customize_legalize_map, as a registered strategy has its place.
    """
    del enable_warning
    if customize_legalize_map:
        got = ", ".join(customize_legalize_map)
        raise PipelineError(f"LegalizeOps: expected no kernels of one's own, got some for {got}; see register_schedule")
    return passes.Sequential([passes.SimplifyInference(), passes.FuseOps(0), FuseTIR()], name="LegalizeOps")


def AnnotateTIROpPattern() -> Any:
    """Return the pass that notes at each call of a kernel how it may fuse, which follows from its loops."""

    def note(mod: Any, ctx: object) -> Any:
        del ctx
        note_patterns(mod.module if isinstance(mod, HoldsModule) else mod)
        return mod

    return passes.module_pass(note, opt_level=0, name="AnnotateTIROpPattern")


def FuseTIR() -> Any:
    """Return the pass that makes one kernel of each group of FuseOps."""
    return passes.Sequential([OutlinePass(scheduled=False)], name="FuseTIR")


def BindParams(func_name: str, params: Mapping[str, Any]) -> Callable[[IRModule], IRModule]:
    """Return the pass that binds parameters of a function to values."""
    arrays = {str(getattr(name, "name_hint", name)): np.asarray(value) for name, value in params.items()}

    def apply(mod: IRModule) -> IRModule:
        held = mod.shallow_copy()
        function = held[func_name]
        if not isinstance(function, Function):
            raise PipelineError(f"BindParams: expected a function of relay, got the kernel {func_name}")
        held[func_name] = bind_params(function, arrays)
        return held

    return apply


def Gradient(func_name: str, require_grads: object = None, target_index: int = 0) -> Callable[[IRModule], IRModule]:
    """Return the pass that adds `<func_name>_adjoint`, which returns the value and the gradients of all parameters."""
    if require_grads is not None or target_index:
        raise PipelineError("Gradient: expected the gradients of all parameters of the only result")

    def apply(mod: IRModule) -> IRModule:
        held = mod.shallow_copy()
        held[f"{func_name}_adjoint"] = passes.gradient(held[func_name], held)
        return held

    return apply


def get_pipeline(name: str = "zero") -> Any:
    """Return the passes of a name, `zero` or `default_build`: simplification, constants and fusion."""
    if name not in ("zero", "default_build", "default"):
        raise PipelineError(f"get_pipeline: expected zero or default_build, got {name}")
    return passes.Sequential([passes.SimplifyInference(), passes.FoldConstant(), passes.FuseOps()])


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(f"module 'whence.relax.transform' has no attribute '{name}': {_ABSENT[name]}")
    if name in ("Sequential", "PassContext"):
        return getattr(passes, name)
    if name not in _SAME:
        raise AttributeError(f"module 'whence.relax.transform' has no attribute '{name}'")
    first, *rest = _SAME[name]

    def make(*args: Any, **kwargs: Any) -> Any:
        made = getattr(passes, first)(*args, **kwargs)
        return made if not rest else passes.Sequential([made, *(getattr(passes, other)() for other in rest)])

    make.__name__ = make.__qualname__ = name
    return make
