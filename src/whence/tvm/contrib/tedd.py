"""Drawings of schedules, as `from whence.contrib import tedd`."""

from whence.tedd import viz_dataflow_graph as viz_dataflow_graph
from whence.tedd import viz_itervar_relationship_graph as viz_itervar_relationship_graph
from whence.tedd import viz_schedule_tree as viz_schedule_tree
