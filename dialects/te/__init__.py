"""The te dialect: tensor expressions. Tensors are values, each stage a `te.compute`; index arithmetic is affine.

```mlir
te.func @fused_nn_dense(%p0: tensor<4x8xf32>, %p1: tensor<16x8xf32>) -> (tensor<4x16xf32>) {
  %dense = te.compute "dense" (%i in 4, %j in 16) sum(%k in 8) : tensor<4x16xf32> {
    %a = te.read %p0[%i, %k] : tensor<4x8xf32>
    %b = te.read %p1[%j, %k] : tensor<16x8xf32>
    %0 = arith.mulf %a, %b : f32
    te.yield %0 : f32
  }
  te.return %dense : tensor<4x16xf32>
}
```

A reduction that has no name of its own combines in a second region, from constants on:

```mlir
%at, %best = te.compute "argmax" (%i in 4) reduce "argmax"(%k in 8) : tensor<4xi32>, tensor<4xf32> {
  ...
  te.yield %k32, %a : i32, f32
} combine(%x0: i32, %x1: f32, %y0: i32, %y1: f32) from(-1 : i32, -3.4e38 : f32) {
  %0 = arith.cmpf oge, %x1, %y1 : f32
  ...
  te.yield %1, %2 : i32, f32
}
```
"""

from xdsl.ir import Dialect

from .ops import STAGES as STAGES
from .ops import ComputeOp as ComputeOp
from .ops import FuncOp as FuncOp
from .ops import IndexOp as IndexOp
from .ops import ReadOp as ReadOp
from .ops import ReturnOp as ReturnOp
from .ops import YieldOp as YieldOp
from .stages import ExternOp as ExternOp
from .stages import HybridOp as HybridOp
from .stages import ScanOp as ScanOp
from .stages import StateOp as StateOp
from .types import I32 as I32
from .types import INDEX as INDEX
from .types import PREDICATED as PREDICATED
from .types import REDUCERS as REDUCERS
from .types import ROWS_APART as ROWS_APART
from .types import STARTS as STARTS
from .types import behind as behind
from .uses import inputs_of as inputs_of
from .uses import packed_calls as packed_calls

Te = Dialect("te", [FuncOp, ReturnOp, ComputeOp, ReadOp, IndexOp, YieldOp, StateOp, ScanOp, ExternOp, HybridOp])
