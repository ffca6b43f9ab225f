"""The error that TVM's programs catch, where TVM has it."""

from whence.support.errors import TVMError as TVMError
