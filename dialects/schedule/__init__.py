"""The schedule dialect: the primitives that order a te.func's stages, one op each. The first k ops are snapshot k.

```mlir
schedule.sequence @fused_nn_dense {
  %dense = schedule.stage "dense"
  %i, %j, %k = schedule.axes %dense : 3
  %j.outer, %j.inner = schedule.split %j factor 16
  schedule.reorder %i, %j.outer, %k, %j.inner
  schedule.vectorize %j.inner
}
```
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .base import (
    ArgumentOp,
    AxesOp,
    AxisType,
    Name,
    NumberType,
    Primitive,
    SequenceOp,
    StageOp,
    StageType,
    ThreadOp,
)
from .base import ThreadType as ThreadType
from .blocks import INSTRUCTIONS, BlockType, LoopType
from .intrin import TensorComputeOp
from .intrin import TensorIntrinOp as TensorIntrinOp
from .knob import ArithOp, KnobOp
from .knob import decided as decided
from .loops import (
    BindOp,
    FusedOp,
    FuseOp,
    ParallelOp,
    PragmaOp,
    PrefetchOp,
    ReorderOp,
    SingletonOp,
    SplitByNPartsOp,
    SplitOp,
    TensorizeOp,
    UnrollOp,
    VectorizeOp,
)
from .stages import (
    CacheReadOp,
    CacheWriteOp,
    ComputeAtOp,
    ComputeInlineOp,
    ComputeRootOp,
    CreateGroupOp,
    DoubleBufferOp,
    EnvThreadsOp,
    RfactorOp,
    RollingBufferOp,
    SetAxisSeparatorsOp,
    SetScopeOp,
    SetStorePredicateOp,
    StorageAlignOp,
    TransformLayoutOp,
)

NAMES: tuple[type[Name], ...] = (StageOp, ArgumentOp, AxesOp, ThreadOp, KnobOp, ArithOp)
"""The ops that change nothing: they name parts of a schedule, and the choices that it follows from."""

PRIMITIVES: tuple[type[Primitive], ...] = (
    SplitOp,
    SplitByNPartsOp,
    FuseOp,
    FusedOp,
    SingletonOp,
    ReorderOp,
    VectorizeOp,
    UnrollOp,
    ParallelOp,
    BindOp,
    TensorizeOp,
    TensorComputeOp,
    PragmaOp,
    PrefetchOp,
    ComputeAtOp,
    ComputeInlineOp,
    ComputeRootOp,
    SetScopeOp,
    CacheReadOp,
    CacheWriteOp,
    RfactorOp,
    CreateGroupOp,
    EnvThreadsOp,
    DoubleBufferOp,
    RollingBufferOp,
    StorageAlignOp,
    SetStorePredicateOp,
    TransformLayoutOp,
    SetAxisSeparatorsOp,
)
"""The ops that change a schedule."""

Schedule = Dialect(
    "schedule",
    [SequenceOp, TensorIntrinOp, *NAMES, *PRIMITIVES, *INSTRUCTIONS.values()],
    [StageType, AxisType, ThreadType, BlockType, LoopType, NumberType],
)
