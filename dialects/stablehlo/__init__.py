"""The dialects stablehlo, chlo and sdy: what JAX and other users of XLA write, in its own form and the generic one.

```mlir
%1 = stablehlo.compare LT, %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
%2 = "chlo.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
```

Ops say how many values, regions and which properties they take, and how they are spelled; what these have to be, the
importer says of those that it takes (`frontends/stablehlo`).
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import ATTRIBUTES
from .ops import CHLO, STABLEHLO
from .sdy import Sdy as Sdy

Stablehlo = Dialect("stablehlo", STABLEHLO, [kind for kind in ATTRIBUTES if kind.name.startswith("stablehlo.")])
Chlo = Dialect("chlo", CHLO, [kind for kind in ATTRIBUTES if kind.name.startswith("chlo.")])
