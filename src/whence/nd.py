"""Arrays by TVM's names: `nd.array`, `nd.empty`, `NDArray`."""

from whence.runtime.ndarray import NDArray as NDArray
from whence.runtime.ndarray import array as array
from whence.runtime.ndarray import empty as empty

__all__ = ["NDArray", "array", "empty"]
