"""`target.target`, where TVM defines targets."""

from whence.target import Target as Target
