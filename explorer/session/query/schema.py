"""The tables that a query may ask, with their columns: the one list that queries, their errors and the page read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Unit = Literal["text", "count", "number", "s", "bytes", "share"]


@dataclass(frozen=True)
class Column:
    """A column: of texts, of which a row may have none or several, or of numbers, which may be missing."""

    name: str
    unit: Unit
    about: str
    adds: bool = False
    """True where the numbers of several rows add up to one of all of them."""


@dataclass(frozen=True)
class Subject:
    """A table, by the noun for its rows."""

    about: str
    names: int
    """The number of leading columns that tell rows apart."""
    rank: str
    """The column by which `top` orders."""
    columns: tuple[Column, ...]


_LAYER = Column("layer", "text", "names of its layers")
_KERNEL = Column("kernel", "text", "symbol of its kernel")
_CHANGE = Column("change", "text", "new, gone, changed, moved or lost")
_INSTRUCTIONS = Column("instructions", "count", "instructions of machine code", True)
_CODE = Column("code", "bytes", "bytes of machine code", True)
_TIME = Column("time", "s", "CPU seconds of all threads in a run", True)
_FLOPS = Column("flops", "count", "floating-point operations, estimated", True)
_BYTES = Column("bytes", "bytes", "bytes read and written, estimated", True)
_ERROR = Column("error", "number", "largest difference from the reference")
_SAMPLES = Column("samples", "count", "samples of its code", True)
_DTYPE = Column("dtype", "text", "element types that its ops in the last Relay read and write")
_OP = Column("op", "text", "the model's name of its operator")
_SCOPE = Column("scope", "text", "its name scope, layer1/block0")

SUBJECTS: Mapping[str, Subject] = {
    "layers": Subject(
        "layers of the model",
        2,
        "time",
        (
            Column("layer", "text", "its name"),
            _OP,
            Column("kind", "text", "layer, model, lost, unknown; none: time of no known layer"),
            _SCOPE,
            _DTYPE,
            Column("output", "text", "types of its results in the model"),
            _TIME,
            Column("share", "share", "its part of all time"),
            _FLOPS,
            _BYTES,
            _INSTRUCTIONS,
            _CODE,
            Column("exact", "share", "the part of its instructions whose link is exact"),
            _ERROR,
            Column("departs", "count", "1 where it differs by more than the tolerance"),
            Column("call", "text", "the kernel calls that serve it"),
            Column("kernel", "text", "their kernels"),
            Column("python", "text", "the line of an exported program that called it"),
        ),
    ),
    "calls": Subject(
        "calls of kernels",
        1,
        "time",
        (
            Column("call", "text", "its name"),
            _KERNEL,
            Column("program", "text", "its program"),
            _LAYER,
            Column("op", "text", "operators of its layers"),
            _TIME,
            _FLOPS,
            _BYTES,
            Column("instructions", "count", "instructions of its kernel"),
        ),
    ),
    "kernels": Subject(
        "kernels",
        1,
        "time",
        (
            Column("kernel", "text", "its symbol"),
            Column("compiler", "text", "whence, or the external compiler"),
            Column("calls", "count", "how many calls share it", True),
            _LAYER,
            _TIME,
            _INSTRUCTIONS,
            _CODE,
            Column("tuned", "text", "decisions of tuning"),
        ),
    ),
    "lines": Subject(
        "lines of the last stage of each level, or of those after a pass",
        4,
        "samples",
        (
            _KERNEL,
            Column("level", "text", "relay, te, schedule, tir, llvm or asm"),
            Column("line", "count", "its number"),
            Column("text", "text", "the line"),
            Column("opcode", "text", "the instruction, or the name of the op as the text has it"),
            Column("op", "text", "the op of the level that the line is of"),
            _LAYER,
            Column("exact", "count", "1 where its link is exact, 0 where inferred"),
            _SAMPLES,
            Column("time", "s", "CPU seconds in a run, by samples", True),
            _CHANGE,
        ),
    ),
    "loops": Subject(
        "loops of TIR",
        3,
        "samples",
        (
            _KERNEL,
            Column("loop", "text", "its variable"),
            Column("line", "count", "its number"),
            Column("kind", "text", "serial, parallel, vectorized or unrolled"),
            Column("extent", "count", "how often it runs, where that is a number"),
            Column("depth", "count", "the number of loops around it"),
            Column("inner", "count", "1 where no loop is in it"),
            _LAYER,
            Column("samples", "count", "samples of the code in it"),
        ),
    ),
    "ops": Subject(
        "changes of ops by passes",
        1,
        "",
        (
            Column("op", "text", "name of the op"),
            _CHANGE,
            Column("pass", "text", "the pass"),
            Column("level", "text", "relay or tir"),
            _KERNEL,
            _LAYER,
        ),
    ),
    "passes": Subject(
        "runs of passes",
        2,
        "time",
        (
            Column("pass", "text", "its name"),
            _KERNEL,
            Column("program", "text", "its program"),
            Column("changed", "count", "1 where it changed something", True),
            Column("time", "s", "seconds of compiling", True),
            *(
                Column(name, "count", f"the number of ops that are {name} after it", True)
                for name in ("new", "gone", "edited", "moved", "lost")
            ),
            Column("source", "text", "file:line of the pass"),
        ),
    ),
    "tensors": Subject(
        "recorded values",
        2,
        "error",
        (
            Column("tensor", "text", "its name"),
            Column("layer", "text", "the layer that computes it"),
            Column("dtype", "text", "its element type"),
            Column("shape", "text", "1x64x56x56"),
            Column("min", "number", "the smallest finite value"),
            Column("max", "number", "the largest finite value"),
            Column("mean", "number", "the mean of the finite values"),
            Column("nan", "count", "how many are no number", True),
            Column("infinite", "count", "how many are infinite", True),
            _ERROR,
            Column("tolerance", "number", "the error from which on it departs"),
            Column("departs", "count", "1 where the error is larger", True),
        ),
    ),
    "blocks": Subject(
        "blocks of the memory plan",
        1,
        "bytes",
        (
            Column("block", "text", "the node that writes it"),
            Column("kind", "text", "tensor or workspace"),
            Column("offset", "bytes", "where it begins in the arena"),
            Column("bytes", "bytes", "its size", True),
            Column("first", "count", "the call that writes it"),
            Column("last", "count", "the last call that reads it"),
            _LAYER,
        ),
    ),
    "compared": Subject(
        "layers of this and another session",
        2,
        "time",
        (
            Column("layer", "text", "its name"),
            _OP,
            _SCOPE,
            _DTYPE,
            Column("side", "text", "both, here or there"),
            _TIME,
            Column("old_time", "s", "the time in the other session", True),
            _INSTRUCTIONS,
            Column("old_instructions", "count", "instructions in the other session", True),
            _CODE,
            Column("old_code", "bytes", "bytes of code in the other session", True),
            Column("error", "number", "largest difference between values of both"),
        ),
    ),
}
"""Subject -> its rows and columns."""

MEASURES = tuple(column.name for column in SUBJECTS["layers"].columns if column.adds)
"""The subjects that are a column of layers: `time by scope`."""

UNITS: Mapping[str, float] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "k": 1e3, "M": 1e6, "G": 1e9,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}  # fmt: skip
"""Units that may follow a number of a query -> what it is multiplied by."""

CHANGES = ("new", "gone", "changed", "moved", "lost")
"""Words that ask for ops and lines by what a pass did with them."""
