"""The session document: all that the Explorer shows of a compiled model, as plain data.

A document is one JSON object, `Session`. Its parts are the dataclasses of this module: small tables are lists of
objects, large ones objects of columns, which all have the same length. Indexes count from 0 and are -1 for nothing;
line numbers count from 1 and are 0 for none. The schema of docs/session.schema.json is generated from these classes.

Layers are rows of `Layers`; a *set* is an index into `Session.sets`, a list of such rows. Below relay a kernel serves
several calls: its lines have *slots* (the ops of its primitive function), and each call has a set per slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from ...support.codec import Codec, whole
from .bounds import Knobs as Knobs
from .bounds import Roof as Roof
from .bounds import Term as Term
from .compared_layers import ComparedLayer as ComparedLayer
from .compared_layers import Departure as Departure
from .films import Edit as Edit
from .films import Schedule as Schedule
from .ranges import (
    Amount,
    AmountOrNone,
    CallOrNone,
    CallRow,
    Columns,
    Count,
    CountOrNone,
    GraphOrNone,
    KernelOrNone,
    KernelRow,
    LayerOrNone,
    LayerRow,
    MayBeEmpty,
    OpOrNone,
    OpRow,
    PassOrNone,
    ProgramOrNone,
    ProgramRow,
    ScheduleOrNone,
    SetOrNone,
    SetRow,
    SourceOrNone,
    StageOrNone,
    StageRow,
)
from .tours import Tour as Tour

VERSION = 3
LARGEST = 2**53 - 1
"""The largest number that JavaScript can count to."""
DOCUMENT = Codec({int: whole(LARGEST)})
"""Documents as JSON values, and these as documents."""

Runs: TypeAlias = list[int]
"""A column by run lengths: value, count, value, count, ..; the counts add up to the number of lines."""
Level: TypeAlias = Literal["python", "model", "relay", "te", "schedule", "tir", "llvm", "asm"]
BINS = SAMPLE = 32
"""Bins of a histogram, and the most values of a sample."""
LEVELS: tuple[Level, ...] = ("python", "model", "relay", "te", "schedule", "tir", "llvm", "asm")


@dataclass
class MadeBy:
    """The origin of a document."""

    whence: str
    """Version of Whence."""
    command: str
    """The command that makes the document again."""
    model: str
    sha256: str
    """The hash of the model's bytes; "" for a module in memory."""
    target: str
    opt_level: int
    threads: int
    cpu: str
    libraries: dict[str, str]
    """Library -> version."""
    compile_seconds: AmountOrNone
    """Wall time of the compilation that was recorded."""
    notes: list[str]
    """Sentences about what was left out, and why."""


@dataclass
class Source:
    """A model file."""

    file: str
    kind: str
    """onnx, tflite, relay, mlir, tar or te."""
    stage: StageOrNone
    """The stage of level model that lists its layers, one per line: `ordinal operator name`."""
    graph: GraphOrNone
    """The graph of its layers."""


@dataclass
class Layers(Columns):
    """A row for each layer and tensor of the sources, and for each lost mark."""

    name: list[str] = field(default_factory=list[str])
    kind: list[str] = field(default_factory=list[str])
    """layer, tensor, model (a function of the source as a whole), lost (the name says by which pass) or unknown."""
    type: list[str] = field(default_factory=list[str])
    """The source's name of the operator."""
    source: list[SourceOrNone] = field(default_factory=list[int])
    """Index into `Session.sources`."""
    ordinal: list[CountOrNone] = field(default_factory=list[int])
    """The number of the node in the source; the line for text."""
    scope: list[str] = field(default_factory=list[str])
    """The name scope, `layer1/block0`; "" for none."""
    owner: list[LayerOrNone] = field(default_factory=list[int])
    """The row of a tensor's layer; for a layer its own row."""
    code: list[list[str]] = field(default_factory=list[list[str]])
    """The lines of an exported program that called it, `net.py:12  return self.conv(x)`, the innermost first."""


@dataclass
class Program:
    """A compiled program. A model with open sizes, or run by an interpreter, has several."""

    name: str
    kind: str
    """static, sized, specialised, interpreted (the steps around stretches), stretch or exported."""
    about: str
    """The reason for its kind, or its sizes."""
    open: str = ""
    """The least sizes that it takes, `batch=1,length=1`; "" where its shapes are fixed."""
    sizes: str = ""
    """The sizes that its times, memory and tensors are of; "" for none."""


@dataclass
class Kernel:
    """A compiled function; the calls that share it are `Call`s."""

    symbol: str
    program: ProgramRow
    compiler: str
    """The external compiler that runs it; "" for ours."""
    slots: list[list[Count]]
    """The distinct slot sets of the kernel's lines: the columns `Stage.sets` of its stages index this list."""
    stages: list[StageRow]
    """Its stages, from te to asm."""
    schedule: ScheduleOrNone
    """Index into `Session.schedules`."""
    bytes: Count
    """The bytes of machine code."""
    instructions: Count
    tuned: str
    """The decisions of tuning about it, `rows = 4 (exact, ..)`; "" for a kernel made by rule."""
    refusal: str = ""
    """The reason why no strategy could schedule it, so that it has the plain schedule; "" where one could."""
    knobs: Knobs | None = None
    """The choices of its schedule; of kernels that take long, where tuning has not decided."""


@dataclass
class Call:
    """A call of a kernel."""

    name: str
    program: ProgramRow
    kernel: KernelRow
    layers: list[SetRow]
    """Per slot the set of its layers."""
    set: SetRow
    """The set of the whole call."""
    flops: CountOrNone
    bytes: CountOrNone
    """Read and written, estimated."""


@dataclass
class Leads(Columns):
    """The calls that serve each layer, those with most of it first, and the line of each level to begin at.

    Lines are those of the last stage of a level in the call's kernel.
    """

    layer: list[LayerRow] = field(default_factory=list[int])
    call: list[CallRow] = field(default_factory=list[int])
    weight: list[Amount] = field(default_factory=list[float])
    """Seconds of a run; where these were not measured, operations and bytes, estimated."""
    te: list[Count] = field(default_factory=list[int])
    schedule: list[Count] = field(default_factory=list[int])
    tir: list[Count] = field(default_factory=list[int])
    llvm: list[Count] = field(default_factory=list[int])
    asm: list[Count] = field(default_factory=list[int])


@dataclass
class Diff:
    """The ops of a stage against those of its `Stage.before`, by identity; of gone ops and others the rows."""

    new: list[OpRow]
    gone: list[OpRow]
    changed: list[OpRow]
    """The same op with another operand, attribute or type; names of values do not count."""
    moved: list[OpRow]


@dataclass
class Body:
    """The text of a stage and its columns."""

    base: int
    """The stage that `edits` apply to; -1: the empty text."""
    edits: list[Edit]
    sets: Runs
    """Line -> set, of a kernel's stages index into `Kernel.slots`; -1 for a line of no op."""
    ops: Runs
    """Line -> op."""
    outputs: list[tuple[int, int]]
    """Pairs of a line whose op computes a layer's output, and the layer."""
    tir: Runs
    """Line of llvm or asm -> line of the kernel's last tir stage, 0 for none; empty for other levels."""
    exact: Runs
    """Line of asm -> 1 where the object's line table has it and it fits, 0 where inferred; empty for other levels."""


@dataclass
class Stage:
    """A text of one level: of a whole program, or of a kernel."""

    name: str
    """The step that the text is from: `imported`, a pass, `lowered`."""
    level: Level
    program: ProgramOrNone
    kernel: KernelOrNone
    before: int
    """The stage that this one came of at the same level; -1 for the first."""
    lines: Count
    diff: Diff | None
    body: Body


@dataclass
class PassRun:
    """A run of a pass over a program or a kernel."""

    name: str
    spec: str
    """The pass as `whence-opt -p` takes it, options included."""
    program: ProgramOrNone
    kernel: KernelOrNone
    stage: StageOrNone
    """The stage after it; that before it where it changed nothing."""
    changed: bool
    seconds: AmountOrNone
    """Wall time; -1.0 where it was not measured."""
    source: str
    """file:line of the pass."""


@dataclass
class Ops(Columns):
    """A row for each op that a stage or an event names."""

    name: list[str] = field(default_factory=list[str])
    set: list[SetOrNone] = field(default_factory=list[int])
    """The set of its layers when it was last met; of kernels' ops -1."""
    copied_from: list[OpOrNone] = field(default_factory=list[int])
    """The op that it is a copy of."""
    copied_at: list[CountOrNone] = field(default_factory=list[int])
    """The number of events that had made the original by then."""


@dataclass
class Events(Columns):
    """The ledger, in order: a row for each event."""

    run: list[PassOrNone] = field(default_factory=list[int])
    """Index into `Session.passes`; -1 for the import and what is no pass."""
    pass_name: list[str] = field(default_factory=list[str])
    pattern: list[str] = field(default_factory=list[str])
    pattern_at: list[str] = field(default_factory=list[str])
    """file:line of the pattern; "" where it has none."""
    reason: list[str] = field(default_factory=list[str])
    what: list[str] = field(default_factory=list[str])
    """`nn.batch_norm -> 9 ops`, as `why` shows it."""
    sources: list[list[OpRow]] = field(default_factory=list[list[int]])
    targets: list[list[OpRow]] = field(default_factory=list[list[int]])
    before: list[SetOrNone] = field(default_factory=list[int])
    """The set of the layers of what went, changed or died."""
    after: list[SetOrNone] = field(default_factory=list[int])


@dataclass
class Nodes(Columns):
    """The nodes of a graph, in an order in which edges point forwards."""

    label: list[str] = field(default_factory=list[str])
    about: list[str] = field(default_factory=list[str])
    """A second line: types, or weights."""
    kind: list[str] = field(default_factory=list[str])
    """input, output, node, constant or group."""
    scope: list[str] = field(default_factory=list[str])
    set: list[SetOrNone] = field(default_factory=list[int])
    call: list[CallOrNone] = field(default_factory=list[int])
    """Index into `Session.calls` of a graph of calls."""
    x: Annotated[list[float], MayBeEmpty()] = field(default_factory=list[float])
    """Middle, in pixels; empty columns where nothing was laid out."""
    y: Annotated[list[float], MayBeEmpty()] = field(default_factory=list[float])
    """Top."""
    width: Annotated[list[Amount], MayBeEmpty()] = field(default_factory=list[float])
    height: Annotated[list[Amount], MayBeEmpty()] = field(default_factory=list[float])
    attributes: list[list[tuple[str, str]]] = field(default_factory=list[list[tuple[str, str]]])
    flops: list[CountOrNone] = field(default_factory=list[int])
    bytes: list[CountOrNone] = field(default_factory=list[int])


@dataclass
class Edges(Columns):
    """The edges of a graph."""

    source: list[int] = field(default_factory=list[int])
    target: list[int] = field(default_factory=list[int])
    text: list[str] = field(default_factory=list[str])
    """The type of the tensor."""
    path: Annotated[list[list[float]], MayBeEmpty()] = field(default_factory=list[list[float]])
    """The points between its ends, x and y in turn: curves from row to row, and straight lines down a row, in turn."""
    output: list[Count] = field(default_factory=list[int])
    """The number of the source's output that it carries."""
    role: list[str] = field(default_factory=list[str])
    """The name that the target's operator has for it, `filter`; "" for none."""


@dataclass
class Graph:
    """A graph with positions."""

    title: str
    level: Literal["model", "calls"]
    program: ProgramOrNone
    nodes: Nodes
    edges: Edges


@dataclass
class LineTimes(Columns):
    """The samples of a stage's lines, per call."""

    call: CallRow
    stage: StageRow
    line: list[Count]
    """Numbers of the lines that have samples; 0: no line is known."""
    samples: list[Count]


@dataclass
class Timeline(Columns):
    """One run: calls on threads, in seconds of the wall's clock from its beginning.

    Thread 0, which calls, is measured. The others are drawn from the beginning of a call on, as long as the part of it
    in which samples met them in its code.
    """

    begin: list[float] = field(default_factory=list[float])
    end: list[float] = field(default_factory=list[float])
    thread: list[Count] = field(default_factory=list[int])
    call: list[CallOrNone] = field(default_factory=list[int])


@dataclass
class Times:
    """CPU seconds of all threads per run, as `whence profile` has them: layers add up to calls, in each and in all."""

    program: ProgramRow
    runs: Count
    """The number of sampled runs."""
    calls: list[Amount]
    """Per call of the program, in order."""
    layers: list[tuple[LayerOrNone, Amount, bool]]
    """Row of a layer (-1: of none), seconds, and whether a part of them is an estimate."""
    parts: list[list[tuple[LayerOrNone, Amount]]]
    """Per call: row of a layer, and its seconds in the call."""
    lines: list[LineTimes]
    timeline: Timeline
    roofs: list[Roof]
    """Per call the least time of its work on this machine; empty where the machine was not measured."""
    walls: list[Amount]
    """Seconds of some runs on the wall's clock."""
    taken: AmountOrNone
    """The part of the processors' time that other processes used meanwhile; -1.0 where the system does not say."""
    threads: list[Count]
    """The samples of each thread in the code of kernels; that of thread 0 first, which calls them."""
    outside: Count
    """The samples of thread 0 elsewhere: in the thread pool, where it waits for others, and in functions of C."""
    peer: str
    """The runtime that was measured beside it; "" for none."""
    peers: list[AmountOrNone]
    """Per call the peer's seconds for the same layers, on one thread, -1.0 for none; empty without a peer."""


@dataclass
class Memory(Columns):
    """The memory plan of a program."""

    program: ProgramRow
    arena: Count
    """Bytes of tensors and workspaces, one arena per concurrent run."""
    parameters: Count
    workspace: Count
    """The most that a kernel takes of the arena for itself."""
    name: list[str] = field(default_factory=list[str])
    """Column of blocks, as those below: the node that writes it."""
    kind: list[str] = field(default_factory=list[str])
    """tensor or workspace."""
    offset: list[Count] = field(default_factory=list[int])
    size: list[Count] = field(default_factory=list[int])
    first: list[CountOrNone] = field(default_factory=list[int])
    """The call, of the program's calls, that writes the block."""
    last: list[CountOrNone] = field(default_factory=list[int])
    """The last call that reads it."""
    set: list[SetOrNone] = field(default_factory=list[int])


@dataclass
class Tensors(Columns):
    """Statistics of the values of layers in one run, in the order of execution."""

    program: ProgramOrNone
    inputs: str = ""
    """The hash of the run's inputs."""
    reference: str = ""
    """The origin of the values that those of the run are held against; "" without any."""
    layer: list[LayerOrNone] = field(default_factory=list[int])
    name: list[str] = field(default_factory=list[str])
    dtype: list[str] = field(default_factory=list[str])
    shape: list[list[CountOrNone]] = field(default_factory=list[list[int]])
    minimum: list[float] = field(default_factory=list[float])
    """The minimum of the finite values, like maximum and mean; 0.0 if there are none."""
    maximum: list[float] = field(default_factory=list[float])
    mean: list[float] = field(default_factory=list[float])
    nan: list[Count] = field(default_factory=list[int])
    infinite: list[Count] = field(default_factory=list[int])
    histogram: list[list[Count]] = field(default_factory=list[list[int]])
    """Counts of finite values in 32 bins of equal width from minimum to maximum."""
    sample: list[list[float]] = field(default_factory=list[list[float]])
    """Up to 32 values, evenly spread over the tensor as the model has it; 0.0 for what is not finite."""
    error: list[AmountOrNone] = field(default_factory=list[float])
    """Largest difference from the reference, the largest float where only one is finite; -1.0 without one."""
    tolerance: list[AmountOrNone] = field(default_factory=list[float])
    """The difference from which on a layer departs; -1.0 without a reference."""
    step: list[Amount] = field(default_factory=list[float])
    """The difference that is one step of a quantised tensor's scale: 1.0 for integers of at most 16 bits, the scale for
    floats that were dequantised or are quantised next; 0.0 for others."""


@dataclass
class Comparison:
    """Another session beside this one, the largest difference first."""

    other: MadeBy
    layers: list[ComparedLayer]
    seconds: tuple[AmountOrNone, AmountOrNone] = (-1.0, -1.0)
    """CPU seconds per run of all kernels."""
    noise: AmountOrNone = -1.0
    """Seconds by which the two may differ by chance; -1.0 if unknown."""
    headline: str = ""
    doubt: str = ""
    """A sentence where few layers have a common name."""
    departure: Departure | None = None


@dataclass
class Session:
    """The document."""

    whence_session: int
    made_by: MadeBy
    sources: list[Source]
    layers: Layers
    sets: list[list[LayerRow]]
    """Distinct sets of layers, in order; set 0 is empty: lost."""
    programs: list[Program]
    kernels: list[Kernel]
    calls: list[Call]
    stages: list[Stage]
    passes: list[PassRun]
    ops: Ops
    events: Events
    graphs: list[Graph]
    schedules: list[Schedule]
    leads: Leads = field(default_factory=Leads)
    times: list[Times] = field(default_factory=list[Times])
    memory: list[Memory] = field(default_factory=list[Memory])
    tensors: list[Tensors] = field(default_factory=list[Tensors])
    comparison: Comparison | None = None
    tours: list[Tour] = field(default_factory=list[Tour])
