"""The named pipelines: which passes run, in which order, from which opt level on.

The order and the levels are those of TVM's relay.build. Passes are loaded when they are first asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.passes import ModulePass

from ..provenance.audit import check_explained, check_located, surviving_leaves
from ..provenance.ledger import Ledger, current_ledger, recording
from ..support.context import PassContext
from ..support.machine import Machine

OnPass: TypeAlias = Callable[[ModulePass, ModuleOp, float], None]


def _none(machine: Machine) -> dict[str, int]:
    return {}


def _words(name: str) -> str:
    """`FuseOps` -> `fuse_ops`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


@dataclass(frozen=True)
class Row:
    """One step of a pipeline: the pass called `relay-<tvm name in words>`, run from opt level `level` on."""

    tvm: str
    """TVM's name of the pass: our class without its `Pass`."""
    level: int
    options: Callable[[Machine], dict[str, int]] = _none
    """The pass's options for a machine."""

    @property
    def module(self) -> str:
        """The file below `passes/relay/`."""
        return _words(self.tvm)

    @property
    def name(self) -> str:
        """The pass's name in the text form of pipelines."""
        return "relay-" + self.module.replace("_", "-")

    def load(self) -> type[ModulePass]:
        """The pass class."""
        return cast(type[ModulePass], getattr(import_module(f".relay.{self.module}", __package__), f"{self.tvm}Pass"))


PIPELINE: tuple[Row, ...] = (
    Row("RemoveUnusedFunctions", 1),
    Row("SimplifyInference", 0),
    Row("EliminateCommonSubexpr", 3),
    Row("FoldConstant", 2),
    Row("FoldScaleAxis", 3),
    Row("SimplifyExpr", 0),
    Row("CanonicalizeOps", 3),
    Row("AlterOpLayout", 3, lambda machine: {"lanes": machine.channel_block}),
    Row("FoldConstant", 2),
    Row("DeadCodeElimination", 1),
    Row("FuseOps", 0),
)


TIR_PASSES = (
    "CommonSubexprElimination",
    "FlattenBuffer",
    "HoistIfThenElse",
    "InjectDoubleBuffer",
    "InjectPrefetch",
    "InstrumentBoundCheckers",
    "LoopPartition",
    "LowerBlock",
    "LowerIntrin",
    "LowerMatchBuffer",
    "NarrowDatatype",
    "Pipeline",
    "RemoveNoOp",
    "RewriteUnsafeSelect",
    "Simplify",
    "StorageRewrite",
    "TransposeLoads",
    "Unroll",
    "Vectorize",
    "VerifyMemory",
)
"""The passes below `passes/tir/`. `tir-pipeline` is all that a kernel meets on its way to machine code, in order."""


def _load_tir(name: str) -> type[ModulePass]:
    module = import_module(f".tir.{_words(name)}", __package__)
    return cast(type[ModulePass], getattr(module, f"Tir{name}Pass"))


def available_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Pass name -> a function that loads its class."""
    tir = {f"tir-{_words(name).replace('_', '-')}": partial(_load_tir, name) for name in TIR_PASSES}
    return {row.name: row.load for row in PIPELINE} | tir


def relay_pipeline(opt_level: int, machine: Machine | None = None) -> tuple[ModulePass, ...]:
    """The passes of `opt_level` for a machine, as the required and disabled passes of the current PassContext have it.

    Those may be given by our names or by TVM's. Raises PipelineError for an opt level outside 0-4.
    """
    current = PassContext.current()
    names = {row.tvm: row.name for row in PIPELINE}
    required = tuple(names.get(name, name) for name in current.required_pass)
    disabled = tuple(names.get(name, name) for name in current.disabled_pass)
    context = PassContext(opt_level, required, disabled)
    rows = [row for row in PIPELINE if context.enables(row.name, row.level)]
    return tuple(row.load()(**(row.options(machine) if machine is not None else {})) for row in rows)


def run_passes(
    module: ModuleOp,
    passes: Iterable[ModulePass],
    *,
    ledger: Ledger | None = None,
    audit: bool = False,
    on_pass: OnPass | None = None,
) -> None:
    """Run `passes` on `module`, in place.

    ledger: records what each pass did; without one the ledger of an open `recording` scope does, if there is any.
    audit: raise LocationError when a pass leaves an op without location or loses a layer unexplained.
    on_pass: called after each pass with the pass, the module and the seconds the pass took.
    """
    ledger = ledger if ledger is not None else current_ledger()
    if audit and ledger is None:
        ledger = Ledger()
    context = Context()
    for one in passes:
        before = surviving_leaves(module) if audit else set[LocationAttr]()
        start = time.perf_counter()
        with recording(ledger, one.name) if ledger is not None else nullcontext():
            one.apply(context, module)
        seconds = time.perf_counter() - start
        if audit and ledger is not None:
            check_located(module, one.name)
            check_explained(before, module, one.name, ledger)
        if on_pass is not None:
            on_pass(one, module, seconds)
