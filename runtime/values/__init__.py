"""Arrays and tensors at the edge of native code: the values of callers, their descriptions, and files of parameters."""
