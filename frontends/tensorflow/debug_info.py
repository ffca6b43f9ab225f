"""Stack traces of nodes, which `tf.saved_model.save` writes with `save_debug_info=True`: the lines that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

from ..importing.files import read_model
from ..importing.frames import Frame, user_line
from .messages import parse

DEBUG_INFO = Path("debug", "saved_model_debug_info.pb")
"""Where the folder of a saved model has them."""
_LONGEST = 1024
"""The characters of the longest name of a file or function that is read."""
Line: TypeAlias = "tuple[str, int]"
"""A file, and the number of a line of it."""
Trace: TypeAlias = "tuple[Frame, ...]"


def _shared(traces: Sequence[Trace]) -> int:
    """Return how many frames all traces begin with: those that the first and the last one in order begin with."""
    if not traces:
        return 0
    pairs = zip(min(traces), max(traces), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class DebugInfo:
    """The lines of the user's own files that made the nodes of functions.

    path: that of the file, a GraphDebugInfo. Raises FrontendError for one that is damaged.
    """

    def __init__(self, path: Path):
        path, data = read_model(path, "TensorFlow")
        self._info: Any = parse("GraphDebugInfo", data, str(path))
        self._frames: dict[int, Frame | None] = {}

    def lines(self, function: str) -> Mapping[str, Line]:
        """Return node -> line, for the nodes of a function that have one; "" is the main graph.

        What the traces of all nodes begin with led to the function: the call that saved the model is no layer's.
        """
        traces = self._traces.get(function, {})
        shared = _shared(list(traces.values()))
        lines = {node: user_line(trace[shared:]) or user_line(trace) for node, trace in traces.items()}
        return {node: line for node, line in lines.items() if line is not None}

    @cached_property
    def _traces(self) -> dict[str, dict[str, Trace]]:
        """Function -> node -> its trace, the outermost frame first."""
        by_id = {number: self._trace(trace) for number, trace in self._info.traces_by_id.items()}
        named = {name: by_id.get(number, ()) for name, number in self._info.name_to_trace_id.items()}
        # Older files have them without numbers.
        named |= {name: self._trace(trace) for name, trace in self._info.traces.items()}
        traces: dict[str, dict[str, Trace]] = {}
        for name, trace in named.items():
            node, _, function = name.partition("@")
            traces.setdefault(function, {})[node] = trace
        return traces

    def _trace(self, trace: Any) -> Trace:
        frames = [self._frame(frame) for frame in trace.file_line_cols]
        frames += [self._numbered(number) for number in trace.frame_id]
        return tuple(frame for frame in frames if frame is not None)

    def _numbered(self, number: int) -> Frame | None:
        if number not in self._frames:
            # Looking up a number that is not there would add it.
            known = number in self._info.frames_by_id
            self._frames[number] = self._frame(self._info.frames_by_id[number]) if known else None
        return self._frames[number]

    def _frame(self, frame: Any) -> Frame | None:
        """Return a frame; None for one of no file."""
        if not 0 <= frame.file_index < len(self._info.files) or frame.line < 0:
            return None
        file = self._info.files[frame.file_index]
        fit = 0 < len(file) <= _LONGEST and file.isprintable()
        return (file, frame.line, frame.func[:_LONGEST]) if fit else None
