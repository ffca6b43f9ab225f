"""Whence: an ML compiler for the CPU in which every instruction remembers the layers it came from."""
