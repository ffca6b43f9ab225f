"""Schedules: stages, the primitives that order them, and what bounds their loops have."""
