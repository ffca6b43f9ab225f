"""Networks by script, with random weights, in the manner of exporters: a table of full ones, and one of small ones."""

from zoo.table import NETWORKS, SMALL, Entry

__all__ = ["NETWORKS", "SMALL", "Entry"]
