"""Random numbers of a node's seeds, or of the program's; other ones than TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..importing.attributes import Element, Int
from ..importing.rows import row
from ..meanings.draws import integers, multinomial, normal, seeded, uniform

_SEEDS: dict[str, Any] = {"seed": Int(0), "seed2": Int(0)}
_FLOAT = Element(np.dtype("float32"))
_CLASSES = Element(np.dtype("int64"), name="output_dtype")
_OF_ENDS = Element(lambda ctx: ctx.dtype(1), name="Tout")

TABLE = {
    "Multinomial": row(seeded(multinomial), "logits num_samples:size", dtype=_CLASSES, **_SEEDS),
    "RandomStandardNormal": row(seeded(normal), "shape:ints", dtype=_FLOAT, **_SEEDS),
    "RandomUniform": row(seeded(uniform), "shape:ints", dtype=_FLOAT, **_SEEDS),
    "RandomUniformInt": row(seeded(integers), "shape:ints minval:size maxval:size", dtype=_OF_ENDS, **_SEEDS),
}
