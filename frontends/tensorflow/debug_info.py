"""Reads the stack traces of nodes, which `tf.saved_model.save` writes with `save_debug_info=True`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

from ..importing.files import read_model
from ..importing.frames import Frame, user_frames
from .graphs import Frames
from .messages import parse

DEBUG_INFO = Path("debug", "saved_model_debug_info.pb")
"""The path of the traces in the folder of a saved model."""
_LONGEST = 1024
"""The greatest number of characters of the name of a file or function."""
Trace: TypeAlias = "tuple[Frame, ...]"


def _shared(traces: Sequence[Trace]) -> int:
    """Return the number of frames at the start that all traces share: the least and the greatest share the fewest."""
    if not traces:
        return 0
    pairs = zip(min(traces), max(traces), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class DebugInfo:
    """The calls in the user's own files that made the nodes of functions.

    path: the path of the file, a GraphDebugInfo. Raises FrontendError for a damaged file.
    """

    def __init__(self, path: Path):
        path, data = read_model(path, "TensorFlow")
        self._info: Any = parse("GraphDebugInfo", data, str(path))
        self._numbered: dict[int, Frame | None] = {}

    def frames(self, function: str) -> Frames:
        """Return node -> calls, the innermost first, for the nodes of a function that have any; "" is the main graph.

        The frames that all traces share led to the function, such as the call that saved the model, and are left out.
        """
        traces = self._traces.get(function, {})
        shared = _shared(list(traces.values()))
        calls = {node: user_frames(trace[shared:]) or user_frames(trace) for node, trace in traces.items()}
        return {node: frames for node, frames in calls.items() if frames}

    @cached_property
    def _traces(self) -> dict[str, dict[str, Trace]]:
        """Return function -> node -> its trace, the outermost frame first."""
        by_id = {number: self._trace(trace) for number, trace in self._info.traces_by_id.items()}
        named = {name: by_id.get(number, ()) for name, number in self._info.name_to_trace_id.items()}
        # Older files have traces by name.
        named |= {name: self._trace(trace) for name, trace in self._info.traces.items()}
        traces: dict[str, dict[str, Trace]] = {}
        for name, trace in named.items():
            node, _, function = name.partition("@")
            traces.setdefault(function, {})[node] = trace
        return traces

    def _trace(self, trace: Any) -> Trace:
        frames = [self._frame(frame) for frame in trace.file_line_cols]
        frames += [self._frame_of(number) for number in trace.frame_id]
        return tuple(frame for frame in frames if frame is not None)

    def _frame_of(self, number: int) -> Frame | None:
        if number not in self._numbered:
            # Looking up a number that is not there would add it.
            stated = number in self._info.frames_by_id
            self._numbered[number] = self._frame(self._info.frames_by_id[number]) if stated else None
        return self._numbered[number]

    def _frame(self, frame: Any) -> Frame | None:
        """Return a frame; None for a frame without a file."""
        if not 0 <= frame.file_index < len(self._info.files) or frame.line < 0:
            return None
        file = self._info.files[frame.file_index]
        if not (0 < len(file) <= _LONGEST and file.isprintable()):
            return None
        code = frame.code.strip()
        code = code if len(code) <= _LONGEST and code.isprintable() else ""
        return Frame(file, frame.line, frame.func[:_LONGEST], code)
