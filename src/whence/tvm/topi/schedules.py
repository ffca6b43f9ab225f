"""`topi.generic` and `topi.x86`: the schedules that TVM has for kinds of operators, by its names.

All are the compiler's strategies, which ask what the stages compute and not which name asked, for the target of the
innermost `with target:`, or else this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategy import schedule_by_rows
from whence.support.doors import door
from whence.support.names import did_you_mean
from whence.te.language.tensor import Tensor
from whence.te.schedule.create import create_schedule
from whence.te.schedule.schedule import Schedule

_KINDS = (
    *("adaptive_pool", "argsort", "argwhere", "batch_matmul", "batch_norm", "binarize_pack", "binary_dense"),
    *("concatenate", "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw", "conv2d_NCHWc", "conv2d_hwcn"),
    *("conv2d_nchw", "conv2d_nhwc", "conv2d_transpose_nchw", "conv3d_ncdhw", "conv3d_ndhwc"),
    *("conv3d_transpose_ncdhw", "correlation_nchw", "deformable_conv2d_nchw", "deformable_conv2d_nhwc", "dense"),
    *("dense_nopack", "dense_pack", "depthwise_conv2d_NCHWc", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc"),
    *("dilation2d_nchw", "dilation2d_nhwc", "einsum", "extern", "fast_softmax", "get_valid_counts"),
    *("group_conv2d_nchw", "group_conv2d_nhwc", "injective", "lrn", "lstm", "matmul", "nms", "pool", "pool_grad"),
    *("proposal", "reduce", "reorg", "roi_align", "roi_pool", "softmax", "sort", "sparse_dense"),
    *("sparse_transpose", "topk", "unique"),
)


class Schedules:
    """The schedules of a package of TVM's topi: `topi.x86.schedule_dense(outs)`."""

    def __init__(self, package: str):
        self._package = package

    def __getattr__(self, name: str) -> Callable[..., Schedule]:
        if name not in dir(self):
            raise AttributeError(f"module '{self._package}' has no attribute '{name}'{did_you_mean(name, dir(self))}")
        return _scheduled

    def __dir__(self) -> list[str]:
        return ["default_schedule", *(f"schedule_{kind}" for kind in _KINDS)]


@door()
def _scheduled(outs: Tensor | Sequence[Tensor], *more: object) -> Schedule:
    """Return a schedule of tensors by the compiler's strategies.

    more: what TVM's takes besides, such as a layout, which the stages say themselves. Raises ScheduleError for what is
    no tensor.
    """
    del more
    target = Target.current() or Target.native()
    return schedule_by_rows(create_schedule(outs), target.hardware)
