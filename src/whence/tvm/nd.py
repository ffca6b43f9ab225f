"""Arrays by TVM's names: `nd.array`, `nd.empty`, `NDArray`; and the devices that TVM has beside them."""

from whence.runtime.values.device import cpu as cpu
from whence.runtime.values.device import device as device
from whence.runtime.values.ndarray import NDArray as NDArray
from whence.runtime.values.ndarray import array as array
from whence.runtime.values.ndarray import empty as empty

__all__ = ["NDArray", "array", "cpu", "device", "empty"]
