"""The named pipelines: which relay passes run, in which order, from which opt level on: those of TVM's relay.build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.passes import ModulePass

from ..provenance.diagnostics import message
from ..support.context import PassContext
from ..support.errors import PipelineError
from ..support.machine import TILE_ROW, Machine
from .classes import pass_class
from .registry import PASSES, Row, own_names, row_of
from .runner import run_passes as run_passes

PIPELINE: tuple[Row, ...] = tuple(
    row_of(f"relay-{name}")
    for name in (
        "remove-unused-functions",
        "widen-halves",
        "fake-quantization-to-integer",
        "qnn-canonicalize",
        "simplify-inference",
        "legalize",
        "eliminate-common-subexpr",
        "combine-parallel-conv2d",
        "combine-parallel-dense",
        "combine-parallel-batch-matmul",
        "fold-constant",
        "fold-scale-axis",
        "simplify-expr",
        "canonicalize-cast",
        "canonicalize-ops",
        "flatten-atrous-conv",
        "alter-op-layout",
        "simplify-expr-post-alter-op",
        "fast-math",
        "fold-constant",
        "dead-code-elimination",
        "split-args",
        "fuse-ops",
        "share-kernels",
    )
)


PREPARED: tuple[Row, ...] = tuple(
    row_of(f"relay-{name}")
    for name in (
        "remove-unused-functions",
        "simplify-inference",
        "fold-constant",
        "fold-scale-axis",
        "dead-code-elimination",
    )
)
"""The passes that run before a model is shared out among external compilers."""

PREPARATION: tuple[Row, ...] = tuple(
    row_of(f"relay-{name}") for name in ("to-graph-normal-form", "simplify-inference", "fold-tuples")
)
"""The passes that turn programs that only bind and group tensors into tensor programs, at every level."""

PRECISIONS = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
"""The words for dtypes in which products may be asked for."""
_LAYOUTS = "relay-alter-op-layout"
"""Products become ones of halves just before: scales of channels are in their weights, then."""

_EXACT_AT_0 = ("relay-simplify-expr", "relay-simplify-expr-post-alter-op")
"""Passes that round nothing otherwise at level 0."""

_BY_MACHINE: dict[str, Callable[[Machine], dict[str, int]]] = {
    "relay-alter-op-layout": lambda machine: {
        "lanes": machine.channel_block,
        "vector": machine.lanes(),
        "bytes": 4 if machine.vnni or machine.amx_int8 else 2,
        "halves": int(machine.fma_f16),
        "tile_bf16": TILE_ROW // 2 if machine.amx_bf16 else 0,
        "tile_int8": TILE_ROW if machine.amx_int8 else 0,
        "floats": int(not (machine.vnni or machine.sdot or machine.pmaddwd)),
        "masks": int(machine.mask_registers),
        "winograd": int(PassContext.current().option("relay.winograd") is True),
    },
}
"""Pass name -> its options for a machine."""


def available_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Pass name -> a function that loads its class."""
    return {row.name: partial(pass_class, row) for row in PASSES}


def preparation() -> tuple[ModulePass, ...]:
    """The passes that a module with let-blocks and tuples meets before anybody asks what is left of the language."""
    return tuple(pass_class(row)() for row in PREPARATION)


def precision_of(word: str, machine: Machine) -> str:
    """Return the dtype that a word for a precision stands for: of "auto" the machine's fastest, of none "".

    Raises PipelineError for any other word.
    """
    if word not in ("", "auto", *PRECISIONS):
        raise PipelineError(message("precision", f"{', '.join(PRECISIONS)} or auto", repr(word)))
    return machine.half if word == "auto" else PRECISIONS.get(word, "")


def relay_pipeline(
    opt_level: int,
    machine: Machine | None = None,
    desired_layouts: str = "",
    precision: str = "",
    *,
    tiles: bool = False,
) -> tuple[ModulePass, ...]:
    """The passes of `opt_level` for a machine, as the required and disabled passes of the current PassContext have it.

    Those may be given by our names or by TVM's. Raises PipelineError for an opt level outside 0-4.
    precision: the dtype of the operands of products with weights; without any, float32. tiles: only of those products
    that tiles can multiply.
    desired_layouts: with any, `relay-convert-layout` comes first, and what it asks of constants is folded.
    """
    current = PassContext.current()
    context = PassContext(opt_level, own_names(current.required_pass), own_names(current.disabled_pass))
    rows = [row for row in PIPELINE if context.enables(row.name, row.level)]
    before: tuple[ModulePass, ...] = ()
    if desired_layouts:
        convert, fold = (pass_class(row_of(f"relay-{name}")) for name in ("convert-layout", "fold-constant"))
        options: dict[str, str] = {"desired_layouts": desired_layouts}
        before = convert(**options), fold()
    passes = [pass_class(row)(**_options(row, machine, opt_level)) for row in rows]
    if precision in ("float16", "bfloat16"):
        index = sum(row in rows for row in PIPELINE[: PIPELINE.index(row_of(_LAYOUTS))])
        passes[index:index] = _products_in(precision, tiles, sums=machine is not None and machine.fma_f16)
    return (*before, *passes)


def _products_in(dtype: str, tiles: bool, *, sums: bool) -> list[ModulePass]:
    """The passes that have products with weights computed in a dtype; sums: vectors of float16 are summed as such."""
    convert, fold = (pass_class(row_of(f"relay-{name}")) for name in ("to-mixed-precision", "fold-constant"))
    options: dict[str, Any] = {"products": True, "missing_op_mode": 2, "keep_orig_output_dtype": True, "tiles": tiles}
    options["sums"] = sums
    return [convert(**options, **{"mixed_precision_type": dtype}), fold()]


def partition_pipeline(opt_level: int, compilers: Sequence[str]) -> tuple[ModulePass, ...]:
    """The passes that give external compilers what they take, one after the other.

    Those of `PREPARED` that `opt_level` and the current PassContext enable come before. The compilers' patterns have to
    be registered.
    """
    # They stand on patterns, which no other compilation needs.
    from .relay.annotate_target import AnnotateTargetPass
    from .relay.merge_compiler_regions import MergeCompilerRegionsPass
    from .relay.merge_composite import MergeCompositePass
    from .relay.partition_graph import PartitionGraphPass
    from .relay.pattern_table import get_pattern_table

    current = PassContext.current()
    context = PassContext(opt_level, own_names(current.required_pass), own_names(current.disabled_pass))
    before = [pass_class(row)() for row in PREPARED if context.enables(row.name, row.level)]
    for name in compilers:
        if get_pattern_table(name) is not None:
            before.append(MergeCompositePass(name))
        before += [AnnotateTargetPass((name,)), MergeCompilerRegionsPass(), PartitionGraphPass()]
    return tuple(before)


def _options(row: Row, machine: Machine | None, opt_level: int) -> dict[str, int]:
    """Return the options of a pass that depend on the machine and the opt level."""
    if row.name in _EXACT_AT_0 and opt_level == 0:
        return {"exact": True}
    decides = _BY_MACHINE.get(row.name)
    return {} if decides is None or machine is None else decides(machine)
