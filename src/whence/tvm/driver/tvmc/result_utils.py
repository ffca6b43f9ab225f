"""Results of runs for people."""

from __future__ import annotations

import numpy as np

from whence.driver.tvmc.model import TVMCResult
from whence.support.dtypes import Array


def get_top_results(result: TVMCResult, max_results: int) -> Array:
    """The `max_results` largest scores of the first output, of any shape: a row of indices, and one of scores."""
    scores = np.ravel(np.asarray(next(iter(result.outputs.values()))))
    order = np.argsort(-scores, kind="stable")[:max_results]
    return np.stack([order.astype(scores.dtype), scores[order]])
