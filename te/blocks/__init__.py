"""Schedules of blocks: primitives that rewrite the loops around the `tir.block`s of a kernel."""
