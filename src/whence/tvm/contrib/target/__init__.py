"""Formats of other libraries that modules are written in, by TVM's names."""
