"""Drivers by TVM's names: `from whence.driver import tvmc`."""
