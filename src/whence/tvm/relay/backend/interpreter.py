"""The values that the executor of kind "debug" gives and takes."""

from whence.runtime.container import ConstructorValue as ConstructorValue
from whence.runtime.flow import Reference as RefValue

__all__ = ["ConstructorValue", "RefValue"]
