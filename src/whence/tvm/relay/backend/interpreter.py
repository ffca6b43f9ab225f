"""The values that the executor of kind "debug" gives and takes."""

from whence.runtime.interpreting.container import ConstructorValue as ConstructorValue
from whence.runtime.interpreting.flow import Reference as RefValue

__all__ = ["ConstructorValue", "RefValue"]
