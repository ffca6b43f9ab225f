"""Debugging of graphs as they run: dumps, times, steps, watches."""
