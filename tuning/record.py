"""A record of tuning: a candidate that was measured, as a line of JSON.

The line has AutoTVM's fields where they mean the same, so that tools which read its logs read ours, and `whence` beside
them with what a decision depends on:

    {"input": [target, task, args, {}], "config": {"index": 7, "code_hash": null, "entity": [["rows", "ot", 4]]},
     "result": [[costs], 0, all_cost, timestamp], "version": 0.2, "tvm_version": "whence-0.1.0",
     "whence": {"v": 1, "kind": "winner", "workload": .., "space": .., "machine": .., "compiler": .., ..}}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from math import isfinite
from typing import Any, Literal, TypeAlias, cast

from ..lowering.fingerprint import compiler_fingerprint
from ..lowering.llvm_to_native.target import Target, binding
from ..lowering.relay_to_te.knobs import Decisions
from ..lowering.relay_to_te.strategies import outside_fingerprint
from ..support.errors import PipelineError, expectation
from ..support.machine import Machine
from ..support.names import shown

Kind: TypeAlias = Literal["trial", "winner"]
Point: TypeAlias = tuple[tuple[str, int], ...]
"""Decisions as a key of a dictionary, `point_of`."""

LOG_VERSION = 0.2
"""AutoTVM's version of the format."""
_VERSION = 1
_LONGEST_TEXT = 10_000
"""Letters of the longest text that a field has."""
_LONGEST_NAME = 200
"""Letters of the longest name of a knob."""


THEIRS = frozenset({"of AutoTVM", "of auto_scheduler", "of meta_schedule"})
"""Kinds of lines that TVM writes."""


class BadLine(ValueError):
    """A line is no record; the text says of what kind it is, `of AutoTVM`."""


@dataclass(frozen=True)
class Record:
    """A candidate for a kernel: right, as it computed what the default did, and measured beside that on one machine."""

    kind: Kind
    """A winner was faster than the default in the last duel, or is the default, which no candidate beat."""
    workload: str
    """`workload_key` of the kernel."""
    space: str
    """`Space.key` of its knobs."""
    machine: str
    """`machine_key` of the machine that measured."""
    facts: Mapping[str, Any]
    """`Machine.facts` of it."""
    compiler: str
    """`compiler_key` of who made the code."""
    decisions: Decisions
    """The decisions that differ from the defaults; empty for the default itself."""
    ratio: float
    """The speed relative to the default."""
    interval: tuple[float, float]
    """The ratio's, of 95 %."""
    default_seconds: float
    """A call of the default, measured beside."""
    costs: tuple[float, ...]
    """Seconds of a call of the candidate, one number per batch or their median alone."""
    protocol: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The way it was measured: caches, alternations, threads; values of JSON."""
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The state of the machine meanwhile: load, governor, versions; values of JSON."""
    seed: int = 0
    """The seed of the search."""
    layers: tuple[str, ...] = ()
    """The names of layers that the kernel serves, for people."""
    ablation: Mapping[str, float] = field(default_factory=dict[str, float])
    """Knob -> the ratio without its decision, the others as they are."""
    target: str = ""
    """The target, for people, as `target_text` has it."""
    task: str = ""
    """The name of the kernel's function."""
    args: tuple[Any, ...] = ()
    """The arguments of the kernel for people, `("TENSOR", (1, 64), "float32")` each; values of JSON."""
    index: int = 0
    """The number of the point in its space."""
    all_cost: float = 0.0
    """Seconds that building and measuring took."""
    timestamp: float = 0.0
    """When it was measured, in seconds since 1970: of several winners the newest counts."""

    @property
    def point(self) -> Point:
        """The decisions as a key."""
        return point_of(self.decisions)

    @property
    def line(self) -> str:
        """The record as a line of a file, without its end. Raises PipelineError for values that no line has."""
        fields: dict[str, object] = {name: getattr(self, name) for name in _OWN}
        row: dict[str, object] = {
            "input": [self.target, self.task, self.args, {}],
            "config": {
                "index": self.index,
                "code_hash": None,
                "entity": [[name, "ot", number] for name, number in self.point],
            },
            "result": [self.costs, 0, self.all_cost, self.timestamp],
            "version": LOG_VERSION,
            "tvm_version": f"whence-{version('whence-compiler')}",
            "whence": {"v": _VERSION, **fields},
        }
        try:
            text = json.dumps(row, separators=(",", ":"), allow_nan=False)
            record_of(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise PipelineError(expectation("record of tuning", "what a line of JSON says", str(error))) from error
        return text


_OWN = (
    *("kind", "workload", "space", "machine", "facts", "compiler", "decisions", "ratio", "interval"),
    *("default_seconds", "protocol", "context", "seed", "layers", "ablation"),
)
"""The fields that AutoTVM does not have, in the order of a line."""


def point_of(decisions: Decisions) -> Point:
    """Return decisions as a key of a dictionary."""
    return tuple(sorted(decisions.items()))


def record_of(line: str | bytes) -> Record:
    """The record of a line. Raises BadLine for any other line: it is broken, or of another version or program."""
    try:
        row: Any = json.loads(line, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise BadLine("broken") from error
    own: Any = cast("dict[str, Any]", row).get("whence") if isinstance(row, dict) else None
    if own is None:
        raise BadLine(_origin(row))
    try:
        if (row["version"], own["v"]) != (LOG_VERSION, _VERSION):
            raise BadLine("of another version")
        return _record(row, own)
    except BadLine:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadLine("incomplete") from error


def _record(row: Any, own: Any) -> Record:
    """The record of a line's values. Raises BadLine, and what reading of them raises, where they are not right."""
    target, task, args, _ = row["input"]
    costs, error, all_cost, timestamp = row["result"]
    low, high = own["interval"]
    if own["kind"] not in ("trial", "winner") or error != 0 or not costs:
        raise BadLine("of no measured candidate")
    facts = _object(own["facts"])
    for name in ("vector_bits", "l2"):
        _whole(facts[name], 1)
    record = Record(
        kind=own["kind"],
        **{name: _text(own[name]) for name in ("workload", "space", "machine", "compiler")},
        facts=facts,
        decisions={_knob(name): _whole(number) for name, number in _object(own["decisions"]).items()},
        ratio=_positive(own["ratio"]),
        interval=(_positive(low), _positive(high)),
        default_seconds=_positive(own["default_seconds"]),
        costs=tuple(_positive(cost) for cost in _list(costs)),
        protocol=_object(own["protocol"]),
        context=_object(own["context"]),
        seed=_whole(own["seed"]),
        layers=tuple(_text(layer) for layer in _list(own["layers"])),
        ablation={_text(name): _positive(ratio) for name, ratio in _object(own["ablation"]).items()},
        target=_text(target),
        task=_text(task),
        args=tuple(_list(args)),
        index=_whole(row["config"]["index"], 0),
        all_cost=_number(all_cost),
        timestamp=_number(timestamp),
    )
    if {name: number for name, _, number in row["config"]["entity"]} != record.decisions:
        raise BadLine("of two different decisions")
    return record


def _origin(row: Any) -> str:
    """Return what kind of line JSON of another program is."""
    match row:
        case {"input": _, "config": _, "result": _}:
            return "of AutoTVM"
        case {"i": _, "r": _}:
            return "of auto_scheduler"
        case [int(), list()] | [str(), str()]:
            return "of meta_schedule"
        case _:
            return "of another program"


def _finite(text: str) -> float:
    """The number of a text; JSON has no infinite ones, but ones that are too large."""
    if not isfinite(number := float(text)):
        raise BadLine("broken")
    return number


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise BadLine("incomplete")
    return float(value)


def _positive(value: object) -> float:
    if (number := _number(value)) <= 0:
        raise BadLine("incomplete")
    return number


def _whole(value: object, lowest: int = -(1 << 63)) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value < 1 << 63:
        raise BadLine("incomplete")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise BadLine("incomplete")
    return value


def _knob(value: object) -> str:
    """A knob's name, which is shown to people."""
    name = _text(value)
    if not name or len(name) > _LONGEST_NAME or shown(name) != name:
        raise BadLine("incomplete")
    return name


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadLine("incomplete")
    return cast("dict[str, Any]", value)


def _list(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise BadLine("incomplete")
    return cast("list[Any]", value)


@cache
def machine_key(machine: Machine, target: Target) -> str:
    """The name of a machine as records have it: all by which the best decisions may differ.

    These are the CPU, its vectors, registers and caches, what other instructions it has, and its cores, as the last
    cache and the bandwidth are shared by those. The version of LLVM and of the system is no part of it.
    """
    features = hashlib.sha256(" ".join(sorted(machine.features)).encode()).hexdigest()[:16]
    return f"{target.triple} {machine.text} cores {machine.cores} features {features}"


def target_text(target: Target) -> str:
    """The target as AutoTVM's logs have it, `llvm -mtriple=.. -mcpu=..`, without the features, which `facts` has."""
    name = target.record.name if target.record is not None else target.cpu
    return f"llvm -mtriple={target.triple}" + (f" -mcpu={name}" if name else "")


def compiler_key() -> str:
    """The name (hex sha256) of what makes code of decisions: our sources, LLVM, and schedules registered outside."""
    return _compiler_key(outside_fingerprint())


@cache
def _compiler_key(outside: str) -> str:
    llvm = ".".join(map(str, binding().llvm_version_info))
    return hashlib.sha256(f"{compiler_fingerprint()} llvm {llvm}\n{outside}".encode()).hexdigest()
