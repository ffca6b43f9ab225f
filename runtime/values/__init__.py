"""Arrays and tensors at the edge of native code: what callers give, how it is described, and files of parameters."""
