"""The values that the executor of kind "debug" takes and returns."""

from whence.runtime.interpreting.container import ConstructorValue as ConstructorValue
from whence.runtime.interpreting.flow import Reference as RefValue

__all__ = ["ConstructorValue", "RefValue"]
