"""The tir dialect: loops over buffers. Scalars and vectors are computed with arith, math and vector ops.

```mlir
tir.prim_func @relu(%p0: !tir.buffer<4x64xf32>, %out: !tir.buffer<4x64xf32>) outputs 1 {
  tir.for parallel %i in 4 {
    tir.for %j in 4 {
      %0 = tir.load %p0[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32>
      ...
      tir.store %1, %out[%i, %j * 16] : vector<16xf32>, !tir.buffer<4x64xf32>
    }
  }
}
```
"""

from xdsl.ir import Dialect

from . import canonicalization as canonicalization
from .access import PAST_THE_END as PAST_THE_END
from .access import UNBOUNDED as UNBOUNDED
from .access import AllocOp as AllocOp
from .access import CallExternOp as CallExternOp
from .access import IndexOp as IndexOp
from .access import LoadOp as LoadOp
from .access import StoreOp as StoreOp
from .access import index_ranges as index_ranges
from .block import BlockOp as BlockOp
from .block import InitOp as InitOp
from .buffer import SCOPES as SCOPES
from .buffer import BufferType as BufferType
from .buffer import buffer_of as buffer_of
from .buffer import element_bytes as element_bytes
from .control import INDEX as INDEX
from .control import KINDS as KINDS
from .control import SCHEDULED as SCHEDULED
from .control import ForOp as ForOp
from .control import IfOp as IfOp
from .control import PrimFuncOp as PrimFuncOp
from .control import prim_funcs as prim_funcs
from .dots import Dot2Op as Dot2Op
from .dots import Dot4Op as Dot4Op
from .dots import DotBf16Op as DotBf16Op
from .dots import JoinBytesOp as JoinBytesOp
from .dots import WidenPairsOp as WidenPairsOp
from .lanes import CastOp as CastOp
from .lanes import CompareOp as CompareOp
from .lanes import SelectOp as SelectOp
from .masked import MaskedLoadOp as MaskedLoadOp
from .masked import MaskedStoreOp as MaskedStoreOp
from .masked import MaskOp as MaskOp
from .prefetch import PrefetchOp as PrefetchOp
from .statements import AllocConstOp as AllocConstOp
from .statements import AssertOp as AssertOp
from .statements import ConditionOp as ConditionOp
from .statements import DeclBufferOp as DeclBufferOp
from .statements import WhileOp as WhileOp
from .tiles import TileConfigOp as TileConfigOp
from .tiles import TileDotOp as TileDotOp
from .tiles import TileLoadOp as TileLoadOp
from .tiles import TileStoreOp as TileStoreOp
from .tiles import TileZeroOp as TileZeroOp

Tir = Dialect(
    "tir",
    [
        PrimFuncOp,
        ForOp,
        IfOp,
        WhileOp,
        ConditionOp,
        BlockOp,
        InitOp,
        AllocOp,
        AllocConstOp,
        DeclBufferOp,
        LoadOp,
        StoreOp,
        MaskOp,
        MaskedLoadOp,
        MaskedStoreOp,
        PrefetchOp,
        AssertOp,
        CallExternOp,
        IndexOp,
        CompareOp,
        SelectOp,
        CastOp,
        Dot2Op,
        Dot4Op,
        DotBf16Op,
        WidenPairsOp,
        JoinBytesOp,
        TileConfigOp,
        TileZeroOp,
        TileLoadOp,
        TileDotOp,
        TileStoreOp,
    ],
    [BufferType],
)
