"""Errors by TVM's name."""

from whence.support.errors import TVMError as TVMError

__all__ = ["TVMError"]
