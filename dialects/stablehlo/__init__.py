"""The dialects stablehlo and chlo: what JAX and other frameworks of XLA write, in MLIR's generic form.

```mlir
%1 = "stablehlo.compare"(%0, %c) <{comparison_direction = #stablehlo<comparison_direction LT>}>
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
%2 = "chlo.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
```

Ops say how many values, regions and which properties they take; what these have to be, the importer says of those that
it takes (`frontends/stablehlo`).
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import ATTRIBUTES
from .ops import CHLO, STABLEHLO

Stablehlo = Dialect("stablehlo", STABLEHLO, [kind for kind in ATTRIBUTES if kind.name.startswith("stablehlo.")])
Chlo = Dialect("chlo", CHLO, [kind for kind in ATTRIBUTES if kind.name.startswith("chlo.")])
