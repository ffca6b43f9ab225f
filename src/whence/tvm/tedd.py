"""Drawings of schedules, as `from whence import tedd`; TVM has them as `tvm.contrib.tedd`."""

from whence.explorer.schedule.tedd import viz_dataflow_graph as viz_dataflow_graph
from whence.explorer.schedule.tedd import viz_itervar_relationship_graph as viz_itervar_relationship_graph
from whence.explorer.schedule.tedd import viz_schedule_tree as viz_schedule_tree
